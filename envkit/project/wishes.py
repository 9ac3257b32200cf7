"""What a project's files ask of a plan: its frameworks in the versions that they allow, CUDA, Python and the rest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from envkit._startup.records import record, replace
from envkit._startup.regex import regex
from envkit.base.errors import RequestError
from envkit.base.names import normalized
from envkit.dockerfile.clashes import TIED_TO_TORCH
from envkit.dockerfile.specifiers import Release, Wish
from envkit.project.model import Item, Manifest
from envkit.solver.other_words import cuda_words
from envkit.solver.request import RequestWords
from envkit.tables.images import extension_build
from envkit.tables.rows import Framework

if TYPE_CHECKING:
    from envkit.tables import Matrix

# The file that says best which releases are installed comes first: locks, then what people write.
PINS = ("uv.lock", "poetry.lock", "pdm.lock", "pylock.toml", "Pipfile.lock", "pixi.lock", "conda-lock.yml")
WRITTEN = (
    "requirements.txt",
    "pyproject.toml",
    "environment.yml",
    "environment.yaml",
    "pixi.toml",
    "Pipfile",
    "setup.cfg",
    "setup.py",
)
_NAME = regex(r"[\w.-]+")
_VARIANT = regex(r"(?:\+|/)(cu\d{2,3})\b")
_SUFFIX = regex(r"\+[\w.]+")
_NOT_PLANNED = frozenset({"vllm", "xformers"})  # what is tied to torch, and no plan for torch installs
_LIBRARIES = "nvidia-"  # what a framework's own package provides
_PLAIN = regex(r"[A-Za-z0-9][\w.-]*(?:\[[\w.,-]+\])?(?:[<>=!~]=?[\w.*+!,<>=~-]+)?")


@record
class ProjectWishes:
    """The frameworks, CUDA and Python that a project asks for, as options say it, and its `other` packages of pip."""

    frameworks: tuple[str, ...]
    cuda: str | None = None
    python: str | None = None
    other: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()  # requirements that no plan installs: addresses, conda's packages
    compiled: tuple[str, ...] = ()  # the requirements of pip that have to be compiled for a framework


def wishes(pins: Manifest, written: Manifest, matrix: Matrix) -> ProjectWishes:
    """What the file with the pins and the one that people write ask for; both may be the same.

    Raises RequestError for a framework in a version that is not known.
    """
    asked = dict(_frameworks(written, matrix))
    pinned = {framework: item for framework, item in _frameworks(pins, matrix) if framework in asked or pins is written}
    chosen = {**asked, **pinned}
    texts = tuple(_in_words(framework, item, matrix) for framework, item in chosen.items())
    companions = () if "pytorch" in {one.name for one in chosen} else tuple(_companions(written))
    other, left_out = _others(written, matrix, chosen.values())
    return ProjectWishes(
        texts or companions,
        _cuda(chosen.values()),
        _python(pins, written),
        tuple(other),
        tuple(left_out),
        tuple(_compiled(written)),
    )


def with_wishes(words: RequestWords, asked: ProjectWishes, matrix: Matrix) -> RequestWords:
    """The words of the options, and where they say nothing those of the project."""
    named = {_framework_of(text, matrix) for text in words.frameworks}
    more = tuple(text for text in asked.frameworks if _framework_of(text, matrix) not in named)
    return replace(
        words,
        frameworks=(*words.frameworks, *more),
        cuda=words.cuda or (None if named else asked.cuda),
        python=words.python or asked.python,
    )


def _framework_of(text: str, matrix: Matrix) -> str:
    """The framework that an option names, or the word as it is."""
    name = _NAME.match(text)
    known = matrix.framework(name.group()) if name is not None else None
    return known.name if known is not None else text


def _frameworks(manifest: Manifest, matrix: Matrix) -> Iterator[tuple[Framework, Item]]:
    """What the project itself installs, extras left out; the last of several lines counts."""
    for item in manifest.items:
        known = matrix.framework(normalized(item.package.name))
        if known is not None and not item.group:
            yield known, item


def _in_words(framework: Framework, item: Item, matrix: Matrix) -> str:
    """`pytorch==2.6.0`, or the versions from the oldest to the newest that the requirement allows."""
    if not item.package.spec:
        return framework.name
    try:
        wish = Wish.parse(_SUFFIX.sub("", item.package.spec), item.package.tool)
        every = {build.version for build in matrix.builds(framework.name)}
        known = sorted(version for version in every if wish.holds(Release.parse(str(version))))
    except ValueError:
        known = []
    if not known:
        raise RequestError(
            f"--project: line {item.package.line} asks for {item.written}, which is not a version that envkit knows.",
            f"envkit matrix {framework.name} lists the known ones; --framework {framework.name}==VERSION chooses one.",
        )
    exact = len(known) == 1
    return f"{framework.name}=={known[0]}" if exact else f"{framework.name}>={known[0]},<={known[-1]}"


def _companions(manifest: Manifest) -> Iterator[str]:
    for item in manifest.items:
        if normalized(item.package.name) in TIED_TO_TORCH and not item.group:
            yield f"{item.package.name}{item.package.spec.partition('+')[0]}"


def _compiled(manifest: Manifest) -> Iterator[str]:
    """The requirements of a list that the index has as sources, which are built with the framework's CUDA."""
    for item in manifest.items:
        package = item.package
        row = extension_build(normalized(package.name))
        elsewhere = package.places.more or package.wheel is not None
        text = f"{package.name}{package.spec.replace(' ', '')}"
        if row is not None and row.index and not elsewhere and not item.group and _PLAIN.fullmatch(text):
            yield text


def _cuda(items: Iterable[Item]) -> str | None:
    """The CUDA that the suffix of a version or the address of an index names."""
    for item in items:
        package = item.package
        for text in (package.spec, package.places.index, package.places.more):
            if found := _VARIANT.search(text):
                return cuda_words(found[1])
    return None


def _python(pins: Manifest, written: Manifest) -> str | None:
    for manifest in (pins, written):
        if manifest.python is not None:
            return str(manifest.python)
    required = written.requires_python or pins.requires_python
    return required.replace(" ", "") or None


def _others(written: Manifest, matrix: Matrix, planned: Iterable[Item]) -> tuple[list[str], list[str]]:
    """The requirements next to the frameworks, and those that cannot be written into a command."""
    plain, left_out = list[str](), list[str]()
    names = {normalized(item.package.name) for item in planned}
    for item in written.items:
        name = normalized(item.package.name)
        unplanned = name in _NOT_PLANNED and "torch" in names
        if item.group or item.package.marker or name in names or name.startswith(_LIBRARIES):
            continue
        if name in TIED_TO_TORCH and not unplanned:
            continue
        extras = f"[{','.join(item.package.extras)}]" if item.package.extras else ""
        text = f"{item.package.name}{extras}{item.package.spec.replace(' ', '')}"
        fits = not unplanned and item.package.tool == "pip" and item.package.wheel is None and _PLAIN.fullmatch(text)
        (plain if fits else left_out).append(text)
    left_out += [one.name for one in written.unread]
    return list(dict.fromkeys(plain)), list(dict.fromkeys(left_out))
