"""A machine that the shell collector printed, as a host that the probes can ask.

What the collector asked and did not list is absent; what it did not ask is not looked at. It asks no library, so GPUs
are those of `nvidia-smi -q -x`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from posixpath import dirname
from typing import Any

from envkit._startup.regex import regex
from envkit.base.json_text import loads
from envkit.capture.collected_text import Collected, collected
from envkit.capture.recorded_paths import fits_pattern
from envkit.host.base import CommandResult, FileStatus, Told
from envkit.host.driver_loaded import NVML_ANSWER, tool_answer
from envkit.host.name_pattern import fixed_start
from envkit.host.queries import without_library
from envkit.model import Observed, Problem, found, missing

_GAP, _WORD = " {1,99}", r"\S{1,99}"
_LISTED = regex(
    rf"(?P<kind>[-bcdlps])(?P<mode>[-rwxsStT]{{9}})[.+@]?{_GAP}\d{{1,9}}{_GAP}(?P<owner>{_WORD}){_GAP}(?P<group>{_WORD}){_GAP}"
    rf"(?:(?P<major>\d{{1,9}}), {{0,9}}(?P<minor>\d{{1,9}})|(?P<size>\d{{1,20}}))(?:{_GAP}{_WORD}){{3}} (?P<name>.*)"
)
_KINDS = {"-": "file", "d": "dir", "l": "link", "c": "char", "b": "block"}
_SOCKET = "/var/run/docker.sock"
_LIBRARIES = {"nvml": "libnvidia-ml.so", "cuda": "libcuda.so"}


class CollectedHost:
    """The machine of a text that the collector printed."""

    def __init__(self, text: str, name: str = "a collector's output") -> None:
        self._name = name
        self._told: Collected = collected(text)

    @property
    def origin(self) -> str:
        """What it was given as."""
        return self._name

    def read_text(self, path: str, limit: int = 1_000_000) -> Observed[str]:
        """The file's text, as far as it was printed."""
        read = self.read_bytes(path, limit)
        if read.value is None:
            return missing(read.problem or Problem.NOT_LOOKED, path, read.detail)
        return found(read.value.decode("utf-8", "replace"), path)

    def read_bytes(self, path: str, limit: int = 64_000_000) -> Observed[bytes]:
        """The file's bytes, as far as they were printed."""
        return self.read_range(path, 0, limit)

    def read_range(self, path: str, offset: int, size: int) -> Observed[bytes]:
        """At most `size` bytes from `offset` on."""
        content = self._told.contents.get(path)
        return self._nothing(path) if content is None else found(content[offset : offset + size], path)

    def list_dir(self, path: str) -> Observed[tuple[str, ...]]:
        """The names in a folder that were asked for."""
        names = self._told.folders.get(path)
        return self._nothing(path) if names is None else found(names, path)

    def glob(self, pattern: str) -> tuple[str, ...]:
        """The printed paths that match, sorted."""
        start = fixed_start(pattern)
        if start == pattern:
            return (pattern,) if self._exists(pattern) else ()
        return tuple(path for path in self._there if path.startswith(start) and fits_pattern(pattern, path))

    @cached_property
    def _there(self) -> tuple[str, ...]:
        linked = {path for path, listed in self._told.paths.items() if listed.real}
        return tuple(sorted({*self._told.names, *linked, *self._told.contents, *self._told.folders}))

    def real_path(self, path: str) -> Observed[str]:
        """The path without links."""
        listed = self._told.paths.get(path)
        if listed is None:
            return self._nothing(path)
        return found(listed.real, path) if listed.real else missing(Problem.ABSENT, path, "it is a dangling link")

    def read_link(self, path: str) -> Observed[str]:
        """What a link says."""
        listed = self._told.paths.get(path)
        if listed is None:
            return self._nothing(path)
        match = _LISTED.fullmatch(listed.itself)
        if match is None or match["kind"] != "l":
            return missing(Problem.ABSENT, path, "not a link")
        return found(match["name"].partition(" -> ")[2], path)

    def status(self, path: str, follow: bool = True) -> Observed[FileStatus]:
        """Type and rights of a path; when the file was changed is not told."""
        listed = self._told.paths.get(path)
        if listed is None:
            return self._nothing(path)
        if follow and not listed.real:
            return missing(Problem.ABSENT, path, "it is a dangling link")
        status = _status(listed.target or listed.itself if follow else listed.itself, listed.accessible)
        return found(status, path) if status else missing(Problem.UNPARSABLE, path, "`ls` lists it in another form")

    def free_bytes(self, path: str) -> Observed[int]:
        """Free space of the file system that holds `path`."""
        space = self._told.spaces.get(path)
        return self._nothing(path) if space is None else found(space[1], path)

    def size_bytes(self, path: str) -> Observed[int]:
        """Total size of the file system that holds `path`."""
        space = self._told.spaces.get(path)
        return self._nothing(path) if space is None else found(space[0], path)

    def which(self, program: str) -> Observed[str]:
        """The file that PATH gives for `program`."""
        place = self._told.programs.get(program)
        if place is None:
            return missing(Problem.NOT_LOOKED, "PATH")
        return found(place, "PATH") if place else missing(Problem.ABSENT, "PATH", f"no {program} on PATH")

    def run(self, command: Sequence[str], limit_s: float = 5.0) -> Observed[CommandResult]:
        """What the command printed there."""
        source = " ".join(command)
        known = self._told.commands.get(tuple(command))
        answer = tool_answer(command) if self._unloaded else None
        if known is None and answer is not None:
            return found(answer, source)
        return known or missing(Problem.NOT_LOOKED, source, "not queried by the collector")

    def variables(self) -> Mapping[str, str]:
        """The variables that are looked at."""
        return self._told.variables

    def identity(self) -> Mapping[str, str]:
        """What the shell knew about itself."""
        return self._told.about

    def query(self, subject: str, limit_s: float = 5.0) -> Observed[Mapping[str, object]]:
        """What files and programs tell in a library's place."""
        if subject == "services":
            return found({"running": self._told.running}, "/proc/*/comm")
        if subject == "docker":
            return self._docker()
        if subject == "nodes":
            return found({}, subject)  # none was opened
        if self._unloaded and subject in _LIBRARIES and not self._has_library(_LIBRARIES[subject]):
            return found(without_library(subject), subject)
        if self._unloaded and subject == "nvml":
            return found(NVML_ANSWER, subject)
        return missing(Problem.NOT_LOOKED, subject, "the shell collector cannot query libraries")

    def apart(self, module: str, limit_s: float) -> Observed[Told]:
        """Nothing: what is in memory is examined where it is."""
        return missing(Problem.NOT_LOOKED, module)

    def smi_xml(self) -> str:
        """What `nvidia-smi -q -x` printed, '' where it did not."""
        answers = (answer for command, answer in self._told.commands.items() if command[1:] == ("-q", "-x"))
        return next((answer.value.stdout for answer in answers if answer.value is not None), "")

    @property
    def _unloaded(self) -> bool:
        return "unloaded" in self._told.marks

    def _has_library(self, name: str) -> bool:
        return any(path.rpartition("/")[2].startswith(name) and "/stubs/" not in path for path in self._told.paths)

    def _docker(self) -> Observed[Mapping[str, object]]:
        socket = self.status(_SOCKET)
        if not socket.known:
            return missing(socket.problem or Problem.NOT_LOOKED, _SOCKET, "no engine socket")
        if not socket.get().accessible:
            return missing(Problem.DENIED, _SOCKET, "this user is not allowed to use the engine's socket")
        version, info = (self._docker_answer(word) for word in ("version", "info"))
        if version is None or info is None:
            return missing(Problem.NOT_LOOKED, _SOCKET, "the docker client printed nothing")
        runtimes = info.get("Runtimes")
        names = sorted(runtimes) if isinstance(runtimes, dict) else []
        return found({"url": f"unix://{_SOCKET}", "version": version, "info": {**info, "Runtimes": names}}, "docker")

    def _docker_answer(self, word: str) -> Mapping[str, object] | None:
        """What the client printed for one of its commands: the first answer, as an older one lacks a field."""
        commands = self._told.commands.items()
        answers = (answer.value for words, answer in commands if words[0].endswith("/docker") and words[1:2] == (word,))
        return next((found for answer in answers if (found := _object(answer)) is not None), None)

    def _exists(self, path: str) -> bool:
        listed = self._told.paths.get(path)
        if listed is not None:
            return bool(listed.real)
        return path in self._told.names or path in self._told.contents or path in self._told.folders

    def _nothing(self, path: str) -> Observed[Any]:
        """Why there is no answer: refused, not there, or not asked."""
        if path in self._told.denied:
            return missing(Problem.DENIED, path, "this user is not allowed to read it")
        if self._exists(path) or not self._sought(path):
            return missing(Problem.NOT_LOOKED, path, "not queried by the collector")
        return missing(Problem.ABSENT, path)

    def _sought(self, path: str) -> bool:
        """True for a path that was asked for, or that lies in a folder that was and is not there."""
        while path != "/":
            if self._was_asked(path):
                return not self._exists(path)
            path = dirname(path)
        return False

    def _was_asked(self, path: str) -> bool:
        exact, patterns = self._asked
        return path in exact or any(path.startswith(start) and fits_pattern(text, path) for start, text in patterns)

    @cached_property
    def _asked(self) -> tuple[frozenset[str], tuple[tuple[str, str], ...]]:
        """What was asked: paths, and patterns behind what each begins with."""
        starts = {pattern: fixed_start(pattern) for pattern in self._told.asked}
        exact = frozenset(pattern for pattern, start in starts.items() if start == pattern)
        return exact, tuple((start, pattern) for pattern, start in starts.items() if start != pattern)


def _status(listed: str, accessible: bool) -> FileStatus | None:
    match = _LISTED.fullmatch(listed)
    if match is None:
        return None
    device = f"{match['major']}:{match['minor']}" if match["major"] else ""
    return FileStatus(
        _KINDS.get(match["kind"], "other"),
        _mode(match["mode"]),
        match["owner"],
        match["group"],
        int(match["size"] or 0),
        accessible,
        0.0,
        device,
    )


def _mode(letters: str) -> str:
    """`rwsr-xr-x` as 4755."""
    special = sum(bit for bit, at in ((4, 2), (2, 5), (1, 8)) if letters[at] in "sStT")
    digits = (
        sum(bit for bit, letter in zip((4, 2, 1), letters[at : at + 3], strict=True) if letter not in "-ST")
        for at in (0, 3, 6)
    )
    return f"{special}{''.join(map(str, digits))}"


def _object(answer: CommandResult | None) -> Mapping[str, object] | None:
    """The JSON object that a command printed."""
    try:
        data = loads(answer.stdout) if answer is not None and answer.exit_code == 0 else None
    except ValueError:
        return None
    return data if isinstance(data, dict) else None
