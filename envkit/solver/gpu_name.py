"""Which model a user means by a GPU's name, or by a part of it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from functools import cache
from typing import TYPE_CHECKING

from envkit._startup.regex import regex
from envkit.base.errors import RequestError
from envkit.solver.not_covered import refuse_old, unknown_gpu

if TYPE_CHECKING:
    from envkit.compat.tables import GpuTables
    from envkit.tables import Matrix
    from envkit.tables.rows import GpuModel

_WORD = regex(r"[a-z0-9]+")
_PIECE = regex(r"[a-z]+|[0-9]+")
# said by many, and part of few names: the maker, lines of products that were renamed, how a board is built
_ASIDE = regex(r"nvidia|gpu|tesla|quadro|sxm[0-9]*|pcie|[0-9]+gb|hbm[0-9]+e?")
_PCI = regex(r"10de:(?:0x)?(?P<device>[0-9a-f]{4})")
_SYSTEM = regex(r"(?i:(?:dgx|hgx)[ -](?=[a-z]{1,2}[0-9]{2}))(.+)")  # NVIDIA's machines are named after their GPUs
_FAMILY = regex(r"[a-z]{1,2}[0-9][a-z]{0,2}\.|[ag][0-9]-[a-z]+-")  # of instances: g5.xlarge, a2-highgpu-1g
_SERIES = regex(r"\b(\d0) series\b")
_SHOWN = 8

Pieces = tuple[str, ...]


def model_of(text: str, matrix: Matrix) -> GpuModel:
    """The model whose name holds each word of `text`, whole: of several that judge alike a data-center one.

    `V100` is no `GV100`, `K40` is the beginning of `K40m`, and `A100` an A100 PCIe rather than an A100X. Raises
    RequestError with the models that fit where they judge differently, otherwise with the nearest names.
    """
    named = matrix.gpu_by_name(text)
    if named is not None:
        refuse_old(named.compute_capability, text)
        return named
    models = _with_id(text, matrix) or [*matrix.gpus_by_name(text)] or _holding(_words(text), matrix.gpus)
    models = models or _without_asides(text, matrix.gpus)
    rented = None if models else _rented(text)
    if rented is not None and (named := matrix.gpu_by_name(rented)) is not None:
        return named
    if not models and (inside := _SYSTEM.fullmatch(text.strip())):
        return model_of(inside[1], matrix)
    if not models:
        raise unknown_gpu(text, (model.name for model in matrix.gpus))
    if len({_judged(row) for row in models}) > 1:
        told = list(dict.fromkeys(_told(row) for row in models))
        more = f" … ({len(told)} in all)" if len(told) > _SHOWN else ""
        raise RequestError(
            f"--gpu: {text!r} matches models with different capabilities: {', '.join(told[:_SHOWN])}{more}.",
            "Use a full name, a PCI id, or the compute capability.",
        )
    return min(models, key=lambda row: (not row.data_center, *_length_beside(text, row)))


def _with_id(text: str, matrix: Matrix) -> list[GpuModel]:
    """The models of a PCI id as lspci prints it: `10de:1287`, for names that several chips have."""
    known = _PCI.fullmatch(text.strip().lower())
    return [*matrix.gpus_by_device_id(known["device"])] if known else []


def _rented(text: str) -> str | None:
    """The GPU of a cloud's instance type: `p4d.24xlarge`, `g5.xlarge` by the others of its family."""
    from envkit.tables.advice import CloudInstance
    from envkit.tables.loader import read

    name = text.strip().lower()
    rows = read(CloudInstance)
    exact = [row.gpu for row in rows if row.instance.lower() == name]
    family = _FAMILY.match(name)
    alike = {row.gpu for row in rows if family is not None and row.instance.lower().startswith(family.group())}
    return exact[0] if exact else alike.pop() if len(alike) == 1 else None


def named_so_far(text: str, model: GpuModel, matrix: Matrix) -> str:
    """The model's name, without the words after those of `text` where several models fit: `Tesla V100`.

    The plan is the same for all of them, and which of them the machine has is not known.
    """
    if matrix.gpu_by_name(text) is not None or len(models_of(text, matrix)) < 2:
        return model.name
    said = _WORD.findall(text.lower())
    ends = [found.end() for found in _WORD.finditer(model.name.lower()) if found.group().startswith(tuple(said))]
    rest = model.name[max(ends, default=0) :]
    return model.name.removesuffix(rest) if ends and any(figure.isdigit() for figure in rest) else model.name


def _length_beside(text: str, row: GpuModel) -> tuple[int, int, int, str]:
    """How much more a model's name says than the text: words cut short, words, parts of words, name."""
    words = _WORD.findall(row.name.lower())
    cut_short = sum(word not in words for word in _WORD.findall(text.lower()))
    return cut_short, len(words), len(_pieces(row)), row.name


def models_of(text: str, matrix: GpuTables) -> tuple[GpuModel, ...]:
    """The models of the tables that a name can mean, as `models_named` finds them among a few."""
    if named := matrix.gpus_by_name(text):
        return named
    series = _SERIES.search(text)
    if series is not None:
        return _series(series[1], matrix)
    pieces = [piece for word in _words(_plain(text)) or _words(text) for piece in word]
    longest = max(pieces, key=len, default="")
    return tuple(models_named(text, [row for name, row in _spelled(matrix) if longest and longest in name]))


@cache
def _spelled(matrix: GpuTables) -> tuple[tuple[str, GpuModel], ...]:
    """The models with their names as texts are held against them."""
    return tuple((_spelled_out(row), row) for row in matrix.gpus)


def _spelled_out(row: GpuModel) -> str:
    return f"{row.name} {row.variant}".lower()


@cache
def _series(number: str, matrix: GpuTables) -> tuple[GpuModel, ...]:
    return tuple(row for row in matrix.gpus if _of_series(number, row))


def models_named(text: str, rows: Iterable[GpuModel]) -> list[GpuModel]:
    """The models that a name, or a part of one as people write it, can mean: `RTX 3090`, `A100`, `RTX 50 series`."""
    series = _SERIES.search(text)
    if series is not None:
        return [row for row in rows if _of_series(series[1], row)]
    every = tuple(rows)
    return _holding(_words(text), every) or _without_asides(text, every)


def _of_series(number: str, row: GpuModel) -> bool:
    """`50` is the series of the GeForce RTX 5090, not of a Quadro RTX 5000."""
    return "geforce" in row.name.lower() and any(len(piece) == 4 and piece[:2] == number for piece in _pieces(row))


def is_named(text: str, row: GpuModel) -> bool:
    """Whether a model's name holds each word of `text`, whole: `rtx3090`, `1080Ti`."""
    return bool(_holding(_words(text), [row]))


def is_model_number(text: str, matrix: Matrix) -> bool:
    """Whether a bare number such as 3090 is that of a model."""
    number = text.strip()
    return number.isdigit() and len(number) > 2 and any(_is_numbered(number, _pieces(row)) for row in matrix.gpus)


def _is_numbered(number: str, pieces: Pieces) -> bool:
    """Whether a name holds the number other than as its memory (120GB)."""
    return any(piece == number and after != "gb" for piece, after in zip(pieces, (*pieces[1:], ""), strict=True))


def _words(text: str) -> list[Pieces]:
    """The words of a name, each in its runs of letters and of figures: `gtx 1080Ti` is `gtx`, and `1080` with `ti`."""
    return [tuple(_PIECE.findall(word)) for word in _WORD.findall(text.lower())]


def _pieces(row: GpuModel) -> Pieces:
    return _pieces_of(_spelled_out(row))


@cache
def _pieces_of(name: str) -> Pieces:
    """Those of a model's name, which stays in the tables while many texts are held against it."""
    return tuple(piece for word in _words(name) for piece in word)


def _holding(words: list[Pieces], rows: Iterable[GpuModel]) -> list[GpuModel]:
    every = [piece for word in words for piece in word]
    near = (row for row in rows if every and all(piece in _spelled_out(row) for piece in every))
    return [row for row in near if all(_stands_in(word, _pieces(row)) for word in words)]


def _stands_in(word: Pieces, pieces: Pieces) -> bool:
    return any(pieces[start : start + len(word)] == word for start in range(len(pieces)))


def _without_asides(text: str, rows: Iterable[GpuModel]) -> list[GpuModel]:
    """The models that fit when words are left out which tell no two of them apart; a Tesla stays a data-center GPU."""
    tesla = "tesla" in _WORD.findall(text.lower())
    return [row for row in _holding(_words(_plain(text)), rows) if row.data_center or not tesla]


def _plain(text: str) -> str:
    """A name without what is said next to it."""
    return " ".join(word for word in _WORD.findall(text.lower()) if not _ASIDE.fullmatch(word))


def _judged(row: GpuModel) -> Hashable:
    """What decides what a model runs. Being a data-center GPU only allows more, and its first driver bounds little."""
    return row.compute_capability, row.last_driver_branch, row.architecture, row.variant == "jetson"


def _told(row: GpuModel) -> str:
    same = f" {row.variant}" if row.variant and row.variant.lower() not in row.name.lower() else ""
    return f"{row.name}{same} ({row.compute_capability})"
