"""A remedy is whole: it says every step, for the system that the text shows, and not the one that was tried."""

from __future__ import annotations

from pathlib import Path

from envkit.checks.engine.findings import Finding, Status
from envkit.ingest import parse_text
from envkit.render.machine import machine_line
from tests.checks.software import findings_of

REPORTS = Path(__file__).resolve().parents[1] / "reports"

NO_GSP = """NVRM: installed in this system is not supported by open
NVRM: nvidia.ko because it does not include the required GPU
NVRM: System Processor (GSP).
"""
TAINT = "nvidia: module verification failed\nPKCS#7 signature not signed with a trusted key\nmodprobe fails\n"
ROOTLESS = """Docker rootless on Ubuntu 22.04 fails:
nvidia-container-cli: mount error: failed to add device rules: unable to generate new device filter program
initializing library context (version={}, build=c8f267be)
"""
SLEPT = (
    "After suspend: UserWarning: CUDA initialization: CUDA unknown error - this may be due to an incorrectly set up\n"
)
DBE = "NVRM: Xid (PCI:0000:07:00): 48, pid=7, An uncorrectable double bit error (DBE) has been detected on GPU\n"
MARKED = (
    "NVRM: Xid (PCI:0000:07:00): 63, pid=7, Row Remapper: New row (0x7f) marked for remapping, reset gpu to activate.\n"
)
PLUGIN = (
    "factory.go:107] Detected non-NVML platform: could not load NVML library: libnvidia-ml.so.1: cannot open shared\n"
)
STALE = """# cat /proc/driver/nvidia/version
NVRM version: NVIDIA UNIX x86_64 Kernel Module  387.26  Thu Nov  2 19:22:55 PDT 2017
# nvidia-smi
Failed to initialize NVML: Driver/library version mismatch
# rpm -qa | grep nvidia
# ls -l /usr/lib64/nvidia/
-rwxr-xr-x. 1 root root  1338376 Sep 25 04:11 /usr/lib64/nvidia/libnvidia-ml.so.384.81
-rwxr-xr-x. 1 root root  1404352 Nov  3 06:47 /usr/lib64/nvidia/libnvidia-ml.so.387.26
"""


def cause(text: str) -> Finding:
    """The first problem."""
    return next(one for one in findings_of(text) if one.status in (Status.FAIL, Status.WARN))


def report(name: str) -> Finding:
    """The first problem of a labeled report."""
    return cause((REPORTS / f"batch-{name.partition('-')[0][1:]}" / f"{name}.txt").read_text())


def advice(found: Finding) -> str:
    """What its remedy says."""
    assert found.remedy is not None
    return found.remedy.summary


def commands(found: Finding) -> str:
    """Its commands, one a line."""
    assert found.remedy is not None
    return "\n".join(found.remedy.commands)


def test_a_taint_is_no_refusal_where_secure_boot_is_off() -> None:
    assert cause(f"$ mokutil --sb-state\nSecureBoot enabled\n{TAINT}").id == "secure-boot-unsigned-module"
    assert all(
        one.id != "secure-boot-unsigned-module" or one.status is Status.OK
        for one in findings_of(f"$ mokutil --sb-state\nSecureBoot disabled\n{TAINT}")
    )
    refused = "modprobe: ERROR: could not insert 'nvidia': Key was rejected by service\n"
    assert cause(f"$ mokutil --sb-state\nSecureBoot disabled\n{refused}").id == "secure-boot-unsigned-module"


def test_the_installer_that_was_run_brings_the_proprietary_module() -> None:
    found = commands(report("b27-01"))
    assert found.startswith("sudo sh NVIDIA-Linux-x86_64-515.57.run\n") and "mokutil" not in found
    later = cause(f"$ sudo sh NVIDIA-Linux-x86_64-570.86.15.run --no-kernel-modules\n{NO_GSP}")
    assert "570.86.15.run --kernel-module-type=proprietary" in commands(later)
    assert "nvidia-driver-580" in commands(cause(f"Ubuntu 22.04, Tesla V100\n{NO_GSP}"))


def test_an_old_toolkit_has_no_command_for_its_file() -> None:
    assert "sed -i" in commands(cause(ROOTLESS.format("1.11.0")))
    newer = cause(ROOTLESS.format("1.17.8"))
    assert "nvidia-ctk config --set" in commands(newer) and "rootful" in advice(newer)


def test_what_is_set_already_is_not_set_again() -> None:
    assert "nvidia-keep-memory.conf" in commands(cause(SLEPT))
    again = commands(cause(f"options nvidia NVreg_PreserveVideoMemoryAllocations=1\n{SLEPT}"))
    assert "system-sleep/nvidia-uvm" in again and "nvidia-keep-memory.conf" not in again


def test_a_row_that_waits_for_a_reset_gets_one_before_the_card_is_returned() -> None:
    pending = cause(DBE + MARKED + DBE)
    assert commands(pending).startswith("sudo nvidia-smi --gpu-reset -i 0000:07:00.0\n")
    again = cause(f"We rebooted the node, it came back.\n{DBE}{MARKED}{DBE}")
    assert "--gpu-reset" not in commands(again) and "RMA" in advice(again)


def test_the_containerd_of_k3s_gets_a_runtime_class() -> None:
    on_k3s = cause(f"k3s version v1.27.4+k3s1\n$ kubectl logs ds/nvidia-device-plugin-daemonset\n{PLUGIN}")
    assert '"kind": "RuntimeClass"' in commands(on_k3s) and "systemctl restart containerd" not in commands(on_k3s)
    assert "sudo systemctl restart k3s" in commands(on_k3s)
    assert "container-toolkit" not in commands(report("b27-33"))
    assert "systemctl restart containerd" in commands(cause(f"$ kubectl get pods\n{PLUGIN}"))


def test_files_that_no_package_owns_go() -> None:
    found = commands(cause(STALE))
    assert "/usr/lib64/nvidia/*.so.384.81" in found and "rpm -qf" in found and "reboot" not in found
    packaged = STALE.replace("# ls", "$ dpkg -l\nii  nvidia-384  384.81-0ubuntu1  amd64  driver\n# ls")
    assert "rm -v" not in commands(cause(packaged))


def test_an_extension_gets_the_wheel_of_the_installed_torch() -> None:
    found = commands(report("b27-13"))
    assert "detectron2==0.6" in found and "wheels/cu101/torch1.8/index.html" in found


def test_the_plug_in_of_jax_follows_jaxlib() -> None:
    found = commands(report("b27-12"))
    assert "jax-cuda12-plugin==0.9.0.1" in found and "jax-cuda12-pjrt==0.9.0.1" in found and "jax[" not in found


def test_the_library_that_is_too_new_is_named() -> None:
    assert "'protobuf<3.21'" in commands(report("b27-26"))


def test_a_launcher_of_the_home_directory_is_not_started() -> None:
    found = commands(report("b27-32"))
    assert "uv run python -m torch.distributed.run" in found and "uninstall" not in found
    assert "python3.12 -m pip uninstall torch" in advice(report("b27-32"))


def test_unseen_causes_of_batch_27_are_named() -> None:
    assert report("b27-23").id == "local-module-shadows"
    assert "utils" in advice(report("b27-23"))
    assert report("b27-45").id == "container-no-gpu-injected"
    assert "utils.python --gpu 1" in commands(report("b27-45"))
    assert report("b27-48").id == "jetson-container-of-other-release"


def test_a_variable_of_an_image_is_changed_in_its_dockerfile() -> None:
    found = report("b27-30")
    assert "ENV LD_LIBRARY_PATH" in advice(found) and "grep -v compat" in commands(found)
    plain = cause("RuntimeError: Error 803: system has unsupported display driver / cuda driver combination\n")
    assert "ldconfig -p" in commands(plain)


def test_a_torch_that_another_package_requires_stays_and_its_companions_come_from_its_index() -> None:
    lines = commands_of(report("b28-42"))
    assert not any("uninstall" in line or " torch==" in line for line in lines)
    assert [line for line in lines if "torchvision==0.17.0" in line and "/whl/cu118" in line]


def test_ptx_of_a_framework_is_no_code_for_a_gpu_that_its_cuda_does_not_know() -> None:
    given = report("b28-33")
    assert given.remedy is not None and "itself has code" not in given.remedy.advice
    assert [line for line in commands_of(given) if "torch==" in line]


def test_the_python_of_a_conda_build_decides_which_wheels_fit() -> None:
    given = report("b28-16")
    assert given.id == "arch-dropped-by-framework" and not any("-cp37-" in line for line in commands_of(given))


def test_a_cut_off_name_is_no_list_of_every_chip() -> None:
    text = (REPORTS / "batch-28/b28-34.txt").read_text()
    assert "compute capability 5.0 or" not in machine_line(parse_text(text))


def test_an_old_visual_studio_gets_no_toolset_of_a_newer_one() -> None:
    given = report("b28-06")
    assert given.id == "gcc-too-new-for-nvcc" and given.remedy is not None
    assert "Visual Studio 2017" in given.remedy.advice and not commands_of(given)


def commands_of(finding: Finding) -> tuple[str, ...]:
    assert finding.remedy is not None
    return finding.remedy.commands
