"""The driver's two sides, its nodes and services, libcuda's answers."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from envkit.base.versions import Version
from envkit.capture.recorded import Entry
from envkit.host.base import CommandResult
from envkit.model import Problem
from envkit.probe import cuda_driver, driver, nvml, starting
from tests.fakes.memory_host import Content, MemoryHost, big, link, node, program

LIB = "/usr/lib/x86_64-linux-gnu"
PROPRIETARY = """NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.247.01  Wed Apr 16 12:00:00 UTC 2025
GCC version:  gcc version 12.2.0 (Debian 12.2.0-14)
"""
OPEN = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build  (x@y)  Sun Jul 27\n"
INFORMATION = """Model: \t\t NVIDIA A100-SXM4-80GB
GPU UUID: \t {uuid}
Video BIOS: \t 92.00.36.00.02
Bus Location: \t 0000:65:00.0
Device Minor: \t 0
GPU Excluded:\t {excluded}
"""


@pytest.mark.parametrize(
    ("text", "version", "is_open"), [(PROPRIETARY, "535.247.01", False), (OPEN, "580.65.06", True)]
)
def test_the_loaded_module(text: str, version: str, is_open: bool) -> None:
    facts = driver.probe(MemoryHost({driver.VERSION_FILE: text}))
    assert facts["driver.kernel_module"].get() == Version.parse(version)
    assert str(facts["driver.kernel_module"].get()) == version
    assert facts["driver.open_kernel_module"].get() is is_open


def test_sysfs_comes_first_and_garbage_is_unparsable() -> None:
    facts = driver.probe(MemoryHost({"/sys/module/nvidia/version": "384.81\n", driver.VERSION_FILE: PROPRIETARY}))
    assert (str(facts["driver.kernel_module"].get()), facts["driver.kernel_module"].source) == (
        "384.81",
        "/sys/module/nvidia/version",
    )
    assert driver.probe(MemoryHost({driver.VERSION_FILE: "?\n"}))["driver.kernel_module"].problem is Problem.UNPARSABLE
    assert driver.probe(MemoryHost({}))["driver.kernel_module"].problem is Problem.ABSENT


def _libraries(version: str = "535.161.07") -> dict[str, Content]:
    return {
        f"{LIB}/libcuda.so.1": link(f"libcuda.so.{version}"),
        f"{LIB}/libcuda.so.{version}": big(29_000_000),
        f"{LIB}/libnvidia-ml.so.1": link(f"libnvidia-ml.so.{version}"),
        f"{LIB}/libnvidia-ml.so.{version}": big(1_800_000),
    }


def test_module_and_library_versions_are_two_facts() -> None:
    facts = driver.probe(MemoryHost({driver.VERSION_FILE: PROPRIETARY, **_libraries("550.54.15")}))
    assert str(facts["driver.kernel_module"].get()) == "535.247.01"
    assert (str(facts["driver.user_space"].get()), facts["driver.user_space"].source) == (
        "550.54.15",
        f"{LIB}/libcuda.so.550.54.15",
    )


def test_stubs_and_compat_libraries_are_not_the_driver() -> None:
    host = MemoryHost(
        {
            "/usr/local/cuda-12.4/lib64/stubs/libcuda.so": big(80_000),
            "/usr/local/cuda-12.4/compat/libcuda.so.550.54.15": big(29_000_000),
            "/usr/local/cuda-12.4/compat/libcuda.so.1": link("libcuda.so.550.54.15"),
        }
    )
    facts = driver.probe(host)
    kinds = {(item.name, item.stub, item.compat, str(item.version)) for item in facts["driver.libraries"].get()}
    assert kinds == {("libcuda.so.1", True, False, "None"), ("libcuda.so.1", False, True, "550.54.15")}
    assert facts["driver.user_space"].problem is Problem.ABSENT


def test_two_versions_side_by_side_are_both_listed() -> None:
    files = {**_libraries("535.161.07"), f"{LIB}/libcuda.so.470.256.02": big(20_000_000)}
    libraries = driver.probe(MemoryHost(files))["driver.libraries"].get()
    assert {str(item.version) for item in libraries if item.name == "libcuda.so.1"} == {"535.161.07", "470.256.02"}


def test_wsl_names_carry_no_version() -> None:
    host = MemoryHost(
        {"/usr/lib/wsl/lib/libcuda.so.1.1": big(1_000_000), "/usr/lib/wsl/lib/libcuda.so.1": link("libcuda.so.1.1")}
    )
    (library,) = driver.probe(host)["driver.libraries"].get()
    assert (library.name, library.version) == ("libcuda.so.1", None)


def test_inside_a_container_mounted_libraries_are_told_from_baked_ones() -> None:
    mount = f"90 80 8:1 {LIB}/libcuda.so.535.161.07 {LIB}/libcuda.so.535.161.07 ro - ext4 /dev/sda1 ro\n"
    host = MemoryHost(
        {
            **_libraries(),
            "/.dockerenv": "",
            "/proc/sys/kernel/osrelease": "6.1.0\n",
            "/proc/self/mountinfo": mount,
        }
    )
    mounted = {item.name: item.mounted for item in driver.probe(host)["driver.libraries"].get()}
    assert mounted == {"libcuda.so.1": True, "libnvidia-ml.so.1": False}


def test_the_modules_own_list_of_gpus() -> None:
    gpus = {
        "0000:65:00.0": INFORMATION.format(uuid="GPU-1-2", excluded="No"),
        "0000:ca:00.0": INFORMATION.format(uuid="GPU-????????-????", excluded="Yes"),
    }
    facts = driver.probe(MemoryHost({f"{starting.GPUS}/{name}/information": text for name, text in gpus.items()}))
    assert facts["driver.procfs_gpus"].get() == ("0000:65:00.0", "0000:ca:00.0")
    assert facts["driver.excluded_gpus"].get() == ("0000:ca:00.0",)
    assert facts["driver.uninitialised_gpus"].get() == ("0000:ca:00.0",)


def test_parameters_services_and_majors() -> None:
    facts = driver.probe(
        MemoryHost(
            {
                "/proc/driver/nvidia/params": 'DeviceFileMode: 432\nPreserveVideoMemoryAllocations: 0\nRmMsg: ""\n',
                "/proc/devices": "Character devices:\n  1 mem\n195 nvidia\n508 nvidia-uvm\n\nBlock devices:\n  8 sd\n",
                "/proc/modules": "nvidia_peermem 1 0 - Live 0x0\n",
                "/run/nvidia-persistenced/socket": Entry("other"),
                "/usr/bin/nvidia-modprobe": Entry("file", b"", mode="4755"),
                "/usr/bin/nvidia-uninstall": program(),
                "/var/log/nvidia-installer.log": "nvidia-installer log file\n  version: 535.104.05\n",
            }
        )
    )
    assert facts["driver.params"].get()["DeviceFileMode"] == "432"
    assert facts["driver.suspended_memory_kept"].get() is False
    assert facts["driver.device_majors"].get() == {"nvidia": 195, "nvidia-uvm": 508}
    assert facts["driver.peermem_loaded"].get() is True
    assert facts["driver.persistence_daemon"].get() is True
    assert facts["driver.modprobe_setuid"].get() is True
    assert str(facts["driver.runfile_installed"].get()) == "535.104.05"


def test_nodes_with_their_outcome() -> None:
    host = MemoryHost(
        {
            "/dev/nvidia0": node("195:0"),
            "/dev/nvidiactl": node("195:255", mode="0660", group="video", accessible=False),
            "/dev/nvidia-caps/nvidia-cap1": node("234:1"),
            "/dev/nvidia-uvm": node("508:0"),
            "/dev/nvidia-notes.txt": "not a node",
        },
        queries={"nodes": {"/dev/nvidia0": "EPERM", "/dev/nvidiactl": "EACCES", "/dev/nvidia-uvm": "ENXIO"}},
    )
    nodes = {item.path: item for item in driver.nodes(host)["driver.device_nodes"].get()}
    assert set(nodes) == {"/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-caps/nvidia-cap1", "/dev/nvidia-uvm"}
    uvm = nodes["/dev/nvidia-uvm"]
    assert (uvm.open_error, uvm.accessible) == ("ENXIO", True), "no driver behind it is no matter of rights"
    assert (nodes["/dev/nvidia0"].mode, nodes["/dev/nvidia0"].open_error) == ("0666", "EPERM")
    assert nodes["/dev/nvidia0"].accessible is False, "a device cgroup refuses what the mode allows"
    assert (nodes["/dev/nvidiactl"].group, nodes["/dev/nvidiactl"].device) == ("video", "195:255")
    assert nodes["/dev/nvidia-caps/nvidia-cap1"].accessible is True


def test_no_node_is_absent() -> None:
    assert driver.nodes(MemoryHost({"/dev/null": node("1:3")}))["driver.device_nodes"].problem is Problem.ABSENT


MISMATCH = "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 580.178\n"


def test_nvidia_smi_and_the_fabric_manager() -> None:
    host = MemoryHost(
        {"/usr/bin/nvidia-smi": program(), "/usr/bin/nv-fabricmanager": program()},
        commands={
            "/usr/bin/nvidia-smi -L": CommandResult(18, MISMATCH, ""),
            "systemctl is-active nvidia-fabricmanager": CommandResult(3, "failed\n", ""),
            "/usr/bin/nv-fabricmanager --version": "Fabric Manager version is : 535.161.08\n",
        },
    )
    facts = driver.services(host)
    assert (facts["driver.nvidia_smi"].get().code, facts["driver.nvidia_smi"].get().text) == (
        18,
        "NVML library version: 580.178",
    )
    assert facts["driver.fabric_manager"].get() == "failed"
    assert str(facts["driver.fabric_manager_version"].get()) == "535.161.08"
    hung = MemoryHost({"/usr/bin/nvidia-smi": program()}, commands={"/usr/bin/nvidia-smi -L": Problem.TIMED_OUT})
    assert driver.services(hung)["driver.nvidia_smi"].problem is Problem.TIMED_OUT


BOARD = {f"{starting.GPUS}/0000:{bus}:00.0/information": "GPU UUID: GPU-1" for bus in ("19", "2a")}


@pytest.mark.parametrize(
    ("files", "unit", "processes", "expected"),
    [
        ({"/usr/bin/nv-fabricmanager": program()}, "active", (), "running"),
        ({"/usr/bin/nv-fabricmanager": program()}, "inactive", (), "installed"),
        ({"/usr/bin/nv-fabricmanager": program()}, "inactive", ("nv-fabricmanage",), "running"),
        ({"/usr/libexec/nvidia/tesla/bin/nv-fabricmanager": program()}, "active", (), "running"),
        ({}, "", ("nv-fabricmanage", "nvlsm"), "running"),
        ({}, "", ("nvidia-imex",), None),
    ],
    ids=["unit", "stopped", "without-systemd", "other-folder", "in-a-container", "not-at-all"],
)
def test_the_fabric_manager_runs_wherever_its_process_is(
    files: Mapping[str, Content], unit: str, processes: tuple[str, ...], expected: str | None
) -> None:
    commands = {"systemctl is-active nvidia-fabricmanager": CommandResult(0 if unit == "active" else 3, unit, "")}
    host = MemoryHost(
        {**BOARD, **files}, commands=commands if unit else {}, queries={"services": {"running": list(processes)}}
    )
    assert driver.services(host)["driver.fabric_manager"].value == expected


def test_the_libraries_of_an_operator_are_those_of_the_driver() -> None:
    folder = "/run/nvidia/driver/usr/lib/x86_64-linux-gnu"
    files: dict[str, Content] = {driver.VERSION_FILE: PROPRIETARY}
    for stem in ("libcuda", "libnvidia-ml"):
        files |= {f"{folder}/{stem}.so.1": link(f"{stem}.so.535.247.01"), f"{folder}/{stem}.so.535.247.01": big(1000)}
    facts = driver.probe(MemoryHost(files))
    assert str(facts["driver.user_space"].get()) == "535.247.01"


@pytest.mark.parametrize(
    ("answer", "code", "count", "visible", "version"),
    [
        ({"init": {"code": 0, "name": "X"}, "driver_cuda_version": 12040, "device_count": 8}, 0, 8, 8, "12.4"),
        (
            {
                "init": {"code": 0, "name": "CUDA_SUCCESS"},
                "driver_cuda_version": 9000,
                "device_count": 8,
                "visible": {"init": {"code": 100, "name": "CUDA_ERROR_NO_DEVICE"}},
            },
            0,
            8,
            0,
            "9.0",
        ),
        ({"init": {"code": 100, "name": "CUDA_ERROR_NO_DEVICE"}, "driver_cuda_version": 13000}, 100, 0, 0, "13.0"),
        ({"init": {"code": 803, "name": "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"}}, 803, None, None, None),
    ],
)
def test_libcuda(
    answer: Mapping[str, object], code: int, count: int | None, visible: int | None, version: str | None
) -> None:
    facts = cuda_driver.probe(MemoryHost({}, queries={"cuda": answer}), 1.0)
    assert facts["driver.cuda_init"].get().code == code
    assert facts["driver.cuda_device_count"].value == count
    assert facts["driver.cuda_visible_count"].value == visible
    assert facts["cuda"].value == (Version.parse(version) if version else None)


def test_no_libcuda_is_absent() -> None:
    facts = cuda_driver.probe(MemoryHost({}, queries={"cuda": {"load_error": "libcuda.so.1: cannot open"}}), 1.0)
    assert {fact.problem for fact in facts.values()} == {Problem.ABSENT}


@pytest.mark.parametrize("answer", [{"init": "x"}, {"init": {"code": "0", "name": ""}}, {}])
def test_answers_of_another_shape_are_unparsable(answer: Mapping[str, object]) -> None:
    host = MemoryHost({}, queries={"cuda": answer, "nvml": answer})
    assert cuda_driver.probe(host, 1.0)["driver.cuda_init"].problem is Problem.UNPARSABLE
    assert nvml.probe(host, 1.0)["driver.nvml"].problem is Problem.UNPARSABLE


def test_processes_that_no_longer_exist() -> None:
    device = {"index": 0, "name": "NVIDIA A100", "processes": [7, 8]}
    answer = {"init": {"code": 0, "name": "NVML_SUCCESS"}, "devices": [device]}
    files: dict[str, Content] = {
        "/proc/7/comm": "python\n",
        "/proc/sys/kernel/osrelease": "6.1\n",
        "/proc/cpuinfo": "processor : 0\n",
    }
    (gpu,) = nvml.probe(MemoryHost(files, queries={"nvml": answer}), 1.0)["gpus"].get()
    assert gpu.lost_processes == (8,)
    inside = MemoryHost({**files, "/.dockerenv": ""}, queries={"nvml": answer})
    assert nvml.probe(inside, 1.0)["gpus"].get()[0].lost_processes is None, "the pids are the host's"
    hidden = MemoryHost(
        {**files, "/proc/self/mountinfo": "5 1 0:5 / /proc rw - proc proc rw,hidepid=2\n"}, queries={"nvml": answer}
    )
    assert nvml.probe(hidden, 1.0)["gpus"].get()[0].lost_processes is None, "other users' processes cannot be seen"
