"""What changed between two sets of facts, in groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from envkit._startup.records import record
from envkit._startup.regex import regex
from envkit.comparison.items import FACTS_LEFT_OUT, Item, Key, items_of, unmasked
from envkit.model import Environment, Observed, Problem, found
from envkit.model.paths import fact, walk

# The first beginning of a fact's path that fits names its group; the groups are in the order of a machine's layers.
GROUPS: Mapping[str, tuple[str, ...]] = {
    "Hardware": (
        *("pci_gpus", "gpus", "driver.nvswitches", "system.processors", "system.usable_processors"),
        *("system.memory_bytes", "system.vendor", "system.platform_model", "system.infiniband_devices"),
    ),
    "Kernel": ("system.kernel", "system.secure_boot", "system.lockdown", "kernel"),
    "Driver": ("driver",),
    "System packages": ("packages", "repositories"),
    "CUDA": ("cuda_toolkits", "nvcc", "cudnns", "cuda_link", "cuda_home", "host_compilers"),
    "Python": ("pythons",),
    "Variables": ("variables", "nccl_config"),
    "Containers": ("containers",),
    "System": ("",),
}
_COUNTED_AS_SEEN = (Problem.ABSENT, Problem.TIMED_OUT, Problem.UNPARSABLE)  # an answer, if a bad one
_SYMPTOMS = frozenset(
    (
        *("driver.nvml", "driver.nvidia_smi", "driver.cuda_init", "driver.cuda_device_count"),
        *("driver.cuda_visible_count", "driver.driver_cuda_version", "driver.device_nodes", "driver.procfs_gpus"),
        *("driver.uninitialised_gpus", "kernel.loaded_modules"),
        *("pythons.frameworks", "pythons.cudnn_sublibraries"),  # what the packages brought
    )
)
_NONE = "none"
_COUNTED_ONE_BY_ONE = ("packages", "variables")  # where none of them is there, each of the other side came or went
_PYTHONS = "pythons"
_PROGRAM = regex(r"^[^(]*")  # what is before the reader in the source of a pasted fact


@record
class Change:
    """One thing that is not as it was. `old` or `new` is None where it is not there."""

    group: str
    fact: str
    name: str  # '' for the fact as a whole
    old: str | None
    new: str | None
    place: str = ""

    @property
    def symptom(self) -> bool:
        """Whether it shows a fault rather than makes one: an answer of the driver, or a fact that is gone."""
        gone = not self.name and self.new in (None, *(problem.value for problem in _COUNTED_AS_SEEN))
        return self.fact in _SYMPTOMS or (gone and self.group in ("Hardware", "Driver", "Kernel"))


@record
class Comparison:
    """The changes in the order of the layers, and the facts that one side alone tells."""

    changes: tuple[Change, ...]
    not_compared: tuple[str, ...]


def compared(old: Environment, new: Environment) -> Comparison:
    """What is different in `new`; of a pasted text, which tells a part, nothing but a GPU is taken for gone."""
    changes: list[Change] = []
    left: list[str] = []
    for path, before in walk(old):
        after = fact(new, path)
        if path in FACTS_LEFT_OUT:
            continue
        if _tells(before) and _tells(after):
            changes += _changes(path, before, after, old.pasted, new.pasted)
        elif before.known or after.known:
            left.append(path)
    order = list(GROUPS)
    changes.sort(key=lambda change: order.index(change.group))
    return Comparison(tuple(changes), tuple(left))


def group_of(path: str) -> str:
    """The group that a fact belongs to."""
    return next(
        group
        for group, beginnings in GROUPS.items()
        if any(not start or path == start or path.startswith(f"{start}.") for start in beginnings)
    )


def _tells(observed: Observed[Any]) -> bool:
    return observed.known or observed.problem in _COUNTED_AS_SEEN


def _changes(
    path: str, before: Observed[Any], after: Observed[Any], old_in_part: bool, new_in_part: bool
) -> Iterator[Change]:
    group = group_of(path)
    before, after = _none_at_all(path, before), _none_at_all(path, after)
    if not before.known or not after.known:
        old, new = _whole(path, before), _whole(path, after)
        if old != new and _NONE not in (old, new):
            yield Change(group, path, "", old, new)
        return
    if _listed_alike(path, before, after):
        old_in_part = new_in_part = False
    held, now = _paired(items_of(path, before.value), items_of(path, after.value))
    for key in (*held, *(key for key in now if key not in held)):
        one, other = held.get(key), now.get(key)
        if (one is None and old_in_part) or (other is None and new_in_part) or _within_another(key, held, now):
            continue
        if one is None or other is None or unmasked(one.value) != unmasked(other.value):
            item = other or held[key]
            old_value, new_value = (one.value if one else None), (other.value if other else None)
            yield Change(group, item.fact, item.name or key[2].strip(), old_value, new_value, item.place)


def _listed_alike(path: str, before: Observed[Any], after: Observed[Any]) -> bool:
    """Whether both sides have the list of GPUs that one program prints: of such a list nothing is left out."""
    programs = {_PROGRAM.sub("", one.source) for one in (before, after)}
    return path == "gpus" and len(programs) == 1 and programs.pop().startswith("(nvidia-smi")


def _none_at_all(path: str, observed: Observed[Any]) -> Observed[Any]:
    return found((), observed.source) if observed.absent and path in _COUNTED_ONE_BY_ONE else observed


def _whole(path: str, observed: Observed[Any]) -> str:
    """A fact in a few words: its only value, how many it has, or why it has none."""
    if observed.problem is not None:
        return observed.problem.value
    items = list(items_of(path, observed.value).values())
    if not items:
        return _NONE
    listed = [item for item in items if item.fact == path]
    return items[0].value if not items[0].name else f"{len(listed)} ({listed[0].name if listed else path} \u2026)"


def _within_another(key: Key, held: Mapping[Key, Item], found: Mapping[Key, Item]) -> bool:
    """Whether what it belongs to came or went as a whole, which is reported once."""
    path, place, name = key
    owners = ((path.rpartition(".")[0], place, name), (_PYTHONS, "", place))
    return any(owner != key and (owner in held) != (owner in found) for owner in owners)


def _paired(held: dict[Key, Item], found: dict[Key, Item]) -> tuple[dict[Key, Item], dict[Key, Item]]:
    """Both with one key for the only Python of each side, where a text does not say which one it is."""
    gone = [key for key in held if key[0] == _PYTHONS and key not in found]
    new = [key for key in found if key[0] == _PYTHONS and key not in held]
    if len(gone) == len(new) == 1 and not (gone[0][2] and new[0][2]):
        found = {_moved(key, new[0], gone[0]): item for key, item in found.items()}
    return held, found


def _moved(key: Key, old: Key, new: Key) -> Key:
    if key == old:
        return new
    return (key[0], new[2], key[2]) if key[1] == old[2] else key
