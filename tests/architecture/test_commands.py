"""Commands are lists of words: no part of the program puts a line for a shell together from strings."""

from __future__ import annotations

import ast
import shlex
from functools import cache
from pathlib import Path

from envkit.checks.engine import command
from envkit.checks.engine.command import Form
from envkit.checks.frameworks.installs import pip
from tests.architecture.test_imports import MODULES, PACKAGE

FORMS = {name for name, value in vars(command).items() if isinstance(value, Form)}
BUILDERS = {"run", "pip"}
SOURCES = (command.__name__, pip.__module__)


@cache
def _calls() -> tuple[tuple[str, str, ast.Call], ...]:
    """Each call of what makes a command, in whichever module imports it: the module, the name and the call."""
    found = []
    for path in MODULES:
        text = path.read_text(encoding="utf-8")
        itself = command.__file__ is not None and path == Path(command.__file__)
        if not itself and not any(source in text for source in SOURCES):
            continue  # reading a file is cheap, parsing it is not
        tree = ast.parse(text)
        makers = {
            alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module in SOURCES
            for alias in node.names
        }
        if itself:
            makers.add("Command")
        found += [
            (path.relative_to(PACKAGE).as_posix(), node.func.id, node)
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in makers
        ]
    return tuple(found)


def test_every_stage_that_makes_commands_is_looked_at() -> None:
    folders = {module.rpartition("/")[0].partition("/")[0] for module, name, _ in _calls() if name in BUILDERS}
    assert folders == {"checks", "dockerfile"}
    assert sum(name in (*BUILDERS, "fixed") for _, name, _ in _calls()) > 60


def _is_word(node: ast.expr) -> bool:
    """True for a literal, a constant, a value that was given its form, and several of those."""
    match node:
        case ast.Constant(value=str()):
            return True
        case ast.Name(id=name):
            return name.isupper() or name.strip("_").isupper()
        case ast.Call(func=ast.Name(id=name)):
            return name in FORMS
        case ast.Starred():
            return True  # a tuple whose words were made by these rules
    return False


def test_a_word_is_a_literal_or_has_a_form() -> None:
    for module, name, call in _calls():
        if name in BUILDERS:
            words = call.args[1:] if name == "pip" else call.args
            assert all(map(_is_word, words)), f"{module}:{call.lineno}: {ast.unparse(call)}"


def test_a_command_in_the_code_is_a_literal_without_shell_syntax() -> None:
    for module, name, call in _calls():
        if name != "fixed":
            continue
        [line] = call.args
        assert isinstance(line, ast.Constant) and isinstance(line.value, str), f"{module}:{call.lineno}"
        tokens = shlex.shlex(line.value, posix=False, punctuation_chars="();<>|&$`")
        assert not any(set(token) <= set("();<>|&$`") for token in tokens), line.value


def test_only_the_filler_of_templates_makes_a_line_of_shell() -> None:
    makers = {module for module, name, _ in _calls() if name == "Command"}
    assert makers == {"checks/engine/command.py", "checks/engine/remedies.py"}
