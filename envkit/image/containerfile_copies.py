"""Follows a file of the image back through COPY, ADD and bind mounts to the one beside the Dockerfile."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterator
from fnmatch import fnmatchcase

from envkit.image.containerfile import BuildStage, Instruction, final_chain
from envkit.image.heredocs import heredocs
from envkit.records import record
from envkit.regex import regex

_MOUNT = regex(r"type=(?!bind)|.*,type=(?!bind)")


@record
class Origin:
    """Where a file of the image comes from: its name beside the Dockerfile, or what a heredoc writes into it.

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
    stage: str  # the stage or image that the source is in; '' for the files beside the Dockerfile
    body: str | None


def origins(stages: tuple[BuildStage, ...], line: int | None, name: str) -> Iterator[Origin]:
    """Where the file that a RUN on that line calls `name` may come from, what was put there last first.

    The stages end with the one that the RUN is in; without a line the name is one at its end.
    """
    brought, where = _before(stages, line)
    path = posixpath.normpath(posixpath.join(where, name))
    for item in reversed(brought):
        for source, certain in _sources(item, path):
            if item.stage:
                yield from _of_stage(stages, item.stage, source, certain=certain)
            else:
                yield Origin(_beside(source), certain, item.body)


def likely(stages: tuple[BuildStage, ...], line: int, name: str) -> Iterator[str]:
    """Files beside the Dockerfile that may be the one meant, where the place that it is put at is not the one named.

    Those of its name that any stage is given; and, where the base image says which folder is the first, those of a
    folder that is copied there.
    """
    own, where = _before(stages, line)
    rest = posixpath.basename(name) if posixpath.isabs(name) else name
    items = [*own, *(item for last in range(len(stages)) for item in _before(stages[: last + 1], None)[0])]
    for item in items:
        if item.stage or item.body is not None:
            continue
        if posixpath.basename(item.source) == posixpath.basename(name):
            yield _beside(item.source)
        elif not (posixpath.isabs(where) and posixpath.isabs(item.target)):
            yield _beside(posixpath.join(item.source, rest))


def _before(stages: tuple[BuildStage, ...], line: int | None) -> tuple[list[_Brought], str]:
    """What the last stage is given before a line, the mounts of that line included, and the folder that RUN is in."""
    brought: list[_Brought] = []
    where = ""  # the base image may say another
    for part in (part for stage in final_chain(stages) for part in stage.instructions):
        if line is not None and part.line > line:
            break
        if part.keyword == "WORKDIR":
            where = posixpath.normpath(posixpath.join(where, part.text.strip("\"'")))
        elif part.keyword in ("COPY", "ADD"):
            brought += _copied(part, where)
        elif part.keyword == "RUN" and part.line == line:
            brought += _mounted(part, where)
    return brought, where


def _copied(part: Instruction, where: str) -> Iterator[_Brought]:
    *sources, target = _words(part.text) or [""]
    written = [word for word in sources if list(heredocs(word))]
    folder = target.endswith(("/", "/.")) or target == "." or len(sources) > 1
    place = posixpath.normpath(posixpath.join(where, target))
    for source in sources:
        body = (
            part.heredocs[written.index(source)] if source in written and len(written) == len(part.heredocs) else None
        )
        name = next(iter(heredocs(source))).end if body is not None else source
        yield _Brought(name, place, folder, part.flags.get("from", ""), body)


def _words(text: str) -> list[str]:
    """The sources and the target, which may be written as a JSON array."""
    if text.startswith("["):
        try:
            return [str(word) for word in json.loads(text)]
        except ValueError:
            pass
    return text.split()


def _mounted(part: Instruction, where: str) -> Iterator[_Brought]:
    for mount in part.flags.get("mount", "").split():
        if _MOUNT.match(mount):
            continue
        values = dict(pair.partition("=")[::2] for pair in mount.split(","))
        target = next((values[key] for key in ("target", "dst", "destination") if key in values), "")
        source = values.get("source", values.get("src", "."))
        yield _Brought(source, posixpath.normpath(posixpath.join(where, target)), False, values.get("from", ""), None)


def _sources(item: _Brought, path: str) -> Iterator[tuple[str, bool]]:
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


def _of_stage(stages: tuple[BuildStage, ...], named: str, source: str, *, certain: bool) -> Iterator[Origin]:
    """The origins of a file of an earlier stage; of another image nothing is known."""
    for index, stage in enumerate(stages[:-1]):
        if named.lower() == stage.name or named == str(index):
            yield from origins(stages[: index + 1], None, posixpath.join("/", source))
            return
    if certain:
        yield Origin("", certain=True)


def _beside(source: str) -> str:
    return source if "://" in source else posixpath.normpath(source.lstrip("/") or ".")
