"""Where output goes: stdout, or a file that is written whole or not at all."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from envkit.base.errors import OutputError, RequestError

if TYPE_CHECKING:
    from envkit.solver.model import NoPlan, Plan

F = TypeVar("F", bound=Callable[..., Any])
_ELSEWHERE = "Choose a file in a writable directory."
_SUFFIXES = {
    ".csv": "csv",
    ".htm": "html",
    ".html": "html",
    ".json": "json",
    ".md": "markdown",
    ".sarif": "sarif",
    ".xml": "junit",
}


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
        help="Seconds to wait for the driver. [default: 10, or 45 if the driver has to initialize the GPUs]",
    )(function)


def fail_on_option(function: F) -> F:
    """Adds `--fail-on` for reports on files."""
    return click.option(
        "--fail-on",
        type=click.Choice(["fail", "warn", "unknown"]),
        default="fail",
        show_default=True,
        help="Exit with status 1 if any result has this severity or higher. From highest to lowest: fail (ERROR), "
        "warn, and unknown (something could not be checked). The status is also 1 if nothing could be checked.",
    )(function)


def jobs_option(function: F) -> F:
    """Adds `--jobs N`."""
    return click.option(
        "--jobs", type=click.IntRange(1, 256), metavar="N", help="Processes to use. [default: one per CPU]"
    )(function)


def one_format(form: str | None, as_json: bool, output: str | None, formats: Sequence[str]) -> str:
    """The format asked for by `--format` or `--json`, otherwise the one that the output file's name ends in, otherwise
    the first.

    Raises RequestError where the options differ.
    """
    if as_json and form not in (None, "json"):
        raise RequestError(f"--json and --format {form} cannot be used together.", "Use only one of them.")
    if as_json or form:
        return form or "json"
    by_name = _SUFFIXES.get(os.path.splitext(output or "")[1].lower(), "")
    return by_name if by_name in formats else formats[0]


def write_output(text: str, path: str | None, executable: bool = False, told: str = "") -> None:
    """`text` on stdout, or in the file `path` and then a line that says so, with `told` after it. Raises OutputError.

    A file is replaced in one step; the old one stays where that cannot be done.
    """
    if path is not None:
        write_file(text, path, executable)
        say(f"Wrote {path}. {told}".rstrip())
        return
    if sys.stdout is None:
        raise OutputError("stdout is closed.", "Pass a file with --output.")
    click.echo(_with_end(text), nl=False)


def write_file(text: str, path: str, executable: bool = False, option: str = "--output") -> None:
    """`text` in the file `path`, whole or not at all. Raises OutputError, also for a file that this run has read.

    A link stays one, and what it points to is replaced; a device or pipe is written to as it is.
    """
    from envkit.host.inputs import was_read

    if was_read(path):
        raise OutputError(f"{option}: {path} is a file that this command reads, so it is kept.", "Choose another file.")
    write_over(_with_end(text).encode(), path, executable, option)


def write_over(data: bytes, path: str, executable: bool = False, option: str = "--output") -> None:
    """`data` in the file `path`, which may be one that this run has read and changes. Raises OutputError."""
    if path.endswith(os.sep) or not path:
        raise OutputError(f"{option}: {path!r} is not a file name.", _ELSEWHERE)
    try:
        if os.path.exists(path) and not os.path.isfile(path):
            with open(path, "wb") as stream:
                stream.write(data)
        else:
            _replace(path, data, executable)
    except OSError as error:
        raise _unwritable(option, path, error) from error


def refuse_unwritable(path: str | None, option: str) -> None:
    """Raises OutputError now for a file that could not be written later, after long work."""
    from envkit.host.whole_file import real_place, replaceable

    if path is None:
        return
    if not path or path.endswith(os.sep) or os.path.isdir(path):
        raise OutputError(f"{option}: {path!r} is not a file name.", _ELSEWHERE)
    if os.path.exists(path) and not os.path.isfile(path):
        return
    try:
        replaceable(real_place(path))
    except OSError as error:
        raise _unwritable(option, path, error) from error


def _unwritable(option: str, path: str, error: OSError) -> OutputError:
    return OutputError(f"{option}: cannot write {path}: {error.strerror}.", _ELSEWHERE)


def _with_end(text: str) -> str:
    return text if text.endswith("\n") or not text else text + "\n"


def _replace(path: str, data: bytes, executable: bool) -> None:
    from envkit.host.whole_file import real_place, replacing, take_mode

    place = real_place(path)
    with replacing(place) as stream:
        stream.write(data)
        take_mode(stream, place, executable)


def say(text: str) -> None:
    """Lines for the user, on stderr, so that stdout holds the product alone; nothing in them steers the terminal."""
    from envkit.base.shown import shown_lines
    from envkit.privacy.secrets import without_secrets

    click.echo(shown_lines(without_secrets(text)), err=True)


def say_plan(plan: Plan | NoPlan) -> None:
    """The plan on stderr, once a script is certain to be written for it, or why there is no plan."""
    from envkit.render.plan_text import plan_summary

    say(f"{plan_summary(plan)}\n")


def complain(text: str) -> None:
    """One line for the user, whatever is in it."""
    from envkit.base.shown import shown
    from envkit.privacy.secrets import without_secrets

    click.echo(shown(without_secrets(text)), err=True)
