"""A card: what the tables hold of one GPU model and of its board."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, cached_property

from envkit._startup.records import record
from envkit.advice.memory import GIB
from envkit.base.versions import ComputeCapability
from envkit.tables import Matrix
from envkit.tables.advice import Precision, TensorRatio
from envkit.tables.loader import read
from envkit.tables.rows import GpuBoard, GpuModel

_RATES = {
    "fp16": "tensor_fp16_tflops",
    "bf16": "tensor_bf16_tflops",
    "tf32": "tensor_tf32_tflops",
    "fp8": "tensor_fp8_tflops",
}
_CONSUMER = ("GeForce", "TITAN", "CMP")
FORMS = {
    "desktop": ("desktop",),
    "laptop": ("laptop",),
    "server": ("passive", "module"),
    "any": ("desktop", "laptop", "passive", "module", "embedded", "system", "mining"),
}
FORM_TOLD = {
    "passive": "passively cooled, for server chassis only",
    "module": "a module for a server board, not a card for a slot",
    "laptop": "it is a laptop GPU",
    "embedded": "a module for embedded systems",
    "system": "it is sold only as a complete computer",
    "mining": "mining card (narrow PCIe link, no display output)",
    "desktop": "a card for a desktop",
}
_ALONE = ("laptop", "embedded", "system")  # one to a machine
_OF_A_BOARD = (1, 2, 4, 8)  # modules of one, or of the part of it that is rented


@record
class Card:
    """One GPU model with its board, None where no row describes that."""

    model: GpuModel
    board: GpuBoard | None

    @cached_property
    def name(self) -> str:
        """Its name without the maker's, with the variant where boards of one name differ."""
        name = self.model.name.removeprefix("NVIDIA ")
        variant = self.model.variant
        return name if not variant or variant.lower() in name.lower() else f"{name} ({variant})"

    @property
    def capability(self) -> ComputeCapability:
        """Its compute capability."""
        return self.model.compute_capability

    @property
    def memory(self) -> float | None:
        """Its memory in bytes."""
        return None if self.model.memory_gb is None else self.model.memory_gb * GIB

    @property
    def per_board(self) -> int:
        """GPUs on a board; one where nothing else is known."""
        return (self.board.gpus_per_board if self.board else None) or 1

    @property
    def form(self) -> str | None:
        """What kind of board it is, None where that is not known."""
        return self.board.form if self.board else None

    @property
    def line(self) -> str:
        """What it is sold as: prices of one line rise with speed and memory, those of two cannot be compared."""
        if self.model.data_center:
            return "data center"
        return "consumer" if self.name.startswith(_CONSUMER) else "workstation"

    @property
    def shares_a_board(self) -> bool:
        """Whether it is a module that NVLink joins with others on one board."""
        return self.form == "module" and bool(self.board and self.board.nvlink_gbs)

    def counts(self, most: int) -> Sequence[int]:
        """How many of it one machine is built with, up to so many."""
        if self.shares_a_board:
            return tuple(count for count in _OF_A_BOARD if count <= most)
        return range(1, 2 if self.form in _ALONE else most + 1)

    def boards(self, gpus: int) -> int:
        """Boards that carry so many of its GPUs."""
        return -(-gpus // self.per_board)

    def watts(self, gpus: int) -> int | None:
        """What the boards with so many of its GPUs draw at most."""
        return None if self.model.tdp_w is None else self.model.tdp_w * self.boards(gpus)

    def tflops(self, precision: str) -> tuple[float | None, bool]:
        """Its rate in a precision, and whether that is known: units of tensor cores may be faster than is known.

        A precision without units of its own is computed in fp32 by the frameworks, so no rate is below that one's.
        Where the row of the board is silent, the rate is that of its line of cards next to their rate in fp32.
        """
        board, plain = self.board, self.model.fp32_tflops
        row = _precision(precision)
        if self.capability < row.from_capability:
            return self.tflops("fp16") if row.stored_from else (plain, True)
        if precision == "fp32" or board is None:
            return plain, precision == "fp32" or self.model.tensor_cores is False
        special: float | None = getattr(board, _RATES[precision]) or self._by_its_line(precision)
        known = special is not None or self.model.tensor_cores is False
        rates = [rate for rate in (plain, special, board.fp16_tflops if precision == "fp16" else None) if rate]
        return (max(rates) if rates else None), known

    def _by_its_line(self, precision: str) -> float | None:
        ratio = next((ratio for ratio in read(TensorRatio) if ratio.holds(self.model)), None)
        times: float | None = getattr(ratio, precision) if ratio else None
        return times * self.model.fp32_tflops if times and self.model.fp32_tflops else None

    @property
    def sources(self) -> tuple[str, ...]:
        """The sources of both rows."""
        return tuple(dict.fromkeys((*self.model.sources, *(self.board.sources if self.board else ()))))


@cache
def _precision(name: str) -> Precision:
    return next(row for row in read(Precision) if row.name == name)


def all_cards(matrix: Matrix) -> tuple[Card, ...]:
    """Every GPU model as a card."""
    boards = {(board.name, board.variant): board for board in matrix.gpu_boards}
    return tuple(Card(gpu, boards.get((gpu.name, gpu.variant))) for gpu in matrix.gpus)
