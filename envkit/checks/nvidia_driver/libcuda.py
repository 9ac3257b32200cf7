"""Which libcuda a program would get: the driver's own, a compatibility copy, a foreign one or a link-time stub."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from envkit.checks.engine.command import PATH, UNSET_LIBRARY_PATH, Command, export
from envkit.checks.engine.evidence import known
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Evidence, Outcome, Remedy, ok, skip, unknown
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.engine.remedies import remedy
from envkit.checks.gpu.gpus import seen_gpus
from envkit.checks.nvidia_driver.driver_state import answered
from envkit.model import DriverLibrary, Environment

if TYPE_CHECKING:
    from envkit.tables import Matrix


def _first_libcuda(environment: Environment) -> DriverLibrary | None:
    """The libcuda that the loader takes: one on LD_LIBRARY_PATH, else the one of its cache, else the first found."""
    observed = environment.driver.libraries
    candidates = [item for item in observed.get() if item.name.startswith("libcuda.so")] if observed.known else []
    folders = _library_path(environment)
    for folder in folders:
        for library in candidates:
            if library.path.rpartition("/")[0] == folder:
                return library
    cached = [library for library in candidates if library.in_ld_cache]
    plain = [library for library in candidates if library.in_ld_cache is None and not library.stub]
    return next(iter(cached or plain), None)


def _library_path(environment: Environment) -> list[str]:
    variables = environment.variables.get() if environment.variables.known else {}
    return [folder.rstrip("/") for folder in variables.get("LD_LIBRARY_PATH", "").split(":") if folder]


def _library_evidence(environment: Environment, library: DriverLibrary) -> Evidence:
    version = f" ({library.version})" if library.version else ""
    return Evidence("driver.libraries", f"{library.path}{version}", environment.driver.libraries.source)


def _off_the_path(advice: str) -> Callable[[Environment, Matrix], Remedy]:
    """The remedy that takes the folder of the libcuda that is loaded out of the loader's path, and no other folder."""

    def given(environment: Environment, matrix: Matrix) -> Remedy:
        library, folders = _first_libcuda(environment), _library_path(environment)
        folder = library.path.rpartition("/")[0] if library is not None else ""
        if folder in folders:
            return Remedy(advice, (_library_path_of([other for other in folders if other != folder]),))
        return remedy(environment, advice, "find-libcuda")

    return given


def _library_path_of(folders: list[str]) -> Command:
    return export("LD_LIBRARY_PATH", PATH(":".join(folders))) if folders else UNSET_LIBRARY_PATH


_COMPAT = Fault(
    "cuda-compat-on-unsupported-hw",
    "Forward compatibility (cuda-compat) was tried on a GPU that does not support it",
    impact="CUDA answers error 804 and no program can use the GPU.",
    remedy=_off_the_path(
        "Remove the compat directory from the loader's path, so that the driver's own libcuda is found."
    ),
)
_FOREIGN = Fault(
    "driver-lib-mismatch-803",
    "CUDA refuses this pair of libcuda and kernel module (error 803)",
    impact="No CUDA program starts.",
    remedy=_off_the_path(
        "Find which libcuda programs load, and take a foreign one out of the loader's path. After an upgrade of the "
        "driver, reload its modules or reboot."
    ),
)
_STUB = Fault(
    "libcuda-stub-loaded",
    "Programs load a link-time stub instead of the driver's libcuda",
    impact="Every CUDA call fails with error 34 or finds no device.",
    remedy=_off_the_path(
        "Remove the directory with `stubs` in its name from the loader's path; then run sudo ldconfig."
    ),
)


@check(
    _COMPAT,
    layer=Layer.USER_SPACE_DRIVER,
    rank=20,
    any_of=("driver.libraries", "driver.cuda_init", "messages"),
    fix="Remove the compat directory from the loader's path, or use a newer host driver or an older image.",
    references=threads("NVIDIA/nvidia-docker#1294", "NVIDIA/nvidia-docker#1515", "gpustack/gpustack#1254"),
)
def cuda_compat_on_unsupported_hw(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """The forward-compatibility libcuda of `cuda-compat` is used on data-center GPUs only.

    NVIDIA supports it on no GeForce or workstation card; there CUDA answers error 804.
    """
    library = _first_libcuda(environment)
    if reported := _COMPAT.reported(environment, answered(environment, "cuda", "COMPAT_NOT_SUPPORTED_ON_DEVICE")):
        yield reported
    elif library is None:
        yield unknown("which libcuda would be loaded is not known", evidence=[known(environment, "driver.libraries")])
    elif not library.compat:
        yield ok("programs get the driver's own libcuda", evidence=[_library_evidence(environment, library)])
    else:
        yield _compat(environment, matrix, library)


def _compat(environment: Environment, matrix: Matrix, library: DriverLibrary) -> Outcome:
    evidence = [_library_evidence(environment, library)]
    gpus = seen_gpus(environment, matrix)
    consumer = [gpu for gpu in gpus if gpu.models and not gpu.data_center]
    if consumer:
        names = ", ".join(sorted({gpu.title for gpu in consumer}))
        return _COMPAT.found([*evidence, Evidence("gpus", names)], title=f"{_COMPAT.title}: {names}")
    if gpus and all(gpu.models for gpu in gpus):
        return ok("cuda-compat is used on data-center GPUs, as NVIDIA allows", evidence=evidence)
    return unknown("cuda-compat is in use, and the GPU's model is not known", evidence=evidence)


@check(
    _FOREIGN,
    layer=Layer.USER_SPACE_DRIVER,
    rank=30,
    any_of=("driver.libraries", "driver.cuda_init", "messages"),
    explained_by=("driver-library-mismatch", "driver-baked-into-image", "wsl-driver-inside"),
    fix="Remove the foreign libcuda; after an upgrade of the driver, reboot.",
    references=threads("NVIDIA/nvidia-docker#1256", "easydiffusion/easydiffusion#379", "llm-d/llm-d#706"),
)
def driver_lib_mismatch_803(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """The first libcuda in the loader's order has the version of the loaded kernel module.

    Another one comes from an image that ships driver libraries, a compat package newer than the driver allows, or a
    half-finished upgrade; CUDA answers error 803.
    """
    library, module = _first_libcuda(environment), environment.driver.kernel_module
    if reported := _FOREIGN.reported(environment, answered(environment, "cuda", "SYSTEM_DRIVER_MISMATCH")):
        yield reported
    elif library is None or library.version is None or not module.known:
        yield unknown("the versions of libcuda and of the kernel module are not both known")
    elif library.stub or library.compat:
        yield skip("a stub or compatibility library is loaded, which other checks look at")
    elif library.version == module.get():
        yield ok(
            f"libcuda and kernel module are both {module.get()}", evidence=[_library_evidence(environment, library)]
        )
    else:
        yield _FOREIGN.found(
            [_library_evidence(environment, library), known(environment, "driver.kernel_module")],
            title=f"Programs load libcuda {library.version}, the kernel module is {module.get()}",
            impact="CUDA answers error 803 or finds no device.",
        )


@check(
    _STUB,
    layer=Layer.USER_SPACE_DRIVER,
    rank=10,
    any_of=("driver.libraries", "driver.cuda_init", "messages"),
    fix="Remove the stubs directory from LD_LIBRARY_PATH and from the loader's configuration.",
    references=threads("NixOS/nixpkgs#293320"),
)
def libcuda_stub_loaded(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """The loader finds the driver's libcuda, not the stub that a toolkit brings for linking.

    The stub has the same name inside (libcuda.so.1) and answers every call with error 34.
    """
    library = _first_libcuda(environment)
    on_path = [folder for folder in _library_path(environment) if folder.endswith("/stubs")]
    if reported := _STUB.reported(environment, answered(environment, "cuda", "STUB_LIBRARY")):
        yield reported
    elif library is not None and library.stub:
        yield _STUB.found([_library_evidence(environment, library)])
    elif library is not None:
        yield ok(
            "libcuda resolves to the real driver library, not the stub",
            evidence=[_library_evidence(environment, library)],
        )
    elif on_path and environment.driver.libraries.known:
        yield unknown(
            "a stubs folder is on LD_LIBRARY_PATH; whether it holds libcuda.so.1 is not known",
            evidence=[known(environment, "variables", on_path[0])],
        )
    else:
        yield unknown("which libcuda would be loaded is not known", evidence=[known(environment, "driver.libraries")])
