"""Commands fit the distribution, are never half a recipe, and say which of them need root."""

from __future__ import annotations

import re

import pytest

from envkit.checks.codes import error_codes, generation_of, gigabytes_per_second, limit, module_flavours, xids
from envkit.checks.registry import all_checks
from envkit.checks.remedies import Step, commands, families, install_command, remedy
from envkit.facts import Environment, OsRelease, System, found
from envkit.matrix.tables import Table, read
from tests.checks.software import v

STEPS = read(Table("remedies.csv", Step, ("action", "family", "step")))
NEEDS_ROOT = re.compile(
    r"^(apt-get|apt-mark|dnf|yum|zypper|modprobe|rmmod|dkms|systemctl|reboot|dracut|update-|mokutil|grubby|kill)\b"
)


def on(os_id: str, name: str, *like: str) -> Environment:
    return Environment(
        system=System(os=found(OsRelease(os_id, name, os_id.lstrip(name), like and name or name, like), "test"))
    )


UBUNTU, DEBIAN = on("ubuntu24.04", "ubuntu", "debian"), on("debian12", "debian")
ROCKY, FEDORA = on("rockylinux9", "rocky", "rhel", "centos", "fedora"), on("fedora43", "fedora")
SLES, AMAZON = on("sles15", "sles", "suse"), on("amzn2", "amzn", "centos", "rhel", "fedora")
MINT, ARCH = on("linuxmint22", "linuxmint", "ubuntu", "debian"), on("arch", "arch")


@pytest.mark.parametrize(
    ("environment", "start"),
    [
        (UBUNTU, "sudo apt-get install -y"),
        (DEBIAN, "sudo apt-get install -y"),
        (MINT, "sudo apt-get install -y"),
        (ROCKY, "sudo dnf install -y"),
        (FEDORA, "sudo dnf install -y"),
        (AMAZON, "sudo yum install -y"),
        (SLES, "sudo zypper install -y"),
    ],
)
def test_packages_are_installed_with_the_own_tool(environment: Environment, start: str) -> None:
    assert install_command(environment, "gcc", "make") == (f"{start} gcc make",)


def test_an_unknown_distribution_gets_each_family_with_its_name() -> None:
    lines = install_command(Environment(), "gcc")
    assert [line.rpartition("  # ")[2] for line in lines] == ["Debian, Ubuntu", "RHEL, Fedora", "SUSE"]


def test_a_distribution_that_we_do_not_know_is_looked_up_by_what_it_is_like() -> None:
    assert families(MINT) == ("ubuntu", "debian")
    assert families(ARCH) == ()


def test_ubuntu_has_its_own_way_to_a_driver() -> None:
    assert commands(UBUNTU, "driver")[0] == "sudo ubuntu-drivers install"
    assert "firmware-misc-nonfree" in commands(DEBIAN, "driver")[0]


def test_half_a_recipe_is_never_given() -> None:
    assert commands(UBUNTU, "driver-branch", branch=None) == ()
    assert commands(UBUNTU, "driver-branch", branch=580)[-1] == "sudo reboot"


def test_a_remedy_keeps_the_order_of_its_actions() -> None:
    assert remedy(SLES, "Do both.", "kernel-headers", "build-module").commands == (
        "sudo zypper install -y kernel-default-devel",
        "sudo dkms autoinstall -k $(uname -r)",
        "sudo modprobe nvidia",
    )


@pytest.mark.parametrize("step", STEPS, ids=lambda step: f"{step.action}-{step.family}-{step.step}")
def test_commands_that_need_root_begin_with_sudo(step: Step) -> None:
    asks = ("apt-mark showhold", "dnf list", "zypper search")
    assert step.command.startswith(asks) or not NEEDS_ROOT.search(step.command), step.command


def test_shell_reads_every_command() -> None:
    import subprocess

    text = "\n".join(re.sub(r"\{[a-z]+\}", "x", step.command) for step in STEPS)
    assert subprocess.run(["bash", "-n", "-c", text], check=False, capture_output=True).stderr == b""


def test_every_check_that_a_code_or_an_xid_names_exists() -> None:
    named = {row.check for row in xids().values() if row.check}
    named |= {check for row in error_codes().values() for check in row.checks}
    assert named <= set(all_checks())


@pytest.mark.parametrize(
    ("rate", "generation", "lanes", "gigabytes"),
    [
        (2.5, 1, 16, 4.0),
        (5.0, 2, 16, 8.0),
        (8.0, 3, 16, 15.75),
        (16.0, 4, 8, 15.75),
        (32.0, 5, 16, 63.0),
        (64.0, 6, 1, 8.0),
    ],
)
def test_pcie_rates_are_those_of_the_kernel(rate: float, generation: int, lanes: int, gigabytes: float) -> None:
    row = generation_of(rate)
    assert row is not None and row.generation == generation
    assert gigabytes_per_second(generation, lanes) == pytest.approx(gigabytes, rel=0.01)


def test_a_rate_that_is_none_has_no_generation() -> None:
    assert generation_of(3.0) is None
    assert gigabytes_per_second(9, 16) is None


def test_module_flavours_know_every_family_once() -> None:
    keys = [(row.family, row.chip) for row in module_flavours()]
    assert len(keys) == len(set(keys))
    assert {row.family for row in module_flavours() if not row.proprietary and not row.chip} == {"Blackwell"}
    assert limit("dma-buf-kernel") == v("5.12")
