"""WSL next to a GPU whose Windows driver runs in TCC mode."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit.checks.engine.command import GPU, fixed, run
from envkit.checks.engine.evidence import kind, known
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Outcome, Remedy, ok, skip
from envkit.checks.engine.messages import named, seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.model import Environment, MachineKind

if TYPE_CHECKING:
    from envkit.tables import Matrix


def _to_wddm(environment: Environment, matrix: Matrix) -> Remedy:
    index = named(seen(environment, "wsl-gpu-in-tcc-mode"), "index")
    which = "the GPU in TCC mode" if index else "the GPU in TCC mode (INDEX is its number in nvidia-smi)"
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
