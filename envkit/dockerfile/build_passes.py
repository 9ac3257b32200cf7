"""What was looked at in each stage and holds: the Python of pip, the base's framework, the mirrors, the compiler."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from envkit._startup.regex import regex
from envkit.checks.containers import image_faults
from envkit.checks.containers import image_stops as faults
from envkit.checks.engine.findings import Finding, Status
from envkit.checks.engine.registry import ImageFault
from envkit.dockerfile.base_replaced import is_confined, packages_of, stays_in_base
from envkit.dockerfile.check_parts import command_subject, finding, subject_of
from envkit.dockerfile.ground import APT, Ground, arguments
from envkit.dockerfile.shell import called
from envkit.dockerfile.stops_torch import compiled_in
from envkit.tables.known_images import CUDA_REPOSITORY

if TYPE_CHECKING:
    from envkit.tables import Matrix

_PIP = regex(r"(?:.*[/ ])?pip[\d.]*")
_FETCHES = ("update", "upgrade", "install")


def build_passes(made: Iterable[Ground], told: Sequence[Finding], matrix: Matrix) -> Iterator[Finding]:
    """One finding of each kind and stage, where nothing that was told so far says otherwise."""
    wrong = {one.id for one in told if one.status in (Status.FAIL, Status.WARN)}
    for ground in made:
        yield from _python_of_pip(ground)
        if faults.APT_WITHOUT_PACKAGE.id not in wrong:
            yield from _apt(ground, wrong)
        if image_faults.REQUIREMENTS_CLASH.id not in wrong:
            yield from _framework(ground, matrix)
        if faults.COMPILER_MISSING.id not in wrong:
            yield from _compiler(ground)


def _ok(fault: ImageFault, title: str, subject: str) -> Finding:
    return finding(fault, Status.OK, title, subject)


def _python_of_pip(ground: Ground) -> Iterator[Finding]:
    """The first call of pip whose Python is certain."""
    for step in ground.steps:
        words = called(step.command)
        if "install" not in words:
            continue
        caller = " ".join(words[: words.index("install")])
        python = ground.pythons.of(caller, step.place) if _PIP.fullmatch(caller) else None
        if python is not None:
            yield _ok(
                faults.PYTHON_OF_PIP, f"{caller} installs for Python {python.release(2)}", command_subject(step.command)
            )
            return


def _apt(ground: Ground, wrong: set[str]) -> Iterator[Finding]:
    """The first use of apt, where it certainly finds the packages of the distribution."""
    system = ground.base.system
    kinds = {faults.ARCHIVE_GONE.id, faults.APT_KEY_ROTATED.id, faults.APT_KEY_REFUSED.id, faults.APT_LISTS_MISSING.id}
    if system is None or not (ground.plain and ground.first) or wrong & kinds:
        return
    for step in ground.steps:
        if arguments(step.command, APT, _FETCHES) is not None:
            title = f"the packages of {system.title} are on the mirrors that the image uses"
            yield _ok(faults.ARCHIVE_GONE, title, command_subject(step.command))
            return


def _framework(ground: Ground, matrix: Matrix) -> Iterator[Finding]:
    """The framework of the base, where no package that is named replaces it."""
    own = ground.base.own
    if own is None or not ground.first:
        return
    names = packages_of(own, matrix)
    asked = [package for step in ground.steps for package in step.packages if package.name in names]
    if asked and (is_confined(ground) or not all(stays_in_base(package, own) for package in asked)):
        return
    what = f"{own.framework} {own.version}" if own.version is not None else f"{own.framework}, built by its vendor"
    what += f", for CUDA {own.cuda}" if own.cuda is not None else ""
    rest = "which meets what this file asks of it" if asked else "and no package listed here replaces it"
    title = f"{ground.base.image} includes {what}, {rest}"
    yield _ok(faults.FRAMEWORK_IN_BASE, title, subject_of(ground.base.line, ground.base.image))


def _compiler(ground: Ground) -> Iterator[Finding]:
    """The first package that is compiled, in an image of CUDA with its compiler."""
    row = ground.base.row
    if row is None or row.flavor != "devel" or ground.base.repository != CUDA_REPOSITORY:
        return
    for step in ground.steps:
        compiled = next((one for one in compiled_in(step) if one.row.needs_nvcc), None)
        if compiled is not None:
            title = f"the image has the CUDA compiler, which {compiled.name} needs"
            yield _ok(faults.COMPILER_MISSING, title, command_subject(step.command, compiled.line))
            return
