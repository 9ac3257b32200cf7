"""Where output goes: stdout, or a file that is written whole or not at all."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from envkit.base.errors import OutputError, RequestError

F = TypeVar("F", bound=Callable[..., Any])
_SUFFIXES = {".csv": "csv", ".htm": "html", ".html": "html", ".json": "json", ".md": "markdown"}


def output_option(function: F) -> F:
    """Adds `-o/--output FILE`."""
    return click.option(
        "-o",
        "--output",
        type=click.Path(dir_okay=False),
        metavar="FILE",
        help="Write to FILE (atomically) instead of stdout.",
    )(function)


def timeout_option(function: F) -> F:
    """Adds `--timeout SECONDS`."""
    return click.option(
        "--timeout",
        type=click.FloatRange(min=1, max=3600),
        metavar="SECONDS",
        help="Seconds to wait for the driver. By default as long as for the other probes, or 45 if the driver must "
        "initialize the GPUs.",
    )(function)


def one_format(form: str | None, as_json: bool, output: str | None, formats: Sequence[str]) -> str:
    """The format asked for by `--format` or `--json`, else the one that the output file's name ends in, else the first.

    Raises RequestError where the options differ.
    """
    if as_json and form not in (None, "json"):
        raise RequestError(f"--json and --format {form} contradict each other.", "Give one of them.")
    if as_json or form:
        return form or "json"
    by_name = _SUFFIXES.get(os.path.splitext(output or "")[1].lower(), "")
    return by_name if by_name in formats else formats[0]


def write_output(text: str, path: str | None, executable: bool = False, told: str = "") -> None:
    """`text` on stdout, or in the file `path` and then a line that says so, with `told` behind it. Raises OutputError.

    A file is replaced in one step; the old one stays where that cannot be done.
    """
    if path is not None:
        write_file(text, path, executable)
        say(f"Wrote {path}. {told}".rstrip())
        return
    if sys.stdout is None:
        raise OutputError("stdout is closed.", "Give a file with --output.")
    click.echo(_with_end(text), nl=False)


def write_file(text: str, path: str, executable: bool = False) -> None:
    """`text` in the file `path`, whole or not at all. Raises OutputError.

    A link stays one, and what it points to is replaced; a device or pipe is written to as it is.
    """
    text = _with_end(text)
    if path.endswith(os.sep) or not path:
        raise OutputError(f"--output: {path!r} names no file.", "Choose a file in a writable directory.")
    try:
        if os.path.exists(path) and not os.path.isfile(path):
            with open(path, "w", encoding="utf-8") as stream:
                stream.write(text)
        else:
            _replace(os.path.realpath(path), text, executable)
    except OSError as error:
        raise OutputError(
            f"--output: cannot write {path}: {error.strerror}.", "Choose a file in a writable directory."
        ) from error


def _with_end(text: str) -> str:
    return text if text.endswith("\n") else text + "\n"


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
    """Lines for the person, on stderr, so that stdout holds the product alone; nothing in them steers the terminal."""
    from envkit.base.shown import shown_lines

    click.echo(shown_lines(text), err=True)


def complain(text: str) -> None:
    """One line for the person, whatever stands in it."""
    from envkit.base.shown import shown

    click.echo(shown(text), err=True)
