"""Where conda stops at the Python of its own environment, which it keeps: a framework or the command wants another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit._startup.regex import regex
from envkit.base.names import normalized
from envkit.base.versions import Version
from envkit.checks.containers import image_faults as faults
from envkit.checks.engine.findings import Finding
from envkit.dockerfile.check_parts import package_subject, stop
from envkit.dockerfile.ground import Ground
from envkit.dockerfile.least_python import least_of_tag
from envkit.dockerfile.packages import Package
from envkit.dockerfile.shell import called
from envkit.dockerfile.specifiers import pinned_release
from envkit.dockerfile.stops_system import CONDA_IMAGES
from envkit.tables.codes import limit

if TYPE_CHECKING:
    from envkit.tables import Matrix

_OTHER_PYTHON = regex(r"-n|--name(?:=.*)?|-p|--prefix(?:=.*)?|-f|--file(?:=.*)?|create|env|python(?:[=<>~ ].*)?")
_ENVIRONMENTS = regex(
    r"\b(?:conda|mamba) (?:env )?create\b|\bactivate\b|\benv update\b|CONDA_DEFAULT_ENV|python *[=<>~]"
)
_ELSEWHERE = regex(r"-n|--name(?:=.*)?|-p|--prefix(?:=.*)?|create|env|conda(?:[=<>~ ].*)?")
_MADE = regex(r"\bactivate\b|CONDA_DEFAULT_ENV")
_PINNED = regex(r"=*\d+\.\d+(?:\.[\d*]+)?\*?")


def conda_for_other_python(ground: Ground, matrix: Matrix) -> Iterator[Finding]:
    """The first such framework, where no command makes an environment or asks for a Python."""
    python = least_of_tag(ground.base) if ground.first else None
    texts = (*ground.written, *ground.environment)
    if python is None or any(map(_ENVIRONMENTS.search, texts)) or ground.reads_unseen:
        return
    for step in ground.steps:
        if not step.command.decisive or any(map(_OTHER_PYTHON.fullmatch, step.command.words)):
            continue
        for package in step.packages:
            last = _last_python(package, matrix)
            if last is not None and python > Version.of(last.major, last.minor + 1):  # conda-forge adds one at most
                yield stop(
                    faults.PYTHON_WITHOUT_PACKAGE,
                    f"{package.asked} has no build for Python {python} or newer, but conda in {ground.base.image} "
                    "keeps that Python",
                    package_subject(package),
                    impact="The build stops: conda finds no solution.",
                    fix=f"Install it into an environment of its own: conda create -n NAME python={last} "
                    f"{package.name}.",
                )
                return


def conda_keeps_its_python(ground: Ground) -> Iterator[Finding]:
    """The first command that asks for a Python which the newest conda, whose environment it changes, cannot run on."""
    newest = ground.base.repository in CONDA_IMAGES and ground.base.tag in ("", "latest")
    if not (newest or "anaconda" in ground.tells) or any(map(_MADE.search, ground.written)) or not ground.first:
        return
    for step in ground.steps:
        if not step.command.decisive or any(map(_ELSEWHERE.fullmatch, called(step.command)[1:])):
            continue
        asked = next((one for one in step.packages if one.name == "python" and one.tool == "conda"), None)
        python = Version.find(asked.spec) if asked is not None and _PINNED.fullmatch(asked.spec) else None
        if asked is not None and python is not None and python < limit("python-of-newest-conda"):
            yield stop(
                faults.PYTHON_WITHOUT_PACKAGE,
                f"the newest conda has no build for Python {python}, and this asks for it in conda's own environment",
                package_subject(asked),
                impact="The build stops: conda finds no solution.",
                fix=f"Make an environment of its own: conda create -n NAME python={python}.",
                sources=("anaconda-conda-builds",),
            )
            return


def _last_python(package: Package, matrix: Matrix) -> Version | None:
    """The newest Python that a pinned release of a framework has builds for."""
    pin = pinned_release(f"=={package.spec.lstrip('=')}") if package.tool == "conda" else None  # = is a line to conda
    framework = matrix.framework(normalized(package.name)) if pin is not None else None
    if pin is None or framework is None:
        return None
    pythons = [
        python
        for build in matrix.builds(framework.name)
        if build.version.starts_with(Version.parse(pin))
        for python in build.pythons
    ]
    return max(pythons, default=None)
