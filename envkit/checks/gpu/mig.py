"""GPUs divided by MIG: instances that are missing, or that a program asks for in the wrong way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit._startup.regex import regex
from envkit.checks.engine.command import GPU, NAME, export, fixed, run
from envkit.checks.engine.evidence import not_looked, unseen
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Evidence, Outcome, Remedy, Status, ok, skip, unknown
from envkit.checks.engine.managers import managed_by
from envkit.checks.engine.messages import named, seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.engine.remedies import remedy
from envkit.checks.gpu.gpus import gpus_of
from envkit.checks.gpu.health import field_evidence, name_of, title_of
from envkit.checks.nvidia_driver.driver_state import installed
from envkit.model import Environment, Gpu
from envkit.tables.codes import limit

if TYPE_CHECKING:
    from envkit.tables import Matrix

_VARIABLE = "CUDA_VISIBLE_DEVICES"


def _divided(environment: Environment) -> list[Gpu]:
    return [gpu for gpu in gpus_of(environment) if gpu.mig_mode]


def _without_mig(environment: Environment) -> Outcome:
    if not environment.gpus.known:
        return not_looked(environment, unseen(environment, "whether MIG is on"), "gpus")
    return skip("MIG is off", evidence=[field_evidence(environment, gpu, "mig_mode") for gpu in gpus_of(environment)])


def _instance_or_none(environment: Environment, matrix: Matrix) -> Remedy:
    """Off where somebody says that it is not used, on the GPUs that the text names."""
    messages = seen(environment, "mig-enabled-no-instance", "detail-which")
    told = _NUMBERS.findall(named(messages, "gpus") or "")
    divided = [str(gpu.index) for gpu in _divided(environment) if not gpu.mig_instances]
    numbers = list(dict.fromkeys((*divided, *told))) or ["0"]
    if seen(environment, "mig-enabled-no-instance", "detail-unwanted"):
        return Remedy(
            "Turn MIG off on these GPUs, because it is not used here. No program, including monitoring, may use them "
            "while you do; if the mode stays pending, it changes at the next GPU reset or reboot.",
            (
                *(run("sudo", "nvidia-smi", "-i", GPU(number), "-mig", "0") for number in numbers),
                fixed("nvidia-smi --query-gpu=index,mig.mode.current,mig.mode.pending --format=csv"),
            ),
        )
    return remedy(
        environment,
        "Create an instance; profile 0 is the whole GPU, and the list shows the others. Instances are lost at the next "
        "reboot. If MIG is not wanted here and no program uses the GPU, turn it off instead: `sudo "
        f"nvidia-smi -i {numbers[0]} -mig 0`.",
        "mig-create",
        index=numbers[0],
    )


_NUMBERS = regex(r"\d{1,2}")
_NO_INSTANCE = Fault(
    "mig-enabled-no-instance",
    "MIG is on, but no instance exists",
    impact="CUDA sees no device on this GPU.",
    remedy=_instance_or_none,
)


_TOO_LARGE = (
    "One process gets one MIG instance, whatever CUDA_VISIBLE_DEVICES or the program's split says, and this model does "
    "not fit into one. It needs a larger instance or the whole card: at a cloud provider, ask for that. On a machine "
    "of your own, the commands turn MIG off for GPU 0 (as root; all instances and the programs on them end), and the "
    "program then sees the whole card. Otherwise, choose a model that fits into the instance."
)
_WITHOUT_DIVISION = (
    fixed("sudo nvidia-smi mig -i 0 -dci"),
    fixed("sudo nvidia-smi mig -i 0 -dgi"),
    fixed("sudo nvidia-smi -i 0 -mig 0"),
)
_OF_SERVERS = (
    "One server gets one MIG instance, and a list of UUIDs gives it only the first: start one Ollama for each "
    "instance, with that instance's UUID and a port of its own (as a service, a unit for each, with both variables in "
    "Environment=), and spread the requests over them. A model that is larger than one instance needs a larger "
    "instance, or MIG off (sudo nvidia-smi -i INDEX -mig 0, which ends all instances of that GPU)."
)
_SERVER = fixed("CUDA_VISIBLE_DEVICES=MIG-UUID OLLAMA_HOST=127.0.0.1:11435 ollama serve")


def _one_process_each(environment: Environment, matrix: Matrix) -> Remedy:
    if seen(environment, _ONE_INSTANCE.id, "ray"):
        return Remedy(
            "Ray counts whole GPUs and gives its workers their numbers, and every number means the first instance. "
            "Before ray start (or before Python, where ray.init() starts Ray itself), set CUDA_VISIBLE_DEVICES to the "
            "UUIDs of the instances, with commas between them, and tell Ray how many there are, since it would count "
            "the cards: ray start --head --num-gpus=N, or ray.init(num_gpus=N). Each task or actor with num_gpus=1 "
            "then has the UUID of its own instance in CUDA_VISIBLE_DEVICES. If the variable in a worker still is a "
            "number, this Ray is too old for that: update it, or set the variable in each task before it imports "
            "torch.",
            (fixed("nvidia-smi -L"),),
        )
    if seen(environment, _ONE_INSTANCE.id, "assert-devices"):
        return Remedy(
            "Set CUDA_VISIBLE_DEVICES to the UUID of one instance before Python starts; the second command lists the "
            "UUIDs (MIG-...). This needs no administrator rights, and MIG stays on. The instance is cuda:0 in the "
            "process. On a shared server, take one that nobody else uses; in a job, the one from the scheduler.",
            (export("CUDA_VISIBLE_DEVICES", NAME("MIG-UUID")), fixed("nvidia-smi -L")),
        )
    if seen(environment, _ONE_INSTANCE.id, "detail-too-large"):
        return Remedy(_TOO_LARGE, _WITHOUT_DIVISION)
    if managed_by(environment, "ollama"):
        return Remedy(_OF_SERVERS, (fixed("nvidia-smi -L"), _SERVER))
    return remedy(
        environment,
        "Start one process per instance: the loop gives each process its own. Inside the process, the instance is "
        "always cuda:0, so the code must call set_device(0) instead of using the local rank. NCCL cannot combine "
        "instances into one job: run independent processes, or use whole GPUs (MIG off) for DDP. PROGRAM is your own "
        "command (python train.py, for example); give each process its own part of the input and its own output.",
        "mig-list",
        "one-per-instance",
    )


_ONE_INSTANCE = Fault(
    "mig-one-instance-visible",
    "A program uses only one MIG instance",
    impact="All processes share one instance; the others stay idle.",
    remedy=_one_process_each,
)


@check(
    _NO_INSTANCE,
    layer=Layer.CUDA_DEVICES,
    rank=20,
    tier="N",
    any_of=("gpus", "messages"),
    fix="Create an instance, or turn MIG off.",
    references=threads("pytorch/pytorch#130181"),
)
def mig_enabled_no_instance(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """Every GPU in MIG mode has at least one instance.

    In MIG mode, CUDA sees only instances: without one, it says "no CUDA GPUs are available", although nvidia-smi lists
    the GPU.
    """
    divided = _divided(environment)
    for gpu in divided:
        if gpu.mig_instances == ():
            facts = (("mig_mode", "on"), ("mig_instances", "none"))
            yield _NO_INSTANCE.found(
                [field_evidence(environment, gpu, field, value) for field, value in facts],
                title=f"{title_of(gpu)}: MIG is on, but no instance exists",
                subject=name_of(gpu),
            )
        elif gpu.mig_instances is None:
            yield unknown(f"MIG is on; {unseen(environment, 'its instances')}", subject=name_of(gpu))
        else:
            yield ok(
                f"{len(gpu.mig_instances)} MIG instances",
                subject=name_of(gpu),
                evidence=[field_evidence(environment, gpu, "mig_instances")],
            )
    if not divided:
        yield _NO_INSTANCE.reported(environment) or _without_mig(environment)


@check(
    _ONE_INSTANCE,
    layer=Layer.CUDA_DEVICES,
    rank=50,
    tier="N",
    any_of=("gpus", "messages"),
    explained_by=("mig-enabled-no-instance",),
    fix="Start one process per instance, each with CUDA_VISIBLE_DEVICES set to its UUID; for one job on all "
    "of the GPU, use a larger instance, or turn MIG off.",
    references=threads("pytorch/pytorch#95784", "pytorch/pytorch#131650"),
)
def mig_one_instance_visible(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """With several MIG instances, each process selects its own by UUID.

    CUDA gives each process one instance. Any index in CUDA_VISIBLE_DEVICES selects the first one, so the others stay
    idle; the MIG-GPU-… form of old drivers is no longer accepted. NCCL cannot combine instances of one GPU into one
    training job: for that, use a larger instance, or whole GPUs with MIG off.
    """
    instances = [uuid for gpu in _divided(environment) for uuid in gpu.mig_instances or ()]
    variables = environment.variables.get() if environment.variables.known else {}
    asked = variables.get(_VARIABLE)
    if len(instances) > 1 and asked and _by_number(environment, asked):
        yield _named_by_number(environment, asked, len(instances))
    elif asked and (several := asked.count("MIG-")) > 1:
        yield _ONE_INSTANCE.found(
            [Evidence(f"variables.{_VARIABLE}", asked, environment.variables.source)],
            title=f"{_VARIABLE} names {several} MIG instances, but a process gets only the first",
        )
    elif reported := _reported(environment):
        yield reported
    elif len(instances) > 1:
        words = f"{_VARIABLE}={asked}" if asked else f"{_VARIABLE} is not set: a process gets 1 of {len(instances)}"
        yield ok(words, evidence=[Evidence("gpus.mig_instances", str(len(instances)), environment.gpus.source)])
    elif instances or not _divided(environment):
        yield _without_mig(environment) if not instances else skip("there is only one MIG instance")
    else:
        yield skip("there is no MIG instance")


def _reported(environment: Environment) -> Outcome | None:
    """What a message says; PyTorch's own count is of cards, and not of what CUDA gives the process."""
    if not seen(environment, _ONE_INSTANCE.id, "assert-devices"):
        return _ONE_INSTANCE.reported(environment)
    return _ONE_INSTANCE.reported(
        environment,
        title=f"{_VARIABLE} names no MIG instance, and PyTorch counts GPUs that CUDA does not give it",
        impact="PyTorch stops with an assertion when it asks for a GPU, although is_available() is True.",
    )


def _named_by_number(environment: Environment, asked: str, instances: int) -> Outcome:
    old = "MIG-GPU-" in asked
    return _ONE_INSTANCE.found(
        [Evidence(f"variables.{_VARIABLE}", asked, environment.variables.source)],
        title=f"{_VARIABLE}={asked} uses the old MIG instance name format"
        if old
        else f"{_VARIABLE}={asked} gives each process only the first of {instances} MIG instances",
        impact="CUDA finds no device." if old else "",
        status=Status.WARN if asked.strip() == "0" else Status.FAIL,  # one process that takes the first instance works
    )


def _by_number(environment: Environment, asked: str) -> bool:
    """Whether an item is a number, or the name that only drivers before those with UUIDs of instances accept."""
    items = [item.strip() for item in asked.split(",") if item.strip()]
    driver = installed(environment)
    early = driver is not None and driver.major < limit("driver-with-mig-uuids").major
    return any(item.isdigit() or (item.startswith("MIG-GPU-") and not early) for item in items)
