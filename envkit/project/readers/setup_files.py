"""setup.py and setup.cfg, read and never run: what can be told without running is in literals and constants."""

from __future__ import annotations

import ast
import configparser
import posixpath
from collections.abc import Iterator, Mapping

from envkit.base.errors import SourceError
from envkit.project.model import Beside, Item, Manifest, Unread
from envkit.project.places import NOWHERE, item, sorted_out

_LIMIT = 300_000
_MOST_SUMMANDS = 1000


def read_setup_py(text: str) -> Manifest:
    """The requirements in the call of setup(). Raises SourceError for a text that is no Python."""
    if len(text) > _LIMIT:
        raise SourceError("it is too long for a setup.py.", "Pass the file that calls setup().")
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None)
        raise SourceError(
            f"line {line or 1}: it is not valid Python 3.", "Pass a setup.py that Python 3 can read."
        ) from None
    constants = dict(_constants(tree))
    call = next((node for node in ast.walk(tree) if isinstance(node, ast.Call) and _name(node.func) == "setup"), None)
    given = {word.arg: word.value for word in call.keywords if word.arg} if call is not None else {}
    found: list[Item | Unread | None] = []
    found += _requirements(given.get("install_requires"), constants, "")
    extras = _value(given.get("extras_require"), constants)
    if isinstance(extras, ast.Dict):
        for key, value in zip(extras.keys, extras.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                found += _requirements(value, constants, key.value)
    python = _value(given.get("python_requires"), constants)
    items, unread = sorted_out(found)
    version = python.value if isinstance(python, ast.Constant) and isinstance(python.value, str) else ""
    return Manifest("setup.py", items, unread, version, extras=_extras(call, extras))


def _extras(call: ast.Call | None, given: ast.expr | None) -> tuple[str, ...] | None:
    """The names of the extras, None where the file computes them."""
    if call is None or any(word.arg is None for word in call.keywords):
        return None
    keys = given.keys if isinstance(given, ast.Dict) else []
    names = [key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]
    computed = len(names) < len(keys) or (given is not None and not isinstance(given, ast.Dict))
    return None if computed else tuple(names)


def _constants(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            yield node.targets[0].id, node.value


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _value(node: ast.expr | None, constants: Mapping[str, ast.expr]) -> ast.expr | None:
    """What a name stands for, one step far."""
    return constants.get(node.id) if isinstance(node, ast.Name) else node


def _text(node: ast.expr, constants: Mapping[str, ast.expr]) -> str | None:
    """A string, also one that names put together: f"jax{_BOUND}"; None for one that is computed."""
    if isinstance(node, ast.JoinedStr):
        parts = [_text(part.value if isinstance(part, ast.FormattedValue) else part, constants) for part in node.values]
        return None if None in parts else "".join(part for part in parts if part is not None)
    value = _value(node, constants)
    return value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else None


def _requirements(
    node: ast.expr | None, constants: Mapping[str, ast.expr], group: str
) -> Iterator[Item | Unread | None]:
    waiting = [node] if node is not None else []
    for _ in range(_MOST_SUMMANDS):  # a name can stand for a sum of itself
        if not waiting:
            return
        value = _value(waiting.pop(), constants)
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
            waiting += (value.right, value.left)
        elif value is not None:
            yield from _listed_in(value, constants, group)
    if waiting:
        yield Unread(waiting[-1].lineno, "requirements that are computed")


def _listed_in(value: ast.expr, constants: Mapping[str, ast.expr], group: str) -> Iterator[Item | Unread | None]:
    if isinstance(value, ast.List | ast.Tuple | ast.Set):
        for one in value.elts:
            line = _text(one, constants)
            if line is not None:
                yield item(line, one.lineno, NOWHERE, group=group)
            else:
                yield Unread(one.lineno, "a requirement that is computed")
    elif isinstance(value, ast.Constant) and isinstance(value.value, str):
        for line in value.value.splitlines():
            yield item(line.strip(), value.lineno, NOWHERE, group=group)
    else:
        yield Unread(value.lineno, "requirements that are computed")


def read_setup_cfg(text: str, beside: Beside) -> Manifest:
    """The section `options`. Raises SourceError."""
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text)
    except configparser.Error as error:
        line = getattr(error, "lineno", None)
        where = f"line {line}: " if line else ""
        raise SourceError(f"{where}it is not a setup.cfg.", "Pass a file with sections in brackets.") from None
    options = dict(parser["options"]) if parser.has_section("options") else {}
    numbers = {line.strip(): number for number, line in reversed(list(enumerate(text.splitlines(), 1)))}
    found: list[Item | Unread | None] = []
    for group, lines in _listed(parser, options):
        for line in lines.splitlines():
            line = line.partition(" #")[0].strip()
            if line.startswith("file:"):
                found += _included(line, numbers.get(line, 0), group, beside)
            elif line and not line.startswith("#"):
                found.append(item(line, numbers.get(line, 0), NOWHERE, group=group))
    items, unread = sorted_out(found)
    extras = tuple(dict.fromkeys(group for group, _ in _listed(parser, options) if group))
    return Manifest("setup.cfg", items, unread, options.get("python_requires", "").strip(), extras=extras)


def _listed(parser: configparser.ConfigParser, options: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    yield "", options.get("install_requires", "")
    if parser.has_section("options.extras_require"):
        yield from parser["options.extras_require"].items()


def _included(line: str, number: int, group: str, beside: Beside) -> Iterator[Item | Unread | None]:
    from envkit.project.readers.requirements_txt import read

    name = posixpath.normpath(line.removeprefix("file:").strip())
    text = beside(name)
    if text is None:
        yield Unread(number, line)
        return
    found = read(text, beside)
    yield from (Item(one.package, one.file or name, one.written, group) for one in found.items)
    yield from found.unread
