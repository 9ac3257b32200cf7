"""`python -m tools.snapshot record FILE` keeps what the program prints; `compare FILE` names each command that differs.

Everything goes through the command line, so that a snapshot outlives every change of modules after it.
"""

from __future__ import annotations

import csv
import difflib
import io
import json
import os
import random
import re
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stderr, redirect_stdout
from itertools import islice
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "envkit" / "data"
RESOLVER_QUESTIONS = 2000
SCRIPTS = 300
DOCKERFILES = 300
SHOWN_LINES = 12  # of one command's difference
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


def commands() -> Iterator[tuple[str, ...]]:
    """Every command line of a snapshot; the same ones each time, as random choices have a fixed seed."""
    tests = ROOT / "tests"
    for text in sorted((tests / "texts").glob("*.txt")):
        yield "doctor", "--from", str(text.relative_to(ROOT)), "--json"
    for machine in sorted(path.parent for path in (tests / "machines").glob("*/machine.json")):
        yield "doctor", "--from", str(machine.relative_to(ROOT)), "--json"
        yield "doctor", "--from", str(machine.relative_to(ROOT)), "--format", "text"
    for dockerfile in sorted((tests / "image" / "dockerfiles").glob("*.Dockerfile")):
        yield "dockerfile", "--check", str(dockerfile.relative_to(ROOT)), "--target", "any", "--json"
    yield from islice(_requests("resolve", "--json"), RESOLVER_QUESTIONS)
    yield from islice(_requests("install"), SCRIPTS)
    yield from islice(_requests("dockerfile"), DOCKERFILES)
    for checked in ("no-gpu-on-pci", "driver-too-old-for-runtime", "cudnn-missing", "image.base-gone"):
        yield "explain", checked


def _column(table: str, column: str) -> list[str]:
    with open(DATA / table, encoding="utf-8", newline="") as stream:
        return sorted({row[column] for row in csv.DictReader(line for line in stream if not line.startswith("#"))})


def _requests(command: str, *words: str) -> Iterator[tuple[str, ...]]:
    chance = random.Random(f"envkit {command}")
    options = {
        "--framework": _column("frameworks.csv", "name"),
        "--cuda": [*_column("toolkits.csv", "version"), "9.0", "10.2", "11.8", "12.4", "12.8", "13.0", "<12", ">=12"],
        "--gpu": _column("gpus.csv", "name"),
        "--driver": ["384.81", "418.87.01", "450.80.02", "470.82.01", "525.60.13", "550.54.15", "580.65.06"],
        "--os": _column("operating_systems.csv", "os_id"),
        "--python": ["2.7", "3.6", "3.8", "3.10", "3.12", "3.14"],
    }
    share = {"--framework": 0.9, "--cuda": 0.4, "--gpu": 0.5, "--driver": 0.4, "--os": 0.4, "--python": 0.3}
    while True:
        asked = [command, "--target", "any", *words]
        for option, values in options.items():
            if chance.random() < share[option]:
                asked += [option, chance.choice(values)]
        yield tuple(asked)


def printed(words: tuple[str, ...]) -> str:
    """Exit code, stdout and stderr of one command line, run in this process."""
    from envkit.cli.boundary import exit_code

    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = exit_code(words)
    return _MOMENT.sub("MOMENT", f"exit {code}\n{out.getvalue()}\n{err.getvalue()}")


def record(file: Path) -> dict[str, str]:
    """Writes what every command prints to `file`, as one JSON object from command line to text."""
    os.chdir(ROOT)
    lines = list(commands())
    with ProcessPoolExecutor() as pool:
        texts = dict(zip((" ".join(words) for words in lines), pool.map(printed, lines, chunksize=40), strict=True))
    file.write_text(json.dumps(texts, indent=0), encoding="utf-8")
    return texts


def differences(before: dict[str, str], after: dict[str, str]) -> Iterator[str]:
    """One paragraph per command line whose text is not the same."""
    for line in sorted({*before, *after}):
        old, new = before.get(line, ""), after.get(line, "")
        if old != new:
            changed = difflib.unified_diff(old.splitlines(), new.splitlines(), "before", "after", lineterm="", n=0)
            yield "\n".join([line, *(f"    {one[:200]}" for one in islice(changed, SHOWN_LINES))])


def main() -> int:
    """Records or compares; exit status 1 where something differs, 2 for other words than these."""
    match sys.argv[1:]:
        case ["record", file]:
            print(f"{len(record(Path(file)))} command lines recorded")
            return 0
        case ["compare", file]:
            before = json.loads(Path(file).read_text(encoding="utf-8"))
            found = list(differences(before, record(Path(f"{file}.after"))))
            print("\n".join(found))
            print(f"{len(found)} of {len(before)} command lines differ")
            return 1 if found else 0
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
