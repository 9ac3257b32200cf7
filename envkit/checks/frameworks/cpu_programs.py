"""Packages that are no framework, built without CUDA: each has a way of its own to a build for GPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit._startup.regex import regex
from envkit.base.versions import Version, cuda_tag
from envkit.checks.cuda.ptx import reported_by
from envkit.checks.engine.ask import install_cuda
from envkit.checks.engine.command import NAME, REQUIREMENT, URL, fixed
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import in_container, managers
from envkit.checks.engine.messages import named, seen
from envkit.checks.engine.remedies import on_windows, steps
from envkit.checks.frameworks.installs import capable_gpus, installs, named_python, pip
from envkit.model import Environment, Message
from envkit.tables.codes import limit

if TYPE_CHECKING:
    from envkit.tables import Matrix

_OF_WINDOWS = "C:\\"  # where its wheels are built
_OPENCV = "cpu-only-wheel/opencv"
_FAISS = "cpu-only-wheel/faiss"
_OLLAMA = "cpu-only-wheel/ollama-runners"
_FFMPEG = "cpu-only-wheel/ffmpeg-encoder"
_DLIB = "cpu-only-wheel/dlib"
_LLAMA = "llama-cpp-python"
_OF_LLAMA = "/cmake-args"  # the message of a Windows shell that takes the variable for a command
_BLAS = ("/told-blas", "/told-layers")
_WHEELS = "https://abetlen.github.io/llama-cpp-python/whl/"
_DGL = "https://data.dgl.ai/wheels/"
_ANEW = ("install", "--force-reinstall", "--no-deps", "--no-cache-dir")
_OPENCV_RELEASE = regex(r"OpenCV\((?P<version>\d\.\d{1,2}\.\d{1,2})")


def other_program(environment: Environment, matrix: Matrix, messages: tuple[Message, ...]) -> Remedy | None:
    """The remedy of the program that the messages are of; None where it is a framework's."""
    signatures = {message.signature for message in messages}
    if any(name.startswith(_OPENCV) for name in signatures):
        return _opencv(environment, matrix, messages)
    if _FAISS in signatures:
        return Remedy(
            "faiss-cpu is installed, or a build of faiss without GPU support. The project publishes faiss-gpu only "
            "for conda on Linux: in the active environment, remove faiss-cpu (pip uninstall faiss-cpu if pip "
            "installed it), then install faiss-gpu.",
            () if on_windows(environment) else steps(environment, "faiss-gpu"),
        )
    if _OLLAMA in signatures:
        return _ollama(environment)
    if _FFMPEG in signatures:
        return _ffmpeg(environment)
    if any(name.startswith(_DLIB) for name in signatures):
        return _dlib(environment)
    if "cpu-only-wheel/dgl" in signatures:
        return _dgl(environment)
    told = any(name.endswith((_OF_LLAMA, *_BLAS)) or "/llama" in name for name in signatures) or any(
        "llama" in one.text.lower() for one in messages
    )
    if told and "llama-cpp-python" in managers(environment):
        return _llama(environment, matrix, messages)
    return None


def _ollama(environment: Environment) -> Remedy:
    """Its runners for CUDA are files beside the program, which a build or a half unpacked archive may lack."""
    return Remedy(
        "This Ollama has no runner for CUDA: its list of runners (Dynamic LLM libraries) contains only those for the "
        "CPU. The driver is not at fault. Install the complete release over the current one: on Linux with the "
        "installer from ollama.com/download or the whole archive ollama-linux-amd64.tgz (on Arm "
        "ollama-linux-arm64.tgz), which has a lib/ollama folder beside bin; on Windows with OllamaSetup.exe. The "
        "binary alone, a distribution's package without CUDA, and some builds before a release have none: Arch's "
        "package for CUDA is ollama-cuda. In a container, pull ollama/ollama again. Then restart the server; the "
        "models stay. Its log must now name a cuda runner.",
        (fixed("winget upgrade --id Ollama.Ollama"),)
        if on_windows(environment)
        else (fixed("ollama --version"),)
        if in_container(environment)
        else steps(environment, "ollama-install"),
    )


def _ffmpeg(environment: Environment) -> Remedy:
    """NVENC and NVDEC are options of its build, which many packages leave out."""
    return Remedy(
        "This FFmpeg was built without NVENC and NVDEC; the driver and the card are not at fault. Its first lines list "
        "the options it was built with (--enable-nvenc, --enable-cuvid). Call another build by its full path: Ubuntu's "
        "and Debian's own package has them, RPM Fusion's on Fedora, and the builds for Windows that ffmpeg.org links "
        "to; an ffmpeg in a conda environment, of a snap, or from a wheel often has not, and comes first on PATH. The "
        "commands show which one runs and what it encodes.",
        () if on_windows(environment) else (fixed("which -a ffmpeg"), fixed("ffmpeg -hide_banner -encoders")),
    )


def _dlib(environment: Environment) -> Remedy:
    """It is compiled when it is installed: without nvcc or cuDNN, for the CPU."""
    python = named_python(environment)
    return Remedy(
        "dlib is compiled while it is installed, and leaves CUDA out where it finds no nvcc, no cuDNN with its header "
        "files, or where its test program does not compile with nvcc (a host compiler that is too new for it). "
        "Install what is missing, then compile it again without the cache: the output says whether it uses CUDA. "
        "Afterward dlib.DLIB_USE_CUDA is True.",
        (pip(python, "install", "--force-reinstall", "--no-cache-dir", "--no-binary", "dlib", "--verbose", "dlib"),),
    )


def _dgl(environment: Environment) -> Remedy:
    """Its package for a CUDA writes the same files as the one for the CPU, which is imported if both are there."""
    python = named_python(environment)
    own = next((item for item in python.distributions if item.name.startswith("dgl-cu")), None)
    torch = next((item.framework for item in installs(environment, "pytorch") if item.framework.cuda), None)
    cuda = torch.cuda.release(2) if torch is not None and torch.cuda is not None else _toolkit(environment)
    version = Version.find(torch.version) if torch is not None else None
    why = (
        "The CPU package dgl is the one that is imported; torch is not at fault. Remove every dgl package, then install"
    )
    if own is None and cuda is not None and cuda >= limit("dgl-by-page") and version is not None:
        page = f"{_DGL}torch-{version.release(2)}/{cuda_tag(cuda)}/repo.html"
        return Remedy(
            f"{why} the build for torch {version.release(2)} and CUDA {cuda} alone.",
            (pip(python, "uninstall", "-y", "dgl"), pip(python, "install", "dgl", "-f", URL(page))),
        )
    wanted = own.name if own is not None else f"dgl-{cuda_tag(cuda)}" if cuda is not None else "dgl-cuXYZ"
    if wanted.endswith("XYZ"):
        return Remedy(f"{why} the build for the CUDA of your torch, from {_DGL}repo.html.")
    release = f"=={own.version}" if own is not None and own.version else ""
    return Remedy(
        f"{why} {wanted} alone.",
        (
            pip(python, "uninstall", "-y", "dgl", NAME(wanted)),
            pip(python, "install", REQUIREMENT(f"{wanted}{release}"), "-f", URL(f"{_DGL}repo.html")),
        ),
    )


def _opencv(environment: Environment, matrix: Matrix, messages: tuple[Message, ...]) -> Remedy:
    """No wheel of OpenCV on the package index has CUDA; frameworks next to it are not at fault."""
    gpus = [str(own) for _, own in capable_gpus(environment, matrix)]
    releases = [match["version"] for one in messages if (match := _OPENCV_RELEASE.search(one.text))]
    return Remedy(
        "The wheels of opencv-python and opencv-contrib-python are built without CUDA; CUDA and the frameworks on "
        "this machine are fine. Either use the CPU functions (cv2.* instead of cv2.cuda.*), or uninstall the wheel "
        "and compile the same OpenCV release with opencv_contrib (WITH_CUDA=ON, and CUDA_ARCH_BIN for this "
        f"GPU{f', {gpus[0]}' if gpus else ''}). Then cv2.cuda.getCudaEnabledDeviceCount() returns the number of GPUs.",
        ()
        if on_windows(environment) or any(_OF_WINDOWS in one.text for one in messages)
        else steps(environment, "opencv-cuda", capability=next(iter(gpus), ""), version=next(iter(releases), "")),
    )


def _llama(environment: Environment, matrix: Matrix, messages: tuple[Message, ...]) -> Remedy:
    """llama.cpp's bindings are compiled when they are installed: without the option, for the CPU."""
    python = named_python(environment)
    executable = python.executable or "python"
    told = next((item.version for item in python.distributions if item.name == _LLAMA), "")
    said = seen(environment, "cpu-only-wheel", "detail-llama-release")
    version = Version.find(told or named((*messages, *said), "version") or "")
    why = f"{_LLAMA} was compiled without CUDA, as a plain pip install does."
    if any(message.signature.endswith(_OF_LLAMA) for message in messages):
        why = f"{_LLAMA} was compiled without CUDA: CMAKE_ARGS in front of a command works only in Linux shells."
    release = f"=={version}" if version is not None else ""
    toolkit = _toolkit(environment)
    if toolkit is not None and _has_wheels(toolkit, python.version):
        return Remedy(
            f"{why} The project has wheels for CUDA {toolkit}, which need no compiler.",
            (
                pip(
                    python,
                    *_ANEW,
                    REQUIREMENT(f"{_LLAMA}{release}"),
                    "--index-url",
                    URL(f"{_WHEELS}{cuda_tag(toolkit)}"),
                ),
            ),
        )
    option = _option(version)
    recipe = "llama-cpp-python"
    if version is not None and version < limit("llama-options-by-pip") and not on_windows(environment):
        recipe = "llama-cpp-python-by-variable"
        why = f"{why} This keeps the installed release, because newer ones load other model formats."
    own = environment.driver.driver_cuda_version.value or reported_by(environment, matrix)
    first = install_cuda(environment, own.release(2)) if own is not None and toolkit is None else ()
    nvcc = (
        f" nvcc comes with the CUDA toolkit, which the driver does not include: the first commands install {own}, the "
        "newest that this driver runs. Leave them out if nvcc --version shows that release or an older one."
        if first and own is not None
        else ""
    )
    return Remedy(
        f"{why} Recompile it with CUDA enabled (-D{option}=on{f' in release {version}' if version else ''}); that "
        f"needs nvcc and a C++ compiler.{nvcc} When a model is loaded, the log must then name the GPU; "
        "n_gpu_layers=-1 puts all of its layers there.",
        (
            *first,
            *steps(
                environment,
                recipe,
                python=executable,
                name=f"{_LLAMA}{release}",
                option=option,
                number="native",
            ),
        ),
    )


def _option(version: Version | None) -> str:
    """llama.cpp renamed it twice."""
    if version is None or version >= limit("llama-option-ggml"):
        return "GGML_CUDA"
    return "LLAMA_CUDA" if version >= limit("llama-option-cuda") else "LLAMA_CUBLAS"


def _has_wheels(cuda: Version, python: Version | None) -> bool:
    """Whether the project's index has wheels for this CUDA and, where it is known, this Python."""
    pythons = limit("llama-wheels-first-python"), limit("llama-wheels-last-python")
    fits = python is None or pythons[0] <= python.release(2) <= pythons[1]
    return fits and limit("llama-wheels-first-cuda") <= cuda <= limit("llama-wheels-last-cuda")


def _toolkit(environment: Environment) -> Version | None:
    """The release line of the one toolkit that is there."""
    toolkits = environment.cuda_toolkits.get() if environment.cuda_toolkits.known else ()
    lines = {toolkit.version.release(2) for toolkit in toolkits}
    return lines.pop() if len(lines) == 1 else None
