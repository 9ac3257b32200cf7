"""PowerShell as its own grammar reads it: the tree of a script, and the texts that its literals stand for."""

from __future__ import annotations

from collections.abc import Iterator

import tree_sitter_powershell
from tree_sitter import Language, Node, Parser

_PARSER = Parser(Language(tree_sitter_powershell.language()))


def parsed(script: str) -> Node:
    """The root of the script's tree."""
    return _PARSER.parse(script.encode()).root_node


def nodes(root: Node, *kinds: str) -> Iterator[Node]:
    """All nodes of these kinds, in the order of the text."""
    if root.type in kinds:
        yield root
    for child in root.children:
        yield from nodes(child, *kinds)


def faults(script: str) -> list[str]:
    """What the grammar cannot read, with its lines."""
    found = (node for node in _walk(parsed(script)) if node.is_error or node.is_missing)
    return [f"{node.start_point[0] + 1}: {text_of(node)[:80]!r}" for node in found]


def _walk(node: Node) -> Iterator[Node]:
    yield node
    for child in node.children:
        yield from _walk(child)


def text_of(node: Node) -> str:
    """A node as it is in the script."""
    return (node.text or b"").decode()


def commands(script: str) -> list[str]:
    """The names of the commands that the script calls; a path or a variable is as it is written."""
    return [text_of(node) for node in nodes(parsed(script), "command_name", "command_name_expr")]


def value(expression: str) -> str:
    """What an expression of verbatim strings and `[string][char]` numbers, joined by +, stands for."""
    units: list[bytes] = []
    for node in nodes(parsed(expression), "verbatim_string_characters", "integer_literal", "decimal_integer_literal"):
        if node.type == "verbatim_string_characters":
            units.append(text_of(node)[1:-1].replace("''", "'").encode("utf-16-le"))
        elif not any(child.type.endswith("integer_literal") for child in node.children):
            units.append(int(text_of(node)).to_bytes(2, "little"))
    return b"".join(units).decode("utf-16-le", "surrogatepass")
