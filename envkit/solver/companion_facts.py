"""What is made for a release of a framework, and where the packages that were asked for next to it have wheels."""

from __future__ import annotations

from collections.abc import Iterator

from envkit.base.platforms import JETSON, WINDOWS
from envkit.base.versions import Version, VersionSpec
from envkit.compat.pairs import pairs_by_package, required
from envkit.solver.release_spans import releases_of
from envkit.solver.request import Companion, FrameworkRequest, Request
from envkit.solver.software_notes import beside_of, notes_of
from envkit.tables.pairs import PackagePair, PackageWheels
from envkit.tables.rows import FrameworkBuild, framework_title, os_title

_PACKAGES = {"pytorch": "torch", "tensorflow": "tensorflow"}
_USUAL = {
    "pytorch": ("torchvision", "torchaudio", "torchtext", "xformers"),
    "tensorflow": ("tensorflow-text", "tensorflow-probability", "tensorflow-addons"),
}
_BROUGHT = ("triton", "keras")  # packages that a framework's own metadata pin
_BOUNDS = ("<", "<=", "~=")


def companion_facts(framework: FrameworkRequest, builds: list[FrameworkBuild], request: Request) -> Iterator[str]:
    """What goes with the release that was asked for, and what is known of the packages next to it."""
    wanted = [build for build in builds if framework.spec is not None and framework.spec.holds(build.version)]
    releases = releases_of(wanted)
    package = _PACKAGES.get(framework.name)
    exact = framework.spec.exact if framework.spec is not None else None
    if package is not None and exact is not None and releases:
        yield from _made_for(framework.name, package, releases[-1], request)
    if framework.companions:
        yield from _of_companions(framework, exact, request)


def _of_companions(framework: FrameworkRequest, exact: Version | None, request: Request) -> Iterator[str]:
    for companion in framework.companions:
        spec = f"=={companion.release}" if companion.release else companion.asked
        torch = exact if framework.name == "pytorch" else None
        yield from notes_of(companion.package, spec, beside_of(request, torch))
        yield from _of_companion(companion, request)


def _made_for(framework: str, package: str, release: Version, request: Request) -> Iterator[str]:
    """The packages that are made for one release: torchvision 0.21.0, Triton 3.2.0."""
    names = (*_USUAL[framework], *(("triton-windows",) if request.platform == WINDOWS else ()))
    own = next((row for row in pairs_by_package().get(package, ()) if Version.find(row.version) == release), None)
    brought = [line.line for line in required(own) if line.package in _BROUGHT] if own is not None else []
    if request.platform == WINDOWS:
        brought = [line for line in brought if not line.startswith("triton")]
    found = [made for name in names if (made := _newest_made(name, package, release))]
    if found or brought:
        each = ", ".join((*found, *(line.replace("==", " ") for line in brought)))
        yield f"releases that match {framework_title(framework)} {release}: {each}"


def _newest_made(name: str, package: str, release: Version) -> str:
    """The newest release of a package that is bound to a release of another: torchvision 0.21.0; '' where none is."""
    for row in reversed(pairs_by_package().get(name, ())):
        lines = [line for line in required(row) if line.package == package]
        if any(_is_bounded(line.spec) and line.spec.holds(release) for line in lines):
            return f"{name} {row.version}"
    return ""


def _is_bounded(spec: VersionSpec) -> bool:
    return spec.exact is not None or any(sign in _BOUNDS for sign, _ in spec.clauses)


def _of_companion(companion: Companion, request: Request) -> Iterator[str]:
    """What a release requires, and the releases with wheels for the target where not all have them."""
    from envkit.solver.companions import row_of

    row = row_of(companion)
    if row is not None and required(row):
        yield f"{companion.named} {row.version} requires {', '.join(_others(row))}"
    if request.platform == JETSON:  # whose packages are others
        return
    yield from _for_cuda(companion, request)
    if request.platform == WINDOWS or request.architecture != Request().architecture:
        yield from wheel_facts(companion.package, request.platform, request.architecture, None)
    python = request.python.exact if request.python is not None else None
    if python is not None:
        yield from wheel_facts(companion.package, request.platform, request.architecture, python)


def _for_cuda(companion: Companion, request: Request) -> Iterator[str]:
    """The first release that works with a CUDA, where older ones are known to break next to it.

    Of one that was asked for in a release, only where that is an older one.
    """
    cuda = request.cuda.exact if request.cuda is not None else None
    if cuda is None:
        return
    asked = Version.find(companion.release)
    from envkit.compat.package_breaks import first_unbroken

    first = first_unbroken(companion.package, asked, "cuda", cuda)
    if first is not None:
        yield f"the first {companion.package} release for CUDA {cuda} is {first}"


def _others(row: PackagePair) -> list[str]:
    return [line.line for line in required(row)]


def wheel_facts(package: str, platform: str, architecture: str, python: Version | None) -> Iterator[str]:
    """The releases of a package that the default index has wheels of for a target; nothing where all have them."""
    from envkit.compat.companion_builds import is_made_for
    from envkit.compat.package_wheels import has_wheel, wheels_of

    rows = wheels_of(package)
    place = WINDOWS if platform == WINDOWS else "linux"
    held = [
        row
        for row in rows
        if has_wheel(row, place, architecture, python) and is_made_for(package, _ends(row)[1], place, architecture)
    ]
    if not rows or len(held) == len(rows):
        return
    system = os_title(WINDOWS) if place == WINDOWS else f"Linux {architecture}"
    target = system + (f" and Python {python}" if python is not None else "")
    if not held:
        yield f"{package} has no wheels for {target} on the default index"
    else:
        yield f"{package} has wheels for {target} on the default index in these releases: {_ranges(held, rows)}"


def _ranges(held: list[PackageWheels], rows: tuple[PackageWheels, ...]) -> str:
    """The releases of rows in words, with rows that follow each other joined: 0.46.0 and newer."""
    found: list[tuple[str, str, bool]] = []
    for place, row in enumerate(rows):
        if row not in held:
            continue
        low, high = _ends(row)
        if found and place and rows[place - 1] in held:
            found[-1] = (found[-1][0], high, row is rows[-1])
        else:
            found.append((low, high, row is rows[-1]))
    return ", ".join(
        f"{low} and newer" if last else (low if low == high else f"{low} to {high}") for low, high, last in found
    )


def _ends(row: PackageWheels) -> tuple[str, str]:
    """The first and last release of a row."""
    parts = [part.strip() for part in row.versions.split(",")]
    low = next((part.lstrip(">=") for part in parts if part.startswith(">")), "")
    high = next((part.lstrip("<=") for part in parts if part.startswith("<")), "")
    one = next((part.lstrip("=") for part in parts if part.startswith("==")), "")
    return low or one or high, high or one or low
