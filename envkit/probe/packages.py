"""System packages that have to do with GPUs, the repositories they come from, and what changed since boot."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from envkit._startup.regex import regex
from envkit.host.base import Host
from envkit.model import Observed, Problem, SystemPackage, found, missing
from envkit.probe.relevant import repository, upgrader
from envkit.probe.text import Facts, derived, texts_of

PATHS = (
    "packages",
    "repositories",
    "package_changes",
)
DPKG_STATUS = "/var/lib/dpkg/status"
_LIMIT = 24_000_000  # a desktop with three thousand packages has 5 MB
_RELEVANT = regex(
    r"nvidia|cuda|cudnn|nccl|tensorrt|libnvinfer|cublas|cufft|curand|cusolver|cusparse|nvjitlink|nvlsm|nvswitch|dkms|"
    r"docker|containerd|podman|runc|linux-(?:headers|image|modules)|kernel(?:-core|-devel|-default)?$|"
    r"gcc$|gcc-\d|g\+\+|clang-\d|nouveau|libc6$|glibc$|unattended-upgrades"
)
_STANZA_NAME = regex(r"^Package: (\S+)$", re.MULTILINE)
_FIELDS = regex(r"^(Package|Status|Version|Maintainer|Architecture): (.*)$", re.MULTILINE)
_DOMAIN = regex(r"@([\w.-]+)>")
RPM_DATABASES = ("/var/lib/rpm", "/usr/lib/sysimage/rpm")
RPM_QUERY = ("rpm", "-qa", "--qf", "%{NAME}\\t%{VERSION}-%{RELEASE}\\t%{VENDOR}\\n")
APT_FILES = ("/etc/apt/sources.list", "/etc/apt/sources.list.d/*.list", "/etc/apt/sources.list.d/*.sources")
YUM_FILES = ("/etc/yum.repos.d/*.repo", "/etc/zypp/repos.d/*.repo")
_REPOSITORY = regex(r"https?://\S+|file:/\S+")
_GPU_REPOSITORY = regex(r"nvidia|cuda|graphics-drivers|negativo17|rpmfusion", re.IGNORECASE)
HISTORY = "/var/log/apt/history.log"
_DRIVER_PACKAGE = regex(
    r"(?<![\w.+-])((?:(?:lib)?nvidia|linux-image|linux-modules-nvidia)-[\w.+-]{1,80})(?::\w{1,8})? \(([^)\n]{0,200})\)"
)


def probe(host: Host) -> Facts:
    """`packages`, `repositories`, `package_changes`."""
    return {
        "packages": packages(host),
        "repositories": _repositories(host),
        "package_changes": _changes(host),
    }


def packages(host: Host) -> Observed[tuple[SystemPackage, ...]]:
    """From dpkg's status file, otherwise from rpm; ABSENT on a system with neither."""
    status = host.read_text(DPKG_STATUS, _LIMIT)
    if status.known:
        return derived(status, lambda text: tuple(_dpkg(text)))
    if any(host.status(path).known for path in RPM_DATABASES):
        return derived(host.run(RPM_QUERY, 4.0), lambda result: tuple(_rpm(result.stdout)))
    return derived(status, lambda text: None)


def relevant_stanzas(text: str) -> str:
    """The fields that are read of the packages that matter here, for a recording; of a maintainer the domain."""
    from envkit.privacy.words import is_public

    stanzas = (dict(_FIELDS.findall(stanza)) for stanza in _stanzas(text))
    kept = ("\n".join(_kept_fields(stanza)) for stanza in stanzas if is_public(stanza["Package"]))
    return "\n\n".join(kept) + "\n"


def _kept_fields(stanza: Mapping[str, str]) -> Iterator[str]:
    for name in ("Package", "Status", "Version"):
        yield f"{name}: {stanza.get(name, '')}"
    yield f"Maintainer: <@{_origin(stanza.get('Maintainer', ''))}>"


def _stanzas(text: str) -> Iterator[str]:
    end = -2
    while end < len(text):
        start, end = end + 2, text.find("\n\n", end + 2)
        end = len(text) if end < 0 else end
        stanza = text[start:end]
        name = _STANZA_NAME.search(stanza)
        if name and _RELEVANT.search(name.group(1)):
            yield stanza


def _dpkg(text: str) -> Iterator[SystemPackage]:
    """`origin` is the maintainer's mail domain, such as nvidia.com: the status file names no repository."""
    for stanza in _stanzas(text):
        fields = dict(_FIELDS.findall(stanza))
        wanted, _, state = (fields.get("Status", "").split() + ["", "", ""])[:3]  # want, flag, state
        if state in ("", "not-installed", "config-files"):
            continue
        origin = _origin(fields.get("Maintainer", ""))
        state = "hold" if wanted == "hold" and state == "installed" else state
        yield SystemPackage(fields["Package"], fields.get("Version", ""), "dpkg", state, origin)


def _origin(maintainer: str) -> str:
    """The domain without its hosts: a distribution's teams write from lists and trackers of many names."""
    match = _DOMAIN.search(maintainer)
    domain = ".".join(match.group(1).split(".")[-2:]) if match else ""
    return "ubuntu.com" if domain == "canonical.com" else domain


def _rpm(text: str) -> Iterator[SystemPackage]:
    for line in text.splitlines():
        name, _, rest = line.partition("\t")
        version, _, vendor = rest.partition("\t")
        if version and _RELEVANT.search(name):
            yield SystemPackage(name, version, "rpm", origin="" if vendor == "(none)" else vendor)


def relevant_lines(text: str) -> str:
    """The lines of rpm's answer on packages that matter here, for a recording."""
    from envkit.privacy.words import is_public

    kept = (f"{item.name}\t{item.version}\t{item.origin or '(none)'}\n" for item in _rpm(text) if is_public(item.name))
    return "".join(kept)


def kept_sources(text: str) -> str:
    """The addresses that are read of a file of package sources, for a recording."""
    return "".join(f"{url}\n" for url in _nvidia_sources(text))


def _nvidia_sources(text: str) -> Iterator[str]:
    """The addresses of NVIDIA's software."""
    return (repository(url) for url in _urls(text) if _GPU_REPOSITORY.search(url))


def _repositories(host: Host) -> Observed[tuple[str, ...]]:
    """The URLs of package sources that carry NVIDIA's software; empty when there are sources and none does."""
    paths = [path for pattern in (*APT_FILES, *YUM_FILES) for path in host.glob(pattern)]
    if not paths:
        folder = host.list_dir("/etc")
        return missing(folder.problem or Problem.ABSENT, "/etc/apt, /etc/yum.repos.d", "no package sources")
    urls = (url for _, text in texts_of(host, paths) for url in _nvidia_sources(text))
    return found(tuple(dict.fromkeys(urls)), "package sources")


def _urls(text: str) -> Iterator[str]:
    """The first URL of each line that is no comment."""
    for line in text.splitlines():
        match = None if line.lstrip().startswith("#") else _REPOSITORY.search(line)
        if match:
            yield match.group()


def _changes(host: Host) -> Observed[tuple[str, ...]]:
    """Driver and kernel packages that apt upgraded since boot, `DATE COMMAND: PACKAGE (OLD, NEW)`."""
    history = host.read_text(HISTORY, _LIMIT)
    boot = re.search(r"^btime ([0-9]{1,18})$", host.read_text("/proc/stat").value or "", re.MULTILINE)
    if history.value is not None and boot is None:
        return missing(Problem.NOT_LOOKED, "/proc/stat", "when the machine was started is not known")
    since = int(boot.group(1)) if boot else 0
    return derived(history, lambda text: tuple(_changed(text, since)))


def _changed(text: str, since: int) -> Iterator[str]:
    from datetime import datetime

    for entry in text.split("\n\n"):
        fields = dict(re.findall(r"^([A-Z][\w-]+): (.*)$", entry, re.MULTILINE))
        try:
            started = datetime.strptime(fields.get("Start-Date", ""), "%Y-%m-%d  %H:%M:%S")
        except ValueError:
            continue
        if started.timestamp() < since:
            continue
        for name, versions in _DRIVER_PACKAGE.findall(fields.get("Upgrade", "")):
            yield f"{started:%Y-%m-%d %H:%M} {upgrader(fields.get('Commandline', ''))}: {name} ({versions})"
