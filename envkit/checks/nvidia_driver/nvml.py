"""The driver's user side: same version as the module, there at all, and does it answer?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit.checks.engine.command import fixed
from envkit.checks.engine.evidence import NO_PCI_GPU, kind, known, many, not_looked, unseen
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Evidence, Outcome, Remedy, Status, ok, skip, unknown
from envkit.checks.engine.managers import QUEUES, appliance, managed_by
from envkit.checks.engine.messages import message_evidence, seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.engine.remedies import remedy
from envkit.checks.gpu.gpus import gpus_of
from envkit.checks.gpu.health import field_evidence
from envkit.checks.nvidia_driver.driver_state import (
    NVML,
    answered,
    answered_by_call,
    has_library,
    loaded,
    mismatch,
    nvml_asked,
    smi_answered,
)
from envkit.checks.nvidia_driver.packages import by_runfile
from envkit.checks.nvidia_driver.reload import on_disk
from envkit.checks.nvidia_driver.same_version import same_version, user_space
from envkit.model import Environment, MachineKind, Problem

if TYPE_CHECKING:
    from envkit.tables import Matrix

_COUNTERS_OF_CLUSTER = (
    "Only root can allow this: ask the administrators to set NVreg_RestrictProfilingToAdminUsers=0 on the nodes of "
    "that partition (options nvidia NVreg_RestrictProfilingToAdminUsers=0 in /etc/modprobe.d, then a reload of the "
    "module or a reboot), and send them the message with the name of the node. Until then, profile where it is "
    "allowed (grep RmProfilingAdminOnly /proc/driver/nvidia/params prints 0), or use nsys profile, without counters."
)
_COUNTERS_OF_OPERATOR = Remedy(
    "The GPU operator's driver container loads the module, so set the option through the operator, not on the node: "
    "pass it in a ConfigMap. The last command makes the operator restart its driver pods with it, which evicts the "
    "pods that use GPUs: run it when the nodes may be drained. In a pod, the profiler then needs no root.",
    (
        fixed(
            "kubectl -n gpu-operator create configmap kernel-module-params "
            "--from-literal=nvidia.conf=NVreg_RestrictProfilingToAdminUsers=0"
        ),
        fixed(
            "kubectl patch clusterpolicies.nvidia.com/cluster-policy --type=merge -p "
            '\'{"spec": {"driver": {"kernelModuleConfig": {"name": "kernel-module-params"}}}}\''
        ),
    ),
)
_HARDWARE = ("gpu-fallen-off-bus", "gsp-timeout", "ecc-uncorrectable", "row-remap-failed", "rm-init-adapter-failed")


_COLLECT = ("bug-report", "reboot")


_FOR_HOOK = Remedy(
    "NVIDIA's hook runs where the container engine runs, and finds no driver there; nothing has to be installed in the "
    "image. Start nvidia-smi on the host. If it fails as well, install the driver on the host first. If it works, the "
    "engine is not the host's own: Docker Desktop for Linux runs in a virtual machine without a GPU, and Docker from "
    "snap sees other files (the second command shows the context, the third a snap); use Docker Engine and the context "
    "default. If only the hook fails, and the driver came by a .run file, let the loader list it: sudo ldconfig.",
    (fixed("nvidia-smi"), fixed("docker context ls"), fixed("snap list docker")),
)


_IN_APPTAINER = (
    "--nv has put the driver's libraries into /.singularity.d/libs, and programs find them by LD_LIBRARY_PATH alone: "
    "something that was started in the container (a prefix, a login shell, a module) has emptied or replaced the "
    "variable. Set it again there, in each such shell. Nothing has to be installed, and the driver is fine."
)


_FOR_LXC = Remedy(
    "On Proxmox, Docker runs in an LXC container or in a virtual machine, and there the hook finds no driver. The host "
    "must have one that supports this card, with its kernel module (the first command prints the release there). An "
    "LXC container needs the same release without the module (second command, in the container, with that release in "
    "place of VERSION), and the device files of the host (dev0: /dev/nvidia0, dev1: /dev/nvidiactl, dev2: "
    "/dev/nvidia-uvm in its configuration, or Add > Device Passthrough); an unprivileged one also no-cgroups = true "
    "in /etc/nvidia-container-runtime/config.toml. A virtual machine needs the card passed through, and a driver of "
    "its own. When nvidia-smi works there, start the containers again.",
    (
        fixed("cat /proc/driver/nvidia/version"),
        fixed("sudo sh NVIDIA-Linux-x86_64-VERSION.run --no-kernel-module"),
        fixed("nvidia-smi"),
    ),
)


def _driver_library(environment: Environment, matrix: Matrix) -> Remedy:
    version = environment.driver.kernel_module.value
    branch = version.major if version else None
    if by_runfile(environment):
        return user_space(environment, version)
    if version is None and seen(environment, "nvml-library-missing", "detail-hook"):
        return _FOR_LXC if managed_by(environment, "proxmox") else _FOR_HOOK
    if managed_by(environment, "apptainer") and seen(environment, "nvml-library-missing", "detail-apptainer"):
        return remedy(environment, _IN_APPTAINER, "apptainer-libraries")
    summary = (
        "Install the version of the library's package that matches the loaded module. If the archive has only a "
        "newer version, upgrade the whole driver instead, and reboot."
    )
    return remedy(environment, summary, "driver-library", branch=branch, version=version)


def _counters(environment: Environment, matrix: Matrix) -> Remedy:
    if managed_by(environment, "no-root", *QUEUES):
        return Remedy(_COUNTERS_OF_CLUSTER)
    if managed_by(environment, "gpu-operator"):
        return _COUNTERS_OF_OPERATOR
    own = not appliance(environment)  # elsewhere, how the node makes its initramfs is the system's own affair
    summary = (
        "Run the profiler as root, without a reboot: `sudo ncu` or `sudo nsys` with its full path. If you want all "
        f"users to read the counters, allow it{', put the option into the initramfs,' if own else ''} and reboot."
    )
    return remedy(environment, summary, "counters", *(("initramfs",) if own else ()), "reboot")


_MISMATCH = Fault(
    "driver-library-mismatch",
    "The driver libraries and the loaded kernel module have different versions",
    impact="nvidia-smi, NVML, and CUDA do not work until the versions match.",
    remedy=same_version,
)
_NO_NVML = Fault(
    "nvml-library-missing",
    "The management library libnvidia-ml.so.1 is missing",
    impact="nvidia-smi and all monitoring tools fail; CUDA itself may work.",
    remedy=_driver_library,
)
_NO_ANSWER = Fault(
    "nvidia-smi-hangs",
    "nvidia-smi or NVML hangs: the driver does not respond",
    impact="Every program that calls the driver also hangs, and cannot be killed.",
    remedy="Collect a bug report first, then reboot.",
    actions=_COLLECT,
)
_SLEEPING = Fault(
    "persistence-off",
    "Persistence mode is off, so programs wait for the GPU to initialize",
    impact="Every program's first GPU call takes several seconds.",
    remedy="Run nvidia-persistenced to keep the GPUs initialized.",
    actions=("persistence",),
    status=Status.WARN,
)
_NO_COUNTERS = Fault(
    "profiling-counters-restricted",
    "A profiler was denied access to the GPU's performance counters",
    impact="Profilers such as ncu and nsys show no GPU metrics; programs themselves are not affected.",
    remedy=_counters,
    status=Status.WARN,
)


@check(
    _MISMATCH,
    layer=Layer.USER_SPACE_DRIVER,
    rank=10,
    explained_by=("runfile-over-packages", "driver-repos-mixed", "driver-baked-into-image", "wsl-driver-inside"),
    fix="Reboot, or reload the modules while no program is using the GPU. If the module on disk does not match the "
    "libraries, first reinstall all driver packages at the same version. To keep this from happening again, hold or "
    "lock them at that version (apt-mark hold or dnf versionlock).",
    references=threads(
        "intel/llvm#17614",
        "microsoft/pai#5452",
        "oddmario/NVIDIA-Ubuntu-Driver-Guide#4",
        "EESSI/software-layer-scripts#105",
    ),
)
def driver_library_mismatch(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """The driver libraries have exactly the same version as the loaded kernel module.

    After a driver upgrade (often an automatic one), the old module stays loaded alongside the new libraries, and NVML
    fails with "Driver/library version mismatch". A reboot is enough if the module on disk already matches the new
    libraries.
    """
    module, library = environment.driver.kernel_module, environment.driver.user_space
    both = [known(environment, "driver.kernel_module"), known(environment, "driver.user_space")]
    codes = answered(environment, "nvml", "LIB_RM_VERSION_MISMATCH")
    messages = message_evidence(environment, seen(environment, _MISMATCH.id))
    if kind(environment) in (MachineKind.WSL1, MachineKind.WSL2, MachineKind.JETSON):
        yield skip("WSL and Jetson have no such kernel module")
    elif module.known and library.known and module.get() != library.get():
        title = f"Kernel module {module.get()} is loaded, but the driver libraries are {library.get()}"
        yield _MISMATCH.found([*both, *codes, *_disk(environment)], title=title)
    elif codes or messages:
        yield _MISMATCH.found([*((*codes, *both) if codes else messages), *_disk(environment)])
    elif module.known and library.known:
        yield ok(f"module and libraries are both {library.get()}", evidence=both)
    elif module.absent:
        yield skip("no kernel module is loaded")
    else:
        yield unknown("the version of the module or of the libraries is not known", evidence=both)


def _disk(environment: Environment) -> list[Evidence]:
    versions = ", ".join(map(str, sorted(on_disk(environment))))
    return [known(environment, "kernel.module_files", versions)] if versions else []


@check(
    _NO_NVML,
    layer=Layer.USER_SPACE_DRIVER,
    rank=20,
    explained_by=(
        *("driver-capabilities-missing", "container-no-gpu-injected", "docker-no-nvidia-runtime"),
        *("driver-not-installed", "no-gpu-on-pci", "docker-from-snap-or-desktop", "toolkit-root-elsewhere"),
    ),
    fix="Install the version of the driver's compute or utils package that matches the module.",
    elsewhere=NO_PCI_GPU,
    references=threads("NVIDIA/libnvidia-container#231"),
)
def nvml_library_missing(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """If the kernel module is loaded, `libnvidia-ml.so.1` can be found.

    Distributions split the driver into packages; without this one, nvidia-smi and all monitoring tools report no GPU.
    """
    codes = answered(environment, "nvml", "LIBRARY_NOT_FOUND")
    if has_library(environment, NVML):
        yield ok("libnvidia-ml.so.1 found", evidence=[known(environment, "driver.libraries", NVML)])
    elif loaded(environment) and has_library(environment, NVML) is False:
        evidence = [known(environment, "driver.kernel_module"), known(environment, "driver.libraries", "no " + NVML)]
        yield _NO_NVML.found([*evidence, *codes])
    elif loaded(environment) is False:
        yield skip("no driver is loaded")
    elif codes:
        yield _NO_NVML.found(codes)
    elif apart := mismatch(environment):
        yield ok("libnvidia-ml.so.1 was loaded", evidence=apart)
    else:
        yield unknown(unseen(environment, "the driver libraries"))


@check(
    _NO_ANSWER,
    layer=Layer.USER_SPACE_DRIVER,
    rank=30,
    explained_by=_HARDWARE,
    references=threads("leptonai/gpud#117", "NVIDIA/gpu-monitoring-tools#46", "NVIDIA/NVSentinel#1574"),
)
def nvidia_smi_hangs(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """The driver answers NVML and nvidia-smi within their time limit.

    A deadlocked driver or a failing GPU leaves the caller in a state in which it cannot be killed; monitoring tools
    keep showing old values as if all were well.
    """
    paths = ("driver.nvml", "driver.nvidia_smi")
    facts = (environment.driver.nvml, environment.driver.nvidia_smi)
    if evidence := _late(environment):
        yield _NO_ANSWER.found(evidence)
    elif late := answered(environment, "nvml", "TIMEOUT"):
        yield _NO_ANSWER.found(
            late,
            title=f"{many(len(late), 'GPU')} of {len(environment.gpus.get())} "
            f"{'does' if len(late) == 1 else 'do'} not answer",
            impact="Every program that uses that GPU hangs; the other GPUs work.",
            remedy=remedy(environment, _ONE_GPU, *_COLLECT),
        )
    elif reported := _NO_ANSWER.reported(environment):
        yield reported
    elif nvml_asked(environment) or smi_answered(environment):
        responds = any(fact.known and fact.get().code == 0 for fact in facts)
        words = "the driver responds" if responds else "nvidia-smi did not hang (the driver returned an error)"
        yield ok(words, evidence=[known(environment, path) for path in paths])
    elif any(fact.known for fact in facts) or all(fact.absent for fact in facts):
        yield skip("there is no driver to query")
    else:
        yield not_looked(environment, unseen(environment, "whether nvidia-smi responds"), *paths)


_ONE_GPU = (
    "Keep jobs off that GPU, collect a bug report, then reset the GPU or reboot. Until then, programs "
    "that list only the other GPUs in CUDA_VISIBLE_DEVICES may work."
)


def _late(environment: Environment) -> list[Evidence]:
    """Where the driver as a whole did not answer; what NVML answers counts more than what nvidia-smi does not."""
    nvml, smi = environment.driver.nvml, environment.driver.nvidia_smi
    evidence = list(answered_by_call(environment, "nvml", "TIMEOUT"))
    if nvml.problem is Problem.TIMED_OUT:
        evidence.append(known(environment, "driver.nvml", nvml.detail or nvml.problem.value))
    if smi.problem is Problem.TIMED_OUT and not nvml_asked(environment):
        evidence.append(known(environment, "driver.nvidia_smi", smi.detail or smi.problem.value))
    return evidence


@check(
    _SLEEPING,
    layer=Layer.HEALTH,
    rank=80,
    tier="N",
    any_of=("gpus", "messages"),
    explained_by=("nvidia-smi-hangs",),
    references=threads("NVIDIA/nvidia-docker#723", "Azure/aks-gpu#105", "dmlc/cxxnet#108"),
)
def persistence_off(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """No program or container has to wait too long for the driver to initialize a GPU.

    Persistence mode is off by default. Without it, the driver initializes a server's GPUs again for each program that
    finds them idle. That takes seconds, and container startup can time out. If nothing is affected, no action is
    needed.
    """
    gpus = [gpu for gpu in gpus_of(environment) if gpu.persistence_mode is not None]
    if reported := _SLEEPING.reported(environment):
        yield reported
    elif gpus:
        off = [gpu for gpu in gpus if not gpu.persistence_mode]
        title = f"persistence mode is off on {many(len(off), 'GPU')}, the default" if off else "persistence mode is on"
        modes = [field_evidence(environment, gpu, "persistence_mode") for gpu in gpus[:3]]
        yield ok(title, evidence=[*modes, known(environment, "driver.persistence_daemon")])


@check(
    _NO_COUNTERS,
    layer=Layer.HEALTH,
    rank=90,
    any_of=("driver.params", "messages"),
    fix="Run the profiler as root, or allow all users to read the counters, rebuild the initramfs, and reboot.",
    references=threads("gpuopenanalytics/pynvml#19"),
)
def profiling_counters_restricted(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """No profiler was denied access to the GPU's performance counters.

    By default, only root can read them, as a security measure; for other users, a profiler stops with ERR_NVGPUCTRPERM.
    """
    params = environment.driver.params
    if reported := _NO_COUNTERS.reported(environment):
        yield reported
    elif params.known:
        restricted = params.get().get("RmProfilingAdminOnly", "")
        words = "are restricted to root (default)" if restricted == "1" else "are not restricted"
        yield ok(f"performance counters {words}", evidence=[known(environment, "driver.params", restricted or "-")])
    elif params.absent:
        yield skip("no driver is loaded")
