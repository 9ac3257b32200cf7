"""Stand-in base images: real distribution roots made by debootstrap, kept in .cache/roots between runs."""

from __future__ import annotations

import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.engine.tools import CACHE, need, run

_DEBIAN_SOURCES = (Path("/etc/apt/sources.list"), *sorted(Path("/etc/apt/sources.list.d").glob("*")))
# The script that debootstrap itself links every Ubuntu suite to; an older debootstrap lacks the newest links.
_UBUNTU_SCRIPT = "/usr/share/debootstrap/scripts/gutsy"


@dataclass(frozen=True)
class Distribution:
    """One release that a stand-in can be made of. `ready_user`: its official image has a user with uid 1000."""

    suite: str
    ubuntu: bool = True
    ready_user: bool = False


DISTRIBUTIONS = {
    "ubuntu16.04": Distribution("xenial"),
    "ubuntu18.04": Distribution("bionic"),
    "ubuntu20.04": Distribution("focal"),
    "ubuntu22.04": Distribution("jammy"),
    "ubuntu24.04": Distribution("noble", ready_user=True),
    "ubuntu26.04": Distribution("resolute", ready_user=True),
    "debian12": Distribution("bookworm", ubuntu=False),
}

# What the official images add to the distribution: no fsync for each unpacked file, no downloaded packages kept.
_DOCKER_FILES = {
    "etc/dpkg/dpkg.cfg.d/docker-apt-speedup": "force-unsafe-io\n",
    "etc/apt/apt.conf.d/docker-clean": (
        'DPkg::Post-Invoke { "rm -f /var/cache/apt/archives/*.deb /var/cache/apt/*.bin || true"; };\n'
    ),
    "etc/apt/apt.conf.d/docker-no-languages": 'Acquire::Languages "none";\n',
}


def debian_mirror() -> list[str]:
    """The Debian mirror of this machine's own apt sources; none leaves the choice to debootstrap."""
    for path in _DEBIAN_SOURCES:
        found = re.search(r"https?://\S*/debian/?(?=\s)", path.read_text()) if path.is_file() else None
        if found:
            return [found.group().rstrip("/")]
    return []


def os_of(image: str) -> str:
    """The distribution that an image name such as nvidia/cuda:12.4.1-base-ubuntu22.04 or ubuntu:22.04 stands for."""
    found = re.search(r"(ubuntu|debian):?(\d+(?:\.\d+)?)", image.replace("bookworm", "12"))
    return f"{found.group(1)}{found.group(2)}" if found else "debian12"


def root_archive(os_id: str) -> Path:
    """A tar of the distribution's minimal root; made once (about 30 s), then kept."""
    distribution = DISTRIBUTIONS[os_id]
    archive = CACHE / "roots" / f"{os_id}.tar"
    if archive.exists():
        return archive
    need("debootstrap")
    archive.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix="root-", dir=archive.parent))
    root = work / "root"
    command = ["debootstrap", "--variant=minbase"]
    if distribution.ubuntu:
        # Debian carries no Ubuntu keyring; apt inside the root checks everything later with the root's own keys.
        command += ["--no-check-gpg", "--components=main,universe"]
    # For Ubuntu, debootstrap's own default mirror: this machine's apt sources name none.
    mirror = [""] if distribution.ubuntu else debian_mirror()
    command += [distribution.suite, str(root), *mirror, *([_UBUNTU_SCRIPT] if distribution.ubuntu else [])]
    run(command)
    for cached in (root / "var/cache/apt/archives").glob("*.deb"):
        cached.unlink()
    if distribution.ready_user:
        run(["chroot", str(root), "useradd", "--create-home", "--uid", "1000", "--shell", "/bin/bash", "ubuntu"])
    for name, content in _DOCKER_FILES.items():
        (root / name).write_text(content)
    run(["tar", "-C", str(root), "-c", "-f", str(work / "root.tar"), "."])
    (work / "root.tar").rename(archive)
    shutil.rmtree(work)
    return archive
