"""Follows a file of the image back through COPY, ADD and bind mounts to the one next to the Dockerfile."""

from __future__ import annotations

import posixpath
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import islice

from envkit._startup.records import record
from envkit._startup.regex import regex
from envkit.dockerfile.heredocs import heredocs
from envkit.dockerfile.reader import COPIES, Instruction
from envkit.dockerfile.shell_words import exec_form
from envkit.dockerfile.stages import BuildStage, by_name, final_chain

_FURTHEST_BACK = 1_000  # copies that a file may have come with, the last first
_LOOKED_AT = 100  # folders that a file may lie in; there are more in no file that somebody wrote
_MOUNT = regex(r"type=(?!bind)|.*,type=(?!bind)")


@record
class Origin:
    """Where a file of the image comes from: its name next to the Dockerfile, or what a heredoc writes into it.

    `certain`: it is named itself, not a folder that may hold it.
    """

    place: str
    certain: bool
    body: str | None = None


@record
class _Brought:
    """One source that an instruction puts at `target`, a name inside the image."""

    source: str
    target: str
    folder: bool  # the target is one
    stage: str  # the stage or image that the source is in; '' for the files next to the Dockerfile
    body: str | None


@record
class _Placed:
    """What a stage is given from its start to its end, each with its line; what its parent has comes first."""

    items: tuple[_Brought, ...]
    lines: tuple[int, ...]
    folders: tuple[tuple[int, str], ...]  # from which line on WORKDIR says that RUN is in which folder
    mounts: Mapping[int, tuple[_Brought, ...]]  # for the RUN of a line alone


class Copies:
    """Where the files of each stage's image come from; each stage is looked through once."""

    def __init__(self, stages: Sequence[BuildStage]) -> None:
        self._stages = stages
        self._names = by_name(stages)
        self._placed: dict[int, _Placed] = {}

    def origins(self, index: int, line: int | None, name: str) -> Iterator[Origin]:
        """Where the file that a RUN on that line of a stage calls `name` may come from, what was put there last first.

        Without a line the name is one at the end of the stage.
        """
        items, where = self._before(index, line)
        path = posixpath.normpath(posixpath.join(where, name))
        for item in islice(reversed(items), _FURTHEST_BACK):
            for source, certain in _sources_of(item, path):
                if item.stage:
                    yield from self._of_stage(index, item.stage, source, certain=certain)
                else:
                    yield Origin(_beside(source), certain, item.body)

    def likely(self, index: int, line: int, name: str) -> Iterator[str]:
        """Files next to the Dockerfile that may be the one meant, where that one is put at another place than is named.

        Those of its name that any stage is given; and, where the base image says which folder is the first, those of
        a folder that is copied there.
        """
        mounts = self._all(index).mounts.get(line, ())
        base = posixpath.basename(name)
        yield from (_beside(item.source) for item in mounts if posixpath.basename(item.source) == base)
        yield from self._by_base.get(base, ())
        rest = base if posixpath.isabs(name) else name
        where = self._before(index, line)[1]
        folders = self._relative if posixpath.isabs(where) else self._sources
        yield from (_beside(posixpath.join(source, rest)) for source in islice(folders, _LOOKED_AT))

    @cached_property
    def _given(self) -> list[_Brought]:
        """What any stage is given of the files next to the Dockerfile."""
        items = (item for stage in self._stages for item in self._all(stage.index).items)
        return list(dict.fromkeys(item for item in items if not item.stage and item.body is None))

    @cached_property
    def _by_base(self) -> dict[str, dict[str, None]]:
        """The files by the last part of their names."""
        found: dict[str, dict[str, None]] = {}
        for item in self._given:
            found.setdefault(posixpath.basename(item.source), {})[_beside(item.source)] = None
        return found

    @cached_property
    def _sources(self) -> list[str]:
        return [item.source for item in self._given]

    @cached_property
    def _relative(self) -> list[str]:
        """Those that are put at a place that depends on the folder that the base image starts in."""
        return [item.source for item in self._given if not posixpath.isabs(item.target)]

    def _before(self, index: int, line: int | None) -> tuple[Sequence[_Brought], str]:
        """What a stage is given before a line, the mounts of that line included, and the folder that RUN is in."""
        placed = self._all(index)
        if line is None:
            return placed.items, placed.folders[-1][1]
        where = placed.folders[bisect_right(placed.folders, line, key=lambda folder: folder[0]) - 1][1]
        return (*placed.items[: bisect_right(placed.lines, line)], *placed.mounts.get(line, ())), where

    def _all(self, index: int) -> _Placed:
        if index not in self._placed:
            chain = final_chain(self._stages, index)
            for stage in chain:
                if stage.index not in self._placed:
                    self._placed[stage.index] = _placed(
                        stage, self._placed.get(-1 if stage.parent is None else stage.parent)
                    )
        return self._placed[index]

    def _of_stage(self, index: int, named: str, source: str, *, certain: bool) -> Iterator[Origin]:
        """The origins of a file of an earlier stage; of another image nothing is known."""
        number = self._names.get(named.lower(), index)
        if number < index:
            yield from self.origins(number, None, posixpath.join("/", source))
        elif certain:
            yield Origin("", certain=True)


def _placed(stage: BuildStage, parent: _Placed | None) -> _Placed:
    items = list(parent.items) if parent else []
    lines = [0] * len(items)
    where = parent.folders[-1][1] if parent else ""  # the base image may say another
    folders = [(0, where)]
    mounts = {}
    for part in stage.instructions:
        if part.keyword == "WORKDIR":
            where = part.entered(where)
            folders.append((part.line, where))
        elif part.keyword in COPIES:
            items += _copied(part, where)
            lines += [part.line] * (len(items) - len(lines))
        elif part.keyword == "RUN" and "mount" in part.flags:
            mounts[part.line] = tuple(_mounted(part, where))
    return _Placed(tuple(items), tuple(lines), tuple(folders), mounts)


def _copied(part: Instruction, where: str) -> Iterator[_Brought]:
    *sources, target = copy_words(part.text) or [""]
    written = [word for word in sources if list(heredocs(word))]
    folder = target.endswith(("/", "/.")) or target == "." or len(sources) > 1
    place = posixpath.normpath(posixpath.join(where, target))
    for source in sources:
        body = (
            part.heredocs[written.index(source)].text
            if source in written and len(written) == len(part.heredocs)
            else None
        )
        name = next(iter(heredocs(source))).end if body is not None else source
        yield _Brought(name, place, folder, part.flags.get("from", ""), body)


def copy_words(text: str) -> list[str]:
    """The sources and the target, which may be written as a JSON array."""
    words = exec_form(text)
    return text.split() if words is None else words


def _mounted(part: Instruction, where: str) -> Iterator[_Brought]:
    for mount in part.flags.get("mount", "").split():
        if _MOUNT.match(mount):
            continue
        values = dict(pair.partition("=")[::2] for pair in mount.split(","))
        target = next((values[key] for key in ("target", "dst", "destination") if key in values), "")
        source = values.get("source", values.get("src", "."))
        yield _Brought(source, posixpath.normpath(posixpath.join(where, target)), False, values.get("from", ""), None)


def _sources_of(item: _Brought, path: str) -> Iterator[tuple[str, bool]]:
    """The source's name for what the image calls `path`, and whether that is certain."""
    if path == item.target and not item.folder:
        yield item.source, True
        return
    prefix = "" if item.target == "." else f"{item.target.rstrip('/')}/"
    if not path.startswith(prefix) or posixpath.isabs(path) != posixpath.isabs(item.target):
        return
    rest = path[len(prefix) :]
    if fnmatchcase(rest, posixpath.basename(item.source)):
        yield posixpath.join(posixpath.dirname(item.source), rest), True
    elif item.body is None:
        yield posixpath.join(item.source, rest), False


def _beside(source: str) -> str:
    return source if "://" in source else posixpath.normpath(source.lstrip("/") or ".")
