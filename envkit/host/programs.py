"""Which programs of this machine are started, and with which variables: tools of vendors, never the examined code."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from functools import cached_property

from envkit._startup.regex import regex
from envkit.base.errors import StepFailed
from envkit.host.trust import check, is_trusted
from envkit.model import Observed, Problem, found, missing

_TOOLS = {
    "cat", "docker", "journalctl", "modinfo", "nvcc", "nvidia-container-cli", "nvidia-container-runtime",
    "nvidia-container-runtime-hook", "nvidia-ctk", "nvidia-smi", "nv-fabricmanager", "podman", "rpm", "systemctl",
}  # fmt: skip
_COMPILERS = regex(r"(?:[\w.]+-linux-gnu-)?(?:gcc|g\+\+|clang|clang\+\+)(?:-\d+(?:\.\d+)*)?")
_SYSTEM_FOLDERS = ("/usr/bin", "/usr/sbin", "/bin", "/sbin")  # a user's PATH may lack those of the administrator
_OF_THE_SYSTEM = ("/usr/", "/bin/", "/sbin/", "/opt/rh/")  # what packages and administrators put there
_KEPT = frozenset({"HOME", "XDG_RUNTIME_DIR", "DOCKER_HOST"})


class Programs:
    """The programs that a process with these variables finds."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._variables = variables

    def which(self, program: str) -> Observed[str]:
        """The file that an absolute entry of PATH gives for `program`; it need not be one that is started."""
        folders = [""] if program.startswith("/") else self._folders
        for folder in folders if program.startswith("/") or "/" not in program else ():
            path = os.path.join(folder, program)
            if _is_executable(path):
                return found(path, "PATH")
        return missing(Problem.ABSENT, "PATH", f"no {program} on PATH")

    def startable(self, program: str) -> Observed[str]:
        """The path by which `program`, a name or a path, is started; DENIED with the reason why it is not."""
        name = os.path.basename(program)
        if name not in _TOOLS and not _COMPILERS.fullmatch(name):
            return missing(Problem.DENIED, program, "not among the programs that envkit starts")
        if program.startswith("/"):
            return self._checked(program)
        if "/" in program:
            return missing(Problem.DENIED, program, "not started: no absolute path")
        for folder in (*self.trusted_folders, *_SYSTEM_FOLDERS):
            path = f"{folder}/{program}"
            if _is_executable(path):
                return self._checked(path)
        return missing(Problem.ABSENT, program, "no such program")

    def asked_for(self, program: str) -> str | None:
        """The path of a program that a person asked us to run, which need be on no list; None where there is none.

        It is the first on PATH that nobody else can change. Raises StepFailed where all can be changed.
        """
        reason = ""
        for folder in self._folders:
            path = f"{folder}/{program}"
            if not _is_executable(path):
                continue
            try:
                check(path)
            except (OSError, ValueError) as error:
                reason = reason or f"others could have changed it: {getattr(error, 'strerror', None) or error}"
            else:
                return path
        if reason:
            raise StepFailed(f"{program} was not started: {reason}.", "Put one on PATH that belongs to you or root.")
        return None

    @cached_property
    def variables_asked_for(self) -> dict[str, str]:
        """What such a program gets: all variables, of PATH the absolute folders; for root those of no user."""
        folders = self.trusted_folders if os.geteuid() == 0 else self._folders
        return {**self._variables, "PATH": ":".join(folders) or os.defpath}

    def _checked(self, path: str) -> Observed[str]:
        path = os.path.normpath(path)
        try:
            check(path)
        except FileNotFoundError:
            return missing(Problem.ABSENT, path, "no such program")
        except (OSError, ValueError) as error:
            return missing(Problem.DENIED, path, f"not started: {getattr(error, 'strerror', None) or error}")
        if not path.startswith(_OF_THE_SYSTEM) and os.path.dirname(path) not in self._folders:
            return missing(Problem.DENIED, path, "not started: it is in no directory on PATH")
        return found(path, path)

    @cached_property
    def _folders(self) -> tuple[str, ...]:
        """The absolute folders of PATH: an empty or relative one is that of whoever made the working folder."""
        entries = self._variables.get("PATH", os.defpath).split(":")
        return tuple(dict.fromkeys(os.path.normpath(entry) for entry in entries if entry.startswith("/")))

    @cached_property
    def trusted_folders(self) -> tuple[str, ...]:
        """Those folders of PATH that nobody else can put a program into."""
        return tuple(filter(is_trusted, self._folders))

    @cached_property
    def child_variables(self) -> Mapping[str, str]:
        """What children get: where to find programs and libraries, and what changes CUDA's answers; no secret."""
        kept = {
            name: value
            for name, value in self._variables.items()
            if name in _KEPT or name.startswith("CUDA_") and not name.startswith("CUDA_INJECTION")
        }
        libraries = ":".join(library_folders(self._variables))
        path = ":".join(self.trusted_folders) or os.defpath
        return {**kept, **({"LD_LIBRARY_PATH": libraries} if libraries else {}), "PATH": path, "LC_ALL": "C"}


def library_folders(variables: Mapping[str, str]) -> tuple[str, ...]:
    """The absolute folders of LD_LIBRARY_PATH. For root only those that nobody else can put a library into."""
    entries = variables.get("LD_LIBRARY_PATH", "").replace(";", ":").split(":")
    folders = dict.fromkeys(entry for entry in entries if entry.startswith("/"))
    return tuple(folder for folder in folders if os.geteuid() != 0 or is_trusted(folder))


def _is_executable(path: str) -> bool:
    try:
        return stat.S_ISREG(os.stat(path).st_mode) and os.access(path, os.X_OK)
    except (OSError, ValueError):
        return False
