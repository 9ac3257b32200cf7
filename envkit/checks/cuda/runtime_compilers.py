"""What frameworks compile with while they run: libdevice, ptxas, and the C compiler of Triton."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit.base.versions import ComputeCapability, Version, VersionSpec
from envkit.checks.cuda.toolkit import toolkit_row
from envkit.checks.cuda.toolkit_remedies import DEFAULT_LINK
from envkit.checks.engine.ask import capability_of, install_cuda
from envkit.checks.engine.command import PATH, REQUIREMENT, export, fixed
from envkit.checks.engine.evidence import unseen
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Evidence, Outcome, Remedy, Status, ok, skip, unknown
from envkit.checks.engine.managers import managers
from envkit.checks.engine.messages import named, seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.engine.remedies import on_windows, remedy, steps
from envkit.checks.frameworks.installs import (
    Installed,
    build_of,
    capable_gpus,
    distribution,
    first_python,
    gpu_present,
    installs,
    judged,
    nothing_to_judge,
    pip,
    release,
)
from envkit.model import Environment, PythonEnvironment
from envkit.tables.codes import limit

if TYPE_CHECKING:
    from envkit.tables import Matrix


_NOT_ON_WINDOWS = (
    "TensorFlow's XLA does not compile for GPUs on native Windows, whatever CUDA is installed. Run the program without "
    "it: take out jit_compile=True, experimental_compile=True, and tf.config.optimizer.set_jit, and unset "
    "TF_XLA_FLAGS; the operations then run on the GPU as usual. If the program needs XLA, run it in WSL 2 or on Linux."
)


_NOT_BY_ITSELF = (
    "Many releases of TensorFlow do not look there by themselves: the last two commands point XLA at it, in this "
    "shell (to make it permanent, put it into the script that starts the program)."
)


def _nvcc_wheel(environment: Environment, matrix: Matrix) -> Remedy:
    users = _xla_users(environment)
    cuda = users[0].framework.cuda if users else _cuda_of_release(environment, matrix)
    root = PATH(named(seen(environment, "libdevice-not-found", "listed"), "root") or "")
    if isinstance(root, str):
        return Remedy(
            f"Point XLA at the toolkit that has libdevice.10.bc: {root}.",
            (export("XLA_FLAGS", f"--xla_gpu_cuda_data_dir={root}"),),
        )
    if on_windows(environment) and any(installs(environment, "tensorflow")):
        return Remedy(_NOT_ON_WINDOWS)
    or_toolkit = "An installed toolkit also works: XLA_FLAGS=--xla_gpu_cuda_data_dir=DIR."
    if _of_conda(environment, users) and seen(environment, "libdevice-not-found", "detail-toolkit-11"):
        return remedy(
            environment,
            "conda's cudatoolkit 11 has libdevice.10.bc in lib, where XLA does not look: give it the folder it "
            "expects, with the ptxas of NVIDIA's own channel. Run it in the active environment; the last line is for "
            "this shell (to make it permanent, put it into etc/conda/activate.d of the environment).",
            "conda-libdevice",
        )
    if _of_conda(environment, users):
        advice = f"Install conda's nvcc into the environment and point XLA at it. {or_toolkit}"
        return remedy(environment, advice, "conda-nvcc")
    if cuda is not None and cuda.major < _FIRST_WHEEL.major:
        return _of_old_cuda(environment, cuda)
    suffix = f"-cu{cuda.major if cuda is not None else limit('cuda-of-most-programs')}"
    python = users[0].python if users else PythonEnvironment("", None)
    wheel = f"nvidia-cuda-nvcc{suffix if suffix in _SUFFIXED else ''}"
    pin = (
        f"=={cuda.release(2)}.*" if cuda is not None and len(cuda.parts) > 1 and cuda.major > _FIRST_WHEEL.major else ""
    )
    shown = steps(environment, "nvcc-wheel-in-xla", python=python.executable or "python")
    by_hand = any(installs(environment, "tensorflow"))
    where = f" {_NOT_BY_ITSELF}" if by_hand else ""
    return Remedy(
        f"Install NVIDIA's nvcc wheel into the environment.{where} {or_toolkit}",
        (pip(python, "install", REQUIREMENT(f"{wheel}{pin}")), *(shown if by_hand else ())),
    )


def _cuda_of_release(environment: Environment, matrix: Matrix) -> Version | None:
    """The CUDA that the installed release of a framework with XLA was built for."""
    rows = (build_of(environment, item.framework, matrix) for item in installs(environment, "jax", "tensorflow"))
    return next((row.cuda for row in rows if row is not None and row.cuda is not None), None)


def _of_old_cuda(environment: Environment, cuda: Version) -> Remedy:
    """CUDA before 11 has no wheel of nvcc: conda's cudatoolkit has the file, and so has a toolkit."""
    if seen(environment, "libdevice-not-found", "detail-cudatoolkit"):
        return remedy(
            environment,
            "conda's cudatoolkit has libdevice.10.bc in lib, where XLA does not look: give it the folder that it "
            "expects. Run it in the active environment; the last line is for this shell (to make it permanent, put it "
            "into etc/conda/activate.d of the environment, or into the job script). No root is needed.",
            "conda-libdevice-folder",
        )
    return Remedy(
        f"Install the toolkit of CUDA {cuda.release(2)}, which has libdevice.10.bc, and point XLA at it; no wheel has "
        "it for this CUDA.",
        (
            *install_cuda(environment, cuda.release(2)),
            export("XLA_FLAGS", f"--xla_gpu_cuda_data_dir=/usr/local/cuda-{cuda.release(2)}"),
        ),
    )


def _of_conda(environment: Environment, users: list[Installed]) -> bool:
    """True where conda, and not pip, brought the framework."""
    if "conda" not in managers(environment) and not any(item.python.kind == "conda" for item in users):
        return False
    return not any(distribution(item.python, "tensorflow", "jax") for item in users)


def _ptxas(environment: Environment, matrix: Matrix) -> Remedy:
    """Triton has one of its own, which no wheel replaces."""
    messages = seen(environment, "ptxas-missing-or-old")
    triton = seen(environment, "ptxas-missing-or-old", "detail-triton")
    if not triton and seen(environment, "ptxas-missing-or-old", "detail-by-name"):
        return remedy(environment, _FIRST_ON_PATH, "use-toolkit", "which-ptxas", root=DEFAULT_LINK)
    own = triton or any("triton" in message.text.lower() for message in messages)
    if own or (list(installs(environment, "pytorch")) and not _xla_users(environment)):
        advice = (
            "Point Triton at the ptxas of a toolkit that supports this GPU, instead of its own older one, and clear "
            "its cache. The variable applies to this shell only."
        )
        home = named(seen(environment, "ptxas-missing-or-old", "detail-home"), "root") or DEFAULT_LINK
        return remedy(environment, advice, "triton-ptxas", root=home.rstrip("/"))
    given = _wheel_first(environment) or _newer_ptxas(environment, matrix)
    return given or _nvcc_wheel(environment, matrix)


def _wheel_first(environment: Environment) -> Remedy | None:
    """The ptxas of the environment's own wheel, which an older one on PATH hides; None without such a wheel."""
    python = next((one for one in judged(environment) if distribution(one, "nvidia-cuda-nvcc-cu12")), None)
    item = distribution(python, "nvidia-cuda-nvcc-cu12") if python is not None else None
    if python is None or item is None or on_windows(environment):
        return None
    module = " Or unload the cluster's cuda module (module list shows it) where this program runs." * (
        "modules" in managers(environment)
    )
    return remedy(
        environment,
        f"{item.name} {item.version} is in the environment and new enough, but an older ptxas comes first on PATH. Put "
        f"the wheel's first, in each shell or in the job script; the last command must print its release.{module}",
        "wheel-ptxas-first",
        "which-ptxas",
        python=python.executable or "python",
    )


_FIRST_ON_PATH = (
    "The program runs whichever ptxas is first on PATH, and that one is older than the code it is given (the versions "
    "in the message are those of PTX, not of CUDA or the GPU). Put the newer toolkit first on PATH in the shell that "
    "starts the program (for good, in ~/.bashrc); the last command must show its ptxas. If /usr/local/cuda is not the "
    "newer one, name that directory instead. Nothing has to be installed."
)


def _newer_ptxas(environment: Environment, matrix: Matrix) -> Remedy | None:
    """The first toolkit whose ptxas knows the GPU, where the text tells that XLA runs an older one; otherwise None."""
    from envkit.compat.gpu import target_span

    told = Version.find(named(seen(environment, "ptxas-missing-or-old", "detail-in-use"), "version") or "")
    nearby = [toolkit.version for toolkit in environment.cuda_toolkits.value or ()]
    told = told or (nearby[0] if len(nearby) == 1 else None)
    words = capability_of(seen(environment, "ptxas-missing-or-old"))
    owns = [own for _, own in capable_gpus(environment, matrix)] or ([ComputeCapability.parse(words)] if words else [])
    firsts = [first for own in owns if (first := target_span(own, matrix)[0])]
    first = max(firsts, default=None)
    if told is None or first is None or told.release(2) >= first:
        return None
    return Remedy(
        f"XLA runs the ptxas that comes first on PATH, of CUDA {told.release(2)}, which does not know this GPU; "
        f"that of CUDA {first} is the first that does. Install that toolkit alongside, and put it first on PATH where "
        "the program starts (the commands, for this shell); the framework stays as it is. The warning that names "
        "the old ptxas must then be gone. If a kernel still fails to load, the framework's own libraries are "
        "older than the GPU as well: then install a release that is built for it.",
        install_cuda(environment, first),
    )


def _xla_users(environment: Environment) -> list[Installed]:
    return [item for item in installs(environment, "jax", "tensorflow") if item.framework.cuda is not None]


def _launcher_tools(environment: Environment, matrix: Matrix) -> Remedy:
    """A link to the driver's library where the linker finds none, otherwise a compiler and headers."""
    if seen(environment, "triton-needs-compiler", *_NO_LIBCUDA):
        return remedy(
            environment,
            "The compiler is installed, but it finds no libcuda.so: drivers often install libcuda.so.1 only. Create "
            "a link to that file in a directory of your own, which needs no administrator rights; the last two "
            "commands apply to this shell. If the second prints nothing, the loader does not know the driver's "
            "directory: set LIBCUDA to the path that find / -name libcuda.so.1 shows. Early Triton releases ignore "
            "the variable: for those, create the link libcuda.so as root next to libcuda.so.1, and run sudo ldconfig.",
            "link-libcuda",
        )
    if on_windows(environment) or seen(environment, "triton-needs-compiler", "detail-abi"):
        return _on_windows(environment)
    return remedy(environment, "Install a C compiler and the headers of this Python.", "compile-python")


def _on_windows(environment: Environment) -> Remedy:
    """triton-windows has a compiler of its own; a portable Python lacks the headers and the import libraries."""
    if not seen(environment, "triton-needs-compiler", *_NO_HEADERS):
        python, package = first_python(environment), windows_triton(environment)
        return Remedy(
            "On Windows, use triton-windows, which brings its own compiler (TinyCC), in the release for your torch"
            f"{_FOR_TORCH if package == _WINDOWS_TRITON else ''}. Another triton has the same folder: remove it first. "
            "For C++ code of torch.compile, also install the Visual Studio Build Tools with Desktop development with "
            "C++, and start the program from the x64 Native Tools prompt.",
            (
                pip(python, "uninstall", "-y", "triton", _WINDOWS_TRITON),
                pip(python, "install", REQUIREMENT(package)),
            ),
        )
    number = named(seen(environment, "triton-needs-compiler", "detail-abi"), "number") or _abi(environment)
    release = f"{number[0]}.{number[1:]}" if number else None
    which = f"Python {release}" if release else "exactly the same Python release (3.X)"
    where = "python_embeded, next to python.exe" if "comfyui-portable" in managers(environment) else "its own folder"
    return remedy(
        environment,
        f"Triton compiles a helper against Python.h, and an embedded Python has no headers: copy the folders Include "
        f"and libs of a regular {which} into {where}. The commands install that Python next to it and copy them; run "
        "them in the program's directory (the one that contains the embedded Python), in a Command Prompt. Or leave "
        "torch.compile off: nothing else is lost.",
        *(("portable-python-headers",) if "comfyui-portable" in managers(environment) else ()),
        version=release,
        number=number,
    )


def windows_triton(environment: Environment) -> str:
    """The package with the newest release that goes with the installed torch, where that is known."""
    from envkit.compat.pairs import newest_beside, pairs_by_package

    torch = next((own for item in installs(environment, "pytorch") if (own := release(item.framework.version))), None)
    if torch is None:
        return _WINDOWS_TRITON
    exact = {"torch": (f"torch=={torch}", VersionSpec.parse(f"=={torch}"))}
    found = newest_beside(pairs_by_package().get(_WINDOWS_TRITON, ()), exact)
    return f"{_WINDOWS_TRITON}=={found}" if found else _WINDOWS_TRITON


def _abi(environment: Environment) -> str | None:
    """The Python in the form of folder names, 312 for 3.12."""
    version = first_python(environment).version
    return str(version.release(2)).replace(".", "") if version is not None else None


_WINDOWS_TRITON = "triton-windows"
_FOR_TORCH = " (its page lists which, and the newest is for the newest torch)"
_NO_HEADERS = ("tcc-headers", "headers", "detail-pyconfig")
_NO_LIBCUDA = ("libcuda", "libcuda-triton")
_FIRST_WHEEL = limit("one-soname-per-major")  # of CUDA, from which on nvcc is a wheel
_SUFFIXED = ("-cu11", "-cu12")  # wheels of later CUDA releases carry no suffix
_NO_COMPILE = "XLA cannot compile for the GPU: jit-compiled functions fail or fall back."
_NO_LIBDEVICE = Fault(
    "libdevice-not-found",
    "XLA or Triton did not find libdevice.10.bc",
    impact=_NO_COMPILE,
    remedy=_nvcc_wheel,
)
_NO_PTXAS = Fault(
    "ptxas-missing-or-old",
    "XLA or Triton found no ptxas, or an old one",
    impact=_NO_COMPILE,
    remedy=_ptxas,
)
_NO_COMPILER = Fault(
    "triton-needs-compiler",
    "Triton could not build its launcher",
    impact="The first torch.compile or Triton kernel fails; eager PyTorch works.",
    remedy=_launcher_tools,
)


@check(
    _NO_LIBDEVICE,
    layer=Layer.LIBRARIES,
    rank=60,
    any_of=("pythons", "messages"),
    fix="Install the nvcc wheel of the framework's CUDA, or set a toolkit in XLA_FLAGS.",
    references=threads("jax-ml/jax#4452", "tensorflow/tensorflow#60790"),
)
def libdevice_not_found(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """XLA (JAX, TensorFlow) finds nvvm/libdevice/libdevice.10.bc in a toolkit or in NVIDIA's nvcc wheel."""
    yield from _xla_tool(environment, _NO_LIBDEVICE, "libdevice", "libdevice.10.bc")


@check(
    _NO_PTXAS,
    layer=Layer.LIBRARIES,
    rank=61,
    any_of=("pythons", "messages"),
    fix="Install the nvcc wheel of the framework's CUDA, or a newer toolkit.",
    references=threads("tensorflow/tensorflow#60790"),
)
def ptxas_missing_or_old(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """XLA and Triton find a ptxas that supports the GPU."""
    from envkit.compat.gpu import toolkit_match

    for python in judged(environment) if not seen(environment, _NO_PTXAS.id) else ():
        row = toolkit_row(python.ptxas_version, matrix) if python.ptxas_version else None
        if row is None:
            continue
        for gpu, own in capable_gpus(environment, matrix):
            if toolkit_match(own, row).value == "too-new":
                path = python.build_tools.get("ptxas", "")
                yield _NO_PTXAS.found(
                    [Evidence("pythons.ptxas_version", str(python.ptxas_version), path)],
                    title=f"ptxas of CUDA {python.ptxas_version} is older than {gpu.called} ({own})",
                    subject=python.prefix,
                    impact="torch.compile and XLA cannot generate code for this GPU.",
                    remedy=Remedy(
                        "Point Triton at a newer ptxas.", (fixed("export TRITON_PTXAS_PATH=/usr/local/cuda/bin/ptxas"),)
                    ),
                    status=Status.WARN,
                )
                return
    yield from _xla_tool(environment, _NO_PTXAS, "ptxas", "ptxas")


def _xla_tool(environment: Environment, fault: Fault, tool: str, title: str) -> Iterator[Outcome]:
    users = _xla_users(environment)
    looked = [item for item in users if tool in item.python.build_tools]
    if reported := fault.reported(environment):
        yield reported
    elif not users:
        yield nothing_to_judge(environment, "framework that uses XLA on CUDA")
    elif not looked:
        yield unknown(unseen(environment, title))
    else:
        for item in looked:
            path = item.python.build_tools[tool]
            evidence = [Evidence(f"pythons.build_tools[{tool}]", path or "not found", item.python.prefix)]
            if path:
                yield ok(f"{title} was found", subject=item.subject, evidence=evidence)
            else:
                yield fault.found(
                    evidence,
                    title=f"no {title} for {item.framework.package}",
                    subject=item.subject,
                    status=Status.WARN,
                )


@check(
    _NO_COMPILER,
    spares_gpu=True,
    layer=Layer.TOOLKIT,
    rank=50,
    any_of=("pythons", "messages"),
    fix="Install gcc and the Python headers; add the libcuda.so link.",
    references=threads("woct0rdho/triton-windows#113"),
)
def triton_needs_compiler(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """torch.compile finds what Triton needs to build its launchers: a C compiler and Python.h."""
    users = [item for item in installs(environment, "pytorch") if item.framework.cuda and item.python.build_tools]
    if reported := _NO_COMPILER.reported(environment):
        yield reported
    elif not users:
        yield nothing_to_judge(environment, "PyTorch with Triton")
    elif gpu_present(environment) is False:
        yield skip("there is no GPU for Triton to compile for")
    else:
        for item in users:
            tools = item.python.build_tools
            absent = [
                words for tool, words in (("cc", "a C compiler"), ("Python.h", "Python.h")) if tools.get(tool) == ""
            ]
            evidence = [
                Evidence(f"pythons.build_tools[{tool}]", tools.get(tool) or "not found", item.python.prefix)
                for tool in ("cc", "Python.h")
            ]
            if absent:
                title = f"Triton finds no {' and no '.join(absent)}".replace("no a ", "no ")
                yield _NO_COMPILER.found(evidence, title=title, subject=item.subject, status=Status.WARN)
            else:
                yield ok("Triton finds a C compiler and Python's headers", subject=item.subject, evidence=evidence)
