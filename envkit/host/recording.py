"""Remembers what a host answers, and writes it into a capture folder with everything identifying masked."""

from __future__ import annotations

import glob
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from envkit.errors import OutputError
from envkit.facts import Observed, Problem, missing
from envkit.facts_json import SCHEMA, to_json
from envkit.host.base import CommandResult, FileStatus, Host
from envkit.host.recorded import Answers
from envkit.records import replace
from envkit.redact import Masker

if TYPE_CHECKING:
    from envkit.facts import Environment

_MAX_BYTES = 262_144  # of a binary file; bigger ones are libraries, which the facts describe
_MAX_TEXT = 4_000_000


class RecordingHost:
    """A host that asks another one and remembers every answer."""

    def __init__(self, host: Host) -> None:
        self._host = host
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
        """The host's answer, kept."""
        return self.texts.setdefault(path, self._host.read_text(path, limit))

    def read_bytes(self, path: str, limit: int = 64_000_000) -> Observed[bytes]:
        """The host's answer, kept when it is small."""
        answer = self._host.read_bytes(path, limit)
        if answer.value is not None and len(answer.value) > _MAX_BYTES:
            kept: Observed[bytes] = missing(Problem.NOT_LOOKED, path, "too big to be recorded")
        else:
            kept = answer
        self.contents[path] = kept
        return answer

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


def write_recording(
    recorder: RecordingHost, environment: Environment, directory: str, parts: Mapping[str, Callable[[str], str]]
) -> None:
    """Write the answers and the facts into `directory`, which must not hold anything yet.

    `parts` cuts big files (by path) down to what the probes read. Raises OutputError. The folder appears whole or not
    at all.
    """
    if not directory:
        raise OutputError("The name of the folder is empty.", "Name a new folder.")
    target = Path(directory)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise OutputError(f"{directory} is not empty.", "Name a new folder.")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _clear_leftovers(target)
        work = Path(tempfile.mkdtemp(prefix=f".{target.name}-{os.getpid()}-", dir=target.parent))
    except OSError as error:
        raise OutputError(f"{directory} cannot be written: {error.strerror}.", "Name a folder elsewhere.") from error
    try:
        _write(work, recorder, environment, parts)
        work.chmod(0o755)
        if target.exists():
            target.rmdir()
        work.rename(target)
    except OSError as error:
        raise OutputError(f"{directory} cannot be written: {error.strerror}.", "Name a folder elsewhere.") from error
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _clear_leftovers(target: Path) -> None:
    """Remove what a recording into the same place left behind when it was killed; it told its process in the name."""
    for folder in target.parent.glob(f".{glob.escape(target.name)}-*-????????"):
        number = folder.name.split("-")[-2]
        status = folder.lstat()
        if not number.isdigit() or status.st_uid != os.geteuid() or not stat.S_ISDIR(status.st_mode):
            continue
        if not os.path.exists(f"/proc/{number}"):
            shutil.rmtree(folder, ignore_errors=True)


def _write(
    folder: Path, recorder: RecordingHost, environment: Environment, parts: Mapping[str, Callable[[str], str]]
) -> None:
    about = dict(recorder.identity())
    masker = Masker(about.get("user", ""), about.get("host", ""), about.get("home", ""))
    for name, data in _documents(recorder, environment, masker, parts).items():
        (folder / name).write_text(json.dumps(data, indent=1, ensure_ascii=False, sort_keys=True) + "\n", "utf-8")
    for path, content in recorder.contents.items():
        if content.value is not None and _nameless(content.value, masker):
            place = folder / "tree" / masker.text(path).lstrip("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content.value)


def _nameless(content: bytes, masker: Masker) -> bool:
    """True when masking would not change the bytes; a changed binary file would lie, so it is left out."""
    text = content.decode("latin-1")
    return masker.text(text) == text


def _documents(
    recorder: RecordingHost, environment: Environment, masker: Masker, parts: Mapping[str, Callable[[str], str]]
) -> dict[str, Any]:
    identity = {**recorder.identity(), "recorded_at": environment.collected_at}
    documents: dict[str, Any] = {
        "machine.json": {
            "schema": SCHEMA,
            "kind": "real",
            "recorded_at": environment.collected_at,
            "description": "recorded by envkit capture",
            "complete": False,
            "identity": {name: masker.text(value) for name, value in identity.items()},
            "variables": masker.data(dict(environment.variables.value or {})),
        },
        "files.json": {
            masker.text(path): masker.text(parts.get(path, str)(read.value)[:_MAX_TEXT])
            for path, read in recorder.texts.items()
            if read.value is not None
        },
        "paths.json": {
            masker.text(path): _problem(read, masker)
            for answers in (recorder.contents, recorder.texts)
            for path, read in answers.items()
            if read.problem is not None
        },
        "commands.json": [_command(command, result, masker) for command, result in recorder.commands.items()],
        "answers.json": masker.data(to_json(_answers(recorder))),
        "facts.json": to_json(replace(masker.value(environment), origin="a capture")),
    }
    for subject, answer in recorder.queries.items():
        if answer.problem is not Problem.NOT_LOOKED:
            problem = {**_problem(answer, masker), "source": masker.text(answer.source)}
            documents[f"{subject}.json"] = problem if answer.problem else masker.data(answer.value)
    return documents


def _problem(answer: Observed[Any], masker: Masker) -> dict[str, Any]:
    problem = answer.problem or Problem.NOT_LOOKED
    return {"problem": problem.value, "detail": masker.text(answer.detail)}


def _answers(recorder: RecordingHost) -> Answers:
    return Answers(
        recorder.globs,
        recorder.lists,
        recorder.real_paths,
        recorder.links,
        recorder.statuses,
        recorder.link_statuses,
        recorder.free,
        recorder.sizes,
        recorder.programs,
    )


def _command(command: tuple[str, ...], result: Observed[CommandResult], masker: Masker) -> dict[str, Any]:
    written: dict[str, Any] = {"command": [masker.text(word) for word in command]}
    if result.value is None:
        return written | _problem(result, masker)
    answer = result.value
    return written | {
        "exit_code": answer.exit_code,
        "stdout": masker.text(answer.stdout),
        "stderr": masker.text(answer.stderr),
    }
