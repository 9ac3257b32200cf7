"""A compiled package of another CUDA, or of a newer system, compiled here against the torch that is there."""

from __future__ import annotations

from envkit._startup.regex import regex
from envkit.base.sentences import series
from envkit.base.versions import Version
from envkit.checks.engine.command import NAME, PYTHON, REQUIREMENT, Command, export, run
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import QUEUES, managed_by
from envkit.checks.engine.messages import seen
from envkit.checks.frameworks.installs import distribution, first_python, pip
from envkit.model import Environment

_FORCED = {  # packages whose setup.py downloads a wheel unless a variable says not to
    "flash-attn": "FLASH_ATTENTION_FORCE_BUILD",
    "causal-conv1d": "CAUSAL_CONV1D_FORCE_BUILD",
    "mamba-ssm": "MAMBA_FORCE_BUILD",
}
_SOURCES = frozenset((*_FORCED, "xformers", "deepspeed", "torch-scatter", "torch-sparse", "torch-cluster", "apex"))
_FILES = {"flash-attn-2-cuda": "flash-attn", "causal-conv1d-cuda": "causal-conv1d", "selective-scan-cuda": "mamba-ssm"}
_TOGETHER = {"mamba-ssm": ("causal-conv1d",)}  # what loads the kernels of another package, which pip compiled with it
_ASK_TORCH = (
    "import torch, sys; print(torch.__version__, torch.version.cuda, torch._C._GLIBCXX_USE_CXX11_ABI, sys.version)"
)
_IMPORTED = regex(r"-packages/(?P<name>[a-z0-9_]{3,30})(?=[/.])")
_ANEW = ("--force-reinstall", "--no-deps", "--no-build-isolation", "--no-cache-dir", "--no-binary=:all:")
_ANEW_OF_UV = ("--reinstall", "--no-deps", "--no-build-isolation", "--no-cache", "--no-binary")


def named_extensions(text: str) -> list[str]:
    """The packages with a source that pip compiles, whose files `text` names."""
    names = [match["name"].replace("_", "-") for match in _IMPORTED.finditer(text)]
    return list(dict.fromkeys(name for one in names if (name := _FILES.get(one, one)) in _SOURCES))


def built_here(environment: Environment, names: list[str]) -> tuple[Command, ...]:
    """The commands that compile them; with uv for a project of uv, whose own command would take the wheel again."""
    python = first_python(environment)
    found = [(name, distribution(python, name)) for name in names]
    told = _told_releases(environment)
    known = {name: item.version.partition("+")[0] for name, item in found if item is not None} | told
    lines = [f"{name}=={known[name]}" if name in known else name for name, _ in found]
    forced = tuple(export(_FORCED[name], "TRUE") for name in names if name in _FORCED)
    few = export("MAX_JOBS", "4")
    if managed_by(environment, "uv"):
        return (
            *forced,
            few,
            *(
                run("uv", "pip", "install", *_ANEW_OF_UV, NAME(name), REQUIREMENT(line))
                for name, line in zip(names, lines, strict=True)
            ),
        )
    return (*forced, few, pip(python, "install", *_ANEW, *map(REQUIREMENT, lines)))


def compiled_again(environment: Environment, names: list[str]) -> Remedy:
    """The packages whose files the message names, with those that are compiled and loaded with them."""
    python = first_python(environment)
    others = [other for name in names for other in _TOGETHER.get(name, ()) if other not in names]
    every = [*names, *(name for name in others if distribution(python, name) is not None)]
    left = [name for name in others if name not in every]
    pins = f" If {series(left)} fails in the same way, compile its installed release, too." if left else ""
    other = _of_another_torch(environment, every)
    why = other or (
        f"The installed {series(every)} was compiled for another torch: without --no-build-isolation, pip compiles "
        "against the torch that it downloads for the build. Compile it here, against the torch that is installed"
    )
    by_hand = (
        ""
        if other
        else " Or download the wheel from the project's release page on GitHub whose name matches what the last "
        "command prints (cu, torch, cxx11abi, cp), and install it with pip."
    )
    return Remedy(
        f"{why}: this needs nvcc of torch's CUDA.{pins}{by_hand}",
        (*built_here(environment, every), run(PYTHON(python.executable or "python"), "-c", _ASK_TORCH)),
    )


def _told_releases(environment: Environment) -> dict[str, str]:
    """The releases of the wheels that the text names as installed, by package."""
    wheels = seen(environment, "extension-abi-mismatch", "detail-wheel-torch")
    return {wheel.values["package"].replace("_", "-"): wheel.values["version"] for wheel in wheels}


def _of_another_torch(environment: Environment, names: list[str]) -> str:
    """What to do where the installed wheel's own name tells another torch than the one that is there; '' elsewhere."""
    wheels = seen(environment, "extension-abi-mismatch", "detail-wheel-torch")
    wheel = next((one for one in wheels if one.values["package"].replace("_", "-") in names), None)
    torch = distribution(first_python(environment), "torch")
    own = Version.find(torch.version) if torch is not None else None
    if wheel is None or own is None or str(own.release(2)) == wheel.values["built"]:
        return ""
    return (
        f"The installed wheel of {series(names)} is for torch {wheel.values['built']}, as its name says, and the "
        f"installed torch is {own}; the driver is fine. If the project's release page has the same wheel with torch"
        f"{own.release(2)} in its name, install that with --force-reinstall --no-deps. Otherwise, compile it here, "
        "against the torch that is installed"
    )


def for_this_glibc(environment: Environment, text: str) -> Remedy | None:
    """What compiles the packages here that `text` says are for a newer glibc; None where it names none of these."""
    names = named_extensions(text)
    if not names:
        return None
    synced = " uv sync would take the wheel again: start programs with uv run --no-sync."
    kept = synced if managed_by(environment, "uv") else ""
    return Remedy(
        f"The wheel of {series(names)} was built on a newer system. Compile it here, against the torch that is "
        f"there: this needs nvcc of torch's CUDA, and takes a while.{kept} Or run the program in a container whose "
        "system is newer.",
        built_here(environment, names),
    )


def of_libtorch(environment: Environment) -> Remedy | None:
    """What runs libtorch on an older system; None where it is not libtorch whose library asks for the newer glibc."""
    if not seen(environment, "glibc-too-old", "detail-libtorch"):
        return None
    on_cluster = (
        " On a cluster, Apptainer does that without root: apptainer exec --nv docker://IMAGE PROGRAM."
        if managed_by(environment, "modules", *QUEUES)
        else ""
    )
    return Remedy(
        "A newer gcc or libstdc++ does not change the system's glibc. The libtorch with cxx11-abi in its name was "
        "built on a newer system: use the one without (Pre-cxx11 ABI, libtorch-shared-with-deps-VERSION.zip), which "
        "runs on older systems, too, if the program accepts it. Otherwise, run the program in a container whose "
        f"system is newer (for R: an image of rocker with CUDA).{on_cluster}"
    )
