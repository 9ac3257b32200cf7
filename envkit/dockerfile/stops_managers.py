"""Where a build stops at the package manager of another distribution: yum on Ubuntu, apt-get on Rocky Linux."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from envkit._startup.records import record
from envkit._startup.regex import regex
from envkit.checks.containers import image_stops as faults
from envkit.checks.engine.findings import Finding
from envkit.dockerfile.base import Base
from envkit.dockerfile.check_parts import command_subject, stop
from envkit.dockerfile.ground import Ground, Step
from envkit.dockerfile.shell import called
from envkit.image.own_base import foreign_system
from envkit.tables.loader import read
from envkit.tables.program_stops import PackageManager

if TYPE_CHECKING:
    from envkit.tables import Matrix

_CALLED = {"apt": "apt-get"}  # how a Dockerfile calls the manager of a system
# What may bring any program: scripts, other installers, whole trees.
_BRINGS = regex(
    r"\.sh\b|\b(?:ba)?sh\b|conda|mamba|ansible|spack|brew|nix|\.(?:deb|rpm|tar|tgz)\b|chroot|rootfs|alias|/s?bin\b|setup_"
)
_WORD = regex(r"(?<![\w.])[a-z]{1,40}")


@record
class _Home:
    """The distributions that an image is certainly one of, and the package manager that they have."""

    family: str
    title: str
    manager: str


def manager_missing(ground: Ground, matrix: Matrix) -> Iterator[Finding]:
    """The first call of a package manager that the image's distribution does not have, and nothing brings."""
    home = _home(ground.base, matrix)
    if not ground.first or home is None or ground.tells & {"copied", "bind"}:
        return
    there: set[str] = set()  # what may be there at one step may be at every later one
    for step in ground.steps:
        words = called(step.command)
        row = _managers().get(words[0]) if words and step.command.decisive else None
        if row is None or home.family in row.families or row.program in there:
            continue
        if _may_be_there(row, step, ground):
            there.add(row.program)
        else:
            yield stop(
                faults.PROGRAM_MISSING,
                f"{row.program} is not in {home.title}, whose package manager is {home.manager}",
                command_subject(step.command),
                impact=f"The build stops with: {row.program}: not found.",
                fix=f"Install the packages with {home.manager}, under the names that they have there.",
                sources=row.sources,
            )
            return


@lru_cache(maxsize=1)
def _managers() -> dict[str, PackageManager]:
    return {row.program: row for row in read(PackageManager)}


def _home(base: Base, matrix: Matrix) -> _Home | None:
    """None for an image of which it is not certain which distribution it is."""
    if not (base.known or base.of_distribution):
        return None
    foreign = foreign_system(base.repository, base.tag)
    if foreign is not None:
        manager = next((row.program for row in _managers().values() if foreign.word in row.families), "")
        return _Home(foreign.word, foreign.title, manager) if manager else None
    if base.system is not None:
        return _Home(base.system.family, base.system.title, _name(base.system.package_manager))
    # Of a release that is in no table.
    own = [row for row in matrix.operating_systems if (row.base_image or "").partition(":")[0] == base.repository]
    managers = {row.package_manager for row in own}
    return _Home(own[0].family, base.image, _name(own[0].package_manager)) if len(managers) == 1 else None


def _name(manager: str) -> str:
    return _CALLED.get(manager, manager)


def _may_be_there(row: PackageManager, step: Step, ground: Ground) -> bool:
    """True where an earlier instruction may bring the program, or make something of its name."""
    _, line, number = step.place
    runs = [part for part in ground.instructions if part.keyword == "RUN" and part.line <= line]
    texts = [part.text for part in runs if part.line < line]
    for command in (one for part in runs if part.line == line for one in part.commands[:number]):
        words = called(command)
        texts.append(" ".join(words[1:] if words[:1] == (row.program,) else command.words))
    if any(f"{row.program}()" in part.text.replace(" ", "") for part in runs):
        return True
    copies = [text for at, text in ground.copies if at < line]
    trees = any(text.split()[-1:] == ["/"] for text in copies)
    return trees or any(_BRINGS.search(text) or _names(text, row) for text in (*texts, *copies))


def _names(text: str, row: PackageManager) -> bool:
    """True where a word of a text begins as what may bring the program."""
    return any(word.startswith(row.words) for word in _WORD.findall(text))
