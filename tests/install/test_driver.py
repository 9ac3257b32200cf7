"""`--with-driver` on a machine whose /sys is made up: each obstacle is told first, a good driver is never touched."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from envkit.install.options import ScriptOptions
from tests.engine.engine import Engine
from tests.install.conftest import NEW, StandIns
from tests.install.machine import Done, Machine, machine, without_notes
from tests.install.plans import mirrors_to, plan, scripted, with_stand_ins
from tests.install.server import Behavior

pytestmark = pytest.mark.docker

ROOT = {"ENVKIT_SYSROOT": "/fake"}
_PACKAGE = """\
mkdir -p /deb/DEBIAN
printf 'Package: nvidia-driver\\nVersion: {version}-1\\nArchitecture: all\\nMaintainer: test\\nDescription: test\\n' \
  >/deb/DEBIAN/control
printf '#!/bin/sh\\nmkdir -p /fake/sys/module/nvidia; echo {version} >/fake/sys/module/nvidia/version\\n' \
  >/deb/DEBIAN/postinst
chmod 0755 /deb/DEBIAN /deb/DEBIAN/postinst
mkdir -p /repo /lib-deb/DEBIAN; dpkg-deb -b /deb /repo/driver.deb >/dev/null
sed s/nvidia-driver/libcuda1/ /deb/DEBIAN/control >/lib-deb/DEBIAN/control
dpkg-deb -b /lib-deb /repo/library.deb >/dev/null
"""


@pytest.fixture
def target(
    engine: Engine, target_image: str, stand_ins: StandIns, server: tuple[str, Behavior], tmp_path: Path
) -> Iterator[Machine]:
    """A machine with an NVIDIA GPU on its bus, kernel headers and a boot image tool, and no driver."""
    found = with_stand_ins(plan(NEW, gpus=("8.6",), with_driver=True), stand_ins[1][NEW])
    with machine(engine, target_image, tmp_path) as made:
        made.put(scripted(found, ScriptOptions(with_driver=True), mirrors_to(server[0])))
        made.sh(
            "mkdir -p /fake/sys/bus/pci/devices/0000:01:00.0 /fake/tmp; cd /fake/sys/bus/pci/devices/0000:01:00.0;"
            "echo 0x10de >vendor; echo 0x030000 >class;"
            "mkdir -p /lib/modules/$(uname -r)/build/include;"
            "printf '#!/bin/sh\\necho rebuilt >>/rebuilt\\n' >/usr/sbin/update-initramfs;"
            "chmod +x /usr/sbin/update-initramfs"
        )
        yield made


def run(target: Machine, *options: str) -> Done:
    return target.install("--no-space-check", *options, environment=ROOT)


def test_a_good_driver_is_left_alone(target: Machine) -> None:
    target.sh("mkdir -p /fake/sys/module/nvidia; echo 580.65.06 >/fake/sys/module/nvidia/version")
    done = run(target, "--dry-run")
    assert done.exit_code == 0, done.stderr
    assert done.states["driver"] == "unchanged" and done.states["nouveau"] == "unchanged"


@pytest.mark.parametrize(
    ("obstacle", "words"),
    [
        ("rm -r /fake/sys/bus/pci/devices/*", "no NVIDIA GPU on the PCI bus"),
        ("echo 1 >/fake/tmp/.X0-lock", "a display server is running (process 1)"),
    ],
)
def test_an_obstacle_is_reported_before_anything_is_changed(target: Machine, obstacle: str, words: str) -> None:
    target.sh(obstacle)
    before = without_notes(target.tree()).keys()
    for options in (["--dry-run"], []):
        done = run(target, *options)
        assert done.exit_code == 11
        assert words in done.stderr
    assert without_notes(target.tree()).keys() == before


def test_in_a_container_the_driver_is_the_hosts_matter(target: Machine) -> None:
    target.sh("touch /.dockerenv")
    done = target.install("--no-space-check")
    assert done.exit_code == 11
    assert "install the driver on its host" in done.stderr


def test_nouveau_is_switched_off_and_the_reboot_is_a_state_of_the_journal(target: Machine) -> None:
    target.sh("mkdir -p /fake/sys/module/nouveau")
    done = run(target)
    assert done.exit_code == 8
    assert done.result["status"] == "reboot-needed"
    assert "run this script again with --resume" in done.stderr
    assert "blacklist nouveau" in target.sh("cat /etc/modprobe.d/envkit-nouveau.conf")
    assert target.sh("cat /rebuilt") == "rebuilt\n"
    assert "nouveau\treboot" in target.sh("cat /var/lib/envkit/*/journal")
    target.sh("rmdir /fake/sys/module/nouveau")
    again = run(target, "--resume")
    assert again.states["nouveau"] == "unchanged"
    assert target.install("--rollback").exit_code == 0
    assert target.sh("ls /etc/modprobe.d/envkit-nouveau.conf 2>/dev/null || echo gone") == "gone\n"


def _serve_package(target: Machine, version: str) -> None:
    """A package source of one driver package with its libcuda1, and no other."""
    target.sh(_PACKAGE.format(version=version))
    target.sh(
        "cd /repo; for deb in *.deb; do dpkg-deb -f $deb; printf 'Filename: ./%s\\nSize: %s\\nSHA256: %s\\n\\n' "
        "$deb $(stat -c %s $deb) $(sha256sum <$deb | cut -d' ' -f1); done >Packages;"
        "rm -f /etc/apt/sources.list; rm -f /etc/apt/sources.list.d/*;"
        "echo 'deb [trusted=yes] file:/repo ./' >/etc/apt/sources.list"
    )


def test_the_distributions_package_comes_first_and_is_taken_back(target: Machine) -> None:
    _serve_package(target, "580.65.06")
    done = run(target)
    assert done.states["driver"] == "done", done.stderr
    assert "from the distribution: nvidia-driver" in done.stderr
    assert target.sh("cat /fake/sys/module/nvidia/version") == "580.65.06\n"
    assert target.install("--rollback", environment=ROOT).exit_code == 0
    assert "ok installed" not in target.sh("dpkg-query -W -f '${Status}' nvidia-driver 2>/dev/null || true")


def test_a_failed_download_of_the_package_leaves_nouveau_on(target: Machine) -> None:
    target.sh("mkdir -p /fake/sys/module/nouveau")
    _serve_package(target, "580.65.06")
    target.sh("mv /repo/driver.deb /away.deb")
    done = run(target)
    assert done.exit_code == 3 and "the packages could not be installed: nvidia-driver" in done.stderr, done.stderr
    left = target.sh("ls /rebuilt /etc/modprobe.d/envkit-nouveau.conf 2>/dev/null || echo none")
    assert left == "none\n"
    target.sh("mv /away.deb /repo/driver.deb")
    again = run(target, "--resume")
    assert again.states["nouveau"] == "done" and target.sh("cat /rebuilt") == "rebuilt\n", again.stderr


def test_the_bundled_runfile_serves_when_no_package_will_do_and_is_taken_back(target: Machine) -> None:
    _serve_package(target, "470.10")
    done = run(target)
    assert done.states["driver"] == "done", done.stderr
    assert target.sh("cat /fake/sys/module/nvidia/version") == "550.54.15\n"
    assert target.install("--rollback", environment=ROOT).exit_code == 0
    assert target.sh("ls /fake/sys/module /usr/bin/nvidia-uninstall 2>/dev/null || true").strip() == "/fake/sys/module:"


def test_secure_boot_refuses_the_runfile_when_no_package_will_do(target: Machine) -> None:
    _serve_package(target, "470.10")
    target.sh(
        "mkdir -p /fake/sys/firmware/efi/efivars;"
        "printf '\\6\\0\\0\\0\\1' >/fake/sys/firmware/efi/efivars/SecureBoot-8be4"
    )
    done = run(target)
    assert done.exit_code == 11
    assert "Secure Boot refuses" in done.stderr


def test_missing_kernel_headers_are_reported_with_their_package(target: Machine) -> None:
    target.sh("rm -r /lib/modules; rm -f /etc/apt/sources.list /etc/apt/sources.list.d/*")
    done = run(target)
    assert done.exit_code == 11  # before any package is changed
    assert "no kernel headers for the running kernel" in done.stderr and "install linux-headers-" in done.stderr
