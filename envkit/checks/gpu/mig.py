"""GPUs divided by MIG: instances that are missing, or that a program asks for in the wrong way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit.checks.engine.evidence import not_looked
from envkit.checks.engine.findings import Evidence, Outcome, Remedy, fail, ok, skip, unknown, warn
from envkit.checks.engine.messages import told
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.engine.remedies import remedy
from envkit.checks.gpu.health import field_evidence, gpus_of, name_of
from envkit.model import Environment, Gpu

if TYPE_CHECKING:
    from envkit.tables import Matrix

_VARIABLE = "CUDA_VISIBLE_DEVICES"


def _divided(environment: Environment) -> list[Gpu]:
    return [gpu for gpu in gpus_of(environment) if gpu.mig_mode]


def _without_mig(environment: Environment) -> Outcome:
    if not environment.gpus.known:
        return not_looked(environment, "whether MIG is on was not asked", "gpus")
    return skip("MIG is off")


def _make_instance(environment: Environment, index: int) -> Remedy:
    return remedy(
        environment, "Make an instance, or switch MIG off to use the whole GPU.", "mig-create", "mig-off", index=index
    )


@check(
    "mig-enabled-no-instance",
    title="MIG is on, and no instance has been made",
    layer=Layer.CUDA_DEVICES,
    rank=20,
    tier="N",
    any_of=("gpus", "messages"),
    fix="Make instances, or switch MIG off.",
    references=threads("pytorch/pytorch#130181"),
)
def mig_enabled_no_instance(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """Every GPU with MIG on has at least one instance.

    CUDA offers instances only: without one it says "no CUDA GPUs are available", although nvidia-smi lists the GPU.
    """
    divided = _divided(environment)
    for gpu in divided:
        if gpu.mig_instances == ():
            yield fail(
                f"{gpu.name}: MIG is on and no instance exists",
                subject=name_of(gpu),
                evidence=[
                    field_evidence(environment, gpu, "mig_mode", "on"),
                    field_evidence(environment, gpu, "mig_instances", "none"),
                ],
                impact="CUDA sees no device on this GPU.",
                remedy=_make_instance(environment, gpu.index),
            )
        elif gpu.mig_instances is None:
            yield unknown("MIG is on; its instances were not asked", subject=name_of(gpu))
        else:
            yield ok(
                f"{len(gpu.mig_instances)} MIG instances",
                subject=name_of(gpu),
                evidence=[field_evidence(environment, gpu, "mig_instances")],
            )
    if not divided:
        outcomes = told(
            environment,
            "mig-enabled-no-instance",
            "MIG is on, and no instance has been made",
            impact="CUDA sees no device on this GPU.",
            remedy=_make_instance(environment, 0),
        )
        yield from outcomes or (_without_mig(environment),)


@check(
    "mig-one-instance-visible",
    title="A program asks for MIG instances by number",
    layer=Layer.CUDA_DEVICES,
    rank=50,
    tier="N",
    any_of=("gpus", "messages"),
    explained_by=("mig-enabled-no-instance",),
    fix="One process per instance, named by MIG-<uuid>.",
    references=threads("pytorch/pytorch#95784", "pytorch/pytorch#131650"),
)
def mig_one_instance_visible(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """With several MIG instances, each process names its own by UUID.

    CUDA gives one instance to a process. Numbers in CUDA_VISIBLE_DEVICES all lead to the first one, so the others
    stay idle; the form MIG-GPU-… of old drivers is not understood any more.
    """
    instances = [uuid for gpu in _divided(environment) for uuid in gpu.mig_instances or ()]
    variables = environment.variables.get() if environment.variables.known else {}
    asked = variables.get(_VARIABLE)
    outcomes = told(
        environment,
        "mig-one-instance-visible",
        "A program does not reach its MIG instances",
        impact="All processes meet on one instance, the others stay idle.",
        remedy=remedy(environment, f"Start one process per instance, with {_VARIABLE}=MIG-<uuid>.", "mig-list"),
    )
    fix = remedy(environment, f"Start one process per instance, with {_VARIABLE}=MIG-<uuid>.", "mig-list")
    if len(instances) > 1 and asked and _by_number(asked):
        old = "MIG-GPU-" in asked
        judge = warn if asked.strip() == "0" else fail  # one process that takes the first instance works
        yield judge(
            f"{_VARIABLE}={asked} uses the old form of instance names"
            if old
            else f"{_VARIABLE}={asked} gives a process the first of {len(instances)} MIG instances only",
            evidence=[Evidence(f"variables.{_VARIABLE}", asked, environment.variables.source)],
            impact="CUDA finds no device." if old else "All processes meet on one instance, the others stay idle.",
            remedy=fix,
        )
    elif outcomes:
        yield from outcomes
    elif len(instances) > 1:
        words = f"{_VARIABLE}={asked}" if asked else f"{_VARIABLE} is not set: a process gets one of {len(instances)}"
        yield ok(words, evidence=[Evidence("gpus.mig_instances", str(len(instances)), environment.gpus.source)])
    elif instances or not _divided(environment):
        yield _without_mig(environment) if not instances else skip("there is only one MIG instance")
    else:
        yield skip("there is no MIG instance")


def _by_number(asked: str) -> bool:
    items = [item.strip() for item in asked.split(",") if item.strip()]
    return any(item.isdigit() or item.startswith("MIG-GPU-") for item in items)
