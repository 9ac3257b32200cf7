"""The newest Python that every pinned package of a file has a wheel for."""

from __future__ import annotations

from collections.abc import Iterable

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
    pinned = tuple(one for one in packages if one.tool == "pip" and one.spec)
    known = tuple(among) or {python for build in read(FrameworkBuild, "pytorch") for python in build.pythons}
    fitting = (python for python in known if all(takes(one, architecture, python) for one in pinned))
    return max(fitting, default=None)


def takes(one: Package, architecture: str, python: Version) -> bool:
    """Whether pip finds a release for a Python, as far as is known."""
    name = normalized(one.name)
    if name == _TORCH:
        try:
            wish = Wish.parse(one.spec.partition("+")[0], "pip")
        except ValueError:
            return True
        builds = [build for build in read(FrameworkBuild, "pytorch") if wish.holds(Release(build.version))]
        return not builds or any(python in build.pythons for build in builds)
    verdict = package_has_wheel(name, one.spec, _LINUX, architecture, python)
    return verdict is None or verdict.status != "fail"
