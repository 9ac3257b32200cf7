"""The answers of a recorded host as the documents of a capture: cut down to what is kept, then masked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

from envkit._startup.records import replace
from envkit.capture.recorded import Answers
from envkit.capture.recording import RecordingHost
from envkit.host.base import STAND_IN, CommandResult, FileStatus
from envkit.model import Environment, Observed, Problem
from envkit.model.facts_json import SCHEMA, to_json
from envkit.model.privacy import Privacy
from envkit.privacy.masker import Masker
from envkit.probe.kept import kept_answer, kept_names, kept_result, kept_text

T = TypeVar("T")
_KINDS = {  # of what a process knows of itself; all else is free text
    "home": Privacy.PATH,
    "cwd": Privacy.PATH,
    "python": Privacy.PATH,
    "prefix": Privacy.PATH,
    "user": Privacy.NAME,
    "kernel": Privacy.PLAIN,
    "glibc": Privacy.PLAIN,
    "recorded_at": Privacy.PLAIN,
}
_OF_A_RECORDING = ("facts", STAND_IN)  # asked of every host, and written for every one again


class Evidence:
    """What `recorder` was told, masked by `masker`."""

    def __init__(self, recorder: RecordingHost, masker: Masker) -> None:
        self._recorder = recorder
        self._masker = masker

    def documents(self, facts: Environment) -> dict[str, Any]:
        """Every document but the facts, by the name of its file."""
        documents: dict[str, Any] = {
            "machine.json": {
                "schema": SCHEMA,
                "kind": "real",
                "recorded_at": facts.collected_at,
                "description": "recorded by envkit capture",
                "complete": False,
                "identity": self._identity(facts),
                "variables": dict(facts.variables.value or {}),
            },
            "files.json": {self._path(path): self._masker.text(text) for path, text in self._texts().items()},
            "paths.json": self._refusals(),
            "commands.json": [self._command(*item) for item in self._recorder.commands.items()],
            "answers.json": to_json(self._answers()),
        }
        for subject, answer in self._recorder.queries.items():
            if subject in _OF_A_RECORDING:
                continue
            if answer.problem is None and answer.value is not None:
                documents[f"{subject}.json"] = self._masker.data(kept_answer(subject, answer.value))
            elif answer.problem is not Problem.NOT_LOOKED:
                documents[f"{subject}.json"] = self._problem(answer) | {"source": self._masker.text(answer.source)}
        documents["machine.json"]["holds"] = sorted(documents)
        return documents

    def binaries(self) -> dict[str, bytes]:
        """The parts of files that are no text, by masked path."""
        return {self._path(path): content for path, content in self._contents() if not content.startswith(b"#!")}

    def sources(self) -> tuple[str, ...]:
        """The machine's files of which a part is kept, masked."""
        return tuple(sorted({*map(self._path, self._texts()), *self.binaries()}))

    def _texts(self) -> dict[str, str]:
        texts = {path: content.decode("utf-8", "replace") for path, content in self._contents() if content[:2] == b"#!"}
        for path, answer in self._recorder.texts.items():
            kept = None if answer.value is None else kept_text(path, answer.value)
            if kept is not None:
                texts[path] = kept
        return texts

    def _contents(self) -> list[tuple[str, bytes]]:
        return [(path, read.value) for path, read in self._recorder.contents.items() if read.value is not None]

    def _identity(self, facts: Environment) -> dict[str, str]:
        identity = {**self._recorder.identity(), "recorded_at": facts.collected_at}
        masked = {name: self._of(_KINDS.get(name, Privacy.TEXT), value) for name, value in identity.items()}
        if "groups" in identity:
            masked["groups"] = " ".join(self._of(Privacy.NAME, group) for group in identity["groups"].split())
        return masked | ({"host": "host"} if "host" in identity else {})

    def _refusals(self) -> dict[str, Any]:
        answers: dict[str, Observed[Any]] = {**self._recorder.contents, **self._recorder.texts}
        return {self._path(path): self._problem(read) for path, read in answers.items() if read.problem is not None}

    def _problem(self, answer: Observed[Any]) -> dict[str, str]:
        problem = answer.problem or Problem.NOT_LOOKED
        return {"problem": problem.value, "detail": self._masker.text(answer.detail)}

    def _command(self, command: tuple[str, ...], answer: Observed[CommandResult]) -> dict[str, Any]:
        written: dict[str, Any] = {"command": [self._masker.text(word) for word in command]}
        if answer.value is None:
            return written | self._problem(answer)
        result = kept_result(command, answer.value)
        return written | {
            "exit_code": result.exit_code,
            "stdout": self._masker.text(result.stdout),
            "stderr": self._masker.text(result.stderr),
        }

    def _answers(self) -> Answers:
        recorder = self._recorder
        return Answers(
            globs={self._path(name): tuple(map(self._path, paths)) for name, paths in recorder.globs.items()},
            lists={
                self._path(folder): self._answer(names, partial(self._names, folder))
                for folder, names in recorder.lists.items()
            },
            real_paths=self._by_path(recorder.real_paths, self._path),
            links=self._by_path(recorder.links, self._path),
            statuses=self._by_path(recorder.statuses, self._status),
            link_statuses=self._by_path(recorder.link_statuses, self._status),
            free=self._by_path(recorder.free, lambda size: size),
            sizes=self._by_path(recorder.sizes, lambda size: size),
            programs=self._by_path(recorder.programs, self._path),
        )

    def _by_path(self, answers: Mapping[str, Observed[T]], mask: Callable[[T], T]) -> dict[str, Observed[T]]:
        return {self._path(path): self._answer(answer, mask) for path, answer in answers.items()}

    def _answer(self, answer: Observed[T], mask: Callable[[T], T]) -> Observed[T]:
        return replace(
            answer,
            value=None if answer.value is None else mask(answer.value),
            source=self._masker.text(answer.source),
            detail=self._masker.text(answer.detail),
        )

    def _names(self, folder: str, names: tuple[str, ...]) -> tuple[str, ...]:
        kept, kind = kept_names(folder, names)
        return tuple(self._of(kind, name) for name in kept)

    def _status(self, status: FileStatus) -> FileStatus:
        owner, group = (self._of(Privacy.NAME, name) for name in (status.owner, status.group))
        return replace(status, owner=owner, group=group)

    def _path(self, path: str) -> str:
        return self._of(Privacy.PATH, path)

    def _of(self, kind: Privacy, text: str) -> str:
        return self._masker.of_kind(kind, "", text) if text else text
