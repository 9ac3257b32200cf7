"""The three CUDA versions that people confuse: what the driver runs, what a framework was built for, what nvcc is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit._startup.records import replace
from envkit.base.versions import Version, whole_number
from envkit.checks.containers.container_driver import without_driver
from envkit.checks.cuda.kept_driver import as_before_the_update, with_this_driver
from envkit.checks.cuda.ptx import cuda_of_ptx, of_cudatoolkit, older_cudatoolkit, reported_by
from envkit.checks.cuda.wanted_driver import (
    KEEP_FOR_VIDEO,
    OLD_FOR_VIDEO,
    of_a_package,
    too_old_messages,
    wanted_driver,
)
from envkit.checks.engine.ask import framework_of, install_cuda, resolve_command, tells_framework
from envkit.checks.engine.command import CONDA_SPEC, MODULE, fixed, run
from envkit.checks.engine.evidence import known
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Evidence, Outcome, Remedy, Status, ok, skip, unknown
from envkit.checks.engine.managers import QUEUES, in_image, managed_by, managers
from envkit.checks.engine.messages import message_evidence, named, seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.engine.remedies import on_windows
from envkit.checks.frameworks.builds import replacement
from envkit.checks.frameworks.compiled import compiled_program
from envkit.checks.frameworks.installs import (
    Installed,
    all_data_center,
    as_on_pypi,
    capable_gpus,
    installs,
    nothing_to_judge,
    runs_on_gpus,
)
from envkit.checks.frameworks.webui import for_program
from envkit.checks.nvidia_driver.driver_state import driver_platform, installed, loaded
from envkit.checks.nvidia_driver.newer_driver import newer_driver, newer_or_kept
from envkit.model import Environment, Message, found

if TYPE_CHECKING:
    from envkit.tables import Matrix

NO_DRIVER = (
    "no-gpu-on-pci",
    "driver-not-installed",
    "driver-module-not-loaded",
    "module-missing-for-running-kernel",
    "nouveau-loaded",
    "secure-boot-unsigned-module",
    "driver-library-mismatch",
    "container-no-gpu-injected",
    "cdi-unresolvable",
    "docker-no-nvidia-runtime",
    "wsl-libcuda-missing",
    "wsl-driver-inside",
    "wsl1",
)


_OF_A_PACKAGE = (
    "The framework works with the installed driver; only the package in the error message needs a newer one. To keep "
    "the installed driver, install an older release of that package instead."
)


_DRIVER_ALONE = (
    "Only the driver has to be updated: the program needs no CUDA toolkit or cuDNN other than what it includes. To "
    "keep the driver, use a build of the program for an older CUDA."
)


def _newer_or_older(environment: Environment, matrix: Matrix) -> Remedy:
    messages = too_old_messages(environment, matrix)
    if other := with_this_driver(environment, matrix):
        return other
    if of_a_package(messages):
        made = [item.framework.cuda for item in installs(environment) if item.framework.cuda is not None]
        return newer_driver(environment, matrix, max(made, default=None), _OF_A_PACKAGE)
    if older := of_cudatoolkit(environment, reported_by(environment, matrix)):
        return older
    have, need = (_cuda_words(named(messages, key)) for key in ("found", "needs"))
    need = need or next((str(one.framework.cuda) for one in installs(environment) if one.framework.cuda), "")
    cuda = _within(have, matrix)
    if not tells_framework(environment, matrix, messages) or (need and in_image(environment)):
        kept = f" ({cuda})" if cuda else ""
        otherwise = f"To keep the driver, use the program's build for an older CUDA{kept}, or build it with one."
        otherwise = KEEP_FOR_VIDEO if _of_video(messages) else otherwise
        return _with_module(environment, matrix, newer_driver(environment, matrix, Version.find(need), otherwise))
    own, told = Version.find(have), environment.driver
    if own is not None and not told.driver_cuda_version.known:  # the message says what the driver runs
        told = replace(told, driver_cuda_version=found(own, "message"))
    why = (
        "Install a build of the framework for an older CUDA version, or a newer driver (for a container, on its host)."
    )
    name = framework_of(environment, matrix, messages)
    if on_windows(environment) and not list(installs(environment)):  # which build it is that runs, nobody knows
        return newer_driver(environment, matrix, Version.find(need), _DRIVER_ALONE)
    known = as_before_the_update(replace(environment, driver=told), matrix)
    given = for_program(known, matrix, name, why, messages)
    if any("pip" in line or line.startswith("conda install") for line in given.commands):
        return given
    return Remedy(why, (resolve_command(environment, matrix, messages, cuda=cuda),))


def _with_module(environment: Environment, matrix: Matrix, given: Remedy) -> Remedy:
    """On a cluster: the module of the CUDA that the nodes' driver runs, with which the program is built again."""
    driver = installed(environment)
    row = matrix.driver_branch(driver.major) if driver is not None else None
    own = environment.driver.driver_cuda_version.value or (row.driver_cuda_version if row is not None else None)
    if own is None or given.steps or not managed_by(environment, "modules", *QUEUES):
        return given
    return Remedy(
        f"The nodes' driver{f' {driver}' if driver is not None else ''} runs CUDA {own.release(2)} and older: load "
        "that module, rebuild the program with it (run make clean first), and load it in the job script too. "
        f"{given.advice}",
        (fixed("module avail cuda"), run("module", "load", MODULE(f"cuda/{own.release(2)}"))),
    )


def _no_newer_cuda(environment: Environment, matrix: Matrix) -> Remedy:
    """The driver is what every program needs newer; who cannot change it builds with its own CUDA."""
    own = environment.driver.driver_cuda_version.value or reported_by(environment, matrix) or cuda_of_ptx(environment)
    made = [item.framework.cuda for item in installs(environment) if item.framework.cuda is not None]
    nvcc = environment.nvcc.get().version if environment.nvcc.known else None
    newer = [version for version in (nvcc, *made) if version is not None and (own is None or version > own.release(2))]
    to_keep = (
        (f"CUDA {own.release(2)} (the newest release that this driver supports)")
        if own
        else "the CUDA version that nvidia-smi shows"
    )
    otherwise = (
        f"To keep the driver, build the program with {to_keep}, or install the program's build for that version. In a "
        f"conda environment, pin cuda-version={own.release(2) if own else 'X.Y'}."
    )
    given = newer_driver(environment, matrix, max(newer, default=None), otherwise, exact=True)
    names = managers(environment)
    if own is not None and seen(environment, _PTX.id, "detail-cudatoolkit"):
        return older_cudatoolkit(environment, own.release(2))
    if given.steps or own is None:
        return given
    if "llama-cpp-python" in names and not on_windows(environment):
        again = compiled_program(environment, "", told=False)
        return Remedy(given.advice, (*install_cuda(environment, own.release(2)), *(again.steps if again else ())))
    if "conda" not in names:
        return given
    return Remedy(
        given.advice, (run("conda", "install", "-c", "conda-forge", CONDA_SPEC(f"cuda-version={own.release(2)}")),)
    )


_TOO_OLD = Fault(
    "driver-too-old-for-runtime",
    "The NVIDIA driver is too old for the CUDA version of the framework",
    impact="The program cannot use the GPU; it fails or falls back to the CPU.",
    remedy=_newer_or_older,
)
_PTX = Fault(
    "ptx-newer-than-driver",
    "The driver cannot compile PTX from a newer CUDA release (error 222)",
    impact="Kernels compiled at run time fail; minor-version compatibility does not cover PTX.",
    remedy=_no_newer_cuda,
)


@check(
    _TOO_OLD,
    layer=Layer.FRAMEWORK_BUILD,
    rank=5,
    any_of=("pythons", "messages"),
    explained_by=NO_DRIVER,
    fix=(
        "Use a newer driver branch if it still supports the GPU; otherwise, use a build for an older CUDA major "
        "version. A CUDA toolkit does not help: it contains no driver."
    ),
    references=threads("zai-org/ChatGLM3#100", "googlecolab/colabtools#1685", "serend1p1ty/SeqNet#36"),
)
def driver_too_old_for_runtime(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """The driver runs the CUDA version that each installed framework was built for.

    Since CUDA 11, a driver that meets a major version's minimum runs every release of that major version. Error 35,
    "driver version is insufficient", also appears when there is no driver at all; see `driver-not-installed`.
    """
    driver = installed(environment)
    found = [item for item in installs(environment) if item.framework.cuda is not None]
    if not found and seen(environment, "framework-sees-no-gpu"):
        found = as_on_pypi(environment, matrix)
    outcomes = [_driver_against(environment, matrix, driver, item) for item in found] if driver else []
    failed = any(outcome.status is Status.FAIL for outcome in outcomes)
    if not failed and not _from_empty_container(environment, matrix) and (reported := _reported(environment, matrix)):
        outcomes = [reported, *outcomes]
    if outcomes:
        yield from outcomes
    elif found and loaded(environment) is False:
        yield skip("no driver is loaded, so its version does not matter")
    elif seen(environment, _TOO_OLD.id) and not too_old_messages(environment, matrix):
        yield skip("the input names a required driver, and no older one")
    elif found:
        yield unknown("the driver's version is not known", evidence=[known(environment, "driver.kernel_module")])
    else:
        yield nothing_to_judge(environment, "CUDA-enabled framework")


def _from_empty_container(environment: Environment, matrix: Matrix) -> bool:
    """Whether the message means that no driver is there: none is loaded, or the container got none."""
    return loaded(environment) is False or bool(without_driver(environment, matrix))


def _reported(environment: Environment, matrix: Matrix) -> Outcome | None:
    messages = too_old_messages(environment, matrix)
    if not messages:
        return None
    wanted = wanted_driver(environment)
    if wanted is not None and len(messages) == len(seen(environment, _TOO_OLD.id, "told-wants-driver")):
        return _TOO_OLD.found(
            message_evidence(environment, messages),
            title=f"Driver {installed(environment)} is too old: {wanted} or newer is needed",
            impact="The program cannot use the GPU, or lacks the feature that needs the newer driver.",
        )
    if of_a_package(messages):
        return _TOO_OLD.reported(environment, title="The NVIDIA driver is too old for an installed package")
    if _of_video(messages):
        return _TOO_OLD.reported(environment, title=OLD_FOR_VIDEO, impact="The program encodes on the CPU, or stops.")
    have, need = (_cuda_words(named(messages, key)) for key in ("found", "needs"))
    more = f": it supports CUDA {have}" + (f", but {need} is needed" if need else "") if have else ""
    return _TOO_OLD.reported(environment, title=f"{_TOO_OLD.title}{more}")


def _of_video(messages: tuple[Message, ...]) -> bool:
    """Whether it is the video encoder that is too old: its API has versions of its own."""
    return any("nvenc" in message.signature for message in messages)


def _within(have: str, matrix: Matrix) -> str:
    """The CUDA versions that a driver of CUDA `have` runs: its whole major line where NVIDIA's rule covers that."""
    from envkit.compat.driver import driver_floors

    version = Version.find(have)
    if version is None:
        return ""
    covered = driver_floors(version.release(2), matrix).minor_version is not None
    return f"<{version.major + 1}" if covered else f"<={version.release(2)}"


def _cuda_words(number: str | None) -> str:
    """CUDA's number for a release in words: 12.4 of 12040; text of another form as it is, '' for none."""
    coded = whole_number(number or "")
    if coded is None or coded < 1000:
        return number or ""
    return f"{coded // 1000}.{coded % 1000 // 10}"


def _driver_against(environment: Environment, matrix: Matrix, driver: Version, item: Installed) -> Outcome:
    from envkit.compat.driver import driver_runs_cuda
    from envkit.compat.verdict import DriverVerdict

    cuda = item.framework.cuda
    assert cuda is not None, "only frameworks with a CUDA version are compared"
    verdict = driver_runs_cuda(
        driver,
        cuda,
        matrix,
        data_center=all_data_center(environment, matrix) and runs_on_gpus(environment, matrix, cuda),
        platform=driver_platform(environment),
    )
    where = "driver.kernel_module" if environment.driver.kernel_module.known else "driver.user_space"
    evidence = [Evidence(where, str(driver), environment.driver.kernel_module.source), item.evidence("cuda", cuda)]
    if verdict.status in (DriverVerdict.NATIVE.value, DriverVerdict.MINOR_VERSION.value):
        return ok(verdict.detail, subject=item.subject, evidence=evidence)
    if verdict.status == DriverVerdict.UNKNOWN.value:
        return unknown(verdict.detail, subject=item.subject, evidence=evidence)
    if verdict.status == DriverVerdict.FORWARD.value and _has_compat(environment):
        return ok(verdict.detail, subject=item.subject, evidence=evidence)
    return _TOO_OLD.found(
        evidence,
        title=f"Driver {driver} is too old for {item.framework.package}, which was built for CUDA {cuda}",
        subject=item.subject,
        impact=f"{verdict.detail[0].upper()}{verdict.detail[1:]}.",
        remedy=replacement(environment, matrix, item, newer_or_kept(environment, matrix)),
    )


def _has_compat(environment: Environment) -> bool:
    libraries = environment.driver.libraries
    return libraries.known and any(library.compat for library in libraries.get())


@check(
    _PTX,
    layer=Layer.FRAMEWORK_BUILD,
    tier="N",
    rank=25,
    any_of=("pythons", "nvcc", "messages"),
    explained_by=("driver-too-old-for-runtime", *NO_DRIVER),
    fix="Install a newer driver, or use a framework or toolkit no newer than the driver's CUDA.",
    references=threads("vllm-project/vllm#28305", "NVIDIA/CUDALibrarySamples#47"),
)
def ptx_newer_than_driver(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """PTX that is compiled on this machine is no newer than the driver's own CUDA version.

    Minor-version compatibility covers binary code, not PTX. If Triton, nvcc, or NVRTC from a newer CUDA release
    generates PTX, an older driver rejects it with error 222.
    """
    limit = environment.driver.driver_cuda_version
    if reported := _PTX.reported(environment):
        yield reported
        return
    if loaded(environment) is False and not limit.known:
        yield skip("no driver is loaded that would compile PTX", evidence=[known(environment, "driver.kernel_module")])
        return
    if not limit.known:
        yield unknown(
            "cannot tell which CUDA versions the driver supports",
            evidence=[known(environment, "driver.driver_cuda_version")],
        )
        return
    outcomes = [_ptx_against(environment, matrix, limit.get(), item) for item in installs(environment)]
    found = [outcome for outcome in outcomes if outcome is not None]
    yield from found or [
        ok(
            "no installed package ships PTX newer than the driver can compile",
            evidence=[known(environment, "driver.driver_cuda_version")],
        )
    ]


def _ptx_against(environment: Environment, matrix: Matrix, limit: Version, item: Installed) -> Outcome | None:
    from envkit.compat.gpu import CodeMatch, code_match

    cuda = item.framework.cuda
    if cuda is None or cuda.release(2) <= limit.release(2) or cuda.major != limit.major:
        return None  # an older or equal CUDA is fine, and another major is driver-too-old-for-runtime
    evidence = [known(environment, "driver.driver_cuda_version"), item.evidence("cuda", cuda)]
    for gpu, own in capable_gpus(environment, matrix):
        match = code_match(own, item.framework.sm_arch_list, item.framework.ptx_arch_list)
        if match is CodeMatch.JIT:
            return _PTX.found(
                [*evidence, item.evidence("ptx_arch_list", _words(item.framework.ptx_arch_list or ()))],
                title=f"{item.framework.package} has only PTX for {gpu.called}, and the driver cannot compile it",
                subject=item.subject,
                impact=(
                    f"The driver compiles PTX up to CUDA {limit}; this build's PTX was made with CUDA {cuda} (error "
                    "222)."
                ),
                remedy=Remedy(
                    "Install a newer driver, or a build with binary code for this GPU; the command looks for one.",
                    (resolve_command(environment, matrix, framework=item.framework.name),),
                ),
            )
    maker = item.python.ptxas_version
    if maker is not None and maker > limit.release(2) and maker.major == limit.major:
        return ok(
            f"Triton's ptxas {maker} generates binary code, which runs on a driver for CUDA {limit}",
            subject=item.subject,
            evidence=evidence,
        )
    return None


def _words(items: tuple[object, ...]) -> str:
    return " ".join(str(item) for item in items) or "none"


@check(
    "nvidia-smi-cuda-vs-nvcc",
    title="nvidia-smi, nvcc, and the framework report different CUDA versions",
    layer=Layer.TOOLKIT,
    rank=95,
    any_of=("driver.driver_cuda_version", "nvcc", "cuda_toolkits", "messages"),
    fix="No action is needed: the three versions mean different things.",
    references=threads("e3nn/e3nn#1", "mit-han-lab/torchsparse#79"),
)
def nvidia_smi_cuda_vs_nvcc(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """The CUDA versions of nvidia-smi, nvcc, and the frameworks may differ; this shows them side by side.

    nvidia-smi shows the highest CUDA version the driver supports, nvcc shows the toolkit's version, and a framework has
    the CUDA version it was built with. Only two pairs matter: framework and driver, and, for compiling extensions, nvcc
    and framework.
    """
    parts, evidence = [], []
    if environment.driver.driver_cuda_version.known:
        parts.append(f"the driver supports CUDA up to {environment.driver.driver_cuda_version.get()}")
        evidence.append(known(environment, "driver.driver_cuda_version"))
    if environment.nvcc.known and environment.nvcc.get().version is not None:
        parts.append(f"nvcc is CUDA {environment.nvcc.get().version}")
        evidence.append(known(environment, "nvcc", str(environment.nvcc.get().version)))
    for item in installs(environment):
        if item.framework.cuda is not None:
            parts.append(f"{item.framework.package} is built for CUDA {item.framework.cuda}")
            evidence.append(item.evidence("cuda", item.framework.cuda))
    if len(parts) < 2:
        yield skip("there are fewer than two CUDA versions to compare", evidence=evidence)
    else:
        yield ok("; ".join(parts), evidence=evidence)
