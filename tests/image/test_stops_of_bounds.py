"""pip stops at bounds that no release meets, and at a line that names several things."""

from __future__ import annotations

import pytest

from envkit.checks.engine.findings import Status
from envkit.dockerfile.check import check_dockerfile
from envkit.solver.request import Request
from envkit.tables import Matrix

_CLASH, _UNREAD = "image.requirements-clash", "image.word-unknown"
NEVER = {
    "apart": "numpy>=2.0,<1.9",
    "one end excluded": "numpy>=2.0,<2",
    "both ends are one": "numpy>1.9,<=1.9.0",
    "a pin outside": "numpy==1.26.4,>=2",
    "a line outside": "numpy==1.26.*,>=1.27",
    "a compatible release outside": "numpy~=1.26.0,>=1.27",
    "a framework": "torch>=2.4,<2.3",
    "two requirements": "'numpy>=2' six 'numpy<1.27'",
}
SOME = {
    "a range": "numpy>=1.9,<2.0",
    "one release": "numpy>=1.9,<=1.9",
    "a narrow range": "numpy>2.0,<2.0.1",
    "a line": "numpy==1.26.*,>=1.26.4",
    "a compatible release": "numpy~=1.26,>=1.27",
    "stages of development": "numpy>=2.0.0rc1,<2.0.0",
    "a later build of one release": "numpy>=1.9.post1,<1.9.1",
    "builds": "torch==2.0.0+cu118,>=2.0.0",
    "for other Pythons": "numpy>=2;python_version>'3.9' numpy<2;python_version<='3.9'",
    "a variable": "numpy>=$LEAST,<1.9",
}
LINES = {
    "names": ("foo bar baz\n", _UNREAD),
    "a version without an operator": ("six\nnumpy 1.26.4\n", _UNREAD),
    "bounds": ("six\nnumpy>=2.0,<1.9  # why\n", _CLASH),
    "of two lines": ("numpy>=2.0\nnumpy<1.9\n", _CLASH),
    "blanks": ("numpy >= 1.9 , < 2.0 ; python_version > '3'\n", ""),
    "an option": ("six --hash=sha256:00\n", ""),
    "an address": ("six @ https://a.example/six.whl\n", ""),
}


def _told(text: str, matrix: Matrix, **beside: str) -> set[str]:
    findings = check_dockerfile(text, Request(container=True), matrix, lambda name: beside.get(name.partition(".")[0]))
    return {one.id for one in findings if one.status is Status.FAIL}


def _installed(words: str, tool: str = "pip install") -> str:
    quoted = words if "'" in words else f"'{words}'"
    return f"FROM python:3.11\nRUN {tool} {quoted}\n"


@pytest.mark.parametrize("name", NEVER)
def test_no_release_meets_them(name: str, matrix: Matrix) -> None:
    assert _CLASH in _told(_installed(NEVER[name]), matrix)
    assert _CLASH not in _told(_installed(NEVER[name], "pip install --user six; true ||"), matrix)


@pytest.mark.parametrize("name", SOME)
def test_some_release_may_meet_them(name: str, matrix: Matrix) -> None:
    words = SOME[name] if ";" not in SOME[name] else " ".join(f'"{word}"' for word in SOME[name].split())
    text = f"FROM python:3.11\nRUN pip install {words}\n" if words.startswith('"') else _installed(words)
    assert _CLASH not in _told(text, matrix)


@pytest.mark.parametrize("name", LINES)
def test_lines_of_a_list(name: str, matrix: Matrix) -> None:
    text, told = LINES[name]
    found = _told("FROM python:3.11\nCOPY a.txt .\nRUN pip install -r a.txt\n", matrix, a=text)
    assert found & {_CLASH, _UNREAD} == ({told} if told else set())


def test_what_no_release_meets_is_not_unknown_as_well(matrix: Matrix) -> None:
    findings = check_dockerfile(_installed("torch>=2.4,<2.3"), Request(container=True), matrix)
    assert not [one for one in findings if one.id == "image.framework-version"]
