"""The GPU's own health: memory errors, row remapping, heat, power, its InfoROM."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from envkit.checks.engine.evidence import known, not_looked
from envkit.checks.engine.findings import Evidence, Outcome, fail, ok, skip, warn
from envkit.checks.engine.messages import message_evidence, seen, told
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.engine.remedies import remedy
from envkit.checks.nvidia_driver.driver_state import answered, nvml_asked
from envkit.checks.nvidia_driver.xid import xid_messages
from envkit.model import Environment, Gpu

if TYPE_CHECKING:
    from envkit.tables import Matrix

_CONTAINED = 94  # the XID of a memory error that stopped only the program that met it
_LOST = ("gpu-fallen-off-bus",)
_RESET = "Let running work finish, then reset the GPU (or restart)."


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
    "ecc-uncorrectable",
    title="A GPU's memory has errors that ECC cannot correct",
    layer=Layer.HEALTH,
    rank=11,
    tier="N",
    explained_by=("row-remap-failed", *_LOST),
    fix="XID 94: start the program again. 48 or 95: drain and reset. Again soon after: the memory is dying.",
    references=threads("vllm-project/vllm#5222", "leptonai/gpud#80", "awslabs/awsome-distributed-ai#1190"),
)
def ecc_uncorrectable(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """No GPU has met a memory error since its last reset that ECC could not correct.

    Such an error stops the program that met it (CUDA error 214, XID 48, 94 or 95). A contained one (94) harms that
    program only.
    """
    impact = "The program that met the error is stopped; until a reset others may follow."
    bad = [gpu for gpu in gpus_of(environment) if gpu.ecc_uncorrectable]
    for gpu in bad:
        yield fail(
            f"{gpu.name}: {gpu.ecc_uncorrectable} memory errors that ECC could not correct",
            subject=name_of(gpu),
            evidence=[field_evidence(environment, gpu, "ecc_uncorrectable"), *_xid_lines(environment)],
            impact=impact,
            remedy=remedy(environment, _RESET, "reset", index=gpu.index),
        )
    codes = (*answered(environment, "cuda", "ECC_UNCORRECTABLE"), *answered(environment, "nvml", "RESET_REQUIRED"))
    messages = seen(environment, "ecc-uncorrectable")
    if bad:
        return
    if messages or codes:
        rows = [row for row, _ in xid_messages(environment, "ecc-uncorrectable")]
        contained = bool(rows) and len(rows) == len(messages) and all(row.code == _CONTAINED for row in rows)
        judge: Callable[..., Outcome] = warn if contained and not codes else fail
        yield judge(
            "A GPU met a memory error; it was contained"
            if contained
            else "A GPU met a memory error that ECC could not correct",
            evidence=[*codes, *message_evidence(environment, messages)],
            impact="Only the program that met it was stopped." if contained else impact,
            remedy=remedy(
                environment, "Start the program again; reset the GPU when it is idle." if contained else _RESET
            ),
        )
    else:
        yield _no_memory_fault(environment, "ecc_uncorrectable", "no uncorrected memory error")


def _xid_lines(environment: Environment) -> tuple[Evidence, ...]:
    return message_evidence(environment, [message for _, message in xid_messages(environment, "ecc-uncorrectable")])


def _no_memory_fault(environment: Environment, name: str, title: str) -> Outcome:
    counted = [gpu for gpu in gpus_of(environment) if getattr(gpu, name) is not None]
    if counted:
        return ok(title, evidence=[field_evidence(environment, gpu, name) for gpu in counted[:4]])
    if gpus_of(environment) and environment.kernel.log.known:
        return ok(f"{title} in the kernel log; these GPUs do not count them", evidence=[known(environment, "gpus", "")])
    return not_looked(environment, "not checked: neither NVML nor the kernel log tells", "gpus", "kernel.log")


@check(
    "row-remap-failed",
    title="A GPU has no spare memory rows left",
    layer=Layer.HEALTH,
    rank=10,
    tier="N",
    any_of=("gpus", "kernel.log", "messages"),
    explained_by=_LOST,
    fix="Replace the card.",
    references=threads(
        "awslabs/awsome-distributed-ai#1190", "aws/eks-node-monitoring-agent#245", "wtdcode/vllm-backport#62"
    ),
)
def row_remap_failed(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """Every faulty memory row could be replaced by a spare one.

    When no spare is left (XID 64), memory errors come back for good.
    """
    fix = remedy(environment, "Take the card out of service and hand it in: it has no spare memory rows left.")
    bad = [gpu for gpu in gpus_of(environment) if gpu.remapped_rows_failed]
    for gpu in bad:
        yield fail(
            f"{gpu.name}: a faulty memory row could not be replaced",
            subject=name_of(gpu),
            evidence=[field_evidence(environment, gpu, "remapped_rows_failed", "yes")],
            impact="Memory errors will come back and stop programs.",
            remedy=fix,
        )
    if not bad:
        outcomes = told(
            environment,
            "row-remap-failed",
            "A faulty memory row could not be replaced",
            remedy=fix,
            impact="Memory errors will come back and stop programs.",
        )
        yield from outcomes or (_no_memory_fault(environment, "remapped_rows_failed", "no row was left unreplaced"),)


@check(
    "row-remap-pending",
    title="A faulty memory row waits for a reset to be replaced",
    layer=Layer.HEALTH,
    rank=12,
    tier="N",
    any_of=("gpus", "kernel.log", "messages"),
    explained_by=("row-remap-failed", "ecc-uncorrectable", *_LOST),
    fix="Drain the GPU and reset it, or restart the machine.",
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
        yield warn(
            f"{gpu.name}: a faulty memory row will be replaced at the next reset",
            subject=name_of(gpu),
            evidence=[field_evidence(environment, gpu, field, "yes")],
            impact="Until then a program can meet the faulty row again.",
            remedy=remedy(environment, _RESET, "reset", index=gpu.index),
        )
    if not bad:
        outcomes = told(
            environment,
            "row-remap-pending",
            "A faulty memory row will be replaced at the next reset",
            remedy=remedy(environment, _RESET),
            judge=warn,
            impact="Until then a program can meet the faulty row again.",
        )
        yield from outcomes or (_no_memory_fault(environment, "remapped_rows_pending", "no replacement is pending"),)


@check(
    "external-power-missing",
    title="A card's power cable is not connected",
    layer=Layer.PCI,
    rank=15,
    tier="N",
    any_of=("driver.nvml", "driver.nvidia_smi", "kernel.log", "messages"),
    fix="Connect the power cables of the card.",
    references=("https://github.com/mej/nhc",),
)
def external_power_missing(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """Every card has the power cables that it needs."""
    fix = remedy(environment, "Switch the machine off and connect all power cables of the card.")
    codes = answered(environment, "nvml", "INSUFFICIENT_POWER")
    messages = seen(environment, "external-power-missing")
    if codes or messages:
        yield fail(
            "A GPU is not powered: its power cables are not connected",
            evidence=[*codes, *message_evidence(environment, messages)],
            impact="The driver does not start this GPU.",
            remedy=fix,
        )
    elif nvml_asked(environment):
        yield ok("the driver does not complain about power", evidence=[known(environment, "driver.nvml")])
    elif environment.driver.nvml.known or environment.driver.nvml.absent:
        yield skip("there is no driver that could tell")
    else:
        yield not_looked(environment, "neither NVML nor the kernel log was asked about power")


@check(
    "inforom-corrupted",
    title="A card's InfoROM is damaged",
    layer=Layer.HEALTH,
    rank=30,
    tier="N",
    any_of=("driver.nvml", "driver.nvidia_smi", "messages"),
    explained_by=_LOST,
    fix="RMA data-center cards; harmless on desktops.",
    references=("https://github.com/mej/nhc", "https://github.com/NVIDIA/DCGM"),
)
def inforom_corrupted(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """The small permanent store (InfoROM) of every card can be read.

    It holds the history of memory errors; damaged, that history cannot be trusted.
    """
    codes = answered(environment, "nvml", "CORRUPTED_INFOROM")
    messages = seen(environment, "inforom-corrupted")
    if codes or messages:
        yield warn(
            "The InfoROM of a GPU is damaged",
            evidence=[*codes, *message_evidence(environment, messages)],
            impact="Counters of memory errors and their repair are not reliable; computing works.",
            remedy=remedy(environment, "RMA the card if it is a data-center card; on a desktop it is harmless."),
        )
    elif nvml_asked(environment):
        yield ok("the driver reports no damaged InfoROM", evidence=[known(environment, "driver.nvml")])
    elif environment.driver.nvml.known or environment.driver.nvml.absent:
        yield skip("there is no driver that could tell")
    else:
        yield not_looked(environment, "the driver was not asked")
