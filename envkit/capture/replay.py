"""A recorded machine in a folder: `CaptureHost` replays it; `envkit.capture.record` writes one.

The folder holds, all but the first optional (tests/machines/README.md shows examples):

    machine.json   {"schema": 1, "kind": "real" or "synthetic", "recorded_at": …, "description": …, "complete": bool,
                    "identity": {…}, "variables": {…}, "holds": [the JSON files that belong to it]}; a machine that is
                    complete has nothing that it does not list
    files.json     {"/proc/modules": "text …"}: files by their path
    tree/          files of any content, at their own path below this folder
    paths.json     {"/usr/local/cuda": {"link": "cuda-12.4"}, "/dev/nvidia0": {"kind": "char", "mode": "0666",
                    "device": "195:0"}, "/dev/kmsg": {"problem": "denied"}, "/lib/libcuda.so.1": {"size": 28000000}}
    commands.json  [{"command": ["nvcc", "--version"], "exit_code": 0, "stdout": "…"},
                    {"command": ["nvidia-smi", "-L"], "problem": "timed-out"}]
    nvml.json, cuda.json, docker.json, nodes.json, services.json   what was answered, or {"problem": "timed-out"}
    answers.json   answers word for word (a recording holds these): globs, lists, real_paths, statuses …
    facts.json     the facts as they were found; they are used where the replay has none. A folder that holds no
                   evidence but these needs no machine.json
    stand_in.json  {"facts": ["packages"]}: the facts that replace whatever the replay finds
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from typing import Any

from envkit.base.errors import SourceError
from envkit.capture.folder import CaptureFolder
from envkit.capture.recorded import Answers, Entry, RecordedHost, problem_of
from envkit.host.base import STAND_IN, CommandResult
from envkit.model import Observed, Problem, found, missing
from envkit.model.facts_json import SCHEMA, Json, TypeForm, part_from_json

QUERIES = ("nvml", "cuda", "docker", "nodes", "services", "facts", STAND_IN)
_EVIDENCE = ("files", "paths", "commands", "answers", "nvml", "cuda", "docker", "nodes", "services")
_PROBED = frozenset(("tree", *(f"{name}.json" for name in _EVIDENCE)))  # what a probe can read
NAMES = _PROBED | {"machine.json", "facts.json", f"{STAND_IN}.json"}
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


class CaptureHost(RecordedHost):
    """The machine recorded in `folder`. Raises SourceError for a folder that holds no readable capture."""

    def __init__(self, folder: str) -> None:
        files = CaptureFolder(folder)
        about = _required(files, "machine.json")
        if not isinstance(about, dict) or about.get("schema") != SCHEMA:
            again = "Record it again with `envkit capture`."
            raise SourceError(f"{folder}: machine.json has no schema {SCHEMA}.", again)
        _refuse_parts(files, about.get("holds"))
        super().__init__(
            _entries(files),
            _commands(files.document("commands.json"), f"{folder}/commands.json"),
            {subject: answer for subject in QUERIES if (answer := _query(files, subject)) is not None},
            _part(Mapping[str, str], about.get("variables"), folder),
            _part(Mapping[str, str], about.get("identity"), folder),
            _part(Answers, files.document("answers.json"), f"{folder}/answers.json"),
            bool(about.get("complete", True)),
            folder,
        )


def holds_facts_alone(folder: str) -> bool:
    """True for a folder with facts and nothing that a probe could read."""
    present = set(CaptureFolder(folder).listed())
    return "facts.json" in present and present.isdisjoint(_PROBED)


def read_facts(folder: str) -> Json:
    """What the folder's facts.json holds. Raises SourceError."""
    return _required(CaptureFolder(folder), "facts.json")


def _required(files: CaptureFolder, name: str) -> Json:
    data = files.document(name)
    if data is None:
        raise SourceError(
            f"{files.path} is not a capture: it contains no {name}.",
            "Record one with `envkit capture DIR`, or pass the files in it.",
        )
    return data


def _refuse_parts(files: CaptureFolder, holds: Json) -> None:
    """Half a copy would pass for a machine without what its lost files told."""
    present = set(files.listed())
    lost = sorted(set(part_from_json(tuple[str, ...], holds or [], f"{files.path}/machine.json: holds")) - present)
    if not lost and present.isdisjoint(_PROBED | {"facts.json"}):
        lost = ["other file than machine.json"]
    if lost:
        raise SourceError(
            f"{files.path} is only part of a capture: it has no {lost[0]}.", "Copy the whole directory again."
        )


def _entries(files: CaptureFolder) -> dict[str, Entry]:
    texts = _part(Mapping[str, str], files.document("files.json"), f"{files.path}/files.json")
    entries = {path: Entry(content=text.encode("utf-8", "replace")) for path, text in texts.items()}
    entries |= {path: _tree_entry(files, path, status) for path, status in files.tree()}
    where = f"{files.path}/paths.json"
    described = files.document("paths.json")
    if not isinstance(described, dict | None):
        raise SourceError(f"{where}: expected an object of paths.")
    for path, data in (described or {}).items():
        entries[path] = _described(entries.get(path), data, f"{where}: {path}")
    return entries


def _tree_entry(files: CaptureFolder, path: str, status: os.stat_result) -> Entry:
    if stat.S_ISLNK(status.st_mode):
        return Entry("link", target=files.link(path))
    if stat.S_ISDIR(status.st_mode):
        return Entry("dir", mode="0755")
    if stat.S_ISREG(status.st_mode):
        return Entry(reader=files.reader(path), size=status.st_size)
    return Entry("other", problem=Problem.UNPARSABLE, detail="a capture contains only regular files")


def _described(known: Entry | None, data: Json, where: str) -> Entry:
    if not isinstance(data, dict) or not data.keys() <= _PATH_KEYS:
        raise SourceError(f"{where}: expected an object with keys of {', '.join(sorted(_PATH_KEYS))}.")
    content = known.content if known else None
    if "text" in data:
        content = str(data["text"]).encode("utf-8", "replace")
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
        known.reader if known and "text" not in data else None,
    )


def _problem(data: Mapping[str, Any], where: str) -> Problem | None:
    try:
        return problem_of(data)
    except ValueError as error:
        raise SourceError(f"{where}: {error}", f"One of {', '.join(item.value for item in Problem)}.") from error


def _commands(data: Json, where: str) -> dict[tuple[str, ...], Observed[CommandResult]]:
    if not isinstance(data, list | None):
        raise SourceError(f"{where}: expected a list of commands.")
    results: dict[tuple[str, ...], Observed[CommandResult]] = {}
    for item in data or ():
        if not isinstance(item, dict):
            raise SourceError(f"{where}: expected an object for each command.")
        command = part_from_json(tuple[str, ...], item.get("command"), where)
        source = " ".join(command)
        problem = _problem(item, where)
        result = CommandResult(
            part_from_json(int, item.get("exit_code", 0), f"{where}: {source}"),
            str(item.get("stdout", "")),
            str(item.get("stderr", "")),
        )
        results[command] = missing(problem, source, str(item.get("detail", ""))) if problem else found(result, source)
    return results


def _query(files: CaptureFolder, subject: str) -> Observed[Mapping[str, object]] | None:
    data = files.document(f"{subject}.json")
    if data is None:
        return None
    where = f"{files.path}/{subject}.json"
    if not isinstance(data, dict):
        raise SourceError(f"{where}: expected an object.")
    problem = _problem(data, where) if subject != "facts" else None
    if problem:
        return missing(problem, str(data.get("source", subject)), str(data.get("detail", "")))
    return found(data, subject)


def _part(kind: TypeForm, data: Json, where: str) -> Json:
    """A value of the type `kind`; an empty one for no data."""
    return part_from_json(kind, {} if data is None else data, where)
