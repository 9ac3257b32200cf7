"""TensorFlow's packages: one of them, with something in it, on a system that it supports."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from envkit.base.sentences import series
from envkit.base.versions import Version
from envkit.checks.engine.ask import resolve_command
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Outcome, Remedy, ok
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.frameworks.builds import bring, replacement
from envkit.checks.frameworks.installs import (
    Installed,
    distribution,
    distribution_evidence,
    installs,
    judged,
    nothing_to_judge,
    release,
)
from envkit.model import Distribution, Environment, FrameworkInstall, PythonEnvironment
from envkit.tables.loader import read
from envkit.tables.names import EmptiedPackage

if TYPE_CHECKING:
    from envkit.tables import Matrix

_TF_FAMILY = (
    "tensorflow",
    "tensorflow-cpu",
    "tensorflow-gpu",
    "tf-nightly",
    "tf-nightly-gpu",
    "tf-nightly-cpu",
    "tensorflow-rocm",
)


def _resolved(environment: Environment, matrix: Matrix) -> Remedy:
    command = resolve_command(environment, matrix, framework="tensorflow")
    return Remedy("Uninstall all of them, then install one.", (command,))


def _tensorflow(environment: Environment, matrix: Matrix) -> Remedy:
    return bring(environment, matrix, "tensorflow", "Install the tensorflow package instead.")


_TWO = Fault(
    "tf-two-packages",
    "Several TensorFlow packages share one directory",
    impact="Whichever was installed last is imported; uninstalling one breaks the other.",
    remedy=_resolved,
)
_EMPTY = Fault(
    "tensorflow-gpu-removed",
    "tensorflow-gpu was removed from the package index",
    impact="The installation fails.",
    remedy=_tensorflow,
)


@check(
    _TWO,
    layer=Layer.FRAMEWORK_BUILD,
    rank=20,
    any_of=("pythons", "messages"),
    fix="Uninstall all of them, delete the directory, then install one.",
    references=threads("tensorflow/tensorflow#11529", "tensorflow/text#416"),
)
def tf_two_packages(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """Only one package provides tensorflow/; the last one installed overwrites it, and uninstalling one breaks both."""
    looked = 0
    for python in judged(environment):
        owners = [item for item in python.distributions if item.name in _TF_FAMILY and item.installer != "conda"]
        real = [item for item in owners if not _is_stub(item)]
        looked += len(owners)
        evidence = [distribution_evidence(item) for item in owners]
        if len(real) > 1:
            yield _TWO.found(
                evidence,
                title=f"{series(item.name for item in real)} are both installed",
                subject=python.prefix,
                remedy=_one_of(environment, matrix, python, owners),
            )
        elif owners:
            yield ok("one TensorFlow package", subject=python.prefix, evidence=evidence)
    if reported := _TWO.reported(environment):
        yield reported
    elif not looked:
        yield nothing_to_judge(environment, "TensorFlow")


def _one_of(environment: Environment, matrix: Matrix, python: PythonEnvironment, owners: list[Distribution]) -> Remedy:
    """All of them removed, and the one TensorFlow that fits installed."""
    seen_here = (item for item in installs(environment, "tensorflow") if item.python is python)
    found = next(seen_here, None) or Installed(python, FrameworkInstall("tensorflow", "", owners[0].name))
    names = [item.name for item in owners]
    return replacement(environment, matrix, found, "Uninstall all of them, then install one.", also_removed=names)


@cache
def _emptied() -> dict[str, Version]:
    return {row.package: row.first_empty_version for row in read(EmptiedPackage)}


def _is_stub(item: Distribution) -> bool:
    """True for a release of a package that was emptied."""
    own, first = release(item.version), _emptied().get(item.name)
    return own is not None and first is not None and own >= first


@check(
    _EMPTY,
    layer=Layer.FRAMEWORK_BUILD,
    rank=19,
    any_of=("pythons", "messages"),
    fix="Use tensorflow[and-cuda].",
    references=threads("tensorflow/tensorflow#60074", "googlecolab/colabtools#4431"),
)
def tensorflow_gpu_removed(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """tensorflow-gpu is a release that still contains TensorFlow; later ones are empty and refuse to install."""
    looked = 0
    for python in judged(environment):
        item = distribution(python, "tensorflow-gpu")
        if item is None:
            continue
        looked += 1
        if _is_stub(item):
            yield _EMPTY.found(
                [distribution_evidence(item)],
                title=f"tensorflow-gpu {item.version} is an empty package",
                subject=python.prefix,
                impact="It does not contain TensorFlow.",
                remedy=_one_of(environment, matrix, python, [item]),
            )
        else:
            yield ok(
                f"tensorflow-gpu {item.version} contains TensorFlow",
                subject=python.prefix,
                evidence=[distribution_evidence(item)],
            )
    if looked:
        return
    yield _EMPTY.reported(environment) or nothing_to_judge(environment, "tensorflow-gpu")
