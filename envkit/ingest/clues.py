"""What a reader of one format says of a text: small facts, each with its place; and the registry of readers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import Enum

from envkit._startup.records import record
from envkit.ingest.text import Text


@record
class Fact:
    """The fact at `path` of an Environment is `value`; the first one told of a path counts."""

    path: str
    value: object
    offset: int


@record
class Absent:
    """The text says that somebody looked for `path` and it is not there."""

    path: str
    detail: str
    offset: int


@record
class Item:
    """One entry of the tuple at `path`; entries with an equal `key` are one."""

    path: str
    key: str
    value: object
    offset: int


class Listing(Enum):
    """Who counts the GPUs: the driver's tools in PCI order, or a framework in CUDA's own order."""

    DRIVER = "driver"
    FRAMEWORK = "framework"


@record
class GpuClue:
    """What the text tells of one GPU. `values` are fields of facts.Gpu; `index` None: find it by address or name."""

    listing: Listing
    index: int | None
    values: Mapping[str, object]
    offset: int


@record
class GpusIncomplete:
    """A listing of GPUs was cut off, or shows some only: how many there are is not known from it."""

    offset: int
    listing: Listing = Listing.DRIVER


@record
class Package:
    """One Python distribution. `build` is conda's build string, `installer` pip or conda where the text tells."""

    name: str
    version: str
    offset: int
    installer: str = ""
    build: str = ""
    path: str = ""


@record
class PythonFact:
    """A field of facts.PythonEnvironment (`version`, `prefix`, `executable`, `pip_python`, …)."""

    name: str
    value: object
    offset: int


@record
class Framework:
    """What the text tells of a framework: fields of facts.FrameworkInstall by our framework name."""

    name: str
    values: Mapping[str, object]
    offset: int


@record
class Variable:
    """An environment variable and its value ('' is set and empty)."""

    name: str
    value: str
    offset: int


Clue = Fact | Absent | Item | GpuClue | GpusIncomplete | Package | PythonFact | Framework | Variable
Read = Callable[[Text], Iterator[Clue]]


@record
class Reader:
    """Reads one format out of a text that may hold anything else too."""

    name: str
    read: Read


_READERS: dict[str, Reader] = {}


def reader(name: str) -> Callable[[Read], Read]:
    """Register the decorated function as the reader of the format `name`. Raises ValueError when it is taken."""

    def register(function: Read) -> Read:
        if name in _READERS:
            raise ValueError(f"text format {name!r} is read twice")
        _READERS[name] = Reader(name, function)
        return function

    return register


def all_readers() -> tuple[Reader, ...]:
    """Every reader, by name; the folder `formats` is the list."""
    import importlib
    import pkgutil

    from envkit.ingest import readers as formats

    for module in pkgutil.iter_modules(formats.__path__):
        importlib.import_module(f"{formats.__name__}.{module.name}")
    return tuple(_READERS[name] for name in sorted(_READERS))
