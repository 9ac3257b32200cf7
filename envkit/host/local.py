"""This machine: files, commands with a time limit, and libraries asked in child processes that can be abandoned."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from envkit.host.base import CommandResult, FileStatus, Told, started
from envkit.host.files import Files, readable
from envkit.model import Observed, Problem, found, missing

if TYPE_CHECKING:
    from envkit.host.programs import Programs

# Reading these takes locks inside the driver, so a driver in trouble can keep the reader forever.
_MAY_HANG = ("/proc/driver/nvidia/gpus/",)
_READ_LIMIT_S = 2.0
_KERNEL_LOG = "/dev/kmsg"


class LocalHost:
    """The machine that the program runs on, with the process's variables and identity or the given ones."""

    def __init__(
        self,
        variables: Mapping[str, str] | None = None,
        identity: Mapping[str, str] | None = None,
        pythons: Sequence[str] = (),
    ) -> None:
        """`pythons`: absolute paths of the interpreters that the user chose to look at."""
        self._pythons = pythons
        self._variables = dict(os.environ if variables is None else variables)
        self._given_identity = identity
        self._files = Files()
        self._ahead: dict[str, tuple[threading.Thread, list[Observed[Mapping[str, object]]]]] = {}

    @property
    def origin(self) -> str:
        """`this machine`."""
        return "this machine"

    def read_text(self, path: str, limit: int = 1_000_000) -> Observed[str]:
        """The file's text; the kernel log is read as far as it goes without waiting for more."""
        read = _kernel_log(limit) if path == _KERNEL_LOG else self.read_bytes(path, limit)
        if read.value is None:
            return missing(read.problem or Problem.UNPARSABLE, path, read.detail)
        return found(read.value.decode("utf-8", "replace"), path)

    def read_bytes(self, path: str, limit: int = 64_000_000) -> Observed[bytes]:
        """The file's first `limit` bytes, through a child where the driver could keep the reader."""
        if path.startswith(_MAY_HANG) and self._files.status(path, follow=True).known:
            result = self.run(["cat", path], _READ_LIMIT_S)
            if result.value is None:
                return missing(result.problem or Problem.UNPARSABLE, path, result.detail)
            if result.value.exit_code:
                return missing(Problem.DENIED, path, result.value.stderr.strip())
            return found(result.value.stdout.encode()[:limit], path)
        return self._files.read_bytes(path, limit)

    def read_range(self, path: str, offset: int, size: int) -> Observed[bytes]:
        """At most `size` bytes of the file from `offset` on."""
        return self._files.read_range(path, offset, size)

    def list_dir(self, path: str) -> Observed[tuple[str, ...]]:
        """The names in a folder, sorted."""
        return self._files.list_dir(path)

    def glob(self, pattern: str) -> tuple[str, ...]:
        """The paths that match, sorted."""
        return self._files.glob(pattern)

    def real_path(self, path: str) -> Observed[str]:
        """The path with every link resolved."""
        return self._files.real_path(path)

    def read_link(self, path: str) -> Observed[str]:
        """What the link at `path` says."""
        return self._files.read_link(path)

    def status(self, path: str, follow: bool = True) -> Observed[FileStatus]:
        """Type and rights of a path."""
        return self._files.status(path, follow)

    def free_bytes(self, path: str) -> Observed[int]:
        """Free space of the file system that holds `path`."""
        return self._files.space(path, total=False)

    def size_bytes(self, path: str) -> Observed[int]:
        """Total size of the file system that holds `path`."""
        return self._files.space(path, total=True)

    def which(self, program: str) -> Observed[str]:
        """The file that PATH gives for `program`."""
        return self._programs.which(program)

    def run(self, command: Sequence[str], limit_s: float = 5.0) -> Observed[CommandResult]:
        """The result of a command run without a shell; DENIED for a program that may not be started.

        The driver's tools are not run where no driver is loaded.
        """
        from envkit.host import driver_loaded
        from envkit.host.children import run_child

        answer = driver_loaded.tool_answer(command)
        if answer is not None and driver_loaded.surely_not_loaded():
            return found(answer, " ".join(command))
        program = self._programs.startable(command[0])
        if program.value is None:
            return missing(program.problem or Problem.DENIED, " ".join(command), program.detail)
        return run_child([program.value, *command[1:]], self._programs.child_variables, limit_s)

    def variables(self) -> Mapping[str, str]:
        """The process's environment variables."""
        return {name: readable(value) for name, value in self._variables.items()}

    def identity(self) -> Mapping[str, str]:
        """What the process knows about itself and its kernel, asked once."""
        return self._identity if self._given_identity is None else self._given_identity

    @cached_property
    def _identity(self) -> Mapping[str, str]:
        system = os.uname()
        values = {
            "kernel": system.release,
            "architecture": system.machine,
            "host": system.nodename,
            "user_id": str(os.geteuid()),
            "user": _name("pwd", os.geteuid()),
            "groups": " ".join(sorted(_name("grp", number) for number in {os.getegid(), *os.getgroups()})),
            "glibc": _glibc(),
            "home": os.path.expanduser("~"),
            "cwd": _working_folder(),
            "python": sys.executable or "",
            "prefix": sys.prefix,
            "pythons": ":".join(self._pythons),
        }
        return {name: readable(value) for name, value in values.items() if value}

    @cached_property
    def _programs(self) -> Programs:
        from envkit.host.programs import Programs

        return Programs(self._variables)

    def ask_ahead(self, subject: str, limit_s: float = 4.0) -> None:
        """Starts a query whose answer takes long; the next `query` of this subject waits for that answer."""
        from envkit.host.queries import ask

        answers: list[Observed[Mapping[str, object]]] = []
        thread = threading.Thread(
            target=lambda: answers.append(ask(subject, self._programs.child_variables, limit_s)),
            name=f"ask {subject}",
            daemon=True,
        )
        if started(thread):  # it is asked later where no thread can be obtained
            self._ahead[subject] = thread, answers

    def query(self, subject: str, limit_s: float = 5.0) -> Observed[Mapping[str, object]]:
        """A library's answer, taken in a child process."""
        from envkit.host.queries import ask

        if subject == "deep":  # alone runs in the user's own environment
            from envkit.host.deep import deep

            return deep(self._variables, limit_s, next(iter(self._pythons), ""))
        if subject not in self._ahead:
            return ask(subject, self._programs.child_variables, limit_s)
        thread, answers = self._ahead.pop(subject)
        thread.join(limit_s)
        return answers[0] if answers else missing(Problem.TIMED_OUT, subject, f"no answer within {limit_s:g} s")

    def apart(self, module: str, limit_s: float) -> Observed[Told]:
        """What a module of envkit writes of this machine, in a process of its own."""
        from envkit.host.apart import ask_apart

        about = {"variables": self.variables(), "identity": self.identity()}
        return ask_apart(module, about, self._programs.child_variables, limit_s)


def _kernel_log(limit: int) -> Observed[bytes]:
    """The kernel's ring buffer: one record per read, until reading would wait."""
    try:
        descriptor = os.open(_KERNEL_LOG, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return missing(Problem.ABSENT, _KERNEL_LOG)
    except OSError as error:
        return missing(Problem.DENIED, _KERNEL_LOG, error.strerror or "")
    records: list[bytes] = []
    size = 0
    try:
        while size < limit:
            try:
                record = os.read(descriptor, 8192)
            except BrokenPipeError:  # this record was overwritten in the meantime; the next one counts
                continue
            if not record:
                break
            records.append(record)
            size += len(record)
    except BlockingIOError:
        pass
    except OSError as error:
        return missing(Problem.DENIED, _KERNEL_LOG, error.strerror or "")
    finally:
        os.close(descriptor)
    return found(b"".join(records), _KERNEL_LOG)


def _name(module: str, number: int) -> str:
    import grp
    import pwd

    try:
        return pwd.getpwuid(number).pw_name if module == "pwd" else grp.getgrgid(number).gr_name
    except KeyError:
        return str(number)


def _glibc() -> str:
    try:
        return (os.confstr("CS_GNU_LIBC_VERSION") or "").removeprefix("glibc").strip()
    except (OSError, ValueError):  # another C library (musl) does not know the name
        return ""


def _working_folder() -> str:
    try:
        return os.getcwd()
    except OSError:  # removed meanwhile
        return ""
