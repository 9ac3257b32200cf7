"""To add one thing, touch few files: each is really added to a copy, and the files that took are counted.

docs/extending.md says how many. The generated pages are written by their tool, and the tests that look at additions run
on the copy: were a further place forgotten, one of them would fail.
"""

from __future__ import annotations

import csv
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).resolve().parents[2]
_ROW = re.compile(r"^\| an? ([a-z ]+) \| (\d+):", re.MULTILINE)
PROMISED = {name: int(count) for name, count in _ROW.findall((ROOT / "docs/extending.md").read_text("utf-8"))}

FRAMEWORK = {
    "version": "1.0", "release_date": "2024-03-01", "pythons": "3.10;3.11", "cuda": "12.4", "package": "lantern==1.0",
    "on_pypi": "y", "bundles_cuda": "y", "cpu_only": "n", "architectures": "x86_64", "platforms": "linux",
    "archived": "n", "yanked": "n", "sources": "pypi-torch", "framework": "lantern",
}  # fmt: skip
NAMED = {
    "name": "lantern", "title": "Lantern", "packages": "lantern", "import_name": "lantern", "archived": "n",
    "sources": "pypi-torch", "checked": "2026-11-21", "limit_days": "60",
}  # fmt: skip
SYSTEM = {
    "os_id": "lanternos1",
    "base_image": "",
    "repository_id": "",
    "code_name": "lantern",
}  # the rest as on Debian 12

CHECK = '''"""The lantern of a toolkit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit.checks.engine.evidence import known
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Outcome, ok
from envkit.checks.engine.registry import Layer, check
from envkit.model import Environment

if TYPE_CHECKING:
    from envkit.tables import Matrix

_OUT = Fault("lantern-is-out", "The lantern is out", impact="It is dark.", remedy="Light it.")


@check(_OUT, layer=Layer.TOOLKIT, needs=("cuda_toolkits",), references=("https://example.org/lantern",))
def lantern_is_out(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """Every toolkit has a lantern that is lit.

    It is dark without.
    """
    evidence = [known(environment, "cuda_toolkits")]
    out = any(toolkit.path.endswith("dark") for toolkit in environment.cuda_toolkits.get())
    yield _OUT.found(evidence) if out else ok("the lantern is lit", evidence=evidence)
'''
EXAMPLE = '''"""The lantern, out and lit."""

from __future__ import annotations

import pytest

from envkit.base.versions import Version
from envkit.model import CudaToolkit
from tests.checks.software import Case, assert_case, machine


def _toolkit(path: str) -> CudaToolkit:
    return CudaToolkit(Version.parse("12.4"), path, "", "runfile")


CASES = (
    Case("lantern-is-out", "fail", "out", machine(cuda_toolkits=(_toolkit("/opt/dark"),))),
    Case("lantern-is-out", "ok", "lit", machine(cuda_toolkits=(_toolkit("/opt/light"),))),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_each_case_gets_its_verdict(case: Case) -> None:
    assert_case(case)
'''
OUTPUT = '''"""The number of machines, in lanterns."""

from __future__ import annotations

from collections.abc import Sequence

from envkit.render.reports import Diagnosed, Look


def report(machines: Sequence[Diagnosed], look: Look) -> str:
    """One lantern for each machine."""
    return "lantern " * len(machines)
'''
# What looks at additions.
TESTS = (
    "tests/tables/test_agreement.py",
    "tests/tables/test_browse.py",
    "tests/docs/test_in_step.py::test_generated_pages_are_up_to_date",
    "tests/checks/test_lantern.py",
    "tests/checks/test_conformance.py::test_a_check_explains_itself[lantern-is-out]",
    "tests/checks/test_coverage.py::test_every_check_is_seen_ok_and_not_ok",
    "tests/hostile/test_outputs.py::test_what_a_report_shows_does_nothing[shell-.system.os.value.pretty_name-ubuntu22.04-rtx3090-x4]",
    "tests/architecture/test_imports.py",
)


class Copy:
    """The files that git knows, in a folder of their own, and the names of those that were changed by hand."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.by_hand: set[str] = set()
        for name in _git("ls-files", "-z").split("\0"):
            if name and (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ROOT / name, folder / name, follow_symlinks=False)

    def write(self, name: str, text: str) -> None:
        """A new file."""
        assert not (self.folder / name).exists()
        (self.folder / name).write_text(text, "utf-8")
        self.by_hand.add(name)

    def replace(self, name: str, old: str, new: str) -> None:
        """A change to a file."""
        text = (self.folder / name).read_text("utf-8")
        assert text.count(old) == 1, name
        (self.folder / name).write_text(text.replace(old, new), "utf-8")
        self.by_hand.add(name)

    def append(self, name: str, row: dict[str, str]) -> None:
        """One more row of a table."""
        path = self.folder / name
        columns = path.read_text("utf-8").partition("\n")[0].split(",")
        with path.open("a", encoding="utf-8", newline="") as file:
            csv.DictWriter(file, columns, lineterminator="\n").writerow(row)
        self.by_hand.add(name)

    def run(self, *words: str, status: int = 0) -> str:
        """What a Python program of the copy prints, which ends with this status."""
        variables = {**os.environ, "PYTHONPATH": str(self.folder), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(
            [sys.executable, *words], cwd=self.folder, env=variables, capture_output=True, text=True, check=False
        )
        assert done.returncode == status, f"{' '.join(words)}\n{done.stdout[-6000:]}{done.stderr[-3000:]}"
        return done.stdout


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def _add_framework(copy: Copy) -> None:
    header = (ROOT / "envkit/data/frameworks/sonnet.csv").read_text("utf-8").partition("\n")[0]
    copy.write("envkit/data/frameworks/lantern.csv", header + "\n")
    copy.append("envkit/data/frameworks/lantern.csv", FRAMEWORK)
    copy.append("envkit/data/frameworks.csv", NAMED)


def _add_system(copy: Copy) -> None:
    name = "envkit/data/operating_systems.csv"
    with (ROOT / name).open(encoding="utf-8", newline="") as file:
        like = next(row for row in csv.DictReader(file) if row["os_id"] == "debian12")
    copy.append(name, like | SYSTEM)


def _add_check(copy: Copy) -> None:
    copy.write("envkit/checks/cuda/lantern.py", CHECK)
    copy.write("tests/checks/test_lantern.py", EXAMPLE)


def _add_output(copy: Copy) -> None:
    copy.write("envkit/render/reports/lantern.py", OUTPUT)
    copy.replace(
        "tests/hostile/rules.py",
        '    "html": html,\n',
        '    "html": html,\n    "lantern": lambda report, commands: None,\n',
    )


ADDITIONS = {
    "framework": _add_framework,
    "operating system": _add_system,
    "check": _add_check,
    "output": _add_output,
}


def test_each_addition_takes_as_few_files_as_the_page_says(tmp_path: Path) -> None:
    copy = Copy(tmp_path)
    taken = {}
    for name, add in ADDITIONS.items():
        copy.by_hand.clear()
        add(copy)
        taken[name] = len(copy.by_hand)
    assert taken == PROMISED
    copy.run("-m", "tools.docs.generate")
    asked = ("--framework", "lantern", "--os", "lanternos1", "--arch", "x86_64", "--target", "any")
    assert "lantern==1.0" in copy.run("-m", "envkit", "resolve", *asked)
    assert "lantern" in copy.run("-m", "envkit", "install", *asked)
    assert "lantern is out" in copy.run("-m", "envkit", "explain", "lantern-is-out")
    report = ("doctor", "--from", "docs/examples/cpu-only-wheel.txt", "--format", "lantern")
    assert copy.run("-m", "envkit", *report, status=1) == "lantern \n"
    copy.run("-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-m", "not network and not docker", *TESTS)
