"""Lists of versions in words."""

from __future__ import annotations

import pytest

from envkit.base.sentences import spans
from envkit.base.versions import Version


@pytest.mark.parametrize(
    ("versions", "words"),
    [
        ("3.9 3.10 3.11", "3.9 to 3.11"),
        ("2.7 3.5 3.6 3.7", "2.7 or 3.5 to 3.7"),
        ("3.8", "3.8"),
        ("", ""),
    ],
)
def test_versions_go_from_first_to_last_in_each_major_one(versions: str, words: str) -> None:
    assert spans([Version.parse(one) for one in versions.split()]) == words
