"""One deep test, run as text in the user's own interpreter: `python -c CODE torch|tensorflow|jax|copy`.

Prints JSON lines: `{"start": "kernel"}` before a step, and after it `{"name": "kernel", "subject": "torch",
"passed": true, "value": 0.8, "unit": "s", "detail": ""}`; `passed` is null where a step could not be made (no CUDA
device, or all its memory in use). A step that fails ends the program with its own error. The copies go on with the
next device, and end with `{"usable": [0, 2]}`. Any Python from 3.6 on runs this, so it uses the standard library alone.
"""

import ctypes
import importlib
import importlib.util
import json
import os
import sys
import time
from typing import Any, Callable, Dict, List, Optional  # noqa: UP035 - Python 3.6 has no others

Module = Any  # a framework or a C library: neither has types here

COPY_BYTES = 64 << 20  # the GPUs may be at work for somebody
COPY_ROUNDS = 8
SIDE = 64  # of the square image and matrices; small, and large enough for a real kernel
TOLERANCE = 1e-2  # TensorFloat-32 rounds to ten bits
IN_USE = (2, 46)  # out of memory, device unavailable: others have the GPU, which is not a fault of it


class CallFailed(Exception):  # noqa: N818 - no error of Python
    """A call of libcuda that did not answer 0."""

    def __init__(self, code: int, call: str) -> None:
        super().__init__(f"{call} answered {code}")
        self.code = code


class Report:
    """Writes steps to the real standard output, whatever libraries print on theirs."""

    def __init__(self, subject: str) -> None:
        self.subject = subject
        self.stream = os.fdopen(os.dup(1), "w")
        os.dup2(2, 1)
        sys.stdout = sys.stderr  # one buffer: what a library printed must not follow the error that ended the test

    def write(self, data: Dict[str, Any]) -> None:  # noqa: UP006 - Python 3.6
        """One line, at once: the process may die with the next step."""
        self.stream.write(json.dumps(data) + "\n")
        self.stream.flush()

    def start(self, name: str) -> float:
        """Announce a step; the time it began."""
        self.write({"start": name})
        return time.perf_counter()

    def done(self, name: str, started: float, passed: Optional[bool], detail: str = "") -> None:  # noqa: UP045
        """A step that ended, with the seconds that it took."""
        seconds = round(time.perf_counter() - started, 3)
        self.figure(name, passed, seconds, "s", detail)

    def figure(self, name: str, passed: Optional[bool], value: float, unit: str, detail: str) -> None:  # noqa: UP045
        """A step that ended with a figure."""
        self.write(
            {"name": name, "subject": self.subject, "passed": passed, "value": value, "unit": unit, "detail": detail}
        )


def main() -> None:
    """Run the test that the last argument names; nothing for a framework that is not installed."""
    sys.path[:] = [entry for entry in sys.path if entry not in ("", os.getcwd())]
    name = sys.argv[-1]
    if name == "copy":
        copies(Report("copy"))
    elif importlib.util.find_spec(name) is not None:
        report = Report(name)
        started = report.start("import")
        module = importlib.import_module(name)
        report.done("import", started, True, str(module.__version__))
        {"torch": torch_steps, "tensorflow": tensorflow_steps, "jax": jax_steps}[name](module, report)


def torch_steps(torch: Module, report: Report) -> None:
    """A matrix product and a cuDNN convolution, each compared with the processor's result."""
    started = report.start("device")
    if not torch.cuda.is_available():
        report.done("device", started, None, "torch sees no CUDA device")
        return
    report.done("device", started, True, torch.cuda.get_device_name(0))
    started = report.start("kernel")
    left = torch.randn(SIDE, SIDE)
    error = (left.cuda() @ left.cuda()).cpu() - left @ left
    report.done("kernel", started, bool(error.abs().max() < SIDE * TOLERANCE), "matrix product")
    started = report.start("convolution")
    image, weights = torch.randn(1, 3, SIDE, SIDE), torch.randn(8, 3, 3, 3)
    convolve = torch.nn.functional.conv2d
    error = convolve(image.cuda(), weights.cuda()).cpu() - convolve(image, weights)
    detail = f"cuDNN {torch.backends.cudnn.version()}"
    report.done("convolution", started, bool(error.abs().max() < SIDE * TOLERANCE), detail)


def tensorflow_steps(tensorflow: Module, report: Report) -> None:
    """The same with TensorFlow 2; of TensorFlow 1 the import alone is tested."""
    if not hasattr(tensorflow, "config") or not hasattr(tensorflow.config, "list_physical_devices"):
        return
    started = report.start("device")
    devices = tensorflow.config.list_physical_devices("GPU")
    if not devices:
        report.done("device", started, None, "TensorFlow sees no GPU")
        return
    report.done("device", started, True, devices[0].name)
    left = tensorflow.random.normal((SIDE, SIDE))
    image, weights = tensorflow.random.normal((1, SIDE, SIDE, 3)), tensorflow.random.normal((3, 3, 3, 8))
    operations: Dict[str, Callable[[], Any]] = {  # noqa: UP006 - Python 3.6
        "kernel": lambda: tensorflow.linalg.matmul(left, left),
        "convolution": lambda: tensorflow.nn.conv2d(image, weights, 1, "VALID"),
    }
    for name, operation in operations.items():
        started = report.start(name)
        with tensorflow.device("/GPU:0"):
            on_gpu = operation()
        with tensorflow.device("/CPU:0"):
            error = tensorflow.reduce_max(tensorflow.abs(on_gpu - operation()))
        report.done(name, started, float(error) < SIDE * TOLERANCE)


def jax_steps(jax: Module, report: Report) -> None:
    """The same with JAX."""
    started = report.start("device")
    if jax.default_backend() != "gpu":
        report.done("device", started, None, f"JAX uses the backend {jax.default_backend()}")
        return
    report.done("device", started, True, str(jax.devices()[0]))
    numpy = importlib.import_module("jax.numpy")
    image, weights = numpy.ones((1, 3, SIDE, SIDE)), numpy.ones((8, 3, 3, 3))
    started = report.start("kernel")
    product = float((image[0, 0] @ image[0, 0])[0, 0])
    report.done("kernel", started, abs(product - SIDE) < TOLERANCE, "matrix product")
    started = report.start("convolution")
    value = float(jax.lax.conv(image, weights, (1, 1), "VALID")[0, 0, 0, 0])
    report.done("convolution", started, abs(value - 27) < 27 * TOLERANCE, "3x3 over three channels of ones")


def copies(report: Report) -> None:
    """The bandwidth of pinned copies to and from each device, in GB/s (10^9 bytes), by libcuda alone."""
    started = report.start("copy")
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        report.done("copy", started, None, str(error))
        return
    count = ctypes.c_int()
    code = cuda.cuInit(0) or cuda.cuDeviceGetCount(ctypes.byref(count))
    if code:
        report.done("copy", started, None, f"libcuda answers {code}")
        return
    usable = []
    for index in range(count.value):
        report.subject = f"device {index}"
        started = report.start("copy")
        try:
            copy_both_ways(cuda, index, report)
            usable.append(index)
        except CallFailed as error:
            report.done("copy", started, None if error.code in IN_USE else False, str(error))
    report.write({"usable": usable})


def copy_both_ways(cuda: Module, index: int, report: Report) -> None:
    """One device. Every call is checked, and all is given back. Raises CallFailed."""
    device, context = ctypes.c_int(), ctypes.c_void_p()
    pinned, memory = ctypes.c_void_p(), ctypes.c_uint64()
    text = ctypes.create_string_buffer(64)
    size = ctypes.c_size_t(COPY_BYTES)
    must(cuda.cuDeviceGet(ctypes.byref(device), index), "cuDeviceGet")
    must(cuda.cuDeviceGetPCIBusId(text, len(text), device), "cuDeviceGetPCIBusId")
    report.subject = text.value.decode("ascii", "replace").lower()
    must(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device), "cuDevicePrimaryCtxRetain")
    try:
        must(cuda.cuCtxSetCurrent(context), "cuCtxSetCurrent")
        must(cuda.cuMemHostAlloc(ctypes.byref(pinned), size, 0), "cuMemHostAlloc")
        must(cuda.cuMemAlloc_v2(ctypes.byref(memory), size), "cuMemAlloc")
        time_copies(cuda, memory, pinned, report)
    finally:
        if memory.value:
            cuda.cuMemFree_v2(memory)
        if pinned.value:
            cuda.cuMemFreeHost(pinned)
        cuda.cuDevicePrimaryCtxRelease(device)


def time_copies(cuda: Module, memory: ctypes.c_uint64, pinned: ctypes.c_void_p, report: Report) -> None:
    """The best of several copies each way. Raises CallFailed."""
    size = ctypes.c_size_t(COPY_BYTES)
    directions: Dict[str, Callable[[], int]] = {  # noqa: UP006 - Python 3.6
        "copy-to-device": lambda: cuda.cuMemcpyHtoD_v2(memory, pinned, size),
        "copy-to-host": lambda: cuda.cuMemcpyDtoH_v2(pinned, memory, size),
    }
    for name, copy in directions.items():
        report.start(name)
        seconds: List[float] = []  # noqa: UP006 - Python 3.6
        for _ in range(COPY_ROUNDS):
            started = time.perf_counter()
            must(copy(), name)
            seconds.append(time.perf_counter() - started)
        detail = f"best of {COPY_ROUNDS} copies of {COPY_BYTES >> 20} MiB"
        report.figure(name, True, round(COPY_BYTES / min(seconds) / 1e9, 2), "GB/s", detail)


def must(code: int, call: str) -> None:
    """Raises CallFailed when a call failed."""
    if code:
        raise CallFailed(code, call)


if __name__ == "__main__":
    main()
