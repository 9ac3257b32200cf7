"""What the trials share: stand-in files on a loopback server, machines in containers, and the lines of the table."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import CompletedProcess

from tests.engine.engine import Engine
from tests.install.conftest import Job, StandIns, job_for, stand_ins_of
from tests.install.machine import Done, Machine, image, machine
from tests.install.plans import plan
from tests.install.server import Behavior

TESTS = Path(__file__).parents[1]
_TEST = re.compile(r"^def (test_\w{1,200})", re.M)


@dataclass(frozen=True)
class Outcome:
    """One line of the table: what was tried and came out, the exit codes in their order, and the test that sees it."""

    tried: str
    came_out: str
    codes: str
    seen_by: str


Trial = Callable[["Bench"], Outcome]


@dataclass
class Bench:
    """A place to try things in; each machine is a fresh container of Debian 12."""

    engine: Engine
    folder: Path
    server: tuple[str, Behavior]
    made: dict[str, StandIns] = field(default_factory=dict)
    machines: int = 0

    def job(self, release: str) -> Job:
        """A release whose files are stand-ins, made when they are first asked for."""
        if release not in self.made:
            files = self.server[1].folder
            self.made[release] = (files, {release: stand_ins_of(files, plan(release))})
        return job_for(release, self.made[release], self.server)

    @contextmanager
    def machine(self, *options: str, network: bool = True, name: str | None = None) -> Iterator[Machine]:
        """A fresh machine, with compilers unless another image is named."""
        self.machines += 1
        folder = self.folder / f"job-{self.machines}"
        with machine(self.engine, name or image(self.engine), folder, *options, network=network) as made:
            yield made


def codes(*done: Done | CompletedProcess[str]) -> str:
    """The exit codes of these runs, in their order."""
    return ", ".join(str(run.exit_code if isinstance(run, Done) else run.returncode) for run in done)


def names_of_tests() -> frozenset[str]:
    """All tests of install scripts and of the program's own."""
    files = (*TESTS.glob("test_*.py"), *TESTS.parent.glob("tables/test_*.py"))
    return frozenset(name for file in files for name in _TEST.findall(file.read_text()))


def by_tests(tried: str, came_out: str, *tests: str) -> Trial:
    """A trial of what needs another machine than a container: these tests with stand-ins are run, `FILE::NAME` each."""

    def trial(_: Bench) -> Outcome:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "thorough or not thorough"]
        done = subprocess.run(
            [*command, *(f"tests/install/test_{test}" for test in tests)], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout[-3000:]
        return Outcome(tried, came_out, "by tests", ", ".join(test.partition("::")[2] for test in tests))

    return trial
