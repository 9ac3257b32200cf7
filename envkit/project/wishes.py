"""What a project's files ask of a plan: its frameworks in the versions that they allow, CUDA, Python and the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from envkit._startup.records import record, replace
from envkit._startup.regex import regex
from envkit.base.markers import holds
from envkit.base.names import normalized
from envkit.dockerfile.clashes import TIED_TO_TORCH
from envkit.image.options import MARKER
from envkit.project.companion_bounds import companion_bounds
from envkit.project.conda_packages import Standing, cuda_pin, standing_for
from envkit.project.framework_versions import cuda_beside, in_words, release_beside
from envkit.project.left_out import addresses, left_out
from envkit.project.model import Item, Manifest
from envkit.project.places import NOWHERE
from envkit.project.places import item as read_item
from envkit.project.planned import Planned, framework_of, planned
from envkit.project.suited_pythons import Asked, Suited, suited_pythons
from envkit.solver.other_words import cuda_words
from envkit.solver.request import RequestWords
from envkit.tables.images import extension_build

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
_PATCH = regex(r"(==\d+\.\d+)\.[\d.]*\*?$")
_NAME = regex(r"[\w.-]+")
_VARIANT = regex(r"(?:\+|/)(cu\d{2,3})\b")
_CUDA_PACKAGE = regex(r"cupy-cuda(\d{2,3}|\d{2}x)")
_NOT_PLANNED = frozenset({"vllm", "xformers"})  # what is tied to torch, and no plan for torch installs
_WITH_TORCH = frozenset(TIED_TO_TORCH) - _NOT_PLANNED  # what a plan for torch installs with it
_PYTORCH = "pytorch"
# What the plan of a framework installs with it, and what is no package of its own.
_PLANNED = frozenset({*_WITH_TORCH, "python", "pip", "cpuonly", "jaxlib", "tensorflow-base"})
_LIBRARIES = "nvidia-"  # what a framework's own package provides
_MARKER = regex(r"[\w .()<>=!~'\",-]+")
_PLAIN = regex(r"[A-Za-z0-9][\w.-]*(?:\[[\w.,-]+\])?(?:[<>=!~]=?[\w.*+!,<>=~-]+)?")


@record
class ProjectWishes:
    """The frameworks, CUDA and Python that a project asks for, as options say it, and its `other` packages of pip.

    `pythons`: those that suit all requirements, where the project's own words allow other ones too.
    """

    frameworks: tuple[str, ...]
    cuda: str | None = None
    python: str | None = None
    suited: Suited | None = None
    other: tuple[str, ...] = ()
    apt: tuple[str, ...] = ()  # packages of Debian and Ubuntu
    left_out: tuple[str, ...] = ()  # what no image installs, each kind in a line
    compiled: tuple[str, ...] = ()  # the requirements of pip that have to be compiled for a framework
    bounds: tuple[str, ...] = ()  # on packages of today, which older ones do not bound
    planned: tuple[tuple[str, str], ...] = ()  # the packages that name a framework, after it
    local: tuple[str, ...] = ()  # what a list takes from the project's own folder
    lines: tuple[str, ...] = ()  # all requirements of pip next to the frameworks
    git: bool = False  # something comes from a repository of git
    notes: tuple[str, ...] = ()

    @property
    def python_words(self) -> str | None:
        """The Python as an option says it: one that the project and all of its packages take."""
        spec = self.suited.spec if self.suited is not None else ""
        return ",".join(filter(None, (self.python, spec))) or None

    def looser(self) -> Iterator[ProjectWishes]:
        """The wishes without what the project says only by the way, for where no plan meets all of them."""
        if self.suited is not None and self.suited.because:
            note = f"no plan has a Python with wheels of {', '.join(self.suited.because)}: pip has to compile them"
            yield replace(self, suited=None, notes=(note,))
        if self.cuda is not None:
            note = f"no plan has the CUDA {self.cuda} that the project names: another one was chosen"
            yield replace(self, cuda=None, notes=(note,))


def wishes(pins: Manifest, written: Manifest, matrix: Matrix, architecture: str = "x86_64") -> ProjectWishes:
    """What the file with the pins and the one that people write ask for; both may be the same.

    Raises RequestError for a framework in a version that is not known.
    """
    here = tuple(_here(written, architecture))
    listed = [item for item in here if item.package.tool == "pip"]
    conda = [item for item in here if item.package.tool == "conda"]
    asked = planned(_pinned([*listed, *conda], pins, architecture), matrix)
    frameworks = [item for _, item in asked.frameworks if item is not None]
    named = {item.package for item in frameworks}
    standing = standing_for(
        item for item in conda if framework_of(item, matrix) is None and normalized(item.package.name) not in _PLANNED
    )
    beside, made_for = _made_for(
        [one for one in _pinned(listed, pins, architecture) if one.package not in named], asked, matrix
    )
    items, suited = _settled(beside, standing, lambda items: _suited(items, asked, pins, written, matrix, architecture))
    found = addresses(written)
    other, unwritten = _others(items, asked)
    packages = (name for known, _ in asked.frameworks for name in known.packages)
    return ProjectWishes(
        frameworks=tuple(in_words(framework, item, items, matrix) for framework, item in asked.frameworks),
        cuda=_cuda(pins, written, frameworks) or _cuda_beside(asked, items, matrix),
        python=_python(pins, written),
        suited=suited,
        other=(*other, *found.installed),
        apt=standing.apt,
        left_out=left_out(standing, found, unwritten),
        compiled=(*_compiled(listed), *found.compiled),
        bounds=(*made_for, *companion_bounds(items, (*TIED_TO_TORCH, *packages))),
        planned=tuple((one.name, normalized(item.package.name)) for one, item in asked.frameworks if item is not None),
        local=(*found.local, *found.alone, *found.built),
        lines=(*(f"{normalized(item.package.name)}{_spec(item)}" for item in items), *found.installed),
        git=found.git,
        notes=(*asked.notes, *_told(suited)),
    )


def _cuda_beside(asked: Planned, items: Sequence[Item], matrix: Matrix) -> str | None:
    """The CUDA that the packages next to a framework have libraries for, where not each one will do."""
    found = (cuda_beside(known, item, items, matrix) for known, item in asked.frameworks)
    return next(filter(None, found), None)


def with_wishes(words: RequestWords, asked: ProjectWishes, matrix: Matrix) -> RequestWords:
    """The words of the options, and where they say nothing those of the project."""
    named = {_framework_of(text, matrix) for text in words.frameworks}
    more = tuple(text for text in asked.frameworks if _framework_of(text, matrix) not in named)
    return replace(
        words,
        frameworks=(*words.frameworks, *more),
        cuda=words.cuda or (None if named else asked.cuda),
        python=words.python or asked.python_words,
    )


def _framework_of(text: str, matrix: Matrix) -> str:
    """The framework that an option names, or the word as it is."""
    name = _NAME.match(text)
    known = matrix.framework(name.group()) if name is not None else None
    return known.name if known is not None else text


def _here(manifest: Manifest, architecture: str) -> Iterator[Item]:
    """What everybody gets on Linux; a line for some Pythons counts until the Python is chosen."""
    for item in manifest.items:
        if not item.group and holds(item.package.marker, None, architecture) is not False:
            yield item


def _pinned(items: Sequence[Item], pins: Manifest, architecture: str) -> list[Item]:
    """The requirements, each in the one release that a lock names."""
    locked: dict[str, set[str]] = {}
    for item in _here(pins, architecture) if pins.locked else ():
        locked.setdefault(normalized(item.package.name), set()).add(item.package.spec)
    return [
        replace(item, package=replace(item.package, spec=next(iter(found))))
        if len(found := locked.get(normalized(item.package.name), set())) == 1 and item.package.tool == "pip"
        else item
        for item in items
    ]


def _made_for(items: list[Item], asked: Planned, matrix: Matrix) -> tuple[list[Item], tuple[str, ...]]:
    """The packages, those that are made for one release of torch in the one for the project's; and what was pinned."""
    torch = next(((known, item) for known, item in asked.frameworks if known.name == _PYTORCH), None)
    if torch is None:
        return items, ()
    found = [
        release_beside(one, *torch, matrix)
        if normalized(one.package.name) in _NOT_PLANNED and not one.package.spec
        else one
        for one in items
    ]
    pinned = (f"{one.package.name}{one.package.spec}" for one, old in zip(found, items, strict=True) if one is not old)
    return found, tuple(pinned)


def _settled(
    listed: list[Item], standing: Standing, suit: Callable[[list[Item]], Suited | None]
) -> tuple[list[Item], Suited | None]:
    """The packages of pip and the Pythons that suit them.

    The index has wheels of other releases than conda has builds: where none suits, that of a release's line is taken.
    """
    items = [*listed, *_as_pip(standing.pip)]
    suited = suit(items)
    if suited is None or suited.pythons or not standing.pip:
        return items, suited
    looser = [*listed, *_as_pip(_of_line(line) if line in suited.because else line for line in standing.pip)]
    other = suit(looser)
    return (looser, other) if other is None or other.pythons else (items, suited)


def _of_line(line: str) -> str:
    """`numpy==1.19.2.*` as a requirement of its line, numpy==1.19.*."""
    return _PATCH.sub(r"\1.*", line)


def _as_pip(lines: Iterable[str]) -> Iterator[Item]:
    for line in lines:
        found = read_item(line, 0, NOWHERE)
        if isinstance(found, Item):
            yield found


def _compiled(items: Iterable[Item]) -> Iterator[str]:
    """The requirements of a list that the index has as sources, which are built with the framework's CUDA."""
    for item in items:
        package = item.package
        row = extension_build(normalized(package.name))
        elsewhere = package.places.more or package.wheel is not None
        text = f"{package.name}{package.spec.replace(' ', '')}"
        if row is not None and row.index and not elsewhere and _PLAIN.fullmatch(text):
            yield text


def _cuda(pins: Manifest, written: Manifest, items: Iterable[Item]) -> str | None:
    """The CUDA that the suffix of a version, the address of an index, a package's name, or conda's packages pin."""
    for item in items:
        package = item.package
        if match := _CUDA_PACKAGE.fullmatch(normalized(package.name)):
            return match[1].removesuffix("x") if match[1].endswith("x") else cuda_words(f"cu{match[1]}")
        for text in (package.spec, package.places.index, package.places.more):
            if found := _VARIANT.search(text):
                return cuda_words(found[1])
    of_conda = (pin for manifest in (pins, written) for pin in cuda_pin(manifest.items))
    return next(of_conda, None)


# ---- Python


def _python(pins: Manifest, written: Manifest) -> str | None:
    for manifest in (pins, written):
        if manifest.python is not None:
            return str(manifest.python)
    return _required(pins, written).replace(" ", "") or None


def _required(pins: Manifest, written: Manifest) -> str:
    """The Pythons that the project requires, as PEP 440 writes it; an environment of conda requires a range of it."""
    ranges = (
        item.package.spec
        for item in written.items
        if item.package.tool == "conda" and item.package.name == "python" and set(item.package.spec) & set("<>")
    )
    return written.requires_python or pins.requires_python or next(ranges, "")


def _suited(
    items: Iterable[Item], asked: Planned, pins: Manifest, written: Manifest, matrix: Matrix, architecture: str
) -> Suited | None:
    """The Pythons that the packages next to the frameworks have wheels for, of those that the frameworks have."""
    builds = (build for known, _ in asked.frameworks for build in matrix.builds(known.name))
    candidates = sorted({python for build in builds for python in build.pythons if python.major > 2})
    exact = next((one.python for one in (pins, written) if one.python is not None), None)
    candidates = [python for python in candidates if exact is None or python == exact]
    requires = _required(pins, written)
    texts = [
        Asked(normalized(one.package.name), _spec(one), one.package.marker)
        for one in items
        if normalized(one.package.name) not in _WITH_TORCH
    ]
    return suited_pythons(texts, requires, candidates, architecture) if candidates else None


def _spec(item: Item) -> str:
    return item.package.spec.replace(" ", "").partition("+")[0]


def _told(suited: Suited | None) -> Iterator[str]:
    if suited is not None and suited.pythons and suited.because:
        span = " to ".join(dict.fromkeys(map(str, (suited.pythons[0], suited.pythons[-1]))))
        yield f"Python is limited to {span}: later ones have no wheel of {', '.join(suited.because)}"
    elif suited is not None and not suited.pythons:
        yield f"no Python that the project allows has wheels of {', '.join(suited.because)}: pip has to compile them"


# ---- the packages next to the frameworks


def _others(items: Iterable[Item], asked: Planned) -> tuple[list[str], list[str]]:
    """The requirements next to the frameworks, and those that cannot be written into a command."""
    plain, left_out = list[str](), list[str]()
    torch = any(known.name == _PYTORCH for known, _ in asked.frameworks)
    kept = {item.package for item in asked.kept}
    names = {normalized(item.package.name) for _, item in asked.frameworks if item is not None}
    for item in items:
        name = normalized(item.package.name)
        if name in names or name.startswith(_LIBRARIES):
            continue
        if torch and name in _WITH_TORCH:
            continue
        extras = f"[{','.join(item.package.extras)}]" if item.package.extras else ""
        text = f"{item.package.name}{extras}{item.package.spec.replace(' ', '')}"
        fits = item.package.wheel is None and _PLAIN.fullmatch(text)
        if item.package.marker and item.package not in kept:
            text = f"{text}{MARKER}{item.package.marker}"
            fits = fits and _MARKER.fullmatch(item.package.marker)
        (plain if fits else left_out).append(text)
    return list(dict.fromkeys(plain)), list(dict.fromkeys(left_out))
