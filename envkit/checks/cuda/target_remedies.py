"""What to do about a target that nvcc refuses: another toolkit, with its cuDNN, or a build without the target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.base.sentences import series
from envkit.base.versions import ComputeCapability, Version
from envkit.checks.cuda.nvcc_ages import capability_of_target, newest_possible
from envkit.checks.cuda.toolkit import build_nvcc, toolkit_row, toolkits
from envkit.checks.engine.ask import install_cuda, toolkit_at_home
from envkit.checks.engine.command import PATH, run
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import managers
from envkit.checks.engine.messages import named, seen
from envkit.checks.engine.remedies import remedy, steps
from envkit.checks.frameworks.installs import capable_gpus, installs
from envkit.model import Environment

if TYPE_CHECKING:
    from envkit.tables import Matrix
    from envkit.tables.rows import Toolkit

_STILL_IN_USE = ComputeCapability(3, 0)  # GPUs before it are in lists of old projects only


def _without_target(environment: Environment, matrix: Matrix, target: str) -> Remedy | None:
    """The remedy where every GPU that is known has another target, which this toolkit supports; otherwise None."""
    owns = list(dict.fromkeys(own for _, own in capable_gpus(environment, matrix)))
    version = _supporting(environment, matrix, owns, target)
    if not version or any(own.number == target for own in owns):
        return None
    words = series(f"{own} ({gpu.title})" for gpu, own in capable_gpus(environment, matrix))
    why = (
        f"The build asks for sm_{target}, which no GPU here has, and which {version} does not "
        f"compile for; it does compile for {words}. Keep the toolkit, and take compute_{target} out of the build's "
        "list of architectures"
    )
    if "caffe" in managers(environment):
        return remedy(
            environment,
            f"{why}: the first command does so in Makefile.config and keeps the old file with the suffix .bak.",
            "drop-target",
            number=target,
        )
    return Remedy(
        f"{why} (CMAKE_CUDA_ARCHITECTURES for CMake, TORCH_CUDA_ARCH_LIST for extensions of PyTorch, the lines with "
        "-gencode in a Makefile); then configure again in an empty build directory:",
        steps(environment, "configure-for", targets=";".join(own.number for own in owns)),
    )


def _supporting(environment: Environment, matrix: Matrix, owns: list[ComputeCapability], target: str) -> str:
    """The toolkit in words, where it compiles for all of `owns`; '' where it does not, or may not."""
    from envkit.compat.gpu import target_span, toolkit_match

    row = _toolkit(environment, matrix)
    if row is not None:
        fits = all(toolkit_match(own, row).value not in ("too-new", "dropped") for own in owns)
        return f"CUDA {row.version.release(2)}" if owns and fits else ""
    dropped, newest = capability_of_target(target), newest_possible(environment, matrix)
    last = target_span(dropped, matrix)[1] if dropped is not None else None
    if last is None or newest is None or newest.release(2) <= last:
        return ""
    spans = [target_span(own, matrix) for own in owns]
    known = all(first and first <= last and (end is None or newest.release(2) <= end) for first, end in spans)
    return "this nvcc" if owns and known else ""


def _toolkit(environment: Environment, matrix: Matrix) -> Toolkit | None:
    """That of the build: of nvcc, otherwise the only one that the text names."""
    place = build_nvcc(environment)
    there = {item.version for item in toolkits(environment)}
    version = place[0] if place is not None else next(iter(there)) if len(there) == 1 else None
    return toolkit_row(version, matrix) if version is not None else None


def _cudnn_beside(environment: Environment, matrix: Matrix, cuda: Version) -> Version | None:
    """The cuDNN for another CUDA, of the major release that the build found; None where it uses none."""
    lines = seen(environment, "nvcc-too-old-for-gpu", "detail-cudnn")
    own = Version.find(named(lines, "version") or named(lines, "told") or "")
    if own is None:
        return None
    rows = [
        row.version
        for row in matrix.cudnns
        if row.cuda is not None and row.cuda.release(2) == cuda.release(2) and row.version.major == own.major
    ]
    return max(rows, default=None)


def _unless_needed(environment: Environment, matrix: Matrix, target: str) -> Remedy:
    """Where no GPU is known: the list of a project is more often too long than the GPU that old."""
    from envkit.compat.gpu import target_span

    own = capability_of_target(target)
    last = target_span(own, matrix)[1] if own is not None else None
    limit = toolkit_row(last, matrix) if last else None
    gcc = f"; it accepts GCC up to {limit.gcc_max.major}" if limit and limit.gcc_max else ""
    older = (
        f" If your GPU is that old, the last toolkit that compiles for it is {last} (envkit install --cuda {last} "
        f"--run{gcc})."
        if last
        else ""
    )
    if opencv := _of_opencv(environment, target, older):
        return opencv
    return Remedy(
        f"This toolkit no longer compiles for sm_{target}. Unless your GPU has compute capability {own}, keep the "
        f"toolkit and take compute_{target} and sm_{target}, and all older targets, out of the build's list of "
        "architectures, which needs only that of your GPU: CUDA_ARCH in a Makefile.config, CUDA_ARCH_BIN or "
        "CMAKE_CUDA_ARCHITECTURES for CMake, TORCH_CUDA_ARCH_LIST for extensions of PyTorch (the command finds the "
        f"places; a subproject may have its own). Then build again in an empty directory.{older}",
        steps(environment, "find-target", number=target),
    )


def _of_opencv(environment: Environment, target: str, older: str) -> Remedy | None:
    """The targets that OpenCV's configuration lists, without those of the generation that nvcc refuses."""
    lines = seen(environment, "toolkit-dropped-arch", "detail-opencv")
    own = capability_of_target(target)
    listed = [capability_of_target(one) for one in (named(lines, "targets") or "").split()]
    kept = [one for one in listed if one is not None and own is not None and one.major > own.major]
    if own is None or not kept:
        return None
    return remedy(
        environment,
        f"OpenCV's list of architectures begins with targets {own.major}.x, which this toolkit no longer compiles for: "
        "keep the toolkit, and configure without them, in an empty build directory (the commands, from the directory "
        f"of the sources; add your other options). Only your GPU's own is needed, which makes the build faster.{older}",
        "configure-opencv",
        capabilities=";".join(str(one) for one in kept),
    )


def for_target(environment: Environment, matrix: Matrix, target: str, *, dropped: bool) -> Remedy:
    """Another toolkit, or the one that is there already; without the target where no GPU here needs it."""
    from envkit.compat.gpu import target_span

    said = (
        "Build with a toolkit that supports this GPU, in a fresh build directory; several toolkits can be "
        "installed side by side."
    )
    own, unseen = capability_of_target(target), not capable_gpus(environment, matrix)
    if dropped and unseen and own is not None and own.numbers < _STILL_IN_USE.numbers:
        return _unless_needed(environment, matrix, target)
    if dropped:
        said = (
            "This toolkit is too new: it no longer compiles for this GPU. Build with an older one, in a "
            "fresh directory."
        )
        said += f" If your GPU is a newer one, take compute_{target} out of the build's list instead." if unseen else ""
    if own is None:
        return Remedy(said)
    if needless := _without_target(environment, matrix, target):
        return needless
    first, last = target_span(own, matrix)
    if not dropped and (there := _there(environment, first, last)):
        return there
    fitting = last if dropped else _of_framework(environment, first, last)
    limit = toolkit_row(fitting, matrix) if fitting else None
    gcc = _up_to(limit.gcc_max.major) if dropped and limit and limit.gcc_max else ""
    link = named(seen(environment, "nvcc-too-old-for-gpu", "detail-link"), "link")
    if fitting and link:
        return Remedy(
            f"{said}{gcc} The program calls {link}/bin/nvcc by its full path: the last command points that link at "
            "the new toolkit; to undo it, point it back.",
            (
                *install_cuda(environment, fitting),
                run("sudo", "ln", "-sfn", PATH(f"{link}-{fitting.release(2)}"), PATH(link)),
            ),
        )
    if fitting is None:
        return Remedy(f"{said}{gcc}")
    cudnn = _cudnn_beside(environment, matrix, fitting)
    installs_it = (
        f"unpack {cudnn} from NVIDIA's cuDNN archive into $HOME/cuda-{fitting.release(2)}"
        if toolkit_at_home(environment, fitting)
        else f"the command installs {cudnn} too"
    )
    with_it = (
        f" The build also uses cuDNN, which has to be one for the new CUDA: {installs_it}; the build must find that "
        "one, not an older one in /usr/include."
        if cudnn
        else ""
    )
    lower = "" if dropped else _lower(own, matrix)
    if configured := _by_makefile(environment, fitting, target):
        return Remedy(
            f"{said}{gcc}{with_it} {configured.advice}", (*install_cuda(environment, fitting, cudnn), *configured.steps)
        )
    return Remedy(f"{said}{gcc}{with_it}{lower}", install_cuda(environment, fitting, cudnn))


def _up_to(gcc: int) -> str:
    """The host compiler, and how a build is told of an older one."""
    return (
        f" It accepts GCC up to {gcc}: if the system's is newer, install GCC {gcc} as well (on Arch, gcc{gcc} is in "
        f"the AUR), and set CC, CXX, and CUDAHOSTCXX to its gcc and g++ before the build."
    )


def _by_makefile(environment: Environment, cuda: Version, target: str) -> Remedy | None:
    """The line of Caffe's Makefile.config that names the toolkit: its make calls nvcc by this path, not by PATH."""
    told = named(seen(environment, "nvcc-too-old-for-gpu", "detail-caffe-dir"), "root")
    if told is None:
        return None
    return Remedy(
        f"Makefile.config names the toolkit ({told}), whatever PATH says: the command before the last changes that "
        f"line and keeps the old file with the suffix .bak; then run make again. Or, if no GPU here needs sm_{target}, "
        f"keep the toolkit and delete the targets from compute_{target} on from CUDA_ARCH in that file (the line "
        "before them then ends without a backslash).",
        steps(environment, "caffe-cuda-dir", root=f"/usr/local/cuda-{cuda.release(2)}"),
    )


def _lower(own: ComputeCapability, matrix: Matrix) -> str:
    """The base of the same family, whose code runs here too and which an older toolkit may know; '' for a base."""
    base = min(
        (gpu.compute_capability for gpu in matrix.gpus if gpu.compute_capability.major == own.major), default=own
    )
    if base.numbers >= own.numbers:
        return ""
    return (
        f" Or keep the toolkit and build for {base}, if it knows that target: its code runs on this GPU, too "
        f"(TORCH_CUDA_ARCH_LIST={base}; where a project has flags of its own, -gencode "
        f"arch=compute_{base.number},code={base.sm}, for MMCV in MMCV_CUDA_ARGS)."
    )


def _there(environment: Environment, first: Version | None, last: Version | None) -> Remedy | None:
    """The remedy where the text shows a toolkit that knows the GPU: it is not the first one on PATH."""
    roots = {message.values["root"] for message in seen(environment, "nvcc-too-old-for-gpu", "detail-there")}
    known_ones = {version: root for root in roots if (version := Version.find(root.rpartition("-")[2])) is not None}
    fitting = [one for one in known_ones if first and one >= first and (last is None or one.release(2) <= last)]
    if not fitting:
        return None
    root = known_ones[max(fitting)]
    return remedy(
        environment,
        f"CUDA {max(fitting)} is already installed in {root} and supports this GPU; an older nvcc comes first on PATH. "
        "Put the newer one first, in this shell (to make this permanent, in ~/.bashrc, or as ENV in the image), and "
        "build again in a fresh build directory.",
        "use-toolkit",
        root=root,
    )


def _of_framework(environment: Environment, first: Version | None, last: Version | None) -> Version | None:
    """The CUDA of the installed framework where it knows the GPU, as extensions need that one; otherwise the first."""
    built = [item.framework.cuda for item in installs(environment) if item.framework.cuda is not None]
    fitting = [
        cuda for cuda in built if first and cuda.release(2) >= first and (last is None or cuda.release(2) <= last)
    ]
    return max(fitting, default=first)
