"""Imports point downwards: observe and decide never see how things are rendered or printed."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "envkit"
MODULES = sorted(PACKAGE.rglob("*.py"))

# The layers from the lowest to the highest: a module imports its own layer and those before it, without exception.
LAYERS = (
    "_startup", "base", "model", "tables", "privacy",
    "host", "probe", "capture", "ingest",
    "compat", "solver", "checks", "install", "documents", "image", "dockerfile",
    "render", "api", "cli",
)  # fmt: skip


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
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("envkit."):
            names.add(node.module.removeprefix("envkit."))
        elif isinstance(node, ast.Import):
            names |= {alias.name.removeprefix("envkit.") for alias in node.names if alias.name.startswith("envkit.")}
    return names


def _refused(path: Path) -> set[str]:
    """The imports of a module that come from a higher layer."""
    own = path.relative_to(PACKAGE).parts[0]
    if own not in LAYERS:
        return set()
    higher = LAYERS[LAYERS.index(own) + 1 :]
    return {name for name in _imports(path) if name.split(".")[0] in higher}


def test_every_folder_is_a_layer() -> None:
    folders = {path.relative_to(PACKAGE).parts[0] for path in MODULES if path.parent != PACKAGE}
    assert folders == set(LAYERS)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_imports_no_higher_layer(path: Path) -> None:
    assert not _refused(path)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_is_short_enough_to_read(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400


def _is_broad(handler: ast.ExceptHandler) -> bool:
    caught = (
        {node.id for node in ast.walk(handler.type) if isinstance(node, ast.Name)} if handler.type else {"Exception"}
    )
    return not caught.isdisjoint(("Exception", "BaseException"))


def test_there_are_two_broad_handlers_in_the_whole_program() -> None:
    broad = [
        f"{path.relative_to(PACKAGE)}"
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ExceptHandler) and _is_broad(node)
    ]
    assert broad == ["checks/engine/runner.py", "cli/boundary.py"]
