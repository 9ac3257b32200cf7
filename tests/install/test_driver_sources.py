"""What a plan with a driver says before it is carried out: which package, from where, and what no driver can do."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.run import envkit
from tests.install.drivers import machine, script
from tests.install.shell import call

DRIVER = ("install", "--with-driver", "--no-toolkit", "--target", "any")


def test_gpus_that_no_one_module_drives_are_refused_with_the_reason() -> None:
    done = envkit(*DRIVER, "--os", "ubuntu24.04", "--gpu", "Tesla V100", "--gpu", "RTX 5090")
    assert done.returncode == 1 and done.stdout == ""
    told = done.stderr.splitlines()[-1]
    assert "RTX 5090" in told and "needs the open kernel module and Tesla V100" in told and "only one" in told


def test_a_driver_of_packages_alone_is_not_bundled(tmp_path: Path) -> None:
    done = envkit(*DRIVER, "--os", "debian12", "--gpu", "L40S", "--bundle", str(tmp_path / "bundle"))
    assert done.returncode == 1 and "comes only as packages" in done.stderr and "--driver-runfile" in done.stderr
    assert not (tmp_path / "bundle").exists()


@pytest.mark.parametrize(
    ("os_id", "gpu", "told"),
    [
        ("rockylinux9", "H100", "enable it on the machine first"),
        ("debian13", "B200", "--nvidia-repository makes the script add it"),
        ("debian13", "H100", None),  # Debian's own 550 drives it, and nobody asked for a CUDA
        ("ubuntu24.04", "B200", None),
    ],
)
def test_a_driver_that_only_nvidia_has_is_told_beforehand(os_id: str, gpu: str, told: str | None) -> None:
    done = envkit(*DRIVER, "--os", os_id, "--gpu", gpu)
    assert done.returncode == 0
    for text in (done.stdout.partition("set -E")[0], done.stderr):  # the script's header says it, too
        flat = " ".join(text.replace("#", " ").split())
        assert ("Only NVIDIA's own package repository" in flat) is (told is not None) and (told or "") in flat


def test_a_driver_alone_needs_no_more_than_its_gpus_do() -> None:
    done = envkit(*DRIVER, "--os", "debian12", "--gpu", "H100")
    assert "CUDA" not in done.stderr.partition("Note: ")[0] and "nvidia-tesla-535-driver" in done.stdout
    asked = envkit(*DRIVER, "--os", "debian12", "--gpu", "H100", "--cuda", "12.8")
    assert "CUDA 12.8" in asked.stderr


@pytest.mark.parametrize(("gpu", "first"), [("A100", "nvidia-headless-"), ("RTX 3090", "nvidia-driver-")])
def test_the_plan_names_the_package_and_servers_get_no_display(gpu: str, first: str) -> None:
    done = envkit(*DRIVER, "--os", "ubuntu24.04", "--gpu", gpu)
    assert f"in a suitable version: {first}" in done.stderr
    assert f'DRIVER_PACKAGES=("515|||{first}' in done.stdout


@pytest.mark.parametrize(
    ("gpu", "told"),
    [
        ("H100 SXM5 80GB", True),
        ("A100 SXM4 80GB", True),
        ("A100", True),
        ("B200", True),
        ("9.0", True),
        ("H100 PCIe", False),
        ("L40S", False),
    ],
)
def test_the_fabric_manager_is_named_where_there_may_be_switches(gpu: str, told: bool) -> None:
    done = envkit(*DRIVER, "--os", "ubuntu24.04", "--gpu", gpu)
    assert done.returncode == 0 and ("Fabric Manager" in done.stderr) is told


@pytest.mark.parametrize("there", [True, False])
def test_the_script_sees_switches_on_the_bus(there: bool, tmp_path: Path) -> None:
    machine(tmp_path)
    device = tmp_path / "root/sys/bus/pci/devices/0000:07:00.0"
    device.mkdir()
    (device / "vendor").write_text("0x10de\n")
    (device / "class").write_text("0x068000\n" if there else "0x040300\n")
    done = call(script(gpu="9.0", os_id="ubuntu24.04", cuda="12.8"), "tell_of_switches; echo goes on", tmp_path)
    assert done.stdout == "goes on\n" and ("has NVSwitches (0000:07:00.0)" in done.stderr) is there, done
