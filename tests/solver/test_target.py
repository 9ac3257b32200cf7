from __future__ import annotations

from dataclasses import replace

import pytest

from envkit.base.versions import ComputeCapability, Version
from envkit.model import (
    Driver,
    Environment,
    Gpu,
    MachineKind,
    Observed,
    OsRelease,
    PciGpu,
    Problem,
    System,
    found,
    missing,
)
from envkit.solver.parts import parts_of, without
from envkit.solver.request import Request, TargetGpu
from envkit.solver.target import for_environment, gpus_of
from tests.solver.asking import matrix


def v(text: str) -> Version:
    return Version.parse(text)


def machine(
    *,
    gpus: tuple[Gpu, ...] | None = None,
    pci: tuple[PciGpu, ...] | None = None,
    module: str = "",
    library: str = "",
    kind: MachineKind = MachineKind.METAL,
) -> Environment:
    absent: Observed[Version] = missing(Problem.ABSENT, "/proc/driver/nvidia/version")
    return Environment(
        system=System(
            os=found(OsRelease("debian12", "debian", "12"), "/etc/os-release"),
            architecture=found("aarch64", "uname"),
            glibc=found(v("2.36"), "libc"),
            machine_kind=found(kind, "dmi"),
        ),
        driver=Driver(
            kernel_module=found(v(module), "proc") if module else absent,
            user_space=found(v(library), "libcuda") if library else absent,
        ),
        gpus=found(gpus, "nvml") if gpus is not None else missing(Problem.ABSENT, "nvml"),
        pci_gpus=found(pci, "sysfs") if pci is not None else missing(Problem.DENIED, "sysfs"),
    )


def test_everything_that_was_observed_is_filled_in() -> None:
    seen = machine(gpus=(Gpu(0, "NVIDIA GeForce GTX 1080 Ti"),), module="580.65.06", library="535.54.03")
    request = for_environment(Request(), seen, matrix())
    assert (request.os_id, request.architecture, request.glibc) == ("debian12", "aarch64", v("2.36"))
    assert request.driver == v("580.65.06")  # the module is what runs; libraries may already be another version
    (gpu,) = request.gpus
    assert (str(gpu.compute_capability), gpu.last_driver_branch) == ("6.1", 580)


def test_nothing_observed_leaves_everything_open() -> None:
    assert for_environment(Request(), Environment(), matrix()) == Request()


def test_what_the_user_asked_for_stays() -> None:
    asked = Request(
        os_id="ubuntu16.04",
        architecture="x86_64",
        gpus=(TargetGpu(ComputeCapability(9, 0)),),
        driver=v("550.54.14"),
        asked=frozenset({"os_id", "arch", "gpus", "driver"}),
    )
    seen = machine(gpus=(Gpu(0, "NVIDIA A100-SXM4-40GB"),), module="580.65.06")
    assert for_environment(asked, seen, matrix()) == asked  # and a named system keeps its own glibc


def test_without_the_module_the_libraries_speak_for_the_driver() -> None:
    assert for_environment(Request(), machine(library="535.54.03"), matrix()).driver == v("535.54.03")


def test_an_image_takes_the_driver_and_gpus_but_not_the_system() -> None:
    seen = machine(gpus=(Gpu(0, "NVIDIA GeForce RTX 3090"),), module="535.54.03", kind=MachineKind.WSL2)
    request = for_environment(Request(container=True), seen, matrix())
    assert (request.os_id, request.glibc, request.platform) == (None, None, "linux")
    assert request.driver == v("535.54.03") and len(request.gpus) == 1


def test_gpus_without_a_driver_come_from_their_pci_ids() -> None:
    model = matrix().gpu_by_name("GeForce RTX 2080 Ti")
    assert model is not None
    known = PciGpu("0000:01:00.0", model.device_ids[0])
    bare = PciGpu("0000:02:00.0", "FFFF", compute_capability=ComputeCapability(8, 6), name="something new")
    nameless = PciGpu("0000:03:00.0", "FFFE")
    request = for_environment(Request(), machine(pci=(known, bare, nameless)), matrix())
    assert [str(gpu.compute_capability) for gpu in request.gpus] == ["7.5", "8.6"]


def test_the_driver_tells_a_gpu_better_than_its_name() -> None:
    odd = Gpu(0, "NVIDIA GeForce RTX 3090", compute_capability=ComputeCapability(8, 9))
    new = Gpu(1, "NVIDIA Unheard Of", compute_capability=ComputeCapability(12, 0))
    silent = Gpu(2, "NVIDIA Unheard Of")
    request = for_environment(Request(), machine(gpus=(odd, new, silent)), matrix())
    assert [str(gpu.compute_capability) for gpu in request.gpus] == ["8.9", "12.0"]


def test_alike_gpus_count_once() -> None:
    cards = tuple(Gpu(index, "NVIDIA A100-SXM4-40GB") for index in range(8))
    assert len(for_environment(Request(), machine(gpus=cards), matrix()).gpus) == 1


@pytest.mark.parametrize(
    ("kind", "platform"),
    [(MachineKind.WSL2, "wsl"), (MachineKind.JETSON, "jetson"), (MachineKind.VM, "linux")],
)
def test_platforms(kind: MachineKind, platform: str) -> None:
    assert for_environment(Request(), machine(kind=kind), matrix()).platform == platform


def test_a_linux_driver_is_none_for_windows() -> None:
    """The numbers of Windows drivers are others, and the system of this machine is not the one that was asked for."""
    for platform in ("windows", "wsl"):
        asked = Request(platform=platform, os_id=None if platform == "windows" else "wsl")
        request = for_environment(asked, machine(module="580.65.06"), matrix())
        assert (request.platform, request.driver, request.os_id) == (platform, None, asked.os_id)
    inside = for_environment(
        Request(os_id="wsl", platform="wsl"), machine(module="581.15", kind=MachineKind.WSL2), matrix()
    )
    assert inside.driver == v("581.15")


def test_a_report_from_windows_is_judged_as_one() -> None:
    seen = machine(library="581.15")
    told = replace(seen, system=replace(seen.system, os=found(OsRelease("windows", "windows", "11"), "text")))
    request = for_environment(Request(), told, matrix())
    assert (request.platform, request.os_id, request.driver) == ("windows", None, v("581.15"))
    beside = for_environment(Request(os_id="ubuntu22.04"), told, matrix())
    assert (beside.platform, beside.os_id, beside.driver) == ("wsl", "ubuntu22.04", v("581.15"))


def test_without_windows_its_driver_is_still_judged_by_its_own_numbers() -> None:
    request = Request(platform="windows", driver=v("581.15"), gpus=(TargetGpu(ComputeCapability(6, 1)),))
    (platform,) = (part for part in parts_of(request) if part.option == "platform")
    assert without(request, [platform]).platform == "wsl"
    assert without(request, [part for part in parts_of(request) if part.option != "gpu"]).platform == "linux"


def test_an_unknown_kind_of_machine_is_no_platform() -> None:
    seen = machine()
    unknown = replace(seen, system=replace(seen.system, machine_kind=missing(Problem.DENIED)))
    assert for_environment(Request(), unknown, matrix()).platform == "linux"


def test_a_gpu_that_is_built_onto_one_processor_names_it_on_any_machine() -> None:
    spark = TargetGpu(ComputeCapability.parse("12.1"), "NVIDIA GB10", architecture="aarch64")
    here = replace(machine(), system=replace(machine().system, architecture=found("x86_64", "uname")))
    assert for_environment(Request(gpus=(spark,), architecture="aarch64"), here, matrix()).architecture == "aarch64"
    assert for_environment(Request(), here, matrix()).architecture == "x86_64"


@pytest.mark.parametrize(
    ("name", "capability"),
    [("GeForce RTX 5080", "12.0"), ("GeForce GTX 960", "5.2"), ("A100", "8.0"), ("GeForce 50 series", "12.0")],
)
def test_a_gpu_that_is_only_named_counts_for_the_plan(name: str, capability: str) -> None:
    told = Environment(pci_gpus=found((PciGpu("", "", driver=None, name=name),), "text"))
    assert [str(gpu.compute_capability) for gpu in gpus_of(told, matrix())] == [capability]


def test_a_name_that_fits_several_capabilities_decides_nothing() -> None:
    told = Environment(pci_gpus=found((PciGpu("", "", driver=None, name="GeForce"),), "text"))
    assert gpus_of(told, matrix()) == ()
