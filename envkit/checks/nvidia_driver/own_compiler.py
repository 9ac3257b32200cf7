"""A module that has to be built with the compiler of its kernel."""

from __future__ import annotations

from envkit.checks.cuda.host_gcc import default_gcc
from envkit.checks.engine.command import NAME, fixed, run
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.messages import named, seen
from envkit.checks.engine.remedies import remedy
from envkit.checks.nvidia_driver.outgrown import failing_kernel
from envkit.model import Environment

_ID = "dkms-build-failed"
_HALF = ("package", "dkms-package", "headers-postinst")  # of packages that dpkg left unconfigured


def by_compiler(environment: Environment, older: str) -> Remedy | None:
    """The remedy where the compiler is not the kernel's own; None where it is, or nothing tells."""
    return _of_running(environment) or _installed(environment, older)


def _of_running(environment: Environment) -> Remedy | None:
    """The remedy where the check looked at the running kernel, although the module is for one that is not running."""
    running = environment.system.kernel.value or named(seen(environment, _ID, "detail-running"), "kernel")
    failing = failing_kernel(environment)
    if (
        not seen(environment, _ID, "compiler-differs", "compiler-differs-exactly", "compiler-check")
        or not running
        or running == failing
    ):
        return None
    return Remedy(
        f"The check compares the compiler with the running kernel {running}, but the module is for {failing}, which "
        "the new compiler built. Ignore the mismatch for this build, then boot the new kernel, but only if dkms "
        "status reports 'installed' for it.",
        (
            run("sudo", "IGNORE_CC_MISMATCH=1", "dkms", "autoinstall", "-k", NAME(failing)),
            fixed("dkms status"),
            fixed("sudo reboot"),
        ),
    )


def _installed(environment: Environment, older: str) -> Remedy | None:
    wanted, own = environment.kernel.compiler.value, default_gcc(environment)
    if wanted is None or (own is not None and wanted.major == own.version.major):
        return None
    half = bool(seen(environment, _ID, *_HALF))
    finished = " It also finishes the configuration of the packages, which builds the module." if half else ""
    advice = (
        f"Build with GCC {wanted.major}, which the kernel was built with.{finished} Every later build for such a "
        f"kernel needs the same CC.{older}"
    )
    return remedy(environment, advice, "configure-with-gcc" if half else "build-with-gcc", gcc=wanted.major)
