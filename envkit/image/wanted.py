"""Which build of a framework pip would take for what a Dockerfile names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.checks.findings import Status
from envkit.image.containerfile_facts import Wanted, normal
from envkit.matrix.rows import FrameworkBuild
from envkit.regex import regex
from envkit.versions import Version, VersionSpec

if TYPE_CHECKING:
    from envkit.matrix import Matrix

Problem = tuple[Status, str, str]
_NAME = regex(r"[A-Za-z0-9][\w.-]*")


def chosen_build(wanted: Wanted, python: Version | None, matrix: Matrix) -> tuple[FrameworkBuild | None, Problem]:
    """The build, or why there is none: status, what is wrong, and the mend."""
    nothing = (Status.UNKNOWN, "", "")
    builds = [build for build in matrix.builds(wanted.framework) if _package(build) in ("", wanted.package)]
    try:
        spec = VersionSpec.parse(wanted.spec.replace("===", "==").replace(".*", ""))
    except ValueError:
        return None, (
            Status.UNKNOWN,
            f"The version of {wanted.package}{wanted.spec} cannot be judged",
            "Pin a release.",
        )
    fitting = [build for build in builds if spec.holds(build.version)]
    if not fitting:
        return None, _no_version(wanted, builds)
    cuda = variant(wanted.cuda)
    if wanted.cuda.startswith("cu"):
        of_cuda = [build for build in fitting if build.cuda is not None and cuda is not None and build.cuda == cuda]
        if not of_cuda:
            return None, _no_variant(wanted, fitting)
        fitting = of_cuda
    elif wanted.default_index:
        fitting = [build for build in fitting if build.on_pypi] or fitting
    # Without a pin pip takes the newest release that has a package for this Python.
    if python is not None and spec.exact is None:
        able = [
            build for build in fitting if not build.pythons or any(python.starts_with(one) for one in build.pythons)
        ]
        fitting = able or fitting
    return max(fitting, key=lambda build: (build.version, build.on_pypi)), nothing


def _package(build: FrameworkBuild) -> str:
    found = _NAME.match(build.package or "")
    return normal(found.group()) if found else ""


def variant(word: str) -> Version | None:
    """The CUDA release that an index word names: cu118 is 11.8, cu90 is 9.0; None for cpu and none."""
    digits = word.removeprefix("cu")
    return Version.of(int(digits[:-1]), int(digits[-1])) if digits.isdigit() and len(digits) > 1 else None


def _no_version(wanted: Wanted, builds: list[FrameworkBuild]) -> Problem:
    if not builds:
        return (
            Status.UNKNOWN,
            f"No GPU build of {wanted.package} is on record",
            f"See: envkit matrix {wanted.framework}",
        )
    last = max(build.version for build in builds)
    exact = VersionSpec.parse(wanted.spec.replace("===", "==").replace(".*", "")).exact
    if exact is not None and exact > last:
        told = f"No {wanted.package}{wanted.spec} is on record; the newest is {last}"
        return (Status.UNKNOWN, told, f"Check the version; {wanted.package}=={last} is on record.")
    return (Status.UNKNOWN, f"{wanted.package}{wanted.spec} is not on record", f"{wanted.package}=={last} is.")


def _no_variant(wanted: Wanted, fitting: list[FrameworkBuild]) -> Problem:
    offered = sorted({build.cuda for build in fitting if build.cuda is not None})
    told = ", ".join(str(cuda) for cuda in offered)
    cuda = variant(wanted.cuda)
    return (
        Status.FAIL,
        f"{wanted.package}{wanted.spec} was never built for CUDA {cuda}; it was for {told}",
        f"Use the index of one of these: cu{str(offered[-1]).replace('.', '')}."
        if offered
        else "Choose another release.",
    )
