"""nvcc: the host compiler that it accepts, and the GPUs that it compiles for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit._startup.regex import regex
from envkit.base.versions import ComputeCapability, Version
from envkit.checks.cuda.toolkit import build_nvcc, toolkit_row, toolkits
from envkit.checks.engine.ask import install_cuda
from envkit.checks.engine.command import PATH, export
from envkit.checks.engine.evidence import known
from envkit.checks.engine.findings import Evidence, Outcome, Remedy, fail, ok, skip, unknown, warn
from envkit.checks.engine.messages import message_evidence, named, seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.engine.remedies import remedy
from envkit.checks.frameworks.installs import capable_gpus, gpu_present
from envkit.model import Environment, HostCompiler

if TYPE_CHECKING:
    from envkit.tables import Matrix

_TARGET = regex(r"(\d{1,2})(\d)")
_CHOOSES_COMPILER = ("NVCC_CCBIN", "CUDAHOSTCXX", "NVCC_PREPEND_FLAGS")


@check(
    "gcc-too-new-for-nvcc",
    title="The host compiler is newer than nvcc accepts",
    layer=Layer.TOOLKIT,
    rank=35,
    any_of=("nvcc", "cuda_toolkits", "messages"),
    fix="Install a GCC that this toolkit accepts and name it in NVCC_CCBIN.",
    references=threads("NVlabs/instant-ngp#1562", "facebookarchive/caffe2#442"),
)
def gcc_too_new_for_nvcc(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """The compiler that nvcc would call is one that it accepts.

    Every toolkit has a newest GCC; with a newer one every compilation stops. The limit is read from the toolkit's own
    headers where they are there, and from the tables otherwise.
    """
    place = build_nvcc(environment)
    limit = _gcc_limit(environment, matrix, place[0]) if place else None
    messages = seen(environment, "gcc-too-new-for-nvcc")
    if messages:
        limit = limit or Version.find(named(messages, "limit") or "")
        yield _too_new(
            environment,
            matrix,
            "nvcc refuses the host compiler as too new",
            limit,
            list(message_evidence(environment, messages)),
            certain=True,
        )
    elif place is None:
        yield skip("there is no nvcc that would call a compiler", evidence=[known(environment, "nvcc")])
    elif limit is None:
        yield unknown(f"the newest compiler for CUDA {place[0]} is not recorded")
    elif not environment.host_compilers.known:
        yield unknown("the host compilers are not known", evidence=[known(environment, "host_compilers")])
    else:
        yield _judge_compiler(environment, matrix, place[0], limit)


def _judge_compiler(environment: Environment, matrix: Matrix, nvcc: Version, limit: Version) -> Outcome:
    compilers = [item for item in environment.host_compilers.get() if item.name == "gcc"]
    default = next((item for item in compilers if item.default), None)
    if default is None:
        return skip("there is no default gcc", evidence=[known(environment, "host_compilers", "no gcc")])
    evidence = [_compiler(default), Evidence("cuda_toolkits.gcc_max", str(limit), f"CUDA {nvcc}")]
    if default.version.major <= limit.major:
        return ok(f"gcc {default.version} fits nvcc of CUDA {nvcc.release(2)} (up to {limit.major})", evidence=evidence)
    variables = environment.variables.get() if environment.variables.known else {}
    chosen = next((name for name in _CHOOSES_COMPILER if variables.get(name)), None)
    if chosen:
        return ok(f"{chosen} names the compiler for nvcc: {variables[chosen]}", evidence=evidence)
    fitting = [item for item in compilers if item.version.major <= limit.major]
    title = f"gcc {default.version.major} is too new for nvcc of CUDA {nvcc.release(2)} (up to {limit.major})"
    if fitting:
        best = max(fitting, key=lambda item: item.version)
        return warn(
            title,
            evidence=[*evidence, _compiler(best)],
            impact="Compiling CUDA code stops unless the older compiler is named.",
            remedy=Remedy("A fitting compiler is installed: name it.", (export("NVCC_CCBIN", PATH(best.path)),)),
        )
    return _too_new(environment, matrix, title, limit, evidence, certain=False)


def _too_new(
    environment: Environment,
    matrix: Matrix,
    title: str,
    limit: Version | None,
    evidence: list[Evidence],
    *,
    certain: bool,
) -> Outcome:
    number = str(limit.major) if limit else "N"
    judge = fail if certain or limit is not None else warn
    return judge(
        title,
        evidence=evidence,
        impact="Every compilation with nvcc stops; programs that are compiled already run.",
        remedy=remedy(
            environment,
            f"Install GCC {number} beside the present one and name it to nvcc.",
            "gcc-beside",
            gcc=limit.major if limit and _packaged(environment, matrix, limit.major) else None,
        ),
    )


def _packaged(environment: Environment, matrix: Matrix, gcc: int) -> bool:
    """True when the distribution found has that GCC beside its own, as far as our table knows, or is unknown itself."""
    observed = environment.system.os
    row = matrix.operating_system(observed.get().os_id) if observed.known else None
    if row is None or row.family == "suse":
        return True  # SUSE's packages are named by the number, and our table lists none
    return any(version.major == gcc for version in row.installable_gcc)


def _gcc_limit(environment: Environment, matrix: Matrix, nvcc: Version) -> Version | None:
    for toolkit in toolkits(environment):
        if toolkit.version == nvcc and toolkit.gcc_max is not None:
            return toolkit.gcc_max
    row = toolkit_row(nvcc, matrix)
    return row.gcc_max if row else None


def _compiler(compiler: HostCompiler) -> Evidence:
    return Evidence("host_compilers", f"{compiler.name} {compiler.version}", compiler.path)


@check(
    "nvcc-too-old-for-gpu",
    title="nvcc is older than the GPU",
    layer=Layer.TOOLKIT,
    rank=32,
    any_of=("nvcc", "cuda_toolkits", "messages"),
    fix="Install a newer toolkit beside the present one.",
    references=threads("NVIDIA/nvbandwidth#25", "torch/distro#130"),
)
def nvcc_too_old_for_gpu(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """nvcc can make binary code for every GPU: its own target, or a lower one of the same major.

    An older nvcc can still make PTX, which the driver compiles at the first start; asked for the GPU's own target it
    stops with "Unsupported gpu architecture".
    """
    yield from _targets(environment, matrix, "nvcc-too-old-for-gpu", "too-new")


@check(
    "toolkit-dropped-arch",
    title="nvcc no longer compiles for the GPU",
    layer=Layer.TOOLKIT,
    rank=31,
    any_of=("nvcc", "cuda_toolkits", "messages"),
    fix="Install an older toolkit beside the present one.",
    references=threads("pytorch/pytorch#190385"),
)
def toolkit_dropped_arch(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """nvcc still compiles for every GPU of the machine.

    CUDA 12 dropped Kepler, CUDA 13 Maxwell, Pascal and Volta: nothing that such a toolkit makes runs on them.
    """
    yield from _targets(environment, matrix, "toolkit-dropped-arch", "dropped")


def _for_target(matrix: Matrix, target: str, *, dropped: bool) -> Remedy:
    from envkit.compat.gpu import target_span

    said = "Build with a toolkit that knows this GPU; several can live side by side."
    number = _TARGET.match(target)
    if number is None:
        return Remedy(said)
    first, last = target_span(ComputeCapability(int(number[1]), int(number[2])), matrix)
    fitting = last if dropped else first
    return Remedy(said, install_cuda(fitting) if fitting else ())


def _targets(environment: Environment, matrix: Matrix, id: str, fault: str) -> Iterator[Outcome]:  # noqa: A002
    from envkit.compat.gpu import target_span, toolkit_match

    messages = seen(environment, id)
    place = build_nvcc(environment)
    row = toolkit_row(place[0], matrix) if place else None
    gpus = capable_gpus(environment, matrix)
    if messages:
        target = named(messages, "arch") or ""
        yield fail(
            f"nvcc does not know the target {f'sm_{target}' if target else 'of the GPU'}",
            evidence=message_evidence(environment, messages),
            impact="Nothing is compiled.",
            remedy=_for_target(matrix, target, dropped=fault == "dropped"),
        )
    elif place is None:
        yield skip("there is no nvcc whose targets matter", evidence=[known(environment, "nvcc")])
    elif gpu_present(environment) is False:
        yield skip("there is no GPU to compile for")
    elif row is None or not gpus:
        yield unknown("the toolkit's targets or the GPU's compute capability are not known")
    else:
        for gpu, own in gpus:
            match = toolkit_match(own, row)
            first, last = target_span(own, matrix)
            evidence = [
                Evidence("nvcc", str(place[0]), place[1]),
                Evidence("gpus.compute_capability", str(own), gpu.title),
            ]
            if match.value != fault:
                yield ok(f"nvcc {place[0].release(2)}: {gpu.title} ({own})", subject=gpu.subject, evidence=evidence)
            elif fault == "dropped":
                yield fail(
                    f"CUDA {place[0].release(2)} no longer compiles for {gpu.title}",
                    subject=gpu.subject,
                    evidence=evidence,
                    impact="Nothing that this toolkit compiles runs on that GPU.",
                    remedy=Remedy(f"CUDA {last} is the last for it.", install_cuda(last) if last else ()),
                )
            else:
                yield warn(
                    f"nvcc of CUDA {place[0].release(2)} is older than {gpu.title}",
                    subject=gpu.subject,
                    evidence=evidence,
                    impact="Builds for this GPU's own target stop; PTX of an older target still runs.",
                    remedy=Remedy(f"CUDA {first} is the first for it.", install_cuda(first) if first else ()),
                )
