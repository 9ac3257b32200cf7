"""Places with rules of their own: Linux inside Windows (WSL) and NVIDIA's Jetson boards."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit.checks.containers.container_driver import DRIVER_PACKAGE
from envkit.checks.containers.jetson_wheels import jetson_vision, jetson_wheel
from envkit.checks.containers.wsl_reach import on_loader_path, reach_windows
from envkit.checks.engine.command import NAME, PATH, export, fixed, run
from envkit.checks.engine.evidence import kind, known
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Evidence, Outcome, Remedy, ok, skip, unknown
from envkit.checks.engine.loader_path import library_path
from envkit.checks.engine.messages import message_evidence, named, seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.engine.remedies import remedy
from envkit.checks.frameworks.installs import (
    Installed,
    capable_gpus,
    installs,
    nothing_to_judge,
)
from envkit.checks.nvidia_driver.driver_state import CUDA, answered, has_library
from envkit.model import Environment, MachineKind, Message

if TYPE_CHECKING:
    from envkit.tables import Matrix

_NO_SMI = "nvidia-smi-not-found"
_OF_A_DRIVER = (  # messages of checks about a Linux driver; in WSL 2 they say that the one of Windows does not answer
    ("driver-not-installed", "torch", "libcuda-missing", "tensorflow-303"),
    ("driver-module-not-loaded", "nvidia-smi", "nvml"),
)
_AT_EACH_START = "ioctl"  # a message that the kernel of a WSL 2 that works writes too
_WSL_LIBRARIES = "/usr/lib/wsl/"
_OF_WINDOWS_DRIVER = f"{_WSL_LIBRARIES}lib"
_NO_DXCORE = ("listed-no-dxcore", "no-dxcore")
_NO_LIBCUDA = "told-libcuda"  # the message of a program that looked for libcuda itself
_GUIDE = "https://docs.nvidia.com/deeplearning/frameworks/install-pytorch-jetson-platform/index.html"


def _purge(environment: Environment, matrix: Matrix) -> Remedy:
    given = remedy(environment, "Remove the Linux driver; WSL 2 uses the Windows driver.", "purge-driver")
    listed = " The first command only lists what would be removed." if len(given.steps) > 1 else ""
    return Remedy(f"{given.advice}{listed}", (*given.steps, fixed("sudo ldconfig")))


def _convert(environment: Environment, matrix: Matrix) -> Remedy:
    name = named(seen(environment, "wsl1", "list"), "distribution")
    return Remedy(
        "Convert the distribution to WSL 2 in a Windows terminal. GPU support needs Windows 11, or Windows 10 21H2 or "
        "later (winver shows the version); if wsl rejects these options, update Windows first. Do not install a Linux "
        "NVIDIA driver inside WSL, and remove one that is installed: WSL 2 uses the Windows driver.",
        (
            fixed("wsl --list --verbose"),
            run("wsl", "--set-version", NAME(name or "DISTRIBUTION"), "2"),
        ),
    )


_WSL1 = Fault(
    "wsl1",
    "This is WSL 1, which does not support GPUs",
    impact="No Linux program can use the GPU.",
    remedy=_convert,
)
_LINUX_DRIVER = Fault(
    "wsl-driver-inside",
    "A Linux driver is installed inside WSL",
    impact="nvidia-smi and CUDA fail: the Linux libcuda shadows the Windows driver's libcuda.",
    remedy=_purge,
)
_UNREACHED = Fault(
    "wsl-libcuda-missing",
    "WSL cannot reach the Windows driver",
    impact="No program in WSL can use the GPU.",
    remedy=reach_windows,
)
_SERVER_WHEEL = Fault(
    "jetson-generic-wheel",
    "A server wheel is installed on a Jetson",
    impact='CUDA is not available, or every kernel fails with "no kernel image".',
    remedy=jetson_wheel,
)


@check(
    _WSL1,
    layer=Layer.PLACE,
    rank=5,
    any_of=("system.machine_kind", "messages"),
    fix="Convert the distribution to WSL 2 in a Windows terminal: `wsl --set-version DISTRIBUTION 2`.",
    references=threads("microsoft/WSL#5548"),
)
def wsl1(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """Linux on Windows runs as WSL 2, the only version that can use the GPU."""
    if kind(environment) is MachineKind.WSL1:
        yield _WSL1.found([known(environment, "system.machine_kind"), known(environment, "system.kernel")])
    elif reported := _WSL1.reported(environment):
        yield reported
    elif kind(environment) is MachineKind.WSL2:
        yield ok("this is WSL 2", evidence=[known(environment, "system.kernel")])
    else:
        yield skip("not WSL", evidence=[known(environment, "system.machine_kind")])


@check(
    _LINUX_DRIVER,
    layer=Layer.PLACE,
    rank=7,
    any_of=("system.machine_kind", "messages"),
    fix="Purge the driver packages; install cuda-toolkit-X-Y only.",
    references=threads("microsoft/WSL#8587", "microsoft/WSL#5663"),
)
def wsl_driver_inside(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """WSL uses the Windows driver; no Linux driver package shadows its libcuda."""
    reported = _LINUX_DRIVER.reported(environment)
    packages = environment.packages.get() if environment.packages.known else ()
    drivers = [item for item in packages if DRIVER_PACKAGE.match(item.name) and item.whole]
    libraries = environment.driver.libraries.get() if environment.driver.libraries.known else ()
    foreign = [
        item
        for item in libraries
        if item.name == "libcuda.so.1" and not item.stub and not item.path.startswith(_WSL_LIBRARIES)
    ]
    if kind(environment) is not MachineKind.WSL2:
        yield reported or skip("not WSL 2", evidence=[known(environment, "system.machine_kind")])
    elif drivers or foreign:
        evidence = [
            Evidence("packages", f"{item.name} {item.version}", environment.packages.source) for item in drivers[:3]
        ]
        evidence += [
            Evidence("driver.libraries", item.path, environment.driver.libraries.source) for item in foreign[:2]
        ]
        yield _LINUX_DRIVER.found(evidence)
    elif reported:
        yield reported
    elif environment.packages.known or environment.driver.libraries.known:
        yield ok("no Linux driver inside WSL", evidence=[known(environment, "packages", "none of the driver's")])
    else:
        yield unknown("packages and libraries are not known")


@check(
    _UNREACHED,
    layer=Layer.PLACE,
    rank=8,
    any_of=("system.machine_kind", "messages"),
    explained_by=(
        "wsl1",
        "wsl-driver-inside",
        "wsl-gpu-in-tcc-mode",
        "wsl-container-toolkit-too-old",
        "no-cgroups-with-rootful-engine",
        "no-gpu-on-pci",
    ),
    fix="In a Windows terminal: update WSL and restart it; update the Windows NVIDIA driver.",
    references=threads("microsoft/WSL#5548", "microsoft/WSL#11888", "microsoft/WSL#7716"),
)
def wsl_libcuda_missing(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """WSL 2 has /dev/dxg and the libcuda that the Windows driver installs in /usr/lib/wsl/lib."""
    refused = answered(environment, "nvml", "OPERATING_SYSTEM")
    works = bool(environment.gpus.value) and not refused
    heard = seen(environment, _UNREACHED.id, without=_AT_EACH_START if works else "")
    reported = _UNREACHED.reported(environment) if heard else None
    unreached = [message for id, *variants in _OF_A_DRIVER for message in seen(environment, id, *variants)]
    if kind(environment) is not MachineKind.WSL2:
        other = _not_copied(environment) or _not_on_loader_path(environment) or reported
        yield other or skip("not WSL 2", evidence=[known(environment, "system.machine_kind")])
    elif has_library(environment, CUDA) is False or refused:
        yield _UNREACHED.found([known(environment, "driver.libraries"), *refused])
    elif reported:
        yield _not_on_path(environment) or _not_on_loader_path(environment) or reported
    elif unreached:
        yield _UNREACHED.found(message_evidence(environment, unreached))
    elif has_library(environment, CUDA):
        yield ok("the Windows driver's libcuda is present", evidence=[known(environment, "driver.libraries", CUDA)])
    elif works:
        yield ok("the Windows driver responds", evidence=[known(environment, "gpus", "listed")])
    else:
        yield unknown("cannot tell which libraries are installed", evidence=[known(environment, "driver.libraries")])


def _not_copied(environment: Environment) -> Outcome | None:
    """The fault in a guest of Hyper-V that shares the GPU, where WSL's own DirectX libraries were not copied along."""
    missing = seen(environment, _UNREACHED.id, *_NO_DXCORE)
    return (
        _UNREACHED.found(
            message_evidence(environment, missing),
            title="libdxcore.so is missing next to the Windows driver's libraries",
            impact="The driver's libraries reach the GPU only through libdxcore.so, so NVML and CUDA fail.",
            remedy=Remedy(
                "The driver's folder on Windows (System32\\lxss\\lib) does not contain the DirectX libraries; WSL 2 "
                "includes them itself. On the same host, in a WSL 2 distribution, pack /usr/lib/wsl/lib (it has "
                "libdxcore.so, libd3d12.so and libd3d12core.so too), copy it into the guest at the same place, and run "
                "the command there.",
                (fixed("sudo ldconfig"),),
            ),
        )
        if missing
        else None
    )


def _not_on_loader_path(environment: Environment) -> Outcome | None:
    """The fault of a library that opens libcuda.so by its plain name, which only the driver's folder has."""
    asked = seen(environment, _UNREACHED.id, "libcuda-so")
    return (
        _UNREACHED.found(
            message_evidence(environment, asked),
            title=f"A library looks for libcuda.so, which WSL keeps only in {_OF_WINDOWS_DRIVER}",
            impact="cuDNN and other libraries that open libcuda.so by name do not load, although the driver works.",
            remedy=on_loader_path(environment),
        )
        if asked
        else None
    )


def _not_on_path(environment: Environment) -> Outcome | None:
    """The fault where a program looked for libcuda in LD_LIBRARY_PATH, which is known and omits the driver's folder."""
    folders = library_path(environment)
    others = {message.signature for message in seen(environment, _UNREACHED.id)} - {f"{_UNREACHED.id}/{_NO_LIBCUDA}"}
    if others or not folders or _OF_WINDOWS_DRIVER in folders:
        return None
    return _UNREACHED.found(
        [
            *message_evidence(environment, seen(environment, _UNREACHED.id)),
            known(environment, "variables", f"LD_LIBRARY_PATH={':'.join(folders)}"),
        ],
        title=f"LD_LIBRARY_PATH does not include {_OF_WINDOWS_DRIVER}, where WSL keeps libcuda",
        impact="Programs that look for libcuda.so in LD_LIBRARY_PATH do not find it, although the driver works.",
        remedy=Remedy(
            f"Add {_OF_WINDOWS_DRIVER} to LD_LIBRARY_PATH. The command applies to this shell; for new shells, also "
            "change the line that sets the variable. If libcuda.so is not in that directory, run wsl --update in a "
            "Windows terminal and update the Windows NVIDIA driver.",
            (export("LD_LIBRARY_PATH", PATH(":".join((_OF_WINDOWS_DRIVER, *folders)))),),
        ),
    )


def _from_nvidia(items: list[Installed]) -> bool:
    """Whether an environment of theirs holds a wheel of NVIDIA for a Jetson, which has nv23.06 in its version."""
    return any(".nv" in wheel.version for item in items for wheel in item.python.distributions)


@check(
    _SERVER_WHEEL,
    layer=Layer.FRAMEWORK_BUILD,
    rank=6,
    any_of=("system.machine_kind", "messages"),
    fix="Install NVIDIA's wheels for the L4T release of this board.",
    references=(_GUIDE, *threads("pytorch/pytorch#86676", "conda-forge/pytorch-cpu-feedstock#303")),
)
def jetson_generic_wheel(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """The frameworks on a Jetson are built for its integrated GPU.

    The package index's aarch64 wheels are for servers or for the CPU, and kernels for desktop GPUs do not run on a
    Jetson.
    """
    from envkit.compat.gpu import CodeMatch, code_match

    items = list(installs(environment, "pytorch", "tensorflow"))
    reported = _SERVER_WHEEL.reported(environment)
    if kind(environment) is not MachineKind.JETSON:
        yield reported or skip("not a Jetson", evidence=[known(environment, "system.machine_kind")])
        return
    if reported:
        yield reported
    elif messages := seen(environment, "cpu-only-wheel"):
        yield _of_cpu_build(environment, matrix, messages)
    elif (messages := seen(environment, "framework-sees-no-gpu")) and not _from_nvidia(items):
        yield _SERVER_WHEEL.found(message_evidence(environment, messages))
    elif not items:
        yield nothing_to_judge(environment, "framework")
    for item in items:
        framework = item.framework
        own = [value for _, value in capable_gpus(environment, matrix)]
        evidence = [
            item.evidence("cuda", framework.cuda or "none"),
            known(environment, "system.platform_model"),
            known(environment, "system.l4t_release"),
        ]
        if framework.cuda_known and framework.cuda is None and not framework.rocm:
            title = f"{framework.package} is a CPU build on a Jetson"
            yield _SERVER_WHEEL.found(evidence, title=title, subject=item.subject)
        elif (
            framework.sm_arch_list is not None
            and own
            and any(
                code_match(each, framework.sm_arch_list, framework.ptx_arch_list) is not CodeMatch.NATIVE
                for each in own
            )
        ):
            targets = item.evidence("sm_arch_list", " ".join(str(code) for code in framework.sm_arch_list))
            title = f"{framework.package} has no kernels for this Jetson ({own[0].sm})"
            yield _SERVER_WHEEL.found([*evidence, targets], title=title, subject=item.subject)
        elif framework.sm_arch_list is not None and own:
            yield ok(f"{framework.package} has kernels for this Jetson", subject=item.subject, evidence=evidence)
        else:
            yield unknown(
                f"which GPUs {framework.package} has kernels for is not known", subject=item.subject, evidence=evidence
            )


def _of_cpu_build(environment: Environment, matrix: Matrix, messages: tuple[Message, ...]) -> Outcome:
    """What a message of a CPU build tells: torchvision's alone beside NVIDIA's own torch is torchvision's."""
    evidence = message_evidence(environment, messages)
    if all(message.signature.endswith("/vision-nms") for message in messages) and (
        given := jetson_vision(environment, matrix)
    ):
        title = "torchvision has no operators for CUDA on a Jetson"
        return _SERVER_WHEEL.found(evidence, title=title, remedy=given)
    return _SERVER_WHEEL.found(evidence, title="A CPU build is installed on a Jetson")


@check(
    "jetson-no-nvml",
    title="A Jetson has no NVML",
    layer=Layer.PLACE,
    rank=90,
    any_of=("system.machine_kind", "messages"),
    fix="No action is needed; use tegrastats instead.",
    references=threads("NVIDIA/nvidia-container-toolkit#1853"),
)
def jetson_no_nvml(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """On a Jetson, nvidia-smi and NVML may be missing or report nothing; that says nothing about its GPU."""
    if kind(environment) is not MachineKind.JETSON:
        yield skip("not a Jetson", evidence=[known(environment, "system.machine_kind")])
    elif environment.driver.nvml.known and environment.driver.nvml.get().code == 0:
        yield ok("NVML works on this Jetson", evidence=[known(environment, "driver.nvml", "0")])
    else:
        normal = (*seen(environment, "driver-not-installed", _NO_SMI), *seen(environment, "nvml-library-missing"))
        evidence = [known(environment, "system.machine_kind"), known(environment, "driver.nvml")]
        for message in normal:
            evidence += message_evidence(environment, [message])
        yield ok("a Jetson without NVML is normal: use tegrastats", evidence=evidence)
