"""cuDNN: is it there, is it one release, is it new enough for the framework, does it still know the GPU."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit.base.versions import ComputeCapability, Version
from envkit.checks.cuda.cudnn_wheels import cudnn_remedy, installed_wheels
from envkit.checks.cuda.libraries import IN_WHEEL, use_evidence, uses
from envkit.checks.engine.ask import resolve_command
from envkit.checks.engine.command import NAME, REQUIREMENT, UNSET_LIBRARY_PATH
from envkit.checks.engine.evidence import known
from envkit.checks.engine.findings import Evidence, Outcome, Remedy, fail, ok, skip, unknown, warn
from envkit.checks.engine.messages import message_evidence, named, seen, told
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.engine.remedies import steps
from envkit.checks.frameworks.installs import (
    Installed,
    capable_gpus,
    distribution_evidence,
    installs,
    judged,
    nothing_to_judge,
    pip,
)
from envkit.model import Cudnn, Distribution, Environment, LibraryUse, Message, PythonEnvironment
from envkit.tables.codes import limit

if TYPE_CHECKING:
    from envkit.tables import Matrix


def _cudnns(environment: Environment) -> tuple[Cudnn, ...]:
    return environment.cudnns.get() if environment.cudnns.known else ()


def _cudnn_use(python: PythonEnvironment) -> LibraryUse | None:
    return next((use for use in python.library_uses if use.soname.startswith("libcudnn.so")), None)


@check(
    "cudnn-missing",
    title="cuDNN is not found",
    layer=Layer.LIBRARIES,
    rank=25,
    any_of=("pythons", "messages"),
    explained_by=("libcudart-missing",),
    fix="Install the cuDNN wheel of the major release that the program wants, and let that program find it.",
    references=threads("MahmoudAshraf97/whisper-diarization#259", "jhj0517/Whisper-WebUI#346"),
)
def cudnn_missing(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """Every program that asks for libcudnn finds one of the major release that it asks for.

    pip puts cuDNN where only PyTorch looks; CTranslate2, ONNX Runtime and others look on the loader's path.
    """
    wanted = [(python, use) for python, use in uses(environment) if "cudnn" in use.soname]
    missing = [(python, use) for python, use in wanted if use.path is None]
    messages = seen(environment, "cudnn-missing")
    for python, use in missing:
        yield _missing(environment, matrix, python, use)
    if messages and not missing:
        library = named(messages, "library") or "cuDNN"
        yield fail(
            f"{library} is not found",
            evidence=[*message_evidence(environment, messages), *_present(environment)],
            impact="The program stops at its first convolution, or does not use the GPU.",
            remedy=cudnn_remedy(environment, matrix, next(iter(judged(environment)), None), _major(messages)),
        )
    elif not missing and wanted:
        yield ok("cuDNN is found", evidence=[use_evidence(use) for _, use in wanted[:2]])
    elif not missing:
        yield nothing_to_judge(environment, "a program that asks for cuDNN")


def _missing(environment: Environment, matrix: Matrix, python: PythonEnvironment, use: LibraryUse) -> Outcome:
    judge = warn if use.rule.startswith(IN_WHEEL) else fail
    return judge(
        f"{use.soname} is not found for {posixpath.basename(use.consumer)}",
        subject=python.prefix,
        evidence=[use_evidence(use), *_present(environment)],
        impact="The program stops at its first convolution, or does not use the GPU.",
        remedy=cudnn_remedy(environment, matrix, python, use.soname.rpartition(".")[2]),
    )


def _major(messages: tuple[Message, ...]) -> str:
    return named(messages, "major") or named(messages, "dll") or ""


def _present(environment: Environment) -> list[Evidence]:
    return [Evidence("cudnns", f"{item.version} ({item.origin})", item.path) for item in _cudnns(environment)]


@check(
    "cudnn-mixed-sublibraries",
    title="cuDNN's libraries are of several releases",
    layer=Layer.LIBRARIES,
    tier="X",
    rank=22,
    any_of=("pythons", "cudnns", "messages"),
    fix="Keep one cuDNN: uninstall every cuDNN wheel, install one.",
    references=threads("bmaltais/kohya_ss#1096", "pytorch/pytorch#81881", "NVIDIA/nvidia-docker#1726"),
)
def cudnn_mixed_sublibraries(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """libcudnn and its parts (ops, cnn, adv …) in one folder are of one release.

    The wheels for CUDA 11, 12 and 13 all write the folder nvidia/cudnn: the last one installed wins file by file, and
    uninstalling one takes files from the other.
    """
    faults = [outcome for python in judged(environment) for outcome in _mixed_wheel(python)]
    faults += [outcome for item in _cudnns(environment) for outcome in _mixed_folder(item)]
    said = told(
        environment,
        "cudnn-mixed-sublibraries",
        "cuDNN libraries of different releases were loaded together",
        impact="The first convolution fails or crashes.",
        remedy=Remedy(
            "Keep one cuDNN: uninstall all its wheels and install the one that the framework pins.",
            steps(environment, "list-cudnn"),
        ),
    )
    if faults:
        yield from faults
    elif said:
        yield from said
    elif any(python.cudnn_sublibraries for python in judged(environment)) or _cudnns(environment):
        yield ok("each cuDNN is of one release", evidence=_present(environment)[:3])
    else:
        yield nothing_to_judge(environment, "cuDNN")


def _mixed_wheel(python: PythonEnvironment) -> Iterator[Outcome]:
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
    keep = _pinned(python) or (max(wheels, key=lambda item: item.name) if wheels else None)
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
    judge = fail if certain else warn
    title = "cuDNN's libraries are of several releases" if certain else "Several cuDNN wheels share one folder"
    yield judge(
        title,
        subject=python.prefix,
        evidence=evidence,
        impact="The first convolution fails (SUBLIBRARY_VERSION_MISMATCH, NOT_INITIALIZED) or crashes.",
        remedy=Remedy("Keep one cuDNN wheel: the one that the framework pins.", anew),
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
        yield fail(
            f"cuDNN in {item.path} is of several releases: {', '.join(str(release) for release in sorted(releases))}",
            subject=item.path,
            evidence=[
                Evidence("cudnns.sublibraries", f"{name} {version}", item.path)
                for name, version in item.sublibraries.items()
            ],
            impact="The first convolution fails or crashes.",
            remedy=Remedy("Remove every cuDNN from this folder and install one release of it."),
        )


@check(
    "cudnn-older-than-build",
    title="The cuDNN that is loaded is older than the framework was built with",
    layer=Layer.LIBRARIES,
    tier="X",
    rank=24,
    any_of=("pythons", "messages"),
    explained_by=("ld-library-path-shadows-wheels", "cudnn-mixed-sublibraries", "nvidia-wheels-pin-conflict"),
    fix="Bring that cuDNN to the release of the build, or let the wheel's own win.",
    references=threads("tensorflow/tensorflow#60750", "pytorch/pytorch#80877"),
)
def cudnn_older_than_build(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """The cuDNN that each framework loads has the major release it was built with, and is not older."""
    outcomes = [outcome for item in installs(environment) if (outcome := _against_build(item)) is not None]
    messages = seen(environment, "cudnn-older-than-build")
    if messages and not any(outcome.status.value == "fail" for outcome in outcomes):
        have, need = (
            named(messages, "loaded"),
            named(messages, "built"),
        )
        title = (
            f"cuDNN {have} is loaded, the framework was built with {need}"
            if have and need
            else "The loaded cuDNN is older than the framework's build"
        )
        yield fail(
            title,
            evidence=message_evidence(environment, messages),
            impact="Convolutions fail or are refused.",
            remedy=Remedy(
                "Upgrade that cuDNN, or unset LD_LIBRARY_PATH so that the wheel's own is loaded.",
                (UNSET_LIBRARY_PATH,),
            ),
        )
    elif outcomes:
        yield from outcomes
    else:
        yield nothing_to_judge(environment, "a framework whose cuDNN is known")


def _against_build(item: Installed) -> Outcome | None:
    use, built = _cudnn_use(item.python), item.framework.cudnn
    loaded = Version.find(use.version) if use is not None and use.version else None
    if use is None or built is None or loaded is None:
        return None
    width = min(len(built.parts), len(loaded.parts), 3)
    evidence = [use_evidence(use), item.evidence("cudnn", built)]
    if loaded.major != built.major or loaded.release(width) < built.release(width):
        cuda = item.framework.cuda.major if item.framework.cuda is not None else limit("cuda-of-most-programs")
        family = next((wheel.name for wheel in installed_wheels(item.python)), f"nvidia-cudnn-cu{cuda}")
        return fail(
            f"{item.framework.package} was built with cuDNN {built} and loads {loaded}",
            subject=item.subject,
            evidence=evidence,
            impact="Convolutions fail or are refused.",
            remedy=Remedy(
                "Install the release of the build.",
                (pip(item.python, "install", "--no-deps", REQUIREMENT(f"{family}=={built}.*")),),
            ),
        )
    return ok(f"cuDNN {loaded} fits the build ({built})", subject=item.subject, evidence=evidence)


@check(
    "cudnn-dropped-arch",
    title="cuDNN no longer supports the GPU",
    layer=Layer.LIBRARIES,
    rank=23,
    any_of=("pythons", "messages"),
    explained_by=("arch-dropped-by-framework",),
    fix="An older cuDNN with the build of the framework that goes with it.",
    references=threads("pytorch/pytorch#172352", "CMU-Perceptual-Computing-Lab/openpose#681"),
)
def cudnn_dropped_arch(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """The cuDNN in use has kernels for every GPU of the machine.

    Builds for CUDA 13 never had Maxwell, Pascal and Volta; late builds for CUDA 12 hold only part of their kernels.
    """
    from envkit.compat import gpu_on_cudnn

    messages = told(
        environment,
        "cudnn-dropped-arch",
        "cuDNN has no kernels for this GPU",
        impact="Convolutions fail.",
        remedy=Remedy(
            "Use a framework build with an older cuDNN; envkit names one.",
            (resolve_command(environment, matrix, seen(environment, "cudnn-dropped-arch")),),
        ),
    )
    if messages:
        yield from messages
        return
    gpus = capable_gpus(environment, matrix)
    judged_wheels = [item for python in judged(environment) for item in installed_wheels(python)]
    if not judged_wheels:
        yield nothing_to_judge(environment, "a cuDNN wheel")
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
                yield warn(
                    f"cuDNN {version.release(3)} for CUDA {cuda} no longer supports {gpu.title}",
                    subject=gpu.subject,
                    evidence=evidence,
                    impact=f"{verdict.detail}; some layers may still run, others fail.",
                    remedy=Remedy(
                        "Use a framework build with an older cuDNN; envkit names one.",
                        (resolve_command(environment, matrix),),
                    ),
                )
            elif verdict.status == "fail":
                yield skip(
                    f"cuDNN {version.release(3)} is older than {gpu.title}", subject=gpu.subject, evidence=evidence
                )
            elif verdict.status == "ok":
                yield ok(verdict.detail, subject=gpu.subject, evidence=evidence)
            else:
                yield skip(verdict.detail, subject=gpu.subject, evidence=evidence)


def _older_than_cudnn(own: ComputeCapability, version: Version, matrix: Matrix) -> bool:
    """True when every build of this cuDNN starts above the GPU: it dropped it, and is not merely too old for it."""
    lowest = [row.min_compute_capability for row in matrix.cudnns if row.version.starts_with(version.release(3))]
    known = [(low.major, low.minor) for low in lowest if low is not None]
    return bool(known) and (own.major, own.minor) < max(known)
