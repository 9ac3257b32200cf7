"""What a build needs next to nvcc: a host compiler, headers, CMake, and Visual Studio's files for CUDA."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit.checks.engine.ask import install_cuda
from envkit.checks.engine.command import REQUIREMENT, Command, export, fixed
from envkit.checks.engine.evidence import known, silent
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Outcome, Remedy, ok
from envkit.checks.engine.messages import named, seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.engine.remedies import on_windows, remedy, steps
from envkit.checks.frameworks.installs import first_python, installed_and_silent, installs, named_python, pip, release
from envkit.model import Environment
from envkit.tables.codes import limit

if TYPE_CHECKING:
    from envkit.tables import Matrix


_NINJA = ("ninja", "ninja-file")


def _in_slim_image(environment: Environment) -> Remedy:
    """Ninja only starts the compilers, of which a slim image has none."""
    torch = next((item for item in installs(environment, "pytorch") if item.framework.cuda is not None), None)
    cuda = torch.framework.cuda if torch is not None else None
    which = f"CUDA {cuda.release(2)}" if cuda is not None else "the CUDA that torch was built for"
    return Remedy(
        f"PyTorch compiles the extension here, with Ninja, g++, and nvcc of {which}, and a slim Python image has none "
        "of them: with Ninja alone, the build stops at the next one. Either start from an image with the toolkit (a "
        f"devel tag of nvidia/cuda for {which}) and install Python and the program in it, or add all three to this "
        "image (the commands, for Debian, which slim images are: cat /etc/os-release shows it; as root in the "
        "container; put them into the Dockerfile to keep them). A prebuilt wheel that has all kernels for this torch "
        "and GPU needs none of them.",
        (
            fixed("apt-get update"),
            fixed("apt-get install -y g++"),
            pip(first_python(environment), "install", "ninja"),
            *(install_cuda(environment, cuda) if cuda is not None else ()),
        ),
    )


_WITH_OLDER_MSVC = (
    f"nvcc of torch's CUDA, which is older than {limit('cuda-with-later-msvc')}, refuses today's MSVC: it takes "
    f"toolsets up to {limit('msvc-of-older-cuda')}. The first command installs the Build Tools with that one (if "
    "Visual Studio 2022 is there, add it in its installer instead, under Individual components, and replace the path "
    "of the second by that of your edition). Then run the others in one Command Prompt, activate the environment "
    "there, and build again. torch refuses an activated prompt without the last variable."
)


def _of_older_cuda(environment: Environment, matrix: Matrix) -> bool:
    """Whether the compiler of torch's CUDA, or of the toolkit where torch is unknown, takes no current MSVC."""
    first = limit("cuda-with-later-msvc")
    items = tuple(installs(environment, "pytorch"))
    told = [item.framework.cuda for item in items if item.framework.cuda is not None]
    own = {release(item.framework.version) for item in items}
    built = [row.cuda for row in matrix.builds("pytorch") if row.version in own and row.cuda is not None]
    built = built or [toolkit.version for toolkit in environment.cuda_toolkits.value or ()]
    return all(cuda < first for cuda in told or built) and bool(told or built)


def _tools(environment: Environment, matrix: Matrix) -> Remedy:
    if seen(environment, "build-tools-missing", *_NINJA) and seen(environment, "build-tools-missing", "detail-slim"):
        return _in_slim_image(environment)
    if seen(environment, "build-tools-missing", *_NINJA):
        return Remedy(
            "PyTorch compiles extensions with Ninja, which pip installs into the environment that runs the program.",
            (pip(first_python(environment), "install", "ninja"),),
        )
    if seen(environment, "build-tools-missing", "libaio", "libaio-prebuilt"):
        return Remedy(
            "DeepSpeed's async_io needs the headers of libaio: libaio-dev on Debian and Ubuntu, libaio-devel on Fedora "
            "and RHEL, or libaio from conda-forge. Only offloading to NVMe uses it: to build the other operators "
            "without it, set the variable below, and install again.",
            (fixed("export DS_BUILD_AIO=0"),),
        )
    if seen(environment, "build-tools-missing", "curl"):
        return Remedy(
            "llama.cpp asks for the headers of libcurl, which it needs only for downloading models itself: install "
            "libcurl4-openssl-dev (apt) or libcurl-devel (dnf), or build without them.",
            (fixed("cmake -B build -DGGML_CUDA=ON -DLLAMA_CURL=OFF"),),
        )
    if on_windows(environment) and _of_older_cuda(environment, matrix):
        return remedy(environment, _WITH_OLDER_MSVC, "build-tools-older-msvc")
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
    if seen(environment, "compiler-too-old", "detail-compress"):
        return _before_compression(environment)
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


def _before_compression(environment: Environment) -> Remedy:
    """flash-attn in the last release whose setup.py does not ask nvcc for compression."""
    last = limit("flash-attn-without-compression")
    return Remedy(
        f"Releases of flash-attn after {last} pass nvcc an option that CUDA 11 and the first releases of CUDA 12 do "
        f"not have. Pin {last}, which compiles with the nvcc of this CUDA, also in the Dockerfile and in requirements "
        "files. A toolkit of CUDA 12 would not do for a torch that was built with CUDA 11.",
        (
            export("MAX_JOBS", "4"),
            pip(named_python(environment), "install", "--no-build-isolation", REQUIREMENT(f"flash-attn=={last}")),
        ),
    )


_NVCC_REFUSES = ("nvcc-standard", "nvcc-option")
_OLD_COMPILER = Fault(
    "compiler-too-old",
    "A compiler or CMake is too old for the package being built",
    impact="The build stops at an option, or at a header that asks for a newer C++ standard.",
    remedy=_newer_compiler,
)
_COPY = (
    "Copy the toolkit's extension files into Visual Studio, in a Command Prompt that was started as administrator; "
    "then configure again in a fresh build directory, where CMake names the CUDA compiler. "
)
_OR_WITHOUT = (
    "Installing CUDA again after Visual Studio (component Visual Studio Integration) does the same. With CMake's Ninja "
    "generator in the x64 Native Tools prompt (cmake -G Ninja -B build), neither is needed."
)
_OF_ANY = (
    "The command is for Visual Studio 2022 Community: replace Community with your edition; for 2022 Build Tools and "
    "all editions of 2019, which are in Program Files (x86), the second one. "
)
_YOUR_EDITION = (
    "In the path, replace Community with your edition (Professional, Enterprise; the Build Tools are in "
    "Program Files (x86) as BuildTools), and C: if it is on another drive. "
)
_IN_X86 = {("2022", "BuildTools"): "vs-integration-tools"}  # the others of 2022 are in Program Files
_OF_2019 = "2019"


def _integration(environment: Environment, matrix: Matrix) -> Remedy:
    """Into the Visual Studio that the text shows: its release and edition are parts of the path."""
    told = seen(environment, "visual-studio-without-cuda", "detail-folder") or seen(
        environment, "visual-studio-without-cuda", "detail-release"
    )
    year, edition = named(told, "year"), named(told, "edition") or "Community"
    if year is None:
        both = (*steps(environment, "vs-integration", folder=edition), *_of_2019(environment, edition))
        return Remedy(f"{_COPY}{_OF_ANY}{_OR_WITHOUT}", both)
    copy = _COPY if named(told, "edition") else f"{_COPY}{_YOUR_EDITION}"
    if year == _OF_2019:
        return Remedy(f"{copy}{_OR_WITHOUT}", _of_2019(environment, edition))
    action = _IN_X86.get((year, edition), "vs-integration")
    return Remedy(f"{copy}{_OR_WITHOUT}", steps(environment, action, folder=edition))


def _of_2019(environment: Environment, edition: str) -> tuple[Command, ...]:
    return steps(environment, "vs-integration-2019", folder=edition)


_NO_INTEGRATION = Fault(
    "visual-studio-without-cuda",
    "Visual Studio lacks the CUDA toolkit's extension files",
    impact="CMake's Visual Studio generator finds no CUDA although nvcc is installed.",
    remedy=_integration,
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
