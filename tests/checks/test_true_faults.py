"""The healthy machines of `tests/machines`, each with one true fault: it is the first that fails."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from envkit.checks.engine.findings import Status
from envkit.checks.engine.registry import all_checks
from envkit.checks.engine.runner import run_checks
from tests.checks.software import matrix
from tests.fakes.changed import Change, Evidence, with_change
from tests.fakes.machines import MACHINES, machine_names

NVML_LIBRARY_MISMATCH = (18, "NVML_ERROR_LIB_RM_VERSION_MISMATCH", "Driver/library version mismatch")


def not_ready(machine: Evidence) -> None:
    machine.answers("cuda", 802, "CUDA_ERROR_SYSTEM_NOT_READY")
    for gpu in machine.gpus:
        if "fabric_state" in gpu:
            gpu["fabric_state"] = "in-progress"


def fabric_manager_stopped(machine: Evidence) -> None:
    not_ready(machine)
    for command in machine.part("commands"):
        if "is-active" in command["command"]:
            command.update(exit_code=3, stdout="inactive\n")


def fabric_manager_gone(machine: Evidence) -> None:
    not_ready(machine)
    machine.put("services", {"running": []})


def one_lost(machine: Evidence) -> None:
    lost = machine.gpus.pop(3)
    address = lost["pci_address"][4:].lower()
    machine.part("nvml")["count"] = len(machine.gpus)
    machine.part("cuda")["device_count"] = len(machine.gpus)
    machine.kernel_says(f"NVRM: Xid (PCI:{address[:-2]}): 79, pid=1422, GPU has fallen off the bus.")


def one_hangs(machine: Evidence) -> None:
    machine.gpus[3] = {"index": 3, "name": "", "error": "NVML_ERROR_TIMEOUT"}
    machine.put("cuda", {"problem": "timed-out"})


def link_down(machine: Evidence) -> None:
    machine.gpus[5]["nvlinks_active"] -= 1


def uncorrectable(machine: Evidence) -> None:
    machine.gpus[6]["ecc_uncorrectable"] = 3
    machine.answers("cuda", 214, "CUDA_ERROR_ECC_UNCORRECTABLE")


def no_instance(machine: Evidence) -> None:
    for gpu in machine.gpus:
        if gpu["mig_mode"]:
            gpu["mig_instances"] = []


def libraries_replaced(machine: Evidence) -> None:
    """An upgrade put newer libraries next to the module that is loaded."""
    version = machine.part("nvml")["driver_version"]
    newer = f"{version.split('.')[0]}.999.99"
    for path in [path for path in machine.paths if path.endswith(f".so.{version}")]:
        machine.paths[path.replace(version, newer)] = machine.paths.pop(path)
    for state in machine.paths.values():
        if "link" in state:
            state["link"] = state["link"].replace(version, newer)
    machine.answers("nvml", *NVML_LIBRARY_MISMATCH)
    machine.answers("cuda", 803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH")
    for api in ("nvml", "cuda"):
        machine.part(api)["library"] = machine.part(api)["library"].replace(version, newer)
    for command in machine.part("commands"):
        if command["command"][-1] == "-L":
            command.update(exit_code=18, stdout="Failed to initialize NVML: Driver/library version mismatch\n")


def narrow(machine: Evidence) -> None:
    gpu = machine.gpus[0]
    address = gpu["pci_address"][4:].lower()
    gpu["link_width_current"] = 4
    for write in (machine.device, machine.port):
        write(address, "current_link_width", "4")


def closed_to_user(machine: Evidence) -> None:
    for path, state in machine.paths.items():
        if path.startswith("/dev/nvidia") and state.get("kind") == "char":
            state.update(mode="0660", group="vglusers", accessible=False)
    machine.put("nodes", dict.fromkeys(machine.part("nodes"), "EACCES"))
    machine.answers("nvml", 4, "NVML_ERROR_NO_PERMISSION", "Insufficient Permissions")
    machine.answers("cuda", 100, "CUDA_ERROR_NO_DEVICE")


def refused_by_rules(machine: Evidence) -> None:
    machine.put("nodes", dict.fromkeys(machine.part("nodes"), "EPERM"))
    machine.answers("nvml", 999, "NVML_ERROR_UNKNOWN", "Unknown Error")
    machine.answers("cuda", 999, "CUDA_ERROR_UNKNOWN")


def no_uvm(machine: Evidence) -> None:
    machine.remove("/dev/nvidia-uvm")
    machine.part("nodes").pop("/dev/nvidia-uvm")
    if "/proc/modules" in machine.files:
        lines = machine.files["/proc/modules"].splitlines(keepends=True)
        machine.files["/proc/modules"] = "".join(line for line in lines if not line.startswith("nvidia_uvm"))
    machine.answers("cuda", 999, "CUDA_ERROR_UNKNOWN")


def no_window(machine: Evidence) -> None:
    folder = machine.paths["/sys/bus/pci/devices/0000:01:00.0"]["link"]
    lines = machine.files[f"{folder}/resource"].splitlines()
    machine.files[f"{folder}/resource"] = "\n".join(
        ["0x0000000000000000 0x0000000000ffffff 0x0000000020040200", *lines[1:], ""]
    )
    not_started(machine)


def not_started(machine: Evidence) -> None:
    machine.part("nvml").update(count=0, devices=[])
    machine.answers("cuda", 100, "CUDA_ERROR_NO_DEVICE")
    machine.kernel_says("NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x31:0x40:2568)")


def start_failed(machine: Evidence) -> None:
    machine.part("nvml").update(count=0, devices=[])
    machine.answers("cuda", 100, "CUDA_ERROR_NO_DEVICE")
    machine.kernel_says("NVRM: GPU 0000:00:05.0: RmInitAdapter failed! (0x62:0x0:2477)")


def no_cable(machine: Evidence) -> None:
    machine.answers("nvml", 8, "NVML_ERROR_INSUFFICIENT_POWER", "Insufficient External Power")
    machine.answers("cuda", 100, "CUDA_ERROR_NO_DEVICE")
    machine.kernel_says("NVRM: GPU 0000:05:00.0 does not have the necessary power cables connected.")


def closed_module(machine: Evidence) -> None:
    text = machine.files["/proc/driver/nvidia/version"]
    machine.files["/proc/driver/nvidia/version"] = text.replace("Open Kernel Module for x86_64", "x86_64 Kernel Module")
    for command in machine.part("commands"):
        command["stdout"] = command["stdout"].replace("Dual MIT/GPL", "NVIDIA")
    machine.part("nvml").update(count=0, devices=[])
    machine.answers("cuda", 100, "CUDA_ERROR_NO_DEVICE")
    machine.kernel_says(
        "NVRM: The NVIDIA GPU 0000:01:00.0 (PCI ID: 10de:2f04)",
        "NVRM: installed in this system requires use of the NVIDIA open kernel modules.",
    )


def nouveau(machine: Evidence) -> None:
    machine.remove("/proc/driver/nvidia", "/dev/nvidia", "/sys/module/nvidia", "/run/nvidia-persistenced")
    machine.files["/proc/modules"] = "nouveau 3096576 4 - Live 0x0\n"
    for path, state in machine.paths.items():
        if path.endswith("/driver") and path.startswith("/sys/devices/"):
            state["link"] = "/sys/bus/pci/drivers/nouveau"
    machine.paths["/sys/bus/pci/drivers/nouveau"] = {"kind": "dir"}
    machine.put("nodes", {})
    machine.answers("nvml", 9, "NVML_ERROR_DRIVER_NOT_LOADED")
    machine.answers("cuda", 100, "CUDA_ERROR_NO_DEVICE")


def switched_off(machine: Evidence) -> None:
    machine.files["/etc/prime-discrete"] = "off\n"
    machine.remove("/sys/bus/pci/devices/0000:01:00.0", "/proc/driver/nvidia", "/dev/nvidia", "/sys/module/nvidia")
    machine.files["/proc/modules"] = "i915 3096576 4 - Live 0x0\n"
    machine.put("nodes", {})
    machine.answers("nvml", 9, "NVML_ERROR_DRIVER_NOT_LOADED")
    machine.answers("cuda", 100, "CUDA_ERROR_NO_DEVICE")


def new_kernel(machine: Evidence) -> None:
    nouveau(machine)
    machine.files["/proc/modules"] = "i915 3096576 4 - Live 0x0\n"
    machine.remove("/lib/modules/6.17.5-300.fc43.x86_64/extra")
    for path in [path for path in machine.paths if path.startswith("/sys/devices/") and path.endswith("/driver")]:
        del machine.paths[path]
    machine.paths["/lib/modules/6.17.4-300.fc43.x86_64/extra/nvidia/nvidia.ko"] = {"size": 60000000}
    machine.put("commands", [])


def empty_variable(machine: Evidence) -> None:
    machine.part("machine")["variables"]["CUDA_VISIBLE_DEVICES"] = ""


def tools_only(machine: Evidence) -> None:
    machine.part("machine")["variables"]["NVIDIA_DRIVER_CAPABILITIES"] = "utility"
    machine.remove("/usr/lib/x86_64-linux-gnu/libcuda", "/usr/lib/x86_64-linux-gnu/libnvidia-ptxjit")
    machine.put("cuda", {"problem": "absent", "detail": "libcuda.so.1"})


def no_windows_driver(machine: Evidence) -> None:
    machine.remove("/usr/lib/wsl/lib")
    machine.put("nvml", {"problem": "absent", "detail": "libnvidia-ml.so.1"})
    machine.put("cuda", {"problem": "absent", "detail": "libcuda.so.1"})


def driver_inside(machine: Evidence) -> None:
    machine.paths["/usr/lib/x86_64-linux-gnu/libcuda.so.1"] = {"link": "libcuda.so.580.95.05"}
    machine.paths["/usr/lib/x86_64-linux-gnu/libcuda.so.580.95.05"] = {"size": 28000000}
    machine.answers("cuda", 100, "CUDA_ERROR_NO_DEVICE")


def too_new_for_kepler(machine: Evidence) -> None:
    for part in ("files", "paths", "commands"):
        machine.put(part, json.loads(json.dumps(machine.part(part)).replace("470.256.02", "535.261.03")))
    machine.remove("/proc/driver/nvidia/gpus/", "/dev/nvidia0", "/dev/nvidia1")
    for path in [path for path in machine.paths if path.startswith("/sys/devices/") and path.endswith("/driver")]:
        del machine.paths[path]
    machine.answers("nvml", 9, "NVML_ERROR_DRIVER_NOT_LOADED")
    machine.answers("cuda", 100, "CUDA_ERROR_NO_DEVICE")
    machine.kernel_says(
        "NVRM: The NVIDIA Tesla K80 GPU installed in this system is",
        "NVRM:  supported through the NVIDIA 470.xx Legacy drivers.",
        "NVRM: No NVIDIA GPU found.",
    )


def cuda_sees_none(machine: Evidence) -> None:
    machine.answers("cuda", 100, "CUDA_ERROR_NO_DEVICE")


def license_gone(machine: Evidence) -> None:
    for gpu in machine.gpus:
        gpu["licensed"] = False


def spare_rows_gone(machine: Evidence) -> None:
    machine.gpus[1]["remapped_rows_failed"] = True


FAULTS: tuple[tuple[str, str, Change], ...] = (
    ("ubuntu22.04-8xh200-570", "fabric-manager-not-running", fabric_manager_stopped),
    ("ubuntu22.04-8xh200-570", "gpu-fallen-off-bus", one_lost),
    ("ubuntu22.04-8xh200-570", "nvidia-smi-hangs", one_hangs),
    ("ubuntu22.04-8xh200-570", "nvlink-inactive", link_down),
    ("ubuntu22.04-8xh100-570-operator", "fabric-manager-not-running", fabric_manager_gone),
    ("ubuntu22.04-8xh100-570-operator", "row-remap-failed", spare_rows_gone),
    ("ubuntu24.04-4xgb200-580-tray", "fabric-manager-not-running", not_ready),
    ("ubuntu24.04-gb10-580-dgx-spark", "uvm-module-not-loaded", no_uvm),
    ("ubuntu22.04-8xa100-550-mixed-mig", "nvlink-inactive", link_down),
    ("ubuntu22.04-8xa100-550-mixed-mig", "mig-enabled-no-instance", no_instance),
    ("amzn2023-a10g-570-vm", "driver-library-mismatch", libraries_replaced),
    ("rockylinux9-2xa40-535-vgpu-host", "row-remap-failed", spare_rows_gone),
    ("debian12-4xl40s-580", "pcie-width-degraded", narrow),
    ("debian12-l4-550-vm", "nouveau-loaded", nouveau),
    ("ubuntu20.04-8xv100-535-dgx1", "ecc-uncorrectable", uncorrectable),
    ("centos7-2xk80-470", "driver-dropped-gpu", too_new_for_kepler),
    ("debian12-gtx1060-535", "driver-library-mismatch", libraries_replaced),
    ("ubuntu22.04-gtx1080ti-550", "device-node-permission", closed_to_user),
    ("fedora43-rtx2080ti-580", "module-missing-for-running-kernel", new_kernel),
    ("ubuntu24.04-rtx3060-570", "nouveau-loaded", nouveau),
    ("debian13-rtx3090-550", "uvm-module-not-loaded", no_uvm),
    ("ubuntu24.04-rtx4090-580", "rm-init-adapter-failed", not_started),
    ("ubuntu24.04-rtx5070-580", "proprietary-module-on-blackwell", closed_module),
    ("ubuntu24.04-rtx5090-580", "bar-not-assigned", no_window),
    ("ubuntu24.04-rtx4090-rtx3060-580", "external-power-missing", no_cable),
    ("ubuntu24.04-rtx3070laptop-580-asleep", "optimus-gpu-off", switched_off),
    ("ubuntu24.04-rtx5080laptop-580-battery", "driver-library-mismatch", libraries_replaced),
    ("wsl2-rtx5090-581", "wsl-libcuda-missing", no_windows_driver),
    ("wsl2-rtx5090-581", "wsl-driver-inside", driver_inside),
    ("ubuntu18.04-jetson-nano", "gpu-count-mismatch", cuda_sees_none),
    ("ubuntu20.04-jetson-xavier", "gpu-count-mismatch", cuda_sees_none),
    ("ubuntu22.04-jetson-orin-nvgpu", "gpu-count-mismatch", cuda_sees_none),
    ("ubuntu24.04-jetson-thor", "device-node-permission", closed_to_user),
    ("ubuntu22.04-t4-535-vm", "driver-library-mismatch", libraries_replaced),
    ("ubuntu22.04-t4-vgpu-licensed", "vgpu-unlicensed", license_gone),
    ("rockylinux9-2xl4-570", "pcie-width-degraded", narrow),
    ("ubuntu22.04-8xh100-550", "gpu-fallen-off-bus", one_lost),
    ("ubuntu22.04-rtx3060-550", "uvm-module-not-loaded", no_uvm),
    ("ubuntu24.04-rtx4060laptop-580", "nouveau-loaded", nouveau),
    ("ubuntu24.04-rtx4060-580", "driver-library-mismatch", libraries_replaced),
    ("container-l4-550-gvisor", "driver-capabilities-missing", tools_only),
    ("ubuntu22.04-h200-570-firecracker", "rm-init-adapter-failed", start_failed),
    ("container-rtx3090-550-lxc", "uvm-module-not-loaded", no_uvm),
    ("container-t4-550-colab", "cuda-visible-devices-empty", empty_variable),
    ("container-2xt4-560-kaggle", "container-loses-gpu", refused_by_rules),
    ("rockylinux9-8xa100-550-slurm", "device-node-permission", refused_by_rules),
    ("container-1of8-h100-570-kubernetes", "driver-capabilities-missing", tools_only),
)


def test_every_machine_of_what_people_own_has_a_fault_here() -> None:
    """Those composed from public outputs, which name them, and have nothing to report."""
    told = {name: json.loads((MACHINES / name / "machine.json").read_text()) for name in machine_names()}
    healthy = {name for name, about in told.items() if about.get("sources") and about["expect"]["first"] is None}
    without = {name for name in healthy if not told[name]["expect"]["warn"]} - {machine for machine, _, _ in FAULTS}
    assert without == set()


@pytest.mark.parametrize(("machine", "id", "change"), FAULTS, ids=lambda value: getattr(value, "__name__", value))
def test_the_fault_is_named_first(machine: str, id: str, change: Change, tmp_path: Path) -> None:
    findings = run_checks(with_change(machine, change, tmp_path), matrix(), all_checks().values())
    failed = [finding for finding in findings if finding.status is Status.FAIL]
    assert [finding.id for finding in failed][:1] == [id]
    assert all(finding.because_of for finding in failed[1:] if finding.id != id)
    assert [finding for finding in findings if finding.status is Status.ERROR] == []
