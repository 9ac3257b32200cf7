"""Packages that use instructions which the processor lacks, so that a framework does not even start."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit.checks.engine.command import CONDA_SPEC, NAME, RELEASE, REQUIREMENT, fixed, run
from envkit.checks.engine.evidence import kind, known, passed
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Outcome, Remedy, ok, skip
from envkit.checks.engine.managers import managers
from envkit.checks.engine.messages import said, seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.frameworks.installs import distribution, first_python, installs, pip, release
from envkit.model import Environment, MachineKind
from envkit.tables.codes import limit

if TYPE_CHECKING:
    from envkit.base.versions import Version
    from envkit.tables import Matrix


def _processor_remedy(environment: Environment, matrix: Matrix) -> Remedy:
    if kind(environment) is MachineKind.JETSON:
        return Remedy(
            "A package's libraries misdetect the Jetson's processor: set it explicitly, or go back to the last NumPy "
            "release that worked.",
            (fixed("export OPENBLAS_CORETYPE=ARMV8"), fixed("python3 -c 'import numpy'")),
        )
    if "proxmox" in managers(environment):
        return Remedy(
            "The virtual machine hides the processor's AVX instructions. On the Proxmox host, give it the host's CPU "
            "model, then stop it and start it again (a restart from inside is not enough); after that, the first "
            "command, run inside it, prints avx.",
            (
                fixed("grep -m1 -o -w avx /proc/cpuinfo"),
                fixed("qm set VMID --cpu host"),
                fixed("qm shutdown VMID"),
                fixed("qm start VMID"),
            ),
        )
    if own := _without_avx(environment):
        return own
    return Remedy(
        "Find out which import crashes. A processor without AVX (or a virtual machine that hides it) needs a package "
        "built without it; in a virtual machine, use the host CPU model.",
        (fixed("grep -m1 -o -w 'avx[^ ]*' /proc/cpuinfo"), fixed("python3 -X faulthandler -c 'import numpy'")),
    )


def _without_avx(environment: Environment) -> Remedy | None:
    """The last release without AVX of a program that says which it is; None for others."""
    if "koboldcpp" in managers(environment):
        return Remedy(
            "This processor lacks AVX2: download the build for old processors (oldpc) from the project's releases "
            "page, or start this one without it.",
            (fixed("koboldcpp --noavx2"),),
        )
    if "disabling GPU support" in said(environment, "cpu-lacks-instructions") or "ollama" in managers(environment):
        return Remedy(
            "Older releases of Ollama (2024) turn the GPU off on a processor without AVX (the command then prints "
            "nothing). Update Ollama: current releases use the GPU without it. In a virtual machine that hides AVX, "
            "give it the host's CPU model (libvirt: <cpu mode='host-passthrough'/>; Proxmox: qm set VMID --cpu host), "
            "and stop and start it. If neither is possible, compile Ollama on this machine.",
            (fixed("grep -m1 -o -w 'avx[^ ]*' /proc/cpuinfo"),),
        )
    item = next(installs(environment, "tensorflow"), None)
    last = limit("tensorflow-without-avx")
    own = release(item.framework.version) if item is not None else None
    if item is None or own is None or own.major > last.major:
        of_tensorflow = bool(seen(environment, "cpu-lacks-instructions", "detail-tensorflow"))
        return _of_tensorflow(environment, own) if of_tensorflow else None
    if own <= last:
        return None
    name = "tensorflow-gpu" if distribution(item.python, "tensorflow-gpu") is not None else "tensorflow"
    return Remedy(
        f"The crash is TensorFlow's: its official packages use AVX after {last}, and this processor has none (avx is "
        f"missing from the flags in /proc/cpuinfo). Install {last}, the last release without it; for a newer one, "
        "compile TensorFlow on this machine, or use conda's package, which does not use AVX. Another GPU does not "
        "change that; a machine whose processor has AVX does. In a virtual machine, use the host CPU model.",
        (
            pip(item.python, "uninstall", "-y", NAME(name)),
            pip(item.python, "install", REQUIREMENT(f"{name}=={last}")),
        ),
    )


def _of_tensorflow(environment: Environment, own: Version | None) -> Remedy:
    """Where no older release is a way out: what the processor has decides between two."""
    python = first_python(environment)
    which = "" if own is not None else f"; python -m pip show tensorflow prints the release to write for {RELEASE}"
    last = limit("tensorflow-without-avx")
    of_conda = f"tensorflow={own.release(2)}" if own is not None else "tensorflow"
    old = "" if own is not None else f" after {last}, which a program of that time can use (tensorflow=={last})"
    return Remedy(
        f"The crash is TensorFlow's, whose official packages use AVX after {last}; CUDA is not at fault. If the first "
        f"command prints nothing, the processor has no AVX, and pip has no build for it{old}: use conda's package, "
        "which does not use AVX (second command: a new environment, in which you then start the program; "
        "tensorflow-gpu in place of tensorflow for the GPU), compile TensorFlow on this machine, or use a machine "
        "whose processor has AVX. In a virtual machine, use the host CPU model. If the first command prints avx, "
        "this TensorFlow was compiled for a newer processor: replace it with the official package (last "
        f"command{which}).",
        (
            fixed("grep -m1 -o -w 'avx[^ ]*' /proc/cpuinfo"),
            run("conda", "create", "-y", "-n", "tensorflow-without-avx", "-c", "defaults", CONDA_SPEC(of_conda)),
            pip(
                python,
                "install",
                "--force-reinstall",
                "--no-deps",
                "--no-cache-dir",
                REQUIREMENT(f"tensorflow=={own or RELEASE}"),
            ),
        ),
    )


_INSTRUCTIONS = Fault(
    "cpu-lacks-instructions",
    "A package uses CPU instructions that this processor does not have",
    impact='The program ends with "Illegal instruction" before it reaches the GPU.',
    remedy=_processor_remedy,
)


@check(
    _INSTRUCTIONS,
    layer=Layer.FRAMEWORK_BUILD,
    rank=3,
    fix="Find the import that crashes; install a build for this processor, or set the processor explicitly for its "
    "libraries.",
    references=threads("numpy/numpy#18131", "tensorflow/tensorflow#17411", "tensorflow/tensorflow#18275"),
)
def cpu_lacks_instructions(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """The processor supports the instructions that the installed packages were compiled for.

    TensorFlow and others require AVX; some builds misdetect small ARM processors.
    """
    if reported := _INSTRUCTIONS.reported(environment):
        yield reported
    elif passed(environment, "import"):
        yield ok("a framework was imported", evidence=[known(environment, "measurements", "import")])
    else:
        without = "the input shows no framework being imported"
        yield skip(without if environment.pasted else "frameworks are imported only with --deep")
