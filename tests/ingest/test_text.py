"""Cleaning: what terminals, chats, mail and issue pages add goes away, line numbers and words stay."""

from __future__ import annotations

import re

import pytest

from envkit.ingest.cleaning import clean, rejoined
from envkit.ingest.signatures import messages_in
from envkit.ingest.text import as_one


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


def test_only_lines_made_of_several_are_new_in_a_joined_text() -> None:
    line = "0123456789" * 8
    apart = clean(f"a\n{line}\nrest\nb\n{line}\nend")
    joined = rejoined(apart)
    assert joined is not None
    assert [joined.whole[start:end] for start, end in joined.several_in_one(apart)] == [f"{line}rest", f"{line}end"]


def test_parts_that_overlap_are_one() -> None:
    assert list(as_one([(-5, 3), (3, 8), (10, 12)])) == [(0, 8), (10, 12)]
    assert list(as_one([])) == []


def test_many_equal_lines_are_passed_over_wherever_a_pattern_is_tried() -> None:
    text = clean("torch==2.6.0\n" * 1500 + "jax==0.4.1")
    assert sum(1 for _ in text.matches(re.compile(r"torch==\S+"), "torch==")) == 1000
    assert [match.group() for match in text.matches(re.compile(r"jax==\S+"), "jax==")] == ["jax==0.4.1"]


def test_a_message_that_a_terminal_broke_is_found_among_thousands_of_lines() -> None:
    words = "nvidia-smi has failed because it couldn't communicate with the NVIDIA driver"
    broken = ("x" * 54 + words)[:100], ("x" * 54 + words)[100:]
    text = clean("\n".join((*map("step {} of a run".format, range(1000)), *broken, *map(str, range(1000)))))
    assert [message.line for message in messages_in(text)] == [1001]
    assert messages_in(clean(text.whole.replace(broken[0], broken[0][:-1]))) == ()
