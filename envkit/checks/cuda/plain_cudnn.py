"""libcudnn.so, which some programs open by exactly this name, and which runtime packages do not bring."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.base.versions import Version
from envkit.checks.cuda.dll_folders import which_dll
from envkit.checks.cuda.named_release import installed_toolkits
from envkit.checks.engine.command import IMAGE_NAME, PATH, export, run
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.loader_path import library_path
from envkit.checks.engine.managers import managed_by
from envkit.checks.engine.messages import seen
from envkit.checks.engine.remedies import on_windows, remedy
from envkit.checks.frameworks.installs import installs, possible_builds
from envkit.model import Environment

if TYPE_CHECKING:
    from envkit.tables import Matrix
    from envkit.tables.rows import FrameworkBuild

_LOCAL = "local"  # of /usr/local


def by_plain_name(environment: Environment, matrix: Matrix) -> Remedy:
    """For who opens libcudnn.so itself, which is a link that the runtime packages do not bring."""
    if seen(environment, "cudnn-missing", "detail-first-tensorflow"):
        return remedy(
            environment,
            "The first releases of TensorFlow open libcudnn.so.6.5, which is cuDNN v2: v3 and later have other file "
            "names and interfaces, so a link to one of them does not help. Download cuDNN v2 for Linux from NVIDIA's "
            "archive (https://developer.nvidia.com/rdp/cudnn-archive), and unpack it into a directory of its own, so "
            "that other programs keep theirs; then put that first for TensorFlow (in each shell). Or install a newer "
            "TensorFlow, with the CUDA and cuDNN that its release notes name.",
            "cudnn-v2",
        )
    if on_windows(environment):
        return which_dll(environment, matrix, _major_of_builds(environment, matrix))
    if here := in_conda(environment) or _misspelled(environment) or _of_runtime_image(environment):
        return here
    first = _first(environment, matrix)
    return remedy(
        environment,
        "The program opens libcudnn.so, by exactly this name, in the directories of LD_LIBRARY_PATH. The first command "
        "looks for cuDNN and prints what it finds; the next two create a link of that name in your home directory and "
        "let the loader find it, in this shell (to make this permanent, add the last two lines to ~/.bashrc). If "
        f"nothing is printed, cuDNN is not installed: install it first ({first}).",
        "link-cudnn",
    )


def _builds(environment: Environment, matrix: Matrix) -> list[FrameworkBuild]:
    """What the installed frameworks may be, of the CUDA that is there if one of them is for it."""
    rows = [row for item in installs(environment) for row in possible_builds(environment, item.framework, matrix)]
    known = [row for row in rows if row.cuda is not None and row.cudnn is not None]
    there = installed_toolkits(environment)
    return [row for row in known if row.cuda is not None and row.cuda.release(2) in there] or known


def _major_of_builds(environment: Environment, matrix: Matrix) -> str:
    """The major release of cuDNN that the installed framework opens, '' where its builds differ."""
    majors = {str(row.cudnn.major) for row in _builds(environment, matrix) if row.cudnn is not None}
    return majors.pop() if len(majors) == 1 else ""


def _first(environment: Environment, matrix: Matrix) -> str:
    """How cuDNN is installed for the framework, as far as its build is known."""
    lines = {row.cuda.release(2) for row in _builds(environment, matrix) if row.cuda is not None}
    major = _major_of_builds(environment, matrix)
    if major and len(lines) == 1:
        return f"envkit install --cuda {lines.pop()} --cudnn {major} --run"
    if major:
        return f"envkit install --cuda X.Y --cudnn {major} --run, X.Y being the CUDA of the program's build"
    spans = _spans(_builds(environment, matrix))
    return "; ".join(spans) if spans else "the major version that the program's documentation names"


def _spans(rows: list[FrameworkBuild]) -> list[str]:
    """For which CUDA a framework's builds open which cuDNN."""
    lines: dict[int, set[Version]] = {}
    for row in rows:
        if row.cuda is not None and row.cudnn is not None:
            lines.setdefault(row.cudnn.major, set()).add(row.cuda.release(2))
    return [
        f"cuDNN {major} for its builds for CUDA {min(found)} to {max(found)}" for major, found in sorted(lines.items())
    ]


def _misspelled(environment: Environment) -> Remedy | None:
    """A directory of LD_LIBRARY_PATH with the letters of /usr/local in another order; None without one."""
    for folder in library_path(environment):
        parts = folder.split("/")
        second = parts[2] if len(parts) > 2 and parts[1] == "usr" else ""
        if second != _LOCAL and sorted(second) == sorted(_LOCAL):
            right = "/".join(("", "usr", _LOCAL, *parts[3:]))
            return Remedy(
                f"LD_LIBRARY_PATH has a typo: {folder} does not exist, and it should be {right}. Nothing has to be "
                "installed. Set it right in this shell, correct the line that sets it (grep -n LD_LIBRARY_PATH "
                "~/.bashrc ~/.profile), and start the program again. The second command lists cuDNN's files there.",
                (
                    export("LD_LIBRARY_PATH", PATH(":".join(library_path(environment)).replace(folder, right))),
                    run("ls", "-l", PATH(right)),
                ),
            )
    return None


def _of_runtime_image(environment: Environment) -> Remedy | None:
    """The devel flavor of NVIDIA's image: the runtime one has none of the plain names that the program opens."""
    if not seen(environment, "cudnn-missing", "detail-runtime-image"):
        return None
    return Remedy(
        "The program opens CUDA's libraries by their plain names (libcudnn.so, then libcublas.so and others), which "
        "the runtime images do not have: their files end in a version number. Change the FROM line to the devel flavor "
        "of the same image (the first command does, in the Dockerfile's directory), add ENV "
        "LD_LIBRARY_PATH=/usr/lib/x86_64-linux-gnu:/usr/local/cuda/lib64 after it, and build the image again under the "
        "name that you start. The last command has to print the file.",
        (
            run("sed", "-i.bak", "/^FROM/s/-runtime/-devel/", "Dockerfile"),
            run("docker", "build", "-t", IMAGE_NAME, "."),
            run("docker", "run", "--rm", "--entrypoint", "find", IMAGE_NAME, "/usr", "-name", "libcudnn.so"),
        ),
    )


def in_conda(environment: Environment) -> Remedy | None:
    """Where the conda environment has cuDNN, and its directory is not on the loader's path; otherwise None."""
    if not (managed_by(environment, "conda") and seen(environment, "cudnn-missing", "detail-in-conda")):
        return None
    return remedy(
        environment,
        "cuDNN is in the conda environment, whose lib directory the program does not search: let the loader look "
        "there first, in each shell, after the environment is activated (to make this permanent: conda env config "
        "vars set LD_LIBRARY_PATH=DIRECTORY, with what the second command prints). Then start the program again in "
        "the same shell.",
        "conda-lib-first",
        "print-loader-path",
    )
