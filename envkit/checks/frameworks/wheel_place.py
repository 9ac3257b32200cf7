"""Are there wheels for this Python, and is the system under it new enough for those installed?"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit._startup.records import replace
from envkit._startup.regex import regex
from envkit.base.versions import Version
from envkit.checks.containers.jetson_wheels import OF_BOARDS, jetson_wheel
from envkit.checks.engine.ask import framework_by_package, framework_of, resolve_command, tells_framework
from envkit.checks.engine.command import VERSION, fixed, run
from envkit.checks.engine.evidence import kind, known, unseen
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Evidence, Outcome, Remedy, Status, ok, unknown
from envkit.checks.engine.managers import managed_by
from envkit.checks.engine.messages import message_evidence, named, said, seen, variants_of
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.engine.remedies import on_windows, remedy
from envkit.checks.frameworks.asked_build import of_asked_cuda
from envkit.checks.frameworks.builds import fresh, replacement
from envkit.checks.frameworks.built_here import for_this_glibc, of_libtorch
from envkit.checks.frameworks.cuda_names import of_its_own_name
from envkit.checks.frameworks.host_libraries import of_host
from envkit.checks.frameworks.installs import (
    for_this_machine,
    installs,
    judged,
    nothing_to_judge,
    release,
    runs_on_gpus,
)
from envkit.checks.frameworks.new_environment import entered, for_processor, of_web_ui
from envkit.checks.frameworks.newer_system import in_newer_system, of_another_file
from envkit.checks.frameworks.old_libstdcxx import beyond_the_archive, of_conda
from envkit.checks.frameworks.other_release import (
    by_requires_python,
    for_this_platform,
    nearest_elsewhere,
    not_on_a_mac,
)
from envkit.checks.frameworks.project_python import as_told
from envkit.model import Environment, FrameworkInstall, MachineKind, Message, PythonEnvironment
from envkit.model.observed import is_told

if TYPE_CHECKING:
    from envkit.tables import Matrix
    from envkit.tables.rows import Framework, FrameworkBuild

_CONDA_PLACE = regex(
    r"(?<![^\s:'\"=(])(?P<prefix>/[^\s:'\"=(]{0,200}/(?:envs/[^/\s:'\"]{1,80}|(?:ana|mini)conda3?|miniforge3?|mambaforge))/(?:bin/\.\./)?lib/"
)
_OTHER_PLATFORM = ("uv-platform", "uv-platform-windows")  # uv found wheels, for other platforms
_OF_NVIDIA = ("nvidia-tensorflow", "nvidia-pyindex", "nvidia-dali", "nvidia-nccl", "nvidia-horovod")
_OF_32_BITS = ("bits", "bits-hyphen")
_OF_CONDA = ("conda-provides", "conda-conflict")
_OF_CONDA_PACKAGE = regex(r"required by /[^\s:'\"]{0,200}conda3?/")
_OF_SYSTEM = regex(r"(?<![\w.])/(?:usr/)?lib(?:64)?/(?:[\w-]{1,40}/)?libstdc\+\+\.so\.6: version")
_MANYLINUX = regex(r"manylinux_(\d+)_(\d+)_")


def _python_with_wheels(environment: Environment, matrix: Matrix) -> Remedy:
    return entered(environment, _other_python(environment, matrix))


def _other_python(environment: Environment, matrix: Matrix) -> Remedy:
    """The newest Python for which the release that is named has wheels, otherwise that of the newest release."""
    messages = seen(environment, "python-no-wheel")
    package = named(messages, "package") or ""
    if other := by_requires_python(environment) or _whatever_the_python(environment, matrix, messages, package):
        return other
    listed = _listed(environment, matrix) if not messages else None
    name = listed.name if listed else framework_of(environment, matrix, messages)
    framework = matrix.framework(name)
    builds, version = matrix.builds(name), named(messages, "version") or (named(messages, "spec") or "").strip("=")
    told = Version.find(version) if framework and package in framework.packages else None
    asked = release(listed.version) if listed else told
    if kind(environment) is MachineKind.JETSON and name in OF_BOARDS:
        return jetson_wheel(environment, matrix, name, asked)
    exact = [build for build in builds if build.version == asked]
    meant = _meant(framework, asked if exact else None)
    if elsewhere := nearest_elsewhere(environment, matrix, framework, exact):
        return elsewhere
    wanted = f"Create an environment with a Python that {meant} has wheels for."
    if seen(environment, "python-no-wheel", *_OF_32_BITS):
        wanted = f"This Python is a 32-bit build, for which {meant} has no wheels: use uv's 64-bit one."
    rows = exact or [build for build in builds if build.version == builds[-1].version]
    here = [build for build in rows if for_this_machine(environment, build)]
    best = max((python for build in here for python in build.pythons), default=None)
    if name == "pytorch" and not exact and (slower := for_processor(environment, matrix, asked)):
        return slower
    if exact and best is not None and (as_asked := _as_asked(environment, matrix, here, best, wanted)):
        return as_asked
    fitting = fresh(environment, matrix, name, wanted, messages, any_python=True, version=asked if exact else None)
    if any(step.words[:2] == ("uv", "venv") for step in fitting.steps):
        return fitting
    if fitting.advice != wanted or best is None:
        return fitting
    own = {python.version.release(2) for python in judged(environment) if python.version is not None}
    if own and all(own <= set(build.pythons) for build in here[:1]):
        return _same_python(meant)
    asked_for = (replace(step, words=(*step.words, "--python", str(best))) for step in fitting.steps)
    activate = run(r".venv\Scripts\activate") if on_windows(environment) else fixed("source .venv/bin/activate")
    commands = (run("uv", "venv", "--python", VERSION(best)), activate, *asked_for)
    return Remedy(f"{wanted} The last command prints the command that installs it there.", commands)


def _as_asked(
    environment: Environment, matrix: Matrix, here: list[FrameworkBuild], python: Version, wanted: str
) -> Remedy | None:
    """By the program that makes its environment itself, or the very build that was asked for, if the GPUs run it."""
    known = [build for build in here if build.cuda is None or runs_on_gpus(environment, matrix, build.cuda)]
    if own := of_web_ui(environment, python):
        return own
    commands = of_asked_cuda(environment, known, python)
    return Remedy(f"{wanted} The build is the one that was asked for.", commands) if commands else None


def _whatever_the_python(
    environment: Environment, matrix: Matrix, messages: tuple[Message, ...], package: str
) -> Remedy | None:
    """Where the system, the project, or a package that has no tables decides; None for a framework's own wheels."""
    if on_mac := not_on_a_mac(environment, package):
        return on_mac
    if not variants_of(messages).isdisjoint(_OTHER_PLATFORM):
        return for_this_platform(environment, matrix, messages, package)
    if by_name := as_told(environment, messages):
        return by_name
    if package.startswith(_OF_NVIDIA) and on_windows(environment):
        return Remedy(
            f"NVIDIA publishes {package} for Linux only: no Python and no pip for Windows finds a file of it. Run the "
            "program in WSL 2 with the Python that its documentation names, or in NVIDIA's container (a tag of "
            "nvcr.io/nvidia/tensorflow with tf1 in it has TensorFlow 1 for current GPUs; take one that the driver "
            "supports). The Windows driver serves both; install no driver in WSL.",
            (fixed("wsl --install"),),
        )
    if package and framework_by_package(matrix, package) is None:
        return of_its_own_name(environment, matrix, package)
    return None


def _same_python(meant: str) -> Remedy:
    """Where there are wheels for the Python that was told, a different one does not help."""
    return Remedy(
        f"{meant} supports this Python version, so the version is not the problem. The first command shows whether "
        "this Python is a 32-bit build (then use a 64-bit one), the second whether pip searches a different index, "
        "and the third whether the package has a file for this system.",
        (
            fixed("python -c 'import platform; print(platform.architecture(), platform.machine())'"),
            fixed("python -m pip config list"),
            fixed("python -m pip debug --verbose"),
        ),
    )


def _meant(framework: Framework | None, version: Version | None) -> str:
    title = framework.title if framework else "it"
    return f"{title} {version}" if version else title


_NO_WHEEL = Fault(
    "python-no-wheel",
    "pip found no wheel for this Python version or platform",
    impact="The framework cannot be installed here.",
    remedy=_python_with_wheels,
)


@check(
    _NO_WHEEL,
    layer=Layer.FRAMEWORK_BUILD,
    rank=45,
    any_of=("pythons", "messages"),
    explained_by=("package-index-wrong", "not-built-for-windows"),
    fix="Create an environment with a Python that the framework has wheels for.",
    references=threads("pytorch/pytorch#91543"),
)
def python_no_wheel(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """There are framework wheels for this Python; it is neither too new nor too old."""
    reported = _unsolved(environment, matrix) or _NO_WHEEL.reported(environment)
    yield from (reported,) if reported else ()
    for python in judged(environment):
        if python.version is None:
            continue
        own = python.version.release(2)
        evidence = [Evidence("pythons.version", str(python.version), python.prefix)]
        if without := _unbuilt(python, own, matrix):
            yield _NO_WHEEL.found(
                [*evidence, Evidence("pythons.frameworks", without.package, without.source)],
                title=f"{without.package} has no wheel for Python {own}",
                subject=python.prefix,
            )
        elif python.frameworks:
            yield ok(f"Python {own} has frameworks installed", subject=python.prefix, evidence=evidence)
        elif _nowhere_built(own, matrix):
            yield _NO_WHEEL.found(
                evidence,
                title=f"no PyTorch release has a wheel for Python {own}",
                subject=python.prefix,
                impact="pip finds nothing to install.",
                status=Status.WARN,
            )
        else:
            yield ok(f"there are wheels for Python {own}", subject=python.prefix, evidence=evidence)
    if not reported and not any(python.version for python in judged(environment)):
        yield nothing_to_judge(environment, "Python version")


def _unsolved(environment: Environment, matrix: Matrix) -> Outcome | None:
    """That conda's channels have no build of the framework for the requested CUDA version: Python is not at fault."""
    messages = seen(environment, _NO_WHEEL.id, *_OF_CONDA)
    if not messages:
        return None
    return _NO_WHEEL.found(
        message_evidence(environment, messages),
        title="conda's channels have no build of the framework for the requested CUDA version",
        remedy=Remedy(
            "The pins of the framework and its CUDA package contradict each other, or a channel is missing. Pin only "
            "one of them, or install the framework with pip, choosing a build for the CUDA version that you need.",
            (resolve_command(environment, matrix, messages, framework="pytorch"),),
        ),
    )


def _nowhere_built(own: Version, matrix: Matrix) -> bool:
    """Whether no release of PyTorch has a wheel for this Python."""
    every = {python for build in matrix.builds("pytorch") for python in build.pythons}
    return bool(every) and own not in every


def _unbuilt(python: PythonEnvironment, own: Version, matrix: Matrix) -> FrameworkInstall | None:
    """A framework that somebody names in a release without a wheel for this Python: it cannot be installed there."""
    for framework in python.frameworks:
        listed = matrix.framework(framework.name)
        if listed is None or not is_told(framework.source):
            continue
        version = release(framework.version)
        rows = [row for row in matrix.builds(listed.name) if row.version == version]
        built = {each for row in rows for each in row.pythons}
        if built and own not in built:
            return framework
    return None


def _listed(environment: Environment, matrix: Matrix) -> FrameworkInstall | None:
    """The framework that is only listed, in a release without a wheel for the Python that is told with it."""
    pythons = ((python, python.version.release(2)) for python in judged(environment) if python.version is not None)
    return next((found for python, own in pythons if (found := _unbuilt(python, own, matrix))), None)


def _newer_system(environment: Environment, matrix: Matrix) -> Remedy:
    messages = seen(environment, "glibc-too-old")
    if mounted := of_host(environment):
        return mounted
    words = "Use a newer system, a container, or an older release of the framework."
    if own := for_this_glibc(environment, said(environment, "glibc-too-old")) or of_libtorch(environment):
        return own
    if not tells_framework(environment, matrix, messages) or of_another_file(said(environment, "glibc-too-old")):
        return in_newer_system(environment, said(environment, "glibc-too-old"))
    found = next((item for item in installs(environment) if matrix.framework(item.framework.name)), None)
    if found is None or not environment.system.glibc.known:
        return Remedy(words, (resolve_command(environment, matrix, messages, on_this_system=True),))
    return replacement(environment, matrix, found, words)


def _newer_libstdcxx(environment: Environment, matrix: Matrix) -> Remedy:
    place = _CONDA_PLACE.search(said(environment, "libstdcxx-too-old"))
    prefix = (
        place["prefix"] if place else next((p.libstdcxx for p in judged(environment) if "conda" in p.libstdcxx), "")
    )
    root = posixpath.normpath(prefix).partition("/lib/")[0] if prefix else ""
    full = seen(environment, "libstdcxx-too-old", "detail-required")
    lines = " ".join((said(environment, "libstdcxx-too-old"), *(message.text for message in full)))
    unversioned = seen(environment, "libstdcxx-too-old", "symbol") and managed_by(environment, "conda")
    if not root and unversioned or _OF_CONDA_PACKAGE.search(lines) and (_OF_SYSTEM.search(lines) or not root):
        advice = " libstdc++ was loaded: update the one in the conda environment, and load it first."
        return remedy(environment, ("An older" if unversioned else "The system's") + advice, "conda-libstdcxx-here")
    if root or any(python.kind == "conda" for python in judged(environment)):
        return of_conda(environment, root or _conda_root(environment))
    if elsewhere := beyond_the_archive(environment, matrix):
        return elsewhere
    return remedy(environment, "Update the libstdc++ that is loaded first.", "update-libstdcxx")


def _conda_root(environment: Environment) -> str:
    return next((python.prefix for python in judged(environment) if python.kind == "conda"), "")


_OLD_GLIBC = Fault(
    "glibc-too-old",
    "This system's glibc is too old for the package",
    impact="The program cannot be installed or started.",
    remedy=_newer_system,
)
_OLD_LIBSTDCXX = Fault(
    "libstdcxx-too-old",
    "The libstdc++ that is loaded first is older than a package needs",
    impact="The extension does not load.",
    remedy=_newer_libstdcxx,
)


@check(
    _OLD_GLIBC,
    layer=Layer.FRAMEWORK_BUILD,
    rank=8,
    any_of=("pythons", "messages"),
    fix="Use a newer system, a container, or an older release of the framework.",
    references=threads("pytorch/pytorch#123649", "mlverse/torch#1414"),
)
def glibc_too_old(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """The system's glibc is at least as new as the installed wheels and their binaries require."""
    glibc = environment.system.glibc
    needs = [(need, why, python) for python in judged(environment) for need, why in _glibc_needs(python)]
    if reported := _OLD_GLIBC.reported(environment):
        yield reported
    elif not needs:
        yield nothing_to_judge(environment, "Python package with compiled GPU code")
    elif not glibc.known:
        yield unknown(unseen(environment, "the system's glibc"), evidence=[known(environment, "system.glibc")])
    else:
        need, why, python = max(needs, key=lambda item: item[0])
        evidence = [known(environment, "system.glibc"), Evidence("pythons.glibc_needed", str(need), why)]
        if need > glibc.get():
            yield _OLD_GLIBC.found(
                evidence,
                title=f"glibc {glibc.get()} is older than the {need} that {posixpath.basename(why)} needs",
                subject=python.prefix,
                impact="It does not load.",
            )
        else:
            yield ok(f"glibc {glibc.get()} is new enough for every package ({need} required)", evidence=evidence)


def _glibc_needs(python: PythonEnvironment) -> Iterator[tuple[Version, str]]:
    for path, version in python.glibc_needed.items():
        yield version, path
    for item in python.distributions:
        tags = [
            Version.of(int(match.group(1)), int(match.group(2)))
            for tag in item.wheel_tags
            for match in _MANYLINUX.finditer(tag)
        ]
        if tags:
            yield min(tags), f"{item.name} {item.version}"


@check(
    _OLD_LIBSTDCXX,
    layer=Layer.LIBRARIES,
    rank=40,
    any_of=("pythons", "messages"),
    fix="Update that libstdc++, or compile with the environment's own compiler.",
    references=threads("kvcache-ai/ktransformers#439", "pytorch/pytorch#157709", "numpy/numpy#26986"),
)
def libstdcxx_too_old(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """The first libstdc++.so.6 in loader order provides the GLIBCXX version that compiled packages need.

    conda has its own, which takes precedence over the system's.
    """
    if reported := _OLD_LIBSTDCXX.reported(environment):
        yield reported
        return
    looked = 0
    for python in judged(environment):
        if not python.glibcxx_needed or python.libstdcxx_version is None:
            continue
        looked += 1
        path, need = max(python.glibcxx_needed.items(), key=lambda item: item[1])
        evidence = [
            Evidence("pythons.libstdcxx_version", str(python.libstdcxx_version), python.libstdcxx),
            Evidence("pythons.glibcxx_needed", str(need), path),
        ]
        if need > python.libstdcxx_version:
            yield _OLD_LIBSTDCXX.found(
                evidence,
                title=f"libstdc++ has GLIBCXX {python.libstdcxx_version}, {posixpath.basename(path)} needs {need}",
                subject=python.prefix,
                impact="It does not load.",
            )
        else:
            yield ok(
                f"libstdc++ offers GLIBCXX {python.libstdcxx_version}, but {need} is needed",
                subject=python.prefix,
                evidence=evidence,
            )
    if not looked:
        yield nothing_to_judge(environment, "Python package with compiled GPU code")
