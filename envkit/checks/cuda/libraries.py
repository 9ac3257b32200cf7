"""The CUDA libraries that frameworks load: which are missing, and which come from the wrong place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit._startup.regex import regex
from envkit.base.versions import Version
from envkit.checks.engine.ask import resolve_command
from envkit.checks.engine.command import REQUIREMENT, UNSET_LIBRARY_PATH, fixed, run
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Evidence, Outcome, Remedy, Status, ok
from envkit.checks.engine.messages import message_evidence, named, seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.frameworks.builds import bring
from envkit.checks.frameworks.installs import (
    cuda_majors,
    distribution,
    distribution_evidence,
    judged,
    nothing_to_judge,
    pip,
)
from envkit.model import Environment, LibraryUse, PythonEnvironment
from envkit.probe.sonames import package_of

if TYPE_CHECKING:
    from envkit.tables import Matrix

_PIN = regex(r"(?P<name>[\w.-]+)\s*\(?(?P<pin>==[\w.]+)")
IN_WHEEL = "not looked for where the wheel put it"  # the rule that the probe gives to such a use


def _wheel_of_message(environment: Environment, matrix: Matrix) -> Remedy:
    messages = seen(environment, "libcudart-missing")
    wheel = package_of(named(messages, "library") or "")
    if not wheel:
        return Remedy(
            "No wheel brings it: install the framework and the CUDA that belong together; envkit names them.",
            (resolve_command(environment, matrix, messages),),
        )
    wanted = wheel.rpartition("-cu")[2]
    built = {cuda for python in judged(environment) for cuda in cuda_majors(python)}
    if wanted.isdigit() and built and wanted not in built:
        other = ", ".join(sorted(built))
        return Remedy(
            f"The program was built for CUDA {wanted}, the framework beside it for CUDA {other}. "
            "Install the program's build for the framework's CUDA, or give each an environment of its own."
        )
    return Remedy(
        "Install the package built for the CUDA that you have, or the wheel that brings the library.",
        (run("python", "-m", "pip", "install", REQUIREMENT(wheel)),),
    )


_NO_LIBRARY = Fault(
    "libcudart-missing",
    "A CUDA library that a framework needs is not found",
    impact="Importing or starting the program on the GPU fails.",
    remedy=_wheel_of_message,
)
_OLD_LINKER = Fault(
    "nvjitlink-symbol",
    "libnvJitLink is older than the library that needs it",
    impact="Importing the framework fails with an undefined symbol __nvJitLink…",
    remedy="Clear LD_LIBRARY_PATH; if that is not it, upgrade nvidia-nvjitlink.",
    steps=(UNSET_LIBRARY_PATH, fixed("python -m pip install --upgrade nvidia-nvjitlink-cu12")),
)
_SHADOWED = Fault(
    "ld-library-path-shadows-wheels",
    "A foreign CUDA library was loaded before the wheel's own",
    impact="Another release than the framework was tested with: symbol errors, wrong cuDNN versions.",
    remedy="Unset LD_LIBRARY_PATH for this environment.",
    steps=(UNSET_LIBRARY_PATH,),
    status=Status.WARN,
)


def uses(environment: Environment) -> list[tuple[PythonEnvironment, LibraryUse]]:
    """Every CUDA library that a framework of the judged environments needs."""
    return [(python, use) for python in judged(environment) for use in python.library_uses]


def use_evidence(use: LibraryUse) -> Evidence:
    """One library use as evidence: what is loaded, for whom, and by which rule."""
    version = f" {use.version}" if use.version else ""
    return Evidence(
        "pythons.library_uses", f"{use.soname} -> {use.path or 'not found'}{version} ({use.rule})", use.consumer
    )


def _is_tensorflow(use: LibraryUse) -> bool:
    return "/tensorflow" in use.consumer


def _is_jax(use: LibraryUse) -> bool:
    return "/jax_plugins/" in use.consumer or "/jaxlib/" in use.consumer


@check(
    _NO_LIBRARY,
    layer=Layer.LIBRARIES,
    rank=10,
    any_of=("pythons", "messages"),
    explained_by=("nvidia-wheels-pin-conflict", "cpu-only-wheel"),
    fix="Install the build for the CUDA that is there, or the wheel that brings the library. A link from one "
    "major release's name to another's only moves the crash.",
    references=threads("vllm-project/vllm#31018", "PaddlePaddle/PaddleOCR#9049"),
)
def libcudart_missing(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """Every CUDA library that an installed framework names is found by the loader.

    Names of another CUDA major mean that the package was built for that one, or expects a system CUDA.
    """
    missing = [
        (python, use)
        for python, use in uses(environment)
        if use.path is None and "cudnn" not in use.soname and not _is_tensorflow(use) and not _is_jax(use)
    ]
    if missing:
        for prefix in dict.fromkeys(python.prefix for python, _ in missing):
            yield _missing([pair for pair in missing if pair[0].prefix == prefix])
    elif messages := seen(environment, _NO_LIBRARY.id):
        title = f"{named(messages, 'library') or 'A CUDA library'} is not found"
        yield _NO_LIBRARY.found(message_evidence(environment, messages), title=title)
    elif uses(environment):
        yield ok("every CUDA library is found", evidence=[use_evidence(use) for _, use in uses(environment)[:3]])
    else:
        yield nothing_to_judge(environment, "framework that loads CUDA libraries")


def _missing(found: list[tuple[PythonEnvironment, LibraryUse]]) -> Outcome:
    python = found[0][0]
    names = [use.soname for _, use in found]
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    wheels = dict.fromkeys(_wheel(python, name) for name in names)
    packages = [REQUIREMENT(wheel) for wheel in wheels if wheel]
    consumers = sorted({use.consumer for _, use in found})
    consumer = (
        consumers[0].rpartition("/")[2] if len(consumers) == 1 else f"{len(consumers)} libraries of this environment"
    )
    by_wheel = all(use.rule.startswith(IN_WHEEL) for _, use in found)
    return _NO_LIBRARY.found(
        [use_evidence(use) for _, use in found[:4]],
        title=f"{shown} {'is' if len(names) == 1 else 'are'} not found for {consumer}",
        subject=python.prefix,
        status=Status.WARN if by_wheel else Status.FAIL,
        remedy=Remedy(
            "Install the wheels that bring them." if packages else "Install the CUDA that the package was built for.",
            (pip(python, "install", *packages),) if packages else (),
        ),
    )


def _wheel(python: PythonEnvironment, soname: str) -> str:
    """The wheel that brings a library, in the release that an installed package pins, if one does."""
    cuda = next((framework.cuda for framework in python.frameworks if framework.cuda is not None), None)
    package = package_of(soname, cuda)
    for line in (line for item in python.distributions for line in item.requires):
        match = _PIN.match(line)
        if package and match and match["name"] == package:
            return f"{package}{match['pin']}"
    return package


@check(
    _OLD_LINKER,
    layer=Layer.LIBRARIES,
    rank=15,
    any_of=("pythons", "messages"),
    explained_by=("nvidia-wheels-pin-conflict",),
    references=threads("pytorch/pytorch#111469", "pytorch/pytorch#131312", "pytorch/pytorch#134929"),
)
def nvjitlink_symbol(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """libnvJitLink is of the same CUDA release as libcusparse, or newer.

    An older one, from LD_LIBRARY_PATH, the system or a pinned wheel, lacks the symbols that cusparse asks for.
    """
    found = 0
    for python in judged(environment):
        link, runtime = _pair(python)
        foreign = [
            use
            for use in python.library_uses
            if use.soname.startswith("libnvJitLink") and use.rule == "LD_LIBRARY_PATH"
        ]
        if link is None or runtime is None:
            continue
        found += 1
        jit, base = link[1], runtime[1]
        evidence = [link[0], runtime[0], *(use_evidence(use) for use in foreign)]
        if jit.release(2) < base.release(2):
            name = "nvidia-nvjitlink" + ("-cu12" if "-cu12" in link[0].value else "")
            yield _OLD_LINKER.found(
                evidence,
                subject=python.prefix,
                remedy=Remedy(
                    "Bring it to the release of the other wheels.",
                    (pip(python, "install", "--upgrade", REQUIREMENT(f"{name}=={base.release(2)}.*")),),
                ),
            )
        elif foreign and (own := Version.find(foreign[0].version)) is not None and own.release(2) < base.release(2):
            yield _OLD_LINKER.found(
                evidence,
                subject=python.prefix,
                remedy=Remedy("Remove the foreign directory from the loader's path.", (UNSET_LIBRARY_PATH,)),
            )
        else:
            yield ok(f"libnvJitLink {jit} fits CUDA {base.release(2)}", subject=python.prefix, evidence=evidence)
    if reported := _OLD_LINKER.reported(environment):
        yield reported
    elif not found:
        yield nothing_to_judge(environment, "nvJitLink wheel")


def _pair(python: PythonEnvironment) -> tuple[tuple[Evidence, Version] | None, tuple[Evidence, Version] | None]:
    """The wheels of nvJitLink and of the CUDA runtime, whose releases must fit."""
    for suffix in ("-cu12", ""):
        link = distribution(python, f"nvidia-nvjitlink{suffix}")
        runtime = distribution(python, f"nvidia-cuda-runtime{suffix}", f"nvidia-cuda-nvrtc{suffix}")
        if link is not None and runtime is not None:
            versions = Version.find(link.version), Version.find(runtime.version)
            if versions[0] is not None and versions[1] is not None:
                return (distribution_evidence(link), versions[0]), (distribution_evidence(runtime), versions[1])
    return None, None


@check(
    _SHADOWED,
    layer=Layer.LIBRARIES,
    rank=20,
    any_of=("pythons", "messages"),
    explained_by=("nvidia-cu11-cu12-cu13-mixed",),
    references=threads("pytorch/pytorch#80637", "tensorflow/tensorflow#60750", "jax-ml/jax#28929"),
)
def ld_library_path_shadows_wheels(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """What LD_LIBRARY_PATH holds does not displace the libraries that the wheels bring.

    It wins over RUNPATH and loses against RPATH and against files that the framework loads by path; so a CUDA folder on
    LD_LIBRARY_PATH is a fault only where a library is really taken from it although a wheel brings the same.
    """
    found = 0
    for python in judged(environment):
        found += len(python.library_uses)
        wheels = any(item.name.startswith("nvidia-") for item in python.distributions)
        taken = [use for use in python.library_uses if use.rule == "LD_LIBRARY_PATH"]
        if taken and wheels:
            yield _SHADOWED.found(
                [use_evidence(use) for use in taken],
                title=f"{', '.join(use.soname for use in taken)} come from LD_LIBRARY_PATH, not from the wheels",
                subject=python.prefix,
            )
        elif python.library_uses:
            yield ok(
                "the wheels' own libraries are used",
                subject=python.prefix,
                evidence=[use_evidence(use) for use in python.library_uses[:3]],
            )
    if reported := _SHADOWED.reported(environment, status=Status.FAIL):
        yield reported
    elif not found:
        yield nothing_to_judge(environment, "framework with CUDA libraries")


_WHEELS = "Install the libraries as wheels."


def _wheels_of_tensorflow(environment: Environment, matrix: Matrix) -> Remedy:
    return bring(environment, matrix, "tensorflow", _WHEELS, messages=seen(environment, "tf-cannot-dlopen"))


def _wheels_of_jax(environment: Environment, matrix: Matrix) -> Remedy:
    advice = f"Unset LD_LIBRARY_PATH; if that is not it: {_WHEELS[0].lower()}{_WHEELS[1:]}"
    given = bring(environment, matrix, "jax", advice, messages=seen(environment, "jax-library-load"))
    return Remedy(given.advice, (UNSET_LIBRARY_PATH, *given.steps))


_TENSORFLOW = Fault(
    "tf-cannot-dlopen",
    "TensorFlow does not load its CUDA libraries",
    impact="TensorFlow leaves the GPU unused.",
    remedy=_wheels_of_tensorflow,
)
_JAX = Fault(
    "jax-library-load",
    "JAX does not load its CUDA libraries",
    impact="JAX leaves the GPU unused.",
    remedy=_wheels_of_jax,
)


@check(
    _TENSORFLOW,
    layer=Layer.LIBRARIES,
    tier="X",
    rank=12,
    any_of=("pythons", "messages"),
    explained_by=("cpu-only-wheel", "cudnn-missing"),
    fix="Install tensorflow[and-cuda], which brings the libraries as wheels.",
    references=threads("tensorflow/tensorflow#62994", "tensorflow/tensorflow#34287"),
)
def tf_cannot_dlopen(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """TensorFlow finds every CUDA library that it opens by name.

    It does not always say which one is missing; one missing library switches every GPU off.
    """
    found = [(python, use) for python, use in uses(environment) if _is_tensorflow(use)]
    yield from _opened_by_name(environment, matrix, _TENSORFLOW, found, "tensorflow", "TensorFlow")


@check(
    _JAX,
    layer=Layer.LIBRARIES,
    tier="X",
    rank=13,
    any_of=("pythons", "messages"),
    explained_by=("ld-library-path-shadows-wheels", "driver-too-old-for-runtime"),
    fix="Unset LD_LIBRARY_PATH; reinstall jax with its CUDA extra.",
    references=threads("jax-ml/jax#30050", "jax-ml/jax#28929"),
)
def jax_library_load(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """JAX's CUDA plug-in finds the libraries that it opens by name."""
    found = [(python, use) for python, use in uses(environment) if _is_jax(use)]
    yield from _opened_by_name(environment, matrix, _JAX, found, "jax", "JAX")


def _opened_by_name(
    environment: Environment,
    matrix: Matrix,
    fault: Fault,
    found: list[tuple[PythonEnvironment, LibraryUse]],
    name: str,
    title: str,
) -> Iterator[Outcome]:
    missing = [(python, use) for python, use in found if use.path is None]
    if missing:
        python = missing[0][0]
        yield fault.found(
            [use_evidence(use) for _, use in missing],
            title=f"{title} does not find {', '.join(use.soname for _, use in missing)}",
            subject=python.prefix,
            remedy=bring(environment, matrix, name, _WHEELS, python),
        )
    elif messages := seen(environment, fault.id):
        library = named(messages, "library")
        said = f"{title} does not load {library}" if library else ""
        yield fault.found(message_evidence(environment, messages), title=said)
    elif found:
        yield ok(f"{title} finds its CUDA libraries", evidence=[use_evidence(use) for _, use in found[:3]])
    else:
        yield nothing_to_judge(environment, f"{title} with CUDA")
