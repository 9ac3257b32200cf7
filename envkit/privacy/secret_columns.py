"""Finds passwords in tables by their header: what stands below `password`, between lines, commas, tabs or blanks.

A table ends at a line with another number of cells. Each line belongs to one table, so that the time grows with the
text.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator

from envkit._startup.regex import regex
from envkit.privacy.likeness import looks_chosen, looks_random
from envkit.privacy.secret_names import Strength
from envkit.privacy.secret_values import CLOSERS, HIDDEN, LINE, Span, matched, secret_in

_SEPARATORS = {  # what may stand on both sides of a cell, and what is between two of them
    "|": regex(r"[ \t]{0,30}[|│┃║][ \t]{0,30}"),
    ",": regex(r"[ \t]{0,30},[ \t]{0,30}"),
    ";": regex(r"[ \t]{0,30};[ \t]{0,30}"),
    "\t": regex(r" {0,30}\t {0,30}"),
    " ": regex(r"[ \t]{2,}"),
}
_LINES = "│┃║"
_WIDEST = 21  # characters of one, and one more
_RULE = regex(r"[ \t|+:=─━┼╪├┤┝┥╞╡┬┴-]*")
_HEADING = regex(r"[^\W\d_][\w ./()#-]{0,40}")
_QUOTES = "\"'`"
_MOST_CELLS = 40
_BACK = 400  # of a header before a name


def column_secrets(text: str, names: Iterable[tuple[int, int, Strength]]) -> Iterator[Span]:
    """The cells below those of these names that are a cell of a table's header."""
    done, header = 0, -1
    for start, end, strength in names:
        if (
            header < start < done
            and matched(LINE, text, header)[1] < start
            or strength not in (Strength.PASSWORD, Strength.PASS, Strength.STRONG, Strength.KEY)
        ):
            continue
        first = text.rfind("\n", max(0, start - _BACK), start) + 1
        last = matched(LINE, text, end)[1]
        if (first or start <= _BACK) and last < len(text):
            below = yield from _below(text, (first, last), (start, end), strength)
            done, header = (below, first) if below else (done, header)


def _below(text: str, header: Span, name: Span, strength: Strength) -> Generator[Span, None, int]:
    """The cells below a name in a header; where the table ends."""
    sign = _sign(text, header, name)
    cells = _cells(text, header, sign) if sign else []
    at = next((at for at, cell in enumerate(cells) if cell[0] <= name[0] and name[1] <= cell[1]), None)
    if sign is None or at is None or not 1 < len(cells) <= _MOST_CELLS or not _is_header(text, cells):
        return 0
    line = (header[1] + 1, matched(LINE, text, header[1] + 1)[1])
    while line[0] < len(text):
        if not _RULE.fullmatch(text, *line):
            row = _cells(text, line, sign)
            if len(row) != len(cells):
                break
            found = _secret(text, row[at], strength)
            if found:
                yield found
        elif line[0] == line[1]:
            break
        line = (line[1] + 1, matched(LINE, text, line[1] + 1)[1])
    return line[0]


def _sign(text: str, header: Span, name: Span) -> str | None:
    """What separates the name from the cells beside it."""
    before = text[header[0] : name[0]].rstrip(_QUOTES)
    after = text[name[1] : header[1]].lstrip(_QUOTES)
    for sign, separator in _SEPARATORS.items():
        ends = separator.match(before[:-_WIDEST:-1])  # read backward, each is the same
        goes_on = separator.match(after)
        if (ends or goes_on) and (ends or not before.strip()) and (goes_on or not after.strip()):
            return sign
    return None


def _cells(text: str, line: Span, sign: str) -> list[Span]:
    """The places of the cells of a line, without the blanks around them."""
    shown = text[slice(*line)]
    start = len(shown) - len(shown.lstrip(" \t" + (f"|{_LINES}" if sign == "|" else "")))
    end = len(shown.rstrip(" \t\r" + (f"|{_LINES}" if sign == "|" else "")))
    cells = []
    for between in _SEPARATORS[sign].finditer(shown, start, end):
        cells.append((line[0] + start, line[0] + between.start()))
        start = between.end()
    return [*cells, (line[0] + start, line[0] + end)] if end > start or cells else []


def _is_header(text: str, cells: list[Span]) -> bool:
    return all(_HEADING.fullmatch(text[slice(*cell)].strip(_QUOTES)) for cell in cells)


def _secret(text: str, cell: Span, strength: Strength) -> Span | None:
    """The cell, where it has a secret of a column whose name is so strong; below `token` words stand, too."""
    value = text[slice(*cell)]
    inner = value.strip(_QUOTES)
    span = (cell[0] + value.find(inner), cell[0] + value.find(inner) + len(inner))
    if not inner or inner.startswith(HIDDEN):
        return None
    if strength is Strength.PASSWORD:
        return None if " " in inner else secret_in(text, span, Strength.KEY)
    plain = inner.strip(CLOSERS)
    return span if looks_chosen(plain) or looks_random(plain) else None
