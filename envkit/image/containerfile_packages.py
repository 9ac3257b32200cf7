"""What the commands of a RUN install with pip, uv, poetry and conda, and which files they take their lists from."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator

from envkit.records import record
from envkit.regex import regex

_REQUIREMENT = regex(
    r"(?P<name>[A-Za-z0-9][\w.-]*?)\s*(?:\[(?P<extras>[^\]]*)\])?\s*"
    r"(?P<spec>(?:(?:===|[<>=!~]=|[<>=])\s*[\w.*+!-]+)(?:\s*,\s*(?:===|[<>=!~]=|[<>=])\s*[\w.*+!-]+)*)?"
)
_CONDA = regex(
    r"(?:(?P<channel>[\w./-]+)::)?(?P<name>[A-Za-z0-9_][\w.-]*)"
    r"\s*(?:(?P<spec>(?:[<>=!~]=?|\s)\s*[\w.*+!,<>=|-]+))?"
)
_COMMENT = regex(r"(?m)(?:^|(?<=\s))#.*$")
_SEPARATORS = regex(r"&&|\|\||[;\n|]")
_PIP = regex(r"pip[\d.]*|uv|pipenv|poetry|pdm")
_CONDA_TOOL = regex(r"conda|mamba|micromamba")
_SHELL = regex(r"(?:ba|da|z)?sh")
_INDEX_OPTIONS = frozenset({"-i", "--index-url", "--index", "--default-index"})
_MORE_OPTIONS = frozenset({"--extra-index-url", "-f", "--find-links", "--source"})
_FILE_OPTIONS = frozenset({"-r", "--requirement", "--requirements", "--file"})
_WITH_VALUE = regex(
    r"-[cnpPrtGEe]|--(?:name|prefix|root-prefix|python|python-version|platform|target|cache-dir|timeout|retries"
    r"|trusted-host|constraint|root|implementation|abi|only-binary|no-binary|proxy|cert|progress-bar|group|extra"
    r"|upgrade-package|index-strategy|prerelease|link-mode|solver|editable)"
)


@record
class Package:
    """One package that a command installs. `tool`: pip (and what reads its index) or conda."""

    line: int
    tool: str
    name: str
    extras: tuple[str, ...]
    spec: str
    index: str  # addresses that replace the default index
    more: str  # addresses beside it
    channels: tuple[str, ...]
    backend: str  # the variant that uv is told to take
    nightly: bool  # pre-releases are let in


@record
class ListFile:
    """A file that a command takes its packages from; the Dockerfile does not hold it."""

    line: int
    name: str


def normal(name: str) -> str:
    """The name of a package as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def installed(line: int, script: str) -> Iterator[Package | ListFile]:
    """Every package, and every list of packages, that the commands of a script install."""
    for words in commands(script):
        inner = _inner(words)
        if inner is not None:
            yield from installed(line, inner)
            continue
        for place, word in enumerate(words):
            tool = word.rpartition("/")[2]
            if _PIP.fullmatch(tool) or _CONDA_TOOL.fullmatch(tool):
                start = _arguments(tool, words[place + 1 :])
                if start is not None:
                    kind = "conda" if _CONDA_TOOL.fullmatch(tool) else "pip"
                    yield from _listed(line, kind, words[place + 1 + start :])
                    break


def commands(script: str) -> Iterator[list[str]]:
    """The words of each simple command, quotes taken away; an exec form (`["pip", …]`) is one command."""
    if script.lstrip().startswith("["):
        try:
            words = json.loads(script)
        except ValueError:
            words = None
        if isinstance(words, list) and all(isinstance(word, str) for word in words):
            yield words
            return
    plain = _COMMENT.sub("", script)
    lexer = shlex.shlex(plain, posix=True, punctuation_chars=";&|\n()")
    lexer.whitespace = " \t\r"
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        tokens = list(lexer)
    except ValueError:  # a quote that ends elsewhere: the words are guessed
        yield from (command.split() for command in _SEPARATORS.split(plain))
        return
    command: list[str] = []
    for token in [*tokens, ";"]:
        if token and not token.strip(";&|\n()"):
            if command:
                yield command
            command = []
        else:
            command.append(token)


def _inner(words: list[str]) -> str | None:
    """The script of `bash -c "…"`."""
    if not words or not _SHELL.fullmatch(words[0].rpartition("/")[2]):
        return None
    flags = [place for place, word in enumerate(words) if re.fullmatch(r"-[a-z]*c", word)]
    return words[flags[0] + 1] if flags and flags[0] + 1 < len(words) else None


def _arguments(tool: str, words: list[str]) -> int | None:
    """Where the packages of a tool's command start; None for a command that installs nothing."""
    starts = {"install", "add"} | ({"create", "update"} if _CONDA_TOOL.fullmatch(tool) else {"sync"})
    for place, word in enumerate(words):
        if word in ("run", "remove", "uninstall", "clean", "config", "download", "wheel", "list", "python", "tool"):
            return None
        if word in starts:
            return place + 1
        if _PIP.fullmatch(word) and tool != "uv":  # conda run … pip, python -m pip: the later tool counts
            return None
    return None


def _listed(line: int, tool: str, words: list[str]) -> Iterator[Package | ListFile]:
    plain, options = _sorted_out(tool, words)
    yield from (ListFile(line, value) for kind, value in options if kind == "file")
    values = {
        kind: [value for other, value in options if other == kind] for kind in ("index", "more", "channel", "backend")
    }
    index, more = " ".join(values["index"]), " ".join(values["more"])
    for word in plain:
        found = (_CONDA if tool == "conda" else _REQUIREMENT).fullmatch(word.partition(";")[0].strip())
        if found is None:
            continue
        parts = found.groupdict()
        yield Package(
            line=line,
            tool=tool,
            name=parts["name"],
            extras=tuple(normal(extra.strip()) for extra in (parts.get("extras") or "").split(",") if extra.strip()),
            spec=(parts["spec"] or "").replace(" ", ""),
            index=index,
            more=more,
            channels=tuple(filter(None, (*values["channel"], parts.get("channel") or ""))),
            backend=next(iter(values["backend"]), ""),
            nightly="--pre" in words or "/nightly" in f"{index} {more}",
        )


def _sorted_out(tool: str, words: list[str]) -> tuple[list[str], list[tuple[str, str]]]:
    """The words that are no options, and the options that matter with their values."""
    plain: list[str] = []
    options: list[tuple[str, str]] = []
    position = 0
    while position < len(words):
        word = words[position]
        position += 1
        if not word.startswith("-"):
            plain.append(word)
            continue
        name, equals, value = word.partition("=")
        kind = _kind(tool, name)
        if not equals and (kind or _WITH_VALUE.fullmatch(name)):
            value = words[position] if position < len(words) else ""
            position += 1
        if kind:
            options.append((kind, value))
    return plain, options


def _kind(tool: str, option: str) -> str:
    """What an option's value is: index, more, file, channel or backend; '' for what does not matter."""
    if tool == "conda":  # -f is its file, -r its root
        return {"-c": "channel", "--channel": "channel", "-f": "file", "--file": "file"}.get(option, "")
    if option in _INDEX_OPTIONS:
        return "index"
    if option in _MORE_OPTIONS:
        return "more"
    return "file" if option in _FILE_OPTIONS else "backend" if option == "--torch-backend" else ""
