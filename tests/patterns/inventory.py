"""Every regular expression of the program, found in its source and its tables, so that none is forgotten."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import envkit

ROOT = Path(envkit.__file__).parent
_FUNCTIONS = {"compile", "match", "search", "fullmatch", "findall", "finditer", "sub", "subn", "split"}
_FROM_THE_START = {"match", "fullmatch"}
_FLAGS_AT = {"compile": 1, "sub": 4, "subn": 4, "split": 3}  # position of the flags; 2 for the others
_ALL_FLAGS = re.compile(r"re\.[A-Z]+(?: \| re\.[A-Z]+)*")


@dataclass(frozen=True)
class Pattern:
    """One expression: where it stands, and whether it is only ever tried at the start of a text."""

    where: str
    text: str | bytes
    flags: int = 0
    from_the_start: bool = False

    def compiled(self) -> re.Pattern[str]:
        """The expression for text; one for bytes is tried as text, which takes the same steps."""
        text = self.text.decode("latin-1") if isinstance(self.text, bytes) else self.text
        return re.compile(text, self.flags & ~re.ASCII)


@dataclass(frozen=True)
class _Call:
    """A call that takes an expression: `re.search(…)` or `regex(…)`."""

    module: str
    line: int
    function: str
    node: ast.Call
    name: str  # the module's name for the result, '' where it has none


# Expressions that are made when the program runs, and what they are made of.
MADE: dict[str, Callable[[], Iterator[Pattern]]] = {}


def patterns() -> list[Pattern]:
    """Every expression; the same text in two places counts twice."""
    found = [pattern for call in _calls() if (pattern := _constant(call)) is not None]
    return found + [pattern for made in MADE.values() for pattern in made()]


def unexplained() -> list[str]:
    """Calls whose expression is neither constant nor in `MADE`."""
    places = [_place(call) for call in _calls() if _constant(call) is None]
    return sorted(set(places) - set(MADE))


def made_nowhere() -> list[str]:
    """Entries of `MADE` without such a call."""
    return sorted(set(MADE) - {_place(call) for call in _calls()})


def _place(call: _Call) -> str:
    return f"{call.module}: {ast.unparse(call.node.args[0])}"


@cache
def _calls() -> tuple[_Call, ...]:
    return tuple(call for path in sorted(ROOT.rglob("*.py")) for call in _calls_of(path))


def _calls_of(path: Path) -> Iterator[_Call]:
    module = ".".join((ROOT.name, *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")
    tree = ast.parse(path.read_text("utf-8"))
    names = {
        id(node.value): node.targets[0].id
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    for node in ast.walk(tree):
        function = _function(node)
        if isinstance(node, ast.Call) and function:
            yield _Call(module, node.lineno, function, node, names.get(id(node), ""))


def _function(node: ast.AST) -> str:
    called = node.func if isinstance(node, ast.Call) else None
    if isinstance(called, ast.Name) and called.id == "regex":
        return "compile"
    of_re = isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) and called.value.id == "re"
    return called.attr if of_re and isinstance(called, ast.Attribute) and called.attr in _FUNCTIONS else ""


def _constant(call: _Call) -> Pattern | None:
    """The expression of the call where the module's own constants make it, else None."""
    text = _value(call, call.node.args[0])
    if not isinstance(text, (str, bytes)):
        return None
    position = _FLAGS_AT.get(call.function, 2)
    given = [word.value for word in call.node.keywords if word.arg == "flags"] + call.node.args[position : position + 1]
    flags = _value(call, given[0]) if given else 0
    assert isinstance(flags, int), f"{call.module}:{call.line}"
    return Pattern(f"{call.module}:{call.line}", text, int(flags), _only_from_the_start(call))


def _value(call: _Call, node: ast.expr) -> object:
    try:
        module = importlib.import_module(call.module)
        return eval(compile(ast.Expression(node), call.module, "eval"), {**vars(module), "re": re})  # noqa: S307
    except NameError:
        return None


def _only_from_the_start(call: _Call) -> bool:
    if not call.name:
        return call.function in _FROM_THE_START
    return _uses(call.module, call.name) <= _FROM_THE_START


@cache
def _uses(module: str, name: str) -> frozenset[str]:
    """The methods of a module's expression that are called; '' where it is handed on."""
    path = ROOT.parent / (module.replace(".", "/") + ".py")
    tree = ast.parse((path if path.exists() else path.with_suffix("") / "__init__.py").read_text("utf-8"))
    methods = {
        id(node.value): node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == name
    }
    return frozenset(
        methods.get(id(node), "")
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
    )
