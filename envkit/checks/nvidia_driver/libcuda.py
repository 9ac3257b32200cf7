"""Which libcuda a program would get: the driver's own, a compatibility copy, a foreign one or a link-time stub."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from envkit.checks.engine.evidence import known
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Evidence, Outcome, Remedy, ok, skip, unknown
from envkit.checks.engine.loader_path import dropping, folder_of, library_path, without_folders
from envkit.checks.engine.managers import in_image
from envkit.checks.engine.messages import named, seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.engine.remedies import remedy, steps
from envkit.checks.gpu.gpus import seen_gpus
from envkit.checks.nvidia_driver.compat_images import newer_than_the_driver
from envkit.checks.nvidia_driver.driver_state import answered, cuda_works
from envkit.checks.nvidia_driver.newer_driver import newest_kept
from envkit.model import DriverLibrary, Environment

if TYPE_CHECKING:
    from envkit.tables import Matrix


def _first_libcuda(environment: Environment) -> DriverLibrary | None:
    """The libcuda that the loader takes: one on LD_LIBRARY_PATH, otherwise the one of its cache, otherwise the first
    found."""
    observed = environment.driver.libraries
    candidates = [item for item in observed.get() if item.name.startswith("libcuda.so")] if observed.known else []
    folders = library_path(environment)
    for folder in folders:
        for library in candidates:
            if folder_of(library.path) == folder:
                return library
    cached = [library for library in candidates if library.in_ld_cache]
    plain = [library for library in candidates if library.in_ld_cache is None and not library.stub]
    return next(iter(cached or sorted(plain, key=lambda library: library.compat)), None)


def _library_evidence(environment: Environment, library: DriverLibrary) -> Evidence:
    version = f" ({library.version})" if library.version else ""
    return Evidence("driver.libraries", f"{library.path}{version}", environment.driver.libraries.source)


def _off_the_path(advice: str, sign: str = "") -> Callable[[Environment, Matrix], Remedy]:
    """The remedy that takes the folder of the libcuda that is loaded out of the loader's path, and no other folder."""

    def given(environment: Environment, matrix: Matrix) -> Remedy:
        library = _first_libcuda(environment)
        folder = folder_of(library.path) if library is not None else ""
        if folder in library_path(environment) or (sign and library is None):
            return without_folders(environment, advice, (folder,), sign)
        if sign:  # the variable or a file of the loader lists it
            off = dropping(environment, (), sign)
            return Remedy(advice, (*off, *steps(environment, "drop-compat-files"), *steps(environment, "find-libcuda")))
        return remedy(environment, advice, "find-libcuda")

    return given


_NO_COMPAT = _off_the_path(
    "Remove the compat directory from the loader's path, so that the loader finds the driver's libcuda; the last "
    "command must show no compat directory. Change files in /etc/ld.so.conf.d as root; in a container, do it there, "
    "and for good by a RUN instruction in its Dockerfile. Or install a driver (on the container's host) that supports "
    "this CUDA: then nothing has to be removed.",
    "compat",
)


def _without_compat(environment: Environment, matrix: Matrix) -> Remedy:
    """In an image by its Dockerfile: what a shell of the host exports does not get there."""
    if newer := newer_than_the_driver(environment, matrix):
        return newer
    if in_image(environment):
        return remedy(
            environment,
            "The image's CUDA is newer than the host's driver, and its cuda-compat package, which is to make up for "
            "that, only works on data-center GPUs. The lasting fix is a newer driver on the host: branch "
            f"{newest_kept(environment, matrix)} (Ubuntu: sudo apt-get install nvidia-driver-"
            f"{newest_kept(environment, matrix)}, then a reboot); the image then works as it is. If you cannot change "
            "the host, build an image without that package, as below, and start that one: with a driver of the same "
            "CUDA major version, programs usually run. Otherwise, use the last image release that worked.",
            "image-without-compat",
        )
    return _NO_COMPAT(environment, matrix)


_OTHER_COPY = _off_the_path(
    "Find out which libcuda programs load, and remove any other copy from the loader's path. After a driver upgrade, "
    "reload the modules or reboot."
)


def _one_libcuda(environment: Environment, matrix: Matrix) -> Remedy:
    """Where an image's own variable puts the libcuda of cuda-compat first, its Dockerfile is what to change."""
    folder = named(seen(environment, "driver-lib-mismatch-803", "detail-compat-first"), "folder")
    listed = named(seen(environment, "driver-lib-mismatch-803", "detail-compat-listed"), "folder")
    if folder is None and listed and in_image(environment):
        return Remedy(
            f"The image's loader finds {listed}/libcuda.so.1 first, which is of another release than the host's "
            "driver, although the host's newer libcuda is there as well; nothing has to change on the host. Let the "
            "host's come first: set this variable for the container (docker run -e, environment of a compose file, env "
            "of a pod or of the model's deployment). For good, remove the file of /etc/ld.so.conf.d that lists the "
            "compat folder, in a RUN instruction of an image that is made from this one.",
            steps(environment, "host-libcuda-first"),
        )
    if folder is None:
        return _OTHER_COPY(environment, matrix)
    return remedy(
        environment,
        f"The image's LD_LIBRARY_PATH starts with {folder}: its libcuda is loaded instead of the host driver's, which "
        f"is from a different release. In the Dockerfile, remove {folder} from the ENV LD_LIBRARY_PATH line, and "
        "rebuild the image; nothing changes on the host. The command tests it first, in the container or before the "
        "entry point's program.",
        "drop-folders",
        sign="compat",
    )


_COMPAT = Fault(
    "cuda-compat-on-unsupported-hw",
    "Forward compatibility (cuda-compat) is in use on a GPU that does not support it",
    impact="CUDA returns error 804, and no program can use the GPU.",
    remedy=_without_compat,
)
_FOREIGN = Fault(
    "driver-lib-mismatch-803",
    "CUDA error 803: libcuda and the kernel module do not match",
    impact="No CUDA program starts.",
    remedy=_one_libcuda,
)
_STUB = Fault(
    "libcuda-stub-loaded",
    "Programs load a link-time stub instead of the driver's libcuda",
    impact="Every CUDA call fails with error 34 or finds no device.",
    remedy=_off_the_path(
        "Remove the directory with `stubs` in its name from the loader's path. If a file in /etc/ld.so.conf.d lists "
        "it, delete that line and run sudo ldconfig.",
        "stubs",
    ),
)


@check(
    _COMPAT,
    layer=Layer.USER_SPACE_DRIVER,
    rank=20,
    any_of=("driver.libraries", "driver.cuda_init", "messages"),
    explained_by=("driver-library-mismatch",),
    fix="Remove the compat directory from the loader's path, or use a newer host driver or an older image.",
    references=threads("NVIDIA/nvidia-docker#1294", "NVIDIA/nvidia-docker#1515", "gpustack/gpustack#1254"),
)
def cuda_compat_on_unsupported_hw(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """The forward-compatibility libcuda of `cuda-compat` is used only on data-center GPUs.

    NVIDIA does not support it on GeForce cards or on most workstation cards; on those, CUDA returns error 804.
    """
    library = _first_libcuda(environment)
    if reported := _COMPAT.reported(environment, answered(environment, "cuda", "COMPAT_NOT_SUPPORTED_ON_DEVICE")):
        yield reported
    elif library is None:
        yield unknown("cannot tell which libcuda would be loaded", evidence=[known(environment, "driver.libraries")])
    elif library.compat and environment.pasted and cuda_works(environment):
        yield ok("CUDA starts with what the input shows", evidence=[known(environment, "driver.cuda_init")])
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
    fix="Remove the extra libcuda; after a driver upgrade, reboot.",
    references=threads("NVIDIA/nvidia-docker#1256", "easydiffusion/easydiffusion#379", "llm-d/llm-d#706"),
)
def driver_lib_mismatch_803(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """The first libcuda in loader order has the version of the loaded kernel module.

    A different one comes from an image that includes driver libraries, a compat package that is newer than the driver
    allows, or an incomplete upgrade; CUDA then returns error 803.
    """
    library, module = _first_libcuda(environment), environment.driver.kernel_module
    if reported := _FOREIGN.reported(environment, answered(environment, "cuda", "SYSTEM_DRIVER_MISMATCH")):
        yield reported
    elif library is None or library.version is None or not module.known:
        yield unknown("cannot tell the versions of libcuda and the kernel module")
    elif library.stub or library.compat:
        yield skip("a stub or compatibility library is loaded; other checks cover that")
    elif library.version == module.get():
        yield ok(
            f"libcuda and kernel module are both {module.get()}", evidence=[_library_evidence(environment, library)]
        )
    else:
        yield _FOREIGN.found(
            [_library_evidence(environment, library), known(environment, "driver.kernel_module")],
            title=f"Programs load libcuda {library.version}, but the kernel module is {module.get()}",
            impact="CUDA returns error 803 or finds no device.",
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
    """The loader finds the driver's libcuda, not the stub that a toolkit provides for linking.

    The stub has the same soname (libcuda.so.1) and returns error 34 for every call.
    """
    library = _first_libcuda(environment)
    on_path = [folder for folder in library_path(environment) if folder.endswith("/stubs")]
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
            "a stubs directory is on LD_LIBRARY_PATH; whether it contains libcuda.so.1 is not known",
            evidence=[known(environment, "variables", on_path[0])],
        )
    else:
        yield unknown("cannot tell which libcuda would be loaded", evidence=[known(environment, "driver.libraries")])
