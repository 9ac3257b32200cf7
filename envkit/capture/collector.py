"""What the shell collector asks of a machine without a Python that is new enough: the places that the probes read.

Where a probe has its places in a constant, the row is made of that constant. A test asks every probe of every recorded
machine and names each place that no row holds.
"""

from __future__ import annotations

from envkit._startup.records import record
from envkit.host.driver_loaded import LOADED, SIGNS
from envkit.host.services import NAMES
from envkit.model.variables import KINDS
from envkit.probe import (
    compilers,
    containers,
    cpu,
    cuda,
    cudnn,
    distributions,
    driver,
    kernel,
    kernel_log,
    machine,
    managers,
    os_release,
    packages,
    pci,
    release_files,
    starting,
)


@record
class Ask:
    """One question; `where` holds paths or patterns, or the words of a program, which a shell expands.

    `how` is a function of the collector:
    names: which paths there are · paths: with type, rights, and target · text: the lines that match `keep` · bytes ·
    words: the printable pieces of a binary that match `keep` · folder: the names in it that fit the pattern `keep` ·
    tail: the last lines of the newest file · program: where PATH has it · run: what it prints · space: how much is free
    """

    how: str
    where: tuple[str, ...]
    keep: str = ""
    most: int = 65_536  # bytes, or lines of a tail


def _asks(how: str, *where: str, keep: str = "", most: int = 65_536) -> Ask:
    return Ask(how, where, keep, most)


_PCI_TEXTS = (
    "class", "device", "subsystem_device", "current_link_speed", "max_link_speed", "current_link_width",
    "max_link_width", "numa_node", "power_state", "resource", "aer_dev_correctable", "aer_dev_fatal",
    "aer_dev_nonfatal", "iommu_group/type",
)  # fmt: skip
_BRIDGE_TEXTS = ("device", "current_link_speed", "max_link_speed", "current_link_width", "max_link_width")
_FRAMEWORK_TEXTS = (
    "torch/version.py",
    "tensorflow/python/platform/build_info.py",
    "tensorflow_core/python/platform/build_info.py",
    "paddle/version/__init__.py",
    "onnxruntime/capi/build_and_package_info.py",
)
_STUBS = tuple(folder for folder in driver.FOLDERS if folder.endswith("stubs"))
_ENGINE = ("Runtimes", "DefaultRuntime", "SecurityOptions", "OperatingSystem", "CgroupDriver", "DockerRootDir")
_HEADERS = ("$folder/METADATA", "$folder/PKG-INFO")
_LOG_WORDS = "|".join((*kernel_log.WORDS, "bar [0-9]"))
_PLUGINS = ("$HOME/.docker/cli-plugins", *containers.PLUGIN_FOLDERS)

MACHINE = (
    _asks("text", *release_files.OS_RELEASE, release_files.DEBIAN_VERSION, release_files.OTHERS),
    _asks("text", "/proc/sys/kernel/osrelease", "/proc/2/comm", "/run/systemd/container", "/proc/1/cgroup"),
    _asks("text", "/proc/filesystems", "/proc/cmdline", "/proc/modules", "/proc/version", "/proc/devices"),
    _asks("text", "/proc/cpuinfo", keep="^processor|^flags", most=16_000_000),
    _asks("text", "/proc/meminfo", keep="^MemTotal"),
    _asks("text", cpu.STATUS, keep="^Cpus_allowed_list"),
    _asks("text", *cpu.QUOTAS),
    _asks("text", "/proc/self/limits", keep="^Max locked memory"),
    _asks("text", "/proc/stat", keep="^btime", most=4_000_000),
    _asks(
        "text",
        "/proc/self/mountinfo",
        keep=r"^([^ ]+ ){4}(/|/tmp) | - proc |/lib(cuda|nvidia)[^ ]*\.so|/nvidia-smi ",
        most=16_000_000,
    ),
    _asks("text", "/sys/kernel/security/lockdown", "/sys/fs/selinux/enforce", "/etc/prime-discrete"),
    _asks("text", "/sys/class/dmi/id/sys_vendor", "/sys/class/dmi/id/product_name", "/etc/nv_tegra_release"),
    _asks("bytes", "/proc/device-tree/compatible", "/proc/device-tree/model", machine.SECURE_BOOT, most=4096),
    _asks("paths", *machine.CONTAINER_FILES, *SIGNS, "/run/user/*/wayland-0", "/etc/nv_tegra_release"),
    _asks("text", "/tmp/.X0-lock", "/proc/$display/comm"),
    _asks("text", "/etc/nccl.conf", "$HOME/.nccl.conf", keep="^[ \t]*NCCL"),
    _asks("folder", "/sys/class/net", "/sys/class/infiniband", keep="*"),
    _asks("text", "/sys/class/net/*/operstate"),
    _asks("space", *machine.SPACES, "$HOME", "/dev/shm"),
    _asks("words", *os_release.LIBC, keep="^GNU C Library ", most=8_000_000),
    _asks("words", *os_release.LIBSTDCXX, keep="^GLIBCXX_[0-9.]+$", most=8_000_000),
    # the kernel and its modules
    _asks("folder", "/lib/modules", "/etc/modprobe.d", keep="*"),
    _asks("paths", *kernel.MODULE_FILES, "/lib/modules/$release/build"),
    _asks("text", *kernel.MODPROBE_FILES, keep="nvidia|nouveau|nova|vfio|pci"),
    _asks("folder", kernel.DKMS, f"{kernel.DKMS}/nvidia*", f"{kernel.DKMS}/nvidia*/*", keep="*"),
    _asks("folder", f"{kernel.DKMS}/nvidia*/*/*", f"{kernel.DKMS}/nvidia*/*/*/*/module", keep="*"),
    _asks("paths", f"{kernel.DKMS}/nvidia*/*/source", f"{kernel.DKMS}/nvidia*/kernel-*"),
    _asks("tail", f"{kernel.DKMS}/nvidia*/*/build/make.log", most=200),
    _asks("folder", "/sys/kernel/iommu_groups", keep="*"),
    _asks("names", f"{pci.DEVICES}/*/iommu_group/type"),
    # the driver
    _asks("text", driver.SYS_VERSION, driver.VERSION_FILE, driver.PARAMS),
    _asks("folder", starting.GPUS, keep="*"),
    _asks("text", f"{starting.GPUS}/*/information", starting.BOUND),
    _asks("text", driver.INSTALLER_LOG, keep="[Vv]ersion", most=4_000_000),
    _asks("paths", driver.UNINSTALLER, *driver.FABRIC_MANAGERS, "/usr/bin/nvidia-modprobe"),
    _asks("paths", "/usr/lib/wsl/lib/nvidia-smi"),
    _asks("paths", "/run/nvidia-persistenced/socket", "/var/run/nvidia-persistenced/socket"),
    _asks("paths", "/dev/nvidia*", "/dev/nvidia-caps/*"),
    _asks("folder", "/dev/char", keep="195:*"),
    _asks("folder", "/dev", "/run", "/etc", "/usr/bin", "/usr/local"),
    _asks("names", *driver.FOLDERS),
    _asks("paths", *(f"{folder}/{name[:-1]}[0-9]*" for folder in driver.FOLDERS for name in driver.LIBRARY_NAMES)),
    _asks("paths", *(f"{folder}/{name[:-2]}" for folder in _STUBS for name in driver.LIBRARY_NAMES)),
    _asks("bytes", "/etc/ld.so.cache", most=4_000_000),
    # packages
    _asks("text", packages.DPKG_STATUS, keep="^(Package|Status|Version|Maintainer): |^$", most=24_000_000),
    _asks("paths", *packages.RPM_DATABASES),
    _asks("text", *packages.APT_FILES, *packages.YUM_FILES, keep="nvidia|cuda|graphics-drivers|negativo17|rpmfusion"),
    _asks("text", packages.HISTORY, keep="^(Start-Date|Commandline|Upgrade):|^$", most=24_000_000),
    # toolkits, cuDNN, compilers
    _asks("paths", *(pattern for pattern, _ in cuda.PATTERNS), "/usr/local/cuda*"),
    _asks("names", "/var/lib/dpkg/info/cuda-*-*.list"),
    _asks("folder", *cudnn.SYSTEM, keep="libcudnn*"),
    _asks("paths", *(f"{folder}/libcudnn*.so.*" for folder in cudnn.SYSTEM)),
    _asks("text", *(f"/usr/include/{header}" for header in cudnn.HEADERS), keep="#define", most=4_000_000),
    _asks("text", *(f"/usr/include/*-linux-gnu/{header}" for header in cudnn.HEADERS), keep="#define", most=4_000_000),
    _asks("paths", *(f"{folder}/{name}" for folder in compilers.PROGRAM_FOLDERS for name in ("gcc*", "clang*"))),
    _asks("names", "/usr/lib*/gcc/*/[0-9]*", "/usr/local/lib*/gcc/*/[0-9]*", "/opt/rh/*/root/usr/lib*/gcc/*/[0-9]*"),
    # containers
    _asks("text", *containers.DAEMON_FILES, "$HOME/.config/docker/daemon.json", containers.TOOLKIT_CONFIG),
    _asks("folder", *containers.CDI_FOLDERS, keep="*"),
    _asks("text", *(f"{folder}/*" for folder in containers.CDI_FOLDERS), keep="kind|[pP]ath", most=4_000_000),
    _asks("paths", *(f"{folder}/docker-buildx" for folder in _PLUGINS), "/var/run/docker.sock"),
    # programs, and the folder in which they are started
    _asks("paths", *(f"$PWD/{name}" for name in managers.FILES)),
    *(_asks("program", name) for name in ("gcc", "clang", "nvcc", "python3", "python", "pip")),
    *(_asks("run", name, "--version") for name in ("docker", "podman", *containers.TOOLKIT_PROGRAMS)),
    _asks("run", "systemctl", "is-active", driver.FABRIC_UNIT),
    *(_asks("run", path, "--version") for path in driver.FABRIC_MANAGERS),
)  # fmt: skip
TOOLKIT = (  # $root is the real folder of a toolkit
    _asks("paths", "$root"),
    _asks("text", "$root/version.json", "$root/version.txt"),
    _asks("folder", "$root/dist-info", keep="nvidia_cuda_nvcc*"),
    _asks("paths", "$root/bin/nvcc", "$root/include/cuda_runtime.h"),
    _asks("paths", "$root/targets/x86_64-linux/include/cuda_runtime.h"),
    _asks("names", "$root/lib*/libcudart.so*", "$root/targets/*/lib/libcudart.so*"),
    _asks("text", "$root/include/cuda.h", "$root/include/cuda_runtime_api.h", keep="#define CUD", most=4_000_000),
    _asks("text", "$root/include/crt/host_config.h", "$root/include/host_config.h", keep="__GNUC", most=1_000_000),
    _asks("text", *(f"$root/include/{header}" for header in cudnn.HEADERS), keep="#define", most=4_000_000),
    *(_asks("folder", f"$root/{folder}", keep="libcudnn*") for folder in ("lib64", "lib")),
    *(_asks("paths", f"$root/{folder}/libcudnn*.so.*") for folder in ("lib64", "lib")),
)  # fmt: skip
TOOLS = (_asks("words", *(f"$root/bin/{tool}" for tool in cuda.TOOLS), keep="Cuda compilation tools", most=64_000_000),)
DEVICE = (  # $device is an NVIDIA device on the bus
    _asks("paths", f"{pci.DEVICES}/$device", f"{pci.DEVICES}/$device/driver", f"{pci.DEVICES}/$device/physfn"),
    _asks("text", *(f"{pci.DEVICES}/$device/{name}" for name in _PCI_TEXTS), most=4096),
    _asks("bytes", f"{pci.DEVICES}/$device/config", most=64),
    _asks("paths", f"{pci.DEVICES}/$device/resource[0-9]_resize"),
)
BRIDGE = (  # $device is a bridge above one
    _asks("text", *(f"{pci.DEVICES}/$device/{name}" for name in _BRIDGE_TEXTS), most=4096),
    _asks("bytes", f"{pci.DEVICES}/$device/config", most=4096),
)
SLOTS = (_asks("text", "/sys/bus/pci/slots/*/address"),)
PYTHON = (  # $prefix is that of an interpreter
    _asks("text", "$prefix/pyvenv.cfg", most=4000),
    _asks("folder", "$prefix/conda-meta", keep="*.json"),
    _asks("paths", "$prefix/pyvenv.cfg", "$prefix/conda-meta"),
    _asks("names", "$prefix/lib/python*.*"),
    _asks("text", "$prefix/include/python*/patchlevel.h", keep="PY_VERSION"),
    _asks("paths", "$prefix/lib/python*/site-packages", "$prefix/lib64/python*/site-packages"),
    _asks("names", *(f"$prefix/{pattern}" for pattern in cuda.WHEEL_PATTERNS)),
    _asks("names", "$prefix/lib/python3*/site-packages/nvidia/cudnn"),
)
SYSTEM_SITES = (
    _asks("paths", "/usr/local/lib/python*/dist-packages", "/usr/lib/python3/dist-packages"),
    _asks("paths", "$HOME/.local/lib/python*/site-packages"),
)
SITE = (  # $site is a folder of Python packages
    _asks("folder", "$site", keep="*-*.*-info"),
    _asks("text", *(f"$site/{name}" for name in _FRAMEWORK_TEXTS), most=20_000),
    _asks("paths", "$site/onnxruntime/capi/libonnxruntime_providers_cuda.so"),
)
DISTRIBUTION = (  # $folder holds the metadata of one that is read in depth
    _asks("text", *_HEADERS, keep="^(Version|Requires-Dist):|^$", most=distributions.METADATA_BYTES),
    _asks("text", "$folder/INSTALLER", "$folder/WHEEL", most=4000),
)  # fmt: skip
GROUPS = {
    "machine": MACHINE, "toolkit": TOOLKIT, "tools": TOOLS, "device": DEVICE, "bridge": BRIDGE, "slots": SLOTS,
    "python": PYTHON, "system_sites": SYSTEM_SITES, "site": SITE, "distribution": DISTRIBUTION,
}  # fmt: skip
WORDS = {  # what the collector's own lines are filled with
    "signs": " ".join(SIGNS),
    "loaded": "|".join(LOADED),
    "toolkits": " ".join(pattern for pattern, _ in cuda.PATTERNS),
    "toolkit_variables": " ".join(f'"${{{name}:-}}"' for name in cuda.VARIABLES),
    "libraries": " ".join(driver.LIBRARY_NAMES),
    "cached": "|".join(name.replace(".", "\\.") for name in driver.LIBRARY_NAMES),
    "relevant": "|".join(
        f"[{name[0]}{name[0].upper()}]{name[1:].replace('-', '[-_]')}*" for name in distributions.RELEVANT
    ),
    "services": "|".join(sorted(NAMES)),
    "variables": "|".join(sorted(KINDS)),
    "log_words": _LOG_WORDS,
    "journal": " ".join(kernel_log.JOURNAL),
    "rpm_query": " ".join(f"'{word}'" for word in packages.RPM_QUERY),
    "docker_info": ",".join(f'"{name}":{{{{json .{name}}}}}' for name in _ENGINE),
    "rpm_databases": " ".join(packages.RPM_DATABASES),
    "modules": " ".join(pattern.replace("/*/", "/$1/", 1) for pattern in kernel.MODULE_FILES),
    "modinfo_files": str(kernel.MODINFO_FILES),
    "compilers": " ".join(f"{folder}/{name}" for folder in compilers.PROGRAM_FOLDERS for name in ("gcc", "clang")),
}
