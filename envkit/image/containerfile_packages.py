"""What the commands of a RUN install with pip, uv, poetry and conda, and which files they take their lists from."""

from __future__ import annotations

import json
import posixpath
import re
import shlex
from collections.abc import Iterator

from envkit.image.containerfile_lists import NO_LISTS, Lists, Reader, list_words
from envkit.image.wheel_names import Wheel, wheel
from envkit.names import normalised
from envkit.records import record, replace
from envkit.regex import regex

_REQUIREMENT = regex(
    r"(?P<name>[A-Za-z0-9][\w.-]*?)\s*(?:\[(?P<extras>[^\]]*)\])?\s*"
    r"(?P<spec>(?:(?:===|[<>=!~]=|[<>=])\s*[\w.*+!-]+)(?:\s*,\s*(?:===|[<>=!~]=|[<>=])\s*[\w.*+!-]+)*)?"
)
# A version that holds a variable nobody has set here: the name is told all the same.
_OF_A_VARIABLE = regex(r"(?P<name>[A-Za-z0-9][\w.-]*?)(?:\[(?P<extras>[^\]$]*)\])?(?P<spec>[<>=!~].*)")
_UNSET = regex(r"[$`]")
_ELSEWHERE = regex(r"\.{1,2}(?:[\[/].*)?|[^=<>~]*/.*|.*\.(?:whl|zip|tar\.gz)|\w+\+\w+:.*|.*\*\.\w+|.* @ .*")
_REDIRECTION = regex(r"\d*(?:>>?|<)(?P<target>[^=].*)?")
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
_CONSTRAINT_OPTIONS = frozenset({"-c", "--constraint", "--constraints"})
_PROJECT_OPTIONS = frozenset({"-e", "--editable"})
_JOINED = regex(r"(-[rifce])([^-=].*)")
_LOCKS = regex(r"poetry|pdm")  # what they install stands in the project alone; pipenv takes packages too
_NO_LIST = (".toml", ".py", ".cfg")
_WITH_VALUE = regex(
    r"-[npPrtGE]|--(?:name|prefix|root-prefix|python|python-version|platform|target|cache-dir|timeout|retries"
    r"|trusted-host|root|src|log|report|config-settings|exists-action|use-feature|directory|project|implementation|abi|only-binary|no-binary|proxy|cert|progress-bar|group|extra"
    r"|upgrade-package|index-strategy|prerelease|link-mode|solver)"
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
    marker: str  # the environment that it is for, as pip writes it
    wheel: Wheel | None  # the one that is named in place of a version
    held: bool = False  # a constraints file that cannot be read may bound it


@record
class ListFile:
    """A list, project or address that a command takes packages from and that could not be looked at."""

    line: int
    name: str


def installed(line: int, script: str, lists: Lists = NO_LISTS) -> Iterator[Package | ListFile]:
    """Every package that the commands of a script install, and what else they install from that `lists` has not."""
    for words in commands(script):
        folder = _entered(words)
        if folder is not None:
            lists = lists.within(folder)
            continue
        inner = _inner(words)
        if inner is not None:
            yield from installed(line, inner, lists)
            continue
        for place, word in enumerate(words):
            tool = word.rpartition("/")[2]
            if _PIP.fullmatch(tool) or _CONDA_TOOL.fullmatch(tool):
                if "xargs" in words[:place]:
                    yield ListFile(line, f"xargs {tool}")
                start = _arguments(tool, words[place + 1 :])
                if start is not None:
                    yield from _of_tool(line, tool, words[place + 1 :], start, lists.read)
                    break
            elif tool == "setup.py" and {"install", "develop"} & set(words[place:]):
                yield ListFile(line, "setup.py")


def _entered(words: list[str]) -> str | None:
    """The folder that `cd` goes to; None for every other command."""
    plain = words[1:] if words[:1] in (["then"], ["do"], ["else"], ["{"]) else words
    return " ".join(plain[1:]) if plain[:1] in (["cd"], ["pushd"]) else None


def _of_tool(line: int, tool: str, words: list[str], start: int, read: Reader) -> Iterator[Package | ListFile]:
    """What one command installs; `start` is where what follows its verb begins."""
    verb, given = words[start - 1], words[start:]
    if verb == "sync" and "pip" in words[:start]:
        given = [part for word in given for part in ([word] if word.startswith("-") else ["-r", word])]
    elif verb == "sync" or (verb == "install" and _LOCKS.fullmatch(tool)):
        yield ListFile(line, f"{tool} {verb}")
        return
    found = list(_listed(line, "conda" if _CONDA_TOOL.fullmatch(tool) else "pip", given, read))
    yield from found or ([ListFile(line, f"{tool} {verb}")] if tool == "pipenv" else [])


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


def _listed(line: int, tool: str, words: list[str], read: Reader) -> Iterator[Package | ListFile]:
    plain, options = _sorted_out(tool, words)
    if tool == "pip":
        more, more_options, missing = _of_lists([value for kind, value in options if kind == "file"], read)
        plain, options = [*plain, *more], [*options, *more_options]
    else:
        missing = [value for kind, value in options if kind == "file"]
    yield from (ListFile(line, name) for name in missing)
    yield from (ListFile(line, value) for kind, value in options if kind == "project")
    found = [_item(line, tool, word, options, "--pre" in words) for word in plain]
    yield from _constrained(line, [item for item in found if item is not None], options, read)


def _constrained(
    line: int, items: list[Package | ListFile], options: list[tuple[str, str]], read: Reader
) -> Iterator[Package | ListFile]:
    """The items with the bounds of the constraints files, and those of the files that leave a version open."""
    bounds: dict[str, str] = {}
    held = False  # a file that cannot be read may hold a version back
    for name in [value for kind, value in options if kind == "constraint"]:
        text = read(name)
        if text is None and any(isinstance(item, Package) and not item.spec.startswith("==") for item in items):
            yield ListFile(line, name)
            held = True
        for word in list_words(text or "", name):
            found = _REQUIREMENT.fullmatch(word.partition(";")[0].strip())
            if found is not None and found["spec"]:
                bounds[normalised(found["name"])] = found["spec"].replace(" ", "")
    for item in items:
        bound = bounds.get(normalised(item.name)) if isinstance(item, Package) else None
        if isinstance(item, Package) and bound:
            item = replace(item, spec=",".join(filter(None, (item.spec, bound))))
        yield replace(item, held=not item.spec.startswith("==")) if held and isinstance(item, Package) else item


def _of_lists(names: list[str], read: Reader) -> tuple[list[str], list[tuple[str, str]], list[str]]:
    """The words and options of requirements files, those that they name included, and the files that are not there."""
    plain: list[str] = []
    options: list[tuple[str, str]] = []
    missing: list[str] = []
    waiting, seen = list(names), set(names)
    while waiting:
        name = waiting.pop(0)
        text = None if name.endswith(_NO_LIST) else read(name)
        if text is None:
            missing.append(name)
            continue
        more, more_options = _sorted_out("pip", list(list_words(text, name)))
        plain += more
        options += [option for option in more_options if option[0] != "file"]
        named = [posixpath.normpath(value) for kind, value in more_options if kind == "file"]
        fresh = [value for value in named if value not in seen]
        waiting += fresh
        seen.update(fresh)
    return plain, options, missing


def _item(line: int, tool: str, word: str, options: list[tuple[str, str]], nightly: bool) -> Package | ListFile | None:
    """What one word names; None for a word that names nothing to install."""
    requirement, _, marker = word.partition(";") if tool == "pip" else (word, "", "")
    requirement = requirement.strip()
    named = wheel(requirement) if tool == "pip" else None
    if named is not None:
        options = [("index", named.folder)]
        parts = {"name": named.name, "spec": f"=={named.version}"}
    else:
        found = (_CONDA if tool == "conda" else _REQUIREMENT).fullmatch(requirement)
        if found is None and _UNSET.search(requirement):
            found = _OF_A_VARIABLE.fullmatch(requirement)
            if found is None:
                return ListFile(line, "$(…)" if word == "$" else word)
        if tool == "pip" and _ELSEWHERE.fullmatch(requirement):
            return ListFile(line, word)
        if found is None:
            return None
        parts = found.groupdict(default="")
    return _package(line, tool, parts, options, nightly, marker.strip(), named)


def _package(
    line: int,
    tool: str,
    parts: dict[str, str],
    options: list[tuple[str, str]],
    nightly: bool,
    marker: str,
    named: Wheel | None,
) -> Package:
    values = {
        kind: [value for other, value in options if other == kind] for kind in ("index", "more", "channel", "backend")
    }
    index, more = " ".join(values["index"]), " ".join(values["more"])
    extras = parts.get("extras", "").split(",")
    return Package(
        line=line,
        tool=tool,
        name=parts["name"],
        extras=tuple(normalised(extra.strip()) for extra in extras if extra.strip()),
        spec=parts["spec"].replace(" ", ""),
        index=index,
        more=more,
        channels=tuple(filter(None, (*values["channel"], parts.get("channel", "")))),
        backend=next(iter(values["backend"]), ""),
        nightly=nightly or "/nightly" in f"{index} {more}",
        marker=marker,
        wheel=named,
    )


def _sorted_out(tool: str, words: list[str]) -> tuple[list[str], list[tuple[str, str]]]:
    """The words that are no options, and the options that matter with their values."""
    plain: list[str] = []
    options: list[tuple[str, str]] = []
    position = 0
    while position < len(words):
        word = words[position]
        position += 1
        redirection = _REDIRECTION.fullmatch(word)
        if redirection is not None:  # to a file, which may be the next word
            position += redirection["target"] is None
            continue
        if not word.startswith("-"):
            plain.append(word)
            continue
        joined = _JOINED.fullmatch(word) if tool == "pip" else None
        name, equals, value = (joined[1], "=", joined[2]) if joined else word.partition("=")
        kind = _kind(tool, name)
        if not equals and (kind or _WITH_VALUE.fullmatch(name)):
            value = words[position] if position < len(words) else ""
            position += 1
        if kind:
            options.append((kind, value))
    return plain, options


def _kind(tool: str, option: str) -> str:
    """What an option's value is: index, more, file, constraint, project, channel or backend; '' for others."""
    if tool == "conda":  # -f is its file, -r its root
        return {"-c": "channel", "--channel": "channel", "-f": "file", "--file": "file"}.get(option, "")
    if option in _INDEX_OPTIONS:
        return "index"
    if option in _MORE_OPTIONS:
        return "more"
    if option in _PROJECT_OPTIONS:
        return "project"
    if option in _CONSTRAINT_OPTIONS:
        return "constraint"
    return "file" if option in _FILE_OPTIONS else "backend" if option == "--torch-backend" else ""
