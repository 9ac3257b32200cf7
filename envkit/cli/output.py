"""Where output goes: stdout, or a file that is written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

import click

from envkit.errors import OutputError

F = TypeVar("F", bound=Callable[..., Any])


def output_option(function: F) -> F:
    """Adds `-o/--output FILE`."""
    return click.option(
        "-o",
        "--output",
        type=click.Path(dir_okay=False),
        metavar="FILE",
        help="Write to FILE instead of stdout, whole or not at all.",
    )(function)


def write_output(text: str, path: str | None, executable: bool = False) -> None:
    """`text` on stdout, or in the file `path`, replaced in one step. Raises OutputError; the old file then stays.

    A link stays one, and what it points to is replaced; a device or pipe is written to as it is.
    """
    if not text.endswith("\n"):
        text += "\n"
    if path is None:
        click.echo(text, nl=False)
        return
    try:
        if os.path.exists(path) and not os.path.isfile(path):
            with open(path, "w", encoding="utf-8") as stream:
                stream.write(text)
        else:
            _replace(os.path.realpath(path), text, executable)
    except OSError as error:
        raise OutputError(
            f"--output: cannot write {path}: {error.strerror}.", "Choose a file in a writable folder."
        ) from error


def _replace(path: str, text: str, executable: bool) -> None:
    import contextlib
    import tempfile

    folder, name = os.path.split(path)
    temporary: str | None = None
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{name}.", dir=folder)
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, (0o777 if executable else 0o666) & ~umask)
        os.replace(temporary, path)
    except OSError:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        raise


def say(text: str) -> None:
    """A line for the person, on stderr, so that stdout holds the product alone."""
    click.echo(text, err=True)
