"""The program's entry: `envkit` and `python -m envkit`."""

from __future__ import annotations

import os
import sys

# New objects between two searches for garbage: the tables make many that stay, and searching them costs a tenth.
_OBJECTS = 100_000


def main() -> None:
    """Run the command line and end the process with its exit code, without taking its objects apart.

    Freeing a program's modules one by one takes a tenth of a short run, and the system frees them all at once.
    `python -m envkit` ends in the usual way, for profilers and debuggers that work at the interpreter's exit.
    """
    os._exit(run())


def run() -> int:
    """The exit code of the command line, run with this process's arguments; what it printed is written out."""
    if sys.argv[1:] in (["--help"], ["-h"]):
        # Written ahead by `make docs`: the first thing that everybody types need not load the command line.
        from envkit._startup.help_text import HELP
        from envkit.cli.streams import written

        return written(HELP)
    # what `signal` wraps in enumerations, whose loading could be interrupted as well
    import _signal as signal  # type: ignore[import-not-found]
    import gc

    # Until somebody is there who tells of it, Ctrl-C ends the process as it ends any other, without a traceback.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    gc.set_threshold(_OBJECTS)
    from envkit._startup.deferred import import_click

    import_click()
    from envkit.cli.boundary import exit_code
    from envkit.host.stops import stop_by_exception

    return exit_code(begin=stop_by_exception)


def forget_working_folder() -> None:
    """Take the folder that `python -m` put first off the module path, unless envkit itself lies in it.

    Who looks at a cloned repository wants none of its modules. Python imported this package before; `python -P -m
    envkit` keeps the working folder out of that too.
    """
    home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    try:
        working = ("", os.getcwd())
    except OSError:  # removed meanwhile: nothing can be imported from it
        return
    if sys.path[0] in working and home not in working:
        del sys.path[0]


if __name__ == "__main__":
    forget_working_folder()
    sys.exit(run())
