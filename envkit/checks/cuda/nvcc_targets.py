"""nvcc: the host compiler that it accepts, and the GPUs that it compiles for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit.base.versions import ComputeCapability, Version
from envkit.checks.cuda.host_gcc import as_packaged, default_gcc, packaged
from envkit.checks.cuda.nvcc_ages import DROPPED, in_place_of_native, no_longer, not_yet, refused_target
from envkit.checks.cuda.target_remedies import for_target
from envkit.checks.cuda.toolkit import build_nvcc, toolkit_row, toolkits
from envkit.checks.engine.ask import install_cuda
from envkit.checks.engine.command import PATH, Command, export, fixed
from envkit.checks.engine.evidence import known
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Evidence, Outcome, Remedy, Status, ok, skip, unknown
from envkit.checks.engine.messages import message_evidence, named, seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.engine.remedies import on_windows, remedy
from envkit.checks.frameworks.installs import built_for_amd, capable_gpus, gpu_present
from envkit.checks.gpu.gpus import SeenGpu
from envkit.model import Environment, HostCompiler
from envkit.tables.codes import limit as limit_of

if TYPE_CHECKING:
    from envkit.tables import Matrix
    from envkit.tables.rows import Toolkit

_NO_PACKAGE = " This system's archive has no such package: conda-forge has it. The variables are for this shell."
_NONE_PACKAGED = (
    " Neither this system's archive nor conda-forge has it: build in a container of a release that has it, such as an "
    "nvidia/cuda image of this toolkit with devel in its tag."
)
_BY_GCC = (
    "Each release of nvcc accepts only some releases of Clang. Let nvcc use GCC, which can be installed alongside "
    "Clang: the rest of the project is still compiled with Clang. For CMake, the option below names it; for nvcc "
    "itself, -ccbin g++. Use a fresh build directory. If that GCC is refused as well, the message then says which one "
    "is accepted."
)
_MSVC = "msvc"  # the message of nvcc on Windows
_DEAF = (
    " This nvcc is too old to read NVCC_PREPEND_FLAGS, and setup.py does not pass the compiler on; nvcc uses the gcc "
    "and g++ in its own directory, where the last commands create links (in the bin directory of your toolkit, if that "
    "is not /usr/local/cuda). To undo it, delete the links."
)
_CHOOSES_COMPILER = ("NVCC_CCBIN", "CUDAHOSTCXX", "NVCC_PREPEND_FLAGS")


def _older_gcc(environment: Environment, matrix: Matrix) -> Remedy:
    if seen(environment, "gcc-too-new-for-nvcc", "clang", "clang-version"):
        return Remedy(_BY_GCC, (fixed("cmake -B build -DCMAKE_CUDA_HOST_COMPILER=/usr/bin/g++"),))
    refused_msvc = seen(environment, "gcc-too-new-for-nvcc", _MSVC)
    if year := named(refused_msvc, "year"):
        return Remedy(
            f"This nvcc accepts compilers up to Visual Studio {year}, and of that one only the releases that existed "
            "when nvcc was released. In the Visual Studio Installer, under Individual components, add the oldest "
            f"MSVC toolset of {year}, open the x64 Native Tools prompt with it, and rebuild in a fresh directory. Or "
            "install a newer CUDA release, which supports the newer compiler."
        )
    if on_windows(environment) or refused_msvc:
        return remedy(
            environment,
            f"Let nvcc use an older MSVC compiler (CUDA before {limit_of('cuda-with-later-msvc')} accepts toolsets of "
            f"Visual Studio 2022 up to {limit_of('msvc-of-older-cuda')}): in the Visual Studio Installer, under "
            f"Individual components, add MSVC v143 build tools v{limit_of('msvc-of-older-cuda')}. Then run these "
            "commands in one Command Prompt (cmd, not PowerShell; replace Community with your edition), and "
            "repeat the build there, in a fresh directory. The second is for CMake, whose Visual Studio "
            "generator chooses its compiler itself; to choose among "
            "several toolkits as well, append a comma and cuda= with the release "
            f"of yours. Or install CUDA {limit_of('cuda-with-later-msvc')} or newer.",
            "older-msvc",
        )
    place = build_nvcc(environment)
    limit = _gcc_limit(environment, matrix, place[0]) if place else None
    limit = limit or Version.find(named(seen(environment, "gcc-too-new-for-nvcc"), "limit") or "")
    refused = _refused_gcc(environment)
    number = limit.major if limit else None
    if number is not None and refused and int(refused) <= number:  # accepted, but not with its later patches
        number = int(refused) - 1
    there = number is not None and packaged(environment, matrix, number)
    which = f"GCC {number}" if number else "the newest GCC that the message allows"
    by_conda = not there and number is not None and number >= limit_of("gcc-of-conda-forge").major
    deaf = there and number is not None and number <= limit_of("gcc-of-deaf-nvcc").major
    elsewhere = "" if there or number is None else _NO_PACKAGE if by_conda else _NONE_PACKAGED
    return remedy(
        environment,
        f"Install {which} alongside the current one and point nvcc at it; then rebuild in a fresh build directory."
        f"{_newer_instead(environment, matrix, place, limit)}{elsewhere}{_DEAF if deaf else ''}",
        "gcc-by-conda" if by_conda else "gcc-beside",
        *(("gcc-next-to-nvcc",) if deaf else ()),
        gcc=as_packaged(environment, matrix, number) if number is not None and (there or by_conda) else None,
    )


def _refused_gcc(environment: Environment) -> str | None:
    """The major release of a GCC that is not newer than the limit by its first number, and is refused all the same."""
    if by_packs := named(seen(environment, "gcc-too-new-for-nvcc", "packs"), "gcc"):
        return by_packs
    own = default_gcc(environment)
    told = named(seen(environment, "gcc-too-new-for-nvcc", "torch"), "version") or ""
    limit = named(seen(environment, "gcc-too-new-for-nvcc", "host-config"), "limit")
    return told.partition(".")[0] or (limit if own is not None and str(own.version.major) == limit else None)


def _newer_instead(
    environment: Environment, matrix: Matrix, place: tuple[Version, str] | None, limit: Version | None
) -> str:
    """The other way: the first toolkit after this one that accepts the present compiler and knows the GPUs."""
    from envkit.compat.gpu import target_span

    default = default_gcc(environment)
    if place is None or default is None or limit is None or default.version.major <= limit.major:
        return ""
    gcc = default.version
    firsts = [first for _, own in capable_gpus(environment, matrix) if (first := target_span(own, matrix)[0])]
    most = environment.driver.driver_cuda_version.value
    fitting = sorted(
        row.version
        for row in matrix.toolkits
        if row.version > place[0]
        and row.gcc_max is not None
        and row.gcc_max.major >= gcc.major
        and all(row.version >= first for first in firsts)
        and (most is None or row.version.release(2) <= most)
    )
    return (
        f" Or use a toolkit that accepts GCC {gcc.major}: envkit install --cuda {fitting[0].release(2)} --run."
        if fitting
        else ""
    )


def _newer_toolkit(environment: Environment, matrix: Matrix) -> Remedy:
    target = refused_target(environment, "nvcc-too-old-for-gpu") or not_yet(environment, matrix)
    named_one = in_place_of_native(environment, matrix) if not target else None
    return named_one or for_target(environment, matrix, target, dropped=False)


def _older_toolkit(environment: Environment, matrix: Matrix) -> Remedy:
    return for_target(environment, matrix, refused_target(environment, DROPPED), dropped=True)


_NEW_GCC = Fault(
    "gcc-too-new-for-nvcc",
    "nvcc rejects the host compiler as too new",
    impact="No CUDA code compiles; programs that are already compiled still run.",
    remedy=_older_gcc,
)
_OLD_NVCC = Fault(
    "nvcc-too-old-for-gpu",
    "nvcc is older than the GPU and does not support it",
    impact="Compilation fails immediately.",
    remedy=_newer_toolkit,
)
_DROPPED = Fault(
    DROPPED,
    "nvcc no longer supports the GPU",
    impact="Compilation fails immediately.",
    remedy=_older_toolkit,
)


@check(
    _NEW_GCC,
    layer=Layer.TOOLKIT,
    rank=35,
    of_builds=True,
    any_of=("nvcc", "cuda_toolkits", "messages"),
    fix="Install a GCC that this toolkit accepts and set it in NVCC_PREPEND_FLAGS.",
    references=threads("NVlabs/instant-ngp#1562", "facebookarchive/caffe2#442"),
)
def gcc_too_new_for_nvcc(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """nvcc accepts the host compiler that it would call.

    Each toolkit supports GCC up to a certain version; with a newer one, every compilation stops. The limit is read from
    the toolkit's own headers if they are installed, and from envkit's data otherwise.
    """
    place = build_nvcc(environment)
    limit = _gcc_limit(environment, matrix, place[0]) if place else None
    if reported := _NEW_GCC.reported(environment):
        yield reported
    elif place is None:
        yield skip("there is no nvcc that would call a compiler", evidence=[known(environment, "nvcc")])
    elif built_for_amd(environment):
        yield skip("PyTorch's build for AMD GPUs is compiled with hipcc, not with nvcc")
    elif limit is None:
        yield unknown(f"the newest compiler for CUDA {place[0]} is not recorded")
    elif not environment.host_compilers.known:
        yield unknown("the host compilers are not known", evidence=[known(environment, "host_compilers")])
    else:
        yield _compare_compiler(environment, matrix, place[0], limit)


def _compare_compiler(environment: Environment, matrix: Matrix, nvcc: Version, limit: Version) -> Outcome:
    default = default_gcc(environment)
    if default is None:
        return skip("there is no default gcc", evidence=[known(environment, "host_compilers", "no gcc")])
    evidence = [_compiler(default), Evidence("cuda_toolkits.gcc_max", str(limit), f"CUDA {nvcc}")]
    if default.version.major <= limit.major:
        return ok(
            f"GCC {default.version} is supported by nvcc {nvcc.release(2)} (up to gcc {limit.major})", evidence=evidence
        )
    variables = environment.variables.get() if environment.variables.known else {}
    chosen = next((name for name in _CHOOSES_COMPILER if variables.get(name)), None)
    if chosen:
        return ok(f"{chosen} sets the compiler for nvcc: {variables[chosen]}", evidence=evidence)
    compilers = environment.host_compilers.get()
    fitting = [item for item in compilers if item.name == "gcc" and item.version.major <= limit.major]
    title = f"GCC {default.version.major} is too new for CUDA {nvcc.release(2)}, which supports up to GCC {limit.major}"
    if fitting:
        best = max(fitting, key=lambda item: item.version)
        return _NEW_GCC.found(
            [*evidence, _compiler(best)],
            title=title,
            impact="CUDA code does not compile unless nvcc is told to use the older compiler.",
            remedy=Remedy(
                "A suitable compiler is installed: point nvcc at it, then build in a fresh directory.", _named(best)
            ),
            status=Status.WARN,
        )
    return _NEW_GCC.found(evidence, title=title)


def _named(compiler: HostCompiler) -> tuple[Command, ...]:
    """What tells nvcc, CMake and PyTorch's builds which compiler to call."""
    folder, _, name = compiler.path.rpartition("/")
    cxx = f"{folder}/{name.replace('gcc', 'g++')}" if folder else name.replace("gcc", "g++")
    return (
        export("CC", PATH(compiler.path)),
        export("CXX", PATH(cxx)),
        export("CUDAHOSTCXX", PATH(cxx)),
        export("NVCC_PREPEND_FLAGS", f"-ccbin {cxx}"),
    )


def _gcc_limit(environment: Environment, matrix: Matrix, nvcc: Version) -> Version | None:
    for toolkit in toolkits(environment):
        if toolkit.version == nvcc and toolkit.gcc_max is not None:
            return toolkit.gcc_max
    row = toolkit_row(nvcc, matrix)
    return row.gcc_max if row else None


def _compiler(compiler: HostCompiler) -> Evidence:
    return Evidence("host_compilers", f"{compiler.name} {compiler.version}", compiler.path)


@check(
    _OLD_NVCC,
    layer=Layer.TOOLKIT,
    rank=32,
    of_builds=True,
    any_of=("nvcc", "cuda_toolkits", "messages"),
    fix="Install a newer toolkit alongside the current one.",
    references=threads("NVIDIA/nvbandwidth#25", "torch/distro#130"),
)
def nvcc_too_old_for_gpu(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """nvcc can generate binary code for every GPU: for its own target, or a lower one of the same major version.

    An older nvcc can still generate PTX, which the driver compiles when the program first runs. If it is given the
    GPU's own target, it stops with "Unsupported gpu architecture".
    """
    yield from _targets(environment, matrix, _OLD_NVCC)


@check(
    _DROPPED,
    layer=Layer.TOOLKIT,
    rank=31,
    of_builds=True,
    any_of=("nvcc", "cuda_toolkits", "messages"),
    fix="Install an older toolkit alongside the current one.",
    references=threads("pytorch/pytorch#190385"),
)
def toolkit_dropped_arch(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """nvcc still supports every GPU of the machine.

    CUDA 12 dropped Kepler; CUDA 13 dropped Maxwell, Pascal, and Volta. Nothing that such a toolkit compiles runs on
    those GPUs.
    """
    yield from _targets(environment, matrix, _DROPPED)


def _refused(environment: Environment, fault: Fault, target: str) -> Outcome:
    """What nvcc says of a target that it does not know yet, which one of the two checks reports."""
    evidence = message_evidence(environment, seen(environment, DROPPED))
    if fault is _DROPPED:
        return ok(f"nvcc is too old for sm_{target}: see nvcc-too-old-for-gpu", evidence=evidence)
    return fault.found(evidence, title=f"nvcc is too old for the target sm_{target}")


def _left_behind(environment: Environment, matrix: Matrix, fault: Fault, target: str) -> Outcome:
    """What nvrtc says of a target that its release no longer has, in words that fit both checks."""
    evidence = message_evidence(environment, seen(environment, _OLD_NVCC.id))
    if fault is _OLD_NVCC:
        return ok(f"nvrtc no longer supports sm_{target}: see the other check", evidence=evidence)
    remedy = for_target(environment, matrix, target, dropped=True)
    return fault.found(evidence, title=f"nvrtc no longer supports the target sm_{target}", remedy=remedy)


def _targets(environment: Environment, matrix: Matrix, fault: Fault) -> Iterator[Outcome]:
    place = build_nvcc(environment)
    row = toolkit_row(place[0], matrix) if place else None
    gpus = capable_gpus(environment, matrix)
    target = refused_target(environment, fault.id)
    said = f"nvcc does not support the target sm_{target}" if target else ""
    if refused := not_yet(environment, matrix):
        yield _refused(environment, fault, refused)
    elif left := no_longer(environment, matrix):
        yield _left_behind(environment, matrix, fault, left)
    elif reported := fault.reported(environment, title=said):
        yield reported
    elif place is None:
        yield skip("there is no nvcc to compile with", evidence=[known(environment, "nvcc")])
    elif gpu_present(environment) is False:
        yield skip("there is no GPU to compile for")
    elif seen(environment, "nvcc-vs-torch-mismatch"):
        yield skip("the build asks for the nvcc of PyTorch's own CUDA: see nvcc-vs-torch-mismatch")
    elif row is None or not gpus:
        yield unknown("the toolkit's targets or the GPU's compute capability are not known")
    else:
        yield from (_of_gpu(environment, matrix, fault, gpu, own, place, row) for gpu, own in gpus)


def _of_gpu(
    environment: Environment,
    matrix: Matrix,
    fault: Fault,
    gpu: SeenGpu,
    own: ComputeCapability,
    place: tuple[Version, str],
    row: Toolkit,
) -> Outcome:
    """Whether the nvcc at a place, of a toolkit of the table, compiles for one GPU."""
    from envkit.compat.gpu import oldest_cuda, target_span, toolkit_match

    match = toolkit_match(own, row)
    first, last = target_span(own, matrix)
    evidence = [
        Evidence("nvcc", str(place[0]), place[1]),
        Evidence("gpus.compute_capability", str(own), gpu.title),
    ]
    if match.value != ("dropped" if fault is _DROPPED else "too-new"):
        return ok(f"nvcc {place[0].release(2)}: {gpu.title} ({own})", subject=gpu.subject, evidence=evidence)
    if fault is _DROPPED:
        return fault.found(
            evidence,
            title=f"CUDA {place[0].release(2)} no longer compiles for {gpu.called}",
            subject=gpu.subject,
            impact="Nothing that this toolkit compiles runs on that GPU.",
            remedy=Remedy(
                f"CUDA {last} is the last release that supports it."
                if last is not None
                else f"Only releases before CUDA {oldest_cuda(matrix)} support it. Use a newer GPU.",
                install_cuda(environment, last) if last else (),
            ),
        )
    return fault.found(
        evidence,
        title=f"CUDA {place[0].release(2)}'s nvcc is older than {gpu.called}",
        subject=gpu.subject,
        status=Status.WARN,
        impact="Builds for this GPU's own target stop; PTX for an older target still runs.",
        remedy=Remedy(
            f"CUDA {first} is the first release that supports it.",
            install_cuda(environment, first) if first else (),
        ),
    )
