"""Clues of all readers become one Environment: the first told of a fact counts, entries of lists are filled in.

What a program printed counts; what somebody wrote fills the gaps, and its source says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass, replace
from typing import Any, TypeVar

from envkit._startup.records import record
from envkit.base.names import normalized
from envkit.ingest.clues import (
    Absent,
    Clue,
    Fact,
    Framework,
    GpuClue,
    GpusIncomplete,
    Item,
    Listing,
    Package,
    PythonFact,
    Variable,
)
from envkit.ingest.environments import python_environments
from envkit.ingest.python import cudnn_of, framework_of
from envkit.ingest.text import Text
from envkit.model import PASTED, Environment, Gpu, Message, Observed, Problem, found, missing
from envkit.model.observed import TOLD
from envkit.model.paths import with_facts

T = TypeVar("T")
_LAST = ("licensed",)  # of a GPU: a license is there some time after the start
_MIG_UUID = "MIG-"  # what the UUID of an instance begins with; tables number instances instead
_SAME = {  # facts that a told one repeats
    "driver.user_space": ("driver.kernel_module",),
    "nvcc": ("cuda_toolkits",),
}


@record
class Told:
    """A clue with the words that name its place: `input line 12 (nvidia-smi)`."""

    clue: Clue
    source: str


def combine(text: Text, clues: Sequence[tuple[str, Clue]], messages: Sequence[Message]) -> Environment:
    """The environment that `clues` (reader name, clue) describe, in the order in which they stand in the text."""
    printed = _Printed(clues)
    kept = [(name, clue) for name, clue in clues if name != TOLD or printed.leaves_open(clue)]
    ordered = sorted((*kept, *_cudnns(kept)), key=lambda named: named[1].offset)
    told = [Told(clue, f"{_place(text, clue.offset)} ({name})") for name, clue in ordered]
    facts = _scalars(told) | _lists(told)
    _add(facts, "gpus", _gpus(told))
    _add(facts, "variables", _variables(told))
    _add(facts, "pythons", python_environments(text, [(entry.clue, entry.source) for entry in told]))
    _drop_contradictions(facts, told)
    facts["messages"] = found(tuple(messages), "input")
    return with_facts(Environment(origin=PASTED), facts)


class _Printed:
    """What programs printed, as far as it leaves no room for what is told."""

    def __init__(self, clues: Sequence[tuple[str, Clue]]) -> None:
        own = [clue for name, clue in clues if name != TOLD]
        packages = [clue for clue in own if isinstance(clue, Package)]
        self._paths = {clue.path for clue in own if isinstance(clue, (Fact, Absent, Item))}
        self._names = {(type(clue), clue.name) for clue in own if isinstance(clue, (PythonFact, Framework))}
        self._packages = {normalized(package.name) for package in packages}
        self._framework = any(framework_of(package) is not None for package in packages)
        self._gpus = any(isinstance(clue, GpuClue) for clue in own)

    def leaves_open(self, clue: Clue) -> bool:
        """Whether nothing that was printed tells of what `clue` tells."""
        if isinstance(clue, Package):
            taken = normalized(clue.name) in self._packages
            return not taken and not (self._framework and framework_of(clue) is not None)
        if isinstance(clue, (PythonFact, Framework)):
            return (type(clue), clue.name) not in self._names
        path = getattr(clue, "path", "")
        return self._paths.isdisjoint((path, *_SAME.get(path, ()))) and not (path == "pci_gpus" and self._gpus)


def _place(text: Text, offset: int) -> str:
    file, number = text.place(offset)
    return f"{file or 'input'} line {number}"


def _cudnns(clues: Sequence[tuple[str, Clue]]) -> Iterator[tuple[str, Clue]]:
    for name, clue in clues:
        cudnn = cudnn_of(clue) if isinstance(clue, Package) else None
        if cudnn is not None:
            yield name, Item("cudnns", f"{cudnn.origin} {cudnn.cuda} {cudnn.version}", cudnn, clue.offset)


def _add(facts: dict[str, Observed[Any]], path: str, value: Observed[Any] | None) -> None:
    if value is not None:
        facts[path] = value


def _scalars(told: Sequence[Told]) -> dict[str, Observed[Any]]:
    facts: dict[str, Observed[Any]] = {}
    for entry in told:
        clue = entry.clue
        if isinstance(clue, Fact) and (clue.path not in facts or not facts[clue.path].known):
            facts[clue.path] = found(clue.value, entry.source)
        elif isinstance(clue, Absent) and clue.path not in facts:
            facts[clue.path] = missing(Problem.ABSENT, entry.source, clue.detail)
    return facts


def _lists(told: Sequence[Told]) -> dict[str, Observed[Any]]:
    entries: dict[str, dict[str, Any]] = {}
    sources: dict[str, str] = {}
    for entry in told:
        if not isinstance(entry.clue, Item):
            continue
        items = entries.setdefault(entry.clue.path, {})
        sources.setdefault(entry.clue.path, entry.source)
        known = items.get(entry.clue.key)
        items[entry.clue.key] = entry.clue.value if known is None else filled(known, entry.clue.value)
    return {path: found(tuple(items.values()), sources[path]) for path, items in entries.items()}


def filled(first: T, second: T) -> T:
    """`first` with the fields that it leaves at their default taken from `second`."""
    if not is_dataclass(first) or isinstance(first, type):
        return first
    gaps = {
        item.name: getattr(second, item.name)
        for item in fields(first)
        if item.init and _at_default(first, item.name, item.default)
    }
    return replace(first, **gaps)


def _at_default(record: object, name: str, default: object) -> bool:
    value = getattr(record, name)
    return value in (None, "", ()) or (default is not MISSING and value == default)


def _variables(told: Sequence[Told]) -> Observed[Any] | None:
    values: dict[str, str] = {}
    source = ""
    for entry in told:
        if isinstance(entry.clue, Variable):
            values.setdefault(entry.clue.name, entry.clue.value)
            source = source or entry.source
    return found(values, source) if values else None


def _gpus(told: Sequence[Told]) -> Observed[Any] | None:
    listed = [(entry.clue, entry.source) for entry in told if isinstance(entry.clue, GpuClue)]
    of_driver = [clue for clue, _ in listed if clue.listing is Listing.DRIVER]
    framework = [clue for clue, _ in listed if clue.listing is Listing.FRAMEWORK]
    driver = _merge([clue for clue in of_driver if _names_gpu(clue)])
    driver = _continued(driver, [clue for clue in of_driver if not _names_gpu(clue)])
    gpus = _enrich(driver, framework) if driver else _merge(framework)
    if not gpus:
        return None
    wanted = Listing.DRIVER if driver else Listing.FRAMEWORK
    source = next(source for clue, source in listed if clue.listing is wanted)
    return found(tuple(Gpu(**values) for values in gpus), source)


def _names_gpu(clue: GpuClue) -> bool:
    return clue.index is not None or bool(clue.values.get("pci_address") or clue.values.get("name"))


def _continued(gpus: list[dict[str, Any]], unnamed: Sequence[GpuClue]) -> list[dict[str, Any]]:
    """The GPUs with what excerpts tell that name none: of the only GPU, of each in turn, or of GPUs not seen else."""
    if not gpus:
        return _merge(unnamed)
    if len(unnamed) in (1, len(gpus)) and len({_bare(gpu["name"]) for gpu in gpus}) == 1:
        for gpu, clue in zip(gpus, unnamed, strict=False):
            _fill(gpu, clue.values)
    return gpus


def _merge(clues: Sequence[GpuClue]) -> list[dict[str, Any]]:
    gpus: list[dict[str, Any]] = []
    for clue in clues:
        known = _same_gpu(gpus, clue)
        if known is None:
            taken = {gpu["index"] for gpu in gpus}
            index = clue.index if clue.index is not None and clue.index not in taken else max(taken, default=-1) + 1
            known = {"index": index, "name": ""}
            gpus.append(known)
        _fill(known, clue.values)
    return sorted(gpus, key=lambda gpu: int(gpu["index"]))


def _same_gpu(gpus: Sequence[dict[str, Any]], clue: GpuClue) -> dict[str, Any] | None:
    address = clue.values.get("pci_address")
    if address:
        for gpu in gpus:
            if gpu.get("pci_address") == address:
                return gpu
    if clue.index is None:
        return None
    for gpu in gpus:
        if gpu["index"] == clue.index and not (address and gpu.get("pci_address")):
            return gpu
    return None


def _fill(known: dict[str, Any], values: Mapping[str, object]) -> None:
    for name, value in values.items():
        if value is None:
            continue
        if known.get(name) in (None, "") or _tells_more(name, known[name], value):
            known[name] = value


def _tells_more(name: str, known: object, value: object) -> bool:
    """Whether a later value counts: a whole name, instances by their UUIDs, or what comes and goes."""
    if name == "name":
        return _cut(str(known)) and not _cut(str(value))
    if name in _LAST:
        return value != known
    if name == "mig_instances" and isinstance(known, tuple) and isinstance(value, tuple):
        return len(value) >= len(known) and not _by_uuid(known) and _by_uuid(value)
    return False


def _by_uuid(instances: Sequence[str]) -> bool:
    return all(instance.startswith(_MIG_UUID) for instance in instances)


def _cut(name: str) -> bool:
    return name.endswith("...")


def _enrich(gpus: list[dict[str, Any]], clues: Sequence[Any]) -> list[dict[str, Any]]:
    for clue in clues:
        address, name = clue.values.get("pci_address"), clue.values.get("name", "")
        only = len(gpus) == 1 and not address and not name
        for gpu in gpus:
            if only or (address and gpu.get("pci_address") == address) or (name and _bare(gpu["name"]) == _bare(name)):
                _fill(gpu, {"compute_capability": clue.values.get("compute_capability")})
    return gpus


def _bare(name: str) -> str:
    return name.lower().removeprefix("nvidia ").strip()


def _drop_contradictions(facts: dict[str, Observed[Any]], told: Sequence[Told]) -> None:
    """Leave out what only seems to be missing because the text was cut: never a GPU or a module that is proved."""
    partial = any(isinstance(entry.clue, GpusIncomplete) and entry.clue.listing is Listing.DRIVER for entry in told)
    driver_listed = any(isinstance(entry.clue, GpuClue) and entry.clue.listing is Listing.DRIVER for entry in told)
    on_pci, gpus = facts.get("pci_gpus"), facts.get("gpus")
    if on_pci and gpus and on_pci.known and (partial or not driver_listed) and len(on_pci.get()) > len(gpus.get()):
        del facts["pci_gpus"]
    modules, module = facts.get("kernel.loaded_modules"), facts.get("driver.kernel_module")
    if modules and module and module.known and modules.known and "nvidia" not in modules.get():
        del facts["kernel.loaded_modules"]
