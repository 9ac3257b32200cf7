"""A recorded machine in a folder: `CaptureHost` replays it; `envkit.probe.record` writes one.

The folder holds, all but the first optional (tests/machines/README.md shows examples):

    machine.json   {"schema": 1, "kind": "real" or "synthetic", "recorded_at": …, "description": …, "complete": bool,
                    "identity": {…}, "variables": {…}}; a machine that is complete has nothing that it does not list
    files.json     {"/proc/modules": "text …"}: files by their path
    tree/          files of any content, at their own path below this folder
    paths.json     {"/usr/local/cuda": {"link": "cuda-12.4"}, "/dev/nvidia0": {"kind": "char", "mode": "0666",
                    "device": "195:0"}, "/dev/kmsg": {"problem": "denied"}, "/lib/libcuda.so.1": {"size": 28000000}}
    commands.json  [{"command": ["nvcc", "--version"], "exit_code": 0, "stdout": "…"},
                    {"command": ["nvidia-smi", "-L"], "problem": "timed-out"}]
    nvml.json, cuda.json, docker.json, nodes.json   what a library answered, or {"problem": "timed-out"}
    answers.json   answers word for word (a recording holds these): globs, lists, real_paths, statuses …
    facts.json     the facts as they were found; they stand in where the replay has none. A folder that holds no
                   evidence but these needs no machine.json
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from envkit.errors import SourceError
from envkit.facts import Observed, Problem, found, missing
from envkit.facts_json import SCHEMA, Json, part_from_json
from envkit.host.base import CommandResult
from envkit.host.recorded import Answers, Entry, RecordedHost, problem_of

QUERIES = ("nvml", "cuda", "docker", "nodes", "facts")
_EVIDENCE = ("files", "paths", "commands", "answers", *QUERIES[:-1])
_PATH_KEYS = {
    "kind",
    "link",
    "mode",
    "owner",
    "group",
    "size",
    "accessible",
    "modified",
    "device",
    "problem",
    "detail",
    "text",
}
_MAX_FILE = 256_000_000


class CaptureHost(RecordedHost):
    """The machine recorded in `folder`. Raises SourceError for a folder that holds no readable capture."""

    def __init__(self, folder: str) -> None:
        root = Path(folder)
        about = _read_json(root / "machine.json", required=True)
        _check(about, folder)
        super().__init__(
            _entries(root),
            _commands(_read_json(root / "commands.json", default=[]), root / "commands.json"),
            {subject: answer for subject in QUERIES if (answer := _query(root, subject)) is not None},
            _words(about.get("variables", {}), root),
            _words(about.get("identity", {}), root),
            _answers(_read_json(root / "answers.json"), root / "answers.json"),
            bool(about.get("complete", True)),
            folder,
        )


def holds_facts_alone(folder: str) -> bool:
    """True for a folder with facts and nothing that a probe could read."""
    root = Path(folder)
    evidence = [root / "tree", *(root / f"{name}.json" for name in _EVIDENCE)]
    return (root / "facts.json").exists() and not any(path.exists() for path in evidence)


def read_facts(folder: str) -> Json:
    """What the folder's facts.json holds. Raises SourceError."""
    return _read_json(Path(folder) / "facts.json", required=True)


def _check(about: Json, folder: str) -> None:
    if not isinstance(about, dict) or about.get("schema") != SCHEMA:
        raise SourceError(f"{folder}: machine.json has no schema {SCHEMA}.", "Record it again with `envkit capture`.")


def _read_json(path: Path, default: Json = None, required: bool = False) -> Json:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        if required:
            raise SourceError(
                f"{path.parent} is not a capture: it holds no {path.name}.",
                "Record one with `envkit capture DIR`, or name the files in it one by one.",
            ) from None
        return {} if default is None else default
    except (OSError, ValueError, RecursionError) as error:
        raise SourceError(f"{path} cannot be read as JSON: {error}") from error


def _entries(root: Path) -> dict[str, Entry]:
    entries = {
        path: Entry(content=text.encode("utf-8", "surrogateescape"))
        for path, text in _words(_read_json(root / "files.json"), root / "files.json").items()
    }
    tree = root / "tree"
    for folder, folders, names in os.walk(tree):
        inside = "/" + os.path.relpath(folder, tree) if folder != str(tree) else ""
        if not names and not folders and inside:
            entries[inside] = Entry("dir")
        for name in [*names, *(name for name in folders if (Path(folder) / name).is_symlink())]:
            entries[f"{inside}/{name}"] = _tree_entry(Path(folder) / name)
    described = _read_json(root / "paths.json")
    if not isinstance(described, dict):
        raise SourceError(f"{root / 'paths.json'}: expected an object of paths.")
    for path, data in described.items():
        entries[path] = _described(entries.get(path), data, f"{root / 'paths.json'}: {path}")
    return entries


def _tree_entry(path: Path) -> Entry:
    if path.is_symlink():
        return Entry("link", target=str(path.readlink()))
    try:
        with open(path, "rb") as stream:
            return Entry(content=stream.read(_MAX_FILE))
    except OSError as error:
        raise SourceError(f"{path} cannot be read: {error.strerror}.") from error


def _described(known: Entry | None, data: Json, where: str) -> Entry:
    if not isinstance(data, dict) or not data.keys() <= _PATH_KEYS:
        raise SourceError(f"{where}: expected an object with keys of {', '.join(sorted(_PATH_KEYS))}.")
    content = known.content if known else None
    if "text" in data:
        content = str(data["text"]).encode()
    kind = "link" if "link" in data else str(data.get("kind", "file"))
    size = data.get("size")
    if size is not None and (not isinstance(size, int) or isinstance(size, bool)):
        raise SourceError(f"{where}: size is a whole number of bytes.")
    return Entry(
        kind,
        content,
        str(data.get("link", "")),
        str(data.get("mode", "0755" if kind == "dir" else "0644")),
        str(data.get("owner", "root")),
        str(data.get("group", "root")),
        size,
        bool(data.get("accessible", "problem" not in data)),
        part_from_json(float, data.get("modified", 0.0), where),
        str(data.get("device", "")),
        _problem(data, where),
        str(data.get("detail", "")),
    )


def _problem(data: Mapping[str, Any], where: str) -> Problem | None:
    try:
        return problem_of(data)
    except ValueError as error:
        raise SourceError(f"{where}: {error}", f"One of {', '.join(item.value for item in Problem)}.") from error


def _commands(data: Json, where: Path) -> dict[tuple[str, ...], Observed[CommandResult]]:
    if not isinstance(data, list):
        raise SourceError(f"{where}: expected a list of commands.")
    results: dict[tuple[str, ...], Observed[CommandResult]] = {}
    for item in data:
        command = part_from_json(tuple[str, ...], item.get("command") if isinstance(item, dict) else item, str(where))
        source = " ".join(command)
        problem = _problem(item, str(where))
        result = CommandResult(
            part_from_json(int, item.get("exit_code", 0), f"{where}: {source}"),
            str(item.get("stdout", "")),
            str(item.get("stderr", "")),
        )
        results[command] = missing(problem, source, str(item.get("detail", ""))) if problem else found(result, source)
    return results


def _query(root: Path, subject: str) -> Observed[Mapping[str, object]] | None:
    path = root / f"{subject}.json"
    if not path.exists():
        return None
    data = _read_json(path)
    if not isinstance(data, dict):
        raise SourceError(f"{path}: expected an object.")
    problem = _problem(data, str(path)) if subject != "facts" else None
    if problem:
        return missing(problem, str(data.get("source", subject)), str(data.get("detail", "")))
    return found(data, subject)


def _words(data: Json, where: Path) -> dict[str, str]:
    words: dict[str, str] = part_from_json(Mapping[str, str], data, str(where))
    return words


def _answers(data: Json, where: Path) -> Answers:
    answers: Answers = part_from_json(Answers, data, str(where))
    return answers
