"""A machine written down in a test: files, links, nodes, commands, library answers. Unlisted paths are absent.

host = MemoryHost(
    {"/etc/os-release": 'ID=debian\nVERSION_ID="12"\n', "/usr/local/cuda": link("/usr/local/cuda-12.4"),
     "/dev/nvidia0": node("195:0", mode="0660", group="video", accessible=False), "/dev/kmsg": refused()},
    commands={"nvcc --version": "Cuda compilation tools, release 12.4, V12.4.131"},
    queries={"nvml": {...}},
    variables={"PATH": "/usr/bin"},
    identity={"kernel": "6.1.0-18-amd64", "architecture": "x86_64"},
)
"""

from __future__ import annotations

from collections.abc import Mapping

from envkit.capture.recorded import Answers, Entry, RecordedHost
from envkit.host.base import CommandResult
from envkit.model import Observed, Problem, found, missing

Content = str | bytes | Entry


class MemoryHost(RecordedHost):
    """A `Host` made of plain dictionaries. A command is one line of words; a Problem in place of an answer refuses."""

    def __init__(
        self,
        files: Mapping[str, Content] | None = None,
        *,
        commands: Mapping[str, str | CommandResult | Problem] | None = None,
        queries: Mapping[str, Mapping[str, object] | Problem] | None = None,
        variables: Mapping[str, str] | None = None,
        identity: Mapping[str, str] | None = None,
        answers: Answers | None = None,
        name: str = "a machine in memory",
    ) -> None:
        super().__init__(
            {path: _entry(content) for path, content in (files or {}).items()},
            {tuple(line.split()): _result(line, result) for line, result in (commands or {}).items()},
            {subject: _answer(subject, answer) for subject, answer in (queries or {}).items()},
            variables or {},
            identity or {},
            answers or Answers(),
            name=name,
        )


def link(target: str) -> Entry:
    """A symbolic link."""
    return Entry("link", target=target)


def folder() -> Entry:
    """An empty folder."""
    return Entry("dir", mode="0755")


def node(device: str, mode: str = "0666", group: str = "root", accessible: bool = True) -> Entry:
    """A character device, `device` being major:minor."""
    return Entry("char", b"", mode=mode, group=group, accessible=accessible, device=device)


def refused() -> Entry:
    """A file that is there and that this user may not read."""
    return Entry(problem=Problem.DENIED, accessible=False)


def late() -> Entry:
    """A file whose reading does not end."""
    return Entry(problem=Problem.TIMED_OUT)


def big(size: int) -> Entry:
    """A file of `size` bytes whose content does not matter."""
    return Entry(size=size)


def program() -> Entry:
    """An executable file."""
    return Entry("file", b"\x7fELF", mode="0755")


def _entry(content: Content) -> Entry:
    if isinstance(content, Entry):
        return content
    return Entry(content=content.encode() if isinstance(content, str) else content)


def _result(line: str, result: str | CommandResult | Problem) -> Observed[CommandResult]:
    if isinstance(result, Problem):
        return missing(result, line)
    return found(result if isinstance(result, CommandResult) else CommandResult(0, result, ""), line)


def _answer(subject: str, answer: Mapping[str, object] | Problem) -> Observed[Mapping[str, object]]:
    return missing(answer, subject) if isinstance(answer, Problem) else found(answer, subject)
