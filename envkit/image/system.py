"""Commands of the distribution's package manager, with its cache kept outside the layers."""

from __future__ import annotations

from envkit.base.settings import Mirrors
from envkit.image.parts import Run
from envkit.tables import images as data
from envkit.tables.rows import OperatingSystem

_CACHES = {
    "apt": ("/var/cache/apt", "/var/lib/apt"),
    "dnf": ("/var/cache/dnf",),
    "yum": ("/var/cache/yum",),
    "zypper": ("/var/cache/zypp",),
}
# Linter rules that ask for pinned versions and for cleaning up what the cache mounts already keep out.
_IGNORED = {
    "apt": ("DL3008",),
    "dnf": ("DL3040", "DL3041"),
    "yum": ("DL3032", "DL3033"),
    "zypper": ("DL3036", "DL3037"),
}
_INSTALL = {
    "apt": "apt-get install -y --no-install-recommends",
    "dnf": "dnf install -y --setopt=install_weak_deps=False",
    "yum": "yum install -y",
    "zypper": "zypper --non-interactive install -y --no-recommends",
}
_WHY = "Distribution packages are not pinned: the archives keep only the newest version of each package."
# Where the archives of Ubuntu and Debian are named, in sources.list and in the newer .sources files.
_APT_ARCHIVE = r"https?://([a-z0-9.-]*archive|security|ports|deb)\.(ubuntu|debian)\.[a-z]+/[a-z-]+/?"
# Whose repository NVIDIA's images have next to the distribution's own: no mirror of that one holds it.
_FOREIGN = "nvidia"


def install(
    system: OperatingSystem, names: tuple[str, ...], mirrors: Mirrors, first: tuple[str, ...] = ()
) -> Run | None:
    """The step that installs these packages (in name order, doubles removed); None when there are none.

    `first` are commands that must come before, such as adding a repository.
    """
    manager = system.package_manager
    wanted = sorted(set(names))
    if not wanted:
        return None
    commands = (*_prepare(system, mirrors), *first, *_refresh(manager), _listed(_INSTALL[manager], wanted))
    return Run(commands, caches=_CACHES[manager], ignore=_IGNORED[manager], why=_WHY)


def _prepare(system: OperatingSystem, mirrors: Mirrors) -> tuple[str, ...]:
    commands = []
    repaired = data.repair(system.os_id)
    if repaired:
        commands.append(repaired)
    if system.package_manager == "apt":
        if mirrors.apt:
            files = "$(find /etc/apt -name '*.list' -o -name '*.sources')"
            commands.append(f"sed -i -E 's#{_APT_ARCHIVE}#{mirrors.apt.rstrip('/')}/#g' {files}")
        # The images delete downloaded packages after each run, which would empty the cache mount.
        commands.append("rm -f /etc/apt/apt.conf.d/docker-clean")
    elif mirrors.yum and system.package_manager in ("dnf", "yum"):
        base = mirrors.yum.rstrip("/")
        commands.append(
            "sed -i -E -e '/^(mirrorlist|metalink)=/s/^/#/'"
            f" -e '/{_FOREIGN}/!s|^#? ?baseurl=https?://[^/]+|baseurl={base}|' /etc/yum.repos.d/*.repo"
        )
    return tuple(commands)


def _refresh(manager: str) -> tuple[str, ...]:
    return ("apt-get update",) if manager == "apt" else ()


def _listed(command: str, names: list[str]) -> str:
    return "\n".join([command, *names])
