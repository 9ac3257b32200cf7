"""Where apt has no package by its name: compilers of another release, names that no package has, PPAs that are gone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit._startup.regex import regex
from envkit.base.versions import Version
from envkit.checks.containers import image_stops as faults
from envkit.checks.engine.findings import Finding
from envkit.dockerfile.check_parts import command_subject, stop, subject_of
from envkit.dockerfile.ground import Ground
from envkit.dockerfile.shell import called
from envkit.dockerfile.shell_words import Word
from envkit.tables.build_tools import GonePpa
from envkit.tables.known_images import CUDA_REPOSITORY
from envkit.tables.loader import read
from envkit.tables.rows import OperatingSystem

if TYPE_CHECKING:
    from envkit.tables import Matrix

_KNOWN_WELL = 9  # releases of a distribution from which on the first and the last of them are certain
_REPOSITORY = regex(r"developer\.download\.nvidia\.com/compute/cuda/repos/(?P<os>[a-z]+\d+)/")
_OF_CUDA = regex(
    r"cuda-(?:toolkit|compiler|nvcc|libraries|libraries-dev|cudart|cudart-dev|minimal-build|command-line-tools|nvrtc"
    r"|nvml-dev|runtime)-(?P<major>\d{2})-(?P<minor>\d)"
)
_COMPILER = regex(r"(?:gcc|g\+\+|gfortran)-(\d{1,2}(?:\.\d)?)")
# Policy: a name has small letters, digits, + - and . alone.
_NO_NAME = regex(r"lib-[\w.-]+|python[23]\.\d{1,2}\.\d{1,2}|[a-z][a-z0-9.+-]*_[a-z0-9_.+-]+|[a-z]+[A-Z][A-Za-z0-9-]*")
# Packages of software that is not of the distribution itself: their versions end with a revision.
_REVISED = frozenset(
    {
        "cmake",
        "curl",
        "ffmpeg",
        "git",
        "htop",
        "nano",
        "openssh-server",
        "python3",
        "python3-dev",
        "python3-pip",
        "sudo",
    }
    | {"tmux", "unzip", "vim", "wget", "zip"}
)
_ADDS = frozenset({"add-apt-repository", "apt-add-repository"})


def compilers(ground: Ground) -> Iterator[Finding]:
    """The first compiler of GCC that the distribution has no package of, where its own sources are all there are."""
    system = ground.base.system
    if system is None or system.package_manager != "apt" or not system.installable_gcc:
        return
    if not ground.plain or "repositories" in ground.tells:
        return
    there = {str(one) for one in system.installable_gcc}
    for step in ground.steps:
        for word in step.of_apt:
            named = _COMPILER.fullmatch(word)
            if named is not None and named[1] not in there and step.command.decisive:
                yield _without(word, f"{system.title} has no package {word}", f"Install {_nearest(word, system)}.")
                return


def _nearest(word: Word, system: OperatingSystem) -> str:
    return f"{word.rpartition('-')[0]}-{min(system.installable_gcc)}"


def cuda_releases(ground: Ground, matrix: Matrix) -> Iterator[Finding]:
    """The first package of a CUDA release that NVIDIA's repository for the distribution never had."""
    system = ground.base.system
    if system is None or system.package_manager != "apt" or not system.repository_id:
        return
    named = {match["os"] for match in map(_REPOSITORY.search, ground.addresses) if match is not None}
    own = ground.base.repository == CUDA_REPOSITORY or system.repository_id in named
    if not own or not ground.plain or named - {system.repository_id}:
        return
    releases = {row.release for row in matrix.toolkits if system.os_id in (row.os_ids or ())}
    if len(releases) < _KNOWN_WELL:
        return
    for step in ground.steps:
        for word in step.of_apt:
            found = _OF_CUDA.fullmatch(word.partition("=")[0])
            release = Version.parse(f"{found['major']}.{found['minor']}") if found is not None else None
            if release is None or min(releases) <= release <= _after(max(releases)):
                continue
            if release <= matrix.toolkits[-1].release and step.command.decisive:
                told = f"NVIDIA's repository for {system.title} has no CUDA {release}"
                yield _without(
                    word,
                    told,
                    f"Install a CUDA release from {min(releases)} to {max(releases)}, or start from a different "
                    "distribution release.",
                )
                return


def _after(release: Version) -> Version:
    """The next release, which the repository may have, too."""
    return Version.of(release.major, release.minor + 1)


def no_names(ground: Ground) -> Iterator[Finding]:
    """The first word that cannot be the name of a package."""
    if not ground.has_apt:
        return
    for step in ground.steps:
        given = step.of_apt
        for word, last in zip(given, ("", *given), strict=False):
            if last not in ("-r", "--requirement") and _NO_NAME.fullmatch(word) and step.command.decisive:
                yield _without(word, f"no package has a name like {word}", "Correct its name.")
                return


def _without(word: Word, told: str, fix: str) -> Finding:
    impact = f"The build stops with: Unable to locate package {word}."
    return stop(faults.APT_WITHOUT_PACKAGE, told, subject_of(word.line, word), impact=impact, fix=fix)


def gone_ppas(ground: Ground) -> Iterator[Finding]:
    """The first PPA that is added and no longer there."""
    rows = {f"ppa:{row.name}": row for row in read(GonePpa)}
    for step in ground.steps:
        words = called(step.command)
        row = next((rows[word] for word in words if word in rows), None) if words and words[0] in _ADDS else None
        if row is not None and step.command.decisive and "--remove" not in words:
            yield stop(
                faults.APT_WITHOUT_PACKAGE,
                f"the PPA {row.name} no longer exists",
                command_subject(step.command),
                impact="The build stops with: Cannot add PPA.",
                fix="Start from a distribution that has the package.",
                sources=row.sources,
            )
            return


def version_cut(ground: Ground) -> Iterator[Finding]:
    """The first package that is asked for in a version without its revision, which apt takes as a whole."""
    if not ground.has_apt:
        return
    for step in ground.steps:
        for word in step.of_apt:
            name, pinned, version = word.partition("=")
            if pinned and name in _REVISED and version and not {"-", "*", "$"} & set(version) and step.command.decisive:
                yield stop(
                    faults.APT_WITHOUT_PACKAGE,
                    f"apt has no version {version} of {name}: apt needs the full version, including its revision",
                    subject_of(word.line, word),
                    impact=f"The build stops with: Version '{version}' for '{name}' was not found.",
                    fix=f"Write {name}, or {name}={version}*.",
                )
                return
