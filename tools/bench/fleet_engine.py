"""`envkit fleet doctor` over a simulated fleet through the real Ansible: time, memory, and what it tells.

Each host is a local connection whose `python3` prints the facts of a recorded machine. Run as
`python -m tools.bench.fleet_engine [HOSTS [FORKS]]`; ansible-playbook has to be on PATH.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from tests.fleet.simulation import differences, planted

_FORKS = 20


def main() -> None:
    """Prints what was seen."""
    hosts, forks = (*map(int, sys.argv[1:3]), *(1000, _FORKS)[len(sys.argv) - 1 :])
    with tempfile.TemporaryDirectory() as folder:
        _run(Path(folder), hosts, forks)


def _run(folder: Path, number: int, forks: int) -> None:
    who = _fleet(folder, number)
    report = folder / "report.json"
    command = [
        sys.executable, "-m", "envkit", "fleet", "doctor", "-i", str(folder / "hosts.ini"),
        "--out", str(folder / "run"),
        "--forks", str(forks), "--host-limit", "600", "-o", str(report),
    ]  # fmt: skip
    started = time.monotonic()
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": os.getcwd()}
    )
    largest: dict[str, int] = {}
    watcher = threading.Thread(target=_watch, args=(process, largest), daemon=True)
    watcher.start()
    last = started
    assert process.stderr is not None
    line = ""
    for line in process.stderr:
        if " after " in line:
            last = time.monotonic()
    _, _, used = os.wait4(process.pid, 0)
    if not report.is_file():
        sys.exit(line)
    ended, spent = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    wrong = differences(json.loads(report.read_text()), who)
    print(f"{number:,} hosts, {forks} at a time: the last one after {last - started:.0f} s")
    print(f"the report {ended - last:.1f} s later")
    cpu = used.ru_utime + used.ru_stime
    print(f"processor time of all processes {cpu:.0f} s, {cpu / number:.2f} s a host")
    print(f"largest process {spent.ru_maxrss >> 10} MB; envkit's own at most {largest.get('envkit', 0) >> 10} MB")
    print("; ".join(wrong) or "causes and drift as planted")


def _watch(process: subprocess.Popen[str], largest: dict[str, int]) -> None:
    """The highest resident size of envkit itself, in KiB."""
    while process.poll() is None:
        try:
            status = Path(f"/proc/{process.pid}/status").read_text()
        except OSError:
            return
        size = next((int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")), 0)
        largest["envkit"] = max(size, largest.get("envkit", 0))
        time.sleep(0.5)


def _fleet(folder: Path, number: int) -> dict[str, list[str]]:
    """The inventory, and for each host a shell in which `python3` prints its facts; returned is who has what."""
    programs = folder / "programs"
    programs.mkdir()
    (programs / "python3").write_text('#!/bin/sh\ncat "$FACTS"\n')
    (programs / "python3").chmod(0o755)
    who: dict[str, list[str]] = {}
    lines = []
    for name, plant, text in planted(number):
        facts, shell = folder / f"{name}.json", folder / f"{name}.sh"
        facts.write_text(text)
        shell.write_text(f'#!/bin/sh\nFACTS={facts} PATH={programs}:$PATH\nexport FACTS PATH\nexec /bin/sh "$@"\n')
        shell.chmod(0o755)
        lines.append(f"{name} ansible_connection=local ansible_shell_executable={shell}")
        who.setdefault(plant, []).append(name)
    (folder / "hosts.ini").write_text("[all]\n" + "\n".join(lines) + "\n")
    return who


if __name__ == "__main__":
    main()
