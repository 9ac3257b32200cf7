"""NVIDIA's wheels: do they have the releases that frameworks pin, and are they of one CUDA family?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit._startup.regex import regex
from envkit.base.sentences import series
from envkit.base.versions import Version
from envkit.checks.engine.command import NAME, REQUIREMENT, fixed
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Evidence, Outcome, Remedy, Status, ok
from envkit.checks.engine.messages import message_evidence, seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.frameworks.companions import build_of_torch
from envkit.checks.frameworks.installs import (
    cuda_majors,
    distribution,
    distribution_evidence,
    installs,
    judged,
    nothing_to_judge,
    pip,
)
from envkit.checks.frameworks.requirements import Broken, broken, machine
from envkit.checks.frameworks.swap import place_words
from envkit.model import Distribution, Environment, PythonEnvironment

if TYPE_CHECKING:
    from envkit.tables import Matrix

_CUDA_MAJOR = regex(r"^nvidia-[a-z-]+-cu(?P<major>\d{2})$")
_NEEDED_EXACTLY = (
    "cublas",
    "cudnn",
    "cufft",
    "curand",
    "cusolver",
    "cusparse",
    "nvjitlink",
    "cuda-runtime",
    "cuda-nvrtc",
)


def _with_its_pins(environment: Environment, matrix: Matrix) -> Remedy:
    """The framework again, whose pins provide its wheels; those of another CUDA go first, as they share its folders."""
    why = "Reinstall the framework with the versions it pins, and put the other package in its own environment."
    item = next(installs(environment, "pytorch"), None)
    own = distribution(item.python, "torch") if item is not None else None
    row = build_of_torch(environment, matrix, own.version) if own is not None else None
    if item is None or row is None or row.cuda is None or not row.package:
        return Remedy(why, (fixed("python -m pip check"),))
    others = [
        one.name
        for one in item.python.distributions
        if (match := _CUDA_MAJOR.search(one.name)) and match["major"] != str(row.cuda.major)
    ]
    return Remedy(
        why,
        (
            *([pip(item.python, "uninstall", "-y", *map(NAME, others))] if others else []),
            pip(
                item.python,
                "install",
                "--force-reinstall",
                REQUIREMENT(row.package),
                *place_words(row.index_url, row.find_links),
            ),
        ),
    )


_OTHER_PINS = Fault(
    "nvidia-wheels-pin-conflict",
    "NVIDIA wheels differ from the versions that a framework pins",
    impact="The framework was built with the versions it pins; other versions cause undefined symbols or wrong "
    "kernels.",
    remedy=_with_its_pins,
)


@check(
    _OTHER_PINS,
    layer=Layer.LIBRARIES,
    rank=5,
    any_of=("pythons", "messages"),
    fix="Reinstall the framework with the versions it pins, and put the other package in its own environment.",
    references=threads("pytorch/pytorch#97990", "pytorch/pytorch#193491", "rocker-org/ml#34"),
)
def nvidia_wheels_pin_conflict(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """Every nvidia-* wheel has the version that the installed frameworks require.

    Another package may have upgraded one of them. The framework was built and tested with the versions it pins; others
    cause undefined symbols or wrong kernels.
    """
    looked = 0
    for python in judged(environment):
        owners = [
            item.name
            for item in python.distributions
            if any(line.startswith(("nvidia-", "cuda-toolkit")) for line in item.requires)
        ]
        looked += len(owners)
        faults = broken(python, owners, ("nvidia-", "cuda-toolkit"), machine(environment)) if owners else []
        for owner in sorted({fault.owner.name for fault in faults}):
            yield _pins(python, [fault for fault in faults if fault.owner.name == owner])
        if owners and not faults:
            yield ok(
                f"the versions that {', '.join(owners[:3])} pin are installed",
                subject=python.prefix,
                evidence=[Evidence("pythons.distributions", ", ".join(owners), python.prefix)],
            )
    if reported := _OTHER_PINS.reported(environment):
        yield reported
    elif not looked:
        yield nothing_to_judge(environment, "package that pins NVIDIA's wheels")


def _pins(python: PythonEnvironment, faults: list[Broken]) -> Outcome:
    owner = faults[0].owner
    certain = any(name in fault.installed.name for fault in faults for name in _NEEDED_EXACTLY)
    listed = "; ".join(
        f"{fault.installed.name} {fault.installed.version} (requires {fault.wanted})" for fault in faults
    )
    return _OTHER_PINS.found(
        [distribution_evidence(owner), *(distribution_evidence(fault.installed) for fault in faults)],
        title=f"{owner.name} {owner.version} does not match the installed NVIDIA wheels: {listed}",
        subject=python.prefix,
        status=Status.FAIL if certain else Status.WARN,
        remedy=Remedy(
            "Reinstall the wheels at the pinned versions.",
            (pip(python, "install", *(REQUIREMENT(f"{fault.installed.name}{fault.wanted}") for fault in faults)),),
        ),
    )


_FAMILIES = Fault(
    "nvidia-cu11-cu12-cu13-mixed",
    "NVIDIA wheels for different CUDA versions are in one environment",
    impact="The unused wheels take up gigabytes, and both sets write to the same directories.",
    remedy="Give each framework its own environment.",
    status=Status.WARN,
)


_ONE_CUPY = Remedy(
    "Uninstall every CuPy package that the message lists (with conda, too, if one came from there), because removing "
    "one takes files of the others; then install the one for the CUDA that the driver supports: cupy-cuda12x or "
    "cupy-cuda13x, or cupy from conda-forge.",
    (fixed("python -m pip list"),),
)


@check(
    _FAMILIES,
    layer=Layer.LIBRARIES,
    rank=70,
    any_of=("pythons", "messages"),
    references=threads("pytorch/pytorch#97990"),
)
def nvidia_families_mixed(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """All NVIDIA wheels in an environment are for the same CUDA major version.

    Wheels for CUDA 11 and 12 have -cu11 or -cu12 in their names; later ones have such a suffix only for cuDNN and
    similar libraries.
    """
    cupy = seen(environment, _FAMILIES.id, "cupy")
    if cupy:
        yield _FAMILIES.found(
            message_evidence(environment, cupy),
            title="Several CuPy packages are in one environment",
            impact="They write to the same directory, so parts of one are loaded with parts of another.",
            remedy=_ONE_CUPY,
        )
    looked = len(cupy)
    for python in judged(environment):
        families: dict[str, list[Distribution]] = {}
        for item in python.distributions:
            if item.name.startswith("nvidia-") and (family := _family(item)):
                families.setdefault(family, []).append(item)
        looked += len(families)
        evidence = [
            Evidence("pythons.distributions", f"{family}: {', '.join(item.name for item in items[:4])}", python.prefix)
            for family, items in sorted(families.items())
        ]
        if len(families) > 1:
            wrong_one = (
                *seen(environment, "ld-library-path-shadows-wheels", "nccl", "runtime-symbol"),
                *seen(environment, _FAMILIES.id, "detail-nccl"),
            )
            yield _FAMILIES.found(
                [*evidence, *message_evidence(environment, wrong_one)],
                title=f"NVIDIA wheels for {series(sorted(families))} are in one environment",
                subject=python.prefix,
                status=Status.FAIL if wrong_one else None,
                remedy=_one_family(environment, matrix, python, families if wrong_one else {}),
            )
        elif families:
            yield ok(f"all NVIDIA wheels are for {next(iter(families))}", subject=python.prefix, evidence=evidence)
    if not looked:
        yield nothing_to_judge(environment, "NVIDIA wheel")


def _one_family(
    environment: Environment, matrix: Matrix, python: PythonEnvironment, families: dict[str, list[Distribution]]
) -> Remedy:
    """Without the wheels of another CUDA than the framework's; its own again, as both sets write to one folder."""
    torch = distribution(python, "torch")
    row = build_of_torch(environment, matrix, torch.version) if torch is not None else None
    majors = {str(row.cuda.major)} if row is not None and row.cuda is not None else cuda_majors(python)
    own = families.get(f"CUDA {next(iter(majors))}", []) if len(majors) == 1 else []
    others = [item for items in families.values() if items is not own for item in items]
    if not own:
        return Remedy(
            "Give each framework its own environment (python -m venv NAME). The command shows which packages are in "
            "this one.",
            (pip(python, "list"),),
        )
    pins = [REQUIREMENT(f"{item.name}=={item.version}") for item in own]
    return Remedy(
        f"The framework is for CUDA {next(iter(majors))}: remove the wheels of the other CUDA, then reinstall its own, "
        "because both sets write to the same directories and removing one takes files of the other.",
        (
            pip(python, "uninstall", "-y", *(NAME(item.name) for item in others)),
            pip(python, "install", "--force-reinstall", "--no-deps", *pins),
        ),
    )


def _family(item: Distribution) -> str:
    match = re.search(r"-cu(\d+)$", item.name)
    if match:
        return f"CUDA {match.group(1)}"
    version = Version.find(item.version)
    is_runtime = item.name in ("nvidia-cuda-runtime", "nvidia-cuda-nvrtc", "nvidia-cublas")
    return f"CUDA {version.major}" if is_runtime and version is not None else ""
