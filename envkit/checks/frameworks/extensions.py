"""Compiled extensions: were they built for this PyTorch, CUDA and Python?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit._startup.regex import regex
from envkit.base.versions import Version
from envkit.checks.engine.command import REQUIREMENT, run
from envkit.checks.engine.evidence import only_told
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Outcome, Remedy, ok, unknown
from envkit.checks.engine.messages import seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.frameworks.installs import (
    distribution,
    distribution_evidence,
    judged,
    local_tag,
    nothing_to_judge,
    pip,
    release,
)
from envkit.model import Distribution, Environment, PythonEnvironment

if TYPE_CHECKING:
    from envkit.tables import Matrix

_ANEW = ("install", "--force-reinstall", "--no-deps", "--no-build-isolation", "--no-cache-dir")
_FLASH_TAG = regex(r"cu(?P<cuda>\d+)torch(?P<torch>\d+\.\d+)")

_FLASH = regex(r"flash[_-]attn")
_PYTHON_TAG = regex(r"cp(\d)(\d+)-")


def _rebuild(environment: Environment, matrix: Matrix) -> Remedy:
    """Which extension it is, only its messages tell."""
    said = any(_FLASH.search(message.text) for message in seen(environment, "extension-abi-mismatch"))
    steps = (run("python", "-m", "pip", *_ANEW, "flash-attn"),) if said else ()
    return Remedy(
        "Install the wheel built for this exact torch version, or rebuild the extension in this environment.", steps
    )


_FOREIGN = Fault(
    "extension-abi-mismatch",
    "A compiled extension was built for a different torch, CUDA, or Python version",
    impact="Importing it fails with an undefined symbol or a missing module.",
    remedy=_rebuild,
)


@check(
    _FOREIGN,
    layer=Layer.FRAMEWORK_BUILD,
    rank=35,
    any_of=("pythons", "messages"),
    explained_by=("torch-replaced-by-dependency", "torchvision-mismatch"),
    fix="Install the extension's build for the installed torch, CUDA and Python, or compile it against them.",
    references=threads("Dao-AILab/flash-attention#975", "Dao-AILab/flash-attention#1644", "huggingface/open-r1#684"),
)
def extension_abi_mismatch(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """Every compiled extension finds the symbols of the installed torch, and was built for this Python.

    flash-attn, xformers and others carry the torch, CUDA and Python they were built for; with another one they stop
    with an undefined symbol.
    """
    looked = 0
    for python in judged(environment):
        torch = distribution(python, "torch")
        for item, why in _foreign_extensions(python, torch):
            looked += 1
            yield _FOREIGN.found(
                [distribution_evidence(item), *([distribution_evidence(torch)] if torch else [])],
                title=f"{item.name} {item.version} {why}",
                subject=python.prefix,
                remedy=Remedy(
                    "Rebuild it in this environment, or install the wheel built for this exact torch version.",
                    (pip(python, *_ANEW, REQUIREMENT(f"{item.name}=={item.version.partition('+')[0]}")),),
                ),
            )
        if torch is not None and not looked and not only_told(environment):
            looked += 1
            yield ok("compiled extensions fit torch", subject=python.prefix, evidence=[distribution_evidence(torch)])
    if reported := _FOREIGN.reported(environment):
        yield reported
    elif not looked:
        torches = any(distribution(python, "torch") for python in judged(environment))
        yield (
            unknown("what compiled extensions were built for is not known")
            if torches
            else nothing_to_judge(environment, "PyTorch")
        )


def _foreign_extensions(python: PythonEnvironment, torch: Distribution | None) -> Iterator[tuple[Distribution, str]]:
    symbols = {line.partition(": ")[0]: line.partition(": ")[2] for line in reversed(python.unresolved_symbols)}
    for item in python.distributions:
        tag = _FLASH_TAG.search(local_tag(item.version))
        own = release(torch.version) if torch is not None else None
        if item.name in symbols:
            yield item, f"asks for {symbols[item.name]}, which the installed torch does not have"
        elif tag is not None and own is not None and own.release(2) != Version.parse(tag["torch"]):
            yield item, f"was built for torch {tag['torch']}, but {own} is installed"
        elif python.version is not None and (built := _other_python(item, python.version)):
            yield item, f"was built for Python {built}, but this is {python.version.release(2)}"


def _other_python(item: Distribution, version: Version) -> str:
    """The Python that every tag of the wheel names when it is another one; '' when one fits or none says."""
    tags = [tag for tag in item.wheel_tags if _PYTHON_TAG.match(tag) and "-abi3-" not in tag]
    named = {Version.of(int(match.group(1)), int(match.group(2))) for tag in tags if (match := _PYTHON_TAG.match(tag))}
    return "" if not named or version.release(2) in named else str(max(named))
