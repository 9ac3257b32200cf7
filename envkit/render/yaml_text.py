"""Text of several lines in a YAML document, as it is and readable."""

from __future__ import annotations

from textwrap import indent

from envkit.base.errors import EnvkitError


def literal(text: str, depth: int) -> str:
    """The text as a literal block, indented by `depth` blanks: the mark that opens it, then its lines.

    Raises EnvkitError for characters that YAML keeps only in quotes, as no reader of the document would want them.
    """
    if not text.endswith("\n") or text.endswith("\n\n") or text[0].isspace():
        raise EnvkitError("A literal block of YAML begins with a word and ends with one end of line.")
    if any(not (line.replace("\t", " ")).isprintable() for line in text.split("\n")):
        raise EnvkitError("The script contains characters that a YAML file cannot contain.", "Use --format script.")
    return "|\n" + indent(text, " " * depth, lambda line: line != "\n")
