"""Asks libcuda, and prints what it says as JSON:

    {"library": "/usr/lib/…/libcuda.so.535.247.01", "init": {"code": 0, "name": "CUDA_SUCCESS", "call": "cuInit"},
     "driver_cuda_version": 12020, "device_count": 8, "devices": [{"pci_address": "0000:65:00.0", "name": "…"}],
     "load_error": "libcuda.so.1: cannot open shared object file …"}

`init` names the call that failed; keys that were not reached are left out. With the argument `version` nothing is
asked that needs a driver.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys
from typing import Any

from envkit.host.child_output import answer_with, loaded_file


def main() -> None:
    """Print the answer."""
    answer_with(_ask)


def _ask() -> dict[str, Any]:
    try:
        library = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        return {"load_error": str(error)}
    answer: dict[str, Any] = {"library": loaded_file("libcuda.so")}
    number = ctypes.c_int()
    if library.cuDriverGetVersion(ctypes.byref(number)) == 0 and number.value > 0:
        answer["driver_cuda_version"] = number.value
    if sys.argv[2:] == ["version"]:
        return answer
    answer["init"] = _result(library, "cuInit", library.cuInit(0))
    if answer["init"]["code"] == 0:
        code = library.cuDeviceGetCount(ctypes.byref(number))
        if code:
            answer["init"] = _result(library, "cuDeviceGetCount", code)
        else:
            answer["device_count"] = number.value
            answer["devices"] = [_device(library, index) for index in range(number.value)]
    return answer


def _result(library: ctypes.CDLL, call: str, code: int) -> dict[str, Any]:
    name = ctypes.c_char_p()
    with contextlib.suppress(AttributeError):  # a stub or a very old library
        library.cuGetErrorName(code, ctypes.byref(name))
    return {"code": code, "name": (name.value or b"").decode("ascii", "replace"), "call": call}


def _device(library: ctypes.CDLL, index: int) -> dict[str, str]:
    device = ctypes.c_int()
    text = ctypes.create_string_buffer(256)
    answer = {}
    if library.cuDeviceGet(ctypes.byref(device), index) == 0:
        if library.cuDeviceGetPCIBusId(text, len(text), device) == 0:
            answer["pci_address"] = text.value.decode("ascii", "replace").lower()
        if library.cuDeviceGetName(text, len(text), device) == 0:
            answer["name"] = text.value.decode("utf-8", "replace")
    return answer
