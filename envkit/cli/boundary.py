"""The program's edge: every exception becomes one clear line and the documented exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence

import click

from envkit.base.errors import EnvkitError, did_you_mean
from envkit.cli.output import complain
from envkit.cli.streams import failed, is_of_output, written
from envkit.host.stops import Stopped

BUG = 3
INTERRUPTED = 130

_ELSEWHERE = {  # options that people look for in the wrong place
    ("install", "--dry-run"): "The script itself has that option: bash install.sh --dry-run",
}


def exit_code(arguments: Sequence[str] | None = None, begin: Callable[[], None] = lambda: None) -> int:
    """What the command line ends with: 0 well, 1 finding or expected error, 2 usage, 3 our bug, 130 interrupted.

    `begin` is called where what it makes of signals is reported in one line.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words or bool(os.environ.get("ENVKIT_DEBUG"))
    return written(code=_exit_code([word for word in words if word != "--debug"], debug, begin))


def _exit_code(words: list[str], debug: bool, begin: Callable[[], None]) -> int:
    try:
        begin()
        from envkit.cli.main import envkit

        code = envkit.main(args=words, prog_name="envkit", standalone_mode=False)
    except click.exceptions.Exit as leave:
        return leave.exit_code
    except click.ClickException as error:
        return _usage(error)
    except EnvkitError as error:
        complain(f"envkit: {error}")
        return error.exit_code
    except (KeyboardInterrupt, click.Abort) as error:
        complain("envkit: interrupted.")
        stopped = error if isinstance(error, Stopped) else error.__cause__  # click makes an Abort of it
        return 128 + stopped.number if isinstance(stopped, Stopped) else INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the last handler: a bug in envkit, reported as one
        if debug:
            raise
        return failed(error) if isinstance(error, OSError) and is_of_output(error) else _bug(error, words)
    return int(code or 0)


def _usage(error: click.ClickException) -> int:
    where = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "envkit"
    words = _usage_words(error)
    words = words if words.endswith((".", "?")) else f"{words}."
    complain(f"envkit: {words} Run `{where} --help` to list the options.")
    return error.exit_code


def _usage_words(error: click.ClickException) -> str:
    """click's message as our own errors are written."""
    if isinstance(error, click.NoSuchOption):
        words = error.ctx.info_name if error.ctx else ""
        meant = _ELSEWHERE.get((words or "", error.option_name)) or did_you_mean(
            error.option_name, error.possibilities or ()
        )
        return f"no such option {error.option_name!r}. {meant}".rstrip()
    return " ".join(error.format_message().split())


def _bug(error: BaseException, words: list[str]) -> int:
    import platform
    import traceback

    from envkit import __version__

    last = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{os.path.basename(last.filename)}:{last.lineno} in {last.name}"
    for line in (
        "envkit: this is a bug in envkit; please report these lines:",
        f"  envkit {__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}",
        f"  command: envkit {' '.join(words)}",
        f"  {type(error).__name__}: {error} ({place})",
        "Run it again with --debug for the full traceback.",
    ):
        complain(line)
    return BUG
