"""Drivers, on machines whose GPU, Secure Boot and kernel are made up and whose package sources are real."""

from __future__ import annotations

import re

from tests.cli.run import envkit
from tests.install.machine import FUNCTIONS
from tests.install.reported.bench import Bench, Outcome, Trial, by_tests, codes

SYSROOT = {"ENVKIT_SYSROOT": "/fake"}
GPU = (
    "mkdir -p /fake/sys/bus/pci/devices/0000:01:00.0; cd /fake/sys/bus/pci/devices/0000:01:00.0;"
    "echo 0x10de >vendor; echo 0x030000 >class;"
)
SECURE_BOOT = (
    "mkdir -p /fake/sys/firmware/efi/efivars; printf '\\6\\0\\0\\0\\1' >/fake/sys/firmware/efi/efivars/SecureBoot-8be4;"
)
NON_FREE = "sed -i 's/ main$/ main contrib non-free non-free-firmware/' /etc/apt/sources.list; apt-get update -qq;"
# Another kernel than the one that all containers of this machine share.
KERNEL = (
    'printf \'#!/bin/sh\\n[ "$*" = -r ] && echo %s || exec /usr/bin/uname "$@"\\n\' {} >/usr/local/bin/uname;'
    "chmod +x /usr/local/bin/uname;"
)
INITRAMFS = "printf '#!/bin/sh\\n' >/usr/sbin/update-initramfs; chmod +x /usr/sbin/update-initramfs;"
# Packages that hold nothing, of a name, a version and what they need.
EMPTY = """
empty() {
  rm -rf /deb; mkdir -p /deb/DEBIAN
  printf '%s\\n' "Package: $1" "Version: $2" "Architecture: amd64" "Maintainer: -" "Description: -" >/deb/DEBIAN/control
  [ -z "$3" ] || echo "Depends: $3" >>/deb/DEBIAN/control
  dpkg-deb -b /deb /deb.deb; dpkg -i /deb.deb
}
"""


def _driver_alone(system: str) -> str:
    words = ("--with-driver", "--no-toolkit", "--cuda", "12.2", "--gpu", "8.6", "--os", system, "--target", "any")
    made = envkit("install", *words)
    assert made.returncode == 0, made.stderr
    return made.stdout


def headers_of_coming_kernels(bench: Bench) -> Outcome:
    with bench.machine() as target:
        target.put(_driver_alone("debian12"))
        target.sh("apt-get update -qq; apt-get install -qq -y --no-install-recommends linux-image-cloud-amd64")
        kernel = target.sh("ls /lib/modules | tail -n 1").strip()
        target.sh(KERNEL.format(kernel))
        target.sh(f"{FUNCTIONS} DRIVER_CHOSEN=yes DRIVER_PACKAGE=nvidia-driver CURRENT_STEP=driver; prepare_driver")
        here = target.sh("dpkg-query -W -f '${Package}\\n' 'linux-headers-*'").split()
        assert "linux-headers-cloud-amd64" in here and f"linux-headers-{kernel}" in here, here
    return Outcome(
        "Debian's real cloud kernel and package index; the step that prepares a packaged driver",
        f"linux-headers-{kernel}, and linux-headers-cloud-amd64, which brings those of each coming kernel; a driver's "
        "own "
        "runfile is run with `--dkms`, the CUDA runfile's is told of beforehand (by tests)",
        "0",
        "test_the_headers_of_coming_kernels_come_along, test_a_runfile_driver_is_built_again_by_kernel_updates",
    )  # fmt: skip


def no_driver_to_be_had(bench: Bench) -> Outcome:
    words = ("install", "--with-driver", "--no-toolkit")
    without = envkit(*words, "--target", "any", "--os", "debian12")
    assert without.returncode == 2 and "--gpu" in without.stderr, without.stderr
    with bench.machine() as target:
        target.sh(GPU + NON_FREE)
        target.put(envkit(*words, "--gpu", "8.6", "--os", "debian12", "--target", "any").stdout)
        runs = [target.install(*mode, environment=SYSROOT) for mode in (("--dry-run",), ())]
        for done in runs:
            assert done.exit_code == 11 and "--cuda 12.2, which runs on the driver 535" in done.stderr, done.stderr
        target.sh("sed -i 's/ contrib.*$//' /etc/apt/sources.list; apt-get update -qq")
        bare = target.install(environment=SYSROOT)
        assert bare.exit_code == 11 and "are contrib, non-free and non-free-firmware in its sources?" in bare.stderr
        assert "--nvidia-repository" in bare.stderr, bare.stderr
    return Outcome(
        "the help's example on Debian 12: without a GPU; with `--gpu 8.6`, dry run and run, with non-free; without "
        "non-free",
        'asks for `--gpu`; "create the script again with --driver-runfile, or with --cuda 12.2, which runs on the '
        'driver 535 …"; asks whether non-free is in the sources, and names `--nvidia-repository`, which is new',
        codes(without, *runs, bare),
        "test_where_the_driver_on_offer_is_too_old_the_cuda_that_it_runs_is_named, "
        "test_where_it_is_known_and_not_asked_for_it_is_named",
    )  # fmt: skip


def superseded_kernel(bench: Bench) -> Outcome:
    with bench.machine() as target:
        target.sh(GPU + NON_FREE + KERNEL.format("6.1.0-9-amd64"))
        target.put(_driver_alone("debian12"))
        before = target.sh("dpkg-query -W")
        done = target.install("--no-space-check", environment=SYSROOT)
        assert done.exit_code == 11 and "Update the kernel, reboot, then run this script again" in done.stderr, done
        assert target.sh("dpkg-query -W") == before
    return Outcome(
        "a running kernel 6.1.0-9-amd64, whose headers Debian 12's real index no longer has",
        '"no kernel headers for the running kernel …: Update the kernel, reboot, then run this script again"; no '
        'package '
        "was changed",
        codes(done),
        "test_headers_that_nobody_offers_are_reported_before_anything_is_installed",
    )  # fmt: skip


def signed_modules(bench: Bench) -> Outcome:
    with bench.machine(name=bench.engine.stand_in("ubuntu:22.04")) as target:
        target.sh(
            "sed -i 's/ main universe$/ main restricted universe/' /etc/apt/sources.list;"
            "sed 's/jammy /jammy-updates /' /etc/apt/sources.list >/etc/apt/sources.list.d/updates.list;"
            f"{GPU} {SECURE_BOOT}"
        )
        target.sh("apt-get update -qq")
        kernel = target.sh(
            "apt-cache depends linux-image-generic | sed -n 's/.*Depends: linux-image-\\([0-9].*\\)/\\1/p' | head -n 1"
        ).strip()
        target.sh(f"{EMPTY} empty linux-image-{kernel} 1 ''; empty linux-image-generic 1 linux-image-{kernel};")
        target.sh(KERNEL.format(kernel))
        target.sh(f"mkdir -p /fake/sys/module/nouveau; {INITRAMFS}")
        target.put(_driver_alone("ubuntu22.04"))
        done = target.install("--dry-run", environment=SYSROOT)
        assert done.exit_code == 0, done.stderr
        assert "has modules signed by the distribution, so no key has to be enrolled" in done.stderr, done.stderr
        [said] = set(re.findall(r"linux-modules-nvidia-[\w.-]{1,80}", done.stderr))
    return Outcome(
        f"Ubuntu 22.04's real package index, kernel {kernel}, Secure Boot and nouveau made up; dry run",
        f"{said}: signed, so no key; one reboot for both (by tests)",
        codes(done),
        "test_signed_modules_of_the_kernels_flavor_come_along_and_nothing_is_built, "
        "test_one_reboot_serves_nouveau_and_a_packaged_driver, test_what_the_distribution_recommends_comes_first",
    )


TRIALS: dict[str, Trial] = {
    "F7 headers for one kernel only": headers_of_coming_kernels,
    "F11 no driver that is new enough": no_driver_to_be_had,
    "F12 headers of an outdated kernel": superseded_kernel,
    "F15 archived systems": by_tests(
        "no CentOS here: yum and dnf are stand-ins, the lists are those of CentOS 7 and 8",
        "they get copies of the lists that name the archive; the machine's own lists stay as they are",
        "package_manager.py::test_an_ended_release_takes_its_packages_from_the_archive",
    ),
    "F17 two reboots, no signed modules": signed_modules,
    "nouveau off after a failed download": by_tests(
        "nouveau made up as loaded; the package source lacks the package's file, later has it",
        "**was** left off until the script was resumed or rolled back; now the packages come first: exit 3 and nouveau "
        "stays on, then installed and off",
        "driver.py::test_a_failed_download_of_the_package_leaves_nouveau_on",
        "driver_functions.py::test_nouveau_stays_where_the_drivers_packages_cannot_be_installed",
    ),
}
