"""Prices, which are the user's: lines of a CSV file and words of options, matched to the cards they mean."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping

from envkit._startup.records import record
from envkit._startup.regex import regex
from envkit.advice.cards import Card
from envkit.advice.named_cards import by_words, cards_called, cards_named, cards_within
from envkit.base.errors import RequestError
from envkit.base.sentences import series

_AMOUNT = regex(r"(\d{1,3}(?:[ ',.]\d{3}){1,4}|\d{1,12})(?:[.,](\d{1,2}))?")
_SIGN = regex(r"[$€£¥₹]|[A-Za-z]{3}|[A-Za-z]{2}\$")
_NAMES = ("name", "card", "gpu", "model", "product")
_PRICES = ("price", "amount", "cost")
_CURRENCY = "currency"
_USED = ("condition", "state", "used")
_SIGNS = {"$": "USD", "€": "EUR", "£": "GBP"}  # one currency, however it is written
_USED_WORDS = ("used", "second-hand", "second hand", "refurbished", "y", "yes", "true")
_NEW_WORDS = ("", "new", "n", "no", "false")
_DELIMITERS = ",;\t"


@record
class Price:
    """What a board costs, and whether it is a used one."""

    amount: float
    currency: str = ""
    used: bool = False


def parse_prices(text: str, cards: Iterable[Card], option: str) -> tuple[dict[str, Price], tuple[str, ...]]:
    """The price of each card that a CSV file describes, and a note on each line that describes none.

    The first line names the columns: a name and a price, perhaps a currency and a condition. Raises RequestError in
    one line for a file without them, for an amount that is none, and for several currencies.
    """
    rows = _rows(text, option)
    header = [cell.strip().lower() for cell in rows[0]] if rows else []
    name, price = _column(header, _NAMES), _column(header, _PRICES)
    if name is None or price is None:
        raise RequestError(
            f"{option}: the first line does not have columns for the card and its price.",
            "Start the file with the line: name,price",
        )
    every = tuple(cards)
    names = by_words(every)
    found: dict[str, Price] = {}
    notes: list[str] = []
    for number, row in enumerate(rows[1:], start=2):
        cells = {column: cell.strip() for column, cell in zip(header, row, strict=False)}
        label, amount = cells.get(header[name], ""), cells.get(header[price], "")
        if not label or not amount:
            if label:
                notes.append(f"line {number}: no price for {label}")
            continue
        where = f"{option} line {number}"
        states = [cells[word].lower() for word in _USED if word in cells]
        priced = _price(amount, cells.get(_CURRENCY, ""), where, any(state in _USED_WORDS for state in states))
        strange = [state for state in states if state not in (*_USED_WORDS, *_NEW_WORDS)]
        notes += [f"line {number}: {state!r} is treated as new (write used or new)" for state in strange]
        notes += [f"line {number}: {told}" for told in _added(found, priced, _meant(label, every, names, where))]
    one_currency(found.values(), option)
    return found, tuple(notes)


def _meant(
    label: str, cards: tuple[Card, ...], names: Mapping[tuple[str, ...], list[Card]], where: str
) -> tuple[list[Card], str]:
    """The cards that a name of a file means, and what the user may not have meant by it."""
    try:
        called = cards_called(label, cards, where)
    except RequestError:
        called = []
    told = ", ".join(card.name for card in called)
    if called:
        return called, f"{label!r} is the name of {told}, and the price is used for each" if len(called) > 1 else ""
    within = cards_within(label, names)
    told = ", ".join(card.name for card in within)
    return within, f"{label!r} is read as {told}" if within else f"{label!r} is not a known card"


def _added(found: dict[str, Price], price: Price, meant: tuple[list[Card], str]) -> Iterable[str]:
    """Adds the price of these cards, of two prices the lower; yields what to say about it."""
    cards, told = meant
    if told:
        yield told
    for card in cards:
        before = found.get(card.name)
        if before is not None:
            yield f"another price for {card.name}: the lower one is used"
        found[card.name] = min(price, before or price, key=lambda one: one.amount)


def parse_price(word: str, cards: Iterable[Card], option: str = "--price") -> dict[str, Price]:
    """The price in `NAME=AMOUNT`. Raises RequestError."""
    label, given, amount = word.rpartition("=")
    if not given or not label.strip():
        raise RequestError(f"{option}: {word!r} is not a valid price.", 'Write it as NAME=AMOUNT: "RTX 4090=1800".')
    priced = _price(amount.strip(), "", option, False)
    return {card.name: priced for card in cards_named(label, tuple(cards), option)}


def parse_amount(text: str, option: str) -> Price:
    """An amount with or without a currency. Raises RequestError."""
    return _price(text.strip(), "", option, False)


def _rows(text: str, option: str) -> list[list[str]]:
    """The cells of each line. Raises RequestError for what Python's reader gives up on, such as an endless cell.

    Lines are split where the first of them is split into the most cells: spreadsheets of many countries write `;`.
    """
    lines = text.lstrip("\ufeff").splitlines()
    first = lines[0] if lines else ""
    try:
        return list(csv.reader(lines, delimiter=max(_DELIMITERS, key=first.count)))
    except csv.Error as error:
        raise RequestError(f"{option}: not a CSV file: {error}.", "Start the file with the line: name,price") from error


def _column(header: list[str], words: tuple[str, ...]) -> int | None:
    """Where a column is: one of these words, then one that holds one of them (`price (EUR)`)."""
    for fits in (lambda cell, word: cell == word, lambda cell, word: word in cell):
        for number, cell in enumerate(header):
            if any(fits(cell, word) for word in words):
                return number
    return None


def _price(text: str, currency: str, where: str, used: bool) -> Price:
    if currency and not _SIGN.fullmatch(currency):
        raise RequestError(
            f"{where}: {currency!r} is not a currency.", "Write a code such as USD, or a sign such as $."
        )
    signs = _SIGN.findall(text)
    figures = _SIGN.sub("", text).strip()
    match = _AMOUNT.fullmatch(figures)
    whole = "".join(sign for sign in match[1] if sign.isdigit()) if match else ""
    amount = float(f"{whole}.{match[2] or 0}") if match else 0.0
    if amount <= 0:
        raise RequestError(
            f"{where}: {text!r} is not a valid price.", "Write an amount above zero, such as 499 or 1,299.90."
        )
    return Price(amount, (currency or (signs[0] if signs else "")).upper(), used)


def one_currency(prices: Iterable[Price], option: str) -> None:
    """Raises RequestError for prices in several currencies."""
    named = sorted({_SIGNS.get(price.currency, price.currency) for price in prices if price.currency})
    if len(named) > 1:
        raise RequestError(f"{option}: prices in {series(named)} cannot be compared.", "Convert them to one currency.")
