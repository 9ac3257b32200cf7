"""Which of the packages that are asked for cannot go together, by what each one's own releases require of others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from envkit._startup.records import record, replace
from envkit._startup.regex import regex
from envkit.base.names import normalized
from envkit.base.platforms import WINDOWS
from envkit.base.sentences import series
from envkit.base.versions import Version, VersionSpec
from envkit.compat.package_wheels import has_wheel, wheels_of
from envkit.compat.packages import requirement_of
from envkit.compat.pairs import TESTED_ONLY, fitting_beside, meeting, needed_of, pair_agrees, with_extras
from envkit.compat.verdict import Verdict
from envkit.dockerfile.common_python import pythons_of_torch
from envkit.dockerfile.made_for import host_of, made_for
from envkit.dockerfile.needs import Needs
from envkit.dockerfile.packages import Package
from envkit.dockerfile.specifiers import Release, Wish
from envkit.dockerfile.suffixes import other_cuda
from envkit.tables.codes import limit
from envkit.tables.pairs import PackagePair

if TYPE_CHECKING:
    from envkit.tables import Matrix

# Each release is built for one of torch.
TIED_TO_TORCH = ("torchvision", "torchaudio", "xformers", "vllm")
_TORCH = "torch"
_OF_LINUX = "triton"  # torch requires it on Linux only
_LINUX, _PROCESSOR = "linux", "x86_64"
_PIN = regex(r"={2,3}\d+(?:\.\d+)*(?:\.?post\d+)?(?:\+[\w.]+)?")  # one final release


@record
class Clash:
    """A package that does not go with its neighbors, and why.

    `breaks`: it certainly breaks something. `release`: the newest one that would go with them, '' where none is known;
    `certain`: it is made for them, and they do not have to change instead. `beside`: the framework that it is made for,
    as it is asked for. `needs`: what it requires of a neighbor, '' where that is not known. `apart`: the two are in
    separate commands.
    """

    package: Package
    verdict: Verdict
    breaks: bool
    release: str
    needs: str = ""
    apart: bool = False
    beside: str = ""
    certain: bool = False


def clashes(packages: Iterable[Package], needs: Needs | None = None, *, every: bool = False) -> Iterator[Clash]:
    """The packages that do not go together; a companion is certainly wrong only where its framework stays.

    `every`: all that is refused of a package, not the first alone.
    """
    found = tuple(_clashes(packages, needs, every=every))
    own = [one for one in found if not host_of(normalized(one.package.name))]
    asked = [requirement_of(one.needs) for one in own if one.needs]
    disputed = {normalized(one.package.name) for one in own} | {one.package for one in asked if one is not None}
    for one in found:
        yield replace(one, certain=False) if host_of(normalized(one.package.name)) in disputed else one


def _clashes(packages: Iterable[Package], needs: Needs | None, *, every: bool) -> Iterator[Clash]:
    """Each package that no release of its neighbors goes with; with `needs`, by all that the pinned ones require.

    The last requirement of a name counts. Of two commands, a later one that requires another release replaces what
    the rest was built for; a later one that is itself what an earlier one does not take may be meant so.
    """
    packages = tuple(packages)
    last = {normalized(one.name): one for one in packages if one.tool == "pip" and one.spec}
    if needs is not None and needs.platform == WINDOWS:
        last.pop(_OF_LINUX, None)
    specs = specs_of(last.values())
    by_command: dict[tuple[int, ...], list[Package]] = {}
    for one in last.values():
        by_command.setdefault(one.command, []).append(one)
    specs_by_command = {command: specs_of(ones) for command, ones in by_command.items()}
    for one in last.values():
        beside = specs_by_command[one.command]
        verdict = _agrees(one, specs)
        if verdict.status != "fail":
            for line, refusal in needs.against(one, beside) if needs is not None else ():
                clash = _with_release(Clash(one, refusal, breaks=True, release="", needs=line), specs, needs)
                yield if_certain(clash)
            continue
        if _agrees(one, beside).status == "fail":
            breaks = normalized(one.name) not in TESTED_ONLY
            clash = Clash(one, verdict, breaks, "", needed_of(releases_of(one), specs))
            yield _with_release(clash, specs, needs)
            yield from _further(clash, needs, beside) if every else ()
            continue
        others = [other for other in last.values() if _agrees(one, specs_of([other])).status == "fail"]
        latest = max((one, *others), key=lambda package: package.command)
        built = [other for other in packages if normalized(other.name) in TIED_TO_TORCH and other.command < one.command]
        needed = needed_of(releases_of(one), specs) if latest is one else ""
        clash = Clash(latest, verdict, latest is one and bool(built), "", needed, apart=True)
        yield _with_release(clash, specs, needs)


def _further(clash: Clash, needs: Needs | None, beside: Mapping[str, tuple[str, VersionSpec]]) -> Iterator[Clash]:
    """What else the same command refuses of a package, which pip would report once the first is gone."""
    first = requirement_of(clash.needs) if clash.needs else None
    for line, refusal in needs.against(clash.package, beside) if needs is not None and first is not None else ():
        other = requirement_of(line)
        if other is not None and first is not None and other.package != first.package:
            yield Clash(clash.package, refusal, clash.breaks, "", line)


def _with_release(clash: Clash, specs: Mapping[str, tuple[str, VersionSpec]], needs: Needs | None) -> Clash:
    """With the newest release that goes with what is there, which for a companion may be the one made for that."""
    name = normalized(clash.package.name)
    release, host = _release_beside(clash.package, specs, needs), host_of(name)
    certain = host in specs and made_for(name, release, specs)
    return replace(clash, release=release, beside=specs[host][0] if certain else "", certain=certain)


def of_other_torch(packages: Iterable[Package], matrix: Matrix) -> Iterator[Clash]:
    """The companions that PyTorch published with another torch than the one in the same command.

    For releases of which no requirements are known; old ones take any torch.
    """
    last = {normalized(one.name): one for one in packages if one.tool == "pip" and _PIN.fullmatch(one.spec)}
    torch = last.get("torch")
    have = Version.find(_bare(torch)) if torch is not None else None
    beside = [one for name, one in last.items() if name in ("torchvision", "torchaudio") and not releases_of(one)]
    if torch is None or have is None or not beside:
        return
    published = [
        (build.version, own.partition("+")[0]) for build in matrix.builds("pytorch") for own in build.companions
    ]
    for one in beside:
        name, line = normalized(one.name), f"{normalized(one.name)}=={_bare(one)}"
        made_for = sorted({version for version, own in published if own == line})
        if one.command != torch.command or have in made_for or not _names_torch(made_for):
            continue
        detail = f"{line} is for torch=={series(map(str, made_for), 'or')}, but torch=={have} is also requested"
        fitting = [
            own.partition("==")[2] for version, own in published if version == have and own.startswith(f"{name}==")
        ]
        yield Clash(one, Verdict("pair-agrees", "fail", detail, ()), False, fitting[-1] if fitting else "")


def of_other_cuda(packages: Iterable[Package]) -> Iterator[Clash]:
    """The companions whose suffix names another CUDA than that of the torch in the same command, as they compare it."""
    pinned = {normalized(one.name): one for one in packages if one.tool == "pip" and _PIN.fullmatch(one.spec)}
    torch = pinned.get(_TORCH)
    for name in ("torchvision", "torchaudio"):
        one = pinned.get(name)
        if torch is None or one is None or one.command != torch.command:
            continue
        detail = other_cuda(one, torch)
        if detail:
            release = f"{_bare(one)}+{torch.spec.partition('+')[2]}"
            yield Clash(one, Verdict("pair-agrees", "fail", detail, (f"pypi-{name}",)), True, release)


def _names_torch(made_for: Sequence[Version]) -> bool:
    """Whether releases for these torches require one of them; an old pip installs others next to them all the same."""
    return bool(made_for) and made_for[0] >= limit("torch-named-by-companions")


def _bare(one: Package) -> str:
    """The release of a pin."""
    return one.spec.partition("+")[0].lstrip("=")


def _agrees(one: Package, specs: Mapping[str, tuple[str, VersionSpec]]) -> Verdict:
    return pair_agrees(releases_of(one), one.asked, specs)


def _release_beside(one: Package, specs: Mapping[str, tuple[str, VersionSpec]], needs: Needs | None) -> str:
    """The newest release that goes with the rest, by all that is known of what it requires; '' for none.

    It is for the Python that is there, but where that has to change anyway for want of wheels. Where none is named, it
    is for as many as the rest, or for several of them.
    """
    others = {other: spec for other, spec in specs.items() if other != normalized(one.name)}
    fitting = fitting_beside(_known(one, lambda _: True), others)
    if needs is not None:
        fitting = (release for release in fitting if not any(needs.against(replace(one, spec=f"=={release}"), others)))
    named = needs.python if needs is not None else None
    possible = _pythons(one, others)
    stays = named is not None and (not possible or named.release(2) in possible)
    pythons = (named.release(2),) if named is not None and stays else possible
    usable = tuple(fitting)
    for_all = next((release for release in usable if _has_wheels(one, release, pythons)), "")
    if for_all or named is not None:
        return for_all
    several = (release for release in usable if sum(_has_wheels(one, release, (python,)) for python in pythons) > 1)
    return next(several, "")


def _pythons(one: Package, others: Mapping[str, tuple[str, VersionSpec]]) -> frozenset[Version]:
    """The Pythons that what is asked for has wheels for, of those that the torch beside it has."""
    torch = others.get(_TORCH)
    if torch is None:
        return frozenset()
    known = pythons_of_torch(torch[1].holds)
    rows = wheels_of(normalized(one.name), one.spec.partition("+")[0])
    return frozenset(python for python in known if any(has_wheel(row, _LINUX, _PROCESSOR, python) for row in rows))


def _has_wheels(one: Package, release: str, pythons: Iterable[Version]) -> bool:
    """Whether a release has a wheel for each of these Pythons, or nothing is known of its wheels."""
    rows = wheels_of(normalized(one.name), f"=={release}")
    return not rows or all(any(has_wheel(row, _LINUX, _PROCESSOR, python) for row in rows) for python in pythons)


def if_certain(clash: Clash) -> Clash:
    """The clash without a release that may not be the one to change."""
    return clash if clash.certain or "+" in clash.release else replace(clash, release="")


def together(clash: Clash, packages: Iterable[Package] = ()) -> str:
    """The remedy for a clash, by the release of its package that goes with the other requirements, the `packages`."""
    if not clash.release:
        return _what_it_needs(clash, packages) or "Use releases that were built for each other."
    extras = f"[{','.join(clash.package.extras)}]" if clash.package.extras else ""
    named = f"{clash.package.name}{extras}=={clash.release}"
    if "+" in clash.release:
        return f"Use {named}, from the index for that CUDA."
    beside = clash.beside or "the other requirements"
    return f"Use {named}, the newest release that works with {beside}."


def _what_it_needs(clash: Clash, packages: Iterable[Package]) -> str:
    """What a package requires of torch or another, with the releases of the rest that go with that then."""
    needed = requirement_of(clash.needs) if clash.needs else None
    if needed is None:
        return ""
    own, name = releases_of(clash.package), normalized(clash.package.name)
    newest = own[-1].version if own and own[-1] == _known(clash.package, lambda _: True)[-1] else ""
    known = f"; no newer {name} than {newest} is known" if newest else ""
    beside = {needed.package: (clash.needs, needed.spec)}
    rest = [one for one in packages if normalized(one.name) in TIED_TO_TORCH and normalized(one.name) != name]
    moved = [
        f"{one.name}=={fitting}"
        for one in rest
        if _agrees(one, beside).status == "fail"
        and (fitting := next(fitting_beside(_known(one, lambda _: True), beside), ""))
    ]
    others = f", with {series(moved)}" if moved else ""
    return f"Use {clash.needs}, which {clash.package.name}{clash.package.spec} requires{others}{known}."


def unknown_releases(packages: Iterable[Package], matrix: Matrix) -> Iterator[Package]:
    """The companions of torch that are pinned to a release that is not known: nothing is known of those."""
    tied = [one for one in packages if one.tool == "pip" and one.wheel is None]
    pinned = [one for one in tied if normalized(one.name) in TIED_TO_TORCH and _PIN.fullmatch(one.spec)]
    lines = (
        {line.partition("+")[0] for build in matrix.builds("pytorch") for line in build.companions} if pinned else ()
    )
    for one in pinned:
        bare = _bare(one)
        if not releases_of(one) and f"{normalized(one.name)}=={bare}" not in lines:
            yield one


def releases_of(package: Package) -> tuple[PackagePair, ...]:
    """The releases in the data that a requirement allows, oldest first."""
    try:
        wish = Wish.parse(package.spec.partition("+")[0], "pip")
    except ValueError:
        return ()

    return _known(package, wish.holds)


def _known(package: Package, holds: Callable[[Release], bool]) -> tuple[PackagePair, ...]:
    """The releases in the data of these numbers, oldest first: as they are, and as the package's extras make them."""
    name = normalized(package.name)

    def held(version: str) -> bool:
        try:
            return holds(Release.parse(version))
        except ValueError:
            return False

    rows = (*meeting(name, held), *with_extras(name, package.extras, held))
    return tuple(sorted(rows, key=lambda row: Release.parse(row.version).order))


def specs_of(packages: Iterable[Package]) -> dict[str, tuple[str, VersionSpec]]:
    """Each package of pip with a bound, by its name: the requirement in words, and its versions."""
    found: dict[str, tuple[str, VersionSpec]] = {}
    for package in packages:
        told = requirement_of(package.asked) if package.tool == "pip" and package.spec else None
        if told is not None:
            found[normalized(package.name)] = told.line, told.spec
    return found
