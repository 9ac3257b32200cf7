"""Which of the packages that are asked for cannot go together, by what each one's own releases require of others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from envkit._startup.regex import regex
from envkit.base.names import normalized
from envkit.base.versions import VersionSpec
from envkit.compat.packages import requirements_of
from envkit.compat.pairs import meeting, newest_beside, pair_agrees
from envkit.compat.verdict import Verdict
from envkit.dockerfile.packages import Package
from envkit.dockerfile.specifiers import Release, Wish
from envkit.tables.pairs import PackagePair

if TYPE_CHECKING:
    from envkit.tables import Matrix

# Each release is built for one of torch.
TIED_TO_TORCH = ("torchvision", "torchaudio", "xformers", "vllm")
_PIN = regex(r"={2,3}\d+(?:\.\d+)*(?:\.?post\d+)?(?:\+[\w.]+)?")  # one final release


def clashes(packages: Iterable[Package]) -> Iterator[tuple[Package, Verdict, str]]:
    """Each package that no release of its neighbors goes with, why, and its newest release that would ('' for none).

    The last requirement of a name counts.
    """
    last = {normalized(one.name): one for one in packages if one.tool == "pip" and one.spec}
    specs = specs_of(last.values())
    for one in last.values():
        verdict = pair_agrees(releases_of(one), f"{one.name}{one.spec}", specs)
        if verdict.status == "fail":
            name = normalized(one.name)
            others = {other: spec for other, spec in specs.items() if other != name}
            yield one, verdict, newest_beside(name, others)


def together(package: Package, release: str) -> str:
    """The remedy for a package of a conflict, by its release that goes with the other requirements."""
    if not release:
        return "Use releases that were built for each other."
    return f"Use {package.name}=={release}, the newest release that goes with the other requirements, or change those."


def unknown_releases(packages: Iterable[Package], matrix: Matrix) -> Iterator[Package]:
    """The companions of torch that are pinned to a release that is not on record: nothing is known of those."""
    tied = [one for one in packages if one.tool == "pip" and one.wheel is None]
    pinned = [one for one in tied if normalized(one.name) in TIED_TO_TORCH and _PIN.fullmatch(one.spec)]
    lines = (
        {line.partition("+")[0] for build in matrix.builds("pytorch") for line in build.companions} if pinned else ()
    )
    for one in pinned:
        bare = one.spec.partition("+")[0].lstrip("=")
        if not releases_of(one) and f"{normalized(one.name)}=={bare}" not in lines:
            yield one


def releases_of(package: Package) -> tuple[PackagePair, ...]:
    """The releases on record that a requirement allows, oldest first."""
    try:
        wish = Wish.parse(package.spec.partition("+")[0], "pip")
    except ValueError:
        return ()

    def held(version: str) -> bool:
        try:
            return wish.holds(Release.parse(version))
        except ValueError:
            return False

    return meeting(normalized(package.name), held)


def specs_of(packages: Iterable[Package]) -> dict[str, tuple[str, VersionSpec]]:
    """Each package of pip with a bound, by its name: the requirement in words, and its versions."""
    found: dict[str, tuple[str, VersionSpec]] = {}
    for package in packages:
        told = requirements_of((f"{package.name}{package.spec}",)) if package.tool == "pip" and package.spec else ()
        found |= {normalized(package.name): (line.line, line.spec) for line in told}
    return found
