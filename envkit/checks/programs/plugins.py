"""Parts that a program loads or compiles beside its framework: plugins, prebuilt extensions, GDRCopy's module."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.checks.engine.command import fixed
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.messages import named, seen
from envkit.checks.engine.references import threads
from envkit.checks.programs.told import told_by_program

if TYPE_CHECKING:
    from envkit.model import Environment
    from envkit.tables import Matrix

_PLUGIN, _GDRDRV = "tensorrt-plugin-missing", "gdrcopy-unusable"


def _load_plugin(environment: Environment, matrix: Matrix) -> Remedy:
    """Plugins whose names end in _TRT are NVIDIA's own, and come with TensorRT."""
    name = named(seen(environment, _PLUGIN), "plugin")
    whose = f"The plugin {name} is not registered" if name else "A plugin that the engine uses is not registered"
    return Remedy(
        f"{whose} in this process; the engine file itself is not at fault. For NVIDIA's own plugins (most are called "
        '..._TRT), call trt.init_libnvinfer_plugins(logger, "") before the engine is loaded; in C++, '
        "initLibNvInferPlugins. For one of the project, build its library with the TensorRT that loads the engine, and "
        "load that library first: ctypes.CDLL in Python, --plugins in trtexec, custom-lib-path in DeepStream, "
        "LD_PRELOAD for Triton. If it is registered and still not found, build the engine again: the name or the "
        "version of a plugin changes between releases.",
        (fixed("python -c 'import tensorrt; print(tensorrt.__version__)'"),),
    )


told_by_program(
    Fault(
        _PLUGIN,
        "A TensorRT plugin that the model uses is not loaded",
        impact="TensorRT does not load the engine, or does not convert the model.",
        remedy=_load_plugin,
    ),
    fix="Register NVIDIA's plugins, or load the library of the project's own, before the engine.",
    doc="""Every plugin of an engine is registered in the process that loads it.

    An engine file stores the plugin's name and data, not its code. What registered it when the engine was built (a
    parser, trtexec) is not there when another program loads it.
    """,
    rank=65,
    references=threads("NVIDIA/TensorRT#1913", "NVIDIA/TensorRT#955", "enazoe/yolo-tensorrt#157"),
)
told_by_program(
    Fault(
        "prebuilt-wheel-missing",
        "The extension has no prebuilt wheel for this PyTorch, CUDA, and Python",
        impact="pip compiles it instead: that takes hours and much memory, and often fails.",
        remedy="Each of these wheels fits one PyTorch release, CUDA, Python, and C++ ABI. Look at the project's "
        "releases for what it has: the quickest solution is a new environment with a PyTorch that one of them is for "
        "(the newest PyTorch usually has none for weeks). Or compile it: with the nvcc of PyTorch's own CUDA, ninja, "
        "few jobs (MAX_JOBS=4), and only the GPU's own architecture; or do without it (SDPA in Transformers and "
        "PyTorch needs no flash-attn). The command prints what the wheel must match.",
        steps=(
            fixed(
                "python -c 'import sys, torch; print(sys.version_info[:2], torch.__version__, "
                "torch.compiled_with_cxx11_abi())'"
            ),
        ),
    ),
    fix="Choose a PyTorch that the extension has a wheel for, or compile it with the matching nvcc.",
    doc="""There is a prebuilt wheel of the extension for the installed PyTorch.

    flash-attn and its like look for a wheel by its exact name when they are installed, and compile without one.
    """,
    rank=66,
    explained_by=(
        "download-failed",
        "build-isolation-hides-torch",
        "toolkit-missing",
        "nvcc-vs-torch-mismatch",
        "build-out-of-memory",
        "build-tools-missing",
        "gcc-too-new-for-nvcc",
        "extension-abi-mismatch",
        "glibc-too-old",
        "nvcc-too-old-for-gpu",
        "cpu-only-wheel",
        "compiler-too-old",
        "python-no-wheel",
        "not-built-for-windows",
    ),
    references=threads("Dao-AILab/flash-attention#1799", "Dao-AILab/flash-attention#1017"),
)


def _gdrdrv(environment: Environment, matrix: Matrix) -> Remedy:
    """Its module, or a kernel whose pages have another size than its build assumes."""
    if seen(environment, _GDRDRV, "page-size", "alignment", "told-64k"):
        return Remedy(
            "GDRCopy or the driver assumes another page size than this kernel has (Arm systems have kernels with 4 KiB "
            "and with 64 KiB pages; the first command prints which one runs). Install the newest GDRCopy, compiled on "
            "this kernel, and the newest release of the driver's branch. Until they fit, boot the kernel with the "
            "other page size, or turn GDRCopy off (NCCL and UCX work without it, with more latency for small "
            "messages).",
            (fixed("getconf PAGESIZE"), fixed("dkms status")),
        )
    return Remedy(
        "Install GDRCopy's kernel module for this kernel and driver (gdrdrv-dkms), load it, and see that its device is "
        "there and may be opened; in a container, pass it on with --device /dev/gdrdrv. Virtual machines and Jetson "
        "boards do not support it. Programs work without it: NCCL, UCX, and NVSHMEM use other paths.",
        (fixed("sudo modprobe gdrdrv"), fixed("ls -l /dev/gdrdrv")),
    )


told_by_program(
    Fault(
        _GDRDRV,
        "GDRCopy cannot use its kernel module (gdrdrv)",
        impact="Its tests fail, and libraries copy small messages by other paths.",
        remedy=_gdrdrv,
    ),
    fix="Install and load gdrdrv for the running kernel, with its page size.",
    doc="""GDRCopy maps GPU memory by its kernel module gdrdrv.

    The module is built for one kernel and driver. User space and module have to agree on the size of memory pages.
    """,
    rank=67,
    explained_by=("driver-module-not-loaded", "secure-boot-unsigned-module", "kernel-headers-missing"),
    references=threads("NVIDIA/gdrcopy#299", "NVIDIA/gdrcopy#139"),
)
