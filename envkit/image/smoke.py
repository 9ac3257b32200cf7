"""The smoke test of an image: a shell script that imports every framework and, where a GPU is, uses it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from envkit.image.source_build import filled
from envkit.solver.model import Choice
from envkit.solver.pip_calls import installed_by_pip
from envkit.solver.wheel_files import companions_for
from envkit.tables import images as data
from envkit.tables.rows import Framework


def smoke_script(
    choice: Choice,
    frameworks: Iterable[Framework | None],
    devel: bool,
    official: bool = False,
    also: Iterable[str] = (),
) -> tuple[str, ...]:
    """The script's lines, with `also` before the last one.

    Without a framework it looks for the CUDA libraries, or the compiler of a devel image.
    """
    lines = ["#!/bin/sh", "set -eu"]
    tested = False
    for build, framework in zip(choice.builds, frameworks, strict=True):
        steps = [step for step in data.source_steps(build) if step.kind == "smoke"]
        lines += [filled(step.value, choice) for step in steps]
        if framework is not None and (official or installed_by_pip(build, choice)):
            lines += _import_lines(framework)
        if framework is not None and not official:
            lines += _companion_lines(framework, companions_for(build, choice.python))
        tested = tested or framework is not None
    if not tested:
        lines += _cuda_lines(choice, devel)
    return (*lines, *also, 'echo "smoke test passed"')


def _import_lines(framework: Framework) -> list[str]:
    test = data.smoke_test(framework.name)
    if test and test.command:
        return [test.command]
    title = f'"{framework.title}"'
    code = f'import {framework.import_name} as m; print({title}, getattr(m, "__version__", "imported"))'
    if test and test.code:
        code += f"; {test.code}"
    lines = [f"python -c {shlex.quote(code)}"]
    if test and test.gpu_code:
        gpu = f'import {framework.import_name} as m; {test.gpu_code}; print({title}, "uses the GPU")'
        lines.append(f"if test -e /dev/nvidiactl || test -e /dev/dxg; then python -c {shlex.quote(gpu)}; fi")
    return lines


def _companion_lines(framework: Framework, companions: Iterable[str]) -> list[str]:
    """The imports of the packages that the plan installs next to a framework."""
    test = data.smoke_test(framework.name)
    pinned = {line.partition("==")[0] for line in companions}
    return [f"python -c 'import {name}'" for name in (test.companions if test else ()) if name in pinned]


def _cuda_lines(choice: Choice, devel: bool) -> list[str]:
    if choice.cuda is None:
        return ["python --version"]
    if devel:
        return ["nvcc --version"]
    return ["ldconfig -p > /tmp/libraries", "grep libcudart /tmp/libraries"]
