"""What may put right an installer of conda: an older one, where conda's own environment gets a Python of then."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from envkit._startup.regex import regex
from envkit.base.versions import Version
from envkit.checks.engine.findings import Finding
from envkit.dockerfile.contents import contents
from envkit.dockerfile.ground import Ground, arguments, grounds
from envkit.dockerfile.repair_lines import Changes
from envkit.dockerfile.repairs_base import from_of
from envkit.dockerfile.stages import read_stages
from envkit.dockerfile.stops_system import CONDA_IMAGES
from envkit.tables.build_stops import OlderMiniconda
from envkit.tables.codes import limit
from envkit.tables.loader import read

if TYPE_CHECKING:
    from envkit.tables import Matrix

_LATEST = "Miniconda3-latest-"
_PYTHON = regex(r"python={1,2}(\d\.\d{1,2})(?:[.=-].*)?")
_ELSEWHERE = regex(r"(?:-n|--name|-p|--prefix)(?:=.*)?")
_OWN = ("-n base", "--name base", "--name=base", "-n root", "--name root", "--name=root")
_ACTIVATES = regex(r"\bactivate\b")
_ALWAYS = "CONDA_DEFAULT_ENV"


def older_installer(lines: Sequence[str], finding: Finding, matrix: Matrix) -> Changes:
    """The newest older Miniconda whose conda has each Python that the file puts into conda's own environment."""
    if not any(_LATEST in line for line in lines):
        return
    pythons = pythons_of_conda(lines, matrix)
    row = next((row for row in read(OlderMiniconda) if pythons <= set(row.pythons)), None)
    if row is not None:
        changed = [line.replace(_LATEST, f"Miniconda3-{row.release}-") for line in lines]
        yield changed, f"chose an older Miniconda, {row.release}"


def from_conda(lines: Sequence[str], finding: Finding, matrix: Matrix) -> bool:
    """Whether the finding's stage starts from an image of conda."""
    place = from_of(lines, finding, matrix)
    return place is not None and place.base.repository in CONDA_IMAGES


def newest_conda_has(lines: Sequence[str], matrix: Matrix) -> bool:
    """Whether there is a build of the newest conda for each Python that conda's own environment gets."""
    return all(one >= limit("python-of-newest-conda") for one in pythons_of_conda(lines, matrix))


def pythons_of_conda(lines: Sequence[str], matrix: Matrix) -> frozenset[Version]:
    """The Pythons that commands put into conda's own environment, where conda takes no older release of itself."""
    stages = read_stages("\n".join(lines))
    made = grounds(stages, contents(stages, matrix), matrix)
    return frozenset(one for ground in made for one in _asked(ground))


def _asked(ground: Ground) -> Iterator[Version]:
    """The Pythons of the calls of conda that install into no other environment."""
    if _ALWAYS in ground.environment or any(part.keyword == "SHELL" for part in ground.instructions):
        return
    activating = {part.line for part in ground.instructions if _ACTIVATES.search(part.text)}
    for step in ground.steps:
        words = arguments(step.command, ("conda", "mamba"), ("install",)) or ()
        own = any(one in " ".join(step.command.words) for one in _OWN)
        if step.place[1] in activating or (any(map(_ELSEWHERE.fullmatch, words)) and not own):
            continue
        yield from (Version.parse(found[1]) for word in words if (found := _PYTHON.fullmatch(word)) is not None)
