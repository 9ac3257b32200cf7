"""What is known of the wheels that a project builds outside the index, where the index has sources alone."""

from __future__ import annotations

from collections.abc import Iterable

from envkit.base.versions import Version
from envkit.checks.engine.findings import Remedy
from envkit.compat.companion_gpus import no_release_runs
from envkit.compat.package_wheels import place_of
from envkit.compat.packages import requirement_of
from envkit.compat.prebuilt_wheels import install_words, prebuilt_for, prebuilt_of, releases_of_torch
from envkit.project.choose import Chosen
from envkit.solver.query import Query
from envkit.tables.pairs import PrebuiltWheels

_FRAMEWORK = "pytorch"


def prebuilt_remedy(package: str, spec: str, have: Chosen, query: Query) -> Remedy | None:
    """The wheel for the file's PyTorch, or which ones are known; None where none of the release is on record."""
    rows = prebuilt_of(package, spec)
    torch, cuda = _torch_of(have)
    if (
        not rows
        or torch is None
        or no_release_runs(package, spec, (gpu.compute_capability for gpu in query.request.gpus))
    ):
        return None
    place = place_of(query.packages, query.request.architecture)
    row = prebuilt_for(rows, torch, cuda, place, have.python) if cuda is not None else None
    if row is not None:
        made = f"PyTorch {row.torch} and CUDA {row.cuda}"
        command = f"python -m pip install {install_words(row, have.python)}"
        return Remedy(f"The {package} project has a wheel for {made}. To install it: {command}")
    wanted = f"PyTorch {torch}" + (f" with CUDA {cuda}" if cuda else "")
    wanted += f" and Python {have.python}" if have.python else ""
    nvcc = f"CUDA {cuda}'s nvcc" if cuda else "the nvcc of PyTorch's own CUDA"
    only = _others([row for row in rows if place in row.places], torch)
    return Remedy(f"envkit knows of no wheel from its project for {wanted}{only or ':'} compile {package} with {nvcc}.")


def _torch_of(have: Chosen) -> tuple[Version | None, Version | None]:
    """The file's PyTorch and its CUDA, where that is known; neither of one that is wanted for the CPU."""
    build = next((build for _, build in have.meant if build.framework == _FRAMEWORK and not build.cpu_only), None)
    if build is not None:
        return (build.version, build.cuda) if build.cuda is not None else (None, None)
    if any(one.framework == _FRAMEWORK and one.variant == "cpu" for one in have.builds):
        return None, None
    item = have.item_of("torch")
    wanted = requirement_of(f"torch{item.package.spec.partition('+')[0]}") if item is not None else None
    return (wanted.spec.exact if wanted is not None else None), None


def _others(here: Iterable[PrebuiltWheels], torch: Version) -> str:
    """For which others there are wheels: of its own PyTorch, otherwise by PyTorch; '' for none."""
    here = list(here)
    same = [row for row in here if torch.starts_with(row.torch)]
    known = "; ".join(dict.fromkeys(map(_one, same))) if same else f"PyTorch {releases_of_torch(here)}"
    return f", only for {known}: use one of those, or" if here else ""


def _one(row: PrebuiltWheels) -> str:
    pythons = f" and Python {', '.join(map(str, row.pythons))}" if row.pythons else ""
    return f"PyTorch {row.torch} with CUDA {row.cuda}{pythons}"
