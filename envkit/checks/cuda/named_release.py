"""Libraries whose names say their CUDA release: the program's build for the one that is there, or that release."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit._startup.regex import regex
from envkit.base.sentences import series
from envkit.base.versions import Version
from envkit.checks.containers.jetson_wheels import jetson_wheel
from envkit.checks.engine.ask import install_cuda, tells_framework
from envkit.checks.engine.command import NAME, REQUIREMENT, URL, VERSION, Command, run
from envkit.checks.engine.evidence import kind
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import managers
from envkit.checks.engine.messages import named, seen
from envkit.checks.engine.remedies import on_windows, remedy, steps
from envkit.checks.frameworks.built_here import built_here, named_extensions
from envkit.checks.frameworks.installs import (
    build_of,
    distribution,
    for_this_machine,
    installs,
    judged,
    named_python,
    pip,
    release,
)
from envkit.checks.gpu.gpus import seen_gpus
from envkit.model import Environment, MachineKind, PythonEnvironment
from envkit.tables.codes import limit
from envkit.tables.loader import read
from envkit.tables.pairs import PackageIndex

if TYPE_CHECKING:
    from envkit.tables import Matrix
    from envkit.tables.rows import FrameworkBuild

_ID = "libcudart-missing"
_IMPORTERS = ("detail-conv", "detail-mamba", "detail-flash", "detail-sgl")
_BY_FOLDER = {"paddle": "paddlepaddle", "mxnet": "mxnet", "tensorflow": "tensorflow"}  # imported as, called
_FOR_CUDA = regex(
    r"^(?:cudf|cuml|cugraph|rmm|raft|pylibraft|numba-cuda|cuspatial|cuxfilter)[\w-]{0,20}-cu(?P<major>1[1-9])$"
)
_WITH_BUILDS = ("mxnet", "paddlepaddle")  # whose package names tell the CUDA that each is for


def of_named_release(environment: Environment, matrix: Matrix, wanted: Version) -> Remedy:
    """What brings the libraries of CUDA `wanted`, or makes do without them."""
    if kind(environment) is MachineKind.JETSON:
        return _of_jetpack(environment, matrix, wanted)
    there = installed_toolkits(environment)
    root = f"/usr/local/cuda-{wanted}"
    if wanted in there or named(seen(environment, _ID, "detail-on-disk"), "release") == str(wanted):
        return remedy(
            environment,
            f"CUDA {wanted} is installed in {root}, and the loader does not search it, whatever a shell's variables "
            "say: add the directory for every user and service. Then start the program again.",
            "search-toolkit",
            root=root,
            folder=f"cuda-{wanted}",
        )
    name = _program(environment, matrix)
    if own := _other_build(environment, matrix, name, wanted, there):
        return own
    cudnn = _cudnn(environment, matrix, name, wanted)
    beside = f" and cuDNN {cudnn}" if cudnn else ""
    no_gpu = "" if seen_gpus(environment, matrix) else " On a machine without an NVIDIA GPU, use its CPU build."
    return Remedy(
        f"The program was built for CUDA {wanted}{beside}, and no other release has this file: install the libraries "
        f"of {wanted} next to the others and make sure that the loader finds them (for this shell), or use the "
        f"program's build for the CUDA release installed here.{_packages(name, wanted)}{no_gpu}",
        (_toolkit(wanted, cudnn), *steps(environment, "load-toolkit", root=root)),
    )


def _packages(name: str, wanted: Version) -> str:
    """How the package for another CUDA is called, where the name tells."""
    if name != "mxnet":
        return ""
    number = str(wanted).replace(".", "")
    return (
        f" MXNet's packages have their CUDA in the name, as mxnet-cu{number} has {wanted}: uninstall the old one first."
    )


def _toolkit(wanted: Version, cudnn: str) -> Command:
    with_cudnn = ("--cudnn", VERSION(cudnn)) if cudnn else ()
    return run("envkit", "install", "--cuda", VERSION(wanted), *with_cudnn, "--run")


def _of_jetpack(environment: Environment, matrix: Matrix, wanted: Version) -> Remedy:
    given = jetson_wheel(environment, matrix)
    return Remedy(
        f"The wheel was built for a JetPack with CUDA {wanted}. This board has another one, next to which no second "
        f"CUDA can be installed. {given.advice}",
        given.steps,
    )


def installed_toolkits(environment: Environment) -> set[Version]:
    """The release lines of the toolkits that the text shows."""
    toolkits = environment.cuda_toolkits.get() if environment.cuda_toolkits.known else ()
    nvcc = [environment.nvcc.get().version] if environment.nvcc.known else []
    every = (*(toolkit.version for toolkit in toolkits), *nvcc)
    return {version.release(2) for version in every if version is not None}


def _program(environment: Environment, matrix: Matrix) -> str:
    """The framework whose files load the library, '' for none of ours."""
    if named(seen(environment, _ID, "detail-mxnet"), "mxnet"):
        return "mxnet"
    folder = named(seen(environment, _ID, "detail-imported"), "program") or ""
    own = [item.framework.name for item in installs(environment) if item.framework.name != "pytorch"]
    return _BY_FOLDER.get(folder, "") or (own[0] if len(own) == 1 else "")


def _version(environment: Environment, name: str) -> Version | None:
    item = next(installs(environment, name), None) if name else None
    return release(item.framework.version) if item is not None else None


def _builds(environment: Environment, matrix: Matrix, name: str, python: PythonEnvironment) -> list[FrameworkBuild]:
    """Its builds for this Python: of the release that is named, or of every one."""
    version = _version(environment, name)
    own = python.version.release(2) if python.version is not None else None
    return [
        row
        for row in (matrix.builds(name) if name else ())
        if row.cuda is not None and for_this_machine(environment, row) and not row.yanked
        if version is None or row.version == version
        if own is None or not row.pythons or own in row.pythons
    ]


def _other_build(
    environment: Environment, matrix: Matrix, name: str, wanted: Version, there: set[Version]
) -> Remedy | None:
    """The program's build for a toolkit that is there; None where it has none."""
    python = next((each for each in judged(environment) if each.version is not None), named_python(environment))
    rows = _builds(environment, matrix, name, python) if name in _WITH_BUILDS else []
    fitting = [row for row in rows if row.package and row.cuda is not None and row.cuda.release(2) in there]
    if not fitting:
        return None
    best = max(fitting, key=lambda row: (row.version, row.cuda or Version.of(0)))
    package, _, version = (best.package or "").partition("==")
    old = f"mxnet-cu{str(wanted).replace('.', '')}" if name == "mxnet" else package
    where = ("-f", URL(best.find_links)) if best.find_links else ()
    where = ("--index-url", URL(best.index_url)) if best.index_url else where
    return Remedy(
        f"The installed {name} was built for CUDA {wanted}; {package} {version} is its build for CUDA "
        f"{best.cuda}, which is installed here. CUDA {wanted} is not needed then.",
        (
            pip(python, "uninstall", "-y", NAME(old), *(("mxnet",) if name == "mxnet" else ())),
            pip(python, "install", REQUIREMENT(best.package or ""), *where),
        ),
    )


def _cudnn(environment: Environment, matrix: Matrix, name: str, wanted: Version) -> str:
    """The major release of cuDNN that the program loads beside CUDA `wanted`, '' where that is not known."""
    if told := named(seen(environment, _ID, "detail-cudnn"), "major"):
        return told
    rows = [build_of(environment, item.framework, matrix) for item in installs(environment, name)] if name else []
    known = [row.cudnn for row in rows if row is not None and row.cuda is not None and row.cuda.release(2) == wanted]
    if not any(known) and name:
        builds = _builds(environment, matrix, name, PythonEnvironment("", None))
        known = [row.cudnn for row in builds if row.cuda is not None and row.cuda.release(2) == wanted]
    majors = {version.major for version in known if version is not None}
    return str(max(majors)) if len(majors) == 1 else ""


def of_other_cuda(environment: Environment, wanted: str, other: str) -> Remedy:
    """A package of another major CUDA than the framework next to it: compiled for that one, where it has a source."""
    names = [name for one in _IMPORTERS if (name := named(seen(environment, _ID, one), "package"))]
    extensions = named_extensions(" ".join(f"-packages/{name}/" for name in names))
    both = f"The program was built for CUDA {wanted}, the framework next to it for CUDA {other}."
    if own := _on_index(environment, [name.replace("_", "-") for name in names], both, other):
        return own
    if not extensions:
        return Remedy(f"{both} Install the program's build for the framework's CUDA, or give each its own environment.")
    return Remedy(
        f"{both} Compile {series(extensions)} for the framework's CUDA: this needs nvcc of CUDA {other}, and "
        "takes a while. A wheel of the project's release page is faster, if its name has that CUDA and torch.",
        built_here(environment, extensions),
    )


def _on_index(environment: Environment, names: list[str], both: str, other: str) -> Remedy | None:
    """The same release of the package from the index that its project has for the framework's CUDA; None without."""
    row = next((row for row in read(PackageIndex) if row.package in names and str(row.cuda.major) == other), None)
    if row is None:
        return None
    python = named_python(environment)
    item = distribution(python, row.package) or distribution(next(iter(judged(environment)), python), row.package)
    wanted = f"{row.package}=={item.version.partition('+')[0]}" if item is not None else row.package
    return Remedy(
        f"{both} The index of the project of {row.package} has it for CUDA {other}: install it from there, in place of "
        "the one from PyPI, and leave the framework as it is.",
        (
            pip(
                python,
                *("install", "--force-reinstall", "--no-deps"),
                REQUIREMENT(wanted),
                *("--index-url", URL(row.index_url)),
            ),
        ),
    )


def patched_by_poetry(environment: Environment, matrix: Matrix) -> Remedy | None:
    """Poetry takes a release's requirements from one of its wheels, and for some releases that one names none."""
    told = Version.find(named(seen(environment, _ID, "detail-poetry"), "version") or "")
    if "poetry" not in managers(environment):
        return None
    if told is None:
        return _by_poetry(matrix) if tells_framework(environment, matrix, seen(environment, _ID)) else None
    rows = sorted(
        (row for row in matrix.builds("pytorch") if row.version.release(2) == told.release(2)),
        key=lambda row: row.version,
    )
    others = [row for row in rows if row.version > told] or [row for row in rows if row.version < told]
    if not others:
        return None
    words = tuple(map(REQUIREMENT, (f"torch=={others[0].version}", *others[0].companions)))
    return Remedy(
        f"torch {told} is installed without the wheels of CUDA's libraries: the metadata that Poetry read for it names "
        f"none. {others[0].version} names them; nothing has to be set in LD_LIBRARY_PATH.",
        (
            run("poetry", "add", *words),
            run("poetry", "run", "python", "-c", "import torch; print(torch.version.cuda, torch.cuda.is_available())"),
        ),
    )


def _by_poetry(matrix: Matrix) -> Remedy:
    """The same where nobody says which release Poetry chose: a range lets it take one without its requirements."""
    first, last = limit("poetry-torch-without-cuda"), limit("poetry-torch-without-cuda-last")
    rows = sorted((row for row in matrix.builds("pytorch") if row.version > last), key=lambda row: row.version)
    words = tuple(map(REQUIREMENT, (f"torch=={rows[0].version}", *rows[0].companions)))
    return Remedy(
        f"Poetry takes a release's requirements from one of its wheels, and those that it reads for torch {first} and "
        f"{last} name none of the wheels of CUDA's libraries, so torch is there without them. The first command prints "
        "the release that is installed. If it is one of these, the second installs one whose metadata is complete, and "
        "the third has to print a CUDA version. Nothing has to be set in LD_LIBRARY_PATH. If it is another release, "
        "the lock file was made with one of these: run poetry lock, then poetry install --sync.",
        (
            run("poetry", "show", "torch"),
            run("poetry", "add", *words),
            run("poetry", "run", "python", "-c", "import torch; print(torch.version.cuda, torch.cuda.is_available())"),
        ),
    )


def toolkit_of_wheels(environment: Environment, matrix: Matrix) -> Remedy | None:
    """For a program that opens a library by its plain name: the newest toolkit of the CUDA that its packages are
    for."""
    names = [item.name for python in judged(environment) for item in python.distributions]
    majors = {match["major"] for name in names if (match := _FOR_CUDA.search(name))}
    most = environment.driver.driver_cuda_version.value
    if len(majors) != 1 or on_windows(environment):
        return None
    rows = [row.version for row in matrix.toolkits if str(row.version.major) in majors]
    fitting = [version for version in rows if most is None or version.major < most.major or version.release(2) <= most]
    if not fitting:
        return None
    version = max(fitting).release(2)
    return Remedy(
        f"The program opens the library by its unversioned name, which only a toolkit provides; its packages are for "
        f"CUDA {next(iter(majors))}: install the newest toolkit of that line, which this driver runs, and let the "
        "loader find it (in this shell; to make this permanent, also in ~/.bashrc). Newer releases of these packages "
        "may not need it.",
        (*install_cuda(environment, version), *steps(environment, "load-toolkit", root=f"/usr/local/cuda-{version}")),
    )
