"""Remembers what a host answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from envkit.host.base import CommandResult, FileStatus, Host, Told
from envkit.model import Observed, Problem, found, missing


class RecordingHost:
    """A host that asks another one and remembers every answer."""

    def __init__(self, host: Host, keep: Callable[[str, bytes], bytes | None]) -> None:
        """`keep` is asked at once what of a file's bytes is kept: some have a hundred megabytes."""
        self._host = host
        self._keep = keep
        self.texts: dict[str, Observed[str]] = {}
        self.contents: dict[str, Observed[bytes]] = {}
        self.globs: dict[str, tuple[str, ...]] = {}
        self.lists: dict[str, Observed[tuple[str, ...]]] = {}
        self.real_paths: dict[str, Observed[str]] = {}
        self.links: dict[str, Observed[str]] = {}
        self.statuses: dict[str, Observed[FileStatus]] = {}
        self.link_statuses: dict[str, Observed[FileStatus]] = {}
        self.free: dict[str, Observed[int]] = {}
        self.sizes: dict[str, Observed[int]] = {}
        self.programs: dict[str, Observed[str]] = {}
        self.commands: dict[tuple[str, ...], Observed[CommandResult]] = {}
        self.queries: dict[str, Observed[Mapping[str, object]]] = {}

    @property
    def origin(self) -> str:
        """The recorded host's."""
        return self._host.origin

    def read_text(self, path: str, limit: int = 1_000_000) -> Observed[str]:
        """The host's answer, kept; of several the longest."""
        answer = self._host.read_text(path, limit)
        known = self.texts.setdefault(path, answer)
        if len(answer.value or "") > len(known.value or ""):
            self.texts[path] = answer
        return answer

    def read_bytes(self, path: str, limit: int = 64_000_000) -> Observed[bytes]:
        """The host's answer, of which `keep` keeps a part; of several answers the longest part."""
        answer = self._host.read_bytes(path, limit)
        kept = answer if answer.value is None else self._kept(path, answer.value)
        known = self.contents.setdefault(path, kept)
        if len(kept.value or b"") > len(known.value or b""):
            self.contents[path] = kept
        return answer

    def _kept(self, path: str, content: bytes) -> Observed[bytes]:
        part = self._keep(path, content)
        return missing(Problem.NOT_LOOKED, path, "not recorded") if part is None else found(part, path)

    def read_range(self, path: str, offset: int, size: int) -> Observed[bytes]:
        """The host's answer; parts of binaries are not kept."""
        return self._host.read_range(path, offset, size)

    def list_dir(self, path: str) -> Observed[tuple[str, ...]]:
        """The host's answer, kept."""
        return self.lists.setdefault(path, self._host.list_dir(path))

    def glob(self, pattern: str) -> tuple[str, ...]:
        """The host's answer, kept."""
        return self.globs.setdefault(pattern, self._host.glob(pattern))

    def real_path(self, path: str) -> Observed[str]:
        """The host's answer, kept."""
        return self.real_paths.setdefault(path, self._host.real_path(path))

    def read_link(self, path: str) -> Observed[str]:
        """The host's answer, kept."""
        return self.links.setdefault(path, self._host.read_link(path))

    def status(self, path: str, follow: bool = True) -> Observed[FileStatus]:
        """The host's answer, kept."""
        kept = self.statuses if follow else self.link_statuses
        return kept.setdefault(path, self._host.status(path, follow))

    def free_bytes(self, path: str) -> Observed[int]:
        """The host's answer, kept."""
        return self.free.setdefault(path, self._host.free_bytes(path))

    def size_bytes(self, path: str) -> Observed[int]:
        """The host's answer, kept."""
        return self.sizes.setdefault(path, self._host.size_bytes(path))

    def which(self, program: str) -> Observed[str]:
        """The host's answer, kept."""
        return self.programs.setdefault(program, self._host.which(program))

    def run(self, command: Sequence[str], limit_s: float = 5.0) -> Observed[CommandResult]:
        """The host's answer, kept."""
        return self.commands.setdefault(tuple(command), self._host.run(command, limit_s))

    def variables(self) -> Mapping[str, str]:
        """The host's."""
        return self._host.variables()

    def identity(self) -> Mapping[str, str]:
        """The host's."""
        return self._host.identity()

    def query(self, subject: str, limit_s: float = 5.0) -> Observed[Mapping[str, object]]:
        """The host's answer, kept."""
        return self.queries.setdefault(subject, self._host.query(subject, limit_s))

    def apart(self, module: str, limit_s: float) -> Observed[Told]:
        """The host's answer; what is written apart is kept as facts."""
        return self._host.apart(module, limit_s)
