"""Where the program runs (metal, VM, container, WSL, Jetson) and what the machine grants: memory, limits, space."""

from __future__ import annotations

import re

from envkit._startup.regex import regex
from envkit.base.versions import Version
from envkit.host.base import Host
from envkit.model import MachineKind, Observed, Problem, found, missing
from envkit.probe.cpu import usable_processors
from envkit.probe.os_release import identity
from envkit.probe.text import Facts, assignments, derived, first_known

PATHS = (
    "system.machine_kind",
    "system.vendor",
    "system.user_id",
    "system.groups",
    "system.secure_boot",
    "system.lockdown",
    "system.selinux",
    "system.processors",
    "system.usable_processors",
    "system.memory_bytes",
    "system.memlock_bytes",
    "system.shm_bytes",
    "system.free_bytes",
    "system.tmp_noexec",
    "system.display_server",
    "system.platform_model",
    "system.l4t_release",
    "system.prime_profile",
    "system.infiniband_devices",
    "network_interfaces",
    "nccl_config",
)
_KERNEL_RELEASE = "/proc/sys/kernel/osrelease"
_CPU = "/proc/cpuinfo"
_DEVICE_TREE = "/proc/device-tree/compatible"
CONTAINER_FILES = {"/.dockerenv": "docker", "/run/.containerenv": "podman"}
CONTAINER_VARIABLES = {
    "APPTAINER_CONTAINER": "apptainer",
    "SINGULARITY_CONTAINER": "singularity",
    "KUBERNETES_SERVICE_HOST": "kubernetes",
}
_VERSION = "/proc/version"
GVISOR = "#1 SMP Sun Jan 10 15:06:54 PST 2016"  # gVisor is no Linux, and always says that it was built then
_MOUNTS = "/proc/self/mountinfo"
_CGROUP = regex(r"docker|kubepods|containerd|libpod|lxc|garden|crio")
_MOUNT_FIELDS = 8
_DRIVER_FILE = regex(r"/lib(?:cuda|nvidia)[\w-]*\.so|/nvidia-smi$")
_VIRTUAL_VENDORS = regex(
    r"(?i)qemu|kvm|vmware|innotek|xen|bochs|parallels|bhyve|openstack|google compute|amazon ec2|alibaba|virtual"
)
SECURE_BOOT = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
SPACES = ("/", "/tmp", "/var/lib/docker", "/usr/local")
_DISPLAYS = ("Xorg", "Xwayland", "X", "gnome-shell", "kwin_wayland", "weston", "sway")


def probe(host: Host) -> Facts:
    """Every other fact of `system`."""
    return {
        "system.machine_kind": machine_kind(host),
        "system.vendor": _vendor(host),
        "system.user_id": derived(identity(host, "user_id"), int),
        "system.groups": derived(identity(host, "groups"), lambda text: tuple(text.split())),
        "system.secure_boot": _secure_boot(host),
        "system.lockdown": derived(host.read_text("/sys/kernel/security/lockdown"), _chosen),
        "system.selinux": _selinux(host),
        "system.processors": derived(host.read_text(_CPU, 16_000_000), _processors),
        "system.usable_processors": usable_processors(host),
        "system.memory_bytes": derived(host.read_text("/proc/meminfo"), _memory),
        "system.memlock_bytes": derived(host.read_text("/proc/self/limits"), _memlock),
        "system.shm_bytes": host.size_bytes("/dev/shm"),
        "system.free_bytes": _free(host),
        "system.tmp_noexec": derived(host.read_text(_MOUNTS, 16_000_000), _tmp_noexec),
        "system.display_server": _display_server(host),
        "system.platform_model": derived(host.read_text("/proc/device-tree/model"), lambda text: text.strip("\0\n ")),
        "system.l4t_release": derived(host.read_text("/etc/nv_tegra_release"), _l4t),
        "system.prime_profile": derived(host.read_text("/etc/prime-discrete"), str.strip),
        "system.infiniband_devices": _infiniband(host),
        "network_interfaces": _interfaces(host),
        "nccl_config": _nccl_config(host),
    }


def machine_kind(host: Host) -> Observed[MachineKind]:
    """Container before WSL before Jetson before VM: the innermost one decides what else can be seen."""
    release = host.read_text(_KERNEL_RELEASE)
    if release.problem is Problem.NOT_LOOKED:
        return missing(Problem.NOT_LOOKED, _KERNEL_RELEASE, release.detail)
    container = _container_mark(host)
    if container:
        return found(MachineKind.CONTAINER, container)
    kernel = release.value or ""
    if "microsoft" in kernel.lower():
        newer = "WSL2" in kernel or host.status("/dev/dxg").known
        return found(MachineKind.WSL2 if newer else MachineKind.WSL1, _KERNEL_RELEASE)
    if host.status("/etc/nv_tegra_release").known:
        return found(MachineKind.JETSON, "/etc/nv_tegra_release")
    if "nvidia,tegra" in (host.read_text(_DEVICE_TREE).value or ""):
        return found(MachineKind.JETSON, _DEVICE_TREE)
    processor = host.read_text(_CPU, 65536)
    if re.search(r"^flags\s*:.*\bhypervisor\b", processor.value or "", re.MULTILINE):
        return found(MachineKind.VM, _CPU)
    product = dmi(host)
    if product.value is not None and _VIRTUAL_VENDORS.search(product.value):
        return found(MachineKind.VM, product.source)
    if processor.value is None:
        return missing(processor.problem or Problem.NOT_LOOKED, _CPU, processor.detail)
    return found(MachineKind.METAL, _CPU)


def _container_mark(host: Host) -> str:
    """The file that says "container", '' when none does.

    A virtual machine may boot a file system that was made from an image and keeps its marks; there the kernel's own
    threads can be seen.
    """
    for name in CONTAINER_VARIABLES:
        if host.variables().get(name):
            return name
    if GVISOR in (host.read_text(_VERSION).value or ""):
        return _VERSION
    kernel_threads = (host.read_text("/proc/2/comm").value or "").strip() == "kthreadd"
    if kernel_threads and not _overlaid(host):
        return ""
    for path in CONTAINER_FILES:
        if host.status(path).known:
            return path
    if host.read_text("/run/systemd/container").known:
        return "/run/systemd/container"
    groups = host.read_text("/proc/1/cgroup")
    if _CGROUP.search(groups.value or ""):
        return "/proc/1/cgroup"
    return _MOUNTS if not kernel_threads and _overlaid(host) else ""


def _overlaid(host: Host) -> bool:
    """True when the root is an overlay, as container engines mount it."""
    mounts = host.read_text(_MOUNTS, 16_000_000).value or ""
    return bool(re.search(r"^(?:\S+ ){4}/ .*? - overlay ", mounts, re.MULTILINE))


def kept_mounts(text: str) -> str:
    """The mounts that are asked for, for a recording: of /, /tmp and /proc, and of the driver's files."""
    return "".join(_kept_mount(line.split()) for line in text.splitlines())


def _kept_mount(fields: list[str]) -> str:
    if "-" not in fields or fields.index("-") + 3 > len(fields) or len(fields) < _MOUNT_FIELDS:
        return ""
    kind = fields[fields.index("-") + 1]
    if fields[4] not in ("/", "/tmp") and kind != "proc" and not _DRIVER_FILE.search(fields[4]):
        return ""
    options = ",".join(option for option in fields[5].split(",") if option in ("ro", "rw", "noexec"))
    hidden = ",".join(option for option in fields[-1].split(",") if option.startswith("hidepid="))
    return f"1 1 0:1 / {fields[4]} {options or 'rw'} - {kind} none {hidden or 'rw'}\n"


def dmi(host: Host) -> Observed[str]:
    """Vendor and product of the machine as its firmware names them."""
    parts = [host.read_text(f"/sys/class/dmi/id/{name}") for name in ("sys_vendor", "product_name")]
    words = " ".join((part.value or "").strip() for part in parts).strip()
    return found(words, parts[0].source) if words else derived(parts[0], lambda text: None, "empty")


def _vendor(host: Host) -> Observed[str]:
    """The container engine inside a container, otherwise the machine's maker and model."""
    mark = _container_mark(host)
    return found(_engine(host, mark), mark) if mark else dmi(host)


def _engine(host: Host, mark: str) -> str:
    """The engine that left the mark, in a word."""
    if mark == "/proc/1/cgroup":
        match = _CGROUP.search(host.read_text(mark).value or "")
        return match.group() if match else ""
    if mark == "/run/systemd/container":
        return (host.read_text(mark).value or "").strip()
    return {**CONTAINER_FILES, **CONTAINER_VARIABLES, _VERSION: "gvisor"}.get(mark, "an engine without a mark")


def _secure_boot(host: Host) -> Observed[bool]:
    """The fifth byte of the firmware's variable; ABSENT without one, which is a legacy boot or a guest, not "off"."""
    return derived(host.read_bytes(SECURE_BOOT, 16), lambda content: content[4] == 1 if len(content) > 4 else None)


def _chosen(text: str) -> str | None:
    match = re.search(r"\[(\w+)\]", text)
    return match.group(1) if match else None


def _selinux(host: Host) -> Observed[str]:
    enforcing = host.read_text("/sys/fs/selinux/enforce")
    if enforcing.value is not None:
        return found("enforcing" if enforcing.value.strip() == "1" else "permissive", enforcing.source)
    systems = host.read_text("/proc/filesystems")
    if systems.value is not None and "selinuxfs" not in systems.value:
        return found("disabled", systems.source)
    return derived(enforcing, lambda text: None)


def _processors(text: str) -> int | None:
    return len(re.findall(r"^processor\s*:", text, re.MULTILINE)) or None


def _memory(text: str) -> int | None:
    match = re.search(r"^MemTotal:\s*(\d+) kB", text, re.MULTILINE)
    return int(match.group(1)) * 1024 if match else None


def _memlock(text: str) -> int | None:
    match = re.search(r"^Max locked memory\s+(\S+)", text, re.MULTILINE)
    if not match:
        return None
    return -1 if match.group(1) == "unlimited" else int(match.group(1))


def _free(host: Host) -> Observed[dict[str, int]]:
    about = host.identity()
    paths = dict.fromkeys([*SPACES, about.get("home", ""), about.get("prefix", "")])
    spaces = {path: host.free_bytes(path) for path in paths if path}
    known = {path: space.value for path, space in spaces.items() if space.value is not None}
    return found(known, "statvfs") if known else derived(spaces["/"], lambda value: None)


def _tmp_noexec(text: str) -> bool:
    """Lines are `36 35 98:0 /root /mount-point options - type …`; the last mount on a point counts."""
    points = {fields[4]: fields[5] for line in text.splitlines() if len(fields := line.split()) > 5}
    return "noexec" in points.get("/tmp", points.get("/", "")).split(",")


def _display_server(host: Host) -> Observed[str]:
    """The program that holds display 0's lock, or the one after a Wayland socket."""
    lock = host.read_text("/tmp/.X0-lock")
    if lock.value is not None and lock.value.strip().isdigit():
        name = host.read_text(f"/proc/{lock.value.strip()}/comm")
        if name.value is not None and name.value.strip() in _DISPLAYS:
            return found(name.value.strip(), lock.source)
    for path in host.glob("/run/user/*/wayland-0"):
        return found("Wayland", path)
    problem = Problem.NOT_LOOKED if lock.problem is Problem.NOT_LOOKED else Problem.ABSENT
    return missing(problem, lock.source, "no display server")


def _l4t(text: str) -> Version | None:
    """From `# R35 (release), REVISION: 4.1, …`."""
    match = re.search(r"R(\d+) \(release\), REVISION: (\d+(?:\.\d+)*)", text)
    return Version.parse(f"{match.group(1)}.{match.group(2)}") if match else None


def _infiniband(host: Host) -> Observed[tuple[str, ...]]:
    return host.list_dir("/sys/class/infiniband")


def _interfaces(host: Host) -> Observed[tuple[str, ...]]:
    """The names of interfaces that are not down, the loopback's included."""
    names = host.list_dir("/sys/class/net")
    states = {name: host.read_text(f"/sys/class/net/{name}/operstate").value or "" for name in names.value or ()}
    return derived(names, lambda names: tuple(name for name in names if states[name].strip() != "down"))


def _nccl_config(host: Host) -> Observed[dict[str, str]]:
    """The settings of the NCCL configuration files, the user's over the machine's; ABSENT without such a file."""
    paths = ["/etc/nccl.conf", *(f"{home}/.nccl.conf" for home in [host.identity().get("home")] if home)]
    texts = [host.read_text(path) for path in paths]
    settings: dict[str, str] = {}
    for text in texts:
        settings |= _nccl_settings(text.value or "")
    if any(text.known for text in texts):
        return found(settings, ", ".join(text.source for text in texts if text.known))
    return derived(first_known(texts), lambda text: None)


def _nccl_settings(text: str) -> dict[str, str]:
    from envkit.model.variables import KINDS

    return {name: value for name, value in assignments(text).items() if name in KINDS}


def kept_nccl_config(text: str) -> str:
    """The settings that are asked for, for a recording."""
    return "".join(f"{name}={value}\n" for name, value in _nccl_settings(text).items())
