"""Who may use a GPU and who does: compute mode, licenses, lost processes, displays, sleep."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit.base.sentences import series
from envkit.checks.engine.evidence import driver_lives_elsewhere, is_virtual, known, not_looked, unseen
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Evidence, Outcome, Remedy, Status, ok, skip, unknown
from envkit.checks.engine.managers import managers
from envkit.checks.engine.messages import message_evidence, seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.engine.remedies import remedy
from envkit.checks.gpu.gpus import gpus_of, is_vgpu, lends_vgpus, seen_gpus
from envkit.checks.gpu.health import field_evidence, name_of, title_of
from envkit.checks.gpu.holders import end_holders, less_memory
from envkit.checks.gpu.sleep_remedies import after_sleep
from envkit.checks.gpu.vgpu_license import license_of
from envkit.checks.nvidia_driver.driver_state import answered, mismatch
from envkit.model import Environment, Gpu

if TYPE_CHECKING:
    from envkit.tables import Matrix

_MUCH_MEMORY = 500 * 1024**2  # bytes; the driver itself keeps less
_OWN_SHARE = 100  # the part of a large memory that its driver keeps, or the kernel where it is a NUMA node
_IDLE_MEMORY = 64 * 1024**2  # bytes; a program takes more for its context alone
_PROHIBITED, _DEFAULT = "prohibited", "default"


_LET_IN = (
    "Find the program that is using the GPU, and wait for it, or stop it if it is yours. If CUDA_VISIBLE_DEVICES or "
    "the code selects one GPU for all processes (cuda, cuda:0), give each its own GPU, such as cuda:LOCAL_RANK. If "
    "others are idle, a program may have opened all GPUs that it sees: start each with one GPU only (with "
    "CUDA_VISIBLE_DEVICES=1 in front of the command, for example). On a shared machine, administrators, schedulers, "
    "and MPS set this mode on purpose: do not change it. On your own machine, `sudo nvidia-smi -c DEFAULT` (with -i "
    "and a GPU's number, for that GPU only) allows all programs to use the GPUs."
)
_OF_THE_JOB = (
    "The cluster deliberately lets only one process use each GPU. Give every task of the job its own GPU: in the "
    "code, set the device to the local rank (cuda:LOCAL_RANK), or start the tasks like this, with your program at "
    "the end."
)
_OF_OTHERS = (
    "Every GPU that this job sees is in use by another process already, and in this mode a second process is refused, "
    "however much memory is free: neither your program nor its environment is at fault. Put the command before your "
    "program in the job script, and send the administrators its output, the job ID, and the node: they can end "
    "processes of jobs that are over, and keep Slurm from giving out a GPU twice (ConstrainDevices=yes in cgroup.conf; "
    "a partition whose jobs share GPUs needs compute mode Default). Until then, submit with sbatch --exclude=NODE, "
    "with the name of that node. If the processes are other tasks of your own job, give each task its own GPU "
    "(cuda:LOCAL_RANK)."
)
_OF_KALDI = (
    "Kaldi starts more jobs at once than there are GPUs, and in exclusive mode each GPU takes one. Run at most as many "
    "as there are GPUs (--trainer.optimization.num-jobs-initial and num-jobs-final), or add --use-gpu=wait to the "
    "training script, so that a job waits until a GPU is free. The mode stays as it is, as Kaldi recommends it."
)
_OF_THE_QUEUE = (
    "The cluster deliberately lets only one process use each GPU, and its scheduler sets CUDA_VISIBLE_DEVICES to the "
    "GPU assigned to you. Remove whatever unsets or changes that variable (often a line in ~/.bashrc), and submit "
    "the job again."
)
_LEFT_BEHIND = ("told-no-process", "complaint-told-none-running") + tuple(  # in use although its program has ended
    f"complaint-{each}" for each in ("unknown-process", "fuser", "old-job", "defunct", "nothing-runs")
)


def _let_in_one(environment: Environment, matrix: Matrix) -> Remedy:
    """Where no list of GPUs shows the mode; Kaldi has an option of its own."""
    if seen(environment, "compute-mode-exclusive", "detail-kaldi"):
        return Remedy(_OF_KALDI)
    return remedy(environment, _LET_IN, "compute-mode-all")


_SHUT = Fault(
    "compute-mode-exclusive",
    "CUDA reports that all GPUs are busy or unavailable",
    impact="CUDA programs fail although the GPU looks idle.",
    remedy=_let_in_one,
)


_UNLICENSED = Fault(
    "vgpu-unlicensed",
    "A virtual GPU has no license",
    impact="The GPU slows down after a few minutes, then rejects programs.",
    remedy=license_of,
)


_HELD = Fault(
    "gpu-memory-held-by-lost-process",
    "An orphaned process is holding GPU memory",
    impact="Programs run out of memory on a GPU that looks empty.",
    remedy=end_holders,
)
_RAN_OUT = Fault(
    _HELD.id,
    "A program ran out of GPU memory",
    impact="That program fails; the driver, CUDA, and the framework work.",
    remedy=less_memory,
    status=Status.WARN,
)
_DESKTOP = Fault(
    "display-server-on-compute-gpu",
    "A desktop runs on a compute GPU",
    impact="It uses GPU memory, and its watchdog can kill long kernels.",
    remedy="Boot the machine without a desktop.",
    actions=("no-desktop",),
    status=Status.WARN,
)
_SLEPT = Fault(
    "cuda-broken-after-suspend",
    "CUDA stopped working after the machine went to sleep",
    impact="CUDA programs fail with 'unknown error', although nvidia-smi works.",
    remedy=after_sleep,
)


@check(
    _SHUT,
    layer=Layer.CUDA_DEVICES,
    rank=40,
    tier="N",
    any_of=("gpus", "messages"),
    explained_by=("vgpu-unlicensed",),
    fix="Find the program that is using the GPU; give each process a GPU of its own. Administrators set this mode on "
    "purpose.",
    references=threads("pytorch/pytorch#3871", "NVIDIA/DIGITS#2005"),
)
def compute_mode_exclusive(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """No program was refused a GPU because of its compute mode.

    In exclusive mode, a second program gets "all CUDA-capable devices are busy or unavailable" (error 46); in
    prohibited mode, every program does. Administrators and schedulers set exclusive mode on purpose, so the mode alone
    is not a fault.
    """
    modes = [gpu for gpu in gpus_of(environment) if gpu.compute_mode]
    shut = [gpu for gpu in modes if gpu.compute_mode != _DEFAULT]
    refused = answered(environment, "cuda", "DEVICE_UNAVAILABLE")
    told = message_evidence(environment, seen(environment, _SHUT.id, without="told-mode"))
    if not (refused or told):
        shut = [gpu for gpu in shut if gpu.compute_mode == _PROHIBITED]
    for mode in dict.fromkeys(gpu.compute_mode for gpu in shut):
        yield _kept_out(environment, [gpu for gpu in shut if gpu.compute_mode == mode], (*refused, *told))
    if shut:
        return
    if modes:
        used = series(dict.fromkeys(str(gpu.compute_mode) for gpu in modes))
        yield ok(f"the compute mode is {used}", evidence=[field_evidence(environment, modes[0], "compute_mode")])
    elif reported := _SHUT.reported(environment, index=0):
        yield reported


def _let_in(environment: Environment, shut: list[Gpu]) -> Remedy:
    """In a job its own process is often the one in the way; a GPU that nobody uses is named."""
    names = managers(environment)
    if "slurm" in names and all((gpu.memory_used_bytes or 0) > _IDLE_MEMORY for gpu in shut):
        return remedy(environment, _OF_OTHERS, "compute-mode-all")
    if "slurm" in names and shut[0].compute_mode != _PROHIBITED:
        return remedy(environment, _OF_THE_JOB, "one-gpu-each")
    idle = [gpu.index for gpu in shut if gpu.memory_used_bytes is not None and gpu.memory_used_bytes < _IDLE_MEMORY]
    free = f" GPU {idle[0]} is not in use." if len(idle) == 1 < len(shut) else ""
    advice = _OF_THE_QUEUE if "pbs" in names else _LET_IN
    action = "compute-mode" if len(shut) == 1 else "compute-mode-all"
    return remedy(environment, f"{advice}{free}", action, index=shut[0].index)


def _impact(gpu: Gpu) -> str:
    if gpu.compute_mode == _PROHIBITED:
        return "No CUDA program can use it."
    return "Only one program at a time can use it; others fail with 'busy or unavailable'."


def _kept_out(environment: Environment, shut: list[Gpu], said: tuple[Evidence, ...]) -> Outcome:
    """One mode on one or more GPUs: one cause, and one remedy."""
    who = title_of(shut[0]) if len(shut) == 1 else f"{len(shut)} GPUs"
    return _SHUT.found(
        [*(field_evidence(environment, gpu, "compute_mode") for gpu in shut), *said],
        title=f"{who}: compute mode is {shut[0].compute_mode}",
        subject=name_of(shut[0]) if len(shut) == 1 else "",
        impact=_impact(shut[0]),
        remedy=_let_in(environment, shut),
    )


@check(
    _UNLICENSED,
    layer=Layer.CUDA_DEVICES,
    rank=38,
    tier="N",
    any_of=("gpus", "messages"),
    fix="Give the driver its license server or token, and restart nvidia-gridd.",
    references=threads("DDMAL/Rodan#1332", "JeremyMain/GPUProfiler#134"),
)
def vgpu_unlicensed(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """Every virtual GPU (vGPU) has a license.

    An unlicensed vGPU is slowed down after a few minutes and then refuses CUDA programs, although nvidia-smi looks
    fine.
    """
    bad = [gpu for gpu in gpus_of(environment) if gpu.licensed is False and gpu.virtualization_mode in (None, "vgpu")]
    for gpu in bad:
        yield _UNLICENSED.found(
            [field_evidence(environment, gpu, "licensed", "no")],
            title=f"{title_of(gpu)} has no vGPU license",
            subject=name_of(gpu),
        )
    if bad:
        return
    licensed = [gpu for gpu in gpus_of(environment) if gpu.licensed]
    physical = [gpu for gpu in gpus_of(environment) if gpu.virtualization_mode in ("none", "passthrough")]
    if physical:
        judged = ok if seen(environment, _UNLICENSED.id) else skip  # an answer judges what was said, a skip does not
        mode = field_evidence(environment, physical[0], "virtualization_mode")
        yield judged("physical GPUs need no vGPU license", evidence=[mode])
    elif reported := _UNLICENSED.reported(environment):
        yield reported
    elif licensed:
        yield ok("the vGPU is licensed", evidence=[field_evidence(environment, licensed[0], "licensed", "yes")])
    elif first := gpus_of(environment)[:1]:
        yield skip("no virtual GPU needs a license", evidence=[field_evidence(environment, first[0], "licensed")])


@check(
    _HELD,
    layer=Layer.HEALTH,
    rank=55,
    tier="N",
    any_of=("gpus", "messages"),
    explained_by=("model-larger-than-gpu",),
    fix="Find the process that still has the device open, and kill it.",
    references=threads("apache/mxnet#17837", "apache/mxnet#4242", "NVIDIA/gpu-operator#2880"),
)
def gpu_memory_held_by_lost_process(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """All used GPU memory belongs to processes that still exist.

    Orphaned workers, or processes in another container, can hold memory without being listed: "out of memory" on a GPU
    that looks empty. A program that simply needs more memory than the GPU has is reported here as a warning.
    """
    ran_out = seen(environment, _HELD.id)
    elsewhere = driver_lives_elsewhere(environment) or lends_vgpus(environment)
    if elsewhere and not ran_out:
        yield skip("processes in other containers and virtual machines are not visible from here")
        return
    gpus = () if elsewhere else gpus_of(environment)  # others' processes are hidden there
    held = [gpu for gpu in gpus if gpu.lost_processes]
    hidden = [gpu for gpu in gpus if not gpu.lost_processes and _held_by_nobody(gpu)]
    for gpu in held:
        yield _HELD.found(
            [field_evidence(environment, gpu, "lost_processes")],
            title=f"{title_of(gpu)}: memory is held by processes that no longer exist",
            subject=name_of(gpu),
        )
    if hidden:
        yield _unlisted(environment, hidden, Status.FAIL if ran_out else Status.WARN)
    if held or hidden:
        return
    listed = [gpu for gpu in gpus if gpu.processes is not None]
    if killed := seen(environment, _HELD.id, "told-zh", "complaint-told-killed", "complaint-told-no-such"):
        yield _HELD.found(message_evidence(environment, killed))
    elif lost := seen(environment, _HELD.id, *_LEFT_BEHIND):
        yield _HELD.found(message_evidence(environment, lost), status=_RAN_OUT.status)
    elif ran_out:
        yield _RAN_OUT.found(message_evidence(environment, ran_out))
    elif listed:
        yield ok(
            "no GPU memory is held by dead processes", evidence=[field_evidence(environment, listed[0], "processes")]
        )
    else:
        yield not_looked(environment, unseen(environment, "the processes on the GPUs"), "gpus")


def _unlisted(environment: Environment, gpus: list[Gpu], status: Status) -> Outcome:
    """Memory that no listed process uses: one finding for all GPUs, since one cause is after it."""
    used = [f"{(gpu.memory_used_bytes or 0) // 1024**2} MiB" for gpu in gpus]
    one = len(gpus) == 1
    return _HELD.found(
        [
            field_evidence(environment, gpu, "memory_used_bytes", f"{amount}, no process")
            for gpu, amount in zip(gpus, used, strict=True)
        ],
        title=f"{title_of(gpus[0])}: {used[0]} in use, but no process is listed"
        if one
        else f"Memory of {len(gpus)} GPUs is used, and no process is listed",
        subject=name_of(gpus[0]) if one else "",
        impact="New programs cannot use that memory.",
        status=status,
    )


def _held_by_nobody(gpu: Gpu) -> bool:
    shared = gpu.mig_mode or is_vgpu(gpu) or gpu.virtualization_mode == "host-vgpu" or gpu.display_active
    if shared or gpu.utilization_percent or _integrated(gpu):  # a GPU that computes has a process, listed or not
        return False
    own = max(_MUCH_MEMORY, (gpu.memory_bytes or 0) // _OWN_SHARE)
    return gpu.processes == () and (gpu.memory_used_bytes or 0) > own


def _integrated(gpu: Gpu) -> bool:
    return gpu.memory_bytes is None or gpu.memory_bytes == gpu.memory_used_bytes


@check(
    _DESKTOP,
    layer=Layer.HEALTH,
    rank=82,
    tier="N",
    any_of=("gpus", "messages"),
    references=threads("jcjohnson/neural-style#150"),
)
def display_server_on_compute_gpu(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """No desktop takes memory and time from a server GPU.

    A desktop on the only GPU of a desktop machine, or a remote desktop in a virtual machine, is intended.
    """
    shown = [gpu for gpu in seen_gpus(environment, matrix) if gpu.nvml and gpu.nvml.display_active is not None]
    active = [gpu for gpu in shown if gpu.data_center and gpu.nvml and gpu.nvml.display_active]
    taken = [] if is_virtual(environment) else [gpu for gpu in active if gpu.nvml and not is_vgpu(gpu.nvml)]
    for gpu in taken:
        display = Evidence(f"{gpu.subject} display_active", "yes", environment.gpus.source)
        yield _DESKTOP.found(
            [display, known(environment, "system.display_server")],
            title=f"A desktop runs on {gpu.called}",
            subject=gpu.subject,
        )
    if taken:
        return
    if reported := _DESKTOP.reported(environment):
        yield reported
    elif shown:
        yield ok("no desktop runs on a server GPU", evidence=[known(environment, "system.display_server")])


@check(
    _SLEPT,
    layer=Layer.CUDA_DEVICES,
    rank=35,
    tier="N",
    any_of=("driver.cuda_init", "messages"),
    explained_by=(
        *("container-loses-gpu", "uvm-module-not-loaded", "driver-library-mismatch"),
        *("driver-module-not-loaded", "no-gpu-on-pci"),
    ),
    fix="Reload nvidia_uvm while no program is using the GPU, and preserve video memory across sleep.",
    references=threads("pytorch/pytorch#88639", "ollama/ollama#5464", "pop-os/default-settings#64"),
)
def cuda_broken_after_suspend(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """CUDA still works after the machine was suspended.

    If video memory was not preserved during sleep, `cuInit` returns error 999 from then on, although nvidia-smi works.
    """
    codes, slept = answered(environment, "cuda", "UNKNOWN"), environment.system.last_resume
    if codes and slept.known:
        facts = [known(environment, "system.last_resume"), known(environment, "driver.suspended_memory_kept")]
        yield _SLEPT.found([*codes, *facts])
    elif environment.driver.cuda_init.known and not codes:
        yield ok(
            "CUDA does not return cudaErrorUnknown (999)", evidence=[known(environment, "driver.cuda_init", "not 999")]
        )
    elif seen(environment, "driver-module-crashed"):
        yield skip("the driver's module crashed, so its message about sleep is a consequence")
    elif reported := _SLEPT.reported(environment, title="CUDA stopped working, as often happens after sleep"):
        yield reported
    elif codes and slept.absent:
        yield ok(
            "CUDA does not work, but the machine was not suspended", evidence=[known(environment, "system.last_resume")]
        )
    elif environment.driver.cuda_init.absent:
        yield skip("there is no CUDA driver")
    else:
        both = "" if mismatch(environment) else "CUDA works, or whether "
        yield unknown(f"cannot tell whether {both}the machine was suspended")
