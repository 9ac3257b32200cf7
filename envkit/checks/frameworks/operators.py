"""Extensions and engines that are installed and cannot work here: without operators, for another system or release."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit._startup.records import replace
from envkit.base.sentences import series
from envkit.base.versions import Version
from envkit.checks.engine.command import FILE, PACKAGE, PYTHON, REQUIREMENT, fixed, run
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Outcome, Remedy, Status, ok
from envkit.checks.engine.messages import named, said, seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.engine.remedies import on_windows, remedy
from envkit.checks.frameworks.engines import asked_release, engine_elsewhere
from envkit.checks.frameworks.in_wsl import in_wsl
from envkit.checks.frameworks.installs import (
    distribution,
    distribution_evidence,
    first_python,
    installed_and_silent,
    installs,
    judged,
    pip,
    release,
)
from envkit.checks.frameworks.variables import variables
from envkit.checks.frameworks.windows_triton import triton_of_port
from envkit.checks.frameworks.with_operators import compiled_again
from envkit.model import Environment, MachineKind, PythonEnvironment
from envkit.tables.codes import limit

if TYPE_CHECKING:
    from envkit.tables import Matrix

_TENSORRT = ("tensorrt", "nvidia-tensorrt", "tensorrt-cu11", "tensorrt-cu12", "tensorrt-cu13")


_BY_TRITON = (
    "Build the engine in NVIDIA's TensorRT container of Triton's own release, {release}: it has exactly the TensorRT "
    "that this Triton loads, which no download has. Run the command in the directory of the ONNX file, on the GPU that "
    "serves the model (change the names to yours); then put the new file in the model repository in place of the old "
    "one (model.plan), and load the model again."
)


def _of_a_board(environment: Environment, matrix: Matrix) -> bool:
    """Whether the GPU that the message asks for is one that only Jetson boards have."""
    have = named(seen(environment, "engine-built-elsewhere", "device"), "have")
    boards = {str(gpu.compute_capability) for gpu in matrix.gpus if gpu.variant == "jetson"}
    return have in boards - {str(gpu.compute_capability) for gpu in matrix.gpus if gpu.variant != "jetson"}


_OF_JETPACK = ("/usr/src/tensorrt/bin/trtexec",)
_ON_JETSON = (
    " Copy the ONNX file to the board, since engines of another GPU never fit, and run the command there, in its "
    "directory (JetPack installs trtexec; it may take half an hour). The new file replaces the old one."
)


_BY_TORCH2TRT = (
    "The file holds an engine that torch2trt made on another GPU or with another TensorRT, and neither a different "
    "TensorRT here nor trtexec makes it usable. Make it anew on this machine from the model's original PyTorch weights "
    "(the project's README links them, or names its script): load them into the model, then model_trt = "
    "torch2trt(model, [x], fp16_mode=True) with an input x of the program's size on the GPU, and "
    "torch.save(model_trt.state_dict(), FILE) under the name that the program loads. Where it allows, load the "
    "original model instead: it runs on any GPU, only slower."
)


def _engine_anew(environment: Environment, matrix: Matrix) -> Remedy:
    """By whichever program builds it, and the release that loads it: two installed ones are a cause of their own."""
    have = [
        f"{item.name} {item.version}"
        for python in judged(environment)
        for item in python.distributions
        if item.name in _TENSORRT
    ]
    have = have[1:] if len(have) > 1 and have[0].startswith("tensorrt ") else have  # which requires the other
    several = f" {series(have)} are both installed: keep the one that is imported." if len(have) > 1 else ""
    messages = seen(environment, "engine-built-elsewhere", "detail-weights", "detail-onnx", "detail-engine")
    if weights := named(messages, "weights"):
        python = first_python(environment)
        return Remedy(
            f"Delete the old .engine file and export it again from {weights}, on this GPU and in the environment that "
            "loads it (run the command in the directory of that file); leave the tensorrt packages as they are."
            f"{several}",
            (
                run(
                    PYTHON(python.executable or "python"),
                    *("-c", f"from ultralytics import YOLO; YOLO(r'{weights}').export(format='engine', half=True)"),
                ),
            ),
        )
    if seen(environment, "engine-built-elsewhere", "detail-torch2trt"):
        return Remedy(_BY_TORCH2TRT)
    if folder := named(seen(environment, "engine-built-elsewhere", "detail-cache"), "folder"):
        return Remedy(
            f"The program keeps the engines that it builds in a cache ({folder}), which was copied from another "
            "machine or kept after a change: delete that directory on this machine, and start the program again. "
            "It builds the engines anew, which takes minutes the first time. Do not ship the cache: one is needed for "
            "each GPU model and each TensorRT release."
        )
    if own := engine_elsewhere(environment):
        return own
    onnx = named(messages, "onnx") or f"{named(messages, 'engine') or 'MODEL'}.onnx"
    engine = f"{named(messages, 'engine') or onnx.rpartition('.')[0]}.{named(messages, 'ending') or 'engine'}"
    files = FILE(onnx), FILE(engine)
    options = [f"--onnx={files[0]}", f"--saveEngine={files[1]}"] if all(isinstance(one, str) for one in files) else []
    if release := named(seen(environment, "engine-built-elsewhere", "detail-triton", "detail-trtis"), "release"):
        said = _BY_TRITON.format(release=release)
        return remedy(environment, said, "engine-for-triton", number=release, file=onnx, folder=engine)
    if options and "fp16" in engine:
        options.append("--fp16")
    on_jetson = environment.system.machine_kind.value is MachineKind.JETSON or _of_a_board(environment, matrix)
    program, place = (_OF_JETPACK, _ON_JETSON) if on_jetson else (("trtexec",), "")
    if on_windows(environment):
        options.clear()  # trtexec is wherever its archive was unpacked; Python tells which release it has to be
    return Remedy(
        "Rebuild the engine from its model, on this GPU and with the TensorRT release that loads it: use trtexec "
        "from exactly that release, or the Python that imports it (import tensorrt; tensorrt.__version__). A program "
        f"that builds its own engines builds a new one after the old file is deleted.{place}{several}"
        f"{_raised(environment)}",
        (run(*program, *options),) if options else (asked_release(environment),),
    )


def _raised(environment: Environment) -> str:
    """The other way where a newer release built the engine: give the one that loads it the same release."""
    messages = seen(environment, "engine-built-elsewhere", "library-version")
    have, built = (Version.find(named(messages, name) or "") for name in ("have", "built"))
    if have is None or built is None or have >= built:
        return ""
    return (
        f" Or keep the engine: it was built with TensorRT {built}, but is loaded by the older {have}. Update that to "
        f"{built}, too: for Python, with the wheel in the python directory of TensorRT {built}'s archive, or "
        f"tensorrt=={built}.* where the package index has it."
    )


def _for_windows(environment: Environment, matrix: Matrix) -> Remedy:
    text = said(environment, "not-built-for-windows").lower()
    python = first_python(environment)
    if "bitsandbytes" in text or "cuda setup" in text or distribution(python, "bitsandbytes") is not None:
        first = limit("bitsandbytes-for-windows")
        return Remedy(
            f"bitsandbytes has included libraries for Windows since {first}: install that release or a newer one in "
            "the program's own environment, and remove its forks (bitsandbytes-windows).",
            (
                pip(python, "uninstall", "-y", "bitsandbytes", "bitsandbytes-windows"),
                pip(python, "install", "--no-deps", REQUIREMENT(f"bitsandbytes>={first}")),
            ),
        )
    if "torch.compile" in text:
        return Remedy(
            "Turn compilation off in the program's settings (nothing else is lost), or run it in WSL 2. Newer releases "
            "of PyTorch compile on Windows, too, with triton-windows; the program has to accept them.",
            (fixed("set TORCHDYNAMO_DISABLE=1"),),
        )
    if "libuv" in text:
        return Remedy(
            "PyTorch for Windows is built without libuv, which its store asks for by default: turn that off.",
            (fixed("set USE_LIBUV=0"),),
        )
    if "nccl" in text:
        return Remedy(
            "NCCL exists for Linux only, so no PyTorch for Windows has it: choose the backend gloo in the program, "
            "train with one GPU, or run it in WSL 2.",
            (fixed("wsl --install"),),
        )
    if "triton" in text:
        return triton_of_port(environment)
    return in_wsl(environment, matrix, text)


def _newer_bitsandbytes(environment: Environment, python: PythonEnvironment) -> Remedy | None:
    """The first release with a library for the CUDA of the framework; None where that is not what is missing."""
    from envkit.compat.package_breaks import first_unbroken

    item = distribution(python, "bitsandbytes")
    own = Version.find(item.version) if item is not None else None
    cuda = next((item.framework.cuda for item in installs(environment, "pytorch") if item.framework.cuda), None)
    lines = said(environment, "extension-without-operators")
    installed = own is not None or "-packages/bitsandbytes/" in lines
    if cuda is None or not installed or "BNB_CUDA_VERSION" in lines or "BNB_CUDA_VERSION" in variables(environment):
        return None
    first = first_unbroken("bitsandbytes", own, "cuda", cuda)
    every, oldest = limit("bitsandbytes-for-all-cuda-11"), limit("bitsandbytes-oldest-cuda")
    if cuda.release(2) < oldest and (first is None or first > every):
        return Remedy(
            f"Newer bitsandbytes releases have libraries only for CUDA {oldest} and newer, and PyTorch here is for "
            f"CUDA {cuda}: {every} is the last one with libraries for all releases of CUDA 11, for older GPUs too.",
            (pip(python, "install", "--no-deps", REQUIREMENT(f"bitsandbytes=={every}")),),
        )
    if first is None:
        return None
    named = f"bitsandbytes {own}" if own else "This bitsandbytes"
    return Remedy(
        f"{named} has no library for CUDA {cuda}, which the installed PyTorch was built with; "
        f"{first} is the first release that has one.",
        (pip(python, "install", "--no-deps", REQUIREMENT(f"bitsandbytes=={first}")),),
    )


def _with_operators(environment: Environment, matrix: Matrix) -> Remedy:
    if "bitsandbytes" in said(environment, "extension-without-operators").lower():
        python = first_python(environment)
        if newer := _newer_bitsandbytes(environment, python):
            return newer
        return Remedy(
            "Python imports a source directory of bitsandbytes that was not compiled, or the variable "
            "BNB_CUDA_VERSION selects a library that does not exist. Change to a different directory, and install "
            "the wheel, which contains the libraries for every supported CUDA release.",
            (
                fixed("unset BNB_CUDA_VERSION"),
                pip(python, "uninstall", "-y", "bitsandbytes"),
                pip(python, "install", "--no-deps", "bitsandbytes"),
            ),
        )
    if own := compiled_again(environment, said(environment, "extension-without-operators")):
        return own
    return Remedy(
        "Install the package that contains the operators (mmcv instead of mmcv-lite, or mmcv-full for mmcv 1.x), or "
        "build it from source with nvcc of the same CUDA version as torch (for apex, with --cpp_ext and --cuda_ext).",
        (run("python", "-m", "pip", "install", "--no-build-isolation", "--force-reinstall", "--no-deps", PACKAGE),),
    )


_LITE = Fault(
    "extension-without-operators",
    "An extension is installed without its compiled CUDA operators",
    impact="The Python part imports, but anything that needs the compiled part fails.",
    remedy=_with_operators,
)
_NOT_FOR_WINDOWS = Fault(
    "not-built-for-windows",
    "A package has no GPU build for native Windows",
    impact="The package contains only Linux code. Installing a CUDA toolkit or setting environment variables does not "
    "help.",
    remedy=_for_windows,
)
_OTHER_ENGINE = Fault(
    "engine-built-elsewhere",
    "A serialized engine was built by a different TensorRT release or for a different GPU",
    impact="TensorRT rejects the file; the driver and CUDA are fine.",
    remedy=_engine_anew,
)


@check(
    _LITE,
    spares_gpu=True,
    layer=Layer.FRAMEWORK_BUILD,
    rank=29,
    any_of=("pythons", "messages"),
    fix="Install the package with the operators, or build it with a matching torch and nvcc.",
    references=threads("open-mmlab/mmdetection#3272", "bitsandbytes-foundation/bitsandbytes#1559"),
)
def extension_without_operators(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """Packages that call compiled operators from Python have them.

    Some are split into two packages, or build their operators only on request; what was left out shows up at the first
    call.
    """
    yield from installed_and_silent(environment, _LITE)


@check(
    _NOT_FOR_WINDOWS,
    layer=Layer.FRAMEWORK_BUILD,
    rank=13,
    any_of=("pythons", "messages"),
    fix="Install a release that is built for Windows, or run it in WSL 2.",
    references=threads("bitsandbytes-foundation/bitsandbytes#1104"),
)
def not_built_for_windows(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """Packages installed on native Windows were built for it.

    Several packages around PyTorch are published only for Linux, or contain Linux libraries in a wheel that installs
    anywhere.
    """
    first = limit("bitsandbytes-for-windows")
    old = [item for python in judged(environment) if (item := distribution(python, "bitsandbytes"))]
    early = [item for item in old if on_windows(environment) and _before(item.version, first)]
    copied = seen(environment, _NOT_FOR_WINDOWS.id, "detail-library")  # installers copy one from elsewhere
    reported = _NOT_FOR_WINDOWS.reported(environment)
    if early and copied and not reported:
        yield ok(
            "bitsandbytes loads a library for Windows that was copied in", evidence=[distribution_evidence(early[0])]
        )
    elif early and not reported:
        yield _NOT_FOR_WINDOWS.found(
            [distribution_evidence(early[0])],
            title=f"bitsandbytes {early[0].version} has no library for Windows",
            status=Status.WARN,
        )
    elif reported and seen(environment, _NOT_FOR_WINDOWS.id, "triton-import"):
        yield replace(reported, title="triton has no build for native Windows")
    else:
        yield from installed_and_silent(environment, _NOT_FOR_WINDOWS)


def _before(text: str, first: Version) -> bool:
    own = release(text)
    return own is not None and own < first


@check(
    _OTHER_ENGINE,
    layer=Layer.FRAMEWORK_BUILD,
    rank=60,
    any_of=("pythons", "messages"),
    explained_by=("cudnn-missing",),
    fix="Rebuild the engine with the TensorRT release that loads it, on this GPU.",
    references=threads("yuvraj108c/ComfyUI-Dwpose-Tensorrt#5", "NVIDIA/TensorRT#2176"),
)
def engine_built_elsewhere(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """A serialized engine was built by the TensorRT version that loads it, on the same kind of GPU.

    A plan file contains code for one GPU architecture, in the format of one release.
    """
    yield from installed_and_silent(environment, _OTHER_ENGINE)
