"""Who may use a GPU and who does: compute mode, licenses, lost processes, displays, sleep."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit.checks.engine.evidence import driver_lives_elsewhere, known, not_looked
from envkit.checks.engine.findings import Evidence, Outcome, fail, ok, skip, unknown, warn
from envkit.checks.engine.messages import message_evidence, seen, told
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
_HELD = "gpu-memory-held-by-lost-process"
_PROHIBITED, _DEFAULT = "prohibited", "default"


@check(
    "compute-mode-exclusive",
    title="Compute mode blocks new processes",
    layer=Layer.CUDA_DEVICES,
    rank=40,
    tier="N",
    any_of=("gpus", "messages"),
    explained_by=("vgpu-unlicensed",),
    fix="nvidia-smi -c DEFAULT, or MPS.",
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
        judge = fail if in_use else warn
        yield judge(
            f"{gpu.name}: compute mode is {gpu.compute_mode}",
            subject=name_of(gpu),
            evidence=[field_evidence(environment, gpu, "compute_mode"), *refused],
            impact="No CUDA program may use it."
            if gpu.compute_mode == _PROHIBITED
            else "Only one program at a time may use it; the others get 'busy or unavailable'.",
            remedy=remedy(environment, "Let every program in again.", "compute-mode", index=gpu.index),
        )
    if shut:
        return
    title = "CUDA says that every GPU is busy or unavailable"
    outcomes = told(
        environment,
        "compute-mode-exclusive",
        title,
        remedy=remedy(environment, _LOOK, "compute-mode", index=0),
        impact="CUDA programs stop although the GPU looks idle.",
    )
    if outcomes and not modes:
        yield from outcomes
    elif modes:
        yield ok("every GPU lets all programs in", evidence=[field_evidence(environment, modes[0], "compute_mode")])
    else:
        yield not_looked(environment, "the compute mode was not asked", "gpus")


_LOOK = "See nvidia-smi for the compute mode and the processes; set the mode back to default."


@check(
    "vgpu-unlicensed",
    title="A virtual GPU has no license",
    layer=Layer.CUDA_DEVICES,
    rank=38,
    tier="N",
    any_of=("gpus", "messages"),
    fix="Client token or license server, then restart nvidia-gridd.",
    references=threads("DDMAL/Rodan#1332", "JeremyMain/GPUProfiler#134"),
)
def vgpu_unlicensed(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """Every virtual GPU (vGPU) has its license.

    Without one it is slowed down after some minutes and then refuses CUDA, while nvidia-smi looks fine.
    """
    fix = remedy(environment, "Install the client token (or the license server's address), then restart.", "license")
    impact = "The GPU gets slower after some minutes, then refuses programs."
    bad = [gpu for gpu in gpus_of(environment) if gpu.licensed is False and gpu.virtualization_mode in (None, "vgpu")]
    for gpu in bad:
        yield fail(
            f"{gpu.name} has no vGPU license",
            subject=name_of(gpu),
            evidence=[field_evidence(environment, gpu, "licensed", "no")],
            impact=impact,
            remedy=fix,
        )
    if bad:
        return
    outcomes = told(environment, "vgpu-unlicensed", "The vGPU license is missing", impact=impact, remedy=fix)
    licensed = [gpu for gpu in gpus_of(environment) if gpu.licensed]
    if outcomes:
        yield from outcomes
    elif licensed:
        yield ok("the vGPU license is there", evidence=[field_evidence(environment, licensed[0], "licensed", "yes")])
    elif gpus_of(environment):
        yield skip("no virtual GPU that would need a license")
    else:
        yield not_looked(environment, "licenses were not asked", "gpus")


@check(
    _HELD,
    title="An orphaned process is holding GPU memory",
    layer=Layer.HEALTH,
    rank=55,
    tier="N",
    any_of=("gpus", "messages"),
    fix="End the process that holds the memory; if it cannot be ended, restart.",
    references=threads("apache/mxnet#17837", "apache/mxnet#4242", "NVIDIA/gpu-operator#2880"),
)
def gpu_memory_held_by_lost_process(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """Used GPU memory belongs to processes that still exist.

    Orphaned workers, or processes in another container, hold memory that no list of processes shows: "out of memory"
    on a GPU that looks empty.
    """
    ran_out = seen(environment, _HELD)
    if driver_lives_elsewhere(environment) and not ran_out:
        yield skip("processes of other containers cannot be seen from here")
        return
    gpus = () if driver_lives_elsewhere(environment) else gpus_of(environment)  # others' processes are hidden there
    held = [gpu for gpu in gpus if gpu.lost_processes]
    hidden = [gpu for gpu in gpus if not gpu.lost_processes and _held_by_nobody(gpu)]
    for gpu in held:
        yield fail(
            f"{gpu.name}: memory is held by processes that are gone",
            subject=name_of(gpu),
            evidence=[field_evidence(environment, gpu, "lost_processes")],
            impact="Programs run out of memory on a GPU that looks empty.",
            remedy=remedy(environment, "Find out who still has the device open and end it; else restart.", "who-holds"),
        )
    for gpu in hidden:
        used = (gpu.memory_used_bytes or 0) // 1024**2
        yield warn(
            f"{gpu.name}: {used} MiB are used, and no process is listed",
            subject=name_of(gpu),
            evidence=[field_evidence(environment, gpu, "memory_used_bytes", f"{used} MiB, no process")],
            impact="That memory is missing for new programs.",
            remedy=remedy(environment, "Find out who has the device open and end it.", "who-holds"),
        )
    if held or hidden:
        return
    listed = [gpu for gpu in gpus if gpu.processes is not None]
    if ran_out:
        yield warn(
            "A program asked for more GPU memory than was free",
            evidence=message_evidence(environment, ran_out),
            impact="That program stops; driver, CUDA and framework work.",
            remedy=remedy(
                environment,
                "See whether another process holds the memory, and end it; otherwise the program itself needs less: a "
                "smaller batch, a smaller model, a lower precision.",
                "who-uses",
                "who-holds",
            ),
        )
    elif listed:
        yield ok(
            "used memory belongs to living processes", evidence=[field_evidence(environment, listed[0], "processes")]
        )
    else:
        yield not_looked(environment, "the processes on the GPUs were not asked", "gpus")


def _held_by_nobody(gpu: Gpu) -> bool:
    shared = gpu.mig_mode or gpu.virtualization_mode in ("vgpu", "host-vgpu") or gpu.display_active
    used = gpu.memory_used_bytes
    return gpu.processes == () and not shared and used is not None and used > _MUCH_MEMORY and not _integrated(gpu)


def _integrated(gpu: Gpu) -> bool:
    return gpu.memory_bytes is None or gpu.memory_bytes == gpu.memory_used_bytes


@check(
    "display-server-on-compute-gpu",
    title="A desktop runs on a compute GPU",
    layer=Layer.HEALTH,
    rank=82,
    tier="N",
    any_of=("gpus", "messages"),
    fix="Move the display to the board's own graphics, or start servers without a desktop.",
    references=threads("jcjohnson/neural-style#150"),
)
def display_server_on_compute_gpu(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """No desktop takes memory and time from a GPU that is made for servers.

    On a desktop machine a screen on the only GPU is what it is for.
    """
    fix = remedy(environment, "Start the machine without a desktop.", "no-desktop")
    title = "A desktop runs on a compute GPU"
    shown = [gpu for gpu in seen_gpus(environment, matrix) if gpu.nvml and gpu.nvml.display_active is not None]
    taken = [gpu for gpu in shown if gpu.data_center and gpu.nvml and gpu.nvml.display_active]
    for gpu in taken:
        yield warn(
            f"A desktop runs on {gpu.title}",
            subject=gpu.subject,
            evidence=[
                Evidence(f"{gpu.subject} display_active", "yes", environment.gpus.source),
                known(environment, "system.display_server"),
            ],
            impact="It takes memory, and long kernels can be stopped by its time limit.",
            remedy=fix,
        )
    if taken:
        return
    outcomes = told(
        environment,
        "display-server-on-compute-gpu",
        title,
        remedy=fix,
        judge=warn,
        impact="It takes memory, and long kernels can be stopped by its time limit.",
    )
    if outcomes:
        yield from outcomes
    elif shown:
        yield ok("no desktop on a server GPU", evidence=[known(environment, "system.display_server")])
    else:
        yield not_looked(environment, "whether a display is active was not asked", "gpus")


@check(
    "cuda-broken-after-suspend",
    title="CUDA does not work since the machine slept",
    layer=Layer.CUDA_DEVICES,
    rank=35,
    tier="N",
    any_of=("driver.cuda_init", "messages"),
    explained_by=("uvm-module-not-loaded", "driver-library-mismatch", "driver-module-not-loaded", "no-gpu-on-pci"),
    fix="Reload nvidia_uvm; for good: keep video memory over sleep and enable the three services.",
    references=threads("pytorch/pytorch#88639", "ollama/ollama#5464", "pop-os/default-settings#64"),
)
def cuda_broken_after_suspend(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """CUDA still works after the machine slept.

    Where video memory is not kept over sleep, `cuInit` answers 999 from then on, while nvidia-smi works.
    """
    fix = remedy(
        environment,
        "Reload the module while no program uses the GPU; so that it does not come back, keep video memory over sleep.",
        "reload-uvm",
        "keep-memory",
    )
    codes, slept = answered(environment, "cuda", "UNKNOWN"), environment.system.last_resume
    impact = "CUDA programs stop with 'unknown error' although nvidia-smi works."
    if codes and slept.known:
        facts = [known(environment, "system.last_resume"), known(environment, "driver.suspended_memory_kept")]
        yield fail("CUDA does not work since the machine slept", evidence=[*codes, *facts], impact=impact, remedy=fix)
    elif environment.driver.cuda_init.known and not codes:
        yield ok("CUDA gives no unknown error", evidence=[known(environment, "driver.cuda_init", "not 999")])
    elif outcomes := told(
        environment, "cuda-broken-after-suspend", "CUDA cannot start, often after sleep", impact=impact, remedy=fix
    ):
        yield from outcomes
    elif codes and slept.absent:
        yield ok(
            "CUDA does not work, but the machine did not sleep", evidence=[known(environment, "system.last_resume")]
        )
    elif environment.driver.cuda_init.absent:
        yield skip("there is no CUDA driver")
    else:
        yield unknown("whether CUDA works, or whether the machine slept, is not known")
