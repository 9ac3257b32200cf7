"""The running kernel: loaded modules, nvidia module files of every kernel, DKMS, headers, blacklists, IOMMU."""

from __future__ import annotations

import re
from collections.abc import Iterator

from envkit._startup.records import record
from envkit._startup.regex import regex
from envkit.base.versions import Version
from envkit.host.base import Host
from envkit.model import DkmsEntry, ModuleFile, Observed, Problem, found, missing
from envkit.probe.text import Facts, derived, first_known, texts_of

PATHS = (
    "kernel.cmdline",
    "kernel.loaded_modules",
    "kernel.module_files",
    "kernel.headers",
    "kernel.blacklisted",
    "kernel.modprobe_options",
    "kernel.dkms",
    "kernel.dkms_make_log",
    "kernel.iommu",
    "kernel.compiler",
)
MODULE_FILES = tuple(
    f"/lib/modules/*/{place}/nvidia.ko*"
    for place in (
        "updates/dkms",
        "updates",
        "extra",
        "extra/nvidia*",
        "weak-updates",
        "weak-updates/nvidia*",
        "kernel/drivers/video",
        "kernel/drivers/video/nvidia*",
        "kernel/nvidia-*",
        "kernel/nvidia-*/bits",
    )
)
MODPROBE_FILES = tuple(f"{folder}/modprobe.d/*.conf" for folder in ("/etc", "/run", "/usr/lib", "/lib"))
DKMS = "/var/lib/dkms"
_OF_INTEREST = regex(r"^(nvidia|nouveau|nova|vfio|pci[_-]stub)")
_LOG_TAIL = 40  # lines of a make.log: the error is at its end
_LOG_LINE = 2000  # characters of one: a compiler's command with all its options
MODINFO_FILES = 4
GCC = r"gcc\S{0,60}\s{1,4}(?:version\s{1,4}|\([^()]{0,80}(?:\([^()]{0,80}\)[^()]{0,80})?\)\s{1,4})(\d+\.\d+(?:\.\d+)?)"
_GCC = regex(GCC)
MODULE_LINE = regex(
    r"NVRM(?: version|: loading):? NVIDIA UNIX (?P<open>Open )?(?:\S{1,10} )?Kernel Module (?:for \S{1,10} )? {0,4}"
    r"(?P<version>\d{1,4}(?:\.\d{1,9}){1,3})"
)


@record
class ModuleLine:
    """What the driver's module says of itself, in /proc/driver/nvidia/version and in the kernel log."""

    version: Version
    open: bool


def module_line(text: str) -> ModuleLine | None:
    """What `NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.247.01` says; of open modules `Open Kernel Module`."""
    match = MODULE_LINE.search(text)
    return module_in(match) if match else None


def module_in(match: re.Match[str]) -> ModuleLine:
    """What a match of MODULE_LINE says."""
    return ModuleLine(Version.parse(match["version"]), match["open"] is not None)


def probe(host: Host) -> Facts:
    """Every fact of `kernel` but its log and the bridges' ACS."""
    from envkit.probe.relevant import kernel_words

    kernel = host.identity().get("kernel", "")
    cmdline = derived(host.read_text("/proc/cmdline"), kernel_words)
    configuration = _modprobe(host)
    return {
        "kernel.cmdline": cmdline,
        "kernel.loaded_modules": loaded_modules(host),
        "kernel.module_files": _module_files(host, kernel),
        "kernel.headers": _headers(host, kernel),
        "kernel.blacklisted": _blacklisted(configuration, cmdline),
        "kernel.modprobe_options": derived(configuration, _options),
        "kernel.dkms": _dkms(host),
        "kernel.dkms_make_log": _make_log(host),
        "kernel.iommu": _iommu(host, cmdline.value or ""),
        "kernel.compiler": derived(host.read_text("/proc/version"), _compiler),
    }


def loaded_modules(host: Host) -> Observed[tuple[str, ...]]:
    """The first word of every line of /proc/modules."""
    return derived(
        host.read_text("/proc/modules"),
        lambda text: tuple(line.split()[0] for line in text.splitlines() if line.strip()),
    )


def _module_files(host: Host, running: str) -> Observed[tuple[ModuleFile, ...]]:
    """The nvidia module of every kernel; version and license are asked for the running kernel's first."""
    folder = host.list_dir("/lib/modules")
    if folder.value is None:
        return derived(folder, lambda names: None)
    paths = sorted(
        {path for pattern in MODULE_FILES for path in host.glob(pattern)}, key=lambda path: _kernel_of(path) != running
    )
    files = [_module_file(host, path, ask=index < MODINFO_FILES) for index, path in enumerate(paths)]
    return found(tuple(files), "/lib/modules")


def _kernel_of(path: str) -> str:
    return path.split("/")[3]


def _module_file(host: Host, path: str, ask: bool) -> ModuleFile:
    described = host.run(["modinfo", path], 2.0) if ask else None
    result = described.value if described else None
    if result is None or result.exit_code:
        return ModuleFile(_kernel_of(path), path)
    fields = dict(re.findall(r"^(\w+):\s+(.*)$", result.stdout, re.MULTILINE))
    license = fields.get("license")
    return ModuleFile(
        _kernel_of(path),
        path,
        Version.find(fields.get("version", "")),
        None if license is None else "GPL" in license,
        bool(fields.get("signer") or fields.get("sig_id")),
    )


def _headers(host: Host, kernel: str) -> Observed[str]:
    if not kernel:
        return missing(Problem.NOT_LOOKED, "/lib/modules", "which kernel runs is not known")
    return host.real_path(f"/lib/modules/{kernel}/build")


def _modprobe(host: Host) -> Observed[tuple[tuple[str, ...], ...]]:
    """The lines of every modprobe configuration file that concern GPUs, as words."""
    folder = host.list_dir("/etc/modprobe.d")
    if folder.value is None and folder.problem is not Problem.ABSENT:
        return derived(folder, lambda names: None)
    paths = (path for pattern in MODPROBE_FILES for path in host.glob(pattern))
    lines = (line for _, text in texts_of(host, paths) for line in _concerning_gpus(text))
    return found(tuple(lines), "/etc/modprobe.d")


def _concerning_gpus(text: str) -> Iterator[tuple[str, ...]]:
    for line in text.splitlines():
        words = tuple(line.partition("#")[0].split())
        if len(words) > 1 and _OF_INTEREST.match(words[1]):
            yield words


def kept_configuration(text: str) -> str:
    """The lines of a modprobe configuration file that concern GPUs, for a recording; of a program its name."""
    return "".join(_kept_line(*words) + "\n" for words in _concerning_gpus(text))


def _kept_line(what: str, module: str, *rest: str) -> str:
    from envkit.probe.relevant import options

    return f"{what} {module} {options(rest) if what == 'options' else ' '.join(rest[:1])}"


def _module_name(name: str) -> str:
    return name.replace("-", "_")


def _blacklisted(
    configuration: Observed[tuple[tuple[str, ...], ...]], cmdline: Observed[str]
) -> Observed[tuple[str, ...]]:
    """Modules that are not loaded by themselves: `blacklist`, `install … /bin/false`, and the kernel's command line."""
    if configuration.value is None:
        return derived(configuration, lambda lines: None)
    names = [_module_name(words[1]) for words in configuration.value if _keeps_out(words)]
    for listed in re.findall(
        r"(?:modprobe\.blacklist|module_blacklist|rd\.driver\.blacklist)=(\S+)", cmdline.value or ""
    ):
        names.extend(_module_name(name) for name in listed.split(","))
    return found(tuple(dict.fromkeys(name for name in names if _OF_INTEREST.match(name))), configuration.source)


def _keeps_out(words: tuple[str, ...]) -> bool:
    if words[0] == "install":
        return len(words) > 2 and words[2].rsplit("/", 1)[-1] in ("false", "true")
    return words[0] == "blacklist"


def _options(configuration: tuple[tuple[str, ...], ...]) -> dict[str, str]:
    from envkit.probe.relevant import options

    given: dict[str, list[str]] = {}
    for words in configuration:
        if words[0] == "options" and len(words) > 2:
            given.setdefault(_module_name(words[1]), []).append(options(words[2:]))
    return {name: " ".join(shown) for name, shown in given.items()}


def _dkms(host: Host) -> Observed[tuple[DkmsEntry, ...]]:
    """What `dkms status` would say of nvidia modules, from DKMS's own folders."""
    modules = host.list_dir(DKMS)
    if modules.value is None:
        return derived(modules, lambda names: None)
    entries: list[DkmsEntry] = []
    for module in modules.value:
        if module.startswith("nvidia"):
            for version in host.list_dir(f"{DKMS}/{module}").value or ():
                entries.extend(_dkms_entries(host, module, version))
    return found(tuple(entries), DKMS)


def _dkms_entries(host: Host, module: str, version: str) -> Iterator[DkmsEntry]:
    folder = f"{DKMS}/{module}/{version}"
    names = host.list_dir(folder).value or ()
    if version.startswith("kernel-") or not names:
        return
    if "source" in names and not host.real_path(f"{folder}/source").known:
        yield DkmsEntry(module, version, "", "broken")
        return
    kernels = [name for name in names if name not in ("source", "build")]
    if not kernels:
        yield DkmsEntry(module, version, "", "added")
    for kernel in kernels:
        for architecture in host.list_dir(f"{folder}/{kernel}").value or ():
            if not host.list_dir(f"{folder}/{kernel}/{architecture}/module").known:
                continue
            link = host.real_path(f"{DKMS}/{module}/kernel-{kernel}-{architecture}")
            state = "installed" if link.value == f"{folder}/{kernel}/{architecture}" else "built"
            yield DkmsEntry(module, version, kernel, state)


def _make_log(host: Host) -> Observed[str]:
    """The end of the newest make.log that is in a build folder: DKMS moves it away when a build succeeds."""
    logs = host.glob(f"{DKMS}/nvidia*/*/build/make.log")
    if not logs:
        folder = host.list_dir(DKMS)
        return missing(folder.problem or Problem.ABSENT, DKMS, "no build log")
    dates = {path: host.status(path) for path in logs}
    newest = max(logs, key=lambda path: status.modified if (status := dates[path].value) else 0.0)
    return derived(host.read_text(newest, 4_000_000), log_tail)


def log_tail(text: str) -> str:
    """The end of a build's log."""
    return "\n".join(line[:_LOG_LINE] for line in text.splitlines()[-_LOG_TAIL:])


def _iommu(host: Host, cmdline: str) -> Observed[str]:
    """`off` without groups, `passthrough` when every GPU's group is identity-mapped, otherwise `translated`."""
    groups = host.list_dir("/sys/kernel/iommu_groups")
    if groups.value is None:
        return derived(groups, lambda names: None)
    if not groups.value:
        return found("off", groups.source)
    paths = host.glob("/sys/bus/pci/devices/*/iommu_group/type")
    gpus = [path for path in paths if _is_nvidia(host, path)]
    kinds = {(host.read_text(path).value or "").strip() for path in gpus or paths[:1]} - {""}
    if kinds:
        return found("passthrough" if kinds == {"identity"} else "translated", (gpus or paths)[0])
    if re.search(r"\biommu=pt\b|\biommu\.passthrough=1\b", cmdline):
        return found("passthrough", "/proc/cmdline")
    return first_known([host.read_text(path) for path in paths[:1]] or [missing(Problem.UNPARSABLE, groups.source)])


def _is_nvidia(host: Host, path: str) -> bool:
    vendor = host.read_text(path.replace("iommu_group/type", "vendor"))
    return (vendor.value or "").strip() == "0x10de"


def _compiler(text: str) -> Version | None:
    """The gcc in `Linux version 6.1.0 (builder@host) (gcc-12 (Debian 12.2.0-14) 12.2.0, GNU ld …) #1 SMP`."""
    match = _GCC.search(text)
    return Version.find(match.group(1)) if match else None
