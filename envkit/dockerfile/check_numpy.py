"""Judges the NumPy that is installed next to a framework."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit._startup.records import replace
from envkit.base.names import normalized
from envkit.checks.containers import image_faults as faults
from envkit.checks.engine.command import REQUIREMENT, run
from envkit.checks.engine.findings import Finding
from envkit.compat.numpy_bound import is_bounded_apart, numpy_meets
from envkit.compat.software import range_of_row
from envkit.dockerfile.check_parts import from_verdict
from envkit.dockerfile.contents import Contents
from envkit.dockerfile.framework_packages import Wanted
from envkit.dockerfile.specifiers import is_bounded
from envkit.tables.build_stops import numpy_bringers
from envkit.tables.codes import limit
from envkit.tables.images import numpy_needs_python
from envkit.tables.rows import FrameworkBuild

if TYPE_CHECKING:
    from envkit.tables import Matrix

_OF_NVIDIA = "nvcr.io/nvidia/"
_FREE_OF_NUMPY = frozenset({"pip", "setuptools", "wheel"})
_IMPORT_STOPS = "The import stops: TensorFlow was compiled for NumPy 1, and pip takes NumPy 2."
_WITHOUT_ARRAYS = "It imports with a warning, and passing arrays between PyTorch and NumPy fails."
_REFUSED = "pip reports a conflict and stops."


def _brings_numpy(build: FrameworkBuild, found: Contents) -> bool:
    """True where the framework requires NumPy, or something next to it that takes its newest version."""
    if build.framework != "pytorch" or build.version < limit("pytorch-without-numpy"):
        return True
    rows = numpy_bringers()
    named = ((rows.get(normalized(one.name)), one.spec) for one in found.packages)
    return any(row is not None and (row.always or not is_bounded(spec)) for row, spec in named)


def numpy_beside(
    build: FrameworkBuild, wanted: Wanted, found: Contents, subject: str, matrix: Matrix
) -> Iterator[Finding]:
    """What is to say of the NumPy that the file asks for, or that pip provides where nothing limits it."""
    own = found.base.own
    if own is not None and own.repository.startswith(_OF_NVIDIA) and found.asked("numpy") is None:
        return  # pip leaves the NumPy of the image, whose release is not known
    asked = found.asked("numpy")
    titles = [matrix.source(key).title for key in build.sources]
    verdict = numpy_meets(build, asked, wanted.python, titles)
    if verdict is None or (verdict.status != "fail" and not _brings_numpy(build, found)):
        return
    impact = _impact(build)
    if verdict.status == "fail" and is_bounded_apart(build, asked or "", wanted.python, titles):
        impact = _impact_of_pins(wanted, found)
    elif verdict.status == "warn" and _gets_numpy_2(build, wanted, found):
        verdict, impact = replace(verdict, status="fail"), _IMPORT_STOPS
    command = run("pip", "install", REQUIREMENT(f"numpy{range_of_row(build.numpy or '')}"))
    advice = "Pin NumPy in the same pip install."
    yield from_verdict(faults.NUMPY_UNBOUNDED, verdict, subject, impact, advice, command)


def _impact(build: FrameworkBuild) -> str:
    """What becomes of a framework beside a NumPy that it was not compiled for."""
    return _WITHOUT_ARRAYS if build.framework == "pytorch" else faults.NUMPY_IMPACT


def _impact_of_pins(wanted: Wanted, found: Contents) -> str:
    """What pip makes of a NumPy that the metadata of the framework do not take."""
    last = next((one for one in reversed(found.packages) if normalized(one.name) == "numpy" and one.spec), None)
    return _REFUSED if last is not None and last.command == wanted.command else faults.NUMPY_IMPACT


def _gets_numpy_2(build: FrameworkBuild, wanted: Wanted, found: Contents) -> bool:
    """Whether a TensorFlow that was compiled for NumPy 1 certainly gets NumPy 2: nothing else may hold pip back."""
    if build.framework != "tensorflow" or build.version >= limit("tensorflow-for-numpy-2") or found.lists:
        return False
    beside = found.names - {wanted.package, "numpy"} - _FREE_OF_NUMPY
    floor = numpy_needs_python(limit("numpy-of-new-abi"))
    asked = found.asked("numpy")
    return not beside and not asked and floor is not None and wanted.python is not None and wanted.python >= floor
