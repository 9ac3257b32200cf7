"""Commands fit the distribution, are never half a recipe, and say which of them need root."""

from __future__ import annotations

import re

import pytest

from envkit.checks.engine.command import Command, fixed
from envkit.checks.engine.findings import Remedy, Status
from envkit.checks.engine.registry import all_checks
from envkit.checks.engine.remedies import families, in_order, remedy, steps, without_linux
from envkit.ingest import parse_text
from envkit.ingest.releases import described
from envkit.model import Environment, MachineKind, OsRelease, System, found
from envkit.tables.codes import error_codes, generation_of, gigabytes_per_second, limit, module_flavors, xids
from envkit.tables.findings import RemedyStep
from envkit.tables.loader import read
from tests.checks.software import findings_of, v

STEPS = read(RemedyStep)
NEEDS_ROOT = re.compile(
    r"^(apt-get|apt-mark|dnf|yum|zypper|modprobe|rmmod|dkms|systemctl|reboot|dracut|update-|mokutil|grubby|kill)\b"
)


def on(os_id: str, name: str, *like: str) -> Environment:
    return Environment(
        system=System(os=found(OsRelease(os_id, name, os_id.lstrip(name), like and name or name, like), "test"))
    )


def commands(environment: Environment, action: str, **values: object) -> tuple[str, ...]:
    return tuple(step.line for step in steps(environment, action, **values))


UBUNTU, DEBIAN = on("ubuntu24.04", "ubuntu", "debian"), on("debian12", "debian")
ROCKY, FEDORA = on("rockylinux9", "rocky", "rhel", "centos", "fedora"), on("fedora43", "fedora")
SLES, AMAZON = on("sles15", "sles", "suse"), on("amzn2", "amzn", "centos", "rhel", "fedora")
MARINER, KYLIN = on("cm2", "mariner"), on("kylin10", "kylin")
CENTOS7 = on("centos7", "centos", "rhel", "fedora")
ALPINE = on("alpine3", "alpine")
MINT, ARCH = on("linuxmint22", "linuxmint", "ubuntu", "debian"), on("arch", "arch")


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        (UBUNTU, "sudo apt-get install -y gcc python3-dev"),
        (DEBIAN, "sudo apt-get install -y gcc python3-dev"),
        (MINT, "sudo apt-get install -y gcc python3-dev"),
        (ROCKY, "sudo dnf install -y gcc python3-devel"),
        (FEDORA, "sudo dnf install -y gcc python3-devel"),
        (MARINER, "sudo dnf install -y gcc python3-devel"),
        (KYLIN, "sudo dnf install -y gcc python3-devel"),
        (AMAZON, "sudo yum install -y gcc python3-devel"),
        (SLES, "sudo zypper install -y gcc python3-devel"),
    ],
)
def test_packages_have_the_names_of_their_distribution(environment: Environment, expected: str) -> None:
    assert commands(environment, "compile-python") == (expected,)


@pytest.mark.parametrize(
    ("environment", "package"),
    [
        (UBUNTU, "gcc-11 g++-11"),
        (ROCKY, "gcc-toolset-11"),  # Red Hat's guide: dnf install gcc-toolset-N
        (SLES, "gcc11 gcc11-c++"),  # openSUSE's update of gcc8: the gcc8 and gcc8-c++ packages
    ],
)
def test_an_older_gcc_has_the_name_of_its_distribution(environment: Environment, package: str) -> None:
    install, name = commands(environment, "gcc-beside", gcc=11)
    assert install.endswith(f"install -y {package}")
    # nvcc before CUDA 13 does not read NVCC_CCBIN
    assert "NVCC_PREPEND_FLAGS" in name and "CUDAHOSTCXX" in name or name == "source /opt/rh/gcc-toolset-11/enable"


def test_fedora_names_its_older_gcc_by_the_number() -> None:
    assert commands(FEDORA, "gcc-beside", gcc=15)[0] == "sudo dnf install -y gcc15 gcc15-c++"


def test_an_unknown_distribution_gets_one_block_and_is_asked_for() -> None:
    given = remedy(Environment(), "Install it.", "compile-python")
    assert given.commands == ("sudo apt-get install -y gcc python3-dev",)
    assert given.summary == (
        "Install it. These commands are for Ubuntu and Debian. On another distribution, add the output of "
        "`cat /etc/os-release` to the input and run envkit again."
    )
    assert "Ubuntu." in remedy(Environment(), "Install it.", "driver").summary
    assert remedy(Environment(), "Load it.", "load-module").summary == "Load it."


def test_a_restart_comes_last_and_each_command_once() -> None:
    given = remedy(UBUNTU, "Do all.", "driver", "hold", "reboot")
    assert [line.split()[1] for line in in_order(given).commands] == ["ubuntu-drivers", "apt-mark", "reboot"]


@pytest.mark.parametrize("environment", [ARCH, ALPINE], ids=["arch", "alpine"])
def test_a_known_distribution_without_commands_gets_none_of_another(environment: Environment) -> None:
    assert commands(environment, "compile-python") == ()
    assert commands(environment, "load-module") == ("sudo modprobe nvidia",)


def test_the_container_toolkit_is_installed_from_nvidias_repository() -> None:
    # NVIDIA Container Toolkit, installation guide
    for environment, repository in ((UBUNTU, "sources.list.d"), (ROCKY, "yum.repos.d"), (SLES, "zypper ar")):
        lines = commands(environment, "container-toolkit")
        assert any(repository in line for line in lines[:-1])
        assert lines[-1].endswith("install -y nvidia-container-toolkit")


def test_only_what_is_installed_is_held() -> None:
    import subprocess

    line = commands(DEBIAN, "hold")[0].replace("sudo apt-mark hold", "echo")
    listing = r"printf 'ii  libnvidia-ml1\nun  nvidia-legacy-340xx-driver\nrc  nvidia-old\nii  nvidia-smi\n'"
    script = f"dpkg-query() {{ {listing}; }}\n{line}"
    assert subprocess.run(["bash", "-c", script], check=True, capture_output=True, text=True).stdout == (
        "libnvidia-ml1 nvidia-smi\n"
    )


def test_a_machine_whose_module_was_loaded_again_is_not_restarted() -> None:
    import subprocess

    script = "sudo() { echo $1; }\n" + "\n".join(commands(DEBIAN, "reload-module"))
    assert subprocess.run(["bash", "-c", script], check=True, capture_output=True, text=True).stdout == (
        "modprobe\nmodprobe\n"
    )


@pytest.mark.parametrize(
    ("words", "expected"),
    [  # PRETTY_NAME of their /etc/os-release
        ("Alpine Linux v3.19", ()),
        ("NixOS 24.05 (Uakari)", ()),
        ("Arch Linux", ()),
        ("CBL-Mariner/Linux", ("sudo dnf install -y gcc python3-devel",)),
        ("Kylin Linux Advanced Server V10 (Tercel)", ("sudo dnf install -y gcc python3-devel",)),
        ("Oracle Linux Server 9.3", ("sudo dnf install -y gcc python3-devel",)),
        ("openSUSE Tumbleweed", ("sudo zypper install -y gcc python3-devel",)),
    ],
)
def test_a_distribution_in_words_gets_its_own_commands(words: str, expected: tuple[str, ...]) -> None:
    release = described(words)
    assert release is not None
    assert commands(Environment(system=System(os=found(release, "test"))), "compile-python") == expected


def test_the_processor_is_no_release_of_a_distribution() -> None:
    arch, ubuntu = described("Arch Linux (x86_64)"), described("Ubuntu 22.04.4 LTS (x86_64)")
    assert arch is not None and (arch.version_id, arch.pretty_name) == ("", "Arch Linux")
    assert ubuntu is not None and ubuntu.version_id == "22.04.4"


def test_in_a_container_the_fix_says_that_it_is_for_the_host() -> None:
    inside = Environment(system=System(machine_kind=found(MachineKind.CONTAINER, "test")))
    assert remedy(inside, "Load it.", "load-uvm").summary == "On the host of this container: load it."
    hosts = ("reload-uvm", "uvm-at-boot", "keep-memory", "peermem", "persistence", "kernel-log", "license", "prime")
    for action in (*hosts, "start-fabric-manager", "stop-fabric-manager", "who-holds"):
        assert remedy(inside, "Do it.", action).summary == "On the host of this container: do it."
    assert remedy(inside, "Install it.", "compile-python").summary.startswith("Install it.")
    assert remedy(Environment(), "Load it.", "load-uvm").summary == "Load it."


def test_windows_gets_no_commands_of_linux() -> None:
    given = ("sudo modprobe nvidia", "python -m pip install 'numpy<2'", "envkit install --cuda 12.4")
    kept = without_linux(Remedy("Do it.", tuple(map(fixed, given)))).commands
    assert kept == ('python -m pip install "numpy<2"',)  # cmd.exe takes single quotes for letters
    shell = ("LD_LIBRARY_PATH= python train.py", "nvidia-smi -q | grep -i license", "docker run -v $PWD:/w x")
    assert without_linux(Remedy("Do it.", tuple(Command(shell=line) for line in shell))).commands == ()
    text = "'nvidia-smi' is not recognized as an internal or external command,\noperable program or batch file.\n"
    findings = findings_of(text)
    assert findings[0].status is Status.FAIL
    assert not any(line.startswith("sudo") for f in findings if f.remedy for line in f.remedy.commands)


def test_powershell_of_either_age_is_windows() -> None:
    # Windows PowerShell 5.1 says "as the name of a cmdlet", PowerShell 7 "as a name of a cmdlet"
    for article in ("the", "a"):
        text = f"nvcc: The term 'nvcc' is not recognized as {article} name of a cmdlet, function, script file\n"
        assert parse_text(text).system.os.get().id == "windows"


def test_a_distribution_that_we_do_not_know_is_looked_up_by_what_it_is_like() -> None:
    assert families(MINT) == ("ubuntu", "debian")
    assert families(ARCH) == ("arch",)


@pytest.mark.parametrize("system", [AMAZON, CENTOS7], ids=["amzn2", "centos7"])
def test_a_system_of_yum_gets_no_command_of_dnf(system: Environment) -> None:
    lines = [line for step in STEPS for line in commands(system, step.action, branch=580, version="580.65.06", gcc=9)]
    assert lines and not [line for line in lines if "dnf" in line]


def test_ubuntu_has_its_own_way_to_a_driver() -> None:
    assert commands(UBUNTU, "driver")[0] == "sudo ubuntu-drivers install"
    assert "firmware-misc-nonfree" in commands(DEBIAN, "driver")[2]


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
def test_commands_that_need_root_begin_with_sudo(step: RemedyStep) -> None:
    asks = ("systemctl --user ", "apt-mark showhold", "apt-get -s ", "dkms status", "dnf list", "zypper search")
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


def test_module_flavors_know_every_family_once() -> None:
    keys = [(row.family, row.chip) for row in module_flavors()]
    assert len(keys) == len(set(keys))
    assert {row.family for row in module_flavors() if not row.proprietary and not row.chip} == {"Blackwell"}
    assert limit("dma-buf-kernel") == v("5.12")
