"""Imports point downwards: observe and decide never see how things are rendered or printed."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "envkit"
MODULES = sorted(PACKAGE.rglob("*.py"))

# folder -> folders of envkit that its modules may import
ALLOWED = {
    "host": {"host", "facts", "records", "versions", "errors", "redact", "facts_json", "assume"},
    "probe": {"probe", "host", "facts", "records", "versions", "errors", "data", "matrix"},
    "ingest": {"ingest", "facts", "records", "versions", "errors", "data", "matrix"},
    "matrix": {"matrix", "records", "versions", "errors", "data"},
    "checks": {"checks", "matrix", "plan", "facts", "records", "versions", "errors", "data"},
    "plan": {"plan", "matrix", "facts", "records", "versions", "errors", "data"},
    "install": {"install", "plan", "matrix", "settings", "records", "versions", "errors", "data"},
    "image": {"image", "plan", "matrix", "checks", "settings", "facts", "records", "versions", "errors", "data"},
    "render": {
        "render", "install", "image", "plan", "checks", "matrix", "facts", "facts_json", "settings", "records",
        "versions", "errors", "data",
    },
}  # fmt: skip
# collect.py joins a live host and the matrix's device table; the host's own children run probes' questions.


def _imports(path: Path) -> set[str]:
    """The parts of envkit that a module imports at run time (not only for types)."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    names: set[str] = set()
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("envkit"):
            parts = node.module.split(".")
            names |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("envkit.")}
    return names


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_imports_only_what_its_stage_may(path: Path) -> None:
    folder = path.relative_to(PACKAGE).parts[0]
    if folder in ALLOWED:
        assert _imports(path) <= ALLOWED[folder], _imports(path) - ALLOWED[folder]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_is_short_enough_to_read(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400


def test_there_are_two_broad_handlers_in_the_whole_program() -> None:
    broad = [
        f"{path.relative_to(PACKAGE)}"
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or ast.unparse(node.type) in ("Exception", "BaseException"))
    ]
    assert broad == ["checks/runner.py", "cli/boundary.py"]
