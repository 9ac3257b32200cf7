"""What the tables know of software that they hold no versions of: its wheels by PyTorch, its GPUs, what brings it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from envkit._startup.regex import regex
from envkit.base.names import normalized
from envkit.base.platforms import WINDOWS
from envkit.base.sentences import series
from envkit.base.versions import ComputeCapability, Version
from envkit.compat.driver import driver_runs_cuda, reported_cuda
from envkit.compat.pairs import pairs_by_package, required
from envkit.compat.prebuilt_wheels import prebuilt_of, releases_of_torch
from envkit.compat.tables import Tables
from envkit.compat.verdict import DriverVerdict
from envkit.solver.request import Request, RequestWords
from envkit.solver.software_notes import Beside, beside_words, driver_notes, notes_of
from envkit.tables.loader import read
from envkit.tables.pairs import PrebuiltWheels
from envkit.tables.rows import os_title
from envkit.tables.ways import OtherWay

_TORCH = ("torch", "pytorch")
_REQUIREMENT = regex(r"([A-Za-z][\w.-]*)((?:[=<>!~]=?|==)[\d.*].*)?")


def facts_of(name: str, words: RequestWords, gpus: Iterable[ComputeCapability], tables: Tables) -> Iterator[str]:
    """Sentences about a package that was asked for, next to a PyTorch, on GPUs, and with a driver."""
    package, torch = normalized(name), torch_of(words)
    beside = beside_words(words, torch)
    yield from _on_driver(words, beside.platform, tables)
    yield from _wheels(package, torch, words, beside)
    for notes in (notes_of, driver_notes):
        yield from notes(package, _spec_of(package, words), beside)
    yield from _brought_by(package, torch)
    for capability in gpus:
        yield from _ways(package, capability)


def _on_driver(words: RequestWords, platform: str, tables: Tables) -> Iterator[str]:
    """Whether the driver runs the CUDA next to it, whatever the package is, and the newest that it knows."""
    cuda, driver = Version.find(words.cuda or ""), Version.find(words.driver or "")
    if cuda is None or driver is None or words.frameworks[1:]:
        return
    verdict = driver_runs_cuda(driver, cuda, tables, platform=platform)
    reported = reported_cuda(driver, tables, platform)
    if verdict.status != DriverVerdict.NATIVE.value:
        newest = f"; the newest CUDA that driver {driver} knows is {reported}" if reported is not None else ""
        yield f"{verdict.detail}{newest}"


def torch_of(words: RequestWords) -> Version | None:
    """The PyTorch that is asked for next to it; None where it is left open."""
    parts = (text.replace(" ", "").partition("==") for text in words.frameworks)
    return next((Version.find(spec) for name, _, spec in parts if normalized(name) in _TORCH and spec), None)


def named_in(text: str) -> tuple[str, str]:
    """The package and what is asked of it: `flash-attn` and `==2.8.3` of `flash_attn == 2.8.3`."""
    match = _REQUIREMENT.fullmatch(text.replace(" ", ""))
    return (normalized(match[1]), match[2] or "") if match else (normalized(text), "")


def _spec_of(package: str, words: RequestWords) -> str:
    """What is asked of a package: `==1.4.0`; '' where any release will do."""
    return next((spec for name, spec in map(named_in, words.frameworks) if name == package), "")


def _wheels(package: str, torch: Version | None, words: RequestWords, beside: Beside) -> Iterator[str]:
    """The releases with wheels for a PyTorch, and the PyTorch releases that the wheels of a release are for."""
    every = wheels_of(package, "")
    usual = beside.architecture == Request().architecture
    system = WINDOWS if beside.platform == WINDOWS else "linux"
    place = system if usual else f"{system}-{beside.architecture}"
    rows = [row for row in every if place in row.places]
    if every and not rows:
        releases = ", ".join(dict.fromkeys(row.version for row in every))
        torches, known = releases_of_torch(every), series(os_title(one) for one in _places(every))
        here = os_title(system) if usual else f"{os_title(system)} {beside.architecture}"
        known = known if usual else f"{known} {Request().architecture}"
        or_wsl = ", or install it in WSL" if system == WINDOWS else ""
        yield (
            f"its wheels ({releases}, for PyTorch {torches}) are for {known} only: on {here}, compile it from source"
            f"{or_wsl}"
        )
    if not rows:
        return
    spec = _spec_of(package, words)
    own = [row for row in wheels_of(package, spec) if place in row.places]
    if torch is not None:
        asked = Version.find(spec)
        alike = (row for row in rows if asked is None or _major(row) == asked.major)
        fitting = [row for row in alike if torch.starts_with(row.torch)]
        found = ", ".join(dict.fromkeys(f"{_named(row, package)} ({_cudas(fitting, row.version)})" for row in fitting))
        if found:
            yield f"its wheels for PyTorch {torch}: {found}"
    if own and len({row.version for row in own}) == 1:
        yield f"{package} {own[0].version} has wheels for PyTorch {releases_of_torch(own)}"


def wheels_of(package: str, spec: str) -> tuple[PrebuiltWheels, ...]:
    """The wheels on record of a package, under the name that older releases have as well."""
    return (*prebuilt_of(package, spec), *prebuilt_of(f"{package}-full", spec))  # mmcv before 2.0 is mmcv-full


def _major(row: PrebuiltWheels) -> int | None:
    release = Version.find(row.version)
    return release.major if release is not None else None


def _named(row: PrebuiltWheels, package: str) -> str:
    return row.version if row.package == package else f"{row.package} {row.version}"


def _places(rows: Iterable[PrebuiltWheels]) -> list[str]:
    return list(dict.fromkeys(place.partition("-")[0] for row in rows for place in row.places))


def _cudas(rows: list[PrebuiltWheels], version: str) -> str:
    cudas = sorted({row.cuda for row in rows if row.version == version})
    return f"CUDA {', '.join(map(str, cudas))}"


def _brought_by(package: str, torch: Version | None) -> Iterator[str]:
    """The release that a PyTorch requires, and the one that is made for it on Windows."""
    if torch is None:
        return
    for row in pairs_by_package().get("torch", ()):
        lines = [line.line for line in required(row) if line.package == package]
        if lines and Version.find(row.version) == torch:
            yield f"PyTorch {torch} requires {lines[0]}"
    for row in pairs_by_package().get(f"{package}-windows", ()):
        if any(line.package == "torch" and line.spec.holds(torch) for line in required(row)):
            yield f"on Windows take {row.package}=={row.version}"


def _ways(package: str, capability: ComputeCapability) -> Iterator[str]:
    """What is known of a GPU and the package."""
    yield from (row.way for row in read(OtherWay) if row.framework == package and row.is_for(capability))
