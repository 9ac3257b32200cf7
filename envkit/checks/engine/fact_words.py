"""What a first look calls a fact: `GPU 0 uncorrectable ECC errors` for `gpus[0].ecc_uncorrectable`."""

from __future__ import annotations

from envkit._startup.regex import regex
from envkit.checks.engine.evidence import in_words
from envkit.checks.engine.findings import Evidence
from envkit.tables.rows import framework_title

QUOTED = "messages"  # the fact whose values are lines of the text or log
_OF_GPU = regex(
    r"(?:pci_)?gpus\[(?P<which>[^\]]{1,40})\](?:\.(?P<field>\w{1,60}))?|GPU (?P<address>\S{1,20}) (?P<own>\w{1,60})"
)
_OF_FRAMEWORK = regex(r"pythons\.frameworks\[(?P<name>[^\]]{1,60})\]\.(?P<field>\w{1,60})")
_OF_ONE = regex(r"(?P<path>[\w.]{1,80})\[(?P<name>[^\]]{1,4096})\]")
_NAMED_ALONE = frozenset({"variables", "pythons.build_tools"})
_FIELDS = {
    "aer_errors": "PCIe errors",
    "bar1_bytes": "BAR1 size",
    "bars_assigned": "PCI BARs assigned",
    "blacklisted": "blacklisted kernel modules",
    "build_tools": "build tools",
    "cmdline": "kernel command line",
    "config_readable": "PCI configuration readable",
    "cuda": "CUDA version",
    "cuda_device_count": "GPU count",
    "cudnn": "cuDNN version",
    "cudnn_sublibraries": "cuDNN sublibraries",
    "display_active": "display active",
    "distributions": "Python packages",
    "dkms_make_log": "DKMS build log",
    "ecc_uncorrectable": "uncorrectable ECC errors",
    "executable": "Python executable",
    "fabric_manager_version": "Fabric Manager version",
    "gcc_max": "newest GCC that nvcc accepts",
    "glibc_needed": "glibc required",
    "glibcxx_needed": "GLIBCXX required",
    "gpu_enclosure": "external GPU enclosure",
    "groups": "groups of this user",
    "hosted_guests": "virtual machines on this host",
    "libstdcxx_version": "libstdc++ version",
    "library_uses": "libraries in use",
    "licensed": "vGPU license",
    "link_generation_current": "current PCIe generation",
    "link_width_current": "current PCIe width",
    "mig_instances": "MIG instances",
    "mig_mode": "MIG mode",
    "modprobe_setuid": "nvidia-modprobe is setuid",
    "nvlinks_active": "active NVLinks",
    "nvswitches": "NVSwitches",
    "owners_clash": "packages that install the same files",
    "pcie_replays": "PCIe replays",
    "peermem_loaded": "nvidia-peermem loaded",
    "persistence_daemon": "nvidia-persistenced running",
    "pip_python": "Python of pip",
    "power_limit_w": "power limit (W)",
    "power_state": "PCI power state",
    "procfs_gpus": "GPU count",
    "ptx_arch_list": "PTX code for compute capabilities",
    "ptxas_version": "ptxas version",
    "remapped_rows_failed": "row remapping failed",
    "remapped_rows_pending": "row remapping pending",
    "runfile_installed": "driver installed from a runfile",
    "shadowing_modules": "files that shadow modules",
    "sm_arch_list": "binary kernels for compute capabilities",
    "sublibraries": "cuDNN sublibraries",
    "suspended_memory_kept": "GPU memory kept during suspend",
}
_PATHS = {
    "gpus": "GPUs that the driver lists",
    "pythons.version": "Python version",
    "system.vendor": "system vendor",
    "pythons.frameworks.cuda": "CUDA version",
}


def in_a_line(item: Evidence) -> str:
    """A piece of evidence as reports print it: the value, behind what it is the value of; a quoted line alone."""
    return item.value if item.fact == QUOTED else f"{fact_label(item.fact)}: {item.value}"


def fact_label(fact: str) -> str:
    """What to print in front of the value of the fact at this path."""
    if found := _OF_GPU.fullmatch(fact):
        field = found["field"] or found["own"]
        return f"GPU {found['which'] or found['address']} {_field(field) if field else ''}".rstrip()
    if found := _OF_FRAMEWORK.fullmatch(fact):
        return f"{framework_title(found['name'])} {_field(found['field'])}"
    if found := _OF_ONE.fullmatch(fact):
        return found["name"] if found["path"] in _NAMED_ALONE else f"{fact_label(found['path'])} ({found['name']})"
    if fact.startswith("variables."):
        return fact.removeprefix("variables.")
    if fact.startswith("pci_gpus link "):
        return fact.replace("pci_gpus", "PCIe", 1)
    if fact in _PATHS:
        return _PATHS[fact]
    known = in_words(fact)
    return known if known != fact else _field(fact.rpartition(".")[2])


def _field(name: str) -> str:
    return _FIELDS.get(name) or name.replace("_", " ")
