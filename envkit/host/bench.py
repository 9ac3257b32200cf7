"""Runs a measuring program in the interpreter of an environment; one that hangs is given up with its group."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

from envkit._startup.records import record
from envkit.host.children import Patience, ending, follow_child, run_child
from envkit.host.python_places import foreign_place

_FIND = "import sys, importlib.util as u; print(*[n for n in sys.argv[1:] if u.find_spec(n)])"
_FIND_LIMIT_S = 20.0
_BEGIN = b'{"start"'
_MODEST = {"TF_FORCE_GPU_ALLOW_GROWTH": "true", "TF_CPP_MIN_LOG_LEVEL": "2", "PYTHONUNBUFFERED": "1"}
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


@record
class BenchChild:
    """What a child wrote, whether it was given up because it kept silent, and how it ended otherwise."""

    lines: tuple[str, ...]
    silent: bool
    ending: str  # '' for a child that ended well
    problem: str = ""  # the child could not be started at all


def modules_of(python: str, names: Sequence[str], variables: Mapping[str, str]) -> tuple[tuple[str, ...], str]:
    """Which of these modules an interpreter finds, without importing them; and why nobody knows, otherwise ''."""
    if foreign := foreign_place(python, variables):
        return (), foreign
    answer = run_child([python, "-c", _FIND, *names], variables, _FIND_LIMIT_S)
    if answer.value is None or answer.value.exit_code:
        return (), answer.detail if answer.value is None else ending(answer.value)
    return tuple(name for name in names if name in answer.value.stdout.split()), ""


def run_measuring(
    python: str, code: str, settings: Mapping[str, Any], variables: Mapping[str, str], limit_s: float
) -> BenchChild:
    """The lines that the program wrote; each of its measurements may take `limit_s` seconds.

    A user's own environment counts: a framework needs its variables. Root starts none whose modules others can change.
    """
    if foreign := foreign_place(python, variables):
        return BenchChild((), False, foreign, "denied")
    threads = {name: str(settings["threads"]) for name in _THREADS} if settings.get("threads") else {}
    command = [python, "-c", code, json.dumps(settings)]
    child = follow_child(command, {**variables, **_MODEST, **threads}, _patience(limit_s))
    if child.value is None:
        return BenchChild((), False, child.detail, "failed")
    result = child.value.result
    said = "" if child.value.silent or not result.exit_code else ending(result)
    return BenchChild(tuple(result.stdout.splitlines()), child.value.silent, said)


def _patience(limit_s: float) -> Patience:
    """Each measurement that begins has the limit again; other output, however much, wins no time."""
    until, seen = time.monotonic() + limit_s, 0

    def left(written: bytes | bytearray) -> float:
        nonlocal until, seen
        begun = written.rfind(_BEGIN, seen)
        if begun >= 0:
            until, seen = time.monotonic() + limit_s, begun + len(_BEGIN)
        return until - time.monotonic()

    return left
