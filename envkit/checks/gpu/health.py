"""The GPU's own health: memory errors, row remapping, heat, power, its InfoROM."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit.base.pci import pci_address
from envkit.checks.engine.command import fixed
from envkit.checks.engine.evidence import known, not_looked
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Evidence, Outcome, Remedy, Status, ok
from envkit.checks.engine.managers import managers
from envkit.checks.engine.messages import message_evidence, only_shown, seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.engine.remedies import remedy
from envkit.checks.gpu.gpus import gpus_of
from envkit.checks.gpu.memory_errors import RESET, after_memory_error
from envkit.checks.gpu.nvml_fault import nvml_fault
from envkit.checks.nvidia_driver.driver_state import answered, cuda_works
from envkit.checks.nvidia_driver.xid import xid_messages
from envkit.model import Environment, Gpu, Message, Problem

if TYPE_CHECKING:
    from envkit.tables import Matrix

_CONTAINED = 94  # the XID of a memory error that stopped only the program that met it
_LOST = ("gpu-fallen-off-bus",)
_MEMORY_ERROR = Fault(
    "ecc-uncorrectable",
    "A GPU's memory has errors that ECC cannot correct",
    impact="The program that hit the error was stopped; it is not at fault, nor is its data. More may fail until the "
    "GPU is reset.",
    remedy=RESET,
    actions=("reset",),
)


def _out_of_service(environment: Environment, matrix: Matrix) -> Remedy:
    """Whoever rents the machine exchanges the whole instance."""
    names = managers(environment)
    if "aws" in names and "kubernetes" in names:
        return Remedy(
            "The GPU has no spare memory rows left, and a card in a rented instance cannot be replaced: drain the "
            "node, which stops its pods, and terminate the instance; its node group starts a new one, usually on a "
            "different machine. Tell AWS support the instance ID and the GPU's serial number, so that the host is "
            "taken out of service. NODE and INSTANCE are the node's names (kubectl get nodes -o wide; "
            "spec.providerID).",
            (
                fixed("kubectl drain NODE --ignore-daemonsets --delete-emptydir-data"),
                fixed("aws ec2 terminate-instances --instance-ids INSTANCE"),
            ),
        )
    if "aws" in names:
        return Remedy(
            "The GPU has no spare memory rows left, and a card in a rented instance cannot be replaced: stop the "
            "instance and start it again, which moves it to a different machine (data on instance-store disks is "
            "lost), and tell AWS support the card's serial number.",
            (
                fixed("aws ec2 stop-instances --instance-ids INSTANCE"),
                fixed("aws ec2 start-instances --instance-ids INSTANCE"),
            ),
        )
    return remedy(
        environment,
        "Take the GPU out of service and RMA it: it has no spare memory rows left. The command prints its serial "
        "number. Until then, drain the node or hide the GPU with CUDA_VISIBLE_DEVICES.",
        "card-numbers",
    )


_NO_SPARE_ROWS = Fault(
    "row-remap-failed",
    "A faulty memory row could not be remapped",
    impact="Memory errors will recur and stop programs.",
    remedy=_out_of_service,
)
_REMAP_PENDING = Fault(
    "row-remap-pending",
    "A faulty memory row will be remapped at the next reset",
    impact="Until then, a program can hit the faulty row again.",
    remedy=RESET,
    actions=("reset",),
    status=Status.WARN,
)


def name_of(gpu: Gpu) -> str:
    """How reports name a GPU of NVML's list."""
    return f"GPU {gpu.pci_address}" if gpu.pci_address else f"GPU {gpu.index}"


def title_of(gpu: Gpu) -> str:
    """What a title calls it: its model, where that is known."""
    return gpu.name or name_of(gpu)


def field_evidence(environment: Environment, gpu: Gpu, name: str, words: str = "") -> Evidence:
    """One field of one GPU as evidence."""
    value = getattr(gpu, name)
    told = words or (Problem.NOT_LOOKED.value if value is None else str(value))
    return Evidence(f"gpus[{gpu.index}].{name}", told, environment.gpus.source)


def _named_for_sure(environment: Environment, gpu: Gpu) -> int | str:
    """What `nvidia-smi -i` takes: a text may show only some of a machine's GPUs, and then not their numbers."""
    return gpu.pci_address if environment.pasted and gpu.pci_address else gpu.index


@check(
    _MEMORY_ERROR,
    layer=Layer.HEALTH,
    rank=11,
    tier="N",
    explained_by=("row-remap-failed", *_LOST),
    fix="Xid 94: restart the program. Xid 48 or 95: drain and reset. If it recurs soon, the memory is failing.",
    references=threads("vllm-project/vllm#5222", "leptonai/gpud#80", "awslabs/awsome-distributed-ai#1190"),
)
def ecc_uncorrectable(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """No GPU has had a memory error that ECC could not correct since its last reset.

    Such an error stops the program that hit it (CUDA error 214; Xid 48, 94, or 95). A contained error (Xid 94) affects
    only that program.
    """
    bad = [gpu for gpu in gpus_of(environment) if gpu.ecc_uncorrectable]
    lines, again = _xid_lines(environment), after_memory_error(environment)
    for gpu in bad:
        yield _MEMORY_ERROR.found(
            [field_evidence(environment, gpu, "ecc_uncorrectable"), *lines],
            title=f"{title_of(gpu)}: {gpu.ecc_uncorrectable} memory errors that ECC could not correct",
            subject=name_of(gpu),
            remedy=again,
            index=_named_for_sure(environment, gpu),
        )
    if bad:
        return
    codes = (*answered(environment, "cuda", "ECC_UNCORRECTABLE"), *answered(environment, "nvml", "RESET_REQUIRED"))
    told = seen(environment, _MEMORY_ERROR.id)
    if told and only_shown(environment) and all(_since_reset(environment, message) for message in told):
        shown = [*message_evidence(environment, told), *_counted_none(environment)]
        yield ok("the GPU has been reset since then and has counted no memory errors", evidence=shown)
        return
    if not codes and _contained(environment) and only_shown(environment) and cuda_works(environment):
        shown = [*message_evidence(environment, told), known(environment, "driver.cuda_init", "success")]
        yield ok("the error stopped one program, and others keep running", evidence=shown)
    elif not codes and _contained(environment):
        yield _MEMORY_ERROR.found(
            message_evidence(environment, seen(environment, _MEMORY_ERROR.id)),
            title="A GPU had a memory error, but it was contained",
            impact="Only the program that hit it was stopped.",
            remedy=Remedy("Restart the program, and reset the GPU when it is idle."),
            status=Status.WARN,
        )
    elif reported := _MEMORY_ERROR.reported(environment, codes, remedy=again):
        yield reported
    else:
        yield _no_memory_fault(environment, "ecc_uncorrectable", "no uncorrected memory errors")


def _since_reset(environment: Environment, message: Message) -> bool:
    """Whether the GPU that a line of the log names counts no such error: its counter starts again at each reset."""
    address = pci_address(message.values.get("pci_address", ""))
    named = [gpu for gpu in gpus_of(environment) if pci_address(gpu.pci_address) == address]
    return bool(address and named) and all(gpu.ecc_uncorrectable == 0 for gpu in named)


def _counted_none(environment: Environment) -> list[Evidence]:
    counted = [gpu for gpu in gpus_of(environment) if gpu.ecc_uncorrectable == 0]
    return [field_evidence(environment, gpu, "ecc_uncorrectable") for gpu in counted[:4]]


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
        return ok(
            f"{title} in the kernel log; these GPUs do not report a count", evidence=[known(environment, "gpus", "")]
        )
    return not_looked(
        environment, "cannot tell the state of GPU memory without NVML or the kernel log", "gpus", "kernel.log"
    )


@check(
    _NO_SPARE_ROWS,
    layer=Layer.HEALTH,
    rank=10,
    tier="N",
    any_of=("gpus", "kernel.log", "messages"),
    explained_by=_LOST,
    fix="Take the GPU out of service and have it replaced; in the cloud, the whole instance.",
    references=threads(
        "awslabs/awsome-distributed-ai#1190", "aws/eks-node-monitoring-agent#245", "wtdcode/vllm-backport#62"
    ),
)
def row_remap_failed(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """Every faulty memory row was replaced with a spare one.

    When no spare rows are left (Xid 64), memory errors will keep coming back.
    """
    bad = [gpu for gpu in gpus_of(environment) if gpu.remapped_rows_failed]
    for gpu in bad:
        yield _NO_SPARE_ROWS.found(
            [field_evidence(environment, gpu, "remapped_rows_failed", "yes")],
            title=f"{title_of(gpu)}: a faulty memory row could not be remapped",
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
    """No faulty memory row is waiting to be remapped.

    Rows are remapped at the next GPU reset (Xid 63 reports the same event, so both give one finding). Older GPUs retire
    pages instead.
    """
    bad = [gpu for gpu in gpus_of(environment) if gpu.remapped_rows_pending or gpu.retired_pages_pending]
    for gpu in bad:
        field = "remapped_rows_pending" if gpu.remapped_rows_pending else "retired_pages_pending"
        yield _REMAP_PENDING.found(
            [field_evidence(environment, gpu, field, "yes")],
            title=f"{title_of(gpu)}: a faulty memory row will be remapped at the next reset",
            subject=name_of(gpu),
            index=_named_for_sure(environment, gpu),
        )
    done = [gpu for gpu in gpus_of(environment) if gpu.remapped_rows_pending is False]
    if done and len(done) == len(gpus_of(environment)):  # what the log describes is done since
        told = message_evidence(environment, seen(environment, _REMAP_PENDING.id))
        fields = [field_evidence(environment, gpu, "remapped_rows_pending", "no") for gpu in done[:4]]
        yield ok("no row remapping pending", evidence=[*fields, *told])
    elif not bad:
        yield _REMAP_PENDING.reported(environment) or _no_memory_fault(
            environment, "remapped_rows_pending", "no row remapping pending"
        )


nvml_fault(
    Fault(
        "external-power-missing",
        "A GPU's power cables are not connected",
        impact="The driver does not start this GPU.",
        remedy="Turn the machine off and connect all power cables of the card, with a separate cable for each socket.",
    ),
    "INSUFFICIENT_POWER",
    warning="power-connector warning",
    doc="Every card has the power cables that it needs.",
    layer=Layer.PCI,
    rank=15,
    references=("https://github.com/mej/nhc",),
)
nvml_fault(
    Fault(
        "inforom-corrupted",
        "A GPU's InfoROM is corrupted",
        impact="Memory-error counters and repair records are unreliable; computing works.",
        remedy="Power the machine off and on, and update the driver: a warning that stays then is the card's. RMA a "
        "data-center card, with its serial number and the line of the warning; on a desktop, "
        "it is harmless. No software repairs it.",
        steps=(fixed("nvidia-smi --query-gpu=index,name,serial,inforom.img --format=csv"),),
        status=Status.WARN,
    ),
    "CORRUPTED_INFOROM",
    warning="InfoROM warning",
    doc=(
        "The InfoROM (a small permanent memory) of every card can be read.\n\nIt holds the history of memory errors; "
        "if it is damaged, that history cannot be trusted."
    ),
    layer=Layer.HEALTH,
    rank=30,
    explained_by=_LOST,
    references=("https://github.com/mej/nhc", "https://github.com/NVIDIA/DCGM"),
)
