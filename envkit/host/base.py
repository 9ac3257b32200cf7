"""What a probe may ask of a machine; a live machine, a capture folder and a mounted root all answer it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from envkit._startup.records import record
from envkit.model import Observed

if TYPE_CHECKING:
    from threading import Thread

STAND_IN = "stand_in"  # the query whose answer names the recorded facts that count whatever a replay finds


@record
class CommandResult:
    """A finished command: exit status and what it wrote, decoded."""

    exit_code: int
    stdout: str
    stderr: str


@record
class FileStatus:
    """A path's type and rights. `kind` is file, dir, link, char, block or other; `mode` is octal text (0666)."""

    kind: str
    mode: str
    owner: str
    group: str
    size: int
    accessible: bool  # readable and writable by this user
    modified: float = 0.0
    device: str = ""  # major:minor of a char or block node


@record
class Told:
    """The lines that a probe in a process of its own wrote, and why they may not be all; '' when it ended by itself."""

    lines: tuple[str, ...]
    cut_off: str = ""


def started(thread: Thread) -> bool:
    """Whether the thread runs now; False where there are too few processes or there is too little memory for it."""
    try:
        thread.start()
    except (RuntimeError, MemoryError):
        return False
    return True


class Host(Protocol):
    """One machine, live or recorded. No method raises for what the machine lacks: the answer says why."""

    @property
    def origin(self) -> str:
        """What this host is, for reports: `this machine`, a capture's path, a root's path."""

    def read_text(self, path: str, limit: int = 1_000_000) -> Observed[str]:
        """The file's text (at most `limit` bytes, undecodable bytes replaced)."""

    def read_bytes(self, path: str, limit: int = 64_000_000) -> Observed[bytes]:
        """The file's first `limit` bytes."""

    def read_range(self, path: str, offset: int, size: int) -> Observed[bytes]:
        """At most `size` bytes of the file from `offset` on; fewer at its end."""

    def list_dir(self, path: str) -> Observed[tuple[str, ...]]:
        """The names in a folder, sorted."""

    def glob(self, pattern: str) -> tuple[str, ...]:
        """The paths that match, sorted; `*` does not cross folders and `**` is not known."""

    def real_path(self, path: str) -> Observed[str]:
        """The path with every link resolved, inside this host's root."""

    def read_link(self, path: str) -> Observed[str]:
        """What the link at `path` says, unresolved; ABSENT when there is no link."""

    def status(self, path: str, follow: bool = True) -> Observed[FileStatus]:
        """Type and rights of a path."""

    def free_bytes(self, path: str) -> Observed[int]:
        """Free space of the file system that holds `path`."""

    def size_bytes(self, path: str) -> Observed[int]:
        """Total size of the file system that holds `path`."""

    def which(self, program: str) -> Observed[str]:
        """The file that PATH gives for `program`."""

    def run(self, command: Sequence[str], limit_s: float = 5.0) -> Observed[CommandResult]:
        """The result of a command run without a shell, with LC_ALL=C; TIMED_OUT past its limit."""

    def variables(self) -> Mapping[str, str]:
        """The process's environment variables."""

    def identity(self) -> Mapping[str, str]:
        """Text facts of the process, those that are known: kernel and architecture (`uname`), `glibc`, `user_id`,
        `user`, `groups` (space separated), `host`, `home`, `cwd`, `python` (the interpreter) and its `prefix`.
        """

    def query(self, subject: str, limit_s: float = 5.0) -> Observed[Mapping[str, object]]:
        """A library's answer as plain JSON, taken in a child process: `nvml`, `cuda`, `docker`, `nodes`,
        `services`, `deep`."""

    def apart(self, module: str, limit_s: float) -> Observed[Told]:
        """What `main` of envkit's own `module` writes of this host, in a process of its own with a limit of memory;
        NOT_LOOKED for a host that is in memory already."""
