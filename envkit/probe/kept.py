"""What a recording keeps of each answer of the machine: the parts that a probe reads, and nothing else.

A file that no row names is not kept: its facts stand in for it. Each row cuts a file down to lines or words of a known
form; where a form can hold a name, the recording masks it afterward. A new question of a probe needs a row here, or a
word in FACTS_ALONE; a test asks every probe and says which is missing.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, TypeVar

from envkit._startup.records import types_of
from envkit._startup.regex import regex
from envkit.base.versions import Version
from envkit.host.base import CommandResult
from envkit.model import Gpu
from envkit.model.privacy import Privacy
from envkit.probe import containers, cuda_tools, kernel, kernel_log, machine, packages, pci, relevant
from envkit.probe.text import colon_pairs

Answer: TypeAlias = Mapping[str, Any]  # of a library
T = TypeVar("T")
_Keep: TypeAlias = Callable[[T], T]
FACTS_ALONE = (  # files of other people's doings, and one of the loader: what they tell is a fact
    r"/var/log/apt/history\.log",
    r"/etc/ld\.so\.cache",
)
_LONGEST = 200  # characters of a line


def _lines(pattern: str) -> _Keep[str]:
    """Of each line what the pattern matches; lines without a match go."""
    wanted = regex(pattern)

    def kept(text: str) -> str:
        matches = (wanted.search(line) for line in text.splitlines())
        return "".join(f"{match.group()[:_LONGEST]}\n" for match in matches if match)

    return kept


def _first_line(text: str) -> str:
    return text.partition("\n")[0][:_LONGEST] + "\n"


def _processors(text: str) -> str:
    """How many there are, and whether they are a guest's."""
    guest = "flags : hypervisor\n" if re.search(r"^flags\s*:.*\bhypervisor\b", text, re.MULTILINE) else ""
    return "processor :\n" * len(re.findall(r"^processor\s*:", text, re.MULTILINE)) + guest


def _parameters(text: str) -> str:
    return "".join(f"{name}: {value}\n" for name, value in relevant.parameters(colon_pairs(text)).items())


def _engine_settings(text: str) -> str:
    """What is kept of an engine's configuration; text of another shape stays unreadable."""
    settings = containers.json_object(text)
    return "" if settings is None else json.dumps(relevant.engine_settings(settings))


def _toolkit_version(text: str) -> str:
    entry = (containers.json_object(text) or {}).get("cuda")
    version = entry.get("version", "") if isinstance(entry, Mapping) else ""
    return json.dumps({"cuda": {"version": str(version)[:_LONGEST]}})


_TEXTS: tuple[tuple[str, _Keep[str]], ...] = (
    (r"/(?:etc|usr/lib)/os-release", _lines(r"^(?:ID|ID_LIKE|VERSION_ID|PRETTY_NAME)=.*")),
    (r"/etc/nv_tegra_release", _lines(r"# R\d+ \(release\), REVISION: [\d.]+")),
    (r"/etc/[\w-]+[-_]release|/etc/debian_version", _first_line),
    (r"/proc/sys/kernel/osrelease|/proc/\d+/comm|/run/systemd/container", _first_line),
    (r"/proc/device-tree/(?:compatible|model)", _lines(r"^[\w .,()+\0-]*")),
    (r"/proc/cpuinfo", _processors),
    (r"/proc/self/status", _lines(r"^Cpus_allowed_list:\s*[\d,-]+")),
    (r"/sys/fs/cgroup/(?:cpu\.max|cpu/cpu\.cfs_(?:quota|period)_us)", _lines(r"^(?:max|-?\d+)(?: \d+)?")),
    (r"/proc/meminfo", _lines(r"^MemTotal:\s*\d+ kB")),
    (r"/proc/self/limits", _lines(r"^Max locked memory\s+\S+")),
    (r"/proc/self/mountinfo", machine.kept_mounts),
    (r"/proc/1/cgroup", _lines(r"docker|kubepods|containerd|libpod|lxc|garden|crio")),
    (r"/proc/filesystems", _lines(r"selinuxfs")),
    (r"/proc/stat", _lines(r"^btime \d+")),
    (r"/proc/cmdline", relevant.kernel_words),
    (r"/proc/modules", _lines(r"^\w+")),
    (r"/proc/version", _lines(rf"{kernel.GCC}|{re.escape(machine.GVISOR)}")),
    (r"/proc/devices", _lines(r"^\s*\d+ nvidia[\w-]*|^Block devices")),
    (r"/proc/driver/nvidia/version", _lines(r"^(?:NVRM|GCC) version:\s*[\w .,()+~:-]*")),
    (r"/proc/driver/nvidia/params", _parameters),
    (r"/proc/driver/nvidia/gpus/[^/]*/information", _lines(r"^(?:Model|GPU UUID|Video BIOS|GPU Excluded)\s*:.*")),
    (r"/sys/module/nvidia/version", _first_line),
    (r"/var/log/nvidia-installer\.log", _lines(r"^\s*(?:installer )?version:?\s+[\d.]+|Driver \(?[Vv]ersion:? [\d.]+")),
    (r"/sys/class/dmi/id/(?:sys_vendor|product_name)", _first_line),
    (r"/sys/fs/selinux/enforce|/sys/kernel/security/lockdown|/etc/prime-discrete", _first_line),
    (r"/sys/class/net/[^/]*/operstate|/tmp/\.X0-lock", _first_line),
    (r"/sys/bus/pci/devices/[^/]*/(?:iommu_group/)?\w+|/sys/bus/pci/slots/[^/]*/address", str),
    (r"(?:/etc|/run|/usr/lib|/lib)/modprobe\.d/[^/]*\.conf", kernel.kept_configuration),
    (r"/var/lib/dkms/.*/make\.log", kernel.log_tail),
    (kernel_log.LOG, kernel_log.relevant_records),
    (packages.DPKG_STATUS, packages.relevant_stanzas),
    (r"/etc/apt/sources\.list.*|/etc/(?:yum\.repos\.d|zypp/repos\.d)/[^/]*", packages.kept_sources),
    (r"/etc/nccl\.conf|/.*/\.nccl\.conf", machine.kept_nccl_config),
    (r"/.*/daemon\.json", _engine_settings),
    (r"/etc/nvidia-container-runtime/config\.toml", containers.kept_settings),
    (r"(?:/etc|/var/run)/cdi/.*", containers.kept_specification),
    (r"/.*/version\.json", _toolkit_version),
    (r"/.*/version\.txt", _lines(r"^CUDA Version [\d.]+")),
    (r"/.*/host_config\.h", _lines(r"^\s*#\s*if\s+__GNUC__\s*>[\w\s|()=&>]*")),
    (
        r"/.*/(?:cuda|cuda_runtime_api|cudnn|cudnn_version)\.h",
        _lines(r"#define\s+\w+\s+\d+"),
    ),
)
_BYTES: tuple[tuple[str, _Keep[bytes]], ...] = (
    (r"/sys/firmware/efi/efivars/SecureBoot-.*", lambda content: content[:5]),
    (r"/sys/bus/pci/devices/[^/]*/config", pci.kept_config),
    (r"/.*/libstdc\+\+\.so\.6", lambda content: b"".join(re.findall(rb"GLIBCXX_[\d.]+\0", content))),
    (r"/.*/libc\.so\.6", lambda content: b"".join(re.findall(rb"GNU C Library [\w .()+~-]*", content)[:1])),
    (r"/(?:usr/)?s?bin/(?:sh|env|bash|ldconfig)", lambda content: content[:20]),  # the machine's type
    (r"/.*", cuda_tools.kept_program),
)
_FOLDERS: tuple[tuple[str, str, Privacy], ...] = (  # folder, the names in it that are kept, and what they tell
    (r"/sys/bus/pci/devices|/proc/driver/nvidia/gpus", r"[0-9a-f:.]{7,20}", Privacy.PLAIN),
    (r"/sys/class/(?:net|infiniband)", r"[\w.@:-]{1,40}", Privacy.INTERFACE),
    (r"/var/lib/dkms", r"nvidia[\w-]*", Privacy.PLAIN),
    (r"/var/lib/dkms/nvidia.*", r"[\w.+~-]{1,80}", Privacy.PLAIN),
    (r"/dev/char|/sys/kernel/iommu_groups", r"195:\d+|\d+", Privacy.PLAIN),
    (r"(?:/etc|/var/run)/cdi", r".*", Privacy.PATH),
    (r".*", r"libcudnn[\w.]*|nvidia_(?:cuda_nvcc|cudnn)\w*-[\w.]*\.dist-info", Privacy.PATH),
)
_OUTPUTS: tuple[tuple[str, _Keep[str]], ...] = (
    (r"journalctl", kernel_log.relevant_records),
    (r"modinfo", _lines(r"^(?:version|license):\s+\S[\w. /+-]*|^(?:signer|sig_id):\s+\S")),
    (r"systemctl", _first_line),
    (r"nvidia-smi", lambda text: "\n".join(text.strip().splitlines()[-1:])),
    (r"rpm", packages.relevant_lines),
    (r".*", lambda text: str(Version.find(text) or "")),
)
_ANSWERS = {  # subject -> the keys that are kept, None for all
    "nvml": frozenset({"init", "driver_cuda_version", "devices", "switches", "error"}),
    "cuda": frozenset({"library", "init", "driver_cuda_version", "device_count", "visible", "load_error"}),
    "docker": frozenset({"url", "version", "info", "error"}),
}


def kept_text(path: str, text: str) -> str | None:
    """The part of a text file that is kept, None for a file that is not."""
    keep = _keeper(_TEXTS, path)
    return None if keep is None else keep(text)


def kept_bytes(path: str, content: bytes) -> bytes | None:
    """The part of a binary file that is kept, None for a file that is not; a script begins with `#!`."""
    keep = _keeper(_BYTES, path)
    return keep(content) or None if keep is not None and not _is(FACTS_ALONE, path) else None


def kept_names(folder: str, names: tuple[str, ...]) -> tuple[tuple[str, ...], Privacy]:
    """The names in a folder that are kept, and what they tell."""
    wanted, kind = next((names, kind) for pattern, names, kind in _FOLDERS if re.fullmatch(pattern, folder))
    return tuple(name for name in names if re.fullmatch(wanted, name)), kind


def kept_result(command: tuple[str, ...], result: CommandResult) -> CommandResult:
    """What is kept of a command's output: of stderr only where a probe reads it."""
    program = posixpath.basename(command[0])
    keep = _keeper(_OUTPUTS, program) or _first_line
    stderr = keep(result.stderr) if program == "nvidia-smi" else ""
    return CommandResult(result.exit_code, keep(result.stdout), stderr)


def kept_answer(subject: str, answer: Answer) -> Answer:
    """What is kept of a library's answer."""
    wanted = _ANSWERS.get(subject)
    if wanted is None:
        return answer
    kept = {key: value for key, value in answer.items() if key in wanted}
    devices = kept.get("devices")
    if subject == "nvml" and isinstance(devices, list):
        kept["devices"] = [_fields_of_gpu(device) for device in devices]
    return kept


def _fields_of_gpu(device: object) -> object:
    return {key: device[key] for key in types_of(Gpu) if key in device} if isinstance(device, Mapping) else device


def is_declared(path: str) -> bool:
    """True for a file with a row of its own here, or a word that its facts stand in for it."""
    return _is((*(pattern for pattern, _ in _TEXTS), *(pattern for pattern, _ in _BYTES[:-1]), *FACTS_ALONE), path)


def _is(patterns: tuple[str, ...], path: str) -> bool:
    return any(re.fullmatch(pattern, path) for pattern in patterns)


def _keeper(rows: tuple[tuple[str, _Keep[T]], ...], name: str) -> _Keep[T] | None:
    return next((keep for pattern, keep in rows if re.fullmatch(pattern, name)), None)
