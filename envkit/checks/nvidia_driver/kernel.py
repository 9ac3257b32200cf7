"""Why the driver's kernel module is not there for the running kernel: upgrade, headers, DKMS, Secure Boot."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit._startup.regex import regex
from envkit.checks.engine.evidence import NO_OWN_DRIVER, NO_PCI_GPU, known, unseen
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Evidence, Outcome, Remedy, Status, ok, skip, unknown
from envkit.checks.engine.managers import managers
from envkit.checks.engine.messages import message_evidence, seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.engine.remedies import families, remedy
from envkit.checks.gpu.module_flavors import needs_open
from envkit.checks.nvidia_driver.build_place import by_place
from envkit.checks.nvidia_driver.dkms import (
    BACKPORTS,
    begun,
    by_its_error,
    by_operator,
    dkms_entries,
    failed_for_another,
    from_the_log,
    kernels_with_module,
    newer_branch,
    of_backports,
    other_kernel,
)
from envkit.checks.nvidia_driver.driver_container import title_in_container
from envkit.checks.nvidia_driver.driver_state import loaded
from envkit.checks.nvidia_driver.ended_branch import of_ended_branch
from envkit.checks.nvidia_driver.foreign_module import build_log, of_another_module
from envkit.checks.nvidia_driver.kernel_flavor import (
    by_script,
    debian_flavor,
    dkms_off,
    newer_kernel,
    not_rebooted,
    of_akmods,
    of_installer,
    registered_again,
)
from envkit.checks.nvidia_driver.outgrown import fitting_kernel, outgrown
from envkit.checks.nvidia_driver.own_compiler import by_compiler
from envkit.model import Environment

if TYPE_CHECKING:
    from envkit.tables import Matrix

_NO_GPU = ("no-gpu-on-pci", "gpu-bound-to-vfio", "driver-not-installed")
_COMPILER_ERROR = regex(r"error[: ]|bad return status|\*\*\*", re.IGNORECASE)
_NO_MODULE = "There is no module to load, so no program can use the GPU."
_PREBUILT = regex(r"/kernel/nvidia-(?P<branch>\d{3})(?P<server>srv)?(?P<open>-open)?/")  # of Ubuntu's packages


def _prebuilt(environment: Environment) -> str:
    """Which of Ubuntu's packages of prebuilt modules other kernels have, as `550-server-open`; '' for none."""
    files = environment.kernel.module_files.get() if environment.kernel.module_files.known else ()
    found = next((match for file in files if (match := _PREBUILT.search(file.path))), None)
    if found is None:
        return ""
    return f"{found['branch']}{'-server' if found['server'] else ''}{found['open'] or ''}"


def _older_kernel(environment: Environment) -> str:
    """A word on the kernel that still has the module: it works at once."""
    others = sorted((kernels_with_module(environment) or set()) - {environment.system.kernel.value})
    return f" Until then, you can boot kernel {others[-1]} from the boot menu." if others else ""


def _module_for_kernel(environment: Environment, matrix: Matrix) -> Remedy:
    older, flavor = _older_kernel(environment), _prebuilt(environment)
    if own := not_rebooted(environment) or of_akmods(environment, older) or dkms_off(environment, older):
        return own
    by_installer = of_installer(environment, older) or by_script(environment, older)
    if by_installer or (by_installer := registered_again(environment, older)):
        return by_installer
    if flavor:
        advice = (
            "This machine uses Ubuntu's prebuilt modules: install those for the running kernel, and their metapackage "
            f"(linux-modules-nvidia-{flavor}-generic, or your kernel's flavor) so that later kernels get theirs.{older}"
        )
        return remedy(environment, advice, "prebuilt-module", flavor=flavor)
    follow = debian_flavor(environment)
    words = " The last command also installs the headers of future kernels, so that this does not happen again."
    lasting = words if follow else ""
    advice = (
        f"Build the module for the running kernel. If that fails, add the end of the make.log that it names to the "
        f"input, and run envkit again.{older}{lasting}"
    )
    return remedy(environment, advice, "kernel-headers", "build-module", "headers-follow", flavor=follow)


_OPERATOR = (
    "The GPU operator's driver container builds the module and needs the packages of the node's kernel: give the "
    "node access to a repository that has them (OpenShift: a valid entitlement), or move the nodes to a kernel that "
    "the repositories have. Then delete the driver's pods, so that they are re-created."
)


def _headers(environment: Environment, matrix: Matrix) -> Remedy:
    if "gpu-operator" in managers(environment):
        return remedy(environment, _OPERATOR, "restart-driver-pods")
    if given := newer_kernel(environment, _older_kernel(environment)):
        return given
    rolling = {"arch": "sudo pacman -Syu", "void": "sudo xbps-install -Su"}.get(next(iter(families(environment)), ""))
    together = (
        f"upgrade the whole system ({rolling})"
        if rolling
        else "upgrade kernel and headers together by their metapackages (Debian: linux-image-amd64 "
        "linux-headers-amd64; Ubuntu: linux-generic)"
    )
    advice = (
        "Install the headers of the running kernel and build the module. If the archive no longer has them, "
        f"{together} and reboot.{_older_kernel(environment)}"
    )
    return remedy(environment, advice, "kernel-headers", "build-module")


def _built_again(environment: Environment, matrix: Matrix) -> Remedy:
    """By what the facts say of the cause: the compiler, otherwise a branch that is older than the last one for the
    GPU."""
    if "gpu-operator" in managers(environment):
        return by_operator(environment, matrix)
    older = _older_kernel(environment)
    given = of_another_module(environment, older) or by_place(environment) or other_kernel(environment)
    if given or (given := by_compiler(environment, older)):
        return given
    branch = newer_branch(environment, matrix)
    if branch and of_backports(environment):
        return remedy(environment, f"{BACKPORTS}{older}", "driver-backports")
    if given := outgrown(environment, matrix):
        return given
    if branch:
        advice = f"This driver branch does not support this kernel. Install branch {branch}, which supports it.{older}"
        action = "driver-open" if needs_open(environment, matrix) else "driver-branch"
        return remedy(environment, advice, action, branch=branch)
    if given := by_its_error(environment, matrix) or of_ended_branch(environment, matrix):
        return given
    words = from_the_log(environment, matrix)
    named_there = bool(fitting_kernel(environment))
    given = remedy(environment, words if named_there else f"{words}{older}", "show-build-log")
    return Remedy(given.advice, build_log(environment) or given.steps)


_MISSING = Fault(
    "module-missing-for-running-kernel",
    "The running kernel has no driver module",
    impact=_NO_MODULE,
    remedy=_module_for_kernel,
)
_NO_HEADERS = Fault(
    "kernel-headers-missing",
    "DKMS cannot build the driver's module: the headers of the running kernel are missing",
    impact=_NO_MODULE,
    remedy=_headers,
)
_NOT_BUILT = Fault(
    "dkms-build-failed",
    "DKMS could not build the driver's kernel module",
    impact=_NO_MODULE,
    remedy=_built_again,
)


@check(
    _MISSING,
    layer=Layer.KERNEL_MODULE,
    rank=30,
    elsewhere=NO_PCI_GPU,
    fix="Install or build the module for the running kernel, or boot the previous kernel.",
    explained_by=("kernel-headers-missing", "dkms-build-failed", "driver-repos-mixed", *_NO_GPU),
    references=threads("junxnone/tio#206", "negativo17/nvidia-driver#56", "M-Bab/linux-kernel-amdgpu-binaries#101"),
)
def module_missing_for_running_kernel(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """The running kernel has its own nvidia module.

    After a kernel upgrade, the module is missing if DKMS did not run, the kernel headers are missing, or the package of
    prebuilt modules does not follow the kernel. The GPU is then gone after the next reboot.
    """
    if loaded(environment):
        yield ok("the running kernel has loaded the module", evidence=[known(environment, "driver.kernel_module")])
    elif (others := kernels_with_module(environment)) is None:
        yield unknown("cannot tell which kernel is running, or which modules are installed for it")
    elif environment.system.kernel.get() in others:
        yield ok(f"there is a module for {environment.system.kernel.get()}", evidence=_places(environment))
    elif others:
        yield _left_behind(environment, others)
    elif reported := _MISSING.reported(environment):
        yield reported
    else:
        yield skip("no kernel here has a driver module", evidence=_places(environment))


def _places(environment: Environment) -> list[Evidence]:
    files = environment.kernel.module_files
    if files.known:
        return [known(environment, "kernel.module_files", ", ".join(file.path for file in files.get()) or "none")]
    lines = ", ".join(
        f"{entry.version} for {entry.kernel or 'no kernel'}: {entry.state}" for entry in dkms_entries(environment)
    )
    return [known(environment, "kernel.dkms", lines or "none")]


def _in_words(kernels: list[str]) -> str:
    *first, last = kernels
    return f"{', '.join(first)} and {last} have" if first else f"{last} has"


def _left_behind(environment: Environment, others: set[str]) -> Outcome:
    running = environment.system.kernel.get()
    return _MISSING.found(
        [known(environment, "system.kernel"), *_places(environment)],
        title=f"The running kernel {running} has no driver module; {_in_words(sorted(others))} one",
        impact="The driver cannot be loaded, so no program sees the GPU. This follows a kernel upgrade.",
    )


@check(
    _NO_HEADERS,
    layer=Layer.KERNEL_MODULE,
    rank=15,
    elsewhere=NO_OWN_DRIVER,
    fix="Install the headers of the running kernel and build the module.",
    explained_by=_NO_GPU,
    references=threads("NVIDIA/open-gpu-kernel-modules#441", "zen-kernel/zen-kernel#305"),
)
def kernel_headers_missing(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """If DKMS builds the driver's module, the headers of the running kernel are installed.

    Without them, DKMS silently skips the build. A prebuilt, signed module needs no headers.
    """
    if environment.kernel.headers.known:
        yield ok("the headers are installed", evidence=[known(environment, "kernel.headers")])
    elif begun(environment):
        yield skip("DKMS compiles the module for the running kernel; another kernel lacks its headers")
    elif reported := _NO_HEADERS.reported(environment, title=title_in_container(environment)):
        yield reported
    elif not environment.kernel.headers.absent or not environment.kernel.dkms.known:
        yield unknown(unseen(environment, "the kernel headers"), evidence=[known(environment, "kernel.headers")])
    elif not dkms_entries(environment):
        yield skip("DKMS does not build this driver; a prebuilt module needs no headers")
    else:
        yield _without_headers(environment)


def _without_headers(environment: Environment) -> Outcome:
    evidence = [known(environment, "kernel.headers"), *_dkms_evidence(environment)]
    if loaded(environment) or environment.system.kernel.value in (kernels_with_module(environment) or ()):
        return _NO_HEADERS.found(
            evidence,
            title=f"{_NO_HEADERS.title}; the next build will fail",
            impact="After the next update, there will be no module.",
            status=Status.WARN,
        )
    return _NO_HEADERS.found(evidence)


def _dkms_evidence(environment: Environment) -> list[Evidence]:
    lines = [
        f"{entry.module}/{entry.version}{f', {entry.kernel}' if entry.kernel else ''}: {entry.state}"
        for entry in dkms_entries(environment)
    ]
    return [known(environment, "kernel.dkms", line) for line in lines[:4]]


_PRINTED = ("source-tree", "conftest", "make", "dkms", "builder")  # by a build, not in somebody's own words
_FOR_ANOTHER = "The driver's kernel module cannot be built for a kernel that is not running yet"
_AFTER_REBOOT = "After a reboot into that kernel, no program can use the GPU. The running kernel still has its module."


@check(
    _NOT_BUILT,
    layer=Layer.KERNEL_MODULE,
    rank=20,
    elsewhere=NO_OWN_DRIVER,
    fix="Read the build log; try the compiler that the kernel was built with, a newer driver branch, or the previous "
    "kernel.",
    explained_by=("kernel-headers-missing", "driver-repos-mixed", "disk-full-at-install", *_NO_GPU),
    references=threads("void-linux/void-packages#54925", "Frogging-Family/nvidia-all#152"),
)
def dkms_build_failed(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """DKMS has built and installed the module for the running kernel.

    The build fails if the kernel is newer than the driver branch supports, or if the compiler is not the kernel's; DKMS
    then says `added` instead of `installed`.
    """
    printed = seen(environment, "dkms-build-failed", *_PRINTED)
    built = _built(environment) if environment.kernel.dkms.known and dkms_entries(environment) else None
    if printed and (loaded(environment) or (built is not None and built.status is Status.OK)):
        yield _NOT_BUILT.found(message_evidence(environment, printed), title=_FOR_ANOTHER, impact=_AFTER_REBOOT)
    elif loaded(environment):
        yield ok(
            "a driver module is built for the running kernel", evidence=[known(environment, "driver.kernel_module")]
        )
    elif not environment.system.kernel.known and (failed := failed_for_another(environment)):
        yield _NOT_BUILT.found(failed)
    elif environment.kernel.dkms.known and dkms_entries(environment):
        yield built or _NOT_BUILT.found([*_dkms_evidence(environment), *_last_error(environment)])
    elif reported := _NOT_BUILT.reported(environment):
        yield reported
    elif environment.kernel.dkms.known or environment.kernel.dkms.absent:
        yield skip("DKMS does not build this driver")
    else:
        yield unknown(unseen(environment, "the DKMS status"))


def _built(environment: Environment) -> Outcome | None:
    running = environment.system.kernel.value
    entries = dkms_entries(environment)
    prebuilt = running is not None and running in (kernels_with_module(environment) or ())
    if prebuilt or any(entry.state == "installed" and running in (None, entry.kernel) for entry in entries):
        return ok("the running kernel has a module", evidence=_dkms_evidence(environment))
    failed = environment.kernel.dkms_make_log.known or any(
        entry.state in ("added", "broken") and entry.kernel in ("", running) for entry in entries
    )
    return None if failed else skip("DKMS has not built for the running kernel")


def _last_error(environment: Environment) -> list[Evidence]:
    log = environment.kernel.dkms_make_log
    lines = [line.strip() for line in log.get().splitlines() if _COMPILER_ERROR.search(line)] if log.known else []
    return [known(environment, "kernel.dkms_make_log", line) for line in lines[:2]]
