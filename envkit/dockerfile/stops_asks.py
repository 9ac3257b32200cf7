"""Where apt asks whether to go on and gets no answer: without -y it stops if it brings more than was named."""

from __future__ import annotations

from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.checks.containers import image_stops as faults
from envkit.checks.engine.findings import Finding
from envkit.dockerfile.check_parts import command_subject, stop
from envkit.dockerfile.ground import APT, Ground, Step, arguments
from envkit.dockerfile.shell import called
from envkit.dockerfile.shell_words import Word
from envkit.tables.build_stops import AskingPackage
from envkit.tables.known_images import CUDA_REPOSITORY
from envkit.tables.loader import read

_YES = regex(r"-[a-xzA-Z]*y[a-zA-Z]*|--yes|--assume-yes|-qq.*|-q=2|--force-yes|--download-only|-[sd]|--simulate|-o")
_UPGRADES = ("upgrade", "dist-upgrade", "full-upgrade")
_LISTS = regex(r"/var/lib/apt(?:/lists)?(?:/\*?)?")
_PATCH = regex(r"\d+\.\d+\.\d+(?:-.*)?")  # a release of Python that a later one has followed

# Images of frameworks on Ubuntu of which it is known that they have no git.
_WITHOUT_GIT = frozenset({"tensorflow/tensorflow"})


def _says_yes(words: tuple[Word, ...]) -> bool:
    """True for what answers the next command, if that is given it: `yes`, or an echo of y."""
    return words[:1] == ("yes",) or (words[:1] in (("echo",), ("printf",)) and words[-1][:1] in ("y", "Y"))


def _answered(ground: Ground) -> Iterator[tuple[Step, bool]]:
    """Each step, and whether apt has its answer there: by an option, or from the command before it."""
    before: tuple[Word, ...] = ()
    for step in ground.steps:
        words = step.command.words
        yield step, _says_yes(before) or any(_YES.fullmatch(word) or "<" in word for word in words)
        before = words


def asks(ground: Ground) -> Iterator[Finding]:
    """The first installation at which apt asks, as it provides more packages than were named."""
    framework = ground.base.repository in _WITHOUT_GIT
    if not ground.first or "assume-yes" in ground.tells:
        return
    devel = ground.base.row is not None and ground.base.row.flavor == "devel"
    names = {row.package: row for row in read(AskingPackage) if not (devel and row.in_devel)}
    if not ground.lean:
        names = {name: row for name, row in names.items() if row.anywhere or (framework and name == "git")}
    there: set[str] = set()
    for step, answered in _answered(ground):
        given = arguments(step.command, APT, ("install",))
        if given is None:
            continue
        asking = (names[word] for word in given if word in names and word not in there)
        row = next((one for one in asking if not (one.first and there)), None)
        if row is not None and not answered and step.command.decisive:
            yield stop(
                faults.APT_ASKS,
                f"apt asks before it installs the dependencies of {row.package}, but gets no answer: -y is missing",
                command_subject(step.command),
                impact="The build stops with: Do you want to continue? [Y/n] Abort.",
                sources=row.sources,
            )
            return
        there.update(given)


def upgrade_asks(ground: Ground) -> Iterator[Finding]:
    """The first upgrade of an image that was made once: there is something to upgrade, so apt asks."""
    if not ground.first or not _is_of_the_past(ground) or "assume-yes" in ground.tells:
        return
    updated = False
    for step, answered in _answered(ground):
        updated = updated or arguments(step.command, APT, ("update",)) is not None
        if called(step.command)[:1] == ("rm",) and any(map(_LISTS.fullmatch, step.command.words)):
            updated = False
        if arguments(step.command, APT, _UPGRADES) is None or not updated or not step.command.decisive:
            continue
        if not answered:
            yield stop(
                faults.APT_ASKS,
                "apt asks before it upgrades the packages of the image, but gets no answer: -y is missing",
                command_subject(step.command),
                impact="The build stops with: Do you want to continue? [Y/n] Abort.",
            )
        return


def _is_of_the_past(ground: Ground) -> bool:
    """True for an image that its project does not build again: its distribution has had updates since."""
    base = ground.base
    framework = base.own is not None and base.own.version is not None and any(sign.isdigit() for sign in base.tag)
    return (
        base.repository == CUDA_REPOSITORY
        or framework
        or (ground.of_python and _PATCH.fullmatch(base.tag) is not None and "alpine" not in base.tag)
    )
