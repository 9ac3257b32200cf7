"""The cuDNN wheel that a program asks for by its major release, brought without taking away a framework's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.base.versions import Version
from envkit.checks.cuda.dll_folders import ON_PATH, dll_by_hand, in_toolkit, print_folders
from envkit.checks.cuda.plain_cudnn import by_plain_name
from envkit.checks.engine.command import (
    NUMBER,
    PATH,
    PYTHON,
    REQUIREMENT,
    SAFE_WORD,
    VERSION,
    Command,
    run,
)
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import managed_by
from envkit.checks.engine.messages import named, seen
from envkit.checks.engine.remedies import on_windows, remedy, steps
from envkit.checks.frameworks.installs import build_of, cuda_majors, installs, pip, possible_builds
from envkit.model import Distribution, Environment, PythonEnvironment
from envkit.tables.codes import limit
from envkit.tables.loader import read
from envkit.tables.source_stops import SystemCudnn

if TYPE_CHECKING:
    from envkit.tables import Matrix
    from envkit.tables.rows import CudnnRelease

_FAMILY = "nvidia-cudnn-cu"


def of_module(environment: Environment) -> Remedy | None:
    """Where a cluster's module of cuDNN is loaded and the loader does not find it all the same; otherwise None."""
    told = seen(environment, "tf-cannot-dlopen", "detail-module", "detail-listed-module")
    module = named(told, "module")
    if module is None or not managed_by(environment, "modules"):
        return None
    return Remedy(
        f"The module {module} is loaded, but its directory is not in LD_LIBRARY_PATH, where the program looks: a "
        "module that is loaded after it (such as cuda) can take it away. In the job script, load cuDNN's module "
        "last, before the environment is activated; the third command then prints cuDNN's directory. If it "
        'does not, module show prints the directory: add export LD_LIBRARY_PATH="DIRECTORY/lib:$LD_LIBRARY_PATH" '
        "to the job script, and tell the administrators. No package has to be installed.",
        (
            run("module", "unload", SAFE_WORD(module)),
            run("module", "load", SAFE_WORD(module)),
            run("printenv", "LD_LIBRARY_PATH"),
            run("module", "show", SAFE_WORD(module)),
        ),
    )


def installed_wheels(python: PythonEnvironment) -> list[Distribution]:
    """The wheels of cuDNN that are installed, of whichever CUDA."""
    return [item for item in python.distributions if item.name.startswith(_FAMILY)]


def outdated_wheel(python: PythonEnvironment, built: Version | None) -> Distribution | None:
    """The environment's own wheel where it is older than the cuDNN that a framework was built with."""
    wheel = next(iter(installed_wheels(python)), None)
    own = Version.find(wheel.version) if wheel is not None else None
    return wheel if own is not None and built is not None and own.release(2) < built.release(2) else None


def newer_wheel(python: PythonEnvironment, wheel: Distribution, built: Version) -> Remedy:
    """No path helps where the wheel itself is the old one: cuDNN has to be as new, and of the same major release."""
    bound = f">={built.release(2)},<{built.major + 1}"
    return Remedy(
        f"The environment's own {wheel.name} {wheel.version} is the old one, and no loader's path changes that: the "
        f"framework needs {wheel.name}{bound}. If another package pins an older one, give the two separate "
        "environments.",
        (pip(python, "install", REQUIREMENT(f"{wheel.name}{bound}")),),
    )


def cudnn_remedy(environment: Environment, matrix: Matrix, python: PythonEnvironment | None, major: str) -> Remedy:
    """The newest wheel of that major release for the CUDA in use: next to another cuDNN, in a folder of its own.

    All wheels write one folder, so that installing cuDNN 8 takes away the cuDNN 9 that a framework in the same
    environment loads.
    """
    wheels = [row for row in matrix.cudnns if row.pip_package and str(row.soname_major) == major]
    if not major:
        return by_plain_name(environment, matrix)
    if there := _in_folder(environment, major) or in_toolkit(environment) or _removed_by_uv(environment):
        return there
    if newer := _newer_program(environment, matrix, python, major):
        return newer
    known = (
        _cuda_of_program(environment, python, major)
        or _cuda_in_use(python)
        or _cuda_of_releases(environment, matrix, python)
        or _cuda_of_toolkits(environment)
    )
    cuda = known or str(limit("cuda-of-most-programs"))
    if not any((row.pip_package or "").startswith(f"{_FAMILY}{cuda}=") for row in wheels):
        if on_windows(environment) or named(seen(environment, "cudnn-missing"), "dll"):
            return dll_by_hand(environment, matrix, major)
        return Remedy(f"Install cuDNN {major} on the system: no wheel provides it.", _system_cudnn(major))
    executable = (python.executable if python is not None else "") or "python"
    doubt = "" if known else f" This wheel is for programs built for CUDA {cuda}."
    wheel = run(PYTHON(executable), "-m", "pip", "install", REQUIREMENT(f"{_FAMILY}{cuda}=={major}.*"))
    if on_windows(environment):
        return Remedy(
            f"Install cuDNN {major} into this environment; cuBLAS, which it and the program need, comes with "
            f"it.{doubt} {ON_PATH}",
            (wheel, print_folders(executable)),
        )
    if python is not None and _holds(python, major) and _of_frameworks(environment, matrix, python) <= {int(major)}:
        return Remedy(
            f"Install cuDNN {major} into this environment, and make sure the loader finds it: PyTorch looks inside "
            f"the wheels on its own, but other programs search only the loader's path.{doubt} The last two commands "
            "are needed in each shell, or as ENV in an image.",
            (wheel, *steps(environment, "wheel-libraries", python=executable)),
        )
    advice = (
        f"Install cuDNN {major} in a separate directory for this program, so that other frameworks keep the cuDNN "
        f"they were built with.{doubt} The second command applies to this shell only."
    )
    return remedy(environment, advice, "cudnn-apart", python=executable, cuda=cuda, major=major)


def _in_folder(environment: Environment, major: str) -> Remedy | None:
    """Where the text shows the folder of the wheel that holds this cuDNN: the loader only has to look there."""
    told = seen(environment, "cudnn-missing", "detail-wheel-folder")
    fitting = next((message for message in told if message.values["major"] == major), None)
    root = PATH(fitting.values["root"]) if fitting is not None else None
    if not isinstance(root, str) or on_windows(environment):
        return None
    return remedy(
        environment,
        f"cuDNN {major} is there, in {root}/cudnn/lib, and nothing has to be installed: the loader does not look "
        "there. PATH is for programs; libraries are found by LD_LIBRARY_PATH. Set it in the shell that starts the "
        "program (to make it permanent, add the line to ~/.bashrc), with cuBLAS of the same wheels next to it.",
        "wheels-at",
        root=root,
    )


def _newer_program(
    environment: Environment, matrix: Matrix, python: PythonEnvironment | None, major: str
) -> Remedy | None:
    """A release of the program that loads the cuDNN which the torch beside it brings, where the installed one does not.

    An older cuDNN would have to come from elsewhere, and stays in the way of the torch's own.
    """
    row = next((row for row in read(SystemCudnn) if row.package == _is_used(environment, python)), None)
    brought = _of_frameworks(environment, matrix, python) if python is not None else set()
    if row is None or python is None or brought != {row.cudnn} or not major.isdigit() or int(major) >= row.cudnn:
        return None
    kept = [build.version for build in matrix.builds("pytorch") if build.cudnn and build.cudnn.major == int(major)]
    last = f" Or keep it, and install PyTorch {max(kept)}, the last release with cuDNN {major}." if kept else ""
    return Remedy(
        f"Upgrade {row.package}: {row.since} and newer load cuDNN {row.cudnn}, which the installed PyTorch brings; "
        f"older releases load cuDNN {major}, which it does not have. If a package such as WhisperX requires an older "
        f"{row.package}, upgrade that package too.{last}",
        (
            run(
                PYTHON(python.executable or "python"),
                "-m",
                "pip",
                "install",
                REQUIREMENT(f"{row.package}>={row.since}"),
            ),
        ),
    )


def _cuda_of_program(environment: Environment, python: PythonEnvironment | None, major: str) -> str:
    """The CUDA of a program that loads this cuDNN from the system, whatever the torch beside it is built for."""
    row = next((row for row in read(SystemCudnn) if row.package == _is_used(environment, python)), None)
    same = row is not None and major.isdigit() and int(major) >= row.cudnn
    return str(limit("cuda-of-most-programs")) if same else ""


def _removed_by_uv(environment: Environment) -> Remedy | None:
    """Where uv sync took torch's wheels of CUDA away, as the lock file does not list them; otherwise None."""
    if not seen(environment, "cudnn-missing", "detail-uv-removed"):
        return None
    return Remedy(
        "uv sync makes the environment match uv.lock, which does not list the wheels of CUDA's libraries that torch "
        "needs, so it removed all of them; cuDNN is only the first that is missed. The first command installs them "
        "again. Then lock torch again, so that the lock file lists them (second command; the third must keep them). If "
        "uv still removes them, the project's index or override hides torch's requirements: until that is corrected, "
        "run uv sync --inexact, which removes nothing.",
        (
            run("uv", "pip", "install", "-e", "."),
            run("uv", "lock", "--upgrade-package", "torch"),
            run("uv", "sync"),
        ),
    )


def _is_used(environment: Environment, python: PythonEnvironment | None) -> str:
    """The package that loads cuDNN from the system, by the installed packages or by words of the text; otherwise ''."""
    rows = {row.package: row.through or row.package for row in read(SystemCudnn)}
    names = [item.name for item in python.distributions] if python is not None else []
    there = next((rows[name] for name in names if name in rows), "")
    told = seen(environment, "cudnn-missing", "detail-ctranslate2", "detail-whisper")
    return there or (next(iter(rows.values()), "") if told else "")


def _of_frameworks(environment: Environment, matrix: Matrix, python: PythonEnvironment) -> set[int]:
    """The major releases of cuDNN that the environment's frameworks bring, by every build that they may be."""
    found = set[int]()
    for framework in python.frameworks:
        rows = possible_builds(environment, framework, matrix)
        found |= {row.cudnn.major for row in rows if row.cudnn is not None and row.bundles_cuda}
    return found


def cudnn_for_build(
    environment: Environment, matrix: Matrix, python: PythonEnvironment | None, built: Version | None
) -> Remedy:
    """The newest wheel of the major release of a build's cuDNN, for the newest CUDA that this cuDNN was made for.

    In a folder of its own: a framework without wheels of cuDNN finds it by the loader's path alone.
    """
    rows = [row for row in matrix.cudnns if built is not None and row.version.starts_with(built.release(2))]
    made = {str(row.cuda.major) for row in rows}
    wheels = {row.pip_package.partition("=")[0] for row in matrix.cudnns if row.pip_package}
    fitting = sorted(cuda for cuda in made if f"{_FAMILY}{cuda}" in wheels)
    if built is None or not fitting:
        advice = "Upgrade that cuDNN, within the build's major version, to a release that is at least as new."
        line = _cuda_line(environment, matrix, rows) if built is None or len(built.parts) > 1 else None
        if built is not None and line is None:
            return remedy(
                environment,
                f"The program was built with cuDNN {built.major}. Install it for the CUDA that the program was built "
                f"for (the first command lists what is here): envkit install --cuda X.Y --cudnn {built.major} --run, "
                "X.Y being that CUDA. It goes into that toolkit's directory, and other programs keep theirs. Then put "
                "/usr/local/cuda-X.Y/lib64 first in LD_LIBRARY_PATH where the program starts. The last command lists "
                "each cuDNN that the loader knows; the old one may stay.",
                "list-toolkits-and-cudnn",
            )
        if line is None or built is None:
            return Remedy(advice)
        return Remedy(
            f"{advice} The second line applies to this shell only.",
            (
                run("envkit", "install", "--cuda", VERSION(line), "--cudnn", VERSION(built.release(2)), "--run"),
                *steps(environment, "load-toolkit", root=f"/usr/local/cuda-{line}"),
            ),
        )
    executable = (python.executable if python is not None else "") or "python"
    advice = (
        f"Make programs load a newer cuDNN {built.major} before that one; this needs no administrator rights, and "
        "other programs keep their own. The second command applies to this shell only."
    )
    return remedy(environment, advice, "cudnn-apart", python=executable, cuda=fitting[-1], major=built.major)


def _cuda_line(environment: Environment, matrix: Matrix, rows: list[CudnnRelease]) -> Version | None:
    """The CUDA of the installed framework's build, where that cuDNN was made for it."""
    built = (build_of(environment, item.framework, matrix) for item in installs(environment))
    lines = {row.cuda.release(2) for row in built if row is not None and row.cuda is not None}
    toolkits = environment.cuda_toolkits.get() if environment.cuda_toolkits.known else ()
    lines = lines or {toolkit.version.release(2) for toolkit in toolkits}
    if not lines:  # the newest that this cuDNN was made for, which knows the most GPUs
        return max((row.cuda.release(2) for row in rows), default=None)
    fitting = [line for line in lines if any(row.cuda == line for row in rows)]
    return fitting[0] if len(fitting) == 1 else None


def _holds(python: PythonEnvironment, major: str) -> bool:
    """True where the environment's packages are listed and none provides or asks for a cuDNN of another major
    release."""
    lines = [line.replace(" ", "") for item in python.distributions for line in item.requires]
    lines += [f"{item.name}=={item.version}" for item in installed_wheels(python)]
    others = [line for line in lines if line.startswith(_FAMILY) and f"=={major}." not in line]
    return bool(python.distributions) and not others


def _cuda_in_use(python: PythonEnvironment | None) -> str:
    """The CUDA of the environment's frameworks, otherwise of its wheels of CUDA libraries; '' where neither is
    there."""
    if python is None:
        return ""
    wheels = {item.name.rpartition("-cu")[2] for item in python.distributions if item.name.startswith("nvidia-cu")}
    found = cuda_majors(python) or {family for family in wheels if family.isdigit()}
    return found.pop() if len(found) == 1 else ""


def _cuda_of_releases(environment: Environment, matrix: Matrix, python: PythonEnvironment | None) -> str:
    """The CUDA that the releases of the environment's frameworks are built for; '' where they differ or none is
    known."""
    found = set()
    for framework in python.frameworks if python is not None else ():
        told = Version.find(framework.version)
        rows = [row for row in matrix.builds(framework.name) if told is not None and row.version.starts_with(told)]
        found |= {str(row.cuda.major) for row in rows if row.cuda is not None and not row.index_url}
    return found.pop() if len(found) == 1 else ""


def _cuda_of_toolkits(environment: Environment) -> str:
    """The CUDA of the toolkits that are installed, where they are of one major release; otherwise ''."""
    toolkits = environment.cuda_toolkits.get() if environment.cuda_toolkits.known else ()
    majors = {str(toolkit.version.major) for toolkit in toolkits}
    return majors.pop() if len(majors) == 1 else ""


def _system_cudnn(major: str) -> tuple[Command, ...]:
    return (run("envkit", "install", "--cudnn", NUMBER(major), "--run"),)
