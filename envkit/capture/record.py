"""Records a machine for replay: of each answer the part that a probe reads, and the facts, all of it masked."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from envkit._startup.records import record as record_class
from envkit._startup.records import replace
from envkit.capture.evidence import Evidence
from envkit.capture.recording import RecordingHost
from envkit.capture.replay import CaptureHost
from envkit.host.base import STAND_IN, Host
from envkit.host.new_folder import NewFolder, new_folder
from envkit.model import Environment, Identity
from envkit.model.facts_json import to_json
from envkit.model.paths import fact, fact_paths, with_facts
from envkit.privacy.masker import Masker
from envkit.probe.collect import collect
from envkit.probe.kept import kept_bytes

_LIMIT_S = 20.0  # a recording may take its time: a slow answer is worth more than none


@record_class
class Recording:
    """What was written: the folder, its files with their sizes, and the machine's files that it holds parts of."""

    path: str
    sizes: dict[str, int]
    sources: tuple[str, ...]


def record(
    host: Host,
    directory: str,
    driver_limit_s: float | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> Recording:
    """Write a masked recording of `host` into `directory`, which must not hold anything yet. Raises OutputError.

    Python environments are kept as facts alone: their files are too many.
    """
    from envkit.probe.managers import managed_by
    from envkit.probe.pythons import pythons

    recorder = RecordingHost(host, kept_bytes)
    environment = collect(recorder, _LIMIT_S, skip=("pythons", "managed_by"), driver_limit_s=driver_limit_s, tell=tell)
    environment = with_facts(environment, {"pythons": pythons(host, _LIMIT_S), "managed_by": managed_by(host)})
    masker = Masker(environment.identity)
    facts = replace(masker.value(environment), origin="a capture", identity=Identity())
    evidence = Evidence(recorder, masker)
    with new_folder(directory) as folder:
        for name, document in evidence.documents(facts).items():
            _write(folder, name, document)
        for path, content in evidence.binaries().items():
            folder.write(f"tree{path}", content)
        _write(folder, "facts.json", to_json(facts))
        _write(folder, f"{STAND_IN}.json", {"facts": _different(folder, facts)})
    return Recording(directory, folder.sizes, evidence.sources())


def _write(folder: NewFolder, name: str, document: Any) -> None:  # noqa: ANN401 - JSON
    folder.write(name, (json.dumps(document, indent=1, ensure_ascii=False, sort_keys=True) + "\n").encode())


def _different(folder: NewFolder, facts: Environment) -> list[str]:
    """The facts that the replay does not find again: what they rest on was not kept, or is masked in it."""
    replayed = collect(CaptureHost(folder.path), _LIMIT_S)
    return [path for path in fact_paths() if fact(replayed, path) != fact(facts, path)]
