"""Whether a container of nvidia/cuda starts with a driver: what its NVIDIA_REQUIRE_CUDA admits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from envkit.base.versions import Version
from envkit.compat.cuda_line import toolkits_of
from envkit.compat.driver import reported_cuda
from envkit.compat.tables import Tables
from envkit.tables.images import GeforceBranches
from envkit.tables.loader import read

_OF_ITS_OWN_LIST = ("geforce", "titan")


class Card(Protocol):
    """A GPU as an image's requirement tells them apart."""

    @property
    def name(self) -> str:
        """Its name; '' where it is not known."""

    @property
    def data_center(self) -> bool:
        """Whether it is a data center model."""


def image_admits(cuda: Version, driver: Version, gpus: Iterable[Card], tables: Tables) -> bool | None:
    """Whether a driver meets the demand of an image: its CUDA, or one of the branches that cuda-compat takes."""
    reported = reported_cuda(driver, tables)
    if reported is None or reported >= cuda.release(2):
        return None if reported is None else True
    toolkit = next((row for row in toolkits_of(cuda, tables) if row.version == cuda), None)
    branches = toolkit.compat_branches if toolkit is not None else None
    if branches is None:
        return None
    if driver.major not in branches:
        return False
    cards: tuple[Card | None, ...] = tuple(gpus) or (None,)
    verdicts = [_admitted(cuda, driver.major, gpu) for gpu in cards]
    return False if False in verdicts else None if None in verdicts else True


def _admitted(cuda: Version, branch: int, gpu: Card | None) -> bool | None:
    """Whether a branch that cuda-compat takes is admitted with this GPU; None for one of an unknown brand."""
    if gpu is not None and gpu.data_center:
        return True
    row = next((row for row in read(GeforceBranches) if row.cuda == cuda), None)
    if row is None or row.branches is None:
        return None
    listed = str(branch) in row.branches
    if gpu is not None and any(word in gpu.name.lower() for word in _OF_ITS_OWN_LIST):
        return listed
    return True if listed else None
