"""A changed file keeps the bytes of every line that was not changed."""

from __future__ import annotations

import codecs

import pytest

from envkit.base.rewritten import rewritten
from envkit.host.user_file import text_of


@pytest.mark.parametrize(
    ("data", "new", "made"),
    [
        (b"a\r\nb\r\n", "a\nc\n", b"a\r\nc\r\n"),
        (b"a\r\nb", "a\nc\n", b"a\r\nc"),
        (b"a\nb", "a\nb\nc", b"a\nb\nc"),
        (b"a\nb\n", "a\nc", b"a\nc\n"),
        (b"caf\xe9\nb\n", "caf\ufffd\nc\n", b"caf\xe9\nc\n"),
        (codecs.BOM_UTF8 + b"a\nb\n", "a\nc\n", codecs.BOM_UTF8 + b"a\nc\n"),
        (codecs.BOM_UTF16_BE + "a\r\nb\r\n".encode("utf-16-be"), "a\nc\n", None),
        (b"a\r\nb\nc\r\n", "a\nb\nd\n", b"a\r\nb\nd\r\n"),
        (b"a\n\x0c\nb\n", "a\n\x0c\nc\n", b"a\n\x0c\nc\n"),
        (b"", "a\n", b"a"),
    ],
)
def test_only_changed_lines_change(data: bytes, new: str, made: bytes | None) -> None:
    wanted = made if made is not None else codecs.BOM_UTF16_BE + "a\r\nc\r\n".encode("utf-16-be")
    assert rewritten(data, text_of(data), new) == wanted
