"""The remedy where DKMS could not build a module that is not NVIDIA's, which another driver does not fix."""

from __future__ import annotations

from envkit._startup.regex import regex
from envkit.checks.engine.command import NAME, PATH, SAFE_WORD, Command, run
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.messages import named, said, seen
from envkit.model import Environment

_OF_INSTALLER = "/var/log/nvidia-installer.log"
_BUILD = regex(r"/var/lib/dkms/(?P<module>[a-z][\w-]{1,40})/[\w.+~-]{1,60}/")


def _end_of(log: str) -> tuple[Command, ...]:
    return (run("tail", "-n", "40", PATH(log)),)


def build_log(environment: Environment) -> tuple[Command, ...]:
    """The command that shows the log which a message names; nothing where none does."""
    by_installer = seen(environment, "dkms-build-failed", "installer", "installer-step")
    log = named(seen(environment, "dkms-build-failed", "detail-log"), "log") or (_OF_INSTALLER if by_installer else "")
    return _end_of(log) if log else ()


def of_another_module(environment: Environment, until_then: str) -> Remedy | None:
    """The remedy for the module that the messages name; None for NVIDIA's, or where they name none."""
    match = _BUILD.search(said(environment, "dkms-build-failed"))
    if match is None or match["module"].startswith("nvidia"):
        return None
    name, works = match["module"], _older(environment, match["module"])
    then = f" Until then, boot {works}, for which it is built." if works else " Until then, boot the previous kernel."
    if include := _include(environment, then):
        return include
    return Remedy(
        f"The module {name} is not NVIDIA's, so a different driver does not help: install a release of that module "
        "that supports this kernel, or fix the error at the end of its build log; then run dkms install again."
        f"{then}{until_then}",
        _end_of(f"{match[0]}build/make.log"),
    )


def _older(environment: Environment, module: str) -> str:
    """The kernel for which DKMS has built that module, '' for none."""
    entries = environment.kernel.dkms.get() if environment.kernel.dkms.known else ()
    return next((entry.kernel for entry in entries if entry.module == module and entry.state == "installed"), "")


def _include(environment: Environment, then: str) -> Remedy | None:
    """The remedy where a source file only lacks an include, which other headers of the kernel used to bring."""
    lines = seen(environment, "dkms-build-failed", "detail-vmalloc")
    if not lines:
        return None
    module, release, file = (lines[0].values[name] for name in ("module", "release", "file"))
    kernel = named(seen(environment, "dkms-build-failed"), "kernel")
    source = f"{module}/{release}"
    return Remedy(
        f"The module {module} is not NVIDIA's, so a different driver does not help. Its source {file} calls functions "
        "of linux/vmalloc.h, which other headers of older kernels included: add the include, and build again. If the "
        f"compiler then names another file, repeat this for it.{then}",
        (
            run("sudo", "sed", "-i", "1i #include <linux/vmalloc.h>", PATH(f"/usr/src/{module}-{release}/{file}")),
            run("sudo", "dkms", "install", SAFE_WORD(source), *(("-k", NAME(kernel)) if kernel else ())),
        ),
    )
