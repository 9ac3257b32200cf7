"""What a benchmark is judged by: published times, and shares of a limit."""

from __future__ import annotations

import os
from functools import cache

from envkit._startup.records import record
from envkit.tables.loader import DATA, file_bytes, read, table


@table(
    "bench/reference.csv",
    *("network", "batch", "framework", "framework_version", "device", "cudnn", "driver", "state"),
    status=("read", "not read"),
)
@record
class Reference:
    """One published time of a mini-batch. `not read`: the publication has it in a picture that nobody read yet."""

    network: str
    batch: int | None
    framework: str
    framework_version: str
    device: str
    device_kind: str
    gpus: str  # how many, or a list of counts
    cuda: str
    cudnn: str
    driver: str
    seconds: float | None
    published: str
    status: str
    state: str  # of the publication
    sources: tuple[str, ...]


@table("bench/shares.csv", "measure")
@record
class Share:
    """From which share of its limit on a measure is in order, and below which it is low; between nobody knows."""

    measure: str
    ok: float
    low: float
    sources: tuple[str, ...]


@cache
def shares() -> dict[str, Share]:
    """The shares by what is measured."""
    return {row.measure: row for row in read(Share)}


def runner(framework: str) -> str:
    """The program that measures with a framework, for the interpreter of its environment."""
    return "\n".join(
        file_bytes(os.path.join(DATA, "bench", f"{name}.py.txt")).decode("utf-8") for name in ("common", framework)
    )
