"""Imports point downwards: observe and decide never see how things are rendered or printed."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "envkit"
MODULES = sorted(PACKAGE.rglob("*.py"))

BASE = {"facts", "json_text", "names", "records", "regex", "shown", "versions", "errors", "data"}
# folder -> parts of envkit that its modules may import
ALLOWED = {
    "host": BASE | {"host", "facts_json", "assume", "redact"},
    "probe": BASE | {"probe", "host", "matrix", "facts_json", "assume", "redact"},
    "redact": BASE | {"redact", "matrix", "facts_json"},
    "ingest": BASE | {"ingest", "matrix", "redact", "probe.release_files", "probe.text", "probe.kernel_log"},
    "matrix": BASE | {"matrix"},
    "checks": BASE
    | {"checks", "matrix", "plan", "ingest.signatures", "ingest.cleaning", "probe.sonames", "probe.shadowing"},
    "plan": BASE | {"plan", "matrix"},
    "install": BASE | {"install", "plan", "matrix", "settings"},
    "image": BASE | {"image", "install", "plan", "matrix", "checks", "settings", "render.plan_json"},
    "render": BASE | {"render", "install", "image", "plan", "checks", "matrix", "facts_json", "settings"},
}
# Single modules that may see more, and why.
EXCEPTIONS = {
    "host/recording.py": {
        "probe.collect",
        "probe.python_env",
        "probe.variables",
        "probe",
    },  # runs probes to note what they ask
    "host/docker_build.py": {"image.build_errors"},  # the words for what an engine answers
}


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
    """The imports of a module that its stage may not have; a folder's name allows all that is in it."""
    here = path.relative_to(PACKAGE)
    if here.parts[0] not in ALLOWED:
        return set()
    allowed = ALLOWED[here.parts[0]] | EXCEPTIONS.get(here.as_posix(), set())
    return {name for name in _imports(path) if not {name, name.split(".")[0]} & allowed}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_imports_only_what_its_stage_may(path: Path) -> None:
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
    assert broad == ["checks/runner.py", "cli/boundary.py"]
