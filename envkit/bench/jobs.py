"""What is to be measured: the words of the options become jobs for a child program."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from envkit._startup.records import record
from envkit.advice.memory import need_of
from envkit.advice.workload import WorkloadWords, named, workload_of
from envkit.base.errors import RequestError
from envkit.tables.advice import Network
from envkit.tables.loader import read

MEASURES = ("copy", "gemm", "membw")
DEFAULT = (*MEASURES, "fcn-5", "resnet-50")
PRECISIONS = ("fp32", "tf32", "fp16", "bf16")
OF_GPUS = "tf32"  # no processor has units for it
_SIDES = {"cpu": 2048, "gpu": 8192}  # of the matrices
_BYTES = {"cpu": 1 << 28, "gpu": 1 << 30}  # that are copied: far more than a cache holds
_COPIED = 1 << 28


@record
class Job:
    """One measurement to make. `needs` are the bytes of memory that it is estimated to take."""

    id: str
    kind: str  # train, gemm, membw, copy
    precision: str = "fp32"
    network: str = ""
    batch: int = 0
    size: int = 0
    bytes: int = 0
    pinned: bool = True
    direction: str = ""
    needs: float = 0.0

    @property
    def settings(self) -> dict[str, Any]:
        """The job as its child reads it."""
        return {name: getattr(self, name) for name in type(self).__annotations__}


def workloads() -> tuple[str, ...]:
    """Everything that can be measured."""
    return (*MEASURES, *(row.name for row in read(Network)))


def jobs_for(words: Sequence[str], device: str, batches: Sequence[int], precisions: Sequence[str]) -> tuple[Job, ...]:
    """The jobs of these workloads on `cpu` or `gpu`, in the order of measuring. Raises RequestError."""
    for word in words:
        if word not in workloads():
            raise RequestError.unknown_value("WORKLOAD", word, workloads(), "envkit bench --help")
    used = [name for name in precisions or ("fp32",) if device == "gpu" or name != OF_GPUS]
    found = {job.id: job for word in words or DEFAULT for job in _jobs(word, device, batches, used)}
    order = {word: place for place, word in enumerate((*MEASURES, "train"))}
    return tuple(sorted(found.values(), key=lambda job: order[job.kind]))


def _jobs(word: str, device: str, batches: Sequence[int], precisions: Sequence[str]) -> Iterator[Job]:
    if word == "copy":
        for direction in ("h2d", "d2h") if device == "gpu" else ():
            for pinned in (True, False):
                name = f"copy.{direction}" + ("" if pinned else ".pageable")
                yield Job(name, "copy", bytes=_COPIED, pinned=pinned, direction=direction, needs=2 * _COPIED)
    elif word == "membw":
        size = _BYTES[device]
        yield Job("membw", "membw", bytes=size, needs=2 * size)
    elif word == "gemm":
        for precision in precisions:
            side = _SIDES[device]
            yield Job(f"gemm.{precision}", "gemm", precision, size=side, needs=3 * 4 * side * side)
    else:
        usual = named(Network, "WORKLOAD", word).batch
        for batch in batches or (usual,):
            for precision in precisions:
                workload = workload_of(WorkloadWords(network=word, batch=batch, optimizer="sgd"))
                name = f"{word}.b{batch}.{precision}"
                yield Job(name, "train", precision, word, batch, needs=need_of(workload).whole)
