"""What the tables know of software that they hold no versions of: its wheels by PyTorch, its GPUs, what brings it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from envkit.base.names import normalized
from envkit.base.platforms import WINDOWS
from envkit.base.versions import ComputeCapability, Version
from envkit.compat.driver import driver_runs_cuda, reported_cuda
from envkit.compat.pairs import pairs_by_package, required
from envkit.compat.prebuilt_wheels import prebuilt_of, releases_of_torch
from envkit.compat.tables import Tables
from envkit.compat.verdict import DriverVerdict
from envkit.solver.request import RequestWords
from envkit.tables.loader import read
from envkit.tables.pairs import PrebuiltWheels
from envkit.tables.ways import OtherWay

_TORCH = ("torch", "pytorch")


def facts_of(name: str, words: RequestWords, gpus: Iterable[ComputeCapability], tables: Tables) -> Iterator[str]:
    """Sentences about a package that was asked for, next to a PyTorch, on GPUs, and with a driver."""
    package, torch = normalized(name), _torch_of(words)
    yield from _on_driver(words, tables)
    yield from _wheels(package, torch, words)
    yield from _brought_by(package, torch)
    for capability in gpus:
        yield from _ways(package, capability)


def _on_driver(words: RequestWords, tables: Tables) -> Iterator[str]:
    """Whether the driver runs the CUDA next to it, whatever the package is, and the newest that it knows."""
    cuda, driver = Version.find(words.cuda or ""), Version.find(words.driver or "")
    platform = WINDOWS if (words.os_id or "").lower().startswith(("win", "wsl")) else "linux"
    if cuda is None or driver is None or words.frameworks[1:]:
        return
    verdict = driver_runs_cuda(driver, cuda, tables, platform=platform)
    reported = reported_cuda(driver, tables, platform)
    if verdict.status != DriverVerdict.NATIVE.value:
        newest = f"; the newest CUDA that it knows is {reported}" if reported is not None else ""
        yield f"{verdict.detail}{newest}"


def _torch_of(words: RequestWords) -> Version | None:
    """The PyTorch that is asked for next to it; None where it is left open."""
    parts = (text.replace(" ", "").partition("==") for text in words.frameworks)
    return next((Version.find(spec) for name, _, spec in parts if normalized(name) in _TORCH and spec), None)


def _wheels(package: str, torch: Version | None, words: RequestWords) -> Iterator[str]:
    """The releases with wheels for a PyTorch, and the PyTorch releases that the wheels of a release are for."""
    rows = (*prebuilt_of(package, ""), *prebuilt_of(f"{package}-full", ""))  # mmcv before 2.0 is mmcv-full
    if not rows:
        return
    asked = next((text for text in words.frameworks if normalized(text.partition("=")[0].strip()) == package), package)
    own = prebuilt_of(package, asked[len(package) :].strip())
    if torch is not None:
        fitting = [row for row in rows if torch.starts_with(row.torch)]
        found = ", ".join(dict.fromkeys(f"{_named(row, package)} ({_cudas(fitting, row.version)})" for row in fitting))
        if found:
            yield f"its wheels for PyTorch {torch}: {found}"
    if own and len({row.version for row in own}) == 1:
        yield f"{package} {own[0].version} has wheels for PyTorch {releases_of_torch(own)}"


def _named(row: PrebuiltWheels, package: str) -> str:
    return row.version if row.package == package else f"{row.package} {row.version}"


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
