"""A module that is not loaded: built for another kernel, not built at all, or refused, by what the text shows."""

from __future__ import annotations

from envkit.checks.engine.command import NAME, SAFE_WORD, fixed, run
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.messages import named, seen
from envkit.checks.engine.remedies import families, remedy, steps
from envkit.model import Environment

_ID = "driver-module-not-loaded"
_BY_ANSWER = (
    "Load the module (first command), and act on its output. 'Module nvidia not found': it is not built for the "
    "running kernel, so install dkms and the headers of the kernel, and run sudo dkms autoinstall; if dkms status "
    "lists nothing and modinfo nvidia finds nothing, install the driver again. 'Key was rejected' or 'Required key': "
    "enroll the key or turn Secure Boot off. 'No such device': the driver's branch does not support this card, and the "
    "kernel's message names the one that does. No output: the module is loaded, and nvidia-smi must work. For anything "
    "else, add the output of both commands to the input, and run envkit again."
)


def not_loaded(environment: Environment) -> Remedy:
    """How the module gets loaded."""
    return _from_source(environment) or _without_headers(environment) or _by_answer(environment)


def _by_answer(environment: Environment) -> Remedy:
    return remedy(environment, _BY_ANSWER, "load-module", "module-log")


def _from_source(environment: Environment) -> Remedy | None:
    """The remedy where the driver's sources are there, and DKMS is not, or has not built them."""
    release = named(seen(environment, _ID, "detail-source"), "release")
    if release is None:
        return None
    given = remedy(
        environment,
        f"The driver does not have to be installed again: its sources (/usr/src/nvidia-{release}) are there, and only "
        "the module for the running kernel is missing. DKMS builds it now, and for later kernels by itself.",
        "dkms-tools",
    )
    build = run("sudo", "dkms", "install", SAFE_WORD(f"nvidia/{release}"))
    return Remedy(given.advice, (*given.steps, build, *steps(environment, "load-module"), fixed("nvidia-smi")))


def _without_headers(environment: Environment) -> Remedy | None:
    """The remedy where only one of Arch's kernels lacks the module, and DKMS is to build it."""
    kernel = named(seen(environment, _ID, "detail-only-kernel"), "kernel")
    if kernel is None or "arch" not in families(environment):
        return None
    return Remedy(
        f"DKMS builds the module only for kernels whose headers are installed, and {kernel} needs its own headers: "
        "install them, which also builds the module; dkms status must then list it for that kernel. The other kernel "
        "works until then.",
        (
            run("sudo", "pacman", "-S", "--needed", NAME(f"{kernel}-headers")),
            fixed("sudo dkms autoinstall"),
            fixed("dkms status"),
            fixed("sudo reboot"),
        ),
    )
