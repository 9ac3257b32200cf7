"""cuDNN: is it there, is it one release, is it new enough for the framework, does it still know the GPU."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit._startup.regex import regex
from envkit.base.versions import ComputeCapability, Version
from envkit.checks.containers.jetson_wheels import jetson_wheel
from envkit.checks.cuda.cudnn_headers import headers, is_header
from envkit.checks.cuda.cudnn_wheels import cudnn_remedy, installed_wheels, newer_wheel, of_module, outdated_wheel
from envkit.checks.cuda.dll_folders import unpacked_dlls
from envkit.checks.cuda.libraries import IN_WHEEL, use_evidence, uses
from envkit.checks.cuda.older_cudnn import cudnn_version, newer_cudnn
from envkit.checks.cuda.without_cudnn import never_supported, older_in_image, other_paddle
from envkit.checks.engine.ask import framework_of
from envkit.checks.engine.command import NAME, REQUIREMENT
from envkit.checks.engine.evidence import known
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Evidence, Outcome, Remedy, Status, ok, skip, unknown
from envkit.checks.engine.loader_path import folder_of, without_folders
from envkit.checks.engine.messages import message_evidence, named, said, seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.engine.remedies import steps
from envkit.checks.frameworks.builds import bring
from envkit.checks.frameworks.installs import (
    Installed,
    capable_gpus,
    distribution_evidence,
    installs,
    judged,
    nothing_to_judge,
    pip,
    possible_builds,
)
from envkit.model import Cudnn, Distribution, Environment, LibraryUse, MachineKind, PythonEnvironment
from envkit.tables.codes import limit

if TYPE_CHECKING:
    from envkit.tables import Matrix


_LOADED = regex(r"(?P<folder>/(?:usr|opt)/[\w./+-]{1,200})/libcudnn[\w.]{0,40}")


def _older_cudnn(environment: Environment, matrix: Matrix) -> Remedy:
    messages = seen(environment, "cudnn-dropped-arch")
    if given := never_supported(environment, matrix) or older_in_image(environment, matrix):
        return given
    why = "Use a build of the framework with an older cuDNN that has kernels for this GPU."
    return bring(environment, matrix, framework_of(environment, matrix, messages), why, messages=messages)


def _one_cudnn(environment: Environment, matrix: Matrix) -> Remedy:
    text = said(environment, "cudnn-mixed-sublibraries")
    if any(folder in text for folder in ("/usr/", "/opt/")) and "site-packages" not in text.partition("version")[0]:
        advice = (
            "The system's cuDNN is loaded instead of the framework's own: remove its directory from LD_LIBRARY_PATH."
        )
        guilty = [folder_of(use.path) for _, use in uses(environment) if use.path and "cudnn" in use.soname]
        guilty = guilty or list(dict.fromkeys(match["folder"] for match in _LOADED.finditer(text)))
        return without_folders(environment, advice, guilty, "cuda")
    summary = "Keep one cuDNN: uninstall all its wheels and install the one that the framework pins."
    return Remedy(summary, steps(environment, "list-cudnn"))


def _cudnn_of_message(environment: Environment, matrix: Matrix) -> Remedy:
    messages = seen(environment, "cudnn-missing")
    library = named(messages, "library") or ""
    if other := other_paddle(environment, matrix):
        return other
    if is_header(library):
        return headers(environment, matrix, library)
    major = named(messages, "major") or named(messages, "dll") or ""
    if there := of_module(environment) or unpacked_dlls(environment):
        return there
    if environment.system.machine_kind.value is MachineKind.JETSON and any(installs(environment, "pytorch")):
        return jetson_wheel(environment, matrix, "pytorch")  # torch is for another JetPack, whose cuDNN is not here
    return cudnn_remedy(environment, matrix, next(iter(judged(environment)), None), major)


_MISSING = Fault(
    "cudnn-missing",
    "cuDNN cannot be found",
    impact="The program stops at its first convolution, or does not use the GPU.",
    remedy=_cudnn_of_message,
)
_MIXED = Fault(
    "cudnn-mixed-sublibraries",
    "cuDNN libraries from several releases are mixed",
    impact="The first convolution fails (SUBLIBRARY_VERSION_MISMATCH, NOT_INITIALIZED) or crashes.",
    remedy=_one_cudnn,
)
_OLDER = Fault(
    "cudnn-older-than-build",
    "The loaded cuDNN is older than the one the framework was built with",
    impact="Convolutions fail.",
    remedy=newer_cudnn,
)
_DROPPED = Fault(
    "cudnn-dropped-arch",
    "cuDNN has no kernels for this GPU",
    impact="Convolutions fail.",
    remedy=_older_cudnn,
)


def _cudnns(environment: Environment) -> tuple[Cudnn, ...]:
    return environment.cudnns.get() if environment.cudnns.known else ()


def _cudnn_use(python: PythonEnvironment) -> LibraryUse | None:
    return next((use for use in python.library_uses if use.soname.startswith("libcudnn.so")), None)


@check(
    _MISSING,
    layer=Layer.LIBRARIES,
    rank=25,
    any_of=("pythons", "messages"),
    explained_by=("libcudart-missing", "jax-library-load", "no-gpu-on-pci"),
    fix="Install the cuDNN wheel for the major version that the program needs, and make sure that the program finds "
    "it.",
    references=threads("MahmoudAshraf97/whisper-diarization#259", "jhj0517/Whisper-WebUI#346"),
)
def cudnn_missing(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """Every program that needs libcudnn finds one of the right major version.

    pip installs cuDNN where only PyTorch looks; CTranslate2, ONNX Runtime, and others search the loader's path.
    """
    wanted = [(python, use) for python, use in uses(environment) if "cudnn" in use.soname]
    missing = [(python, use) for python, use in wanted if use.path is None]
    messages = seen(environment, "cudnn-missing")
    for python, use in missing:
        yield _missing(environment, matrix, python, use)
    if messages and not missing:
        library = named(messages, "library") or "cuDNN"
        evidence = [*message_evidence(environment, messages), *_present(environment)]
        impact = "The build stops." if is_header(library) else ""
        yield _MISSING.found(evidence, title=f"{library} is not found", impact=impact)
    elif not missing and wanted:
        yield ok("cuDNN is found", evidence=[use_evidence(use) for _, use in wanted[:2]])
    elif not missing:
        yield nothing_to_judge(environment, "program that needs cuDNN")


def _missing(environment: Environment, matrix: Matrix, python: PythonEnvironment, use: LibraryUse) -> Outcome:
    return _MISSING.found(
        [use_evidence(use), *_present(environment)],
        title=f"{use.soname} is not found for {posixpath.basename(use.consumer)}",
        subject=python.prefix,
        remedy=cudnn_remedy(environment, matrix, python, use.soname.rpartition(".")[2]),
        status=Status.WARN if use.rule.startswith(IN_WHEEL) else Status.FAIL,
    )


def _present(environment: Environment) -> list[Evidence]:
    return [Evidence("cudnns", f"{item.version} ({item.origin})", item.path) for item in _cudnns(environment)]


@check(
    _MIXED,
    layer=Layer.LIBRARIES,
    tier="X",
    rank=22,
    any_of=("pythons", "cudnns", "messages"),
    explained_by=("nvidia-cu11-cu12-cu13-mixed",),
    fix="Keep one cuDNN: uninstall every cuDNN wheel, then install one.",
    references=threads("bmaltais/kohya_ss#1096", "pytorch/pytorch#81881", "NVIDIA/nvidia-docker#1726"),
)
def cudnn_mixed_sublibraries(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """libcudnn and its sublibraries (ops, cnn, adv, …) in one directory are from the same release.

    The wheels for CUDA 11, 12, and 13 all write to nvidia/cudnn: the last one installed overwrites the others file by
    file, and uninstalling one deletes files of another.
    """
    faults = [outcome for python in judged(environment) for outcome in _mixed_wheel(environment, python)]
    faults += [outcome for item in _cudnns(environment) for outcome in _mixed_folder(item)]
    if faults:
        yield from faults
    elif reported := _MIXED.reported(environment):
        yield reported
    elif any(python.cudnn_sublibraries for python in judged(environment)) or _cudnns(environment):
        yield ok("no directory mixes cuDNN releases", evidence=_present(environment)[:3])
    else:
        yield nothing_to_judge(environment, "cuDNN")


def _for_driver(environment: Environment, wheels: list[Distribution]) -> Distribution | None:
    """The wheel for the newest CUDA that the driver supports: an older driver runs no newer major release."""
    limit = environment.driver.driver_cuda_version
    newest = limit.get().major if limit.known else None
    fitting = [item for item in wheels if newest is None or int(item.name.rpartition("-cu")[2]) <= newest]
    return max(fitting or wheels, key=lambda item: item.name, default=None)


def _mixed_wheel(environment: Environment, python: PythonEnvironment) -> Iterator[Outcome]:
    by_major: dict[str, dict[Version, str]] = {}
    for path, version in python.cudnn_sublibraries.items():
        by_major.setdefault(posixpath.dirname(path), {}).setdefault(version, posixpath.basename(path))
    wheels = installed_wheels(python)
    clash = [line for line in python.owners_clash if "cudnn" in line]
    mixed = [found for found in by_major.values() if len({version.parts for version in found}) > 1]
    different = len({item.version for item in wheels}) > 1
    if not mixed and not clash and not different:
        return
    evidence = [distribution_evidence(item) for item in wheels]
    evidence += [
        Evidence("pythons.cudnn_sublibraries", f"{name} is of {version}", python.prefix)
        for found in mixed
        for version, name in found.items()
    ]
    evidence += [Evidence("pythons.owners_clash", line, python.prefix) for line in clash[:2]]
    keep = _pinned(python) or _for_driver(environment, wheels)
    names = [NAME(name) for name in sorted({item.name for item in wheels})]
    anew = (
        (
            pip(python, "uninstall", "-y", *names),
            pip(python, "install", "--no-deps", REQUIREMENT(f"{keep.name}=={keep.version}")),
        )
        if keep
        else ()
    )
    certain = bool(mixed) or different
    yield _MIXED.found(
        evidence,
        title="" if certain else "Several cuDNN wheels share one directory",
        subject=python.prefix,
        remedy=Remedy("Keep one cuDNN wheel: the one that the framework pins.", anew),
        status=Status.FAIL if certain else Status.WARN,
    )


def _pinned(python: PythonEnvironment) -> Distribution | None:
    """The cuDNN wheel whose exact release an installed package asks for."""
    wanted = [line for item in python.distributions for line in item.requires if line.startswith("nvidia-cudnn")]
    for item in installed_wheels(python):
        if any(line.startswith(item.name) and f"=={item.version}" in line.replace(" ", "") for line in wanted):
            return item
    return None


def _mixed_folder(item: Cudnn) -> Iterator[Outcome]:
    releases = {version.release(3) for version in item.sublibraries.values() if len(version.parts) > 1}
    if len(releases) > 1:
        yield _MIXED.found(
            [
                Evidence("cudnns.sublibraries", f"{name} {version}", item.path)
                for name, version in item.sublibraries.items()
            ],
            title=f"cuDNN in {item.path} mixes several releases: "
            f"{', '.join(str(release) for release in sorted(releases))}",
            subject=item.path,
            remedy=Remedy("Remove every cuDNN from this directory, then install a single release."),
        )


@check(
    _OLDER,
    layer=Layer.LIBRARIES,
    tier="X",
    rank=24,
    any_of=("pythons", "messages"),
    explained_by=("ld-library-path-shadows-wheels", "cudnn-mixed-sublibraries", "nvidia-wheels-pin-conflict"),
    fix="Load a cuDNN that has the same major version as the one that the framework was built with, and is at least as "
    "new: the wheel's own copy, or one in a separate directory.",
    references=threads("tensorflow/tensorflow#60750", "pytorch/pytorch#80877"),
)
def cudnn_older_than_build(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """Each framework loads a cuDNN of the major version it was built with, and no older."""
    outcomes = [
        outcome for item in installs(environment) if (outcome := _against_build(environment, matrix, item)) is not None
    ]
    messages = seen(environment, "cudnn-older-than-build")
    if messages and not any(outcome.status is Status.FAIL for outcome in outcomes):
        have, need = named(messages, "loaded"), named(messages, "built")
        loaded, built = cudnn_version(have), cudnn_version(need)
        known_pair = f"cuDNN {loaded} is loaded, but the framework was built with {built}" if loaded and built else ""
        shown = message_evidence(environment, messages)
        if loaded is not None and built is not None and loaded > built:
            yield skip(
                f"{known_pair}; the loaded one is newer, which old framework releases also reject", evidence=shown
            )
        else:
            yield _OLDER.found(shown, title=known_pair)
    elif outcomes:
        yield from outcomes
    else:
        yield nothing_to_judge(environment, "framework whose cuDNN version is known")


def _against_plugin(environment: Environment, matrix: Matrix, item: Installed) -> Outcome | None:
    """JAX's plugin for CUDA takes whatever cuDNN the environment has, which a list of packages shows."""
    plugin = next((one for one in item.python.distributions if one.name.startswith("jax-cuda")), None)
    rows = possible_builds(environment, item.framework, matrix) if item.framework.name == "jax" and plugin else ()
    built = min((row.cudnn for row in rows if row.cudnn is not None), default=None)
    wheel = outdated_wheel(item.python, built)
    if plugin is None or built is None or wheel is None:
        return None
    return _OLDER.found(
        [distribution_evidence(wheel), distribution_evidence(plugin)],
        title=f"{plugin.name} {plugin.version} needs cuDNN {built} or newer, but {wheel.name} is {wheel.version}",
        subject=item.subject,
        remedy=newer_wheel(item.python, wheel, built),
    )


def _against_build(environment: Environment, matrix: Matrix, item: Installed) -> Outcome | None:
    use, built = _cudnn_use(item.python), item.framework.cudnn
    loaded = Version.find(use.version) if use is not None and use.version else None
    if use is None or built is None or loaded is None:
        return _against_plugin(environment, matrix, item)
    width = min(len(built.parts), len(loaded.parts), 3)
    evidence = [use_evidence(use), item.evidence("cudnn", built)]
    if loaded.major != built.major or loaded.release(width) < built.release(width):
        cuda = item.framework.cuda.major if item.framework.cuda is not None else limit("cuda-of-most-programs")
        family = next((wheel.name for wheel in installed_wheels(item.python)), f"nvidia-cudnn-cu{cuda}")
        return _OLDER.found(
            evidence,
            title=f"{item.framework.package} was built with cuDNN {built} and loads {loaded}",
            subject=item.subject,
            remedy=Remedy(
                "Install the release it was built with.",
                (pip(item.python, "install", "--no-deps", REQUIREMENT(f"{family}=={built}.*")),),
            ),
        )
    return ok(f"cuDNN {loaded} is compatible with the build ({built})", subject=item.subject, evidence=evidence)


@check(
    _DROPPED,
    layer=Layer.LIBRARIES,
    rank=23,
    any_of=("pythons", "messages"),
    explained_by=("arch-dropped-by-framework",),
    fix="Install an older cuDNN and the framework build that matches it.",
    references=threads("pytorch/pytorch#172352", "CMU-Perceptual-Computing-Lab/openpose#681"),
)
def cudnn_dropped_arch(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """The cuDNN in use has kernels for every GPU of the machine.

    Builds for CUDA 13 never supported Maxwell, Pascal, or Volta; the last cuDNN releases for CUDA 12
    contain only some of their kernels.
    """
    from envkit.compat.software import gpu_on_cudnn

    if reported := _DROPPED.reported(environment):
        yield reported
        return
    gpus = capable_gpus(environment, matrix)
    judged_wheels = [item for python in judged(environment) for item in installed_wheels(python)]
    if not judged_wheels:
        yield nothing_to_judge(environment, "cuDNN wheel")
    elif not gpus:
        yield unknown("the GPU's compute capability is not known", evidence=[known(environment, "gpus")])
    for item in judged_wheels:
        version = Version.find(item.version)
        if version is None:
            continue
        cuda = Version.find(item.name.rpartition("-cu")[2])
        for gpu, own in gpus:
            verdict = gpu_on_cudnn(own, version.release(3), cuda, matrix, name=gpu.title)
            evidence = [distribution_evidence(item), Evidence("gpus.compute_capability", str(own), gpu.title)]
            if verdict.status == "fail" and _older_than_cudnn(own, version, matrix):
                yield _DROPPED.found(
                    evidence,
                    title=f"cuDNN {version.release(3)} for CUDA {cuda} no longer supports {gpu.called}",
                    subject=gpu.subject,
                    impact=f"{verdict.detail}; some layers may still run, others fail.",
                    status=Status.WARN,
                )
            elif verdict.status == "fail":
                yield skip(
                    f"cuDNN {version.release(3)} is older than {gpu.called}", subject=gpu.subject, evidence=evidence
                )
            elif verdict.status == "ok":
                yield ok(verdict.detail, subject=gpu.subject, evidence=evidence)
            else:
                yield skip(verdict.detail, subject=gpu.subject, evidence=evidence)


def _older_than_cudnn(own: ComputeCapability, version: Version, matrix: Matrix) -> bool:
    """True when every build of this cuDNN starts above the GPU: it dropped it, and is not merely too old for it."""
    lowest = [row.min_compute_capability for row in matrix.cudnns if row.version.starts_with(version.release(3))]
    known = [low.numbers for low in lowest if low is not None]
    return bool(known) and own.numbers < max(known)
