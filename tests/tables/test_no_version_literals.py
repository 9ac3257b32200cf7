"""Versions are data: no program text of the package and no template spells one out."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TypeGuard

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


def _numbers(node: ast.AST) -> tuple[int, ...] | None:
    """The numbers of a tuple or a call that contains nothing else."""
    inner = node.elts if isinstance(node, ast.Tuple) else node.args if isinstance(node, ast.Call) else []
    values = tuple(one.value for one in inner if isinstance(one, ast.Constant) and type(one.value) is int)
    return values if values and len(values) == len(inner) else None


def _is_made(node: ast.AST) -> TypeGuard[ast.Call]:
    """True for `Version.of(…)` and `Version((…))`."""
    if not isinstance(node, ast.Call):
        return False
    called = node.func.value if isinstance(node.func, ast.Attribute) and node.func.attr == "of" else node.func
    return isinstance(called, ast.Name) and called.id == "Version"


def _made(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and text of each version that is made of numbers, or compared as a tuple of them; 0 is only a bound."""
    for node in ast.walk(tree):
        if _is_made(node):
            found = _numbers(node) or next(filter(None, map(_numbers, node.args)), None)
        elif isinstance(node, ast.Compare) and all(
            isinstance(one, (ast.Lt, ast.LtE, ast.Gt, ast.GtE)) for one in node.ops
        ):
            compared = [one for one in map(_numbers, (node.left, *node.comparators)) if one is not None]
            found = next((one for one in compared if len(one) > 1), None)
            found = None if _is_interpreter(node.left) else found
        else:
            continue
        if found is not None and any(found):
            yield node.lineno, ".".join(map(str, found))


def _is_interpreter(node: ast.AST) -> bool:
    """True for `sys.version_info`: which modules the running Python has is a matter of this program alone."""
    return isinstance(node, ast.Attribute) and node.attr == "version_info"


def literals(source: str) -> list[str]:
    """The version literals in a module's strings and calls: `line: text`."""
    tree = ast.parse(source)
    in_strings = [
        f"{line}: {match.group()}" for line, text in _texts(tree) for match in VERSION.finditer(EXAMPLE.sub("", text))
    ]
    return in_strings + [f"{line}: {text}" for line, text in _made(tree)]


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


@pytest.mark.parametrize(
    "text", ["Version.of(2, 7)", "Version.of(2)", "Version((3, 9))", "python.parts >= (3, 12)", "(11, 8) <= cuda < top"]
)
def test_a_version_made_of_numbers_is_found(text: str) -> None:
    assert len(literals(text)) == 1


@pytest.mark.parametrize(
    "text",
    ["Version.of(0)", "Version.of(major, 0)", "sys.version_info >= (3, 11)", "code in (0, 1)", "size > (width, 2)"],
)
def test_other_numbers_are_left_alone(text: str) -> None:
    assert literals(text) == []
