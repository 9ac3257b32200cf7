"""Where output goes: stdout, or a file that is written whole or not at all."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click

from envkit.errors import OutputError, RequestError

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


def one_format(form: str | None, as_json: bool, default: str = "text") -> str:
    """The format that `--format` and `--json` ask for together. Raises RequestError where they differ."""
    if as_json and form not in (None, "json"):
        raise RequestError(f"--json and --format {form} contradict each other.", "Give one of them.")
    return "json" if as_json else form or default


def write_output(text: str, path: str | None, executable: bool = False) -> None:
    """`text` on stdout, or in the file `path`, replaced in one step. Raises OutputError; the old file then stays.

    A link stays one, and what it points to is replaced; a device or pipe is written to as it is.
    """
    if not text.endswith("\n"):
        text += "\n"
    if path is None:
        if sys.stdout is None:
            raise OutputError("stdout is closed.", "Name a file with --output.")
        click.echo(text, nl=False)
        return
    if path.endswith(os.sep) or not path:
        raise OutputError(f"--output: {path!r} names no file.", "Choose a file in a writable folder.")
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
        os.chmod(temporary, _mode(path, executable))
        os.replace(temporary, path)
    except OSError:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        raise


def _mode(path: str, executable: bool) -> int:
    """The mode of the file that is replaced, so that what was closed to others stays so; else that of a new file."""
    import stat

    umask = os.umask(0)
    os.umask(umask)
    run = 0o111 & ~umask if executable else 0
    try:
        return stat.S_IMODE(os.stat(path).st_mode) | run
    except FileNotFoundError:
        return 0o666 & ~umask | run


def say(text: str) -> None:
    """A line for the person, on stderr, so that stdout holds the product alone."""
    click.echo(text, err=True)
