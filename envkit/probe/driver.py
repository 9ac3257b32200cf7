"""The NVIDIA driver: kernel module, user-space libraries and their versions, device nodes, services."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from envkit._startup.records import replace
from envkit.base.versions import Version
from envkit.host.base import Host
from envkit.host.driver_folders import APART
from envkit.model import CallResult, DeviceNode, DriverLibrary, MachineKind, Observed, Problem, found, missing
from envkit.probe.kernel import ModuleLine, loaded_modules, module_line
from envkit.probe.ld_cache import ld_cache
from envkit.probe.machine import machine_kind
from envkit.probe.starting import GPUS, daemon_runs
from envkit.probe.text import Facts, colon_pairs, derived, first_known

PATHS = (
    "driver.kernel_module",
    "driver.open_kernel_module",
    "driver.libraries",
    "driver.user_space",
    "driver.params",
    "driver.procfs_gpus",
    "driver.excluded_gpus",
    "driver.uninitialised_gpus",
    "driver.runfile_installed",
    "driver.persistence_daemon",
    "driver.peermem_loaded",
    "driver.suspended_memory_kept",
    "driver.device_majors",
    "driver.modprobe_setuid",
)
SERVICE_PATHS = (
    "driver.nvidia_smi",
    "driver.fabric_manager",
    "driver.fabric_manager_version",
)
VERSION_FILE = "/proc/driver/nvidia/version"
SYS_VERSION = "/sys/module/nvidia/version"
PARAMS = "/proc/driver/nvidia/params"
LIBRARY_NAMES = ("libcuda.so.1", "libnvidia-ml.so.1", "libnvidia-ptxjitcompiler.so.1")
FOLDERS = (
    "/usr/lib/*-linux-gnu",
    "/usr/lib/*-linux-gnu/nvidia",
    "/usr/lib/*-linux-gnu/nvidia/*",
    "/usr/lib64",
    "/usr/lib64/nvidia",
    "/usr/lib/nvidia-[0-9]*",
    "/usr/lib/nvidia",
    "/usr/lib",
    "/usr/local/lib",
    "/usr/local/nvidia/lib64",
    *APART,
    "/usr/lib/wsl/lib",
    "/run/opengl-driver/lib",
    "/usr/local/cuda*/compat",
    "/usr/local/cuda*/lib64/stubs",
    "/usr/local/cuda*/targets/*/lib/stubs",
    "/usr/lib/*-linux-gnu/stubs",
    "/usr/lib/*-linux-gnu/tegra",
)
_ANSWER_S = 4.0
UNINSTALLER = "/usr/bin/nvidia-uninstall"
INSTALLER_LOG = "/var/log/nvidia-installer.log"
FABRIC_MANAGERS = tuple(
    f"{folder}/nv-fabricmanager"
    for folder in ("/usr/bin", "/usr/libexec/nvidia/tesla/bin", "/run/nvidia/driver/usr/bin")
)
FABRIC_UNIT = "nvidia-fabricmanager"
_FABRIC_PROCESS = "nv-fabricmanage"


def probe(host: Host) -> Facts:
    """Every fact of `driver` that needs neither NVML nor libcuda nor a program of the driver."""
    from envkit.probe import relevant

    line = _module_line(host)
    parameters = derived(host.read_text(PARAMS), lambda text: relevant.parameters(colon_pairs(text)))
    libraries = _libraries(host)
    loaded = loaded_modules(host)
    owned = _owned(host)
    return {
        "driver.kernel_module": kernel_module(host),
        "driver.open_kernel_module": derived(line, lambda line: line.open),
        "driver.libraries": libraries,
        "driver.user_space": _user_space(libraries),
        "driver.params": parameters,
        "driver.procfs_gpus": derived(owned, lambda gpus: tuple(gpus)),
        "driver.excluded_gpus": derived(owned, lambda gpus: _where(gpus, "GPU Excluded", "Yes")),
        "driver.uninitialised_gpus": derived(owned, lambda gpus: _where(gpus, "GPU UUID", "?")),
        "driver.runfile_installed": _runfile(host),
        "driver.persistence_daemon": derived(host.list_dir("/run"), lambda names: daemon_runs(host)),
        "driver.peermem_loaded": derived(loaded, lambda names: bool({"nvidia_peermem", "nv_peer_mem"} & set(names))),
        "driver.suspended_memory_kept": derived(parameters, _kept_over_suspend),
        "driver.device_majors": derived(host.read_text("/proc/devices"), _majors),
        "driver.modprobe_setuid": derived(
            host.status("/usr/bin/nvidia-modprobe"), lambda status: status.mode[:1] in "4567" and status.owner == "root"
        ),
    }


def nodes(host: Host, limit_s: float = _ANSWER_S) -> Facts:
    """`driver.device_nodes`; opening them can take as long as starting a GPU, so this is a task of its own."""
    folder = host.list_dir("/dev")
    if folder.value is None:
        return {"driver.device_nodes": derived(folder, lambda names: None)}
    paths = [*host.glob("/dev/nvidia*"), *host.glob("/dev/nvidia-caps/*"), *host.glob("/dev/dxg")]
    found_nodes = [node for path in paths if (node := _node(host, path)) is not None]
    if not found_nodes:
        return {"driver.device_nodes": missing(Problem.ABSENT, "/dev", "no /dev/nvidia* node")}
    errors = host.query("nodes", limit_s).value or {}
    opened = tuple(_opened(node, str(errors.get(node.path, ""))) for node in found_nodes)
    return {"driver.device_nodes": found(opened, "/dev")}


def _opened(node: DeviceNode, error: str) -> DeviceNode:
    """The node with the error of opening it; only a refusal says something of this user's rights."""
    refused = error in ("EPERM", "EACCES")
    return replace(node, open_error=error, accessible=False if refused else node.accessible)


def services(host: Host, limit_s: float = _ANSWER_S) -> Facts:
    """What the driver's own programs say: `driver.nvidia_smi` and the fabric manager's state and version."""
    return {
        "driver.nvidia_smi": _nvidia_smi(host, limit_s),
        "driver.fabric_manager": _fabric_manager(host),
        "driver.fabric_manager_version": _fabric_version(host),
    }


def kernel_module(host: Host) -> Observed[Version]:
    """The loaded module's version, as sysfs has it, or as its line in /proc says."""
    from_sysfs = derived(host.read_text(SYS_VERSION), Version.find)
    return first_known([from_sysfs, derived(_module_line(host), lambda line: line.version)])


def _module_line(host: Host) -> Observed[ModuleLine]:
    return derived(host.read_text(VERSION_FILE), module_line)


def _libraries(host: Host) -> Observed[tuple[DriverLibrary, ...]]:
    """Every driver library: those of LD_LIBRARY_PATH, then the ld cache's, then those of the usual folders."""
    cache = ld_cache(host, host.identity().get("architecture", ""))
    searched = [folder for folder in host.variables().get("LD_LIBRARY_PATH", "").split(":") if folder.startswith("/")]
    paths: dict[str, str] = {}
    for path in _candidates(host, cache, searched):
        real = host.real_path(path).value
        if real is not None:
            paths.setdefault(real, path)
    if paths:
        mounted = _mount_points(host)
        libraries = (_library(path, real, cache, mounted) for real, path in paths.items())
        return found(tuple(libraries), "library folders")
    if not cache and not host.list_dir("/usr/lib").known:
        return derived(host.list_dir("/usr/lib"), lambda names: None)
    return missing(Problem.ABSENT, "library folders", "no libcuda.so.1 or libnvidia-ml.so.1")


def _candidates(host: Host, cache: Mapping[str, str], searched: list[str]) -> Iterator[str]:
    for name in LIBRARY_NAMES:
        yield from (f"{folder}/{name}" for folder in searched)
        if name in cache:
            yield cache[name]
    for folder in dict.fromkeys(path for pattern in FOLDERS for path in host.glob(pattern)):
        for name in LIBRARY_NAMES:
            stem = name.removesuffix(".1")
            yield from host.glob(f"{folder}/{stem}.[0-9]*")
            yield from host.glob(f"{folder}/{stem}") if folder.endswith("stubs") else ()


def _library(path: str, real: str, cache: Mapping[str, str], mounted: frozenset[str] | None) -> DriverLibrary:
    file = real.rsplit("/", 1)[-1]
    stem, _, tail = file.partition(".so.")
    number = Version.find(tail)  # libcuda.so.1.1 on WSL and Jetson is the interface's version, not the driver's
    name = next((name for name in LIBRARY_NAMES if name.startswith(stem.removesuffix(".so") + ".so")), file)
    return DriverLibrary(
        name,
        real,
        number if number is not None and number.major > 1 else None,
        "/stubs/" in real,
        "/compat/" in real,
        (cache.get(name) in (path, real)) if cache else None,
        None if mounted is None else real in mounted,
    )


def _mount_points(host: Host) -> frozenset[str] | None:
    """Inside a container, the paths that something was mounted on; None elsewhere."""
    if machine_kind(host).value is not MachineKind.CONTAINER:
        return None
    text = host.read_text("/proc/self/mountinfo", 16_000_000).value
    return (
        None if text is None else frozenset(fields[4] for line in text.splitlines() if len(fields := line.split()) > 5)
    )


def user_space(host: Host) -> Observed[Version]:
    """The version of the driver's libraries, as the loader would choose among them."""
    return _user_space(_libraries(host))


def _user_space(libraries: Observed[tuple[DriverLibrary, ...]]) -> Observed[Version]:
    """The version of the first real libcuda, otherwise libnvidia-ml; they are in the order of the loader's search."""
    if libraries.value is None:
        return derived(libraries, lambda value: None)
    real = [item for item in libraries.value if item.version is not None and not item.stub and not item.compat]
    for name in LIBRARY_NAMES:
        chosen = next((item for item in real if item.name == name), None)
        if chosen is not None and chosen.version is not None:
            return found(chosen.version, chosen.path)
    return missing(Problem.ABSENT, libraries.source, "no driver library with a version in its name")


def _owned(host: Host) -> Observed[dict[str, dict[str, str]]]:
    """The GPUs that the module owns by PCI address, with their information file."""
    names = host.list_dir(GPUS)
    texts: dict[str, str] = {}
    for name in names.value or ():
        information = host.read_text(f"{GPUS}/{name}/information")
        if information.problem is Problem.TIMED_OUT:
            break  # the driver is busy or hangs, and each further file would take as long
        texts[name] = information.value or ""
    return derived(names, lambda names: {name: colon_pairs(texts.get(name, "")) for name in names})


def _where(gpus: dict[str, dict[str, str]], key: str, part: str) -> tuple[str, ...]:
    return tuple(address for address, fields in gpus.items() if part in fields.get(key, ""))


def _runfile(host: Host) -> Observed[Version]:
    """The version that NVIDIA's own installer left behind; ABSENT when it was not used or was undone."""
    uninstaller = host.status(UNINSTALLER)
    if not uninstaller.known:
        return derived(uninstaller, lambda status: None)
    log = host.read_text(INSTALLER_LOG, 4_000_000)
    match = re.search(
        r"^[ \t]*(?:installer )?version:?[ \t]+(\d+(?:\.\d+)+)|Driver \(?version:? (\d+(?:\.\d+)+)",
        log.value or "",
        re.MULTILINE,
    )
    version = Version.find(match.group(1) or match.group(2)) if match else None
    if version is not None:
        return found(version, INSTALLER_LOG)
    return missing(Problem.UNPARSABLE, UNINSTALLER, "its version is not in the installer's log")


def _kept_over_suspend(parameters: dict[str, str]) -> bool | None:
    value = parameters.get("PreserveVideoMemoryAllocations")
    return None if value is None else value != "0"


def _majors(text: str) -> dict[str, int]:
    """The driver's character devices: lines such as `195 nvidia`."""
    pairs = (line.split() for line in text.partition("Block devices")[0].splitlines())
    return {
        pair[1]: int(pair[0]) for pair in pairs if len(pair) == 2 and pair[1].startswith("nvidia") and pair[0].isdigit()
    }


def _node(host: Host, path: str) -> DeviceNode | None:
    status = host.status(path).value
    if status is None or status.kind != "char":
        return None
    return DeviceNode(path, status.mode, status.owner, status.group, status.accessible, status.device)


def _nvidia_smi(host: Host, limit_s: float) -> Observed[CallResult]:
    """Exit status and last words of the driver's own tool; the status is NVML's return code."""
    program = host.which("nvidia-smi")
    if program.value is None:
        wsl = "/usr/lib/wsl/lib/nvidia-smi"
        if not host.status(wsl).known:
            return derived(program, lambda path: None)
        program = found(wsl, wsl)
    result = host.run([program.get(), "-L"], limit_s)
    if result.value is None:
        return derived(result, lambda value: None)
    words = (result.value.stdout.strip() or result.value.stderr.strip()).splitlines()
    return found(CallResult(result.value.exit_code, "", "nvidia-smi -L", words[-1] if words else ""), program.get())


def _fabric_manager(host: Host) -> Observed[str]:
    """`running`, `failed` or `installed`; ABSENT without the program and its process.

    The unit is asked first; Fabric Manager can also run in a container, or without systemd.
    """
    program = _fabric_program(host)
    word = ""
    if program.known:
        state = host.run(["systemctl", "is-active", FABRIC_UNIT], 2.0)
        words = {"active": "running", "failed": "failed"}
        word = words.get(state.value.stdout.strip(), "installed") if state.value else "installed"
    if word != "running" and len(host.list_dir(GPUS).value or ()) > 1:
        services = host.query("services", 2.0)
        if services.value is not None and _FABRIC_PROCESS in (services.value.get("running") or ()):  # type: ignore[operator]
            return found("running", services.source)
    return found(word, f"systemctl is-active {FABRIC_UNIT}") if word else derived(program, lambda path: None)


def _fabric_version(host: Host) -> Observed[Version]:
    program = _fabric_program(host)
    if program.value is None:
        return derived(program, lambda path: None)
    return derived(host.run([program.value, "--version"], 2.0), lambda result: Version.find(result.stdout))


def _fabric_program(host: Host) -> Observed[str]:
    """The first of the usual places that has the program."""
    statuses = {path: host.status(path) for path in FABRIC_MANAGERS}
    there = next((path for path, status in statuses.items() if status.known), None)
    return found(there, there) if there else derived(first_known(statuses.values()), lambda status: None)
