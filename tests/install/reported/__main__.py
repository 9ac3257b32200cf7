"""Tries the reported faults again: `python -m tests.install.reported [WORD…]`; words choose faults by their names.

As root, with a Docker engine and this machine's package index. The lines that it prints are a table of
docs/install-runs.md. Exit status 0 when every fault is gone.
"""

from __future__ import annotations

import sys
import tempfile
import traceback
from pathlib import Path

from tests.engine.engine import start_engine
from tests.install.reported import drivers, environments, neighbors, refusals, toolkits, trust
from tests.install.reported.bench import Bench, Trial
from tests.install.server import serving

PARTS = (toolkits, environments, neighbors, refusals, drivers, trust)
COLUMNS = ("fault", "tried", "came out", "exit codes", "seen by")


def main() -> int:
    """Exit status 1 when a trial found what was reported, or broke off."""
    chosen = {name: trial for name, trial in trials().items() if not sys.argv[1:] or _is_named(name)}
    print(_line(COLUMNS), _line(["---"] * len(COLUMNS)), sep="\n", flush=True)
    faults = 0
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder) / "files"
        files.mkdir()
        with serving(files) as server:
            bench = Bench(start_engine(), Path(folder), server)
            for name, trial in chosen.items():
                try:
                    found = trial(bench)
                except Exception:  # noqa: BLE001 - one that breaks off must not hide the others
                    traceback.print_exc()
                    faults += 1
                    print(_line([name, "**not right**", "", "", ""]), flush=True)
                else:
                    print(_line([name, found.tried, found.came_out, found.codes, found.seen_by]), flush=True)
    return 1 if faults else 0


def trials() -> dict[str, Trial]:
    """All trials by their names: the numbered faults, then the rest."""
    found: dict[str, Trial] = {name: trial for part in PARTS for name, trial in part.TRIALS.items()}
    return dict(sorted(found.items(), key=lambda item: _number(item[0])))


def _number(name: str) -> int:
    first = name.split()[0]
    return int(first[1:]) if first[1:].isdigit() else sys.maxsize


def _is_named(name: str) -> bool:
    return any(name == word or name.startswith(f"{word} ") for word in sys.argv[1:])


def _line(cells: list[str] | tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.exit(main())
