"""Imports point downwards: observe and decide never see how things are rendered or printed."""

from __future__ import annotations

import ast
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "envkit"
MODULES = sorted(PACKAGE.rglob("*.py"))

# The layers from the lowest to the highest: a module imports its own layer and those before it, without exception.
LAYERS = (
    "_startup", "base", "model", "tables", "privacy",
    "host", "probe", "capture", "ingest",
    "compat", "solver", "advice", "bench", "checks", "comparison", "repair", "install", "documents", "image",
    "dockerfile", "project", "fleet",
    "render", "api", "cli",
)  # fmt: skip


def _name(path: Path) -> str:
    """The name that a module is imported by."""
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


NAMES = {_name(path): path for path in MODULES}


@cache
def _imports(name: str) -> frozenset[str]:
    """The modules of envkit that a module imports at run time (not only for types), in its functions as well."""
    tree = ast.parse(NAMES[name].read_text(encoding="utf-8"))
    return frozenset(_imported(tree))


def _imported(node: ast.AST) -> set[str]:
    found: set[str] = set()
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, ast.ImportFrom) and (inner.module or "").split(".")[0] == "envkit":
            parts = {f"{inner.module}.{alias.name}" for alias in inner.names}
            found |= {part if part in NAMES else str(inner.module) for part in parts}
        elif isinstance(inner, ast.Import):
            found |= {alias.name for alias in inner.names if alias.name in NAMES}
        elif not (isinstance(inner, ast.If) and ast.unparse(inner.test) == "TYPE_CHECKING"):
            found |= _imported(inner)
    return found


def _refused(name: str) -> set[str]:
    """The imports of a module that come from a higher layer."""
    own = _layer(name)
    higher = LAYERS[LAYERS.index(own) + 1 :] if own in LAYERS else ()
    return {other for other in _imports(name) if _layer(other) in higher}


def _layer(name: str) -> str:
    return f"{name}.".split(".")[1]


def test_every_folder_is_a_layer() -> None:
    folders = {path.relative_to(PACKAGE).parts[0] for path in MODULES if path.parent != PACKAGE}
    assert folders == set(LAYERS)


def test_no_module_imports_a_higher_layer() -> None:
    refused = {name: _refused(name) for name in NAMES}
    assert {name: those for name, those in refused.items() if those} == {}


def test_no_module_imports_itself_by_way_of_others() -> None:
    try:
        TopologicalSorter({name: _imports(name) for name in NAMES}).prepare()
    except CycleError as error:
        raise AssertionError(f"a circle of imports: {' -> '.join(error.args[1])}") from None


def test_an_import_inside_a_function_counts_and_one_for_types_does_not() -> None:
    text = """
if TYPE_CHECKING:
    from envkit.cli import main
def deferred():
    if True:
        from envkit.tables import Matrix, loader
        import envkit.model
"""
    assert _imported(ast.parse(text)) == {"envkit.tables", "envkit.tables.loader", "envkit.model"}


def test_every_module_is_short_enough_to_read() -> None:
    lines = {str(path.relative_to(PACKAGE)): path.read_text(encoding="utf-8").count("\n") for path in MODULES}
    assert {name: count for name, count in lines.items() if count > 400} == {}


def _is_broad(handler: ast.ExceptHandler) -> bool:
    caught = (
        {node.id for node in ast.walk(handler.type) if isinstance(node, ast.Name)} if handler.type else {"Exception"}
    )
    return not caught.isdisjoint(("Exception", "BaseException"))


def test_there_are_two_broad_handlers_in_the_whole_program() -> None:
    broad = [
        f"{path.relative_to(PACKAGE)}"
        for path in MODULES
        if "except" in (text := path.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ExceptHandler) and _is_broad(node)
    ]
    assert broad == ["checks/engine/runner.py", "cli/boundary.py"]
