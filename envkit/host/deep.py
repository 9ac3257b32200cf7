"""Runs the deep tests one by one in the user's interpreter, each in a child that may crash or be late."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator, Mapping
from typing import Any

from envkit.facts import Observed, Problem, found, missing
from envkit.host.base import CommandResult
from envkit.host.children import ending, run_child
from envkit.host.programs import Programs
from envkit.host.trust import is_trusted

_TESTS = ("copy", "torch", "tensorflow", "jax")
_SHARE = 0.5  # of the time that is left: one test that hangs must leave some for the others


def deep(variables: Mapping[str, str], limit_s: float) -> Observed[Mapping[str, object]]:
    """`{"measurements": […]}`, of every test that could be started within `limit_s` seconds."""
    from importlib.resources import files

    code = files("envkit.host").joinpath("deep_child.py").read_text(encoding="utf-8")
    python = _interpreter(variables)
    if os.geteuid() == 0 and not is_trusted(python):
        return missing(Problem.DENIED, python, "not started: it is not root's alone, and this process is root's")
    deadline = time.monotonic() + limit_s
    measurements: list[Any] = []
    for test in _TESTS:
        left = max(1.0, (deadline - time.monotonic()) * _SHARE)
        measurements += _lines(test, run_child([python, "-c", code, test], variables, left))
    return found({"measurements": measurements}, python)


def _interpreter(variables: Mapping[str, str]) -> str:
    """The Python of the active environment, else the one on PATH."""
    prefix = variables.get("VIRTUAL_ENV") or variables.get("CONDA_PREFIX")
    if prefix:
        return f"{prefix}/bin/python"
    return Programs(variables).which("python3").value or sys.executable


def _lines(test: str, result: Observed[CommandResult]) -> Iterator[dict[str, Any]]:
    """What the child measured, and the step in which it ended when it did not end well."""
    if result.value is None:
        yield _failed("run", test, result.detail)
        return
    step = "run"
    for line in result.value.stdout.splitlines():
        data = json.loads(line)
        if "start" in data:
            step = data["start"]
        else:
            yield data
    if result.value.exit_code:
        yield _failed(step, test, ending(result.value))


def _failed(step: str, test: str, detail: str) -> dict[str, Any]:
    return {"name": step, "subject": test, "passed": False, "detail": detail}
