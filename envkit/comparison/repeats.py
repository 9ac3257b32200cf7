"""What one change entails, which is reported once: a GPU that was replaced has another id, too."""

from __future__ import annotations

from collections.abc import Iterable

from envkit.comparison.changes import Change

# Facts that say of one thing what the first one says: where both took the same step, one of them is enough.
_SAME = {
    "gpus": "pci_gpus",
    "gpus.compute_capability": "pci_gpus.compute_capability",
    "driver.cuda_visible_count": "driver.cuda_device_count",
}
# Facts that follow from what the thing is: of one that was replaced, each of them is another.
_FOLLOWS = {
    "driver.libraries.path": "driver.libraries",
    "gpus.compute_capability": "gpus",
    "gpus.power_limit_default_w": "gpus",
    "gpus.virtualization_mode": "gpus",
    "pci_gpus.compute_capability": "pci_gpus",
    "pci_gpus.device_id": "pci_gpus",
    "pci_gpus.subsystem_id": "pci_gpus",
}
_VERSION = "driver.user_space"  # which its libraries have as well


def told_once(changes: Iterable[Change]) -> tuple[Change, ...]:
    """The changes without those that another one of them tells already."""
    every = tuple(changes)
    by_key = {(change.fact, change.place, change.name): change for change in every}
    version = by_key.get((_VERSION, "", ""))

    def repeats(change: Change) -> bool:
        same = by_key.get((_SAME.get(change.fact, ""), change.place, change.name))
        if change.fact == "driver.libraries":
            same = version
        if same is not None and (same.old, same.new) == (change.old, change.new):
            return True
        return (_FOLLOWS.get(change.fact, ""), change.place, change.name) in by_key

    return tuple(change for change in every if not repeats(change))
