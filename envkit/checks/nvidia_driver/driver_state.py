"""Questions about the driver that several checks ask: is it loaded, on disk, answering, and with which code."""

from __future__ import annotations

from envkit.base.versions import Version
from envkit.checks.engine.evidence import known
from envkit.checks.engine.findings import Evidence
from envkit.model import CallResult, Environment, MachineKind, Observed
from envkit.tables.codes import error_codes

_NOBODY_THERE = ("LIBRARY_NOT_FOUND", "DRIVER_NOT_LOADED")
NVML = "libnvidia-ml"
CUDA = "libcuda"


def loaded(environment: Environment) -> bool | None:
    """True when the kernel module is loaded, False when it is not, None when nobody could look.

    A driver that answers is loaded, also where its files cannot be seen, as in gVisor.
    """
    driver = environment.driver
    answers = any(call is not None and call.code == 0 for call in map(_result, (driver.nvml, driver.cuda_init)))
    if driver.kernel_module.known or answers:
        return True
    if environment.kernel.loaded_modules.known:
        return "nvidia" in environment.kernel.loaded_modules.get()
    return False if driver.kernel_module.absent else None


def installed(environment: Environment) -> Version | None:
    """The driver's version: that of the loaded module, otherwise of the libraries, otherwise of the module on disk."""
    for observed in (environment.driver.kernel_module, environment.driver.user_space):
        if observed.known:
            return observed.get()
    on_disk = next((file for file in module_versions(environment) if file is not None), None)
    return on_disk if on_disk is not None else _by_dkms(environment)


def _by_dkms(environment: Environment) -> Version | None:
    """The one release whose modules DKMS has installed; None where there are several, or none."""
    entries = environment.kernel.dkms.get() if environment.kernel.dkms.known else ()
    own = {entry.version for entry in entries if entry.module.startswith("nvidia") and entry.state == "installed"}
    return Version.find(own.pop()) if len(own) == 1 else None


def driver_platform(environment: Environment) -> str:
    """Whose driver it is, in the relations' words: `windows` and `wsl` have Windows' numbers, all else `linux`."""
    if environment.system.machine_kind.value in (MachineKind.WSL1, MachineKind.WSL2):
        return "wsl"
    return "windows" if environment.system.os.known and environment.system.os.get().id == "windows" else "linux"


def module_versions(environment: Environment) -> tuple[Version | None, ...]:
    """The versions of the module files for the running kernel; all files where the kernel is not known."""
    if not environment.kernel.module_files.known:
        return ()
    running = environment.system.kernel.value
    return tuple(
        file.version for file in environment.kernel.module_files.get() if running is None or file.kernel == running
    )


def has_library(environment: Environment, name: str) -> bool | None:
    """True when the driver's own `libcuda` or `libnvidia-ml` is there (no stub, no compat); None: nobody looked.

    A text shows the libraries that somebody asked for: what it does not list may be there.
    """
    observed = environment.driver.libraries
    if observed.known:
        own = (library for library in observed.get() if not library.stub and not library.compat)
        there = any(library.name.startswith(name) for library in own)
        return there or (None if environment.pasted else False)
    if environment.driver.user_space.known:
        return True
    return False if observed.absent else None


def answered(environment: Environment, api: str, *names: str) -> tuple[Evidence, ...]:
    """Where one of the error codes `names` was answered; empty if nowhere.

    `api` is `nvml`, which covers nvidia-smi's exit status and single GPUs, or `cuda`.
    """
    evidence = list(answered_by_call(environment, api, *names))
    if api == "nvml" and environment.gpus.known:
        evidence += [
            Evidence(f"gpus[{gpu.index}].error", gpu.error, environment.gpus.source)
            for gpu in environment.gpus.get()
            if gpu.error.upper().removeprefix("NVML_ERROR_") in names
        ]
    return tuple(evidence)


def answered_by_call(environment: Environment, api: str, *names: str) -> tuple[Evidence, ...]:
    """The same without single GPUs: what the library itself answered."""
    wanted = {row.code: row.name for row in error_codes().values() if row.api == api and row.name in names}
    calls = {"nvml": ("nvml", "nvidia_smi"), "cuda": ("cuda_init",)}[api]
    shown = [
        known(environment, f"driver.{call}", _said(environment, result, wanted[result.code]))
        for call in calls
        for result in [_result(getattr(environment.driver, call))]
        if result is not None and result.code in wanted
    ]
    return tuple({(item.value, item.source): item for item in shown}.values())  # one line of a text tells of both


def _said(environment: Environment, result: CallResult, name: str) -> str:
    """An error as a text has it, or with the code that a call returned."""
    return result.text if environment.pasted and result.text else f"{result.code} {name}: {result.text}".strip(": ")


def mismatch(environment: Environment) -> tuple[Evidence, ...]:
    """Where the driver's library said that the kernel module has another version: it found a module, and was found."""
    return answered_by_call(environment, "nvml", "LIB_RM_VERSION_MISMATCH")


def cuda_works(environment: Environment) -> bool | None:
    """True when CUDA could be initialized, None when nobody tried."""
    result = _result(environment.driver.cuda_init)
    return None if result is None else result.code == 0


def nvml_asked(environment: Environment) -> bool:
    """True when a driver was there that answered NVML's first call, whatever it said."""
    return _by_a_driver(environment.driver.nvml)


def smi_answered(environment: Environment) -> bool:
    """True when nvidia-smi ended with anything but the status for a driver that is not there."""
    return _by_a_driver(environment.driver.nvidia_smi)


def _by_a_driver(call: Observed[CallResult]) -> bool:
    result = _result(call)
    absent = {code for (api, code), row in error_codes().items() if api == "nvml" and row.name in _NOBODY_THERE}
    return result is not None and result.code not in absent


def _result(observed: Observed[CallResult]) -> CallResult | None:
    return observed.get() if observed.known else None
