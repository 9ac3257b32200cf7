"""What a short Python program prints, on one line or on several, value by value.

$ python -c "import sys, torch; print(torch.__version__, torch.version.cuda, sys.platform)"
2.4.1 None linux
$ python3 - <<'EOF'
import torch
print(torch.cuda.get_device_capability(), torch.cuda.get_arch_list())
EOF
(8, 6) ['sm_80', 'sm_86']
"""

from __future__ import annotations

from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.ingest.clues import Clue, Package, reader
from envkit.ingest.readers.repl import told
from envkit.ingest.text import Text
from envkit.ingest.typed import programs

_PRINT = regex(r"(?:^|[;:\n]) {0,20}print\(")
_LOOP = regex(r"^\s{0,8}(?:for|while|with|if|try|def)\b|; ?for\b", 8)  # 8: MULTILINE
_PLAIN = regex(r"[A-Za-z_][\w.]{1,60}(?:\([\d'\"A-Za-z_:]{0,20}\))?")
_VALUE = regex(r"\[[^\]\n]{0,400}\]|\([^)\n]{0,80}\)|'[^'\n]{0,200}'|[^\s,]{1,200}")
_NAME = regex(r"[A-Z][\w./-]{1,20}(?: [\w./-]{1,20}){0,6}?(?= [(\['\d]| (?:None|True|False)\b|$)")
_LAST_NAME = regex(r"[A-Z][\w ./-]{1,80}$")
_LONGEST = 600  # characters of one call or line
_FILE = regex(r"(?P<module>torch|tensorflow|jax|numpy)\.__file__")


@reader("values printed by Python")
def read(text: Text) -> Iterator[Clue]:
    """The values of each call of print that stands for itself; what follows a value of unknown shape is not read."""
    for program in programs(text):
        if _LOOP.search(program.code):
            continue
        calls = _calls(program.code)
        answer_lines = program.answer[-len(calls) :] if program.last else program.answer
        for asked, (answer, offset) in zip(calls, answer_lines, strict=False):
            yield from _values(asked, answer, offset)


def _calls(code: str) -> list[list[str]]:
    """The arguments of each call of print, in order."""
    return [_arguments(code[match.end() : match.end() + _LONGEST]) for match in _PRINT.finditer(code)]


def _arguments(code: str) -> list[str]:
    """The arguments up to the bracket that closes the call."""
    found, depth, start, quote = list[str](), 0, 0, ""
    for place, character in enumerate(code):
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
        if depth < 0 or (character == "," and not depth and not quote):
            found.append(code[start:place].strip())
            start = place + 1
        if depth < 0:
            return found
    return []


def _values(asked: list[str], answer: str, offset: int) -> Iterator[Clue]:
    rest, path = answer[:_LONGEST].strip(), ""
    versions: dict[str, str] = {}
    for number, argument in enumerate(asked, start=1):
        if not _PLAIN.fullmatch(argument):
            return
        shape = _VALUE if "device_name" not in argument else _LAST_NAME if number == len(asked) else _NAME
        value = shape.match(rest)
        if value is None:
            return
        rest = rest[value.end() :].lstrip()
        if file := _FILE.fullmatch(argument):
            path = value[0].partition("/__init__")[0]
            if file["module"] in versions and path.startswith("/"):
                yield Package(file["module"], versions[file["module"]], offset, path=path)
        elif argument.endswith(".__version__") and f"{argument.partition('.')[0]}.__file__" in asked:
            versions[argument.partition(".")[0]] = value[0]
        else:
            yield from told(argument, value[0], offset)
