"""Which build of a framework pip or conda would take for what a Dockerfile names."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from envkit._startup.records import record
from envkit.base.names import normalized
from envkit.base.versions import Version
from envkit.checks.engine.findings import Status
from envkit.compat.conda import of_conda_forge
from envkit.dockerfile.build_names import has_name, is_empty
from envkit.dockerfile.contents import Contents
from envkit.dockerfile.framework_packages import Wanted, file_pages
from envkit.dockerfile.specifiers import (
    Release,
    Wish,
    likeness,
    package_extras,
    package_name,
    package_release,
    pinned_release,
    taken,
)
from envkit.dockerfile.suffixes import by_suffix, is_of_other_places, loses_to_amd
from envkit.tables.codes import limit
from envkit.tables.loader import read
from envkit.tables.names import EmptiedPackage
from envkit.tables.rows import FrameworkBuild, framework_title

if TYPE_CHECKING:
    from envkit.tables import Matrix


@record
class Problem:
    """Why no build can be named: how bad that is, what is wrong, and the fix."""

    status: Status
    told: str
    fix: str
    meant: FrameworkBuild | None = None  # the one build that would be taken, were it where the installer looks


Choices = Mapping[Wanted, FrameworkBuild | Problem]


def choices(found: Contents, matrix: Matrix, allowed: Callable[[FrameworkBuild], bool] = lambda build: True) -> Choices:
    """The build of each framework package of the file, or why there is none; for `allowed` see `chosen_build`.

    A part whose builds are listed under another package of the file, as jaxlib's under jax, is left out.
    """
    listed = {framework: _listed_names(framework, matrix) for framework in {item.framework for item in found.wanted}}
    whole = {item.framework for item in found.wanted if item.tool == "conda" or item.package in listed[item.framework]}
    stand_alone = listed.keys() - whole
    return {
        item: chosen_build(item, found, matrix, allowed)
        for item in found.wanted
        if item.framework in stand_alone or item.tool == "conda" or item.package in listed[item.framework]
        if not _is_there(item, found)
    }


def _is_there(wanted: Wanted, found: Contents) -> bool:
    """True for a package of a framework's own image that pip finds installed already, and leaves as it is."""
    own = found.base.own
    if own is None or own.version is None or own.framework != wanted.framework or wanted.tool != "pip":
        return False
    try:
        wish = Wish.parse(wanted.spec, wanted.tool)
    except ValueError:
        return False
    if any(wanted.package == row.same_as and own.version < row.same_since for row in read(EmptiedPackage)):
        return own.cuda is None  # images for GPUs have it under its other name
    renamed = any(wanted.package == row.package and own.version >= row.same_since for row in read(EmptiedPackage))
    if renamed and is_empty(wanted, wish) and found.base.tag.startswith(str(own.version)):
        return False  # the image has it under its other name
    return not (wanted.upgrades or wanted.suffix) and wish.holds(Release(own.version))


def _listed_names(framework: str, matrix: Matrix) -> set[str]:
    return {package_name(build) for build in matrix.builds(framework)}


def chosen_build(
    wanted: Wanted, found: Contents, matrix: Matrix, allowed: Callable[[FrameworkBuild], bool] = lambda build: True
) -> FrameworkBuild | Problem:
    """The build, or why there is none; `allowed` says whether what is next to it leaves a build in question."""
    builds = [
        build
        for build in matrix.builds(wanted.framework)
        if found.base.architecture in build.architectures and found.platform in (build.platforms or (found.platform,))
    ]
    named = [build for build in builds if has_name(build, wanted)]
    try:
        wish = Wish.parse(wanted.spec, wanted.tool)
    except ValueError:
        told = f"The version of {wanted.package}{wanted.spec} cannot be checked"
        return Problem(Status.UNKNOWN, told, "Write the version as the index does.")
    if wanted.tool == "pip" and is_empty(wanted, wish):
        told = f"{wanted.package}{wanted.spec} is a retired package name; installing it fails by design"
        return Problem(Status.FAIL, told, _instead_of_retired(wanted, found))
    if wanted.held:
        told = f"Which {wanted.package} is installed depends on a constraints file that was not read"
        return Problem(Status.UNKNOWN, told, "Pin a release.")
    if wanted.nightly:
        told = f"It is not known which nightly build of {wanted.package} is installed"
        return Problem(Status.UNKNOWN, told, "Pin a release.")
    fitting = _taken(wish, named, allowed)
    if fitting and _has_own_place(wanted, builds, matrix):
        told = f"It is not known which build of {wanted.package}{wanted.spec} {wanted.places} has"
        return Problem(Status.UNKNOWN, told, f"envkit knows only the default index for {wanted.package}.")
    if not fitting:
        return _no_version(wanted, wish, named, builds, found)
    candidates = _of_variant(wanted, fitting, named, found)
    if isinstance(candidates, Problem):
        return candidates
    # Without a pin pip takes the newest release with a package for this Python.
    if wanted.python is not None and wish.exact is None and wanted.tool == "pip":
        candidates = [build for build in candidates if _has_python(build, wanted.python)] or candidates
    best = _of_page(wanted, candidates, found.platform) or _best(wanted, candidates, found)
    return of_conda_forge(best) if wanted.tool == "conda" and not isinstance(best, Problem) else best


def _instead_of_retired(wanted: Wanted, found: Contents) -> str:
    """What to install for a retired name: nothing in an image that has it, and the same release where one is pinned."""
    own, release = found.base.own, pinned_release(wanted.spec)
    if own is not None and own.framework == wanted.framework:
        return f"Remove it: {found.base.image} includes {framework_title(own.framework)} {own.version}."
    if release is not None and Version.parse(release) < limit("tensorflow-with-wheels"):
        return f"Install tensorflow=={release}."
    return f"Install tensorflow[and-cuda]{wanted.spec if release is not None else ''}."


def _of_page(wanted: Wanted, candidates: list[FrameworkBuild], platform: str) -> FrameworkBuild | Problem | None:
    """The build that a page with all suffixes decides on; where it is AMD's, that for the newest CUDA is meant."""
    tagged = by_suffix(wanted, candidates)
    if not tagged or not loses_to_amd(tagged[-1], platform):
        return tagged[-1] if tagged else None
    meant = max(tagged, key=lambda build: build.cuda or build.version)
    told = f"Of the builds of {wanted.package}{wanted.spec} on {meant.find_links}, pip takes one for AMD GPUs (+rocm)"
    return Problem(Status.FAIL, told, f"Name the build: {meant.package}.", meant)


def _taken(wish: Wish, named: list[FrameworkBuild], allowed: Callable[[FrameworkBuild], bool]) -> list[FrameworkBuild]:
    """The builds that a wish takes; a pin is installed or refused as it is, whatever is next to it."""
    offered = taken(wish, named)
    fitting = [build for build in offered if allowed(build)]
    return offered if wish.exact is not None and not fitting else fitting


def _has_own_place(wanted: Wanted, builds: Sequence[FrameworkBuild], matrix: Matrix) -> bool:
    """True for an address that no row has and that speaks of CUDA or the framework: its builds may be others."""
    if wanted.variant:
        return False
    default = {build.package for build in builds if build.on_pypi}
    suffixed = {build.framework for build in builds if "/whl/cu" in (build.index_url or "")}  # with 2.6.0+cu118
    # of one number that two indexes have, without a suffix, it is open which build pip takes
    alone = (build for build in builds if build.framework in suffixed or build.package not in default)
    known = {place for build in alone for place in _places_of(build)}
    names = {"cuda", wanted.framework, wanted.package}
    odd = {place for place in wanted.places.split() if any(name in place.lower() for name in names)}
    return any(place.rstrip("/") not in known for place in odd) and not odd - known <= file_pages(matrix)


def _has_python(build: FrameworkBuild, python: Version) -> bool:
    return not build.pythons or any(python.starts_with(one) for one in build.pythons)


def _of_variant(
    wanted: Wanted, fitting: list[FrameworkBuild], named: list[FrameworkBuild], found: Contents
) -> list[FrameworkBuild] | Problem:
    """The builds that the named indexes hold."""
    if wanted.variant == "cpu" or wanted.tool == "conda" and found.conda_cpu:
        return fitting
    if wanted.variant and not wanted.variant.startswith("cu"):
        told = f"{wanted.package} for {wanted.variant} is not for NVIDIA GPUs; envkit knows only CUDA builds"
        return Problem(Status.UNKNOWN, told, "For an NVIDIA GPU, use an index of CUDA builds.")
    if wanted.tool == "conda":
        return _of_conda(wanted, fitting, found)
    cuda = variant(wanted.variant)
    of_cuda = [build for build in fitting if cuda is not None and build.cuda == cuda]
    on_default = [build for build in fitting if build.on_pypi]
    if wanted.suffix and wanted.default_index and not wanted.other_index and not found.index_set:
        told = f"The default index has no {wanted.package} with +{wanted.variant}: such builds have their own index"
        option = next(filter(None, map(_place_option, of_cuda)), "")
        fix = f"Add {option}." if option else "Specify that index."
        return Problem(Status.FAIL, told, fix, _newest(of_cuda))
    if wanted.suffix and is_of_other_places(wanted) and not found.index_set:
        told = (
            f"{wanted.package}{wanted.spec}+{wanted.variant} is not on the index where pip looks for it: "
            f"{wanted.places}"
        )
        option = next(filter(None, map(_place_option, of_cuda)), "")
        return Problem(
            Status.FAIL,
            told,
            f"Use {option} instead." if option else "Specify the index for that suffix.",
            _newest(of_cuda),
        )
    if wanted.variant:
        if wanted.suffix or not wanted.default_index:
            return of_cuda or _no_variant(wanted, fitting, named)
        # Next to the default index: the newest release of both, and of one release the build with the suffix.
        return of_cuda + [build for build in on_default if build not in of_cuda] or _no_variant(wanted, fitting, named)
    if wanted.default_index and not on_default and not wanted.other_index and not found.index_set:
        place = fitting[-1].index_url or fitting[-1].find_links
        told = f"envkit does not know {wanted.package}{wanted.spec} on the default index"
        return Problem(Status.UNKNOWN, told, f"{place} has it: specify that index." if place else "Specify its index.")
    places = {place.rstrip("/") for place in wanted.places.split()}
    return [build for build in fitting if build.on_pypi or _places_of(build) & places] or fitting


def _places_of(build: FrameworkBuild) -> set[str]:
    """The addresses that hold a build next to the default index."""
    return {place.rstrip("/") for place in (build.index_url, build.find_links) if place}


def _newest(builds: list[FrameworkBuild]) -> FrameworkBuild | None:
    return max(builds, key=lambda build: package_release(build).order, default=None)


def _place_option(build: FrameworkBuild) -> str:
    """The option of pip that names where a build is: its index, or else the page that lists its files.

    It is asked next to the default index, which has the other packages; the suffix says which build is taken.
    """
    if build.index_url:
        return f"--extra-index-url {build.index_url}"
    return f"-f {build.find_links}" if build.find_links else ""


_NAMES_CUDA = (
    "pytorch-cuda for the channel pytorch, or cuda-version for conda-forge, which takes a build for the CPU where it "
    "sees no driver unless the build is named as well: pytorch=*=cuda*"
)


def _names_cuda(wanted: Wanted, fitting: list[FrameworkBuild]) -> str:
    """The packages of conda that decide which CUDA a framework is built for."""
    if wanted.framework != "pytorch":
        return "cuda-version"
    old = all(build.version < limit("conda-pytorch-cuda") for build in fitting)
    return "cudatoolkit" if old else _NAMES_CUDA


def _of_conda(wanted: Wanted, fitting: list[FrameworkBuild], found: Contents) -> list[FrameworkBuild] | Problem:
    """The rows for the CUDA that conda is reported; the data lists the builds of indexes, so another may exist."""
    if found.conda_cuda is None:
        told = f"Nothing here determines which CUDA version conda chooses for {wanted.package}{wanted.spec}, if any"
        return Problem(Status.UNKNOWN, told, f"Specify it, such as {_names_cuda(wanted, fitting)}.")
    of_cuda = [
        build for build in fitting if build.cuda is not None and _same_line(build.cuda, found.conda_cuda.version)
    ]
    if not of_cuda:
        asked = f"{wanted.package}{wanted.spec} for CUDA {found.conda_cuda.version}"
        told = f"It is not known whether conda has {asked}"
        return Problem(Status.UNKNOWN, told, "Check with conda search.")
    return of_cuda


def _same_line(cuda: Version, told: Version) -> bool:
    return cuda.starts_with(told) or told.starts_with(cuda)


def _best(wanted: Wanted, candidates: list[FrameworkBuild], found: Contents) -> FrameworkBuild | Problem:
    """The newest of the builds; among alike ones the one whose extras or companions the Dockerfile names."""
    newest = max(package_release(build).order for build in candidates)
    alike = [build for build in candidates if package_release(build).order == newest]
    cuda = variant(wanted.variant)
    lines = {_cuda_line(extra) for extra in wanted.extras} - {""}
    own = [build for build in alike if {_cuda_line(extra) for extra in package_extras(build)} & lines]
    named = [build for build in alike if package_extras(build) and package_extras(build) <= set(wanted.extras)]
    alike = named or own or alike
    if cuda is not None:
        alike = [build for build in alike if build.cuda == cuda] or alike
    if len({build.package for build in alike}) == 1 and len({build.cuda for build in alike}) > 1:
        names = found.names
        beside = [build for build in alike if _companions(build) & names]
        if not any(_companions(build) for build in alike):
            beside = [
                build for build in alike if found.cuda and build.cuda and _same_line(build.cuda, found.cuda.version)
            ]
        if not beside:
            told = (
                f"Which CUDA {wanted.package} {alike[-1].version} uses cannot be inferred from the packages next to it"
            )
            offered = ", ".join(sorted({name for build in alike for name in _companions(build)}))
            return Problem(Status.UNKNOWN, told, f"Specify one of {offered}." if offered else "See envkit resolve.")
        alike = beside
    return max(alike, key=lambda build: (build.on_pypi, build.cuda or build.version))


def _companions(build: FrameworkBuild) -> frozenset[str]:
    """The packages that are next to a build, by name."""
    names = (re.match(r"[\w.-]+", line) for line in build.companions)
    return frozenset(normalized(name.group()) for name in names if name)


def _cuda_line(extra: str) -> str:
    """The CUDA line in the name of an extra: cuda12 of cuda12_pip and cuda12_local; '' in others."""
    found = re.match(r"cuda\d+", extra)
    return found.group() if found else ""


def lacks_cuda_extra(build: FrameworkBuild, wanted: Wanted) -> bool:
    """True when a build's CUDA comes with an extra that the requirement does not name."""
    return bool(package_extras(build)) and not wanted.extras


def names_variant(build: FrameworkBuild) -> bool:
    """True when the extra of a build is what makes it a CUDA build at all (jax[cuda12])."""
    return any(_cuda_line(extra) for extra in package_extras(build))


def cuda_comes_from(build: FrameworkBuild, wanted: Wanted, found: Contents) -> str:
    """Where a build has its CUDA from: `inside`, the `system`, or `nowhere` for one that comes without any.

    An extra may provide it, a plugin next to it, or a suffix of one of its parts (jaxlib==0.4.26+cuda12.cudnn89).
    """
    if build.bundles_cuda is False:
        return "system"
    if not build.bundles_cuda or not (lacks_cuda_extra(build, wanted) or "local" in " ".join(wanted.extras)):
        return "inside"
    parts = (other for other in found.wanted if other.framework == wanted.framework)
    if any(name.startswith(f"{wanted.package}-cuda") for name in found.names) or any(
        "+cuda" in one.spec for one in parts
    ):
        return "inside"
    return "nowhere" if names_variant(build) and not wanted.extras else "system"


def variant(word: str) -> Version | None:
    """The CUDA release that an index word names: cu118 is 11.8, cu90 is 9.0; None for cpu and none."""
    digits = word.removeprefix("cu")
    return Version.of(int(digits[:-1]), int(digits[-1])) if digits.isdigit() and len(digits) > 1 else None


def _no_version(
    wanted: Wanted, wish: Wish, named: list[FrameworkBuild], builds: list[FrameworkBuild], found: Contents
) -> Problem:
    if taken(wish, named):
        told = f"No release of {wanted.package} known to envkit works with all packages next to it"
        return Problem(Status.UNKNOWN, told, "Use releases that were built for each other.")
    asked = f"{wanted.package}{wanted.spec}"
    where = f" for {found.base.architecture}" if found.base.architecture != "x86_64" else ""
    others = taken(wish, [build for build in builds if build.package])
    if wanted.tool == "pip" and others and found.base.architecture == "x86_64":
        best = max(others, key=lambda build: likeness(build, wanted.package))
        first = min((package_release(build).order for build in named), default=None)
        early = first is not None and wish.exact is not None and wish.exact.order < first
        since = f": those of {wanted.package} begin with {first[0]}" if first is not None and early else ""
        told = f"No GPU build of {asked} is known to envkit{since}"
        return Problem(Status.UNKNOWN, told, f"Use {best.package}, which is one.")
    if not named and wanted.tool == "conda":
        told = f"It is not known which build of {wanted.package}{wanted.spec} conda chooses"
        return Problem(Status.UNKNOWN, told, "Check with conda search, or pixi search.")
    if not named:
        told = f"No GPU build of {wanted.package} is known to envkit{where}"
        return Problem(Status.UNKNOWN, told, f"See: envkit matrix {wanted.framework}")
    last = max(named, key=lambda build: package_release(build).order).version
    if wish.exact is not None and wish.exact.numbers > last:
        told = f"envkit knows no {asked}{where}; the newest is {last}"
        return Problem(Status.UNKNOWN, told, f"Check the version; {wanted.package}=={last} is known to envkit.")
    known = f"{wanted.package}=={last} is known{where}; `envkit matrix {wanted.framework}` lists the others."
    return Problem(Status.UNKNOWN, f"{asked} is not known to envkit{where}", known)


def _no_variant(wanted: Wanted, fitting: list[FrameworkBuild], named: list[FrameworkBuild]) -> Problem:
    """Certain of a CUDA older than all that a release was built for, or that later releases were the first to have.

    Between those, and beyond, a row may be missing.
    """
    offered = sorted({build.cuda for build in fitting if build.cuda is not None})
    told = ", ".join(str(cuda) for cuda in offered)
    cuda = variant(wanted.variant)
    first = min((package_release(build).order for build in named if build.cuda == cuda), default=None)
    too_early = first is not None and all(package_release(build).order < first for build in fitting)
    last = max((package_release(build).order for build in named if build.cuda == cuda), default=None)
    too_late = last is not None and all(package_release(build).order > last for build in fitting)
    given_up = too_late and wanted.package == "torch"  # each of its indexes ends once
    if cuda is not None and offered and cuda >= offered[0] and not too_early and not given_up:
        title = f"Whether {wanted.package}{wanted.spec} was built for CUDA {cuda} is not known; it was built for {told}"
        return Problem(Status.UNKNOWN, title, "Check whether its index has that build.")
    return Problem(
        Status.FAIL,
        f"{wanted.package}{wanted.spec} was never built for CUDA {cuda}; it was built for {told}",
        f"Use the index of one of these: cu{str(offered[-1]).replace('.', '')}."
        if offered
        else "Choose another release.",
    )
