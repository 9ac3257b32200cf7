"""Where a build stops because a package is built without the torch that its setup imports."""

from __future__ import annotations

from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.base.names import normalized
from envkit.checks.containers import image_stops as faults
from envkit.checks.engine.findings import Finding
from envkit.dockerfile.check_parts import command_subject, stop
from envkit.dockerfile.ground import APT, Ground, Step, called
from envkit.dockerfile.packages import Package
from envkit.dockerfile.shell import ShellCommand
from envkit.tables.build_stops import compiled_packages

_PIP = regex(r".*\bpip[\d.]*")
_NO_ISOLATION = "--no-build-isolation"
# Programs that bring no torch; whatever else runs, such as a script, may.
_HARMLESS = regex(
    r"rm|echo|mkdir|ln|cd|cp|mv|chmod|chown|export|set|touch|cat|sed|curl|wget|git|useradd|adduser|groupadd|locale-gen"
    r"|add-apt-repository|ldconfig|update-alternatives"
)
_TOOLS = frozenset({"pip", "setuptools", "wheel", "packaging", "ninja", "numpy", "cmake", "psutil", "build"})
_PYTHONS = "python"  # the images of Python's own project


def without_torch(ground: Ground) -> Iterator[Finding]:
    """The first such package, with the reason that no change of its options takes away."""
    yield from tuple(_torch_missing(ground)) or _torch_hidden(ground)


def _torch_hidden(ground: Ground) -> Iterator[Finding]:
    """A package that imports torch while pip, which is new enough to hide it always, builds it."""
    newest = False
    for step in ground.steps:
        words = step.command.words
        hidden = next((one for one in compiled_in(step) if _PIP.fullmatch(one.caller)), None)
        if hidden is not None and newest and _NO_ISOLATION not in words:
            if any("NO_BUILD_ISOLATION" in name for name in ground.environment):
                return
            yield stop(
                faults.TORCH_HIDDEN,
                f"pip builds {hidden.name} in an isolated environment, without the torch that its setup imports",
                command_subject(step.command, hidden.line),
                impact="The build stops with: No module named 'torch'.",
                sources=compiled_packages()[normalized(hidden.name)].sources,
            )
            return
        newest = newest or any(one.name == "pip" and one.places.upgrades and not one.spec for one in step.packages)


def _torch_missing(ground: Ground) -> Iterator[Finding]:
    """A package that imports torch while pip builds it, where torch certainly is not there yet.

    pip runs the build before it installs anything of the same command, so that a torch beside it does not count.
    """
    fresh = ground.first and (ground.plain or ground.base.repository == _PYTHONS)
    if not fresh or "copied" in ground.tells or any(name.startswith("PIP_") for name in ground.environment):
        return
    packages = {step.command: step.packages for step in ground.steps}
    for command in ground.commands:
        step = Step(command, packages.get(command, ()))
        needs = next((one for one in compiled_in(step) if _PIP.fullmatch(one.caller)), None)
        if needs is not None and command.decisive and not command.conditional:
            beside = any(normalized(one.name) == "torch" for one in step.packages)
            when = "before it installs the torch of the same command" if beside else "and no torch is installed before"
            yield stop(
                faults.TORCH_HIDDEN,
                f"pip builds {needs.name}, whose setup imports torch, {when}",
                command_subject(command, needs.line),
                impact="The build stops with: No module named 'torch'.",
                sources=compiled_packages()[normalized(needs.name)].sources,
            )
            return
        if not _brings_no_torch(command, step.packages):
            return


def _brings_no_torch(command: ShellCommand, packages: tuple[Package, ...]) -> bool:
    words = called(command)
    name = words[0].rpartition("/")[2] if words else "export"  # assignments alone
    if packages:
        return all(normalized(one.name) in _TOOLS for one in packages)
    return name in APT or _HARMLESS.fullmatch(name) is not None


def compiled_in(step: Step) -> Iterator[Package]:
    """What the command builds from source with torch and CUDA: it names no place that may have a wheel."""
    for package in step.packages:
        if normalized(package.name) in compiled_packages() and package.wheel is None and not package.places.more:
            yield package
