"""The packages of conda next to the frameworks, as an image without conda installs them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from envkit._startup.records import record
from envkit._startup.regex import regex
from envkit.base.names import normalized
from envkit.base.versions import Version, VersionSpec
from envkit.compat.packages import requirement_of
from envkit.compat.software import some_version_meets
from envkit.project.model import Item
from envkit.tables.project_names import CondaName, conda_names

_FUZZY = regex(r"=(?P<release>\d+(?:\.\d+)*)(?:\.?\*)?(?:=[^=]*)?")
_EXACT = regex(r"==(?P<release>\d+(?:\.\d+)*)(?:=[^=]*)?")
_RANGE = regex(r"(?:(?:[<>!~]=?|==)\d[\w.]*(?:\.\*)?)(?:,(?:[<>!~]=?|==)\d[\w.]*(?:\.\*)?)*")
_CUDA = regex(r"cuda(?:toolkit)?(?:-.*)?|nvcc-.*|libcu[a-z]+|libn(?:v|pp).*|cudnn|nccl|pytorch-(?:cuda|mutex)")
_COMPILERS = regex(r"cudatoolkit-dev|cuda|cuda-(?:nvcc|toolkit|compiler|tools|command-line-tools)|cuda-.*-dev")


@record
class Standing:
    """What stands for packages of conda: of pip, of the distribution; `unknown` ones have nothing known to envkit."""

    pip: tuple[str, ...] = ()
    apt: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    compilers: tuple[str, ...] = ()  # CUDA's own, which an image has with --devel


def standing_for(items: Iterable[Item]) -> Standing:
    """What an image installs for them."""
    pip, apt, unknown, compilers = list[str](), list[str](), list[str](), list[str]()
    for item in items:
        name, written = normalized(item.package.name), f"{item.package.name}{item.package.spec}"
        row = conda_names().get(name)
        if _CUDA.fullmatch(name):
            compilers += [written] if _COMPILERS.fullmatch(name) else []
        elif row is None:
            unknown.append(written)
        elif row.pip:
            line = _line(row, item.package.spec)
            (pip if line else unknown).append(line or written)
        else:
            apt += row.apt
    return Standing(*(tuple(dict.fromkeys(found)) for found in (pip, apt, unknown, compilers)))


def pip_spec_of(spec: str) -> str | None:
    """What pip calls the releases that conda takes: `=1.23` is `==1.23.*`; None where it has no words for them."""
    bare = spec.replace(" ", "")
    if bare in ("", "*", "=*"):
        return ""
    if match := _FUZZY.fullmatch(bare):
        return f"=={match['release']}.*"
    if match := _EXACT.fullmatch(bare):
        return f"=={match['release']}"
    return bare if _RANGE.fullmatch(bare) else None


def _line(row: CondaName, spec: str) -> str:
    """The requirement of pip; '' where the index has no such release."""
    asked = pip_spec_of(spec)
    if asked is None:
        return ""
    if row.since is not None and not _is_there(row.since, row.pip + asked):
        return ""
    return row.pip + asked


def _is_there(since: Version, text: str) -> bool:
    wanted = requirement_of(text)
    return wanted is None or some_version_meets((wanted.spec, VersionSpec.parse(f">={since}")))


def cuda_pin(items: Iterable[Item]) -> Iterator[str]:
    """The CUDA that packages of conda pin: cudatoolkit=11.3, pytorch-cuda=12.1."""
    for item in items:
        name, spec = normalized(item.package.name), item.package.spec.replace(" ", "")
        match = _FUZZY.fullmatch(spec) or _EXACT.fullmatch(spec)
        if item.package.tool == "conda" and match and name in ("cudatoolkit", "pytorch-cuda", "cuda-version"):
            yield ".".join(match["release"].split(".")[:2])
