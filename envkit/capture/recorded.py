"""A machine held in memory: files, links, nodes, commands and library answers, as a capture or a test lists them.

Two sources answer a question, in this order: an answer that was recorded word for word (`answers`), then the small
file system of `entries`. What neither holds is absent on a machine that is `complete` (a hand-written one lists all
that there is) and "not looked" on one that is not (a recording holds only what somebody asked).

Anybody may have written a recording. A path in it that does not answer its question (it leads up, or does not match
the pattern that was asked) is passed over.
"""

from __future__ import annotations

import errno
import os
import posixpath
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from envkit._startup.records import field, record
from envkit.capture.recorded_paths import fits_pattern, is_name, is_plain, is_program
from envkit.host.base import CommandResult, FileStatus, Told
from envkit.host.links import walk
from envkit.host.name_pattern import fixed_start, name_pattern
from envkit.model import Observed, Problem, found, missing

Reader = Callable[[int, int], bytes]  # at most so many bytes from that offset on; may raise OSError


@record
class Entry:
    """One path: `content` is None for a file whose bytes were not kept, `problem` stands for a path that refuses."""

    kind: str = "file"  # file, dir, link, char, block, other
    content: bytes | None = None
    target: str = ""  # of a link
    mode: str = "0644"
    owner: str = "root"
    group: str = "root"
    size: int | None = None
    accessible: bool = True
    modified: float = 0.0
    device: str = ""
    problem: Problem | None = None
    detail: str = ""
    reader: Reader | None = None  # in place of the content of a file that is read when somebody asks


@record
class Answers:
    """Answers recorded word for word, by the path or pattern that was asked."""

    globs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    lists: Mapping[str, Observed[tuple[str, ...]]] = field(default_factory=dict)
    real_paths: Mapping[str, Observed[str]] = field(default_factory=dict)
    links: Mapping[str, Observed[str]] = field(default_factory=dict)
    statuses: Mapping[str, Observed[FileStatus]] = field(default_factory=dict)
    link_statuses: Mapping[str, Observed[FileStatus]] = field(default_factory=dict)
    free: Mapping[str, Observed[int]] = field(default_factory=dict)
    sizes: Mapping[str, Observed[int]] = field(default_factory=dict)
    programs: Mapping[str, Observed[str]] = field(default_factory=dict)


def _file_under(path: str, folders: dict[str, set[str]]) -> None:
    while path != "/":
        folder, name = posixpath.split(path)
        names = folders.setdefault(folder, set())
        if name in names:
            return
        names.add(name)
        path = folder


@record
class RecordedHost:
    """A `Host` that answers from memory; see the module's words for what an unknown path means."""

    entries: Mapping[str, Entry] = field(default_factory=dict)
    commands: Mapping[tuple[str, ...], Observed[CommandResult]] = field(default_factory=dict)
    queries: Mapping[str, Observed[Mapping[str, object]]] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    about: Mapping[str, str] = field(default_factory=dict)
    answers: Answers = field(default_factory=Answers)
    complete: bool = True
    name: str = "a recorded machine"

    @cached_property
    def _files(self) -> Mapping[str, Entry]:
        """The entries by their normalized paths."""
        return {posixpath.normpath(path): entry for path, entry in self.entries.items() if is_plain(path)}

    @cached_property
    def _folders(self) -> dict[str, set[str]]:
        """The names in each folder that a recorded path implies."""
        folders: dict[str, set[str]] = {}
        for path, entry in self._files.items():
            if entry.problem is not Problem.ABSENT:
                _file_under(path, folders)
        return folders

    @property
    def origin(self) -> str:
        """The name of the recording."""
        return self.name

    def read_text(self, path: str, limit: int = 1_000_000) -> Observed[str]:
        """The file's text, at most `limit` bytes, undecodable bytes replaced."""
        read = self.read_bytes(path, limit)
        if read.value is None:
            return missing(read.problem or Problem.NOT_LOOKED, read.source, read.detail)
        return found(read.value.decode("utf-8", "replace"), path)

    def read_bytes(self, path: str, limit: int = 64_000_000) -> Observed[bytes]:
        """The file's first `limit` bytes."""
        return self.read_range(path, 0, limit)

    def read_range(self, path: str, offset: int, size: int) -> Observed[bytes]:
        """At most `size` bytes from `offset` on."""
        entry = self._entry(path)
        if entry is None:
            return missing(self._nothing(path), path)
        if entry.problem is not None:
            return missing(entry.problem, path, entry.detail)
        if entry.kind == "dir":
            return missing(Problem.UNPARSABLE, path, "a directory, not a file")
        if entry.reader is not None:
            try:
                return found(entry.reader(size, offset), path)
            except OSError as error:
                return missing(Problem.UNPARSABLE, path, error.strerror or str(error))
        if entry.content is None:
            return missing(Problem.NOT_LOOKED, path, "its content was not recorded")
        return found(entry.content[offset : offset + size], path)

    def list_dir(self, path: str) -> Observed[tuple[str, ...]]:
        """The names in a folder, sorted."""
        if path in self.answers.lists:
            recorded = self.answers.lists[path]
            return recorded if recorded.value is None else found(tuple(filter(is_name, recorded.value)), path)
        if not self.complete:
            return missing(Problem.NOT_LOOKED, path)
        resolved = self._resolve(path)
        if resolved is None:
            return missing(self._nothing(path), path)
        entry = self._files.get(resolved)
        if entry is not None and entry.problem is not None:
            return missing(entry.problem, path)
        if resolved in self._folders:
            return found(tuple(sorted(self._folders[resolved])), path)
        if entry is not None and entry.kind == "dir":
            return found((), path)
        return missing(self._nothing(path), path)

    def glob(self, pattern: str) -> tuple[str, ...]:
        """The paths that match, sorted; links to folders are followed."""
        if pattern in self.answers.globs:
            return tuple(path for path in self.answers.globs[pattern] if fits_pattern(pattern, path))
        if not self.complete:
            return ()
        matches = [""]
        for part in pattern.strip("/").split("/"):
            matches = [f"{base}/{name}" for base in matches for name in self._matching(base or "/", part)]
        return tuple(sorted(path for path in matches if self._resolve(path) is not None))

    def _matching(self, folder: str, part: str) -> tuple[str, ...]:
        if fixed_start(part) == part:
            return (part,) if self._resolve(posixpath.join(folder, part)) is not None else ()
        resolved = self._resolve(folder)
        names = self._folders.get(resolved, set()) if resolved is not None else set()
        wanted = name_pattern(part)
        return tuple(name for name in names if wanted.fullmatch(name))

    def real_path(self, path: str) -> Observed[str]:
        """The path with every link resolved; ABSENT when it or a link's target is not there."""
        if path in self.answers.real_paths:
            return _fitting(self.answers.real_paths[path], is_plain)
        resolved = self._resolve(path)
        if resolved is None or not self._exists(resolved):
            return missing(self._nothing(path), path)
        return found(resolved, path)

    def read_link(self, path: str) -> Observed[str]:
        """What the link says."""
        if path in self.answers.links:
            return self.answers.links[path]
        resolved = self._resolve(path, follow_last=False)
        entry = self._files.get(resolved) if resolved is not None else None
        if entry is None or entry.kind != "link":
            return missing(Problem.ABSENT if entry else self._nothing(path), path, "not a link")
        return found(entry.target, path)

    def status(self, path: str, follow: bool = True) -> Observed[FileStatus]:
        """Type and rights of a path."""
        recorded = (self.answers.statuses if follow else self.answers.link_statuses).get(path)
        if recorded is not None:
            return recorded
        resolved = self._resolve(path, follow)
        if resolved is None or not self._exists(resolved):
            return missing(self._nothing(path), path)
        entry = self._files.get(resolved)
        if entry is None:
            return found(FileStatus("dir", "0755", "root", "root", 0, True), path)
        if entry.problem is not None and entry.kind == "file" and entry.content is None:
            return missing(entry.problem, path)
        size = entry.size if entry.size is not None else len(entry.content or b"")
        status = FileStatus(
            entry.kind, entry.mode, entry.owner, entry.group, size, entry.accessible, entry.modified, entry.device
        )
        return found(status, path)

    def free_bytes(self, path: str) -> Observed[int]:
        """Free space as recorded."""
        return self.answers.free.get(path) or missing(Problem.NOT_LOOKED, path)

    def size_bytes(self, path: str) -> Observed[int]:
        """Size of a file system as recorded."""
        return self.answers.sizes.get(path) or missing(Problem.NOT_LOOKED, path)

    def which(self, program: str) -> Observed[str]:
        """The recorded answer, otherwise the first file of that name in the recorded PATH."""
        if program in self.answers.programs:
            return _fitting(self.answers.programs[program], lambda path: is_program(program, path))
        if not self.complete:
            return missing(Problem.NOT_LOOKED, "PATH")
        folders = self.environment.get("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
        for folder in folders.split(":"):
            path = posixpath.join(folder, program)
            resolved = self._resolve(path) if is_program(program, path) else None
            entry = self._files.get(resolved) if resolved is not None else None
            if entry is not None and entry.kind == "file" and entry.problem is None:
                return found(path, "PATH")
        return missing(Problem.ABSENT, "PATH", f"no {program} on PATH")

    def run(self, command: Sequence[str], limit_s: float = 5.0) -> Observed[CommandResult]:
        """The recorded result of exactly this command."""
        recorded = self.commands.get(tuple(command))
        if recorded is not None:
            return recorded
        problem = Problem.ABSENT if self.complete else Problem.NOT_LOOKED
        return missing(problem, " ".join(command), "no such command was recorded")

    def variables(self) -> Mapping[str, str]:
        """The recorded environment variables."""
        return self.environment

    def identity(self) -> Mapping[str, str]:
        """What the recording says about the process."""
        return self.about

    def query(self, subject: str, limit_s: float = 5.0) -> Observed[Mapping[str, object]]:
        """The recorded answer of a library."""
        return self.queries.get(subject) or missing(Problem.NOT_LOOKED, subject)

    def apart(self, module: str, limit_s: float) -> Observed[Told]:
        """Nothing: what is in memory is examined where it is."""
        return missing(Problem.NOT_LOOKED, module)

    def _nothing(self, path: str) -> Problem:
        entry = self._files.get(posixpath.normpath(path))
        if entry is not None and entry.problem is not None:
            return entry.problem
        return Problem.ABSENT if self.complete else Problem.NOT_LOOKED

    def _exists(self, path: str) -> bool:
        entry = self._files.get(path)
        if entry is not None:
            return entry.problem is not Problem.ABSENT
        return path in self._folders or path == "/"

    def _entry(self, path: str) -> Entry | None:
        resolved = self._resolve(path)
        if resolved is None:
            return self._files.get(posixpath.normpath(path))
        if resolved in self._folders and resolved not in self._files:
            return Entry("dir")
        return self._files.get(resolved)

    def _resolve(self, path: str, follow_last: bool = True) -> str | None:
        """The path without links, None when a part of it is not there or links go round in circles."""
        steps = _Steps(self._files, self._exists)
        try:
            walk(steps, path, follow_last)
        except OSError:
            return None
        return steps.here


class _Steps:
    """A walker through recorded paths."""

    def __init__(self, files: Mapping[str, Entry], exists: Callable[[str], bool]) -> None:
        self._files, self._exists = files, exists
        self._names: list[str] = []

    @property
    def here(self) -> str:
        """The path of where the walker is."""
        return "/" + "/".join(self._names)

    def enter(self, name: str, follow: bool) -> str | None:
        self._names.append(name)
        entry = self._files.get(self.here)
        if entry is not None and entry.kind == "link" and follow:
            self._names.pop()
            return entry.target
        if not self._exists(self.here):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        return None

    def leave(self) -> None:
        del self._names[-1:]

    def top(self) -> None:
        self._names.clear()


def _fitting(recorded: Observed[str], fits: Callable[[str], bool]) -> Observed[str]:
    """The recorded path, UNPARSABLE when it is none that could answer the question."""
    if recorded.value is None or fits(recorded.value):
        return recorded
    return missing(Problem.UNPARSABLE, recorded.source, "the recorded path does not answer the question")


def problem_of(data: Mapping[str, Any]) -> Problem | None:
    """The problem that a recorded answer names, None where it holds a value. Raises ValueError for an unknown word."""
    return Problem(data["problem"]) if "problem" in data else None
