"""The parts of a request, so that one can be left out or changed by itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from envkit._startup.records import record, replace
from envkit.base.platforms import WINDOWS_DRIVERS, WSL
from envkit.solver.request import Request
from envkit.tables.rows import framework_title, os_title

_IN_WORDS = {"gpu": "the ", "python": "Python ", "cuda": "CUDA ", "cudnn": "cuDNN ", "driver": "driver "}


@record
class Part:
    """One thing that was asked for or read: its option, its place among several, and its name in words."""

    option: str  # framework, gpu, cuda, cudnn, python, driver, os, arch, platform
    index: int
    label: str


def parts_of(request: Request) -> tuple[Part, ...]:
    """Every part of a request that could be in the way of a plan."""
    return tuple(_parts(request))


def part_in_words(label: str) -> str:
    """A part's label in a sentence: `Python 3.8` of `python 3.8`, `PyTorch 2.6` of `pytorch==2.6`."""
    option, _, value = label.partition(" ")
    if option in _IN_WORDS and value:
        return f"{_IN_WORDS[option]}{value}"
    if option == "os" and value:
        return os_title(value)
    if (system := os_title(label)) != label:
        return system
    name, comparison, version = label.partition("==")
    return f"{framework_title(name)} {version}" if comparison else framework_title(name)


def _parts(request: Request) -> Iterator[Part]:
    for index, gpu in enumerate(request.gpus):
        yield Part("gpu", index, f"gpu {gpu}")
    for index, framework in enumerate(request.frameworks):
        yield Part("framework", index, str(framework))
    for option in ("cuda", "cudnn", "python"):
        if getattr(request, option) is not None:
            yield Part(option, 0, f"{option} {getattr(request, option)}")
    if request.driver is not None and not request.with_driver:
        yield Part("driver", 0, f"driver {request.driver}")
    if request.os_id is not None or request.glibc is not None:
        yield Part("os", 0, f"os {request.os_id}" if request.os_id else f"glibc {request.glibc}")
    if request.architecture != Request().architecture:
        yield Part("arch", 0, f"arch {request.architecture}")
    if request.platform != Request().platform:
        yield Part("platform", 0, request.platform)


def without(request: Request, parts: Iterable[Part]) -> Request:
    """The request with these parts left open."""
    left_out = {(part.option, part.index) for part in parts}
    options = {option for option, _ in left_out}
    kept = {
        "gpus": tuple(gpu for index, gpu in enumerate(request.gpus) if ("gpu", index) not in left_out),
        "frameworks": tuple(
            framework for index, framework in enumerate(request.frameworks) if ("framework", index) not in left_out
        ),
    }
    changed: Request = replace(request, **kept)
    for option, fields in _FIELDS.items():
        if option in options:
            changed = replace(changed, **{field: getattr(Request(), field) for field in fields})
    if changed.driver is not None and request.platform in WINDOWS_DRIVERS:
        # the driver that stays has the numbers of Windows: so it does under WSL, with the packages of Linux
        changed = replace(changed, platform=WSL if "platform" in options else request.platform)
    return changed


_FIELDS = {
    "cuda": ("cuda",),
    "cudnn": ("cudnn",),
    "python": ("python",),
    "driver": ("driver",),
    "os": ("os_id", "glibc"),
    "arch": ("architecture",),
    "platform": ("platform",),
}


def only(request: Request, parts: Iterable[Part]) -> Request:
    """The request with these parts alone."""
    kept = set(parts)
    return without(request, [part for part in parts_of(request) if part not in kept])
