"""What is not drawn, or steers what is, becomes visible."""

from __future__ import annotations

import unicodedata

from envkit.base.shown import shown

# Format characters that are drawn: signs before Arabic, Syriac and Kaithi numbers, joiners of hieroglyphs.
_DRAWN = (*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD, *range(0x13430, 0x13440))
_EMOJI = 0xFE0F  # behind every second emoji
_IGNORED = (
    *(0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, *range(0x180B, 0x1810), 0x2800, 0x3164),
    *(*range(0xFE00, _EMOJI), 0xFFA0, *range(0xE0000, 0xE1000)),
)


def test_every_format_character_becomes_visible() -> None:
    steering = [code for code in range(0x110000) if unicodedata.category(chr(code)) in ("Cc", "Cf", "Cs", "Zl", "Zp")]
    passed = [hex(code) for code in (*steering, *_IGNORED) if code not in _DRAWN and shown(chr(code)) == chr(code)]
    assert passed == []


def test_what_people_write_stays() -> None:
    for text in ("größer 中文 العربية हिन्दी", "⚠️ 1️⃣", "e\u0301", "\u00a0"):
        assert shown(text) == text
