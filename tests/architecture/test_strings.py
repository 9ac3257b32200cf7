"""No half of a text is lost: a string on a line of its own belongs to no statement."""

from __future__ import annotations

import re

from tests.architecture.test_imports import MODULES, PACKAGE

_LOST = re.compile(r'^( *)[\w.]+ = f?"[^"\n]*"\n\1f?"[^"\n]', re.MULTILINE)


def test_no_string_stands_alone_after_an_assignment() -> None:
    assert _LOST.search('    told = f"which {one} "\n    "is it"\n')
    found = [str(path.relative_to(PACKAGE)) for path in MODULES if _LOST.search(path.read_text(encoding="utf-8"))]
    assert found == []
