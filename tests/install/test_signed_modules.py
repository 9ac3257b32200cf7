"""Secure Boot: the distribution's signed modules come before those that are built; otherwise a key is announced
beforehand.

The packages and what they provide are those of Ubuntu 24.04 (noble-updates, restricted).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.install.drivers import machine, script
from tests.install.shell import call, keeping

# A kernel of the flavor generic, a driver on offer, and what apt would install with the modules' package.
UBUNTU = """
uname() {{ if [[ $* == -r ]]; then echo 6.8.0-151-generic; else command uname "$@"; fi; }}
dpkg-query() {{ printf 'ii \\tlinux-image-generic\\tlinux-image-6.8.0-151-generic, linux-firmware\\n'; }}
package_candidate() {{
  case "$1" in
    {driver} | nvidia-utils-580-server) echo 580.178.04-0ubuntu0.24.04.1 ;;
    linux-modules-nvidia-580{kind}-{kernel} | linux-modules-nvidia-580{kind}-generic) echo 6.8.0-151.151 ;;
  esac
}}
apt-get() {{ echo "{plan}"; }}
headers_are_here() {{ return 1; }}
install_headers() {{ echo builds; }}
follow_kernel() {{ :; }}
"""
GOOD = "Inst linux-modules-nvidia-580{kind}-generic (6.8.0-151.151)"


def chosen(
    folder: Path,
    driver: str = "nvidia-driver-580-open",
    kind: str = "-open",
    kernel: str = "6.8.0-151-generic",
    plan: str = GOOD,
    body: str = "",
) -> str:
    """What a run on such a Ubuntu with Secure Boot says: its warnings, its packages, and whether it builds."""
    machine(folder, secure_boot=True)
    state = UBUNTU.format(driver=driver, kind=kind, kernel=kernel, plan=plan.format(kind=kind))
    text = keeping(script("12.8", "ubuntu24.04", "12.0" if "open" in kind else "7.0"), "kernel_flavor")
    done = call(text, f'{state}\n{body}\ncheck_for_driver\nprepare_driver\necho "${{DRIVER_NAMES[*]}}"', folder)
    assert done.returncode == 0, done
    return done.stdout + done.stderr


@pytest.mark.parametrize(
    ("driver", "kind"),
    [
        ("nvidia-driver-580-open", "-open"),
        ("nvidia-headless-580-server-open", "-server-open"),
        ("nvidia-driver-580", ""),
        ("nvidia-headless-580-server", "-server"),
    ],
)
def test_signed_modules_of_the_kernels_flavor_come_along_and_nothing_is_built(
    driver: str, kind: str, tmp_path: Path
) -> None:
    said = chosen(tmp_path, driver, kind)
    names = f"{driver} nvidia-utils-580-server" if "headless" in driver else driver
    assert f"{names} linux-modules-nvidia-580{kind}-generic\n" in said and "builds" not in said
    assert "no key has to be enrolled" in said and "warning" not in said


@pytest.mark.parametrize(
    ("kernel", "plan"),
    [
        ("6.8.0-152-generic", GOOD),  # not for the running kernel
        ("6.8.0-151-generic", GOOD + " Inst nvidia-dkms-580-open (580.200)"),  # they are after the driver
        ("6.8.0-151-generic", ""),
    ],
)
def test_where_they_do_not_fit_the_module_is_built_and_the_key_told_of_beforehand(
    kernel: str, plan: str, tmp_path: Path
) -> None:
    said = chosen(tmp_path, kernel=kernel, plan=plan.replace(" Inst nvidia", "\nInst nvidia"))
    assert "linux-modules" not in said and "builds" in said
    assert "warning: Secure Boot is on, and nvidia-driver-580-open builds its module on this machine" in said


def test_a_driver_that_somebody_has_installed_stays_as_it_is(tmp_path: Path) -> None:
    here = "installed_version() { [[ $1 != nvidia-driver-580-open ]] || echo 580.178.04; }"
    assert "linux-modules" not in chosen(tmp_path, body=here)


@pytest.mark.parametrize(("answer", "told"), [("is not enrolled", True), ("is already enrolled", False)])
@pytest.mark.parametrize("place", ["var/lib/shim-signed/mok/MOK.der", "var/lib/dkms/mok.pub"])
def test_before_the_reboot_the_key_is_named(place: str, answer: str, told: bool, tmp_path: Path) -> None:
    machine(tmp_path, secure_boot=True)
    key = tmp_path / "root" / place
    key.parent.mkdir(parents=True)
    key.touch()
    body = f'mokutil() {{ echo "$2 {answer}"; }}\nCURRENT_STEP=driver; reboot_for_driver yes'
    done = call(script(), body, tmp_path)
    assert done.returncode == 8 and "reboot now" in done.stderr, done
    assert (f"sudo mokutil --import {key}" in done.stderr) is told and ("Enroll MOK" in done.stderr) is told


@pytest.mark.parametrize(
    ("offer", "words"),
    [
        ("535.247.01-1", "--cuda 12.2, which runs on the driver 535.247.01 that they offer"),
        ("", "an older --cuda, which works with an older driver"),
    ],
)
def test_where_the_driver_on_offer_is_too_old_the_cuda_that_it_runs_is_named(
    offer: str, words: str, tmp_path: Path
) -> None:
    """Debian 12 has no newer driver than 535, and the newest CUDA is assumed where none is named."""
    machine(tmp_path)
    body = f'package_candidate() {{ [[ $1 != nvidia-driver && $1 != libcuda1 ]] || echo "{offer}"; }}\ncheck_for_driver'
    done = call(script("13.4.1"), body, tmp_path)
    assert done.returncode == 11 and f"or with {words}." in done.stderr, done


def test_a_gpu_that_an_older_cuda_does_not_know_gets_no_such_advice(tmp_path: Path) -> None:
    machine(tmp_path)
    body = "package_candidate() { [[ $1 != nvidia-driver && $1 != libcuda1 ]] || echo 535.247.01-1; }\ncheck_for_driver"
    done = call(script("13.4.1", gpu="12.0"), body, tmp_path)
    assert done.returncode == 11 and "--cuda 12.2" not in done.stderr, done
