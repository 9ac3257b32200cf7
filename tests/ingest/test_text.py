"""Cleaning: what terminals, chats, mail and issue pages add goes away, line numbers and words stay."""

from __future__ import annotations

import pytest

from envkit.ingest.cleaning import clean, rejoined


@pytest.mark.parametrize(
    ("raw", "plain"),
    [
        ("a\r\nb", ("a", "b")),
        ("a\rb", ("a", "b")),
        ("10%\r50%\r100%\ndone", ("100%", "done")),
        ("\x1b[1;31mred\x1b[0m text\x1b]0;title\x07", ("red text",)),
        ("> quoted\n> > twice\n>> thrice", ("quoted", "twice", "thrice")),
        (">>> import torch\n> >>> torch", (">>> import torch", ">>> torch")),
        ("```bash\nnvidia-smi\n```", ("", "nvidia-smi", "")),
        ("<details><summary>x</summary>\n<pre>y</pre>", ("x", "y")),
        ("a &gt;= b &amp;&amp; c", ("a >= b && c",)),
        ("2026-04-03T02:11:40.118273918Z stderr F oops", ("oops",)),
        ("2026-04-03T02:11:40.1Z oops", ("oops",)),
        ("web-1  | started", ("started",)),
        ("\u2018x\u2019 \u201cy\u201d\u00a0z", ("'x' \"y\" z",)),
        ("a\x00b", ("a b",)),
        ("x   \t", ("x",)),
        ("|   0  Tesla T4   |", ("|   0  Tesla T4   |",)),
    ],
)
def test_what_was_added_goes_away(raw: str, plain: tuple[str, ...]) -> None:
    assert clean(raw).lines == plain


def test_line_numbers_are_those_of_the_text_as_pasted() -> None:
    text = clean("```\r\n> a\r\n\r\n> b\r\n")
    assert text.place(text.whole.index("b")) == ("", 4)


def test_a_long_line_is_cut_and_keeps_its_number() -> None:
    text = clean("first\n" + "x" * 20_000 + "\nlast")
    assert len(text.lines) == 5
    assert text.place(text.whole.index("last")) == ("", 3)
    assert {text.place(offset) for offset in (6, 8_100, 19_000)} == {("", 2)}


def test_lines_broken_at_a_terminal_edge_are_joined() -> None:
    line = "0123456789" * 8
    joined = rejoined(clean(f"{line}\nrest of it\nnext"))
    assert joined is not None
    assert joined.lines == (f"{line}rest of it", "next")
    assert joined.numbers == (1, 3)


@pytest.mark.parametrize("text", ["short\nlines", "x" * 81 + "\nrest", "|" + "-" * 78 + "|\n|next|"])
def test_other_lines_are_not_joined(text: str) -> None:
    assert rejoined(clean(text)) is None
