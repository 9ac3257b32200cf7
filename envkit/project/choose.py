"""Which build of each framework an installer takes for what a project's file asks for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from envkit._startup.records import record, replace
from envkit.base.markers import holds
from envkit.base.names import normalized
from envkit.base.versions import Version, VersionSpec
from envkit.compat.numpy_bound import is_bounded_apart
from envkit.compat.pairs import allows, meeting, required
from envkit.compat.software import some_version_meets
from envkit.dockerfile.base import Base
from envkit.dockerfile.clashes import releases_of, specs_of
from envkit.dockerfile.contents import Contents
from envkit.dockerfile.cuda import conda_cuda
from envkit.dockerfile.framework_packages import Wanted, merged, wanted_of
from envkit.dockerfile.packages import Package
from envkit.dockerfile.wanted import Choices, choices
from envkit.project.conda_packages import pip_spec_of
from envkit.project.model import Item, Manifest
from envkit.project.places import item
from envkit.solver.request import Request
from envkit.tables.pairs import PackagePair
from envkit.tables.rows import FrameworkBuild

if TYPE_CHECKING:
    from envkit.tables import Matrix

_TORCH, _COMPANIONS = "torch", ("torchvision", "torchaudio")


@record
class Chosen:
    """What is installed, as far as it is known."""

    items: tuple[Item, ...]  # those that the target gets
    unsure: tuple[Item, ...]  # whose markers cannot be told
    contents: Contents
    builds: Choices
    python: Version | None
    requires_python: str = ""  # of the project

    @property
    def meant(self) -> Iterator[tuple[Wanted, FrameworkBuild]]:
        """The builds that the file means, those too that it does not say where to find."""
        for wanted, build in self.builds.items():
            known = build if isinstance(build, FrameworkBuild) else build.meant
            if known is not None:
                yield wanted, known

    def item_of(self, package: str) -> Item | None:
        """The item of a package by its comparable name."""
        return self._by_name.get(package)

    @cached_property
    def _by_name(self) -> dict[str, Item]:
        return {normalized(one.package.name): one for one in reversed(self.items)}


def chosen(manifest: Manifest, request: Request, extras: Iterable[str], matrix: Matrix) -> Chosen:
    """What the target gets of the file, and the builds that its frameworks come as."""
    python = manifest.python or _python_of(request) or _only_python(manifest.requires_python, matrix)
    groups = {"", *map(normalized, extras)}
    here = [one for one in manifest.items if normalized(one.group) in groups]
    told = [holds_here(one, python, request) for one in here]
    items = [one for one, verdict in zip(here, told, strict=True) if verdict]
    unsure = tuple(one for one, verdict in zip(here, told, strict=True) if verdict is None)
    items += _brought_along(items)
    contents = _contents(items, python, request, matrix)
    bounds, specs = _bounds(items), specs_of(one.package for one in items)

    asked = contents.asked("numpy")

    def allowed(build: FrameworkBuild) -> bool:
        if asked and is_bounded_apart(build, asked, python, (matrix.source(key).title for key in build.sources)):
            return False  # an installer takes an older release then
        return build.framework != "pytorch" or _goes_with(build, bounds, specs)

    builds = choices(contents, matrix, allowed)
    return Chosen(tuple(items), unsure, contents, builds, python, manifest.requires_python)


def _python_of(request: Request) -> Version | None:
    exact = request.python.exact if request.python is not None else None
    return exact.release(2) if exact is not None and len(exact.parts) > 1 else None


def _only_python(requires: str, matrix: Matrix) -> Version | None:
    """The one Python line that a project allows, None where it allows several, or one that is not out yet."""
    if not requires:
        return None
    known = {python.release(2) for build in matrix.builds("pytorch") for python in build.pythons if python.parts[0] > 2}
    newest = max(known, default=None)
    if newest is None:
        return None
    lines = [Version.of(newest.parts[0], minor) for minor in range(newest.parts[1] + 2)]
    found = [line for line in lines if python_allowed(requires, line)]
    return found[0] if len(found) == 1 and found[0] in known else None


def python_allowed(requires: str, line: Version) -> bool:
    """Whether a project's `requires-python` takes releases of a line such as 3.12; a text that is none forbids none."""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        allowed = SpecifierSet(requires)
    except InvalidSpecifier:
        return True
    return any(allowed.contains(f"{line}.{patch}") for patch in (0, 99))


def holds_here(one: Item, python: Version | None, request: Request) -> bool | None:
    """Whether a line applies to a Python on the target; None where that cannot be told."""
    if one.package.tool == "conda":
        return True
    platform = "windows" if request.platform == "windows" else "linux"
    return holds(one.package.marker, python, request.architecture, platform, one.group)


def _contents(items: list[Item], python: Version | None, request: Request, matrix: Matrix) -> Contents:
    """The same as what a Dockerfile's commands put into a plain image."""
    packages = [one.package for one in items]
    nothing = Base(0, "", "", "", None, None, None, True, request.architecture)
    return Contents(
        base=nothing,
        glibc=False,
        cuda=None,
        some_cuda=None,
        cudnn=None,
        some_cudnn=False,
        python=python,
        wanted=merged(one for package in packages for one in wanted_of(package, python, "", matrix)),
        packages=tuple(packages),
        conda_cuda=conda_cuda(packages),
        index_set=False,
        lists=(),
        wheels=(),
        driver_packages=(),
        environment={},
        platform="windows" if request.platform == "windows" else "linux",
    )


# ---- packages that go with one release of torch


def _brought_along(items: list[Item]) -> list[Item]:
    """torch, where the file does not name it and one of its packages requires it."""
    names = {normalized(one.package.name) for one in items}
    if names & {_TORCH, "pytorch", "pytorch-gpu"}:
        return []
    for one in sorted(items, key=lambda one: not one.package.spec):  # what names a release says more
        rows = releases_of(one.package) if one.package.tool == "pip" else ()
        lines = [line for row in rows[-1:] for line in required(row) if line.package == _TORCH]
        found = item(lines[0].line, one.package.line, one.package.places, file=one.file) if lines else None
        if isinstance(found, Item):
            return [replace(found, written=one.written, group=one.group)]
    return []


def _bounds(items: list[Item]) -> list[tuple[PackagePair, ...]]:
    """Of each package with a bound of its own the releases in the data that keep it."""
    pip = (one.package if one.package.tool == "pip" else _as_of_pip(one.package) for one in items)
    bounded = (one for one in pip if one is not None and one.spec and normalized(one.name) != _TORCH)
    return [rows for one in bounded if (rows := releases_of(one))]


def _as_of_pip(package: Package) -> Package | None:
    """A companion of conda, which has the numbers of that of pip, in the words of pip; None for another package."""
    spec = pip_spec_of(package.spec) if normalized(package.name) in _COMPANIONS else None
    return replace(package, tool="pip", spec=spec) if spec is not None else None


def _goes_with(
    build: FrameworkBuild,
    bounds: Iterable[tuple[PackagePair, ...]],
    specs: Mapping[str, tuple[str, VersionSpec]],
) -> bool:
    """Whether a build of torch goes with releases of all other packages, as they say and as it says itself."""
    if not all(allows(rows, _TORCH, build.version) for rows in bounds):
        return False
    own = meeting(_TORCH, lambda version: version == str(build.version))
    lines = [line for row in own for line in required(row) if line.package in specs]
    return all(some_version_meets((line.spec, specs[line.package][1])) for line in lines)
