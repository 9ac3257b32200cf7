"""What may put right a name: a package under its new one, an image's other tag, a program that is missing, an index."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from envkit._startup.regex import regex
from envkit.base.versions import Version, cuda_tag
from envkit.checks.engine.findings import Finding
from envkit.dockerfile.check_parts import line_of
from envkit.dockerfile.repair_lines import (
    PIP_INSTALL,
    Changes,
    end_of,
    named_for_pip,
    other_line,
    said_before,
    start_of,
    without_word,
)
from envkit.dockerfile.repairs_base import from_of
from envkit.tables.codes import limit
from envkit.tables.loader import read
from envkit.tables.program_stops import AbsentProgram

if TYPE_CHECKING:
    from envkit.tables import Matrix

_INSTEAD = regex(r"Install ([a-z0-9][a-z0-9.+-]{0,60}(?:==[\w.+]{1,30})?)\.")
_PYTORCH = regex(
    r"(?P<image>pytorch/pytorch:(?P<release>\d[\d.]{0,8})-cuda[\d.]{1,6}-cudnn\d-(?P<flavor>runtime|devel))"
)
_BITNAMI = regex(r"bitnami/[\w.-]{1,80}:\S{1,128}")
_LACKS = regex(r"the image has no ([\w+-]{1,20}), and no earlier command installs it")
_ELSEWHERE = regex(r"has no (/usr/local/bin/python3?): its Python is")
_NO_PYTHON = "Ubuntu provides python3 but not python, and nothing in this file installs python"
_PREFIX = regex(r"\s-p\s+(/[\w./-]{1,80})")
_INSTALL = regex(r"\b((?:apt-get|apt)(?:\s+-\S{1,60}){0,12}\s+install)\b")
_MEANT = regex(r"(\S{1,40}) is not a program; (\S{1,40}) was probably intended")
_TREATS = regex(r"\S{1,120} treats (\S{1,40}) as an argument")
_NEVER = regex(r"never built for CUDA (?P<asked>\d{1,2}\.\d{1,2}); it was built for (?P<built>[\d., and]{1,200})")
_NUMBER = regex(r"\d{1,2}\.\d{1,2}")
_SUFFIX = regex(r"The default index has no torch\w{0,10} with \+(cu\d{2,3})\b")
_RETIRED = "tensorflow-gpu is a retired package name"
_PYTHONS = regex(r"(?i)\bpython[-=_ ]{0,3}(?:VERSION=)?(3\.\d{1,2})")
_OTHER_PYTHON = regex(r"(?:Miniconda3-latest|Miniconda3-py3(?:9|1\d)|Miniforge3|Mambaforge)-")  # with one of today
_ENDS = frozenset({"fi", "done", "then", "do", "else", "elif", "esac"})
_RUN = "RUN"
_INSTRUCTIONS = frozenset({"RUN", "WORKDIR", "ENV", "COPY", "ADD", "USER", "CMD", "ENTRYPOINT", "EXPOSE"})
_USED = regex(r"([A-Z]{3,10}) is a Dockerfile instruction, but is used here as a shell command")
_ALONE = regex(
    r"RUN\s+(?:apt(?:-get)?\s+update\s+&&\s+)?apt(?:-get)?(?:\s+-\S{1,60}){0,4}\s+install(?:\s+-\S{1,60}){0,4}\s+\S+\s*"
)
_NOTHING = regex(r"\binstall(?:\s+-\S{1,60}){0,4}\s*(?:&&|;|\||$|RUN\b)")
_FEW = 8  # lines of one command


def name_replaced(lines: Sequence[str], finding: Finding, matrix: Matrix) -> Changes:
    """The package under the name that the finding's remedy says, in the line that asks for it."""
    index = line_of(finding) - 1
    told = _INSTEAD.fullmatch(finding.remedy.advice if finding.remedy is not None else "")
    word = finding.subject.partition(": ")[2].partition("=")[0]
    if told is None or not word:
        return
    if is_module(told[1], word) and any(named_for_pip(word, lines, at) for at in range(len(lines))):
        yield from _left_to_pip(lines, index, word)
        return
    place = from_of(lines, finding, matrix)
    if is_module(told[1], word) and (place is None or not place.base.of_distribution):
        return  # which may have a Python that finds no modules of apt
    own = re.compile(rf"(?<![\w./@+-]){re.escape(word)}(?:=[^\s'\"]+)?(?=[\s'\"\\]|$)")
    changed = own.sub(told[1], lines[index])
    if changed != lines[index]:
        yield other_line(lines, index, changed), f"replaced {word} with {told[1]}"


def is_module(package: str, word: str) -> bool:
    """Whether a package of apt is the module of Python that a word means, rather than Python or a tool."""
    return package.startswith("python3-") and not word.startswith(("python", "pip"))


def _left_to_pip(lines: Sequence[str], index: int, word: str) -> Changes:
    """Without a name that pip installs as well; without the instruction, if it does nothing else."""
    told = f"removed {word} in line {index + 1}, which pip installs"
    if _ALONE.fullmatch(lines[index]):
        yield [*lines[:index], *lines[index + 1 :]], told
        return
    changed = without_word(lines, index, word)
    if changed is not None and not _NOTHING.search(" ".join(line.rstrip(" \\") for line in changed)):
        yield changed, told


def other_image(lines: Sequence[str], finding: Finding, matrix: Matrix) -> Changes:
    """FROM with an image of the same release for another CUDA, or with the place to which images were moved."""
    index = line_of(finding) - 1
    line = lines[index]
    named = _PYTORCH.search(line)
    if named is not None:
        release = Version.parse(named["release"])
        rows = [
            row
            for row in matrix.framework_images
            if row.repository == "pytorch/pytorch"
            and row.version is not None
            and row.version.starts_with(release)
            and row.flavor == named["flavor"]
        ]
        for row in rows:
            image = f"{row.repository}:{row.tag}"
            yield (
                other_line(lines, index, line.replace(named["image"], image)),
                f"replaced {named['image']} with {image}",
            )
    moved = _BITNAMI.search(line)
    if moved is not None:
        image = moved[0].replace("bitnami/", "bitnamilegacy/", 1)
        yield other_line(lines, index, line.replace(moved[0], image)), f"replaced {moved[0]} with {image}"


def program_added(lines: Sequence[str], finding: Finding, matrix: Matrix) -> Changes:
    """A command before the one that lacks a program: apt installs it, a link or PATH leads to it."""
    lacks = _LACKS.fullmatch(finding.title)
    before, told = "", ""
    packages = {row.program: row.package for row in read(AbsentProgram)}
    name = packages.get(lacks[1], "") if lacks is not None else ""
    if name:
        before = (
            f"RUN apt-get update && apt-get install -y --no-install-recommends {name} ca-certificates "
            "&& rm -rf /var/lib/apt/lists/*"
        )
        told = f"added {name}"
    elif finding.title == _NO_PYTHON:
        before, told = "RUN ln -s python3 /usr/bin/python", "added a program python that is python3"
    elif "is not on PATH: its installer" in finding.title:
        prefix = next((found[1] for line in lines if (found := _PREFIX.search(line)) is not None), "")
        before, told = (f"ENV PATH={prefix}/bin:$PATH", f"added {prefix}/bin to PATH") if prefix else ("", "")
    elsewhere = _ELSEWHERE.search(finding.title)
    index = line_of(finding) - 1
    if before:
        start = start_of(lines, index)
        yield [*lines[:start], before, *lines[start:]], told
    elif elsewhere is not None and elsewhere[1] in lines[index]:
        name = elsewhere[1].rpartition("/")[2]
        changed = lines[index].replace(elsewhere[1], name, 1)
        yield other_line(lines, index, changed), f"replaced {elsewhere[1]} with {name}, which is looked up in PATH"


def answered(lines: Sequence[str], finding: Finding, matrix: Matrix) -> Changes:
    """-y for apt."""
    index = line_of(finding) - 1
    changed = _INSTALL.sub(r"\1 -y", lines[index], count=1)
    if changed != lines[index]:
        yield other_line(lines, index, changed), f"added -y in line {index + 1}"


def word_put_right(lines: Sequence[str], finding: Finding, matrix: Matrix) -> Changes:
    """The program that was meant by a misspelled one."""
    index = line_of(finding) - 1
    meant = _MEANT.fullmatch(finding.title)
    if meant is not None and meant[1] in lines[index]:
        yield (
            other_line(lines, index, lines[index].replace(meant[1], meant[2], 1)),
            f"replaced {meant[1]} with {meant[2]}",
        )


def joined_apart(lines: Sequence[str], finding: Finding, matrix: Matrix) -> Changes:
    """&& before the command that another one takes for an argument, at each place where it stands."""
    treats = _TREATS.match(finding.title)
    if treats is None:
        return
    start = start_of(lines, line_of(finding) - 1)
    yield from _cut_before(lines, start, treats[1])
    for at in range(start, end_of(lines, start) + 1):
        words = lines[at].split(" ")
        for place, word in enumerate(words):
            if word != treats[1] or not (place or at > start):
                continue
            before, sign = words[:place], ";" if word in _ENDS else "&&"
            last = before[-1].removesuffix(_RUN) if before and before[-1] != _RUN else ""
            if before and last and last != before[-1] and not last.isupper():  # the instruction's name behind a word
                before[-1] = last
            changed = " ".join([*before, sign, *words[place:]])
            yield other_line(lines, at, changed), f"added {sign} before {word} in line {at + 1}"


def _cut_before(lines: Sequence[str], start: int, word: str) -> Changes:
    """The instruction before one that stands on a line of its own, without the words that join the two."""
    for at in range(start + 1, end_of(lines, start) + 1):
        joined = said_before(lines, at)
        if word in _INSTRUCTIONS and lines[at].split(" ")[0] == word and joined is not None:
            ended = lines[joined].rstrip().removesuffix("\\").rstrip().removesuffix("&&").removesuffix(";").rstrip()
            yield other_line(lines, joined, ended), f"ended the instruction before {word} in line {at + 1}"


def instruction_apart(lines: Sequence[str], finding: Finding, matrix: Matrix) -> Changes:
    """A new instruction where one is used as a command of the one before."""
    used = _USED.match(finding.title)
    if used is None:
        return
    index = line_of(finding) - 1
    yield from _cut_before(lines, start_of(lines, index), used[1])
    line = re.sub(rf"(&&|;)\s+{used[1]}\s+", r"\1 ", lines[index], count=1)
    if line != lines[index]:
        yield other_line(lines, index, line), f"removed {used[1]} in line {index + 1}"


def index_chosen(lines: Sequence[str], finding: Finding, matrix: Matrix) -> Changes:
    """The index of a CUDA that a release was built for, the one of a suffix, and TensorFlow under its only name."""
    index = line_of(finding) - 1
    never, suffix = _NEVER.search(finding.title), _SUFFIX.search(finding.title)
    start = start_of(lines, index)
    if never is not None:
        asked = Version.parse(never["asked"])
        built = [Version.parse(one) for one in _NUMBER.findall(never["built"])]
        old = cuda_tag(asked)
        for cuda in sorted(built, key=lambda one: (one < asked, abs(one.major - asked.major), one)):
            new = cuda_tag(cuda)
            changed = [line.replace(old, new) if start <= at < start + _FEW else line for at, line in enumerate(lines)]
            yield changed, f"replaced {old} with {new}"
    if suffix is not None:
        address = f"https://download.pytorch.org/whl/{suffix[1]}"
        for at in range(index, start - 1, -1):
            changed_line = PIP_INSTALL.sub(lambda found: f"{found[0]} --extra-index-url {address}", lines[at], count=1)
            if changed_line != lines[at]:
                yield other_line(lines, at, changed_line), f"added the index {address}"
                return
    if finding.title.startswith(_RETIRED) and _has_recent_python(lines, finding, matrix):
        for name in ("'tensorflow[and-cuda]'", "tensorflow") if "tensorflow-gpu" in lines[index] else ():
            line = lines[index].replace("tensorflow-gpu", name, 1)
            yield other_line(lines, index, line), f"replaced tensorflow-gpu with {name}"


def _has_recent_python(lines: Sequence[str], finding: Finding, matrix: Matrix) -> bool:
    """Whether pip may be that of a Python for which there is a TensorFlow that brings its CUDA."""
    least = limit("tensorflow-with-wheels-python")
    named = [Version.parse(found[1]) for line in lines for found in _PYTHONS.finditer(line)]
    if named:
        return min(named) >= least
    place = from_of(lines, finding, matrix)
    system = place.base.system if place is not None else None
    python = system.default_python if system is not None and system.package_manager == "apt" else None
    return python is None or python >= least or any(_OTHER_PYTHON.search(line) for line in lines)
