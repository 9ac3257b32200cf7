"""Places with rules of their own: Linux inside Windows (WSL) and NVIDIA's Jetson boards."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit.checks.containers.container_driver import DRIVER_PACKAGE
from envkit.checks.engine.command import fixed
from envkit.checks.engine.evidence import kind, known
from envkit.checks.engine.findings import Evidence, Outcome, Remedy, fail, ok, skip, unknown
from envkit.checks.engine.messages import message_evidence, seen, told
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.engine.remedies import remedy
from envkit.checks.frameworks.installs import capable_gpus, installs, nothing_to_judge
from envkit.checks.nvidia_driver.driver_state import CUDA, answered, has_library
from envkit.model import Environment, MachineKind

if TYPE_CHECKING:
    from envkit.tables import Matrix

_NO_SMI = "nvidia-smi-not-found"
_UNREACHED = (  # messages of checks about a Linux driver; in WSL 2 they say that the one of Windows does not answer
    ("driver-not-installed", "torch", "libcuda-missing", "tensorflow-303"),
    ("driver-module-not-loaded", "nvidia-smi", "nvml"),
)
_WSL_LIBRARIES = "/usr/lib/wsl/"
_GUIDE = "https://docs.nvidia.com/deeplearning/frameworks/install-pytorch-jetson-platform/index.html"


@check(
    "wsl1",
    title="WSL 1 has no GPU",
    layer=Layer.PLACE,
    rank=5,
    any_of=("system.machine_kind", "messages"),
    fix="Convert the distribution to WSL 2.",
    references=threads("microsoft/WSL#5548"),
)
def wsl1(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """Linux inside Windows runs as WSL 2, the one that reaches the GPU."""
    fix = Remedy(
        "Convert the distribution, in a Windows terminal.",
        (fixed("wsl --list --verbose"), fixed("wsl --set-version DISTRIBUTION 2")),
    )
    said = told(
        environment, "wsl1", "This is WSL 1, which has no GPU", impact="No Linux program can use the GPU.", remedy=fix
    )
    if kind(environment) is MachineKind.WSL1:
        yield fail(
            "This is WSL 1, which has no GPU",
            evidence=[known(environment, "system.machine_kind"), known(environment, "system.kernel")],
            impact="No Linux program can use the GPU.",
            remedy=fix,
        )
    elif said:
        yield from said
    elif kind(environment) is MachineKind.WSL2:
        yield ok("this is WSL 2", evidence=[known(environment, "system.kernel")])
    else:
        yield skip("not WSL", evidence=[known(environment, "system.machine_kind")])


@check(
    "wsl-driver-inside",
    title="A Linux driver is installed inside WSL",
    layer=Layer.PLACE,
    rank=7,
    any_of=("system.machine_kind", "messages"),
    fix="Purge the driver packages; install cuda-toolkit-X-Y only.",
    references=threads("microsoft/WSL#8587", "microsoft/WSL#5663"),
)
def wsl_driver_inside(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """In WSL the driver is that of Windows: no Linux driver package hides its libcuda."""
    given = remedy(environment, "Remove the Linux driver; the Windows driver serves WSL.", "purge-driver")
    fix = Remedy(given.advice, (*given.steps, fixed("sudo ldconfig")))
    impact = "nvidia-smi and CUDA break: the Linux libcuda hides the one of the Windows driver."
    said = told(environment, "wsl-driver-inside", "A Linux driver is installed inside WSL", impact=impact, remedy=fix)
    packages = environment.packages.get() if environment.packages.known else ()
    drivers = [item for item in packages if DRIVER_PACKAGE.match(item.name) and item.state == "installed"]
    libraries = environment.driver.libraries.get() if environment.driver.libraries.known else ()
    foreign = [
        item
        for item in libraries
        if item.name == "libcuda.so.1" and not item.stub and not item.path.startswith(_WSL_LIBRARIES)
    ]
    if kind(environment) is not MachineKind.WSL2:
        yield from said or [skip("not WSL 2", evidence=[known(environment, "system.machine_kind")])]
    elif drivers or foreign:
        evidence = [
            Evidence("packages", f"{item.name} {item.version}", environment.packages.source) for item in drivers[:3]
        ]
        evidence += [
            Evidence("driver.libraries", item.path, environment.driver.libraries.source) for item in foreign[:2]
        ]
        yield fail("A Linux driver is installed inside WSL", evidence=evidence, impact=impact, remedy=fix)
    elif said:
        yield from said
    elif environment.packages.known or environment.driver.libraries.known:
        yield ok("no Linux driver inside WSL", evidence=[known(environment, "packages", "none of the driver's")])
    else:
        yield unknown("packages and libraries are not known")


@check(
    "wsl-libcuda-missing",
    title="WSL does not reach the Windows driver",
    layer=Layer.PLACE,
    rank=8,
    any_of=("system.machine_kind", "messages"),
    explained_by=("wsl1", "wsl-driver-inside"),
    fix="Update the Windows driver, run `wsl --update`, restart WSL.",
    references=threads("microsoft/WSL#5548", "microsoft/WSL#11888", "microsoft/WSL#7716"),
)
def wsl_libcuda_missing(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """In WSL 2 there are /dev/dxg and the libcuda that the Windows driver puts into /usr/lib/wsl/lib."""
    fix = Remedy(
        "In a Windows terminal: update WSL and restart it; update the NVIDIA driver of Windows.",
        (fixed("wsl --update"), fixed("wsl --shutdown")),
    )
    impact = "No program in WSL can use the GPU."
    refused = answered(environment, "nvml", "OPERATING_SYSTEM")
    said = told(environment, "wsl-libcuda-missing", "WSL does not reach the Windows driver", impact=impact, remedy=fix)
    unreached = [message for id, *variants in _UNREACHED for message in seen(environment, id, *variants)]
    if kind(environment) is not MachineKind.WSL2:
        yield from said or [skip("not WSL 2", evidence=[known(environment, "system.machine_kind")])]
    elif has_library(environment, CUDA) is False or refused:
        yield fail(
            "WSL does not reach the Windows driver",
            evidence=[known(environment, "driver.libraries"), *refused],
            impact=impact,
            remedy=fix,
        )
    elif said:
        yield from said
    elif unreached:
        evidence = message_evidence(environment, unreached)
        yield fail("WSL does not reach the Windows driver", evidence=evidence, impact=impact, remedy=fix)
    elif has_library(environment, CUDA):
        yield ok("the Windows driver's libcuda is there", evidence=[known(environment, "driver.libraries", CUDA)])
    else:
        yield unknown("which libraries are there is not known", evidence=[known(environment, "driver.libraries")])


@check(
    "jetson-generic-wheel",
    title="A wheel for servers is installed on a Jetson",
    layer=Layer.FRAMEWORK_BUILD,
    rank=6,
    any_of=("system.machine_kind", "messages"),
    fix="Install the wheels that are made for this board's L4T release.",
    references=(_GUIDE, *threads("pytorch/pytorch#86676", "conda-forge/pytorch-cpu-feedstock#303")),
)
def jetson_generic_wheel(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """On a Jetson the frameworks are builds for its integrated GPU.

    aarch64 wheels of the package index are for servers or for the CPU; desktop code does not serve these GPUs.
    """
    from envkit.compat.gpu import CodeMatch, code_match

    release = environment.system.l4t_release
    items = list(installs(environment, "pytorch", "tensorflow"))
    fix = remedy(
        environment,
        f"Install the wheels that NVIDIA makes for {f'L4T {release.get()}' if release.known else 'this board'} (its "
        "guide lists them), or run a container that has them.",
        "jetson-container",
        framework=items[0].framework.name if items else "pytorch",
    )
    impact = 'CUDA is not available, or every kernel fails with "no kernel image".'
    said = told(
        environment, "jetson-generic-wheel", "A wheel for servers is installed on a Jetson", impact=impact, remedy=fix
    )
    if kind(environment) is not MachineKind.JETSON:
        yield from said or [skip("not a Jetson", evidence=[known(environment, "system.machine_kind")])]
        return
    said = said or told(
        environment, "cpu-only-wheel", "A CPU build is installed on a Jetson", impact=impact, remedy=fix
    )
    yield from said
    if not items and not said:
        yield nothing_to_judge(environment, "a framework")
    for item in items:
        framework = item.framework
        own = [value for _, value in capable_gpus(environment, matrix)]
        evidence = [
            item.evidence("cuda", framework.cuda or "none"),
            known(environment, "system.platform_model"),
            known(environment, "system.l4t_release"),
        ]
        if framework.cuda_known and framework.cuda is None and not framework.rocm:
            yield fail(
                f"{framework.package} is a CPU build on a Jetson",
                subject=item.subject,
                evidence=evidence,
                impact=impact,
                remedy=fix,
            )
        elif (
            framework.sm_arch_list is not None
            and own
            and any(
                code_match(each, framework.sm_arch_list, framework.ptx_arch_list) is not CodeMatch.NATIVE
                for each in own
            )
        ):
            yield fail(
                f"{framework.package} holds no code for this Jetson ({own[0]})",
                subject=item.subject,
                evidence=[
                    *evidence,
                    item.evidence("sm_arch_list", " ".join(str(code) for code in framework.sm_arch_list)),
                ],
                impact=impact,
                remedy=fix,
            )
        elif framework.sm_arch_list is not None and own:
            yield ok(f"{framework.package} holds code for this Jetson", subject=item.subject, evidence=evidence)
        else:
            yield unknown(
                f"which GPUs {framework.package} holds code for is not known", subject=item.subject, evidence=evidence
            )


@check(
    "jetson-no-nvml",
    title="A Jetson has no NVML",
    layer=Layer.PLACE,
    rank=90,
    any_of=("system.machine_kind", "messages"),
    fix="No action needed: use tegrastats.",
    references=threads("NVIDIA/nvidia-container-toolkit#1853"),
)
def jetson_no_nvml(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """On a Jetson nvidia-smi and NVML may be missing or empty; that says nothing about its GPU."""
    if kind(environment) is not MachineKind.JETSON:
        yield skip("not a Jetson", evidence=[known(environment, "system.machine_kind")])
    elif environment.driver.nvml.known and environment.driver.nvml.get().code == 0:
        yield ok("this Jetson answers NVML", evidence=[known(environment, "driver.nvml", "0")])
    else:
        normal = (*seen(environment, "driver-not-installed", _NO_SMI), *seen(environment, "nvml-library-missing"))
        evidence = [known(environment, "system.machine_kind"), known(environment, "driver.nvml")]
        for message in normal:
            evidence += message_evidence(environment, [message])
        yield ok("a Jetson without NVML is normal: use tegrastats", evidence=evidence)
