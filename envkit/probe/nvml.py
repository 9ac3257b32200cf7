"""GPUs as NVML describes them, and what its first call answered."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from envkit.base.errors import SourceError
from envkit.base.pci import pci_address
from envkit.base.versions import Version
from envkit.host.base import Host
from envkit.model import CallResult, Gpu, MachineKind, Observed, Problem, found, missing
from envkit.probe.machine import machine_kind
from envkit.probe.text import Facts, derived

_NO_PERMISSION = 4
_TIMEOUT = 10
_NO_DRIVER = {9, 12}  # driver not loaded, library not found: there is nothing to ask


def probe(host: Host, limit_s: float) -> Facts:
    """`gpus`, `driver.nvml`, `driver.driver_cuda_version` (as NVML says)."""
    answer = host.query("nvml", limit_s)
    if answer.value is None:
        problem: Observed[None] = derived(answer, lambda value: None)
        return {"gpus": problem, "driver.nvml": problem, "driver.driver_cuda_version": problem}
    try:
        first = _call(answer.value)
        return {
            "driver.nvml": found(first, "nvml"),
            "driver.driver_cuda_version": _cuda_version(answer.value, first),
            "gpus": _gpus(host, answer.value, first),
        }
    except SourceError as error:
        unread: Observed[None] = missing(Problem.UNPARSABLE, "nvml", error.message)
        return {"gpus": unread, "driver.nvml": unread, "driver.driver_cuda_version": unread}


def _call(answer: Mapping[str, object]) -> CallResult:
    from envkit.model.facts_json import part_from_json

    result: CallResult = part_from_json(CallResult, answer.get("init"), "nvml.init")
    return result


def cuda_version(number: object) -> Version | None:
    """A CUDA version from the number that NVIDIA's libraries give: 12040 is 12.4."""
    if not isinstance(number, int) or number < 1000:
        return None
    return Version.of(number // 1000, number % 1000 // 10)


def _cuda_version(answer: Mapping[str, object], first: CallResult) -> Observed[Version]:
    version = cuda_version(answer.get("driver_cuda_version"))
    return found(version, "nvml") if version else _why(first)


def _why(first: CallResult) -> Observed[Any]:
    """Why NVML says nothing more, by the code of its first call."""
    words = first.name or f"NVML error {first.code}"
    if first.code in _NO_DRIVER:
        return missing(Problem.ABSENT, "nvml", words)
    problems = {_NO_PERMISSION: Problem.DENIED, _TIMEOUT: Problem.TIMED_OUT}
    return missing(problems.get(first.code, Problem.UNPARSABLE), "nvml", words)


def _gpus(host: Host, answer: Mapping[str, object], first: CallResult) -> Observed[tuple[Gpu, ...]]:
    if first.code:
        return _why(first)
    devices = answer.get("devices")
    if not isinstance(devices, list) or not all(isinstance(device, dict) for device in devices):
        return missing(Problem.UNPARSABLE, "nvml", "no list of devices")
    visible = _sees_processes(host)
    return found(tuple(_gpu(host, device, visible) for device in devices), "nvml")


def _sees_processes(host: Host) -> bool:
    """False where a pid that NVML names may live unseen: the pids are the host's, or /proc hides other users'."""
    if machine_kind(host).value in (MachineKind.CONTAINER, MachineKind.WSL2):
        return False
    mounts = host.read_text("/proc/self/mountinfo", 16_000_000).value or ""
    return host.identity().get("user_id") == "0" or not re.search(r" - proc \S{1,200} \S{0,200}?hidepid=(?!0)", mounts)


def _gpu(host: Host, device: dict[str, Any], pids_visible: bool) -> Gpu:
    """A device's answers, and which of the processes that it names are gone."""
    from envkit.model.facts_json import part_from_json

    data = {**device, "pci_address": pci_address(str(device.get("pci_address", "")))}
    pids = device.get("processes")
    if pids_visible and isinstance(pids, list):
        data["lost_processes"] = [pid for pid in pids if host.status(f"/proc/{pid}").absent]
    gpu: Gpu = part_from_json(Gpu, data, f"nvml.devices[{device.get('index')}]")
    return gpu
