"""The newest Python that every pinned package of a file has a wheel for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from envkit.base.names import normalized
from envkit.base.versions import Version
from envkit.compat.package_wheels import package_has_wheel
from envkit.dockerfile.packages import Package
from envkit.dockerfile.specifiers import Release, Wish
from envkit.tables.loader import read
from envkit.tables.rows import FrameworkBuild

_LINUX = "linux"
_TORCH = "torch"


def newest_for_all(packages: Iterable[Package], architecture: str, among: Iterable[Version] = ()) -> Version | None:
    """The newest of the Pythons (of all that PyTorch was built for, if none are given); None where none fits all."""
    pinned = [one for one in packages if one.tool == "pip" and one.spec]
    known = tuple(among) or pythons_of_torch(lambda version: True)
    of_torch = _of_torch([one.spec for one in pinned if normalized(one.name) == _TORCH])
    others = [one for one in pinned if normalized(one.name) != _TORCH]
    fitting = (
        python
        for python in known
        if (of_torch is None or python in of_torch) and all(_takes(one, architecture, python) for one in others)
    )
    return max(fitting, default=None)


def takes(one: Package, architecture: str, python: Version) -> bool:
    """Whether pip finds a release for a Python, as far as is known."""
    if normalized(one.name) != _TORCH:
        return _takes(one, architecture, python)
    own = _of_torch([one.spec])
    return own is None or python in own


def _takes(one: Package, architecture: str, python: Version) -> bool:
    verdict = package_has_wheel(normalized(one.name), one.spec, _LINUX, architecture, python)
    return verdict is None or verdict.status != "fail"


def _of_torch(specs: Sequence[str]) -> frozenset[Version] | None:
    """The Pythons of the builds that all these requirements allow, taken as one; None where that is not known."""
    if not specs:
        return None
    try:
        wish = Wish.parse(",".join(spec.partition("+")[0] for spec in specs), "pip")
    except ValueError:
        return None
    return pythons_of_torch(lambda version: wish.holds(Release(version))) or None


def pythons_of_torch(holds: Callable[[Version], bool]) -> frozenset[Version]:
    """The Pythons of all builds of PyTorch of the releases that are taken."""
    builds = (build for build in read(FrameworkBuild, "pytorch") if holds(build.version))
    return frozenset(python for build in builds for python in build.pythons)
