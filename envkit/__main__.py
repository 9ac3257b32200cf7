"""The program's entry: `envkit` and `python -m envkit`."""

from __future__ import annotations

import sys

# New objects between two searches for garbage: the tables make many that stay, and searching them costs a tenth.
_OBJECTS = 100_000


def main() -> None:
    """Run the command line and exit with its code."""
    if sys.argv[1:] in (["--help"], ["-h"]):
        # Written ahead by `make docs`: the first thing that everybody types need not load the command line.
        from envkit.cli.help_text import HELP

        sys.stdout.write(HELP)
        return
    import gc

    from envkit.cli.boundary import run

    gc.set_threshold(_OBJECTS)
    run()


if __name__ == "__main__":
    main()
