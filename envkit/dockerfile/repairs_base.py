"""What may put right the image that a stage starts from: another tag, a newer system, CUDA from its installer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from envkit._startup.records import record, replace
from envkit._startup.regex import regex
from envkit.base.versions import Version
from envkit.checks.engine.findings import Finding
from envkit.compat.system import CompilerEffort, compiling_effort
from envkit.dockerfile.base import Base, base_of
from envkit.dockerfile.check_base import as_row
from envkit.dockerfile.check_parts import line_of
from envkit.dockerfile.cuda_installed import cuda_installed
from envkit.dockerfile.other_tags import FLAVORS, devel_image, tags_in_place_of
from envkit.dockerfile.repair_lines import Changes, of_nvidia, other_line, start_of
from envkit.dockerfile.stages import read_stages
from envkit.tables.build_stops import AptPythons, ArchivedSystem
from envkit.tables.codes import limit
from envkit.tables.known_bases import with_owner
from envkit.tables.known_images import CUDA_REPOSITORY, GONE
from envkit.tables.loader import read
from envkit.tables.rows import ImageTag, OperatingSystem

if TYPE_CHECKING:
    from envkit.tables import Matrix

REPLACED, WITH = "replaced ", " with "  # around the image that was, and the one that is
_REPOSITORIES, _KEY = "https://developer.download.nvidia.com/compute/cuda/repos", "3bf863cc.pub"
_INSTALLED = regex(r"\bcuda_(\d{1,2}\.\d{1,2}\.\d{1,3})[\w.-]{0,60}(?:run|linux)\b")
_PYTHON, _DEADSNAKES = regex(r"\bpython(3\.\d{1,2})\b"), "deadsnakes"
_WITH_CUDNN = "Start from an image with cuDNN"
_TRIED = 3  # other tags of a flavor
_VARIABLE = regex(r"\$(?:\{(\w{1,60})\}|(\w{1,60}))")
_ONE_ARGUMENT = regex(r"(?i)\s*ARG\s+\w+=\S+\s*")
_IMAGE_WORD = regex(r"(?i)(?P<before>\s*FROM\s+(?:--\S+\s+)*)(?P<image>\S+)")


@record
class _From:
    """The FROM of a finding's stage."""

    lines: Sequence[str]
    index: int
    base: Base
    written: str  # the image as the line names it, with its variables

    @property
    def again(self) -> bool:
        """Whether another stage starts from the same image."""
        words = [word["image"] for line in self.lines if (word := _IMAGE_WORD.match(line)) is not None]
        return words.count(self.written) > 1

    def row(self, matrix: Matrix) -> ImageTag | None:
        """What the tag says, whether it is known or not; None for other images than nvidia/cuda."""
        named = self.base.repository == CUDA_REPOSITORY
        row = self.base.row or (as_row(self.base.tag, matrix) if named else None)
        if row is not None and not row.os_id and self.base.system is not None:
            return replace(row, os_id=self.base.system.os_id)
        return row

    def other(self, image: str) -> tuple[Sequence[str], str]:
        """The lines with another image, and what of them is other."""
        told = f"{REPLACED}{self.base.image}{WITH}{image}"
        by_arguments = self._by_arguments(image)
        if by_arguments is not None:
            return by_arguments, told
        line = self.lines[self.index].replace(self.written, image, 1)
        return other_line(self.lines, self.index, line), told

    def _by_arguments(self, image: str) -> Sequence[str] | None:
        """The lines with other defaults of the arguments that the name consists of, where nothing else reads them."""
        names = [found[1] or found[2] for found in _VARIABLE.finditer(self.written)]
        rest = "\n".join((*self.lines[: self.index], *self.lines[self.index + 1 :]))
        if not names or len(set(names)) < len(names) or any(_uses(name, rest) for name in names):
            return None
        parts = _VARIABLE.split(self.written)[::3]  # two groups between
        found = re.fullmatch("(.+?)".join(map(re.escape, parts)), image)
        lines = list(self.lines)
        for name, value in zip(names, found.groups() if found is not None else (), strict=False):
            at = [index for index in range(self.index) if re.match(rf"(?i)\s*ARG\s+{name}=", lines[index])]
            if len(at) != 1 or not _ONE_ARGUMENT.fullmatch(lines[at[0]]):
                return None
            lines[at[0]] = f"{lines[at[0]].partition('=')[0]}={value}"
        return lines if found is not None else None


def _uses(name: str, text: str) -> bool:
    """Whether anything in a text reads a variable, or declares it again."""
    return (
        re.search(rf"\$\{{?{name}\b", text) is not None or len(re.findall(rf"(?im)^[ \t]*ARG[ \t]+{name}\b", text)) > 1
    )


def owner_named(lines: Sequence[str], finding: Finding, matrix: Matrix) -> Changes:
    """FROM with the owner of the image, where the name alone is none."""
    place = from_of(lines, finding, matrix)
    row = with_owner(place.base.repository, place.base.tag, matrix) if place is not None else None
    if place is not None and row is not None:
        yield place.other(f"{row.repository}:{place.base.tag}")


def other_tag(lines: Sequence[str], finding: Finding, matrix: Matrix) -> Changes:
    """FROM with the tag that the remedy of a gone one names; where there is none, the same CUDA from its installer."""
    place = from_of(lines, finding, matrix)
    row = place.row(matrix) if place is not None else None
    if place is None or row is None or row.cuda is None:
        return
    near = _of_the_major(row, matrix)
    for tag in near:
        if _keeps_packages(lines, row, tag):
            yield place.other(f"{row.repository}:{tag.tag}")
    if not near and row.flavor != FLAVORS[0] and row.state in (*GONE, ""):  # that has no more than a library
        made = cuda_installed(row, place.base, matrix)
        if made is not None and not of_nvidia(lines):
            changed, told = place.other(made.image)
            where = place.index + 1
            yield [*changed[:where], *made.lines, *changed[where:]], f"{told} and NVIDIA's installer of {made.title}"


def fuller_tag(lines: Sequence[str], finding: Finding, matrix: Matrix) -> Changes:
    """FROM with a tag of the same release and system that holds what is missing: cuDNN, the libraries, the compiler."""
    place = from_of(lines, finding, matrix)
    row = place.row(matrix) if place is not None else None
    if place is None or row is None or row.cuda is None:
        return
    first = FLAVORS.index(row.flavor) if row.flavor in FLAVORS else 0
    loaded = finding.remedy is not None and finding.remedy.advice.startswith(
        _WITH_CUDNN
    )  # one without has none to load
    for flavor in FLAVORS[first:]:
        for cudnn in (row.cudnn,) if loaded else (row.cudnn, "" if row.cudnn else "cudnn"):
            same = _beside(replace(row, flavor=flavor, cudnn=cudnn), row, matrix)
            for tag in same[:_TRIED]:
                if tag.tag != row.tag and _same_release(tag, row):
                    yield place.other(f"{row.repository}:{tag.tag}")


def compiler_added(lines: Sequence[str], finding: Finding, matrix: Matrix) -> Changes:
    """FROM with the image of the same framework that has the compiler, or with such a tag of nvidia/cuda."""
    place = from_of(lines, finding, matrix)
    image = devel_image(place.base, matrix) if place is not None else ""
    if place is not None and image:
        yield place.other(image)
    yield from fuller_tag(lines, finding, matrix)


def other_cudnn(lines: Sequence[str], finding: Finding, matrix: Matrix) -> Changes:
    """FROM with the nearest tag of the same major and system that has another cuDNN."""
    place = from_of(lines, finding, matrix)
    row = place.row(matrix) if place is not None else None
    if place is None or row is None or row.cuda is None:
        return
    others = {tag.cudnn: tag for tag in reversed(_beside(row, row, matrix)) if tag.cudnn not in (row.cudnn, "", None)}
    for tag in others.values():
        if _keeps_packages(lines, row, tag):
            yield place.other(f"{row.repository}:{tag.tag}")


def key_fetched(lines: Sequence[str], finding: Finding, matrix: Matrix) -> Changes:
    """NVIDIA's key of today before apt-get update, where the file installs packages of its repository."""
    place = from_of(lines, finding, matrix)
    system = place.base.system if place is not None else None
    if place is None or system is None or not system.repository_id or not of_nvidia(lines):
        return
    start = start_of(lines, line_of(finding) - 1)
    line = f"RUN apt-key adv --fetch-keys {_REPOSITORIES}/{system.repository_id}/{place.base.architecture}/{_KEY}"
    yield [*lines[:start], line, *lines[start:]], "fetched the current key of NVIDIA's repository"


def other_system(lines: Sequence[str], finding: Finding, matrix: Matrix) -> Changes:
    """FROM with a newer release of the same distribution, with the same CUDA where it has one."""
    place = from_of(lines, finding, matrix)
    system = place.base.system if place is not None else None
    if place is None or system is None or place.again:  # what the other stage gets from this one would not fit
        return
    row, family = place.row(matrix), _family(system)
    ended = {row.title for row in read(ArchivedSystem)}
    installed = next((found for line in lines if (found := _INSTALLED.search(line)) is not None), None)
    for other in matrix.operating_systems:
        if _family(other) != family or _number(other) <= _number(system) or other.base_image is None:
            continue
        if other.title in ended or not _has_python(other, finding, lines):
            continue
        if installed is not None and not _compiles_on(other, Version.parse(installed[1]), matrix):
            continue
        if row is None and place.base.image == system.base_image:
            yield place.other(other.base_image)
        elif row is not None and row.cuda is not None:
            for tag in _of_the_major(replace(row, os_id=other.os_id), matrix):
                if tag.os_id == other.os_id and _keeps_packages(lines, row, tag):
                    yield place.other(f"{row.repository}:{tag.tag}")


def arguments_idle(before: Sequence[str], after: Sequence[str]) -> list[str]:
    """What to tell of arguments that named an image, which another one in place of it no longer reads."""
    was, now = ([word["image"] for line in lines if (word := _IMAGE_WORD.match(line))] for lines in (before, after))
    read_by = [set(found[1] or found[2] for found in _VARIABLE.finditer(" ".join(images))) for images in (was, now)]
    idle = sorted(read_by[0] - read_by[1])
    return [f"ARG {', '.join(idle)} no longer choose{'s' * (len(idle) == 1)} the base image"] if idle else []


def from_of(lines: Sequence[str], finding: Finding, matrix: Matrix) -> _From | None:
    """The FROM that a finding's stage starts from, through the stages between."""
    stages = [stage for stage in read_stages("\n".join(lines)) if stage.line <= line_of(finding)]
    while stages and stages[-1].parent is not None:
        stages = [stage for stage in stages if stage.index <= (stages[-1].parent or 0)]
    if not stages:
        return None
    index = stages[-1].line - 1
    word = _IMAGE_WORD.match(lines[index])
    if word is None or not (word["image"] == stages[-1].image or "$" in word["image"]):
        return None
    return _From(lines, index, base_of(stages[-1], matrix), word["image"])


def _beside(wanted: ImageTag, row: ImageTag, matrix: Matrix) -> list[ImageTag]:
    """The tags like the wanted one of the same system and major CUDA as the row, nearest first."""
    assert row.cuda is not None
    major = row.cuda.major
    tags = tags_in_place_of(wanted, matrix)
    return [tag for tag in tags if tag.os_id == row.os_id and tag.cuda is not None and tag.cuda.major == major]


def _of_the_major(row: ImageTag, matrix: Matrix) -> list[ImageTag]:
    """The nearest tag, if any: none of another major, for which nothing that the file brings may be built."""
    assert row.cuda is not None
    return [tag for tag in tags_in_place_of(row, matrix)[:1] if tag.cuda and tag.cuda.major == row.cuda.major]


def _has_python(system: OperatingSystem, finding: Finding, lines: Sequence[str]) -> bool:
    """Whether apt has the Python that a finding misses, where it misses one, on another release."""
    word = _PYTHON.search(finding.subject)
    if word is None:
        return True
    python = Version.parse(word[1])
    packaged = {one for row in read(AptPythons) if row.os_id == system.os_id for one in row.pythons}
    if python in packaged or python in system.pythons:
        return True
    return any(_DEADSNAKES in line for line in lines) and python >= limit("deadsnakes-oldest-python")


def _compiles_on(system: OperatingSystem, cuda: Version, matrix: Matrix) -> bool:
    """Whether nvcc of a release takes the system's own GCC."""
    toolkit = matrix.toolkit(cuda)
    return toolkit is not None and compiling_effort(system, toolkit) is CompilerEffort.NONE


def _same_release(tag: ImageTag, row: ImageTag) -> bool:
    return tag.cuda is not None and row.cuda is not None and tag.cuda.release(2) == row.cuda.release(2)


def _keeps_packages(lines: Sequence[str], row: ImageTag, tag: ImageTag) -> bool:
    """Whether what the file installs of NVIDIA's packages, if any, is there beside the other tag as well."""
    return (tag.os_id == row.os_id and _same_release(tag, row)) or not of_nvidia(lines)


def _family(system: OperatingSystem) -> str:
    return system.os_id.rstrip("0123456789.")


def _number(system: OperatingSystem) -> Version:
    return Version.find(system.os_id) or Version.of(0)
