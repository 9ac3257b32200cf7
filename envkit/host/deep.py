"""Runs the deep tests one by one in the user's interpreter, each in a child that may crash or be late."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from envkit.base.errors import StepFailed
from envkit.host.children import Followed, Patience, ending, follow_child
from envkit.host.programs import Programs
from envkit.host.python_places import foreign_place
from envkit.model import Observed, Problem, found, missing

_TESTS = ("copy", "torch", "tensorflow", "jax")
_VISIBLE = "CUDA_VISIBLE_DEVICES"
# the GPUs may be at work for others: no framework takes more than it needs
_MODEST = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false", "TF_FORCE_GPU_ALLOW_GROWTH": "true"}
_SHARE = 0.5  # of the time that is left: one test that hangs must leave some for the others


def deep(variables: Mapping[str, str], limit_s: float, python: str = "") -> Observed[Mapping[str, object]]:
    """`{"measurements": […]}`, of every test that could be started within `limit_s` seconds in `python`.

    By default that is the Python of the active environment, otherwise the one on PATH.
    """
    from importlib.resources import files

    code = files("envkit.host").joinpath("deep_child.py").read_text(encoding="utf-8")
    python = python or _interpreter(variables)
    if foreign := foreign_place(python, variables):
        return missing(Problem.DENIED, python, f"not started: {foreign}")
    deadline = time.monotonic() + limit_s
    measurements: list[Any] = []
    settings = {**variables, **_MODEST}
    for test in _TESTS:
        until = time.monotonic() + max(1.0, (deadline - time.monotonic()) * _SHARE)
        command = [python, "-c", code, test]
        lines, ended = _lines(test, follow_child(command, settings, _until(until)))
        usable = next((line["usable"] for line in lines if "usable" in line), None)
        if isinstance(usable, list):
            settings[_VISIBLE] = _one_of(usable, variables.get(_VISIBLE))
        measurements += [line for line in lines if "name" in line] + ended
    return found({"measurements": measurements}, python)


def _until(moment: float) -> Patience:
    return lambda said: moment - time.monotonic()


def _one_of(usable: list[int], asked: str | None) -> str:
    """The first GPU on which the copies went well, in the words of the user's own choice; '' where there is none."""
    if not usable:
        return ""
    items = [item.strip() for item in asked.split(",")] if asked else []
    return items[usable[0]] if usable[0] < len(items) else str(usable[0])


def _interpreter(variables: Mapping[str, str]) -> str:
    """The Python of the active environment, otherwise the first on PATH that nobody else can change, or our own."""
    prefix = variables.get("VIRTUAL_ENV") or variables.get("CONDA_PREFIX")
    if prefix:
        return f"{prefix}/bin/python"
    with suppress(StepFailed):
        return Programs(variables).asked_for("python3") or sys.executable
    return sys.executable


def _lines(test: str, child: Observed[Followed]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """What the child wrote, and the step in which it ended when it did not end well."""
    if child.value is None:
        return [], [_failed("run", test, child.detail)]
    lines = [data for line in child.value.result.stdout.splitlines() if isinstance(data := _json(line), dict)]
    step = next((str(line["start"]) for line in reversed(lines) if "start" in line), "run")
    if child.value.silent:
        return lines, [_failed(step, test, "it timed out")]
    return lines, [_failed(step, test, ending(child.value.result))] if child.value.result.exit_code else []


def _json(line: str) -> object:
    try:
        return json.loads(line)
    except ValueError:  # cut off, or not ours
        return None


def _failed(step: str, test: str, detail: str) -> dict[str, Any]:
    return {"name": step, "subject": test, "passed": False, "detail": detail}
