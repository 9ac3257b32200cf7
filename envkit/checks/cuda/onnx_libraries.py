"""ONNX Runtime's provider for CUDA opens a set of libraries: the one that its message names is only the first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit._startup.regex import regex
from envkit.base.versions import Version
from envkit.checks.cuda.dll_folders import ON_PATH, print_folders
from envkit.checks.engine.command import NUMBER, REQUIREMENT, VERSION, run
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import in_image
from envkit.checks.engine.messages import named, seen
from envkit.checks.engine.remedies import on_windows, remedy, steps
from envkit.checks.frameworks.builds import bring, bring_release
from envkit.checks.frameworks.installs import first_python, installs, named_python, pip, release
from envkit.model import Environment, Message
from envkit.tables.codes import limit
from envkit.tables.rows import ImageTag

if TYPE_CHECKING:
    from envkit.tables import Matrix
    from envkit.tables.rows import FrameworkBuild

_ITS_OWN = regex(r"[Oo][Nn][Nn][Xx]_?[Rr]untime|ONNXRuntime|\bort\b")
_COMPILED = regex(
    r"ai\.onnxruntime|OrtException|/target/(?:debug|release)/|called `Result|panicked at|\.java:\d|\.cs:line"
)
_NAME = "onnxruntime"
_TRIED = 4  # newest releases, of which some have no wheel for the Python
_TORCH_FIRST = Remedy(
    "ONNX Runtime searches only the loader's path for the CUDA and cuDNN libraries, but here they are in PyTorch's "
    "wheels: in the program, import torch before onnxruntime, so that torch loads them (both must be built for the "
    "same major version of CUDA). Newer releases load them with onnxruntime.preload_dlls() instead."
)


def libraries_of_onnx(environment: Environment, matrix: Matrix, text: str, cuda: str) -> Remedy | None:
    """The remedy that provides the whole set for CUDA `cuda`; None where the message is of another program."""
    build = _build(environment, matrix, cuda) if _ITS_OWN.search(text) else None
    if build is None or build.cudnn is None:
        return None
    if _COMPILED.search(text):
        return _of_the_system(environment, matrix, cuda, str(build.cudnn.major))
    if newer := _for_newer_cuda(environment, matrix, cuda):
        return newer
    python = named_python(environment).executable or "python"
    given = steps(environment, "onnx-libraries", python=python, cuda=cuda, major=build.cudnn.major)
    return Remedy(
        f"ONNX Runtime for CUDA {cuda} loads the CUDA runtime, cuBLAS, cuFFT, cuRAND, and cuDNN {build.cudnn.major}, "
        "which compiles some of its kernels with NVRTC. "
        f"If a torch for CUDA {cuda} is in the same environment, import torch before onnxruntime: it loads the same "
        "libraries. Otherwise, install all of them into a separate directory, so that other frameworks keep their "
        "own cuDNN; the second line is needed in each shell (in a Dockerfile: RUN for the first, and the directories "
        "in ENV LD_LIBRARY_PATH). An image that already works, such as the devel one, has them all.",
        () if on_windows(environment) else given,
    )


def _for_newer_cuda(environment: Environment, matrix: Matrix, cuda: str) -> Remedy | None:
    """The release for the CUDA of today where the driver runs it, and the libraries of an older one are missing."""
    most = environment.driver.driver_cuda_version.value
    here = next(iter(installs(environment, _NAME)), None)
    if most is None or here is None or on_windows(environment):
        return None
    later = {
        row.version
        for row in matrix.builds(_NAME)
        if row.cuda is not None and not row.index_url and int(cuda) < row.cuda.major <= most.major
    }
    why = (
        f"ONNX Runtime {here.framework.version} is built for CUDA {cuda}, whose libraries are not here. If the program "
        f"accepts a newer release, take one for a CUDA that the driver runs ({most}). Its extras bring the libraries "
        "as wheels; the last lines put them on the loader's path for what is started from this shell (in a notebook or "
        "in code of your own, call onnxruntime.preload_dlls() before the first session instead)."
    )
    tried = (bring_release(environment, matrix, here, version, why) for version in sorted(later, reverse=True)[:_TRIED])
    given = next((one for one in tried if one is not None), None)
    if given is None:
        return None
    keep = (
        f" To keep {here.framework.version}, install the libraries of CUDA {cuda} (nvidia-cublas-cu{cuda}, "
        f"nvidia-cudnn-cu{cuda}, and so on) into a directory of their own on that path."
    )
    finds = steps(environment, "wheel-libraries", python=here.python.executable or "python")
    return Remedy(f"{given.advice}{keep}", (*given.steps, *finds))


def unnamed_of_onnx(environment: Environment, matrix: Matrix, messages: tuple[Message, ...]) -> Remedy | None:
    """The set for the installed release's CUDA where no message names a library; torch's where only that is known."""
    if on_windows(environment):
        return _on_windows(environment, matrix, messages)
    releases = [item.framework.version for item in installs(environment, _NAME)]
    own = [row for row in matrix.builds(_NAME) for text in releases if row.version == Version.find(text)]
    majors = {str(row.cuda.major) for row in own if row.cuda is not None and not row.index_url}
    text = " ".join(message.text for message in messages)
    if len(majors) == 1:
        return libraries_of_onnx(environment, matrix, text, majors.pop())
    return _TORCH_FIRST if list(installs(environment, "pytorch")) else _asked(environment, matrix)


def _asked(environment: Environment, matrix: Matrix) -> Remedy:
    """What the provider's own file lacks tells the CUDA that it is built for, where nothing else does."""
    pairs = {
        row.cuda.major: row.cudnn.major
        for row in sorted(matrix.builds(_NAME), key=lambda row: row.version)
        if row.cuda is not None and row.cudnn is not None and row.cuda.major >= limit("one-soname-per-major").major
    }
    lines = []
    for major, cudnn in sorted(pairs.items()):
        toolkit = max((row.release for row in matrix.toolkits if row.release.major == major), default=None)
        if toolkit is not None:
            lines.append(
                f"libcublasLt.so.{major} is of CUDA {major}, with cuDNN {cudnn}: envkit install --cuda {toolkit} "
                f"--cudnn {cudnn} --run, and export LD_LIBRARY_PATH=/usr/local/cuda-{toolkit}/lib64:$LD_LIBRARY_PATH"
            )
    return remedy(
        environment,
        "The provider is in the list because its file is installed; it is only loaded with the first session, together "
        "with the libraries of one major release of CUDA and of cuDNN, which are not in ONNX Runtime's package. The "
        f"command prints those that the loader does not find. {'; '.join(lines)}, both in the shell that starts the "
        "program. The other libraries come with these. If it prints nothing, all are found, and the driver is too old "
        "for that CUDA: nvidia-smi prints the newest CUDA that it runs.",
        "onnx-not-found",
        python=named_python(environment).executable or "python",
    )


def _on_windows(environment: Environment, matrix: Matrix, messages: tuple[Message, ...]) -> Remedy:
    """Back to the release that ran with the CUDA that is there; otherwise its libraries as wheels, and on PATH."""
    python = named_python(environment)
    before = named(seen(environment, "libcudart-missing", "detail-worked-before"), "before")
    if before:
        return Remedy(
            f"ONNX Runtime {before} worked with the CUDA and cuDNN that are installed: go back to it, and pin it in "
            "the requirements. Newer releases on the package index are built for a different CUDA and cuDNN.",
            (pip(python, "install", REQUIREMENT(f"onnxruntime-gpu=={before}")),),
        )
    given = bring(
        environment,
        matrix,
        "onnxruntime",
        f"Install the libraries of the CUDA version that ONNX Runtime was built for. {ON_PATH} In your own program, "
        "calling onnxruntime.preload_dlls() before the first session does the same, if the release has it.",
        messages=messages,
    )
    return Remedy(given.advice, (*given.steps, print_folders(python.executable)))


def _build(environment: Environment, matrix: Matrix, cuda: str) -> FrameworkBuild | None:
    """The installed release's build for this CUDA where that is known, otherwise the newest one."""
    rows = [row for row in matrix.builds(_NAME) if row.cuda is not None and str(row.cuda.major) == cuda and row.cudnn]
    own = [release(item.version) for item in first_python(environment).distributions if item.name.startswith(_NAME)]
    told = [row for row in rows if any(version is not None and row.version.starts_with(version) for version in own)]
    return next(reversed(told or rows), None)


def _of_the_system(environment: Environment, matrix: Matrix, cuda: str, cudnn: str) -> Remedy:
    """For a program without Python: in its image, or next to the toolkits that are there."""
    needs = f"ONNX Runtime for CUDA {cuda} needs CUDA {cuda} with cuDNN {cudnn}, and includes neither."
    if in_image(environment):
        tag = _tag(environment, matrix, cuda, cudnn)
        start = (
            f"Start its Dockerfile with FROM {tag.repository}:{tag.tag}, and add the program there"
            if tag
            else ("Install both in its image")
        )
        return Remedy(f"{needs} {start}; the container cannot use what is installed on the host.")
    toolkit = max((row.release for row in matrix.toolkits if str(row.release.major) == cuda), default=None)
    if toolkit is None:
        return Remedy(needs)
    root = f"/usr/local/cuda-{toolkit}"
    return Remedy(
        f"{needs} Install both alongside what is already installed, which does not change, and add them to the "
        "loader's path in the shell that starts the program. Or use the program's build for the CUDA release on this "
        "machine.",
        (
            run("envkit", "install", "--cuda", VERSION(toolkit), "--cudnn", NUMBER(cudnn), "--run"),
            *steps(environment, "load-toolkit", root=root),
        ),
    )


def _flavors(cudnn: str) -> tuple[str, ...]:
    """How tags of images are called that hold this cuDNN: newer ones leave the number out."""
    return (f"cudnn{cudnn}",) if int(cudnn) <= int(limit("last-cudnn-in-tags").major) else (f"cudnn{cudnn}", "cudnn")


def _tag(environment: Environment, matrix: Matrix, cuda: str, cudnn: str) -> ImageTag | None:
    """The newest runtime image with that cuDNN whose CUDA the host's driver was made for."""
    newest: Version | None = environment.driver.driver_cuda_version.value
    fitting = [
        row
        for row in matrix.image_tags
        if row.state in ("supported", "unsupported")
        and row.flavor == "runtime"
        and row.cudnn in _flavors(cudnn)
        and row.os_id.startswith("ubuntu")
        and row.cuda is not None
        and str(row.cuda.major) == cuda
        and (newest is None or row.cuda.release(2) <= newest.release(2))
    ]
    return max(fitting, key=lambda row: (row.cuda or Version.of(0), row.os_id), default=None)
