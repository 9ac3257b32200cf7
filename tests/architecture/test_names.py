"""A distribution's name has one comparable form in the whole program."""

from __future__ import annotations

import re

import pytest

from envkit.base.names import normalized
from tests.architecture.test_imports import MODULES, PACKAGE


@pytest.mark.parametrize(
    ("name", "expected"),
    [  # PEP 503: re.sub(r"[-_.]+", "-", name).lower()
        ("Flash_Attn", "flash-attn"),
        ("ruamel.yaml", "ruamel-yaml"),
        ("nvidia__cuda.-runtime", "nvidia-cuda-runtime"),
    ],
)
def test_runs_of_separators_are_one(name: str, expected: str) -> None:
    assert normalized(name) == expected


def test_no_other_module_has_a_form_of_its_own() -> None:
    own = re.compile(
        r'"\[(?=[-_.]{2,3}\])[^"]*\]\+?"(?:\), |, )"-"|regex\(r"\[-_\.\]\+"\)|sub\(r"\[[-_.]{2,3}\]\+?", "-"'
    )
    found = [str(path.relative_to(PACKAGE)) for path in MODULES if own.search(path.read_text(encoding="utf-8"))]
    assert found == ["base/names.py"]
