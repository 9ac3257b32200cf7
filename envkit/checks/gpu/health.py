"""The GPU's own health: memory errors, row remapping, heat, power, its InfoROM."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit.checks.engine.evidence import known, not_looked
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Evidence, Outcome, Remedy, Status, ok
from envkit.checks.engine.messages import message_evidence, seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.gpu.nvml_fault import nvml_fault
from envkit.checks.nvidia_driver.driver_state import answered
from envkit.checks.nvidia_driver.xid import xid_messages
from envkit.model import Environment, Gpu

if TYPE_CHECKING:
    from envkit.tables import Matrix

_CONTAINED = 94  # the XID of a memory error that stopped only the program that met it
_LOST = ("gpu-fallen-off-bus",)
_RESET = "Let running work finish, then reset the GPU (or reboot)."
_MEMORY_ERROR = Fault(
    "ecc-uncorrectable",
    "A GPU's memory has errors that ECC cannot correct",
    impact="The program that met the error is stopped; until a reset others may follow.",
    remedy=_RESET,
    actions=("reset",),
)
_NO_SPARE_ROWS = Fault(
    "row-remap-failed",
    "A faulty memory row could not be replaced",
    impact="Memory errors will come back and stop programs.",
    remedy="Take the card out of service and RMA it: it has no spare memory rows left.",
)
_REMAP_PENDING = Fault(
    "row-remap-pending",
    "A faulty memory row will be replaced at the next reset",
    impact="Until then a program can meet the faulty row again.",
    remedy=_RESET,
    actions=("reset",),
    status=Status.WARN,
)


def gpus_of(environment: Environment) -> tuple[Gpu, ...]:
    """The GPUs that NVML or a text describes; empty when unknown."""
    return environment.gpus.get() if environment.gpus.known else ()


def name_of(gpu: Gpu) -> str:
    """How reports name a GPU of NVML's list."""
    return f"GPU {gpu.pci_address}" if gpu.pci_address else f"GPU {gpu.index}"


def field_evidence(environment: Environment, gpu: Gpu, name: str, words: str = "") -> Evidence:
    """One field of one GPU as evidence."""
    return Evidence(f"gpus[{gpu.index}].{name}", words or str(getattr(gpu, name)), environment.gpus.source)


@check(
    _MEMORY_ERROR,
    layer=Layer.HEALTH,
    rank=11,
    tier="N",
    explained_by=("row-remap-failed", *_LOST),
    fix="Xid 94: start the program again. 48 or 95: drain and reset. Again soon after: the memory is dying.",
    references=threads("vllm-project/vllm#5222", "leptonai/gpud#80", "awslabs/awsome-distributed-ai#1190"),
)
def ecc_uncorrectable(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """No GPU has met a memory error since its last reset that ECC could not correct.

    Such an error stops the program that met it (CUDA error 214, XID 48, 94 or 95). A contained one (94) harms that
    program only.
    """
    bad = [gpu for gpu in gpus_of(environment) if gpu.ecc_uncorrectable]
    for gpu in bad:
        yield _MEMORY_ERROR.found(
            [field_evidence(environment, gpu, "ecc_uncorrectable"), *_xid_lines(environment)],
            title=f"{gpu.name}: {gpu.ecc_uncorrectable} memory errors that ECC could not correct",
            subject=name_of(gpu),
            index=gpu.index,
        )
    if bad:
        return
    codes = (*answered(environment, "cuda", "ECC_UNCORRECTABLE"), *answered(environment, "nvml", "RESET_REQUIRED"))
    if not codes and _contained(environment):
        yield _MEMORY_ERROR.found(
            message_evidence(environment, seen(environment, _MEMORY_ERROR.id)),
            title="A GPU met a memory error; it was contained",
            impact="Only the program that met it was stopped.",
            remedy=Remedy("Start the program again; reset the GPU when it is idle."),
            status=Status.WARN,
        )
    elif reported := _MEMORY_ERROR.reported(environment, codes):
        yield reported
    else:
        yield _no_memory_fault(environment, "ecc_uncorrectable", "no uncorrected memory error")


def _contained(environment: Environment) -> bool:
    """True where every message of a memory error says that it stopped no more than the program that met it."""
    rows = [row for row, _ in xid_messages(environment, _MEMORY_ERROR.id)]
    all_numbered = len(rows) == len(seen(environment, _MEMORY_ERROR.id))
    return bool(rows) and all_numbered and all(row.code == _CONTAINED for row in rows)


def _xid_lines(environment: Environment) -> tuple[Evidence, ...]:
    return message_evidence(environment, [message for _, message in xid_messages(environment, "ecc-uncorrectable")])


def _no_memory_fault(environment: Environment, name: str, title: str) -> Outcome:
    counted = [gpu for gpu in gpus_of(environment) if getattr(gpu, name) is not None]
    if counted:
        return ok(title, evidence=[field_evidence(environment, gpu, name) for gpu in counted[:4]])
    if gpus_of(environment) and environment.kernel.log.known:
        return ok(f"{title} in the kernel log; these GPUs do not count them", evidence=[known(environment, "gpus", "")])
    return not_looked(environment, "neither NVML nor the kernel log says", "gpus", "kernel.log")


@check(
    _NO_SPARE_ROWS,
    layer=Layer.HEALTH,
    rank=10,
    tier="N",
    any_of=("gpus", "kernel.log", "messages"),
    explained_by=_LOST,
    references=threads(
        "awslabs/awsome-distributed-ai#1190", "aws/eks-node-monitoring-agent#245", "wtdcode/vllm-backport#62"
    ),
)
def row_remap_failed(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """Every faulty memory row could be replaced by a spare one.

    When no spare is left (XID 64), memory errors come back for good.
    """
    bad = [gpu for gpu in gpus_of(environment) if gpu.remapped_rows_failed]
    for gpu in bad:
        yield _NO_SPARE_ROWS.found(
            [field_evidence(environment, gpu, "remapped_rows_failed", "yes")],
            title=f"{gpu.name}: a faulty memory row could not be replaced",
            subject=name_of(gpu),
        )
    if not bad:
        yield _NO_SPARE_ROWS.reported(environment) or _no_memory_fault(
            environment, "remapped_rows_failed", "no row-remapping failures"
        )


@check(
    _REMAP_PENDING,
    layer=Layer.HEALTH,
    rank=12,
    tier="N",
    any_of=("gpus", "kernel.log", "messages"),
    explained_by=("row-remap-failed", "ecc-uncorrectable", *_LOST),
    references=threads("leptonai/gpud#108", "leptonai/gpud#987"),
)
def row_remap_pending(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """No faulty memory row waits to be replaced.

    The replacement happens at the next reset of the GPU (XID 63 says the same thing, so it is reported once). Older
    GPUs retire pages instead.
    """
    bad = [gpu for gpu in gpus_of(environment) if gpu.remapped_rows_pending or gpu.retired_pages_pending]
    for gpu in bad:
        field = "remapped_rows_pending" if gpu.remapped_rows_pending else "retired_pages_pending"
        yield _REMAP_PENDING.found(
            [field_evidence(environment, gpu, field, "yes")],
            title=f"{gpu.name}: a faulty memory row will be replaced at the next reset",
            subject=name_of(gpu),
            index=gpu.index,
        )
    if not bad:
        yield _REMAP_PENDING.reported(environment) or _no_memory_fault(
            environment, "remapped_rows_pending", "no row remapping pending"
        )


nvml_fault(
    Fault(
        "external-power-missing",
        "A GPU is not powered: its power cables are not connected",
        impact="The driver does not start this GPU.",
        remedy="Switch the machine off and connect all power cables of the card.",
    ),
    "INSUFFICIENT_POWER",
    healthy="no power-connector warnings from the driver",
    doc="Every card has the power cables that it needs.",
    layer=Layer.PCI,
    rank=15,
    references=("https://github.com/mej/nhc",),
)
nvml_fault(
    Fault(
        "inforom-corrupted",
        "The InfoROM of a GPU is damaged",
        impact="Counters of memory errors and their repair are not reliable; computing works.",
        remedy="RMA the card if it is a data-center card; on a desktop it is harmless.",
        status=Status.WARN,
    ),
    "CORRUPTED_INFOROM",
    healthy="InfoROM is not corrupted",
    doc="The small permanent store (InfoROM) of every card can be read.\n\n"
    "It holds the history of memory errors; damaged, that history cannot be trusted.",
    layer=Layer.HEALTH,
    rank=30,
    explained_by=_LOST,
    references=("https://github.com/mej/nhc", "https://github.com/NVIDIA/DCGM"),
)
