"""Where a build stops at an installer or at a repository that is new to the image: glibc, keys, commands that left."""

from __future__ import annotations

from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.checks.containers import image_faults
from envkit.checks.containers import image_stops as faults
from envkit.checks.engine.findings import Finding
from envkit.dockerfile.check_parts import command_subject, stop, subject_of
from envkit.dockerfile.ground import APT, Ground, arguments
from envkit.dockerfile.shell import called
from envkit.dockerfile.shell_words import Word
from envkit.tables.build_stops import GoneCommand, GonePackage, InstallerGlibc, RefusedKey
from envkit.tables.build_tools import NoPackage
from envkit.tables.loader import read
from envkit.tables.rows import OperatingSystem

_SCRIPT = regex(r"(?:.*/)?[\w.-]+\.sh")
_SHELL = regex(r"(?:.*/)?(?:ba|da)?sh")
_FETCHES = ("curl", "wget", "aria2c")
_REPOSITORY = regex(r"developer\.download\.nvidia\.com/compute/cuda/repos/(?P<os>[a-z]+\d+)/")
_KEYRING = regex(r"(?:.*/)?cuda-keyring[\w.-]*\.deb")
_SHORT_CUDNN = regex(r"libcudnn\d+(?:-dev)?=\d+\.\d+\.\d+-1\+cuda\d+\.\d+")
_OF_CUDA = regex(
    r"cuda-(?:cudart|cudart-dev|minimal-build|libraries|libraries-dev|command-line-tools|toolkit|nvcc|compiler|runtime)"
    r"-(?P<major>\d+)-(?P<minor>\d+)=(?P<version>\d+\.\d+)\.\S*"
)


def glibc_of_installer(ground: Ground) -> Iterator[Finding]:
    """The first run of an installer that needs a newer glibc than the image has."""
    system = ground.base.system
    if system is None or system.glibc is None:
        return
    added = [*(text for _, text in ground.copies), *ground.environment.values()]
    needs = next((row for row in read(InstallerGlibc) for text in added if row.address in text and "://" in text), None)
    for step in ground.steps:
        words = called(step.command)
        row = next(
            (row for row in read(InstallerGlibc) for word in words if row.address in word and "://" in word), None
        )
        needs = row or needs
        if needs is not None and system.glibc < needs.glibc and _runs_script(words):
            yield stop(
                image_faults.GLIBC_TOO_OLD,
                f"{needs.title} needs glibc {needs.glibc} or newer; {system.title} has {system.glibc}",
                command_subject(step.command),
                impact="The build stops with: Installer requires GLIBC.",
                fix="Start from a newer distribution, or use an older release of the installer.",
                sources=needs.sources,
            )
            return


def _runs_script(words: tuple[Word, ...]) -> bool:
    if not words or words[0].rpartition("/")[2] in _FETCHES:
        return False
    if _SHELL.fullmatch(words[0]):
        return any(_SCRIPT.fullmatch(word) for word in words[1:] if not word.startswith("-"))
    return _SCRIPT.fullmatch(words[0]) is not None and {"-b", "-bp", "-bfp", "-p"} & set(words[1:]) != set()


def gone_packages(ground: Ground) -> Iterator[Finding]:
    """The first package of apt that the image's distribution does not have, where its own sources are all there are."""
    if "repositories" in ground.tells:
        return
    system = ground.base.system
    rows: dict[str, GonePackage | NoPackage] = {row.package: row for row in read(NoPackage)}
    rows.update((row.package, row) for row in ground.of_system(GonePackage))
    for step in ground.steps:
        for word in step.of_apt:
            row = rows.get(word.partition("=")[0])
            if row is not None and step.command.decisive:
                yield stop(
                    faults.APT_WITHOUT_PACKAGE,
                    _no_package(row, system),
                    subject_of(word.line, word),
                    impact=f"The build stops: apt finds no package {row.package} that it can install.",
                    fix=f"Install {row.instead}." if row.instead else "",
                    sources=row.sources,
                )
                return


def _no_package(row: GonePackage | NoPackage, system: OperatingSystem | None) -> str:
    if isinstance(row, GonePackage) and system is not None:
        return f"{system.title} has no package {row.package}"
    return f"there is no package {row.package} in any release of Debian or Ubuntu"


def other_cuda_version(ground: Ground) -> Iterator[Finding]:
    """The first package of a CUDA release that is asked for in the version of another."""
    for word in _asked_of_apt(ground):
        named = _OF_CUDA.fullmatch(word)
        if named is not None and named["version"] != f"{named['major']}.{named['minor']}":
            release = f"{named['major']}.{named['minor']}"
            told = f"{word.partition('=')[0]} belongs to CUDA {release}, and has no version {word.partition('=')[2]}"
            yield _no_version(word, told, "Omit the version, or pass one from that CUDA release.")
            return


def no_such_cudnn(ground: Ground) -> Iterator[Finding]:
    """The first cuDNN package whose version leaves out the last number, without which apt has none."""
    for word in _asked_of_apt(ground):
        if _SHORT_CUDNN.fullmatch(word):
            told = f"there is no {word}: cuDNN package versions have four numbers"
            yield _no_version(
                word, told, "Write all four numbers, and use a CUDA version that this cuDNN was built for."
            )
            return


def _asked_of_apt(ground: Ground) -> Iterator[Word]:
    for step in ground.steps:
        yield from step.of_apt


def _no_version(word: Word, told: str, fix: str) -> Finding:
    """The stop of apt at a version that a package does not have."""
    impact = "The build stops with: Version … was not found."
    return stop(faults.APT_WITHOUT_PACKAGE, told, subject_of(word.line, word), impact=impact, fix=fix)


def gone_commands(ground: Ground) -> Iterator[Finding]:
    """The first call of a command that the distribution no longer has."""
    system = ground.base.system
    rows = {row.command: row for row in ground.of_system(GoneCommand)}
    for step in ground.steps:
        words = called(step.command)
        row = rows.get(words[0]) if words else None
        if row is not None and step.command.decisive and system is not None:
            yield stop(
                faults.APT_WITHOUT_PACKAGE,
                f"{system.title} has no command {row.command}",
                command_subject(step.command),
                impact=f"The build stops: {row.command} is not found.",
                fix="Store the key in /usr/share/keyrings, and refer to it with signed-by.",
                sources=row.sources,
            )
            return


def key_refused(ground: Ground) -> Iterator[Finding]:
    """The first apt-get update after NVIDIA's repository of an older distribution was added."""
    system = ground.base.system
    row = next(iter(ground.of_system(RefusedKey)), None)
    if row is None or system is None or "sha1" in ground.tells:
        return
    other = next((match for match in map(_REPOSITORY.search, ground.addresses) if match), None)
    if other is None or other["os"] == system.os_id:
        return
    added = False
    for step in ground.steps:
        words = called(step.command)
        added = added or (words[:1] == ("dpkg",) and any(_KEYRING.fullmatch(word) for word in words))
        if added and arguments(step.command, APT, ("update",)) is not None and step.command.decisive:
            yield stop(
                faults.APT_KEY_REFUSED,
                f"apt in {system.title} rejects the key of NVIDIA's repository for {other['os']}",
                command_subject(step.command),
                impact="The build stops with: The repository is not signed.",
                sources=row.sources,
            )
            return
