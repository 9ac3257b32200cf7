"""Whether the installed NumPy is one that the frameworks were built for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit.checks.engine.command import REQUIREMENT, Command, export, fixed, run
from envkit.checks.engine.confidence import is_certain
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Outcome, Remedy, Status, ok, unknown
from envkit.checks.engine.messages import all_messages, seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.engine.remedies import on_windows
from envkit.checks.frameworks.installs import (
    Installed,
    distribution,
    distribution_evidence,
    installs,
    nothing_to_judge,
    numpy_of,
    pip,
    release,
)
from envkit.checks.frameworks.requirements import broken, machine
from envkit.model import Distribution, Environment

if TYPE_CHECKING:
    from envkit.tables import Matrix

_WARNINGS = {"numpy2-abi/compiled", "numpy2-abi/warned"}
_BELOW_TWO = fixed("python -m pip install 'numpy<2'")
_WHICH_NUMPY = fixed("python -c 'import numpy; print(numpy.__version__, numpy.__file__)'")


def _below_two(environment: Environment, matrix: Matrix) -> Remedy:
    """A NumPy that the packages take; where Python finds some in the user's directory, without that."""
    if not seen(environment, "numpy2-abi", "detail-user-site"):
        return Remedy("Install NumPy below 2, or newer releases of the packages.", (_BELOW_TWO,))
    windows = on_windows(environment)
    folder = "AppData\\Roaming\\Python" if windows else "~/.local"
    return Remedy(
        f"Packages from two places are mixed: Python also imports those in {folder}, the user directory, which every "
        "environment of the same Python version sees and pip of the environment does not change. Leave that directory "
        "out: set the variable before the program starts (in the script that starts it, to keep it). The second "
        "command then has to print a path inside the environment. If the message is still there, or a package is "
        "missing now, install NumPy below 2 and that package into the environment, with the variable set (last "
        "command).",
        (
            fixed("set PYTHONNOUSERSITE=1") if windows else export("PYTHONNOUSERSITE", "1"),
            _WHICH_NUMPY,
            _BELOW_TWO,
        ),
    )


_NUMPY = Fault(
    "numpy2-abi",
    "A package compiled for NumPy 1 was imported with NumPy 2",
    impact='Converting tensors fails with "Numpy is not available", or the import crashes.',
    remedy=_below_two,
)


def _numpy_of_conda(item: Installed) -> Distribution | None:
    """conda's NumPy next to PyTorch, whose builds there take the same NumPy as its wheels."""
    own = (one for one in item.python.distributions if one.name == "numpy" and item.framework.name == "pytorch")
    return next(own, None)


def _numpy_from(item: Installed, numpy: Distribution, wanted: str) -> Command:
    """By the tool that installed it: pip's files over conda's would leave two."""
    if numpy.installer == "conda":
        return run("conda", "install", "-y", REQUIREMENT(wanted))
    return pip(item.python, "install", REQUIREMENT(wanted))


@check(
    _NUMPY,
    spares_gpu=True,
    layer=Layer.FRAMEWORK_BUILD,
    rank=40,
    any_of=("pythons", "messages"),
    fix="Install NumPy below 2, or newer releases of the packages.",
    references=threads("pytorch/pytorch#135013", "pytorch/pytorch#107302"),
)
def numpy2_abi(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """The frameworks were built for the installed NumPy.

    Frameworks compiled for NumPy 1 cannot use NumPy 2: "Numpy is not available", "_ARRAY_API not found".
    """
    from envkit.compat.software import range_of_row

    looked = 0
    for item in installs(environment):
        numpy = distribution(item.python, "numpy") or _numpy_of_conda(item)
        version = release(numpy.version) if numpy is not None else None
        if numpy is None or version is None:
            continue
        looked += 1
        told = numpy_of(environment, item.framework, matrix)
        bound = range_of_row(told) if told else None
        unmet = [str(bound)] if bound is not None and not bound.holds(version) else []
        package = item.framework.package.partition("==")[0]
        unmet += [
            fault.wanted
            for fault in broken(item.python, [package], ("numpy",), machine(environment))
            if fault.installed.name == "numpy"
        ]
        own = distribution(item.python, package)
        has_wish = bound is not None or (own is not None and bool(own.requires))
        evidence = [distribution_evidence(numpy), item.evidence("version", item.framework.version)]
        if unmet:
            yield _NUMPY.found(
                evidence,
                title=f"{item.framework.package} requires numpy{unmet[0]}, but {numpy.version} is installed",
                subject=item.subject,
                status=Status.WARN if _went_on(environment) else None,
                remedy=Remedy(
                    "Install a NumPy release that it supports.", (_numpy_from(item, numpy, f"numpy{unmet[0]}"),)
                ),
            )
        elif not has_wish:
            title = f"which numpy {item.framework.package} was built for is not known"
            yield unknown(title, subject=item.subject, evidence=evidence)
        else:
            yield ok(
                f"numpy {numpy.version} is compatible with {item.framework.package}",
                subject=item.subject,
                evidence=evidence,
            )
    if reported := _NUMPY.reported(environment, status=Status.WARN if _went_on(environment) else None):
        yield reported
    elif not looked:
        yield nothing_to_judge(environment, "framework that uses NumPy")


def _went_on(environment: Environment) -> bool:
    """Whether NumPy only warned ("it may crash"), and the program stopped later for a cause that its message names."""
    warned = seen(environment, _NUMPY.id)
    if not warned or any(message.signature not in _WARNINGS for message in warned):
        return False
    return any(
        message.line > max((one.line for one in warned), default=0) and is_certain(message.signature)
        for message in all_messages(environment)
    )
