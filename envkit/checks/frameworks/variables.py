"""Environment variables that change what CUDA shows or how it runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from envkit._startup.regex import regex
from envkit.base.versions import whole_number
from envkit.checks.engine.command import export, fixed, run
from envkit.checks.engine.evidence import known, many, unseen
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Evidence, Outcome, Remedy, Status, ok, skip, unknown
from envkit.checks.engine.managers import managers
from envkit.checks.engine.messages import message_evidence, only_shown, seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.frameworks.hidden_gpus import for_task, shown_again
from envkit.checks.frameworks.installs import capability
from envkit.checks.frameworks.misset import misset
from envkit.checks.frameworks.set_in_code import for_container, set_in_code, title_for_container
from envkit.checks.frameworks.set_outside import set_elsewhere, unset_everywhere
from envkit.checks.gpu.gpus import SeenGpu, gpus_of, seen_gpus
from envkit.model import Environment, Gpu

if TYPE_CHECKING:
    from envkit.tables import Matrix

_DEBUG = {  # variable -> what it does when it is left on
    "CUDA_LAUNCH_BLOCKING": "every kernel waits for the previous one",
    "CUDA_PROFILE": "the old profiler writes a log",
    "COMPUTE_PROFILE": "the old profiler writes a log",
    "CUDA_INJECTION64_PATH": "a profiler library is loaded into every CUDA program",
    "CUDA_DEVICE_WAITS_ON_EXCEPTION": "a failing kernel waits for a debugger instead of exiting",
    "CUDA_ENABLE_COREDUMP_ON_EXCEPTION": "a failing kernel writes a core dump",
    "NSIGHT_CUDA_DEBUGGER": "a debugger is attached",
    "CUDA_AUTO_BOOST": "clocks are locked below the GPU's maximum",
    "OPENCL_PROFILE": "the old profiler writes a log",
}
_OFF = ("", "0")
_NO_DEVICE = ("-1", "nodevfiles", "none", "void")
VISIBLE = "CUDA_VISIBLE_DEVICES"
_UUID = regex(r"(?:GPU|MIG|MIG-GPU)-[0-9a-fA-F/-]+")


def variables(environment: Environment) -> Mapping[str, str]:
    """The environment variables, none when nobody looked."""
    return environment.variables.get() if environment.variables.known else {}


_BLIND = "framework-sees-no-gpu"
_NO_GPU_ANYHOW = (  # faults after which programs say the same, whatever the variable holds
    "driver-too-old-for-runtime",
    "image-needs-newer-driver",
    "no-gpu-on-pci",
    "gpu-fallen-off-bus",
    "driver-not-installed",
    "driver-module-not-loaded",
    "driver-library-mismatch",
    "rm-init-adapter-failed",
    "container-no-gpu-injected",
    "mig-enabled-no-instance",
)


_LEFT_ON = Fault(
    "bad-cuda-env-vars",
    "CUDA debugging or profiling variables are set",
    impact="CUDA programs are slow, noisy, or hang.",
    remedy="Unset the ones you do not need.",
    status=Status.WARN,
)
_ORDER = Fault(
    "device-order-confusion",
    "CUDA numbers the GPUs in a different order than nvidia-smi",
    impact="In CUDA, index 0 is the fastest GPU; in nvidia-smi, it is the one with the lowest PCI address.",
    remedy="Make CUDA also sort GPUs by PCI address, or select GPUs by UUID.",
    steps=(fixed("export CUDA_DEVICE_ORDER=PCI_BUS_ID"),),
    status=Status.WARN,
)


@check(
    _LEFT_ON,
    layer=Layer.CUDA_DEVICES,
    rank=90,
    any_of=("variables", "messages"),
    references=("https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#cuda-environment-variables",),
)
def bad_cuda_env_vars(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """No variable that makes CUDA slow, verbose, or synchronous was left set.

    No variable names the wrong library, is misspelled, or is set in the syntax of another shell.
    """
    wrong = list(misset(environment, _LEFT_ON))
    yield from wrong
    if wrong or not environment.variables.known:
        return
    here = variables(environment)
    left_on = {name: why for name, why in _DEBUG.items() if here.get(name, "").strip() not in _OFF}
    if here.get("CUDA_AUTO_BOOST", "1").strip() == "0":
        left_on["CUDA_AUTO_BOOST"] = _DEBUG["CUDA_AUTO_BOOST"]
    elif "CUDA_AUTO_BOOST" in left_on:
        del left_on["CUDA_AUTO_BOOST"]  # switched on is the default
    if not left_on:
        yield ok("no CUDA debugging variables are set", evidence=[known(environment, "variables", "none of them")])
        return
    yield _LEFT_ON.found(
        [Evidence(f"variables[{name}]", here[name], environment.variables.source) for name in left_on],
        title=f"{', '.join(left_on)} {'is' if len(left_on) == 1 else 'are'} set",
        impact="; ".join(f"{name}: {why}" for name, why in left_on.items()) + ".",
        remedy=Remedy("Unset the ones you do not need.", (run("unset", *left_on),)),
    )


@check(
    _ORDER,
    layer=Layer.CUDA_DEVICES,
    rank=80,
    any_of=("gpus", "messages"),
    references=threads("ModelCloud/Device-SMI#40", "pytorch/pytorch#86539", "tensorflow/tensorflow#32881"),
)
def device_order_confusion(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """With different GPU models, CUDA and nvidia-smi number the GPUs in the same order.

    Unless CUDA_DEVICE_ORDER says otherwise, CUDA lists the fastest GPU first; nvidia-smi sorts by PCI address. If the
    faster GPU has the lower address, both orders are the same.
    """
    if reported := _ORDER.reported(environment):
        yield reported
        return
    if not environment.gpus.known:
        return
    gpus = environment.gpus.get()
    names = sorted({gpu.name for gpu in gpus})
    if len(names) < 2:
        yield skip(
            "there is only one GPU" if len(gpus) == 1 else "all GPUs are the same model",
            evidence=[known(environment, "gpus", ", ".join(names) or "none")],
        )
        return
    listing = [
        Evidence(f"gpus[{gpu.index}]", f"{gpu.name} {gpu.pci_address}".strip(), environment.gpus.source) for gpu in gpus
    ]
    order = variables(environment).get("CUDA_DEVICE_ORDER")
    if order == "PCI_BUS_ID":
        yield ok("CUDA_DEVICE_ORDER makes CUDA number GPUs like nvidia-smi", evidence=listing)
    elif not environment.variables.known:
        yield unknown(unseen(environment, "the environment variables"), evidence=listing)
    elif order is None and not _by_number(environment):
        yield ok("no GPU is chosen by its number", evidence=listing)
    elif order is None and _fastest_first(environment, matrix):
        yield ok("the faster GPUs have the lower PCI addresses, so both orders agree", evidence=listing)
    else:
        yield _ORDER.found(
            listing,
            title=f"CUDA may number these GPUs differently from nvidia-smi: {len(names)} "
            "models, and CUDA_DEVICE_ORDER is not PCI_BUS_ID",
        )


def _by_number(environment: Environment) -> bool:
    return any(item.strip().isdigit() for item in variables(environment).get(VISIBLE, "").split(","))


def _fastest_first(environment: Environment, matrix: Matrix) -> bool:
    """True where no GPU is newer or larger than one before it, in the order of PCI addresses."""
    gpus = [gpu for gpu in seen_gpus(environment, matrix) if gpu.nvml is not None]
    if all(gpu.address for gpu in gpus):
        gpus.sort(key=lambda gpu: gpu.address)
    elif any(gpu.address for gpu in gpus) or any(gpu.pci is not None for gpu in gpus):
        return False  # a list without addresses is in their order
    described = [
        (own, memory) for gpu in gpus for own in [capability(gpu)] for memory in [_memory(gpu)] if own and memory
    ]
    steps = zip(described, described[1:], strict=False)
    return len(described) == len(gpus) and all(a[0] >= b[0] and a[1] >= b[1] for a, b in steps)


def _memory(gpu: SeenGpu) -> float:
    """Its bytes, or as many as a model of that name has; 0 where neither is known."""
    if gpu.nvml is not None and gpu.nvml.memory_bytes:
        return float(gpu.nvml.memory_bytes)
    sizes = {model.memory_gb for model in gpu.models if model.memory_gb}
    return sizes.pop() * 2**30 if len(sizes) == 1 else 0.0


_ASK_SCHEDULER = Remedy(
    "The job has no GPU because none was requested. Add this line to the job script, below its other #SBATCH lines, "
    "and submit it again: #SBATCH --gres=gpu:1 (per node; keep your other lines). The first command lists the "
    "partitions that have GPUs, for -p; the second shows that such a job gets one.",
    (fixed("sinfo -o '%P %G'"), fixed("srun --gres=gpu:1 nvidia-smi -L")),
)
_OTHER_REQUEST = Remedy(
    "The job requested a GPU with --gres but got none: some clusters allocate GPUs only with --gpus. Request one "
    "that way (#SBATCH --gpus=1), and check what the job gets.",
    (fixed("srun --gpus=1 nvidia-smi -L"),),
)


def _asked(environment: Environment) -> Remedy:
    return _OTHER_REQUEST if "slurm-gres" in managers(environment) else _ASK_SCHEDULER


_HIDDEN = Fault(
    "cuda-visible-devices-empty",
    "No GPU is visible to a program",
    impact="CUDA programs find no GPU.",
    remedy=shown_again,
)


_OF_SLURM = (
    " Slurm counts from 0 in each job only if its administrators set ConstrainDevices=yes in cgroup.conf (then "
    "scontrol reconfigure); until then, set the variable in the container."
)


def _named_right(environment: Environment, matrix: Matrix) -> Remedy:
    if in_container := for_container(environment):
        return in_container
    if elsewhere := set_elsewhere(environment):
        return elsewhere
    gpus = gpus_of(environment)
    if seen(environment, "cuda-visible-devices-invalid", "detail-in-code"):
        return set_in_code(environment, len(gpus) == 1)
    if len(gpus) == 1:
        slurm = _OF_SLURM if "slurm" in managers(environment) else ""
        advice = f"The only GPU is number 0. In a scheduler's job, ask the scheduler for the GPU instead.{slurm}"
        return Remedy(advice, (export(VISIBLE, "0"),))
    if "slurm" in managers(environment):
        return Remedy(
            "In a Slurm task, GPU numbers start at 0 and count only the GPUs of that task: request GPUs per node "
            "(--gpus-per-node instead of --gpus-per-task or --gpu-bind) and use the device of the local rank; or, "
            "with one GPU per task, use device 0 in every task."
        )
    return unset_everywhere(environment)


_NOT_THERE = Fault(
    "cuda-visible-devices-invalid",
    f"{VISIBLE} lists a GPU that does not exist",
    impact="Programs see fewer GPUs than the list has.",
    remedy=_named_right,
)
_BY_PROGRAM = ("placement-group", "ray-demand", "gromacs", "deserialize", "told-deserialize")
_NO_MORE = Remedy(
    "Ask for no more GPUs than the program sees, which nvidia-smi -L and torch.cuda.device_count() tell: lower "
    "tensor_parallel_size, num_gpus, --nproc-per-node, or -gpu_id. If there should be more, look at "
    "CUDA_VISIBLE_DEVICES and at what the container or the job was given. A checkpoint that was saved on another GPU "
    "loads with torch.load(path, map_location='cuda:0').",
    (fixed("nvidia-smi -L"),),
)


@check(
    _HIDDEN,
    layer=Layer.CUDA_DEVICES,
    rank=10,
    any_of=("variables", "messages"),
    explained_by=_NO_GPU_ANYHOW,
    fix="Unset it, or ask the scheduler for a GPU.",
    references=threads("thuml/Time-Series-Library#768", "thuml/Anomaly-Transformer#74"),
)
def cuda_visible_devices_empty(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """CUDA_VISIBLE_DEVICES is unset, or names at least one GPU.

    An empty value, -1, or NoDevFiles (which schedulers set for jobs without GPUs) hides every GPU: programs say "No
    CUDA GPUs are available" on a healthy machine.
    """
    here = variables(environment)
    value = here.get(VISIBLE)
    evidence = [Evidence(f"variables[{VISIBLE}]", repr(value), environment.variables.source)]
    hidden = value is not None and (value.strip() == "" or value.split(",")[0].strip().lower() in _NO_DEVICE)
    no_files = seen(environment, _HIDDEN.id, "no-dev-files")  # what Slurm alone sets
    scheduler = "slurm" in managers(environment) or bool(no_files) or (value or "").lower() == "nodevfiles"
    impact = "CUDA programs find no GPU although the machine has one."
    fix = (
        _ASK_SCHEDULER
        if scheduler
        else for_task(environment)
        or Remedy("Unset it, or set it to an index, unless a scheduler set it for this job.", (run("unset", VISIBLE),))
    )
    if hidden and only_shown(environment) and not seen(environment, _BLIND):
        yield ok(f"{VISIBLE} is {value!r}, which hides every GPU, and nothing failed because of it", evidence=evidence)
    elif hidden:
        title = f"{VISIBLE} is {value!r}: every GPU is hidden"
        yield _HIDDEN.found(evidence, title=title, impact=impact, remedy=fix)
    elif value:
        yield ok(f"{VISIBLE} is {value}", evidence=evidence)
    elif reported := _HIDDEN.reported(
        environment, title=_shown_none(environment), remedy=_asked(environment) if scheduler else None
    ):
        yield reported
    elif environment.variables.known:
        yield ok(f"{VISIBLE} is not set", evidence=evidence)
    else:
        yield unknown(unseen(environment, "the environment variables"))


def _shown_none(environment: Environment) -> str:
    """ "No CUDA GPUs are available" without the variable's value: the likeliest cause where GPUs are there."""
    listed = environment.gpus.known and environment.gpus.get()
    return f"{_HIDDEN.title} although the driver lists one" if listed else ""


@check(
    _NOT_THERE,
    layer=Layer.CUDA_DEVICES,
    tier="N",
    rank=11,
    any_of=("variables", "messages"),
    explained_by=("mig-one-instance-visible", "gpu-count-mismatch", "mps-unreachable", *_NO_GPU_ANYHOW),
    fix="Use the GPU indices or UUIDs that nvidia-smi lists.",
    references=threads("thuml/Time-Series-Library#768"),
)
def cuda_visible_devices_invalid(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """Every item in CUDA_VISIBLE_DEVICES is the index or UUID of an existing GPU, and none is listed twice.

    CUDA stops at the first invalid item and does not report it.
    """
    value = variables(environment).get(VISIBLE)
    reported = (
        _NOT_THERE.reported(environment, title="A program asks for a GPU that it does not see", remedy=_NO_MORE)
        if seen(environment, _NOT_THERE.id, *_BY_PROGRAM)
        else _NOT_THERE.reported(environment, title=title_for_container(environment))
    )
    if value is None or value.strip() == "" or value.split(",")[0].strip().lower() in _NO_DEVICE:
        nothing = (
            skip(f"{VISIBLE} is not set" if value is None else f"{VISIBLE} lists no GPU")
            if environment.variables.known
            else unknown(unseen(environment, "the environment variables"))
        )
        yield reported or nothing
        return
    gpus = environment.gpus.get() if environment.gpus.known else None
    evidence = [Evidence(f"variables[{VISIBLE}]", value, environment.variables.source)]
    fault = _first_fault([item for item in value.split(",")], gpus)
    if fault is not None:
        position, why = fault
        yield _NOT_THERE.found(
            [*evidence, known(environment, "gpus", many(len(gpus), "GPU") if gpus is not None else None)],
            title=f"{VISIBLE}: item {position + 1} {why}",
            impact=f"CUDA ignores it and everything after it: programs see {many(position, 'GPU')}.",
        )
    elif reported:
        yield reported
    elif gpus is None and (shown_none := seen(environment, _HIDDEN.id)):
        yield _NOT_THERE.found(
            [*evidence, *message_evidence(environment, shown_none)],
            title=f"{VISIBLE} is {value}, and no GPU is visible to a program",
            impact="CUDA shows none if the first item in the list is not a GPU in this machine.",
        )
    elif gpus is None:
        yield unknown(unseen(environment, "the GPUs"), evidence=evidence)
    else:
        yield ok(f"every item of {VISIBLE} is a GPU", evidence=evidence)


def _first_fault(items: list[str], gpus: tuple[Gpu, ...] | None) -> tuple[int, str] | None:
    taken: list[str] = []
    for position, raw in enumerate(items):
        item = raw.strip()
        if item in taken:
            return position, f"({item}) is listed twice"
        taken.append(item)
        why = _wrong(item, gpus)
        if why:
            return position, why
    return None


def _wrong(item: str, gpus: tuple[Gpu, ...] | None) -> str:
    index = whole_number(item)
    if index is not None:
        past = gpus is not None and index >= len(gpus) and all(gpu.index != index for gpu in gpus)
        return f"({item}) does not exist: this machine has {many(len(gpus or ()), 'GPU')}" if past else ""
    if not _UUID.fullmatch(item):
        return f"({item!r}) is neither an index nor a UUID"
    if item.startswith("GPU-"):
        uuids = [gpu.gpu_uuid for gpu in gpus or () if gpu.gpu_uuid]
        return f"({item}) is not the UUID of a GPU in this machine" if uuids and not _among(item, uuids) else ""
    instances = _instances(gpus)
    if instances is None or item.startswith("MIG-GPU-"):  # the check of instances has words for that form
        return ""
    return "" if _among(item, instances) else f"({item}) is not the UUID of a MIG instance in this machine"


def _instances(gpus: tuple[Gpu, ...] | None) -> list[str] | None:
    """The UUIDs of all MIG instances, None where some GPU's were not told, or by their numbers only."""
    told_all = gpus and all(gpu.mig_mode is False or gpu.mig_instances is not None for gpu in gpus)
    uuids = [uuid for gpu in gpus or () for uuid in gpu.mig_instances or ()]
    return uuids if told_all and all(uuid.startswith("MIG-") for uuid in uuids) else None


def _among(item: str, uuids: list[str]) -> bool:
    """True where the item is the beginning of a UUID, and where UUIDs were masked."""
    masked = any("*" in uuid or "x" in uuid.lower() for uuid in uuids)
    return masked or any(uuid.startswith(item) for uuid in uuids)
