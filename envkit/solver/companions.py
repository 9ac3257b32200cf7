"""Packages that are asked for by name and made for one release of PyTorch: torchvision, vLLM, xFormers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from shlex import quote

from envkit._startup.records import replace
from envkit.base.errors import RequestError
from envkit.base.names import normalized
from envkit.base.platforms import WINDOWS
from envkit.base.sentences import series
from envkit.base.versions import Version, VersionSpec
from envkit.compat.companion_builds import companion_on_platform, is_made_for, is_on_torch_index, takes_cuda
from envkit.compat.companion_gpus import companion_on_gpu, no_release_runs
from envkit.compat.needs import bounds_beside
from envkit.compat.package_breaks import package_breaks
from envkit.compat.package_wheels import has_wheel, wheels_of
from envkit.compat.pairs import (
    allows,
    extra_releases,
    is_bounded,
    meeting,
    pairs_by_package,
    releases_beside,
    required,
)
from envkit.compat.software import some_version_meets
from envkit.compat.verdict import Verdict
from envkit.solver.model import Choice, Conflict
from envkit.solver.request import Companion, FrameworkRequest, Request, TargetGpu
from envkit.solver.software_notes import beside_of, driver_notes
from envkit.solver.wheel_files import companions_for
from envkit.tables.pairs import PackagePair
from envkit.tables.rows import FrameworkBuild, framework_title

_HOSTS = {"torch": "pytorch", "tensorflow": "tensorflow"}  # the packages that others are made for, by framework
_MOST = 4  # releases that a sentence names


def companion_words(name: str, spec: str | None, torch: Version | None = None) -> FrameworkRequest | None:
    """What a companion is made for: `torchvision==0.20` asks for pytorch 2.5.0; None for another name.

    The spec means what it means to pip; `==` of a release that is not known takes the newest of its line. Raises
    RequestError where there is none either, with those for `torch`, the PyTorch that is asked for next to it.
    """
    package = normalized(name)
    rows = pairs_by_package().get(package, ())
    host = host_of(package)
    if host is None:
        return None
    framework = _HOSTS[host]
    if spec is None:
        return FrameworkRequest(framework, companions=(Companion(package),))
    written = "".join(spec.split())
    found = _releases(package, written)
    if not found:
        extras = _extra_releases(package, written)
        if extras:
            extra, row = extras[-1]
            lines = [line for line in required(row) if line.package == host]
            companion = Companion(package, written, row.version, extra)
            return FrameworkRequest(framework, lines[0].spec if lines else None, (companion,))
        fitting = releases_beside(package, host, VersionSpec((("==", torch),))) if torch is not None else []
        beside = f" For {framework_title(framework)} {torch}: {_named(package, fitting)}." if fitting else ""
        raise RequestError(
            f"--framework: {name}{spec} is not known to envkit.",
            f"The newest known to envkit is {rows[-1].version}.{beside}",
        )
    release = found[-1].version
    lines = [line for line in required(found[-1]) if line.package == host]
    if found[-1].requires == ():
        return FrameworkRequest(framework, None, (Companion(package, written, release),))
    if not lines:
        told = f"--framework: it is not known which {host} {package} {release} requires."
        raise RequestError(told, f"Plan --framework {framework}, then: python -m pip install {package}=={release}")
    return FrameworkRequest(framework, lines[0].spec, (Companion(package, written, release),))


def host_of(package: str) -> str | None:
    """The package of a framework that the releases of a companion are made for; None for what is no companion."""
    if package in _HOSTS:
        return None
    lines = (line.package for row in pairs_by_package().get(package, ()) for line in required(row))
    return next((name for name in lines if name in _HOSTS), None)


def _releases(package: str, spec: str) -> tuple[PackagePair, ...]:
    """The releases in the data that pip takes for a spec, otherwise those of the line that `==` names."""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    pinned = "==" + spec.lstrip("=") if spec.startswith("=") and "," not in spec else ""
    try:
        wanted = SpecifierSet(pinned or spec, prereleases=True)
    except InvalidSpecifier:
        told = f"--framework: {package}{spec} is not a version that pip understands."
        raise RequestError(told, f"Example: --framework {package}=={pairs_by_package()[package][-1].version}") from None
    found = meeting(package, wanted.contains)
    if found or not pinned or not pinned[-1].isdigit():
        return found
    try:
        return meeting(package, SpecifierSet(f"{pinned}.*", prereleases=True).contains)
    except InvalidSpecifier:  # a release candidate has no line
        return ()


def _extra_releases(package: str, spec: str) -> tuple[tuple[str, PackagePair], ...]:
    """The releases that pip takes for a spec and of which what is known is what an extra of theirs requires."""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        return extra_releases(package, SpecifierSet("==" + spec.lstrip("="), prereleases=True).contains)
    except InvalidSpecifier:  # a range
        return ()


def row_of(companion: Companion) -> PackagePair | None:
    """What is known of the release that was taken for a companion."""
    rows: Iterable[PackagePair] = pairs_by_package().get(companion.package, ())
    if companion.extra:
        rows = (row for _, row in extra_releases(companion.package, lambda version: version == companion.release))
    return next((row for row in rows if row.version == companion.release), None)


def _named(package: str, releases: list[str]) -> str:
    """Releases of a package in words, the last of many."""
    return f"{package} {', '.join(releases[-_MOST:])}"


def pair_conflicts(request: Request) -> Iterator[Conflict]:
    """The packages that were asked for by name and need another release of their framework than the one asked for."""
    for framework in request.frameworks:
        spec = framework.spec
        for companion in framework.companions:
            row, host = row_of(companion), host_of(companion.package) or ""
            lines = [line for line in required(row) if line.package == host] if row is not None else []
            if row is None or spec is None or all(some_version_meets((line.spec, spec)) for line in lines):
                continue
            title = framework_title(framework.name)
            fitting = releases_beside(companion.package, host, spec)
            made = f"; for {title} {spec} there is {_named(companion.package, fitting)}" if fitting else ""
            detail = f"{companion.named} {row.version} requires {lines[0].line}, not {title} {spec}{made}"
            yield Conflict((str(framework), f"{companion.package}{companion.asked}"), detail, row.sources)


def companion_conflicts(request: Request) -> Iterator[Conflict]:
    """The packages that were asked for by name, each with the system or GPU of the request that it does not run on."""
    platform = WINDOWS if request.platform == WINDOWS else "linux"
    yield from pair_conflicts(request)
    for _, companion in request.companions:
        spec = f"=={companion.release}" if companion.release else companion.asked
        other = companion_on_platform(companion.package, spec, platform, request.architecture)
        if other is not None:
            asked = f"{companion.package}{companion.asked}"
            here = request.architecture if request.platform == "linux" else request.platform
            yield Conflict((asked, here), other.detail, other.sources)
        for gpu in request.gpus:
            verdict = companion_on_gpu(companion.package, spec, gpu.compute_capability, name=str(gpu))
            if verdict is not None:
                asked = f"{companion.package}{companion.asked}"
                yield Conflict((asked, f"gpu {gpu}"), verdict.detail, verdict.sources)


def companion_warnings(choice: Choice, request: Request) -> Iterator[str]:
    """What a plan says of the packages that were asked for by name and are not among those that it installs."""
    for companion, build in _asked(choice, request):
        release = _release_here(companion, build, choice, request)
        if companion.asked.startswith("=") and not _same(companion):
            asked = f"{companion.package}{companion.asked}"
            yield f"{asked} is not known to envkit; {companion.package} {release} was used instead"
    for pinned in installed_after(choice, request):
        place = index_after(pinned, choice, request)
        told = " ".join(map(quote, (pinned, *bounds_after(pinned, choice, request))))
        yield (
            f"This plan resolves the packages that {pinned.replace('==', ' ')} requires; {pinned} itself is installed "
            f"after them: python -m pip install {told}{f' --index-url {place}' if place else ''}"
        )
    for framework, companion in request.companions:
        torch = next((build.version for build in choice.builds if build.framework == framework), None)
        yield from driver_notes(companion.package, _spec_of(companion), beside_of(request, torch))


def _spec_of(companion: Companion) -> str:
    return f"=={companion.release}" if companion.release else companion.asked


def installed_after(choice: Choice, request: Request) -> tuple[str, ...]:
    """The requirements of the packages that were asked for by name and that the builds do not provide."""
    pinned = (
        (f"{companion.named}=={release}", build)
        for companion, build in _asked(choice, request)
        if (release := _release_here(companion, build, choice, request))
    )
    return tuple(line for line, build in pinned if line not in companions_for(build, choice.python))


def bounds_after(requirement: str, choice: Choice, request: Request) -> tuple[str, ...]:
    """The bounds that pip needs next to a package that was asked for by name, so as not to take what breaks."""
    package, _, version = requirement.partition("==")
    builds = (build for companion, build in _asked(choice, request) if companion.named == package)
    return tuple(line for build in builds for line in bounds_beside(package.partition("[")[0], version, build))


def index_after(requirement: str, choice: Choice, request: Request) -> str | None:
    """PyTorch's own index for a package that it has for the CUDA of the build; None for the default index."""
    package, _, version = requirement.partition("==")
    builds = (build for companion, build in _asked(choice, request) if companion.named == package)
    build = next(builds, None)
    return build.index_url if build is not None and is_on_torch_index(package, version) else None


def _release_here(companion: Companion, build: FrameworkBuild, choice: Choice, request: Request) -> str:
    """The release for a build that also has a wheel for the plan's Python and system, where one has."""
    return release_for(companion, build.version, request.gpus, _has_wheel(companion, request, choice.python))


def _has_wheel(companion: Companion, request: Request, python: Version | None) -> Callable[[str], bool]:
    """Whether a release is held for the request's system and a Python (None: for any); what is not known counts."""
    platform = WINDOWS if request.platform == WINDOWS else "linux"

    def has_one(version: str) -> bool:
        rows = wheels_of(companion.package, f"=={version}")
        held = any(has_wheel(row, platform, request.architecture, python) for row in rows)
        return (held or not rows) and is_made_for(companion.package, version, platform, request.architecture)

    return has_one


def pythons_with_wheels(
    pythons: frozenset[Version], builds: Iterable[FrameworkBuild], request: Request
) -> frozenset[Version]:
    """Those Pythons for which the packages asked for by name have wheels next to builds; all where none has them."""
    for companion, build in _beside(builds, request):
        held = {python: _has_wheel(companion, request, python) for python in pythons}
        pythons = (
            frozenset(
                python
                for python, has_one in held.items()
                if has_one(release_for(companion, build.version, request.gpus, has_one))
            )
            or pythons
        )
    return pythons


def newest_for(companion: Companion, torch: Version, request: Request) -> str:
    """The newest release for a torch that is made for the system and processor of a request; '' where none is."""
    is_here = _has_wheel(companion, request, None)
    found = release_for(companion, torch, request.gpus, is_here)
    return found if found and is_here(found) else ""


def _asked(choice: Choice, request: Request) -> Iterator[tuple[Companion, FrameworkBuild]]:
    return _beside(choice.builds, request)


def _beside(builds: Iterable[FrameworkBuild], request: Request) -> Iterator[tuple[Companion, FrameworkBuild]]:
    builds = tuple(builds)
    for framework, companion in request.companions:
        build = next((one for one in builds if one.framework == framework), None)
        if build is not None:
            yield companion, build


def release_for(
    companion: Companion, torch: Version, gpus: Iterable[TargetGpu], wanted: Callable[[str], bool] | None = None
) -> str:
    """The release that was taken, otherwise the newest that is made for a torch and runs on the GPUs; '' where none is.

    An open bound of an older release says nothing of the torch that came after it.
    """
    rows, host = pairs_by_package()[companion.package], host_of(companion.package) or ""
    fitting = [
        row.version
        for row in reversed(rows)
        if allows((row,), host, torch)
        and (row is rows[-1] or any(line.package == host and is_bounded(line.spec) for line in required(row)))
        and not no_release_runs(row.package, f"=={row.version}", (gpu.compute_capability for gpu in gpus))
    ]
    best = (version for version in fitting if wanted is None or wanted(version))
    return companion.release or next(best, next(iter(fitting), ""))


def is_beside(
    companion: Companion, build: FrameworkBuild, gpus: Iterable[TargetGpu], *, other_cuda: bool = False
) -> bool:
    """Whether a package can be installed next to a build.

    The default index has it compiled for the default index's build of the one torch that it requires, and its
    libraries of CUDA; it loads no others. With `other_cuda` PyTorch's own index counts, where it has the package too.
    """
    release = release_for(companion, build.version, gpus)
    if release and broken_beside(companion, build) is not None:
        return False
    if not release or build.on_pypi or _is_listed(companion.package, build):
        return bool(release)
    if other_cuda and build.index_url and is_on_torch_index(companion.package, release):
        return True
    if takes_cuda(companion.package, release, build.cuda):
        return True
    row, host = row_of(replace(companion, release=release)), host_of(companion.package)
    return row is None or not any(line.package == host and line.spec.exact for line in required(row))


def broken_beside(companion: Companion, build: FrameworkBuild) -> Verdict | None:
    """Why the release that was asked for is known not to work with the CUDA of a build, with what helps."""
    if not companion.release or build.cuda is None:
        return None
    there = {"cuda": (f"CUDA {build.cuda}", build.cuda)}
    found = next(package_breaks(companion.package, f"=={companion.release}", there), None)
    if found is None:
        return None
    verdict, instead = found
    return Verdict(verdict.relation, "fail", f"{verdict.detail}. {instead}".rstrip("."), verdict.sources)


def _is_listed(package: str, build: FrameworkBuild) -> bool:
    """Whether the index of a build has a package for it too."""
    return any(normalized(line.partition("==")[0]) == package for line in build.companions)


def passed_over(framework: FrameworkRequest, build: FrameworkBuild, gpus: Iterable[TargetGpu]) -> Verdict | None:
    """Why a build that would do by itself cannot have the packages that are wanted next to it; None where it can."""
    for companion in framework.companions:
        if is_beside(companion, build, gpus, other_cuda=True):
            continue
        broken = broken_beside(companion, build)
        if broken is not None:
            return broken
        release = release_for(companion, build.version, gpus)
        if release and not companion.release:
            detail = (
                f"{build.named} for CUDA {build.cuda} fits, but no {companion.package} is known to be built for it: "
                f"its index has none on record, and {companion.package} {release} of the default index was compiled "
                "for the PyTorch of that index"
            )
            return Verdict("pair-agrees", "fail", detail, build.sources)
    return None


def no_release_beside(framework: FrameworkRequest, *, gpus_asked: bool) -> Verdict:
    """Why no build of a framework has the packages that are wanted next to it."""
    named = series([one.package for one in framework.open_companions], "or")
    newest = [pairs_by_package()[one.package][-1] for one in framework.open_companions]
    told = "; ".join(f"{row.package} {row.version} requires {_torch_of(row)}" for row in newest if _torch_of(row))
    gpus = " and runs on the GPUs requested" if gpus_asked else ""
    detail = f"no known release of {named} was built for {framework}{gpus}; {told}"
    return Verdict("pair-agrees", "fail", detail, tuple(dict.fromkeys(key for row in newest for key in row.sources)))


def _torch_of(row: PackagePair) -> str:
    return next((line.line for line in required(row) if line.package in _HOSTS), "")


def _same(companion: Companion) -> bool:
    """Whether the release that was taken is the one that `==` names to pip, or one of the line with `.*`."""
    from packaging.specifiers import SpecifierSet

    spec = "==" + companion.asked.lstrip("=")
    return "," in spec or SpecifierSet(spec, prereleases=True).contains(companion.release)
