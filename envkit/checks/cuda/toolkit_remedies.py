"""Which toolkit a build is to use, where the text shows it: a wrong variable, no root, two of them on the paths."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit._startup.regex import regex
from envkit.base.versions import Version
from envkit.checks.engine.ask import tells_framework
from envkit.checks.engine.command import IMAGE_NAME, PATH, export, fixed, run
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.loader_path import library_path
from envkit.checks.engine.managers import QUEUES, managed_by
from envkit.checks.engine.messages import named, seen
from envkit.checks.engine.remedies import on_windows, remedy, steps
from envkit.model import Environment
from envkit.tables.loader import read
from envkit.tables.rows import Runfile

if TYPE_CHECKING:
    from envkit.tables import Matrix

DEFAULT_LINK = "/usr/local/cuda"
_OF_CMAKE = ("cmake-compiler", "cmake-no-compiler", "cmake-package", "cmake-none", "cmake-find-cuda", "cmake-notfound")
_IN_NAME = regex(r"cuda-(?P<release>\d{1,2}\.\d)")


_WITHOUT_SUDO = (
    "The toolkit is installed, and your own shell finds it; sudo replaces PATH, so what runs under it does not. Run "
    "the same command without sudo (if an earlier try with sudo left files that you may not write: sudo chown -R $USER "
    ". in this directory). Only if it has to write to directories of the system, hand the variables over: sudo env "
    'PATH="$PATH" LD_LIBRARY_PATH="$LD_LIBRARY_PATH", then the command. The line below shows that sudo then finds nvcc.'
)


def at_another_place(environment: Environment) -> Remedy | None:
    """The remedy where the toolkit is there under a wrong name, or may not be installed for everybody; otherwise
    None."""
    if elsewhere := from_list(environment) or of_runtime_image(environment):
        return elsewhere
    if seen(environment, "toolkit-missing", "detail-sudo"):
        return remedy(environment, _WITHOUT_SUDO, "sudo-with-path")
    if managed_by(environment, "no-root", *QUEUES):
        return _without_root(environment)
    return None


def from_list(environment: Environment) -> Remedy | None:
    """The remedy where CUDA_HOME is a list of directories, so that no file below it is found; otherwise None."""
    home = named(seen(environment, "toolkit-missing", "colon", "detail-colon", "home-is-list"), "home")
    if home:
        return remedy(
            environment,
            "The toolkit is installed, but CUDA_HOME contains a colon, as if it were a list. Set it to one directory, "
            "correct the line that sets it (grep -n CUDA_HOME ~/.bashrc ~/.profile), delete the partial "
            "build, and start the program again.",
            "use-toolkit",
            "drop-built",
            root=home,
        )
    return None


def of_runtime_image(environment: Environment) -> Remedy | None:
    """The devel flavor of the image that the text builds on, where it is the runtime one; otherwise None."""
    image = named(seen(environment, "toolkit-missing", "detail-runtime-image"), "image")
    if image is None:
        return None
    return Remedy(
        f"{image} is the runtime flavor, which contains CUDA's libraries but no nvcc. Change the FROM line to the "
        "devel flavor of the same release (the first command does, in the Dockerfile's directory), add ENV "
        "CUDA_HOME=/usr/local/cuda after it, and build the image again under the name that you start. The last "
        "command then prints nvcc's release. Nothing has to be installed in the running container.",
        (
            run("sed", "-i.bak", "/^FROM/s/-runtime/-devel/", "Dockerfile"),
            run("docker", "build", "-t", IMAGE_NAME, "."),
            run("docker", "run", "--rm", "--entrypoint", "nvcc", IMAGE_NAME, "--version"),
        ),
    )


def for_program(environment: Environment, matrix: Matrix) -> Remedy | None:
    """For a build by make or CMake where nothing shows a framework: the newest toolkit that the driver runs."""
    missing = seen(environment, "toolkit-missing")
    if seen(environment, "toolkit-missing", "detail-makefile") and not tells_framework(environment, matrix, missing):
        return remedy(
            environment,
            "Install the newest CUDA toolkit that the driver supports and that still compiles for this GPU, then build "
            "again in the same shell. If a toolkit is already in another directory (which nvcc finds it), pass that to "
            "the build instead: put CUDAPATH, CUDA_PATH, or CUDA_HOME in front of make, whichever its Makefile uses.",
            "toolkit-of-driver",
        )
    by_cmake = seen(environment, "toolkit-missing", *_OF_CMAKE)
    others = [message for message in seen(environment, "toolkit-missing") if message not in by_cmake]
    if not by_cmake or others or tells_framework(environment, matrix, by_cmake):
        return None
    return remedy(
        environment,
        "Install the newest CUDA toolkit that the driver supports, and configure again in an empty build directory.",
        "toolkit-of-driver",
    )


def _without_root(environment: Environment) -> Remedy:
    """A toolkit in the environment itself, of torch's CUDA: for who may not write to /usr/local."""
    return remedy(
        environment,
        "A prebuilt wheel of the extension needs none of this. Otherwise, install the toolkit for torch's CUDA "
        "version into the conda environment, which does not require root (on a cluster, an environment module works "
        "as well: module avail cuda). On a node without a GPU, also set TORCH_CUDA_ARCH_LIST to the compute "
        "capability of the GPU that the program will run on.",
        "conda-toolkit",
    )


def in_home(environment: Environment, matrix: Matrix, cuda: Version) -> Remedy | None:
    """NVIDIA's installer of this toolkit, into the home directory; None where none is on record."""
    processor = environment.system.architecture.value or "x86_64"
    rows = [
        row
        for row in read(Runfile)
        if row.kind == "toolkit" and row.architecture == processor and row.cuda.release(2) == cuda.release(2)
    ]
    best = max(rows, key=lambda row: row.cuda, default=None)
    if best is None:
        return None
    return remedy(
        environment,
        f"Without root, install the toolkit of PyTorch's CUDA {cuda.release(2)} into your home directory: NVIDIA's "
        "installer can do that (it needs about 10 GB there and in /tmp), and does not touch the system. Or, in a conda "
        f"environment: conda install -c nvidia/label/cuda-{best.cuda} cuda-toolkit, with CUDA_HOME=$CONDA_PREFIX. Then "
        "build again in this shell, in a fresh build directory. On a cluster, look for an environment module first: "
        "module avail cuda.",
        "toolkit-at-home",
        url=best.url,
        file=best.name,
        version=cuda.release(2),
    )


def mixed_toolkits(environment: Environment) -> tuple[str, str, Remedy]:
    """What messages tell of two toolkits, in a build or beside a program that loads one: title, impact, and remedy."""
    messages = seen(environment, "several-toolkits-in-path")
    if messages and all(message.signature.endswith("/told-two") for message in messages):
        return (
            "Several CUDA versions are installed, and the program may load the libraries of another one",
            "A package is built for one CUDA version, and does not start with the libraries of another.",
            _version_of_package(environment),
        )
    return (
        "Parts of two CUDA toolkits are mixed in one build",
        "The build fails with a message that mentions neither toolkit.",
        _one_toolkit(environment),
    )


def _version_of_package(environment: Environment) -> Remedy:
    """The CUDA whose number the package has in its name, first where libraries are looked for."""
    which = (
        "Have the CUDA version that the package was built for (its name or its release notes have the number, "
        "such as cu92) come first where libraries are looked for"
    )
    if on_windows(environment):
        return Remedy(
            f"{which}: in the system's environment variables, move that version's bin folder in Path above the other "
            "one's, and set CUDA_PATH to it. cuDNN's DLL has to be in the same folder. Then open a new terminal; the "
            "first folder that the command prints is the one that is used. Or uninstall what nothing needs.",
            (fixed("where cudart64_*.dll"),),
        )
    return Remedy(
        f"{which}: put its lib64 directory first in LD_LIBRARY_PATH, and start the program from that shell. The "
        "command lists what the loader finds otherwise. Or uninstall the version that nothing needs.",
        (fixed("ldconfig -p"),),
    )


def _one_toolkit(environment: Environment) -> Remedy:
    """Of those that the text shows: for a build the one on PATH, at run time the first on the loader's path."""
    folders = [folder for folder in library_path(environment) if "cuda" in folder]
    if seen(environment, "several-toolkits-in-path", "nvrtc-builtins") and folders:
        first = folders[0]
        number = _IN_NAME.search(first)
        major = number["release"].replace(".", "") if number else ""
        wheel = f"cupy-cuda{major}" if major.startswith("10") else f"cupy-cuda{major[:2]}x" if major else "that release"
        return Remedy(
            "This is not a build error: at run time, libnvrtc from one toolkit loads the builtins of another, "
            f"because LD_LIBRARY_PATH lists two. Keep one of them: here {first}, which requires {wheel} as the CuPy "
            "package (pip list shows which is installed; for the other toolkit, keep its directory and its CuPy "
            "instead). Also change the line that sets the variable: grep -n LD_LIBRARY_PATH ~/.bashrc ~/.profile.",
            (export("LD_LIBRARY_PATH", PATH(first)),),
        )
    root = named(seen(environment, "several-toolkits-in-path", "detail-path"), "root") or DEFAULT_LINK
    return Remedy(
        "Use one toolkit for the whole build, in a fresh build directory; remove the distribution's "
        "nvidia-cuda-toolkit if it is not used.",
        (
            *steps(environment, "use-toolkit", root=root),
            export("CUDACXX", PATH(f"{root}/bin/nvcc")),
            fixed("rm -rf build"),
        ),
    )


def listed_toolkit(environment: Environment, cuda: Version) -> Remedy | None:
    """The toolkit of that CUDA where the text lists its directory, so that nothing has to be installed."""
    listed = seen(environment, "nvcc-vs-torch-mismatch", "detail-listed")
    wanted = str(cuda.release(2))
    if wanted not in [message.values["release"] for message in listed]:
        return None
    root = f"/usr/local/cuda-{wanted}"
    return remedy(
        environment,
        f"CUDA {wanted}, for which PyTorch was built, is installed in {root}; the build takes the one that comes first "
        "on PATH or that CUDA_HOME names. Use the matching one in this shell, change the lines that name the other one "
        "(grep -n cuda ~/.bashrc ~/.profile), and build again in a fresh directory: nvcc --version must print "
        f"{wanted} there.",
        "use-toolkit",
        root=root,
    )


def with_check_off(environment: Environment, given: Remedy) -> Remedy:
    """DeepSpeed's own check can be turned off, which helps where the major releases are the same."""
    messages = seen(environment, "nvcc-vs-torch-mismatch")
    text = " ".join(message.text for message in messages).lower()
    if not any(sign in text for sign in ("deepspeed", "installed cuda version")):
        return given
    return Remedy(
        f"{given.advice} DeepSpeed's check can be turned off with export DS_SKIP_CUDA_CHECK=1: do that only where both "
        "have the same major number; otherwise its operators do not compile, or crash.",
        given.steps,
    )
