"""Which cards a name means, and how many of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from envkit._startup.regex import regex
from envkit.advice.cards import Card
from envkit.base.errors import RequestError
from envkit.solver.gpu_name import models_named
from envkit.solver.not_covered import unknown_gpu
from envkit.tables.rows import GpuModel

_COUNTED = regex(r"(?:([1-9]\d?)\s{0,3}[x*]\s{0,3})?(.{1,80}?)(?:\s{0,3}[x*]\s{0,3}([1-9]\d?))?")
_NONE = regex(r"0{1,2}\s{0,3}[x*].{0,80}|.{0,80}[x*]\s{0,3}0{1,2}")
_TOKEN = regex(r"[a-z0-9]+")
_LINES = ("nvidia", "geforce", "tesla", "quadro")
_OTHERS = {"laptop", "mobile", "notebook", "max", "ti", "super", "d", "v2", "ada", "pro", "pc", "adapter", "bridge",
           "cooler", "waterblock"}  # fmt: skip
_SIZE = regex(r"\b(\d{1,3}) ?gb?\b")


def counted(word: str, cards: tuple[Card, ...], option: str) -> tuple[list[Card], int]:
    """The cards that a word means with how many, 0 where it does not say. Raises RequestError."""
    match = _COUNTED.fullmatch(word.strip())
    if _NONE.fullmatch(word.strip()):
        raise RequestError(f"{option}: {word!r} asks for zero cards.", 'Write at least one: "RTX 3090 x1".')
    if match is None or (match[1] and match[3]):
        raise RequestError(
            f"{option}: {word!r} does not name a GPU.", 'Write a name, optionally with a quantity: "RTX 3090 x2".'
        )
    return cards_named(match[2], cards, option), int(match[1] or match[3] or 0)


def cards_named(label: str, cards: tuple[Card, ...], option: str) -> list[Card]:
    """The cards that a name means: of `RTX 3060` both boards of that name, but no laptop's. Raises RequestError."""
    found = cards_called(label, cards, option)
    if not found:
        raise unknown_gpu(label, (card.name for card in cards), option)
    return found


def cards_called(label: str, cards: tuple[Card, ...], option: str) -> list[Card]:
    """The same, empty for a name of none. Raises RequestError for a name that may mean cards of two kinds."""
    by_model = {id(card.model): card for card in cards}
    models = [card.model for card in cards]
    either = (*_with_its_size(label, models), *models_named(label, models))
    found = [by_model[key] for key in dict.fromkeys(id(model) for model in either)]
    whole = " ".join(label.lower().replace("nvidia", "").split())
    exact = [card for card in found if whole in (_plain(card), card.name.lower())]
    usual = [card for card in found if card.form not in ("laptop", "embedded", "mining")] or found
    said = [card for card in usual if _is_as_said(card, whole)] or usual
    shortest = [card for card in said if card.memory and card.model.memory_bandwidth_gbs] or said
    if exact and any(card.memory is None for card in exact) and any(card.memory for card in shortest):
        raise ambiguous(option, label, shortest)
    if exact:
        return exact
    fewest = min((len(_plain(card)) for card in shortest), default=0)
    return [card for card in shortest if len(_plain(card)) == fewest]


def by_words(cards: Iterable[Card]) -> dict[tuple[str, ...], list[Card]]:
    """The cards by the words of their names, without the maker and the line of products."""
    names: dict[tuple[str, ...], list[Card]] = {}
    for card in cards:
        names.setdefault(tuple(word for word in _TOKEN.findall(_plain(card)) if word not in _LINES), []).append(card)
    return names


def cards_within(label: str, names: Mapping[tuple[str, ...], list[Card]]) -> list[Card]:
    """The cards whose whole name a longer one contains, such as that of a shop: `MSI GeForce RTX 3060 Ventus 2X 12G`.

    None where the rest of it has a word that makes another card of it, or a size that none of them has.
    """
    words = _TOKEN.findall(label.lower())
    runs = ((first, last) for first in range(len(words)) for last in range(first + 2, min(first + 9, len(words) + 1)))
    first, last = max((run for run in runs if tuple(words[slice(*run)]) in names), key=lambda run: run[1] - run[0],
                      default=(0, 0))  # fmt: skip
    rest = {*words[:first], *words[last:]}
    found = names.get(tuple(words[first:last]), [])
    sizes = {float(size) for size in _SIZE.findall(label.lower())}
    sized = [card for card in found if not sizes or card.model.memory_gb in sizes]
    return [] if rest & _OTHERS else sized


def _with_its_size(label: str, models: list[GpuModel]) -> list[GpuModel]:
    """The cards whose name is given with the size of their memory, which is no part of the name: `RTX 4060 8GB`."""
    words = label.lower()
    size = _SIZE.search(words)
    if size is None:
        return []
    name = " ".join(words.replace(size[0], " ").split())
    return [
        model
        for model in models_named(name, models)
        if model.memory_gb == float(size[1]) and model.name.lower().endswith(name)
    ]


def ambiguous(option: str, label: str, cards: Iterable[Card]) -> RequestError:
    """The question which of several cards is meant."""
    names = ", ".join(dict.fromkeys(card.name for card in cards))
    return RequestError(f"{option}: {label!r} matches different cards: {names}.", "Use the full name of one.")


def _is_as_said(card: Card, words: str) -> bool:
    """Whether a card is of the kind and the size that its name was given with: `SXM5`, `PCIe`, `80GB`."""
    size = _SIZE.search(words)
    if size is not None and card.model.memory_gb != float(size[1]):
        return False
    return card.form == "module" if "sxm" in words else (card.form == "passive" or "pcie" not in words)


def _plain(card: Card) -> str:
    return " ".join(card.model.name.lower().replace("nvidia", "").split())
