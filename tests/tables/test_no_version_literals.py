"""Versions are data: no program text of the package and no template spells one out."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# the package's own version is no fact about somebody else's software
MODULES = sorted(set((ROOT / "envkit").rglob("*.py")) - {ROOT / "envkit" / "__init__.py"})
TEMPLATES = sorted((ROOT / "templates").rglob("*.j2"))
# a dotted number that stands alone: not part of a file name, an address or a regular expression
VERSION = re.compile(r"(?<![\w.\\/{%-])\d+\.\d+(?:\.\d+)*(?:\.\*)?(?![\w.])(?!\s*(?:%|ms|s\b|GB|GiB|MB|MiB))")
FORMATS = {"render/reports/sarif.py": "2.1.0"}  # the version of a format that a module writes
# what only shows how something is spelled, and decides nothing: example commands, options and addresses
EXAMPLE = re.compile(
    r"^\s*(?:[\w ]*\| )?envkit .*$|--[a-z-]+[ =]\S+|\b(?:Examples?:|such as|like) .*"
    r"|\b(?:0\.0\.0\.0|192\.0\.2|127\.0\.0\.1|198\.18\.0\.0|240\.0\.0\.0)\b",
    re.MULTILINE,
)
NOT_SHOWN = re.compile(r"\{#.*?#\}|<style>.*?</style>|(?:^|(?<=\s))# [^\n]*", re.DOTALL | re.MULTILINE)


def _documentation(tree: ast.AST) -> set[int]:
    """The ids of the docstring nodes, and of the help texts of options, which may show versions as examples."""
    found: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr):
                found.add(id(first.value))
        elif isinstance(node, ast.keyword) and node.arg in ("help", "epilog", "metavar"):
            found |= {id(inner) for inner in ast.walk(node.value)}
    return found


def _texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and text of every string; a formatted one is joined again, with `{}` where a value goes."""
    shown = _documentation(tree)
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if id(node) in shown or id(node) in parts:
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value
        elif isinstance(node, ast.JoinedStr):
            yield (
                node.lineno,
                "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values),
            )


def literals(source: str) -> list[str]:
    """The version literals in a module's strings: `line: text`."""
    return [
        f"{line}: {match.group()}"
        for line, text in _texts(ast.parse(source))
        for match in VERSION.finditer(EXAMPLE.sub("", text))
    ]


def _spelled(path: Path) -> list[str]:
    own = FORMATS.get(path.relative_to(ROOT / "envkit").as_posix(), "")
    return [found for found in literals(path.read_text(encoding="utf-8")) if found.partition(": ")[2] != own]


def test_no_module_spells_a_version() -> None:
    spelled = {str(path.relative_to(ROOT)): _spelled(path) for path in MODULES}
    assert {name: found for name, found in spelled.items() if found} == {}


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_template_spells_no_version(path: Path) -> None:
    text = NOT_SHOWN.sub("", path.read_text(encoding="utf-8"))
    assert [match.group() for match in VERSION.finditer(EXAMPLE.sub("", text))] == []


@pytest.mark.parametrize("text", ["12.4", "cuda 9.0.176", "torch==2.1.0", ">=450.80.02", "a (8.6)"])
def test_the_search_finds_a_version(text: str) -> None:
    assert VERSION.search(text)


@pytest.mark.parametrize("text", ["libcudnn.so.9", "https://x.org/v1.2/", r"\d+\.\d+", "sm_86", "5.0 s", "1"])
def test_the_search_leaves_other_text_alone(text: str) -> None:
    assert not VERSION.search(text)


def test_an_example_in_a_docstring_is_no_literal() -> None:
    assert literals('"""Such as 9.0."""\nx = "9.0"\n') == ["2: 9.0"]


@pytest.mark.parametrize(
    "text", ["  envkit install --cuda 9.0", "Specify it: --gpu 8.6", "Examples: {} 9.0 or {} '>=12'", "--ip=0.0.0.0"]
)
def test_an_example_is_no_literal(text: str) -> None:
    assert literals(f"x = {text!r}") == []


def test_a_decision_on_a_version_is_found_in_a_formatted_string() -> None:
    assert literals('x = f"{name}==2.1.0 for CUDA 12.4"') == ["1: 2.1.0", "1: 12.4"]
