"""The CUDA libraries that frameworks load: which are missing, and which come from the wrong place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit._startup.regex import regex
from envkit.base.sentences import series
from envkit.base.versions import Version
from envkit.checks.cuda.by_program import of_program, with_toolkit
from envkit.checks.cuda.cupy_build import of_cupy
from envkit.checks.cuda.dll_folders import off_path
from envkit.checks.cuda.named_release import of_named_release, of_other_cuda, patched_by_poetry, toolkit_of_wheels
from envkit.checks.cuda.onnx_libraries import libraries_of_onnx, unnamed_of_onnx
from envkit.checks.cuda.program_plugins import own_plugin
from envkit.checks.cuda.toolkit_remedies import DEFAULT_LINK, from_list
from envkit.checks.cuda.wheels_unseen import left_out, named_libraries, of_soname, on_this_disk, there_already
from envkit.checks.engine.ask import framework_of, tells_framework
from envkit.checks.engine.command import REQUIREMENT, fixed
from envkit.checks.engine.evidence import kind
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Evidence, Outcome, Remedy, Status, ok
from envkit.checks.engine.loader_path import folder_of, told_folders, without_folders
from envkit.checks.engine.messages import message_evidence, named, said, seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.engine.remedies import on_windows, remedy, steps
from envkit.checks.frameworks.builds import bring, fresh
from envkit.checks.frameworks.installs import (
    capable_gpus,
    cuda_majors,
    distribution,
    distribution_evidence,
    judged,
    named_python,
    nothing_to_judge,
    pip,
)
from envkit.model import Environment, LibraryUse, MachineKind, Message, PythonEnvironment
from envkit.probe.sonames import package_of

if TYPE_CHECKING:
    from envkit.tables import Matrix

_RELEASE_IN_NAME = regex(r"\.so\.(?P<release>(?:[5-9]|10)\.\d)\b")
_PIN = regex(r"(?P<name>[\w.-]+)\s*\(?(?P<pin>==[\w.]+)")
IN_WHEEL = "not searched for in the wheel's own directory"  # the rule that the probe gives to such a use


def _wheel_of_message(environment: Environment, matrix: Matrix) -> Remedy:
    messages = seen(environment, "libcudart-missing")
    library = named(messages, "library") or ""
    if given := (
        on_this_disk(environment, messages) or of_cupy(environment, matrix) or of_program(environment, matrix, messages)
    ):
        return given
    wheel = package_of(library)
    if not wheel:
        poetry = patched_by_poetry(environment, matrix)
        return own_plugin(environment) or poetry or _from_toolkit(environment, matrix, messages)
    wanted = wheel.rpartition("-cu")[2]
    built = {cuda for python in judged(environment) for cuda in cuda_majors(python)}
    if wanted.isdigit() and built and wanted not in built:
        return of_other_cuda(environment, wanted, ", ".join(sorted(built)))
    if set_of_onnx := libraries_of_onnx(environment, matrix, said(environment, "libcudart-missing"), wanted):
        return set_of_onnx
    if "cusparseLt" in library and kind(environment) is MachineKind.JETSON:
        return remedy(
            environment,
            "Install cuSPARSELt with the script that NVIDIA's installation guide for PyTorch on Jetson uses: the wheel "
            "on PyPI is for servers, and JetPack does not include the library.",
            "jetson-cusparselt",
        )
    if patch := patched_by_poetry(environment, matrix):
        return patch
    if given := there_already(environment, wheel, library) or left_out(environment, matrix, wheel):
        return given
    python = named_python(environment)
    finds = (
        () if on_windows(environment) else steps(environment, "wheel-libraries", python=python.executable or "python")
    )
    return Remedy(
        "Install the wheel that provides the library. PyTorch and JAX find it on their own; other programs need the "
        "last two lines in each shell. Or install the program's package for the CUDA release on this machine.",
        (pip(python, "install", REQUIREMENT(of_soname(wheel, library))), *finds),
    )


def _from_toolkit(environment: Environment, matrix: Matrix, messages: tuple[Message, ...]) -> Remedy:
    """Names of CUDA libraries before 11 say their release, which is installed next to another."""
    library = named(messages, "library") or ""
    if "libnvvm" in library:
        return from_list(environment) or Remedy(
            "A variable refers to an nvvm directory that no longer exists: unset it where it is set (~/.bashrc, "
            "~/.profile), and point CUDA_HOME at an installed toolkit.",
            (fixed("unset NUMBAPRO_NVVM NUMBAPRO_LIBDEVICE"), *steps(environment, "use-toolkit", root=DEFAULT_LINK)),
        )
    match = _RELEASE_IN_NAME.search(library)
    wanted = Version.find(match["release"]) if match else None
    if wanted is not None and not _runs_here(environment, matrix, wanted) and (family := _mxnet(environment)):
        why = f"mxnet-cu{family} is for CUDA {wanted}, which does not support this GPU: install a newer build."
        return fresh(environment, matrix, "mxnet", why, messages, any_python=True)
    if wanted is not None and not _runs_here(environment, matrix, wanted):
        nvcc = environment.nvcc.get().version if environment.nvcc.known else None
        there = f"/usr/local/cuda-{nvcc.release(2)}" if nvcc is not None else "the one that is installed"
        return Remedy(
            f"The program was built for CUDA {wanted}, which does not support this GPU. Do not install or link that "
            "release: use the program's build for the CUDA release installed here. To build it yourself, go to the "
            "program's source directory, set the CUDA directory in its configuration (the first command finds it) to "
            f"{there}, remove the old object files (otherwise, make finds nothing to do), and build again.",
            steps(environment, "build-anew"),
        )
    if wanted is not None and any(row.release == wanted for row in matrix.toolkits):
        return of_named_release(environment, matrix, wanted)
    name = framework_of(environment, matrix, messages)
    if name == "onnxruntime" and (whole := unnamed_of_onnx(environment, matrix, messages)):
        return whole
    if family := _mxnet(environment):
        why = (
            f"mxnet-cu{family} is for a CUDA version that this GPU or this machine does not support: install another "
            "build."
        )
        return fresh(environment, matrix, "mxnet", why, messages, any_python=True)
    if library.endswith(".so") and (own := toolkit_of_wheels(environment, matrix)):
        return own
    if library.endswith(".so") or not tells_framework(environment, matrix, messages):
        return Remedy(
            "It is part of the CUDA toolkit: install the release that the program was built for alongside any other, "
            "or use the program's build for the release installed here. If the library is in the program's own folder, "
            "the loader does not look there: start the program from a shell in which LD_LIBRARY_PATH names that "
            "folder. The libraries that the loader finds now:",
            () if on_windows(environment) else (fixed("ldconfig -p"),),
        )
    why = "No wheel provides it: install a framework build that matches the installed CUDA, or the other way around."
    return with_toolkit(environment, matrix, bring(environment, matrix, name, why, messages=messages))


def _mxnet(environment: Environment) -> str | None:
    """The CUDA in the name of MXNet's package, as cu90 has it."""
    return named(seen(environment, "libcudart-missing", "detail-mxnet"), "mxnet")


def _runs_here(environment: Environment, matrix: Matrix, cuda: Version) -> bool:
    """False where a GPU of this machine is known to need another release."""
    from envkit.compat.gpu import cuda_match

    return all(cuda_match(own, cuda, matrix).runs is not False for _, own in capable_gpus(environment, matrix))


def _own_linker(environment: Environment, matrix: Matrix) -> Remedy:
    advice = (
        "LD_LIBRARY_PATH contains a CUDA directory whose libnvJitLink is loaded instead of the wheel's: remove that "
        "directory. If there is none, install the nvidia-nvjitlink wheel of the other NVIDIA wheels' CUDA release."
    )
    return without_folders(environment, advice, taken_from_path(environment, "libnvJitLink"), "cuda")


def _own_libraries(environment: Environment, matrix: Matrix) -> Remedy:
    if on_windows(environment):
        return off_path(environment)
    advice = "Remove the CUDA directory from LD_LIBRARY_PATH in this environment."
    return without_folders(environment, advice, taken_from_path(environment), "cuda")


def taken_from_path(environment: Environment, soname: str = "") -> tuple[str, ...]:
    """The folders of LD_LIBRARY_PATH from which libraries are loaded that start with `soname`."""
    return tuple(
        folder_of(use.path)
        for _, use in uses(environment)
        if use.path and use.rule == "LD_LIBRARY_PATH" and use.soname.startswith(soname)
    ) or told_folders(environment, soname)


_NO_LIBRARY = Fault(
    "libcudart-missing",
    "A CUDA library that a framework needs cannot be found",
    impact="Importing or starting the program on the GPU fails.",
    remedy=_wheel_of_message,
)
_OLD_LINKER = Fault(
    "nvjitlink-symbol",
    "libnvJitLink is older than the library that needs it",
    impact="Importing the framework fails with an undefined symbol __nvJitLink…",
    remedy=_own_linker,
)
_SHADOWED = Fault(
    "ld-library-path-shadows-wheels",
    "A different CUDA library was loaded instead of the one bundled with the wheel",
    impact="The framework was not tested with that version of the library, which causes symbol errors and cuDNN "
    "version mismatches.",
    remedy=_own_libraries,
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


def is_tensorflow(use: LibraryUse) -> bool:
    """Whether TensorFlow opens it."""
    return "/tensorflow" in use.consumer


def is_jax(use: LibraryUse) -> bool:
    """Whether JAX opens it."""
    return "/jax_plugins/" in use.consumer or "/jaxlib/" in use.consumer


@check(
    _NO_LIBRARY,
    layer=Layer.LIBRARIES,
    rank=10,
    any_of=("pythons", "messages"),
    explained_by=(
        "jetson-container-of-other-release",
        "docker-no-nvidia-runtime",
        "no-gpu-on-pci",
        "nvidia-wheels-pin-conflict",
        "cpu-only-wheel",
        "not-built-for-windows",
    ),
    fix="Install the build for the installed CUDA, or the wheel that contains the library. Do not symlink "
    "one major release's name to another: that only delays the crash.",
    references=threads("vllm-project/vllm#31018", "PaddlePaddle/PaddleOCR#9049"),
)
def libcudart_missing(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """The loader finds every CUDA library that an installed framework needs.

    A library name with a different CUDA major version means that the package was built for that version, or expects
    CUDA to be installed on the system.
    """
    missing = [
        (python, use)
        for python, use in uses(environment)
        if use.path is None and "cudnn" not in use.soname and not is_tensorflow(use) and not is_jax(use)
    ]
    if missing:
        for prefix in dict.fromkeys(python.prefix for python, _ in missing):
            yield _missing([pair for pair in missing if pair[0].prefix == prefix])
    elif messages := seen(environment, _NO_LIBRARY.id):
        libraries = named_libraries(messages)[:2]
        names = series(libraries) or "A CUDA library"
        title = f"{names} {'are' if len(libraries) > 1 else 'is'} not found"
        yield _NO_LIBRARY.found(message_evidence(environment, messages), title=title)
    elif uses(environment):
        yield ok("every CUDA library was found", evidence=[use_evidence(use) for _, use in uses(environment)[:3]])
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
            "Install the wheels that contain them." if packages else "Install the CUDA that the package was built for.",
            (pip(python, "install", *packages),) if packages else (),
        ),
    )


def _wheel(python: PythonEnvironment, soname: str) -> str:
    """The wheel that provides a library, in the release that an installed package pins, if one does."""
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
    fix="Remove the CUDA directory from LD_LIBRARY_PATH, or install the nvidia-nvjitlink release that matches the "
    "other wheels.",
    references=threads("pytorch/pytorch#111469", "pytorch/pytorch#131312", "pytorch/pytorch#134929"),
)
def nvjitlink_symbol(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """libnvJitLink is from the same CUDA release as libcusparse, or newer.

    An older one, from LD_LIBRARY_PATH, the system, or a pinned wheel, lacks symbols that cuSPARSE needs.
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
                    "Install the release that matches the other wheels.",
                    (pip(python, "install", "--upgrade", REQUIREMENT(f"{name}=={base.release(2)}.*")),),
                ),
            )
        elif foreign and (own := Version.find(foreign[0].version)) is not None and own.release(2) < base.release(2):
            yield _OLD_LINKER.found(
                evidence,
                subject=python.prefix,
                remedy=_own_linker(environment, matrix),
            )
        else:
            yield ok(
                f"libnvJitLink {jit} is compatible with CUDA {base.release(2)}",
                subject=python.prefix,
                evidence=evidence,
            )
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
    fix="Remove the CUDA directory from LD_LIBRARY_PATH in this environment.",
    references=threads("pytorch/pytorch#80637", "tensorflow/tensorflow#60750", "jax-ml/jax#28929"),
)
def ld_library_path_shadows_wheels(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """LD_LIBRARY_PATH does not override the libraries that come with the wheels.

    LD_LIBRARY_PATH takes precedence over RUNPATH, but not over RPATH or over libraries that a framework loads by path.
    A CUDA directory on it is therefore a fault only if a library is actually loaded from there although a wheel
    provides it.
    """
    found = 0
    for python in judged(environment):
        found += len(python.library_uses)
        wheels = any(item.name.startswith("nvidia-") for item in python.distributions)
        taken = [use for use in python.library_uses if use.rule == "LD_LIBRARY_PATH"]
        if taken and wheels:
            yield _SHADOWED.found(
                [use_evidence(use) for use in taken],
                title=f"{', '.join(use.soname for use in taken)} loaded from LD_LIBRARY_PATH, not from the wheels",
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
        yield nothing_to_judge(environment, "framework that bundles CUDA libraries")
