"""Which files that COPY and ADD name are not in the build context that the user names, or excluded from it."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import cached_property

from envkit._startup.records import record
from envkit._startup.regex import regex
from envkit.base.sentences import series
from envkit.checks.containers import image_stops as faults
from envkit.checks.engine.findings import Finding
from envkit.dockerfile.check_parts import stop, subject_of
from envkit.dockerfile.copies import copy_words
from envkit.dockerfile.reader import COPIES, Instruction, read_instructions
from envkit.dockerfile.stages import BuildStage, needed_stages

FILE, NOTHING = "file", ""  # what may be at a path; a folder is neither
IGNORE = ".dockerignore"
_ABSENT = "not in the build context"
_EXCLUDED = f"excluded from the build context by {IGNORE}"
_FIXES = {
    _ABSENT: "Copy a file that is there: paths are relative to the build context, not to the Dockerfile.",
    _EXCLUDED: f"Include it in {IGNORE}: write its name with ! before it, after the pattern that excludes it.",
}
# A path without a variable, a wildcard, a quote or an address: it is what it says.
_LITERAL = regex(r"[^$*?\[\]\\\"'<>:@]{1,500}")
_WILD, _WILDCARD = regex(r"[*?]"), "*"
_ANY = "**"  # as a part of a pattern: any number of folders
_UNSURE = regex(r"[\[\\]|\*\*[^/]|[^/]\*\*")  # in patterns that are not taken apart here


@record
class BuildContext:
    """The folder that is sent to the builder: what is at a path in it (None: not known), and its .dockerignore."""

    kind: Callable[[str], str | None]
    ignore: str = ""
    own: str = ""  # the name of the Dockerfile, which builders treat in different ways

    def lacks(self, path: str) -> str:
        """Why COPY certainly finds nothing at a path, in words; '' where it may find something."""
        kind = self.kind(path)
        if kind == NOTHING:
            return _ABSENT
        judged = kind is not None and posixpath.basename(path) not in (self.own, IGNORE)
        return _EXCLUDED if judged and self._excluded(path, is_file=kind == FILE) else ""

    def _excluded(self, path: str, *, is_file: bool) -> bool:
        """True where the last pattern for a path excludes it; never for a folder of which some files come back."""
        if self._is_unsure or (not is_file and self._takes_back):
            return False
        names = path.split("/")
        near = sorted((*self._by_first.get(names[0], ()), *self._by_first.get(_WILDCARD, ())), reverse=True)
        return not next((self._patterns[at][0] for at in near if _applies(self._patterns[at][1], names)), True)

    @cached_property
    def _by_first(self) -> dict[str, list[int]]:
        """The places of the patterns by the first name that they are for; those for any name under a wildcard."""
        found: dict[str, list[int]] = {}
        for at, (_, pattern) in enumerate(self._patterns):
            first = pattern.partition("/")[0]
            found.setdefault(_WILDCARD if _WILD.search(first) else first, []).append(at)
        return found

    @cached_property
    def _is_unsure(self) -> bool:
        return any(_UNSURE.search(pattern) for _, pattern in self._patterns)

    @cached_property
    def _takes_back(self) -> bool:
        return any(back for back, _ in self._patterns)

    @cached_property
    def _patterns(self) -> list[tuple[bool, str]]:
        """Each pattern, and whether it takes files back in."""
        lines = (line.strip() for line in self.ignore.removeprefix("\ufeff").splitlines() if line[:1] != "#")
        found = []
        for line in filter(None, lines):
            back = line.startswith("!")
            pattern = posixpath.normpath(line[back:].strip()).lstrip("/")
            found.append((back, pattern))
        return found


def _applies(pattern: str, names: Sequence[str]) -> bool:
    """True where a pattern is for a path, or for a folder that it lies in."""
    parts = pattern.split("/")
    reached = _passed({0}, parts)
    for name in names:
        here = {at for at in reached if parts[at] == _ANY}
        matched = {at + 1 for at in reached if _fits(name, parts[at])}
        reached = _passed(here | matched, parts)
        if len(parts) in reached:
            return True
    return False


def _fits(name: str, part: str) -> bool:
    return name == part or (_WILD.search(part) is not None and fnmatchcase(name, part))


def _passed(reached: set[int], parts: Sequence[str]) -> set[int]:
    """The same with what is after each ** that may stand for no folder at all: all but the last part."""
    found = set(reached)
    for at, part in enumerate(parts[:-1]):
        if part == _ANY and at in found:
            found.add(at + 1)
    return found


def not_in_context(text: str, stages: tuple[BuildStage, ...], context: BuildContext) -> Iterator[Finding]:
    """Each COPY and ADD that names files which are not sent to the builder; only what is written out counts."""
    needed = {part.line for stage in needed_stages(stages) for part in stage.instructions}
    for part in read_instructions(text):
        if part.keyword in COPIES and part.line in needed and "from" not in part.flags:
            yield from _missing(part, context)


def _missing(part: Instruction, context: BuildContext) -> Iterator[Finding]:
    found = {source: context.lacks(path) for source in _sources(part) if (path := _inside(source))}
    why = next(filter(None, found.values()), "")
    names = [source for source, told in found.items() if told == why]
    if why:
        yield stop(
            faults.LIST_MISSING,
            f"{series(names)} {'are' if len(names) > 1 else 'is'} {why}",
            subject_of(part.line, f"{part.keyword} {part.text}"),
            impact=f"The build stops at {part.keyword}: the file is not found.",
            fix=_FIXES[why],
            sources=("docker-docs",),
        )


def _sources(part: Instruction) -> Sequence[str]:
    return [word for word in copy_words(part.text)[:-1] if _LITERAL.fullmatch(word)]


def _inside(source: str) -> str:
    """The path in the context, which no path leaves; '' for all of it."""
    return posixpath.normpath(posixpath.join("/", source)).lstrip("/")
