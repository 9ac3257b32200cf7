"""Judges what conda packages say of each other: the CUDA in the name of a build, and the PyTorch of a companion."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from envkit._startup.regex import regex
from envkit.base.versions import Version, VersionSpec
from envkit.checks.containers import project_faults as faults
from envkit.checks.engine.findings import Finding, Remedy, Status
from envkit.compat.package_breaks import There, package_breaks
from envkit.compat.pairs import needed_of, newest_beside, pairs_by_package
from envkit.dockerfile.check_parts import finding
from envkit.project.choose import Chosen
from envkit.project.model import Item, Manifest
from envkit.project.subject import place_and_words, subject_of

_OF_BUILD = "cuda-version"  # what the name of a build is read as
_CUDA = ("cudatoolkit", "pytorch-cuda")  # what builds of the pytorch channel require in one minor version
_LOOSE = ("cudatoolkit",)  # builds of conda-forge take each later one of the same major version
_DOTTED = regex(r"cuda_?\d{1,2}\.\d")
_COMPANIONS = ("torchvision", "torchaudio")
_CHANNEL, _OTHER = "pytorch", "conda-forge"
_PIN = regex(r"={1,2}(\d{1,3}(?:\.\d{1,4}){1,2})(?:=[\w.*-]{1,80})?")
_WHOLE = 3  # numbers of a release that is one and no line
_DECLARE = 'Add a table [system-requirements] with the newest CUDA of the machines\' drivers, such as cuda = "12".'
_UNSOLVED = "conda finds no solution."
_BROKEN = "conda installs them, but the import or the first use fails."


def conda_findings(manifest: Manifest, have: Chosen) -> Iterator[Finding]:
    """The packages of conda that do not go together, or that no solution has for the system that the file declares."""
    for missing in manifest.undeclared:
        yield finding(
            faults.REQUIREMENTS_CLASH,
            Status.FAIL,
            f"{missing.name} needs a build for CUDA, but the manifest, for which pixi solves, declares no CUDA",
            place_and_words(missing.line, missing.name),
            impact="pixi finds no candidate: the builds for CUDA require __cuda.",
            remedy=Remedy(_DECLARE),
        )
    conda = [one for one in have.items if one.package.tool == "conda"]
    yield from _other_cuda(conda)
    yield from _other_torch(conda)
    pinned = {one.package.name: (one, version) for one in conda if (version := _version(one)) is not None}
    pinned.pop("python", None)
    beside: dict[str, There] = {name: (one.written, version) for name, (one, version) in pinned.items()}
    yield from _broken(pinned, beside, _BROKEN)
    if have.python is not None:
        yield from _broken(pinned, {"python": (f"Python {have.python}", have.python)}, _UNSOLVED)


def _broken(pinned: Mapping[str, tuple[Item, Version]], beside: Mapping[str, There], impact: str) -> Iterator[Finding]:
    """The releases that are known to break next to what is there."""
    for name, (one, version) in pinned.items():
        for verdict, instead in package_breaks(name, f"=={version}", beside):
            yield finding(
                faults.REQUIREMENTS_CLASH,
                Status.FAIL,
                verdict.detail,
                subject_of(one),
                impact=impact,
                remedy=Remedy(instead),
                sources=verdict.sources,
            )


def _version(one: Item) -> Version | None:
    """The release that a spec pins, whatever its build is; None for a range."""
    found = _PIN.fullmatch(one.package.spec)
    return Version.parse(found[1]) if found is not None else None


def _other_cuda(conda: list[Item]) -> Iterator[Finding]:
    """A CUDA next to a build whose name tells that it is for another."""
    builds = [one for one in conda if one.package.name == _OF_BUILD and not one.written.startswith(_OF_BUILD)]
    for build in builds:
        own, dotted = Version.find(build.package.spec), _DOTTED.search(build.written) is not None
        for one in conda:
            held = Version.find(one.package.spec) if not set(one.package.spec) & set("<>!~,*") else None
            if one.package.name not in (_CUDA if dotted else _LOOSE) or held is None or own is None:
                continue
            if own.starts_with(held) or held.starts_with(own) or (not dotted and own.major == held.major):
                continue
            yield finding(
                faults.REQUIREMENTS_CLASH,
                Status.FAIL,
                f"{build.written} is a build for CUDA {own}, but {one.written} is also requested",
                subject_of(one),
                impact=_UNSOLVED,
                remedy=Remedy(f"Remove {one.package.name}, or request a build for CUDA {held.release(2)}."),
            )


def _other_torch(conda: list[Item]) -> Iterator[Finding]:
    """A companion of the pytorch channel next to a PyTorch that it is not made for."""
    torch = next((one for one in conda if one.package.name == "pytorch"), None)
    version = _version(torch) if torch is not None else None
    if torch is None or version is None or len(version.parts) < _WHOLE:
        return
    beside = {"torch": (torch.written, VersionSpec.parse(f"=={version}"))}
    for one in conda:
        own, channels = _version(one), one.package.places.channels
        if one.package.name not in _COMPANIONS or own is None or _CHANNEL not in channels or _OTHER in channels:
            continue
        rows = tuple(row for row in pairs_by_package()[one.package.name] if row.version == str(own))
        needs = needed_of(rows, beside).replace("torch", "pytorch")
        if needs:
            fitting = newest_beside(pairs_by_package().get(one.package.name, ()), beside)
            yield finding(
                faults.REQUIREMENTS_CLASH,
                Status.FAIL,
                f"{one.package.name} {own} of the channel {_CHANNEL} is for {needs}, but {torch.written} is requested",
                subject_of(one),
                impact=_UNSOLVED,
                remedy=Remedy(f"Use {one.package.name}={fitting}." if fitting else f"Use {needs}."),
                sources=rows[-1].sources,
            )
