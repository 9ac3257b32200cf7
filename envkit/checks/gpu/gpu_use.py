"""Who may use a GPU and who does: compute mode, licenses, lost processes, displays, sleep."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit.checks.engine.evidence import driver_lives_elsewhere, known, not_looked
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Evidence, Outcome, Status, ok, skip, unknown
from envkit.checks.engine.messages import message_evidence, seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.engine.remedies import remedy
from envkit.checks.gpu.gpus import seen_gpus
from envkit.checks.gpu.health import field_evidence, gpus_of, name_of
from envkit.checks.nvidia_driver.driver_state import answered
from envkit.model import Environment, Gpu

if TYPE_CHECKING:
    from envkit.tables import Matrix

_MUCH_MEMORY = 500 * 1024**2  # bytes; the driver itself keeps less
_PROHIBITED, _DEFAULT = "prohibited", "default"


_SHUT = Fault(
    "compute-mode-exclusive",
    "CUDA says that every GPU is busy or unavailable",
    impact="CUDA programs stop although the GPU looks idle.",
    remedy="See nvidia-smi for the compute mode and the processes; set the mode back to default.",
    actions=("compute-mode",),
)
_UNLICENSED = Fault(
    "vgpu-unlicensed",
    "A virtual GPU has no license",
    impact="The GPU gets slower after some minutes, then refuses programs.",
    remedy="Install the client token (or the license server's address), then restart nvidia-gridd.",
    actions=("license",),
)
_HELD = Fault(
    "gpu-memory-held-by-lost-process",
    "An orphaned process is holding GPU memory",
    impact="Programs run out of memory on a GPU that looks empty.",
    remedy="Find out who still has the device open and end it; otherwise reboot.",
    actions=("who-holds",),
)
_RAN_OUT = Fault(
    _HELD.id,
    "A program asked for more GPU memory than was free",
    impact="That program stops; driver, CUDA and framework work.",
    remedy="See whether another process holds the memory, and end it; otherwise the program itself needs less: a "
    "smaller batch, a smaller model, a lower precision.",
    actions=("who-uses", "who-holds"),
    status=Status.WARN,
)
_DESKTOP = Fault(
    "display-server-on-compute-gpu",
    "A desktop runs on a compute GPU",
    impact="It takes memory, and long kernels can be stopped by its time limit.",
    remedy="Start the machine without a desktop.",
    actions=("no-desktop",),
    status=Status.WARN,
)
_SLEPT = Fault(
    "cuda-broken-after-suspend",
    "CUDA does not work since the machine slept",
    impact="CUDA programs stop with 'unknown error' although nvidia-smi works.",
    remedy="Reload the module while no program uses the GPU; so that it does not come back, keep video memory over "
    "sleep.",
    actions=("reload-uvm", "keep-memory"),
)


@check(
    _SHUT,
    layer=Layer.CUDA_DEVICES,
    rank=40,
    tier="N",
    any_of=("gpus", "messages"),
    explained_by=("vgpu-unlicensed",),
    references=threads("pytorch/pytorch#3871", "NVIDIA/DIGITS#2005"),
)
def compute_mode_exclusive(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """Every GPU lets several programs in (compute mode "default").

    In exclusive mode a second program gets "all CUDA-capable devices are busy or unavailable" (46) on an idle GPU;
    in prohibited mode every program does.
    """
    modes = [gpu for gpu in gpus_of(environment) if gpu.compute_mode]
    shut = [gpu for gpu in modes if gpu.compute_mode != _DEFAULT]
    refused = answered(environment, "cuda", "DEVICE_UNAVAILABLE")
    for gpu in shut:
        in_use = gpu.compute_mode == _PROHIBITED or bool(refused) or bool(gpu.processes)
        yield _SHUT.found(
            [field_evidence(environment, gpu, "compute_mode"), *refused],
            title=f"{gpu.name}: compute mode is {gpu.compute_mode}",
            subject=name_of(gpu),
            impact="No CUDA program may use it."
            if gpu.compute_mode == _PROHIBITED
            else "Only one program at a time may use it; the others get 'busy or unavailable'.",
            remedy=remedy(environment, "Let every program in again.", "compute-mode", index=gpu.index),
            status=Status.FAIL if in_use else Status.WARN,
        )
    if shut:
        return
    if modes:
        yield ok(
            "compute mode is Default on every GPU", evidence=[field_evidence(environment, modes[0], "compute_mode")]
        )
    elif reported := _SHUT.reported(environment, index=0):
        yield reported


@check(
    _UNLICENSED,
    layer=Layer.CUDA_DEVICES,
    rank=38,
    tier="N",
    any_of=("gpus", "messages"),
    references=threads("DDMAL/Rodan#1332", "JeremyMain/GPUProfiler#134"),
)
def vgpu_unlicensed(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """Every virtual GPU (vGPU) has its license.

    Without one it is slowed down after some minutes and then refuses CUDA, while nvidia-smi looks fine.
    """
    bad = [gpu for gpu in gpus_of(environment) if gpu.licensed is False and gpu.virtualization_mode in (None, "vgpu")]
    for gpu in bad:
        yield _UNLICENSED.found(
            [field_evidence(environment, gpu, "licensed", "no")],
            title=f"{gpu.name} has no vGPU license",
            subject=name_of(gpu),
        )
    if bad:
        return
    licensed = [gpu for gpu in gpus_of(environment) if gpu.licensed]
    if reported := _UNLICENSED.reported(environment):
        yield reported
    elif licensed:
        yield ok("the vGPU license is there", evidence=[field_evidence(environment, licensed[0], "licensed", "yes")])
    elif gpus_of(environment):
        yield skip("no virtual GPU that would need a license")


@check(
    _HELD,
    layer=Layer.HEALTH,
    rank=55,
    tier="N",
    any_of=("gpus", "messages"),
    references=threads("apache/mxnet#17837", "apache/mxnet#4242", "NVIDIA/gpu-operator#2880"),
)
def gpu_memory_held_by_lost_process(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """Used GPU memory belongs to processes that still exist.

    Orphaned workers, or processes in another container, hold memory that no list of processes shows: "out of memory"
    on a GPU that looks empty.
    """
    ran_out = seen(environment, _HELD.id)
    if driver_lives_elsewhere(environment) and not ran_out:
        yield skip("processes of other containers cannot be seen from here")
        return
    gpus = () if driver_lives_elsewhere(environment) else gpus_of(environment)  # others' processes are hidden there
    held = [gpu for gpu in gpus if gpu.lost_processes]
    hidden = [gpu for gpu in gpus if not gpu.lost_processes and _held_by_nobody(gpu)]
    for gpu in held:
        yield _HELD.found(
            [field_evidence(environment, gpu, "lost_processes")],
            title=f"{gpu.name}: memory is held by processes that are gone",
            subject=name_of(gpu),
        )
    for gpu in hidden:
        used = (gpu.memory_used_bytes or 0) // 1024**2
        yield _HELD.found(
            [field_evidence(environment, gpu, "memory_used_bytes", f"{used} MiB, no process")],
            title=f"{gpu.name}: {used} MiB are used, and no process is listed",
            subject=name_of(gpu),
            impact="That memory is missing for new programs.",
            status=Status.WARN,
        )
    if held or hidden:
        return
    listed = [gpu for gpu in gpus if gpu.processes is not None]
    if ran_out:
        yield _RAN_OUT.found(message_evidence(environment, ran_out))
    elif listed:
        yield ok(
            "no GPU memory is held by dead processes", evidence=[field_evidence(environment, listed[0], "processes")]
        )
    else:
        yield not_looked(environment, "the processes on the GPUs were not queried", "gpus")


def _held_by_nobody(gpu: Gpu) -> bool:
    shared = gpu.mig_mode or gpu.virtualization_mode in ("vgpu", "host-vgpu") or gpu.display_active
    used = gpu.memory_used_bytes
    return gpu.processes == () and not shared and used is not None and used > _MUCH_MEMORY and not _integrated(gpu)


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
    """No desktop takes memory and time from a GPU that is made for servers.

    On a desktop machine a screen on the only GPU is what it is for.
    """
    shown = [gpu for gpu in seen_gpus(environment, matrix) if gpu.nvml and gpu.nvml.display_active is not None]
    taken = [gpu for gpu in shown if gpu.data_center and gpu.nvml and gpu.nvml.display_active]
    for gpu in taken:
        active = Evidence(f"{gpu.subject} display_active", "yes", environment.gpus.source)
        yield _DESKTOP.found(
            [active, known(environment, "system.display_server")],
            title=f"A desktop runs on {gpu.title}",
            subject=gpu.subject,
        )
    if taken:
        return
    if reported := _DESKTOP.reported(environment):
        yield reported
    elif shown:
        yield ok("no desktop on a server GPU", evidence=[known(environment, "system.display_server")])


@check(
    _SLEPT,
    layer=Layer.CUDA_DEVICES,
    rank=35,
    tier="N",
    any_of=("driver.cuda_init", "messages"),
    explained_by=("uvm-module-not-loaded", "driver-library-mismatch", "driver-module-not-loaded", "no-gpu-on-pci"),
    references=threads("pytorch/pytorch#88639", "ollama/ollama#5464", "pop-os/default-settings#64"),
)
def cuda_broken_after_suspend(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """CUDA still works after the machine slept.

    Where video memory is not kept over sleep, `cuInit` answers 999 from then on, while nvidia-smi works.
    """
    codes, slept = answered(environment, "cuda", "UNKNOWN"), environment.system.last_resume
    if codes and slept.known:
        facts = [known(environment, "system.last_resume"), known(environment, "driver.suspended_memory_kept")]
        yield _SLEPT.found([*codes, *facts])
    elif environment.driver.cuda_init.known and not codes:
        yield ok(
            "CUDA does not return cudaErrorUnknown (999)", evidence=[known(environment, "driver.cuda_init", "not 999")]
        )
    elif reported := _SLEPT.reported(environment, title="CUDA cannot start, often after sleep"):
        yield reported
    elif codes and slept.absent:
        yield ok(
            "CUDA does not work, but the machine did not sleep", evidence=[known(environment, "system.last_resume")]
        )
    elif environment.driver.cuda_init.absent:
        yield skip("there is no CUDA driver")
    else:
        yield unknown("whether CUDA works, or whether the machine slept, is not known")
