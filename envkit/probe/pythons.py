"""The fact `pythons`: probed in a process of its own, because the files of an environment may be anybody's.

What is done when the time or the memory is spent, is kept.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from envkit.host.base import Host, Told
from envkit.model import Observed, Problem, PythonEnvironment, missing
from envkit.model.facts_json import part_from_json, to_json
from envkit.probe.python_env import environments, ignored_versions

_SOURCE = "installed packages' metadata"
_END = {"end": True}


def pythons(host: Host, limit_s: float = 4.0) -> Observed[tuple[PythonEnvironment, ...]]:
    """The Python environments that matter, the active one first; ABSENT when there is no Python at all."""
    told = host.apart(__name__, limit_s)
    if told.value is None:  # in memory already, or no process can be obtained
        return _answer(tuple(environments(host)), ignored_versions(host))
    return _read(told.value)


def main() -> None:
    """In the child: each environment on a line of its own, as soon as it is known."""
    from envkit.host.apart import given_host

    host = _host(given_host())
    _write({"ignored": ignored_versions(host)})
    for environment in environments(host):
        _write(to_json(environment))
    _write(_END)


def _host(about: Mapping[str, Any]) -> Host:
    from envkit.host.local import LocalHost
    from envkit.host.root import RootHost

    return RootHost(about["root"]) if "root" in about else LocalHost(about["variables"], about["identity"])


def _write(data: Mapping[str, Any]) -> None:
    print(json.dumps(data), flush=True)


def _read(told: Told) -> Observed[tuple[PythonEnvironment, ...]]:
    lines = [json.loads(line) for line in told.lines]
    detail = lines.pop(0)["ignored"] if lines else ""
    cut_off = told.cut_off
    if lines and lines[-1] == _END:
        lines.pop()
    else:
        cut_off = cut_off or "the answer was too long"
    kept = tuple(part_from_json(PythonEnvironment, line, "pythons") for line in lines)
    if cut_off and not kept:
        return missing(Problem.TIMED_OUT, _SOURCE, cut_off)
    return _answer(kept, "; ".join(filter(None, (detail, cut_off and f"not all environments: {cut_off}"))))


def _answer(kept: tuple[PythonEnvironment, ...], detail: str) -> Observed[tuple[PythonEnvironment, ...]]:
    if not kept:
        return missing(Problem.ABSENT, "PATH", detail or "no Python was found")
    return Observed(kept, _SOURCE, None, detail)
