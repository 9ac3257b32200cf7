"""All combinations of CUDA, system, framework and driver: rendered, parsed, shellchecked.

`python -m tests.install.sweep [EVERY]` does all of them, or each EVERY-th, and prints the count and the time.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from envkit.base.errors import EnvkitError
from envkit.base.settings import Mirrors
from envkit.install.options import ScriptOptions
from envkit.solver.knowledge import Knowledge
from envkit.solver.model import Plan
from envkit.solver.query import Query
from envkit.solver.search import feasible
from envkit.solver.solve import resolve
from tests.install.plans import asked, matrix, scripted

FRAMEWORKS = (None, "pytorch", "tensorflow", "mxnet")
# A GPU that each major release supports, for the combinations with a driver.
_GPU = {"8": "6.1", "9": "7.0", "10": "7.5", "11": "8.0", "12": "8.6", "13": "9.0"}
# On aarch64 one release of each family: the rest differs in package names alone.
_ARM_SYSTEMS = ("ubuntu22.04", "ubuntu24.04", "debian12", "rockylinux9", "sles15", "amzn2023")
_WORKERS = os.cpu_count() or 1
# Values that vary between scripts of one shape. shellcheck looks at structure, so one script of each shape is enough;
# `bash -n` reads every distinct script.
_VALUES = (
    (re.compile(r"^\s*#.*\n", re.M), ""),
    (re.compile(r"^(DRIVER_PACKAGES|OTHER_DRIVERS|NVCC_TARGETS)=\(.*\)$", re.M), r"\1=(names)"),
    (re.compile(r"https?://[^\s'\"]+"), "URL"),
    (re.compile(r"\b[0-9a-f]{32,64}\b"), "SUM"),
    (re.compile(r"(?:g\+\+-\d+ )+"), "g++-N "),
    (re.compile(r"^(PLAN_ID|OS_ID|OS_VERSION)=.*$", re.M), r"\1=value"),
    (re.compile(r"-[0-9a-f]{8}\b"), "-MARK"),
    (re.compile(r"'[^'\n]*'|\"[^\"$\n]*\""), "WORD"),
    (re.compile(r"WORD(?: WORD)+"), "WORD"),
    (re.compile(r"\b(?:apt|dnf|yum|zypper)\) printf"), "manager) printf"),
    (re.compile(r"\b(have_file|get_file) .*"), r"\1 values ;;"),
    (re.compile(r"\d+(?:[._]\d+)*"), "N"),
)


@dataclass(frozen=True)
class Combination:
    """One thing to ask for."""

    cuda: str
    os_id: str
    framework: str | None
    with_driver: bool
    architecture: str


@dataclass
class Rendered:
    """How many combinations gave a script, no plan, or a refusal in words; and one script of each shape."""

    rendered: int = 0
    without_plan: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    distinct: set[str] = field(default_factory=set)
    shapes: dict[str, str] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    def add(self, other: Rendered) -> None:
        """Takes in what another worker found."""
        self.rendered += other.rendered
        self.without_plan += other.without_plan
        self.refused += other.refused
        self.distinct |= other.distinct
        self.shapes.update(other.shapes)
        self.faults += other.faults


def combinations(every: int = 1) -> Iterator[Combination]:
    """All of them, or each `every`-th."""
    systems = [row.os_id for row in matrix().operating_systems if row.package_manager]
    number = 0
    for toolkit in matrix().toolkits:
        for architecture, os_ids in (("x86_64", systems), ("aarch64", _ARM_SYSTEMS)):
            if toolkit.version.major < 8 or not matrix().runfiles(toolkit.version, architecture):
                continue
            for os_id in os_ids:
                for framework in FRAMEWORKS:
                    for with_driver in (False, True):
                        number += 1
                        if number % every == 0:
                            yield Combination(str(toolkit.version), os_id, framework, with_driver, architecture)


def render_all(wanted: Iterable[Combination]) -> Rendered:
    """Resolves and renders each, twice, so that a difference shows; each distinct script is read by `bash -n`."""
    found = Rendered()
    knowledge = Knowledge(matrix())
    for one in wanted:
        gpus = (_GPU[one.cuda.partition(".")[0]],) if one.with_driver else ()
        request = asked(one.cuda, one.framework, one.os_id, one.architecture, gpus, one.with_driver)
        # why there is no plan, and what would do instead, takes most of the time and is not looked at here
        plan = resolve(request, matrix()) if feasible(Query(request, knowledge)) else None
        if not isinstance(plan, Plan):
            found.without_plan += 1
            continue
        options = ScriptOptions(with_driver=one.with_driver)
        try:
            text = scripted(plan, options, Mirrors())
        except EnvkitError as error:
            found.refused[str(error)] += 1
            continue
        found.rendered += 1
        if scripted(plan, options, Mirrors()) != text:
            found.faults.append(f"not the same bytes twice: {one}\n")
        _read(text, one, found)
    return found


def _read(text: str, one: Combination, found: Rendered) -> None:
    mark = hashlib.sha256(text.encode()).hexdigest()
    if mark in found.distinct:
        return
    found.distinct.add(mark)
    if not text.startswith("#!"):
        found.faults.append(f"no shebang on line 1: {one}\n")
    parsed = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True, check=False)
    if parsed.returncode or parsed.stderr:
        found.faults.append(f"{one}: {parsed.stderr}\n")
    shape = text
    for pattern, replacement in _VALUES:
        shape = pattern.sub(replacement, shape)
    found.shapes.setdefault(hashlib.sha256(shape.encode()).hexdigest(), text)


def shellcheck(found: Rendered) -> str:
    """What shellcheck says at its default level about one script of each shape."""
    program = str(Path(sys.executable).with_name("shellcheck"))
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for name, text in sorted(found.shapes.items()):
            file = Path(folder) / f"{name[:16]}.sh"
            file.write_text(text)
            files.append(str(file))

        def run(part: list[str]) -> str:
            done = subprocess.run([program, *part], capture_output=True, text=True, check=False)
            return done.stdout + done.stderr

        with ThreadPoolExecutor(_WORKERS) as pool:
            return "".join(pool.map(run, [files[start::_WORKERS] for start in range(min(_WORKERS, len(files)))]))


def _share(number: int, every: int) -> Rendered:
    """The part of worker `number`: whole blocks, because neighbors share rows that are read once."""
    return render_all(one for index, one in enumerate(combinations(every)) if index % _WORKERS == number)


def sweep(every: int) -> Rendered:
    """All combinations on all processors."""
    found = Rendered()
    with ProcessPoolExecutor(_WORKERS) as pool:
        for part in pool.map(_share, range(_WORKERS), [every] * _WORKERS):
            found.add(part)
    return found


def main() -> int:
    """The whole sweep, with its count and time."""
    started = time.monotonic()
    found = sweep(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
    rendered_s = time.monotonic() - started
    said = "".join(found.faults) + shellcheck(found)
    print(said, end="")
    print(
        f"{found.rendered} scripts rendered twice and alike ({len(found.distinct)} distinct, all read by bash -n; "
        f"{len(found.shapes)} shapes, all shellchecked), {found.without_plan} requests without a plan, "
        f"{sum(found.refused.values())} refused in words; {rendered_s:.0f} s + "
        f"{time.monotonic() - started - rendered_s:.0f} s for shellcheck"
    )
    for reason, count in found.refused.most_common():
        print(f"  {count} × {reason}")
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
