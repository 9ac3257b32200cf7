"""The remedy where DKMS could not build a module that is not NVIDIA's, which another driver does not fix."""

from __future__ import annotations

from envkit._startup.regex import regex
from envkit.checks.engine.command import PATH, Command, run
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
    return Remedy(
        f"The module {match['module']} is not NVIDIA's, so a different driver does not help: install a release of "
        "that module that supports this kernel, or fix the error at the end of its build log; then run dkms install "
        f"again. Until then, boot the previous kernel.{until_then}",
        _end_of(f"{match[0]}build/make.log"),
    )
