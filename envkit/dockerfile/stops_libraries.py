"""Where a package of pip loads a library of the system that nothing brings: OpenCV with windows, and libGL."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from envkit._startup.regex import regex
from envkit.base.names import normalized
from envkit.base.versions import Version, VersionSpec
from envkit.checks.containers import image_stops as faults
from envkit.checks.engine.findings import Finding
from envkit.dockerfile.check_parts import package_subject, stop
from envkit.dockerfile.ground import Ground, Step
from envkit.dockerfile.least_python import python_for
from envkit.dockerfile.packages import Package
from envkit.dockerfile.stops_packages import asks_only
from envkit.dockerfile.stops_sources import BRINGS, is_harmless
from envkit.tables.build_stops import OpencvBringer
from envkit.tables.codes import limit
from envkit.tables.loader import read

_WITHOUT_GL = frozenset({"pytorch/pytorch", "tensorflow/tensorflow"})
_WITH_WINDOWS = frozenset({"opencv-contrib-python", "opencv-python"})
# They bring the build without windows, which replaces the other one's files; so does that itself, where it comes later.
_MAY_REPLACE = regex(r"albu|easyocr|rembg|roboflow|unstructured|nougat|docling|conda|mamba|\.sh\b|ansible")
_HEADLESS = "headless"
_BRINGS_GL = regex(r"ffmpeg|libgl1.*|mesa.*|xvfb|.*opengl.*|libgl[ue].*|.*egl.*|graphviz")
_OF_PYTHON = regex(
    r"(?:lib)?python3[\w.-]{0,40}|build-essential|gcc|g\+\+|make|pkg-config|libs[mn][\w.-]{0,20}|libx[\w.-]{0,20}|libgomp1"
)


def library_missing(ground: Ground) -> Iterator[Finding]:
    """The first OpenCV with windows in an image in which nothing brings libGL."""
    if (
        not (ground.first and ground.last)
        or not _is_without(ground)
        or ground.reads_list
        or ground.tells & {"copied", "bind"}
    ):
        return
    texts = " ".join(ground.texts)
    names = " ".join(ground.specs)
    if _MAY_REPLACE.search(texts) or _MAY_REPLACE.search(names) or BRINGS.search(texts):
        return
    given = [word for command in ground.steps for word in command.of_apt]
    if not all(word.startswith("-") or _is_lean(word) for word in given):
        return
    for step in ground.steps:
        for package in step.packages:
            if _loads_gl(package, ground, step) and not _is_replaced(step, ground):
                by = _bringers().get(normalized(package.name))
                name = f"{by.brings}, which {package.name} requires," if by is not None else package.name
                yield stop(
                    faults.LIBRARY_MISSING,
                    f"{name} loads libGL.so.1, but nothing in this image provides it",
                    package_subject(package),
                    impact="It installs, and stops when cv2 is imported: libGL.so.1 is not found.",
                    sources=("github-opencv-opencv-python-370",),
                )
                return


def _is_without(ground: Ground) -> bool:
    """True for an image that has no libGL itself."""
    if ground.of_python:
        return "alpine" not in ground.base.tag
    return (ground.plain and ground.has_apt) or ground.base.repository in _WITHOUT_GL


def _is_lean(word: str) -> bool:
    """True for a package of which it is known that it brings no libGL."""
    name = word.partition("=")[0]
    return _BRINGS_GL.fullmatch(name) is None and (
        _OF_PYTHON.fullmatch(name) is not None or is_harmless(name, lean=True)
    )


@cache
def _bringers() -> dict[str, OpencvBringer]:
    return {row.package: row for row in read(OpencvBringer)}


def _is_replaced(step: Step, ground: Ground) -> bool:
    """True where the same step or a later one may install the build without windows."""
    later = [one for one in ground.steps if one.place >= step.place]
    names = [package.name for one in later for package in one.packages]
    words = [word for one in ground.commands if one.line >= step.command.line for word in one.words]
    return any(_HEADLESS in text for text in (*names, *words))


def _loads_gl(package: Package, ground: Ground, step: Step) -> bool:
    """Whether pip certainly takes a release that loads it: older ones have their windows from another library."""
    if package.tool != "pip" or package.marker or package.held:
        return False
    brought = normalized(package.name) in _bringers() and _WITH_WINDOWS.isdisjoint(ground.specs)
    if not brought and normalized(package.name) not in _WITH_WINDOWS:
        return False
    python = python_for(package, step, ground)
    if python is None:
        return ground.base.repository == "tensorflow/tensorflow" and ground.base.tag in ("", "latest", "latest-gpu")
    if python.release(2) < limit("python-of-opencv-with-libgl"):
        return False
    return brought or not package.spec or _takes_only_newer(package, limit("opencv-with-libgl"))


def _takes_only_newer(package: Package, bound: Version) -> bool:
    """True where a requirement takes that release and newer ones alone, and pip the newest of them or one that it
    names."""
    try:
        asked = VersionSpec.parse(package.spec)
    except ValueError:
        return False
    if any(operator in (">", ">=") and least >= bound for operator, least in asked.clauses):
        return True
    return asks_only(package, f">={bound}")
