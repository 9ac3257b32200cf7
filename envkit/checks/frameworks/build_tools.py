"""What a build needs next to nvcc: a host compiler, headers, CMake, and Visual Studio's files for CUDA."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit.checks.engine.ask import install_cuda
from envkit.checks.engine.command import fixed
from envkit.checks.engine.evidence import known, silent
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Outcome, Remedy, ok
from envkit.checks.engine.messages import seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.engine.remedies import on_windows, remedy, steps
from envkit.checks.frameworks.installs import first_python, installed_and_silent, installs, pip
from envkit.model import Environment

if TYPE_CHECKING:
    from envkit.tables import Matrix


_NINJA = ("ninja", "ninja-file")


def _tools(environment: Environment, matrix: Matrix) -> Remedy:
    if seen(environment, "build-tools-missing", *_NINJA):
        return Remedy(
            "PyTorch compiles extensions with Ninja, which pip installs into the environment that runs the program.",
            (pip(first_python(environment), "install", "ninja"),),
        )
    if seen(environment, "build-tools-missing", "curl"):
        return Remedy(
            "llama.cpp asks for the headers of libcurl, which it needs only for downloading models itself: install "
            "libcurl4-openssl-dev (apt) or libcurl-devel (dnf), or build without them.",
            (fixed("cmake -B build -DGGML_CUDA=ON -DLLAMA_CURL=OFF"),),
        )
    if on_windows(environment):
        return Remedy(
            "If Visual Studio with its C++ workload is installed, cl.exe is just not on PATH: open the x64 Native "
            "Tools Command Prompt from the Start menu, activate the environment there, run the first command in it "
            "(torch refuses an activated prompt without that variable), and build again. If the workload or Visual "
            "Studio itself is missing, install the Build Tools with the second command; then build in that prompt.",
            (
                fixed("set DISTUTILS_USE_SDK=1"),
                fixed(
                    "winget install --id Microsoft.VisualStudio.2022.BuildTools --override "
                    "'--passive --wait --add Microsoft.VisualStudio.Workload.VCTools --includeRecommended'"
                ),
            ),
        )
    advice = "Install a C++ compiler and Python's headers, or use a prebuilt wheel."
    return remedy(environment, advice, "build-tools")


_NO_TOOLS = Fault(
    "build-tools-missing",
    "A build found no C++ compiler, Python headers, or build tool",
    impact="The package does not build; CUDA and torch are fine.",
    remedy=_tools,
)


def _newer_compiler(environment: Environment, matrix: Matrix) -> Remedy:
    if seen(environment, "compiler-too-old", *_NVCC_REFUSES):
        return _newer_nvcc(environment, matrix)
    advice = (
        "Compile with a newer compiler: load the cluster's newer module, or install one into the environment from "
        "conda-forge (gxx), and build in a shell where it is active. If it is nvcc that rejects the code, use a "
        "newer toolkit. Or install an older release of the package that still builds with these compilers."
    )
    compiler = fixed("where cl") if on_windows(environment) else fixed("gcc --version")
    return Remedy(advice, (compiler, fixed("nvcc --version")))


def _newer_nvcc(environment: Environment, matrix: Matrix) -> Remedy:
    """The newest toolkit of the major version that PyTorch, or else nvcc, is of: what it compiles fits that torch."""
    own = environment.nvcc.value.version if environment.nvcc.value is not None else None
    built = next((item.framework.cuda for item in installs(environment, "pytorch") if item.framework.cuda), own)
    rows = [row.version for row in matrix.toolkits if built is not None and row.version.major == built.major]
    newest = max(rows, default=None)
    if newest is None or (own is not None and newest.release(2) <= own.release(2)):
        return Remedy(
            "nvcc is older than the code expects: build with the CUDA toolkit that the package's documentation "
            "specifies, or install an older release of the package.",
            (fixed("nvcc --version"),),
        )
    return Remedy(
        "nvcc is older than the code expects. Install a newer toolkit of the same major version alongside it: what "
        f"CUDA {newest.release(2)} compiles also loads with the installed PyTorch. Then build again in a fresh build "
        "directory; or install an older release of the package.",
        (*install_cuda(environment, newest), *steps(environment, "drop-built")),
    )


_NVCC_REFUSES = ("nvcc-standard", "nvcc-option")
_OLD_COMPILER = Fault(
    "compiler-too-old",
    "A compiler or CMake is too old for the package being built",
    impact="The build stops at an option, or at a header that asks for a newer C++ standard.",
    remedy=_newer_compiler,
)
_NO_INTEGRATION = Fault(
    "visual-studio-without-cuda",
    "Visual Studio lacks the CUDA toolkit's extension files",
    impact="CMake's Visual Studio generator finds no CUDA although nvcc is installed.",
    remedy="Copy the toolkit's extension files into Visual Studio, in a Command Prompt that was started as "
    "administrator; then build again in a fresh directory. The command is for Visual Studio 2022 Community: replace "
    "Community with your edition (BuildTools is in Program Files (x86)); for 2019, replace 2022 with 2019 and v170 "
    "with v160. Installing CUDA again after Visual Studio (component Visual Studio Integration) does the same. With "
    "CMake's Ninja generator in the x64 Native Tools prompt (cmake -G Ninja -B build), neither is needed.",
    actions=("vs-integration",),
)


@check(
    _NO_TOOLS,
    layer=Layer.TOOLKIT,
    rank=11,
    any_of=("host_compilers", "messages"),
    fix="Install a C++ compiler, Python's headers, CMake and ninja, or use a prebuilt wheel.",
    references=("https://docs.pytorch.org/docs/stable/cpp_extension.html",),
)
def build_tools_missing(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """Extension builds find the C++ compiler, Python's headers, CMake, and ninja.

    PyTorch extensions are compiled by the host compiler and nvcc together, against the headers of the Python that runs
    them.
    """
    if reported := _NO_TOOLS.reported(environment):
        yield reported
    elif environment.host_compilers.known and environment.host_compilers.get():
        yield ok("a compiler is installed", evidence=[known(environment, "host_compilers")])


@check(
    _OLD_COMPILER,
    layer=Layer.TOOLKIT,
    rank=12,
    any_of=("host_compilers", "nvcc", "messages"),
    fix="Build with a newer compiler, or install an older release of the package.",
    references=threads("Dao-AILab/flash-attention#825", "jiexiong2016/GCNv2_SLAM#47"),
)
def compiler_too_old(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """The compilers support the C++ standard and the options that a build uses.

    Every few releases, PyTorch's headers require a newer standard, which the compilers of older systems and nvcc of
    older toolkits do not support.
    """
    if reported := _OLD_COMPILER.reported(environment):
        yield reported
    elif environment.host_compilers.known and environment.host_compilers.get():
        yield silent(environment, "no build rejected the compiler", known(environment, "host_compilers"))


@check(
    _NO_INTEGRATION,
    layer=Layer.TOOLKIT,
    rank=13,
    any_of=("pythons", "messages"),
    fix="Copy the toolkit's MSBuildExtensions to Visual Studio, or install CUDA again after it.",
    references=threads("abetlen/llama-cpp-python#1352", "NVlabs/tiny-cuda-nn#164"),
)
def visual_studio_without_cuda(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """Visual Studio has the files that MSBuild needs to compile CUDA.

    The toolkit's installer copies them into the Visual Studio that is already installed; one installed later does not
    have them.
    """
    yield from installed_and_silent(environment, _NO_INTEGRATION)
