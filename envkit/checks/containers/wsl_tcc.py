"""WSL next to a GPU whose Windows driver runs in TCC mode."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit._startup.regex import regex
from envkit.checks.engine.command import GPU, fixed, run
from envkit.checks.engine.evidence import kind, known
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Outcome, Remedy, ok, skip
from envkit.checks.engine.messages import named, seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.gpu.gpus import gpus_of
from envkit.model import Environment, MachineKind

if TYPE_CHECKING:
    from envkit.tables import Matrix


_SERVER_CARD = regex(r"Tesla|^(?:NVIDIA )?[AHLBVP]\d{1,3}S?\b")


def _to_wddm(environment: Environment, matrix: Matrix) -> Remedy:
    index = named(seen(environment, "wsl-gpu-in-tcc-mode"), "index")
    which = "the GPU in TCC mode" if index else "the GPU in TCC mode (INDEX is its number in nvidia-smi)"
    gpus = gpus_of(environment)
    if len(gpus) == 1 and _SERVER_CARD.search(gpus[0].name):
        return Remedy(
            f"The {gpus[0].name.rstrip('.')} is the only GPU, and a server card like it leaves TCC mode only with "
            "NVIDIA's vGPU (GRID) driver and license: with any other driver, the command is refused, and WSL cannot "
            "use the card. CUDA on Windows itself works as it is; do not disable the card. Without that driver, run "
            "the program on Windows, or on a machine that boots Linux with the card. If the command is accepted, "
            "restart Windows.",
            (run("nvidia-smi", "-i", GPU(index or 0), "-dm", "0"),),
        )
    return Remedy(
        f"In a Windows terminal, as administrator: switch {which} to WDDM; the mode changes when Windows restarts, "
        "which closes all programs. If the card does not support WDDM, disable it in Device Manager instead: the "
        "others then work in WSL.",
        (
            run("nvidia-smi", "-i", GPU(index), "-dm", "0") if index else fixed("nvidia-smi -i INDEX -dm 0"),
            fixed("shutdown /r /t 60"),
        ),
    )


_TCC = Fault(
    "wsl-gpu-in-tcc-mode",
    "A GPU in TCC mode hides all GPUs from WSL",
    impact="No GPU can be used in WSL, not even those in WDDM mode.",
    remedy=_to_wddm,
)


@check(
    _TCC,
    layer=Layer.PLACE,
    rank=6,
    any_of=("system.machine_kind", "messages"),
    fix="Switch every GPU to WDDM on Windows, or disable the one in TCC mode, and restart Windows.",
    references=threads("microsoft/WSL#13027"),
)
def wsl_gpu_in_tcc_mode(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """With WSL 2, every GPU of the machine is in WDDM mode on Windows.

    WSL reaches GPUs through WDDM. It cannot use a card in TCC mode, and one such card hides the others, too.
    """
    if reported := _TCC.reported(environment):
        yield reported
    elif kind(environment) is MachineKind.WSL2 and environment.gpus.known and environment.gpus.get():
        yield ok("WSL lists its GPUs", evidence=[known(environment, "gpus", "listed")])
    else:
        yield skip("no GPU was seen in TCC mode", evidence=[known(environment, "system.machine_kind")])
