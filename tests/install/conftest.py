"""Fixtures of the install tests: the engine, the target image, and stand-in files for each installer style."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from envkit._startup.records import replace
from envkit.install.options import ScriptOptions
from envkit.solver.model import Plan
from tests.engine.engine import Engine
from tests.engine.fixtures import engine
from tests.install.machine import image
from tests.install.plans import mirrors_to, plan, scripted, with_stand_ins
from tests.install.server import Behavior, serving
from tests.install.standins import StandIn, cudnn_archive, patch_runfile, toolkit_runfile

__all__ = ["engine"]

# One release for each installer style and quirk: legacy with a Perl quirk, legacy with patches, new with its
# --librarypath, new with patches, and new with cuDNN in a modern archive.
LEGACY, OLDER, NEW = "9.0.176", "12.4.0", "12.4.1"  # where one of each style will do; two of one folder
RELEASES = ("8.0.61", LEGACY, "10.1.105", "10.2.89", NEW)

StandIns = tuple[Path, dict[str, dict[str, StandIn]]]


@dataclass(frozen=True)
class Job:
    """A release whose files are stand-ins on a loopback server."""

    plan: Plan
    base: str
    behavior: Behavior

    def script(self, options: ScriptOptions | None = None) -> str:
        """The script that installs it."""
        return scripted(self.plan, replace(options or ScriptOptions(), accept_unverified=True), mirrors_to(self.base))


@pytest.fixture
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scripts keep their state at home without root, and not every home can be written."""
    monkeypatch.setenv("HOME", str(tmp_path_factory.mktemp("home")))


@pytest.fixture(scope="session")
def target_image(engine: Engine) -> str:
    """The image that plays the target."""
    return image(engine)


@pytest.fixture(scope="session")
def stand_ins(tmp_path_factory: pytest.TempPathFactory) -> StandIns:
    """The folder of the stand-in files, and for each release its files by name."""
    folder = tmp_path_factory.mktemp("stand-ins")
    return folder, {release: stand_ins_of(folder, plan(release)) for release in (*RELEASES, OLDER)}


def stand_ins_of(folder: Path, original: Plan) -> dict[str, StandIn]:
    """The stand-ins of a plan's files, by name."""
    toolkit = original.choice.toolkit
    assert toolkit is not None
    found = {}
    known = toolkit.compute_capabilities or (toolkit.max_compute_capability,)
    targets = " ".join(capability.sm for capability in known if capability)
    for row in original.choice.runfiles:
        if row.kind == "toolkit":
            made = toolkit_runfile(
                folder, row.name, toolkit.installer_style, str(toolkit.version), targets, str(toolkit.nvcc)
            )
        elif toolkit.installer_style == "legacy":
            made = patch_runfile(folder, row.name, row.order)
        else:
            made = toolkit_runfile(folder, row.name, "new", str(toolkit.version), targets, str(toolkit.nvcc))
        found[row.name] = made
    cudnn = original.choice.cudnn
    if cudnn is not None and cudnn.archive and cudnn.url:
        found[cudnn.archive] = cudnn_archive(folder, cudnn.archive, str(cudnn.version))
    return found


@pytest.fixture(scope="session")
def server(stand_ins: StandIns) -> Iterator[tuple[str, Behavior]]:
    """The loopback server for all stand-ins."""
    with serving(stand_ins[0]) as found:
        yield found


@pytest.fixture(params=RELEASES)
def job(request: pytest.FixtureRequest, stand_ins: StandIns, server: tuple[str, Behavior]) -> Job:
    """One release of each style; the server behaves well at first."""
    return job_for(str(request.param), stand_ins, server)


@pytest.fixture(params=[LEGACY, NEW])
def styled(request: pytest.FixtureRequest, stand_ins: StandIns, server: tuple[str, Behavior]) -> Job:
    """A legacy release with patches, and a new one."""
    return job_for(str(request.param), stand_ins, server)


@pytest.fixture
def job_of(stand_ins: StandIns, server: tuple[str, Behavior]) -> Callable[[str], Job]:
    """Any of the releases."""
    return lambda release: job_for(release, stand_ins, server)


@pytest.fixture
def legacy(stand_ins: StandIns, server: tuple[str, Behavior]) -> Job:
    """A legacy release."""
    return job_for(LEGACY, stand_ins, server)


@pytest.fixture
def older(stand_ins: StandIns, server: tuple[str, Behavior]) -> Job:
    """The release before the new one, whose folder it shares."""
    return job_for(OLDER, stand_ins, server)


@pytest.fixture
def new(stand_ins: StandIns, server: tuple[str, Behavior]) -> Job:
    """A new release."""
    return job_for(NEW, stand_ins, server)


def job_for(release: str, stand_ins: StandIns, server: tuple[str, Behavior]) -> Job:
    """The job of a release; its server behaves well at first."""
    base, behavior = server
    behavior.cut_after, behavior.delay_s, behavior.damaged = None, 0.0, False
    behavior.requests.clear()
    return Job(with_stand_ins(plan(release), stand_ins[1][release]), base, behavior)
