"""What is left of a long line when a report has room for a part of it."""

from __future__ import annotations

import pytest

from envkit.base.wrap import excerpt

LINE = "I have done all that the page says, twice, and then it printed Torch not compiled with CUDA enabled, as before"


@pytest.mark.parametrize("width", (30, 40, 60, 80, 100))
@pytest.mark.parametrize("telling", ("I have done", "twice", "Torch not", "as before"))
def test_the_telling_words_stay(width: int, telling: str) -> None:
    shown, start = excerpt(LINE, LINE.index(telling), width)
    assert len(shown) <= width
    assert shown[start:].startswith(telling)
    assert shown.strip("…") in LINE


def test_what_fits_is_left_alone() -> None:
    assert excerpt(LINE, 70, len(LINE)) == (LINE, 70)
