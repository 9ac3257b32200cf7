"""The part of each source that a fact may hold: what decides something, and nothing of what is next to it.

A command line of the kernel, the engine's configuration and the log of package changes belong to the machine's owner;
they carry logins, addresses and what was done by whom. These functions take out of them what is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from envkit._startup.regex import regex

_KERNEL_WORD = regex(
    r"(?:(?:nvidia|nouveau|nova|vfio|drm|i915|xe|amdgpu|radeon|efifb|simpledrm|pcie?|acpi|iommu|intel_iommu|amd_iommu"
    r"|swiotlb|hugepages\w{0,20}|default_hugepagesz|processor|intel_idle|numa\w{0,20}|cgroup\w{0,20}|systemd\.unified\w{0,40})"
    r"(?:[_-]\w{1,40})?(?:\.\w{1,60})?(?:=[\w.,:/@*+-]{0,200})?"
    r"|(?:modprobe\.blacklist|module_blacklist|rd\.driver\.(?:blacklist|pre)|rdblacklist)=[\w,-]{0,400}"
    r"|nomodeset|ibt=\w+|lockdown=\w+|module\.sig_enforce(?:=\d)?|mem_sleep_default=\w+|mitigations=[\w,]+)"
)
_ENGINE_SETTINGS = frozenset(
    {"cdi-spec-dirs", "default-runtime", "default-shm-size", "exec-opts", "features", "log-driver", "storage-driver"}
)
_TOOLKIT_SETTINGS = frozenset(
    {
        "accept-nvidia-visible-devices-as-volume-mounts",
        "accept-nvidia-visible-devices-envvar-when-unprivileged",
        "disable-require",
        "ldconfig",
        "load-kmods",
        "mode",
        "no-cgroups",
        "path",
        "root",
        "runtimes",
        "supported-driver-capabilities",
        "swarm-resource",
    }
)
_UPGRADERS = regex(
    r"(?:\S{0,80}/)?(apt|apt-get|aptitude|apt-daily|dpkg|nala|synaptic|unattended-upgrades?|packagekit|aptdaemon"
    r"|update-manager|ubuntu-drivers|mintupdate-\w+)(?: (?:-\S{1,40} ){0,6}(upgrade|dist-upgrade|full-upgrade"
    r"|install|reinstall|remove|purge|autoremove|role='[\w-]{1,40}'))?(?= |$)"
)
_REPOSITORY_WORD = regex(
    r"|compute|cuda|repos?|nvidia|libnvidia|container|toolkit|stable|experimental|deb|rpm|dists|pool|main|graphics|drivers?"
    r"|ppa|epel|rpmfusion|negativo17|non|free|nonfree|machine|learning|network|fabric|manager|latest|local|var|cudnn|nv"
    r"|tensorrt|wsl|cross|linux|release|updates|os|Packages|x86_64|sbsa|aarch64|amd64|arm64|ppc64le|noarch"
    r"|(?:ubuntu|debian|rhel|centos|el|fedora|fc|sles|opensuse|amzn|kylin|azl|cm|v)?[\d.]*|\$\(?\w+\)?"
)
_PLAIN_VALUE = regex(  # a number, a switch, device ids, a folder of the system
    r"\"?(?:-?\d{0,20}|0x[0-9a-f]{1,16}|[yn]|on|off|auto|(?:[0-9a-f]{4}:[0-9a-f]{4},?){1,20}|/(?:var|tmp|run|usr)[\w/.]*)\"?",
    re.IGNORECASE,
)
_PARAMETER = regex(r"([A-Za-z_][\w.-]{0,60})=(.*)", re.DOTALL)
_PROGRAM = regex(r"[\w./+@-]{1,200}")
_SET = "(set)"
_HIDDEN = "***"


def kernel_words(cmdline: str) -> str:
    """The words of the kernel's command line that concern GPUs, PCI and modules."""
    return " ".join(word for word in cmdline.split() if _KERNEL_WORD.fullmatch(word))


def engine_settings(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """The settings of a Docker engine that concern containers with GPUs; of each runtime its program."""
    kept = {name: value for name, value in settings.items() if name in _ENGINE_SETTINGS}
    runtimes = settings.get("runtimes")
    if isinstance(runtimes, Mapping):
        kept["runtimes"] = {name: _program(runtime) for name, runtime in runtimes.items()}
    return kept


def _program(runtime: object) -> Mapping[str, str]:
    if not isinstance(runtime, Mapping) or "path" not in runtime:
        return {}
    path = str(runtime["path"])
    return {"path": path if _PROGRAM.fullmatch(path) else _HIDDEN}


def toolkit_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """The settings of NVIDIA's container toolkit, by dotted key, that change what a container gets."""
    return {name: value for name, value in settings.items() if name.rpartition(".")[2] in _TOOLKIT_SETTINGS}


def parameters(settings: Mapping[str, str]) -> dict[str, str]:
    """The settings of a kernel module with the values that have a plain form; of any other one that it is set."""
    return {name: value if _PLAIN_VALUE.fullmatch(value) else _SET for name, value in settings.items()}


def options(words: Iterable[str]) -> str:
    """The words `NAME=VALUE` of a module's options, with values of a plain form alone; other words are left out."""
    pairs = (pair.groups() for pair in map(_PARAMETER.fullmatch, words) if pair)
    return " ".join(f"{name}={value if _PLAIN_VALUE.fullmatch(value) else _SET}" for name, value in pairs)


def upgrader(command: str) -> str:
    """The program of a package manager's command line and what it was to do, without what it was told besides."""
    match = _UPGRADERS.match(command)
    return " ".join(filter(None, match.groups())) if match else "another program" if command else ""


def repository(url: str) -> str:
    """The address of a package source: scheme, host, and the usual parts of such a path."""
    scheme, separator, rest = url.partition("://") if "://" in url else url.partition(":")
    host, slash, path = rest.partition("?")[0].rpartition("@")[2].partition("/")
    parts = [part if all(map(_REPOSITORY_WORD.fullmatch, part.split("-"))) else _HIDDEN for part in path.split("/")]
    return f"{scheme}{separator}{host}{slash}{'/'.join(parts)}"
