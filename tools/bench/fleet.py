"""`envkit fleet report` over simulated fleets: time and memory by size, and whether it says what was planted."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.fleet.simulation import differences, write_fleet

SIZES = (100, 1000, 10000)


def main() -> None:
    """A row for each size."""
    sizes = tuple(map(int, sys.argv[1:])) or SIZES
    print("| hosts | wall s | CPU ms per host | peak MB per process | report |")
    print("|---|---|---|---|---|")
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            print(_row(Path(folder), size), flush=True)


def _row(folder: Path, size: int) -> str:
    who = write_fleet(folder / "fleet", size)
    report = folder / "report.json"
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    command = [sys.executable, "-m", "envkit", "fleet", "report", str(folder / "fleet"), "-o", str(report)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    _, _, used = os.wait4(process.pid, 0)
    wall, after = time.monotonic() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    told = "as planted" if not (wrong := differences(json.loads(report.read_text()), who)) else "; ".join(wrong)
    return f"| {size:,} | {wall:.1f} | {cpu / size * 1000:.1f} | {used.ru_maxrss / 1024:.0f} | {told} |"


if __name__ == "__main__":
    main()
