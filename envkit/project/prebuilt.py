"""What is known of the wheels that a project builds outside the index, where the index has sources alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from envkit.base.names import normalized
from envkit.base.sentences import series
from envkit.base.versions import Version
from envkit.checks.containers import project_faults as faults
from envkit.checks.engine.findings import Finding, Remedy, Status
from envkit.compat.companion_gpus import no_release_runs
from envkit.compat.package_breaks import package_breaks
from envkit.compat.package_wheels import place_of
from envkit.compat.packages import requirement_of
from envkit.compat.prebuilt_wheels import (
    install_words,
    list_made_for,
    misses_its_list,
    on_list,
    prebuilt_for,
    prebuilt_of,
    prebuilt_sources,
    releases_of_torch,
    releases_on_list,
    wheels_at,
)
from envkit.dockerfile.check_parts import finding
from envkit.project.choose import Chosen
from envkit.project.model import Item
from envkit.project.subject import subject_of
from envkit.solver.not_covered import is_compiled, where_to_look
from envkit.solver.query import Query
from envkit.tables.loader import read
from envkit.tables.pairs import PackageEnd, PrebuiltWheels
from envkit.tables.rows import FrameworkBuild

_FRAMEWORK = "pytorch"


def prebuilt_remedy(package: str, spec: str, have: Chosen, query: Query) -> Remedy | None:
    """The wheel for the file's PyTorch, or which ones are known; None where none of the package is on record."""
    rows = prebuilt_of(package, spec)
    every = [
        row
        for row in prebuilt_of(package, "")
        if not any(_breaks_beside(one, package, row.version) for one in have.items)
    ]
    torch, cuda = torch_of(have)
    if (
        not every
        or torch is None
        or no_release_runs(package, spec, (gpu.compute_capability for gpu in query.request.gpus))
    ):
        return None
    place = place_of(query.packages, query.request.architecture)
    row = prebuilt_for(rows, torch, cuda, place, have.python) if cuda is not None else None
    other = prebuilt_for(every, torch, cuda, place, have.python) if cuda is not None else None
    if (nearest := row or other) is not None and _needs_newer_glibc(nearest, query):
        return _compiled(nearest, package, spec, query)
    if row is not None:
        made = f"PyTorch {row.torch} and CUDA {row.cuda}"
        command = f"python -m pip install {install_words(row, have.python)}"
        return Remedy(f"The {package} project has a wheel for {made}. To install it: {command}")
    if other is not None:
        command = f"python -m pip install {install_words(other, have.python)}"
        made = f"PyTorch {torch} and CUDA {cuda}"
        return Remedy(f"For {made}, its project has wheels of {package} {other.version}. To install it: {command}")
    if not rows:
        return None
    wanted = f"PyTorch {torch}" + (f" with CUDA {cuda}" if cuda else "")
    wanted += f" and Python {have.python}" if have.python else ""
    nvcc = f"CUDA {cuda}'s nvcc" if cuda else "the nvcc of PyTorch's own CUDA"
    only = _others([row for row in rows if place in row.places], torch)
    return Remedy(f"envkit knows of no wheel from its project for {wanted}{only or ':'} compile {package} with {nvcc}.")


def compiling_remedy(package: str, spec: str, have: Chosen, query: Query) -> Remedy | None:
    """The nvcc that compiles a package with GPU code next to the file's PyTorch; None where that is of no use."""
    build = torch_in(have)
    gpus = (gpu.compute_capability for gpu in query.request.gpus)
    if build is None or build.cuda is None or not is_compiled(package) or no_release_runs(package, spec, gpus):
        return None
    return Remedy(
        f"It is compiled with an nvcc of the same CUDA major version as PyTorch's, which is {build.cuda} here: envkit "
        f"install --cuda {build.cuda} --components nvcc"
    )


def _needs_newer_glibc(row: PrebuiltWheels, query: Query) -> bool:
    return row.min_glibc is not None and query.glibc is not None and query.glibc < row.min_glibc


def _compiled(row: PrebuiltWheels, package: str, spec: str, query: Query) -> Remedy:
    """The build from source, where the system's glibc is too old for the wheel that there is."""
    where = query.system.title if query.system is not None else "the target"
    setup = f"; {row.forced_by} keeps its setup from downloading that wheel" if row.forced_by else ""
    command = f"{row.forced_by} python -m pip install --no-build-isolation {package}{spec}".strip()
    return Remedy(
        f"The project's wheel for PyTorch {row.torch} needs glibc {row.min_glibc}, and {where} has {query.glibc}: use "
        f"a newer system or a container with one, or compile {package} there{setup}: {command}"
    )


def torch_of(have: Chosen) -> tuple[Version | None, Version | None]:
    """The file's PyTorch and its CUDA, where that is known; neither of one that is wanted for the CPU."""
    build = torch_in(have)
    if build is not None:
        return (build.version, build.cuda) if build.cuda is not None else (None, None)
    if any(one.framework == _FRAMEWORK and one.variant == "cpu" for one in have.builds):
        return None, None
    item = have.item_of("torch")
    wanted = requirement_of(f"torch{item.package.spec.partition('+')[0]}") if item is not None else None
    return (wanted.spec.exact if wanted is not None else None), None


def torch_in(have: Chosen) -> FrameworkBuild | None:
    """The build of PyTorch for GPUs that the file means."""
    return next((build for _, build in have.meant if build.framework == _FRAMEWORK and not build.cpu_only), None)


def prebuilt_findings(have: Chosen, query: Query) -> Iterator[Finding]:
    """The packages that the file takes from a list of wheels for another PyTorch or CUDA than the one it installs."""
    build = torch_in(have)
    for one in have.items if build is not None and build.cuda is not None else ():
        name, spec = normalized(one.package.name), one.package.spec.partition("+")[0]
        rows = listed_wheels(one)
        if build is None or build.cuda is None or not rows or any(_is_for(row, build) for row in rows):
            continue
        made = series(dict.fromkeys(map(_one, rows)), "or")
        installed = f"PyTorch {build.version} for CUDA {build.cuda}"
        yield finding(
            faults.REQUIREMENTS_CLASH,
            Status.FAIL,
            f"the wheels of {name}{spec} that the file takes are for {made}, but it installs {installed}",
            subject_of(one),
            impact=f"The import of what they contain fails with an undefined symbol.{_none_for(name, spec, build)}",
            remedy=prebuilt_remedy(name, spec, have, query) or Remedy(f"Use a list of wheels for {installed}."),
            sources=rows[-1].sources,
        )


def _none_for(package: str, spec: str, build: FrameworkBuild) -> str:
    """That no wheel of a release is on record for a PyTorch, and what is left then; '' where there is one."""
    rows = prebuilt_of(package, spec)
    if any(build.version.starts_with(row.torch) for row in rows):
        return ""
    return (
        f" No wheel of {package}{spec} is on record for PyTorch {build.version.release(2)}: to keep that, compile "
        f"{package} with the nvcc of CUDA {build.cuda}."
    )


def no_list_findings(have: Chosen) -> Iterator[Finding]:
    """The lists that the file names with a CUDA in other words than their host has: pip finds nothing there."""
    for one in have.items:
        name, places = normalized(one.package.name), f"{one.package.places.index} {one.package.places.more}".split()
        for place, cuda in ((place, misses_its_list(place, name)) for place in places):
            if cuda:
                yield finding(
                    faults.NOT_ON_INDEX,
                    Status.FAIL,
                    f"there is no list of wheels at {place}: the addresses of those of {name} end with +{cuda}.html",
                    subject_of(one),
                    impact=f"The installer compiles {name} from its sources, or finds nothing.",
                    remedy=Remedy(f"Write +{cuda}.html at the end of that address."),
                    sources=prebuilt_sources(name, ""),
                )


def list_findings(have: Chosen) -> Iterator[Finding]:
    """The packages that the file takes from a list whose address names another PyTorch than the one it installs.

    Lists whose wheels are on record are judged by those.
    """
    build = torch_in(have)
    for one in have.items if build is not None and build.cuda is not None else ():
        made = _list_of(one)
        if build is None or build.cuda is None or made is None or listed_wheels(one):
            continue
        name, (torch, cuda) = normalized(one.package.name), made
        wanted, meant = f"PyTorch {torch} with CUDA {cuda}", f"PyTorch {build.version} for CUDA {build.cuda}"
        if not build.version.starts_with(torch) or build.cuda.major != cuda.major:
            yield finding(
                faults.REQUIREMENTS_CLASH,
                Status.FAIL,
                f"the list that the file takes {name} from is for {wanted}, but it installs {meant}",
                subject_of(one),
                impact="The import of what its wheels contain fails with an undefined symbol or a missing library.",
                remedy=Remedy(f"Use the list for PyTorch {build.version.release(2)} and CUDA {build.cuda}."),
                sources=prebuilt_sources(name, ""),
            )
            continue
        there = on_list(name, one.package.spec.partition("+")[0], torch, cuda)
        if there is False:
            yield _not_on_list(one, made, build, have)
        if there is not None:
            continue
        last = max(row.torch for row in prebuilt_of(name, ""))
        ended = last < torch and any(row.package == name for row in read(PackageEnd))
        doubt = f"its wheels ended with PyTorch {last}" if ended else "whether it has this release is not known"
        fits = f"its list is the one for {wanted}, which fits {meant}"
        title = f"Not checked: {name}{one.package.spec}: {fits}, but {doubt}"
        look = where_to_look(name) if ended else ""
        remedy = Remedy(f"Compile it with the nvcc of CUDA {build.cuda}. {look}".strip()) if ended else None
        yield finding(
            faults.NOT_JUDGED, Status.UNKNOWN, title, subject_of(one), remedy=remedy, sources=prebuilt_sources(name, "")
        )


def _not_on_list(one: Item, made: tuple[Version, Version], build: FrameworkBuild, have: Chosen) -> Finding:
    """That a list has other releases of a package alone; which of them suits the rest, or which PyTorch its own has."""
    name, spec = normalized(one.package.name), one.package.spec.partition("+")[0]
    others = releases_on_list(name, *made)
    suited = [other for other in others if not any(_breaks_beside(item, name, other) for item in have.items)]
    against = [item.package.name for item in have.items if _breaks_beside(item, name, others[-1])]
    rows = prebuilt_of(name, spec)
    newest = max((row.torch for row in rows), default=None)
    cudas = series(dict.fromkeys(row.cuda for row in rows if row.torch == newest), "or")
    ways = [f"use {name}=={suited[-1]}"] if suited else []
    ways += [f"use PyTorch {newest} with CUDA {cudas}, the newest that it has {name}{spec} for"] if newest else []
    taken = f" {name} {others[-1]} does not go with {series(against)}." if against else ""
    told = ", or ".join([*ways, f"compile it next to the installed PyTorch with the nvcc of CUDA {build.cuda}"])
    return finding(
        faults.NOT_ON_INDEX,
        Status.FAIL,
        f"the list for PyTorch {made[0]} with CUDA {made[1]} has no {name}{spec}, only {series(others)}",
        subject_of(one),
        impact=f"The installer compiles {name} from its sources, or installs it without its compiled operators.",
        remedy=Remedy(f"{told[0].upper()}{told[1:]}.{taken}"),
        sources=prebuilt_sources(name, ""),
    )


def _breaks_beside(item: Item, package: str, release: str) -> bool:
    """Whether an item of the file is known to break next to a release of a package."""
    version = Version.find(release)
    beside = {package: (f"{package} {release}", version)} if version is not None else {}
    spec = item.package.spec.partition("+")[0]
    return any(package_breaks(normalized(item.package.name), spec, beside))


def _list_of(one: Item) -> tuple[Version, Version] | None:
    """The PyTorch and the CUDA of the list that a package is taken from; None where no list or several are named."""
    name = normalized(one.package.name)
    places = f"{one.package.places.index} {one.package.places.more}".split()
    found = {made for place in places if (made := list_made_for(place, name)) is not None}
    return found.pop() if len(found) == 1 else None


def listed_wheels(one: Item) -> tuple[PrebuiltWheels, ...]:
    """The wheels of a package on record at the places that it is taken from."""
    places = one.package.places
    name = normalized(one.package.name)
    return tuple(row for place in f"{places.index} {places.more}".split() for row in wheels_at(place, name))


def comes_prebuilt(one: Item, have: Chosen) -> bool:
    """Whether a list of wheels that the file names has a package for its PyTorch, in the release that it asks for."""
    build = torch_in(have)
    asked = prebuilt_of(normalized(one.package.name), one.package.spec.partition("+")[0])
    if build is None:
        return False
    made, spec = _list_of(one), one.package.spec.partition("+")[0]
    listed = made is not None and build.version.starts_with(made[0]) and build.cuda == made[1]
    if listed and made is not None and on_list(normalized(one.package.name), spec, *made):
        return True
    return any(row in asked and _is_for(row, build) for row in listed_wheels(one))


def _is_for(row: PrebuiltWheels, build: FrameworkBuild) -> bool:
    return build.cuda is not None and build.version.starts_with(row.torch) and build.cuda.starts_with(row.cuda)


def _others(here: Iterable[PrebuiltWheels], torch: Version) -> str:
    """For which others there are wheels: of its own PyTorch, otherwise by PyTorch; '' for none."""
    here = list(here)
    same = [row for row in here if torch.starts_with(row.torch)]
    known = "; ".join(dict.fromkeys(map(_one, same))) if same else f"PyTorch {releases_of_torch(here)}"
    return f", only for {known}: use one of those, or" if here else ""


def _one(row: PrebuiltWheels) -> str:
    pythons = f" and Python {', '.join(map(str, row.pythons))}" if row.pythons else ""
    return f"PyTorch {row.torch} with CUDA {row.cuda}{pythons}"
