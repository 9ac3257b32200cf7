"""What the commands of a RUN install with pip, uv, poetry and conda, and which files they take their lists from."""

from __future__ import annotations

import posixpath
from collections import deque
from collections.abc import Iterable, Iterator, Sequence

from envkit._startup.records import record, replace
from envkit._startup.regex import regex
from envkit.base.names import normalized
from envkit.dockerfile.conda_lists import CONDA_LISTS, conda_list
from envkit.dockerfile.requirement_lists import Lists, Reader, list_words
from envkit.dockerfile.shell import ShellCommand
from envkit.dockerfile.shell_words import Word
from envkit.dockerfile.wheel_names import Wheel, wheel

_REQUIREMENT = regex(
    r"(?P<name>[A-Za-z0-9][\w.-]*?)\s*(?:\[(?P<extras>[^\]]*)\]\s*)?"
    r"(?P<spec>(?:(?:===|[<>=!~]=|[<>=])\s*[\w.*+!-]+)(?:\s*,\s*(?:===|[<>=!~]=|[<>=])\s*[\w.*+!-]+)*)?"
)
# A version that holds a variable nobody has set here: the name is told all the same.
_OF_A_VARIABLE = regex(r"(?P<name>[A-Za-z0-9][\w.-]*?)(?:\[(?P<extras>[^\]$]*)\])?(?P<spec>[<>=!~].*)")
_UNSET = regex(r"[$`]")
_ELSEWHERE = regex(r"(?s)\.{1,2}(?:[\[/].*)?|[^=<>~/]*/.*|.*\.(?:whl|zip|tar\.gz)|\w+\+\w+:.*|.*\*\.\w+|.* @ .*")
_WORDS = regex(r"[A-Za-z0-9][\w.-]{0,80}(?:\s{1,20}[A-Za-z0-9][\w.-]{0,80}){1,20}\s{0,20}")
_REDIRECTION = regex(r"\d*(?:>>?|<)(?P<target>[^=].*)?")
_CONDA = regex(
    r"(?:(?P<channel>[\w./-]+)::)?(?P<name>[A-Za-z0-9_][\w.-]*)"
    r"\s*(?P<spec>(?:[<>=!~]=?\s*|(?<=\s))[\w.*+!,<>=|-]+)?"
)
_PIP = regex(r"pip[\d.]*|uv|pipenv|poetry|pdm")
_CONDA_TOOL = regex(r"conda|mamba|micromamba")
_OPTIONS = {
    "index": frozenset({"-i", "--index-url", "--index", "--default-index"}),
    "more": frozenset({"--extra-index-url", "-f", "--find-links", "--source"}),
    "file": frozenset({"-r", "--requirement", "--requirements", "--file"}),
    "constraint": frozenset({"-c", "--constraint", "--constraints"}),
    "project": frozenset({"-e", "--editable"}),
    "backend": frozenset({"--torch-backend"}),
    "setting": frozenset({"-C", "--config-settings", "--config-setting", "--global-option", "--build-option"}),
}
_CONDA_OPTIONS = {"-c": "channel", "--channel": "channel", "-f": "file", "--file": "file"}
_REPLACES = frozenset({"-U", "--upgrade", "--force-reinstall", "-I", "--ignore-installed", "--reinstall"})
_NOTHING_INSTALLED = frozenset(
    {"run", "remove", "uninstall", "clean", "config", "download", "wheel", "list", "python", "tool"}
)
_JOINED = regex(r"(-[rifce])([^-=].*)")
_LOCKS = regex(r"poetry|pdm")  # what they install is in the project alone; pipenv takes packages too
_NO_LIST = (".toml", ".py", ".cfg")
_WITH_VALUE = regex(
    r"-[npPrtGE]|--(?:name|prefix|root-prefix|python|python-version|platform|target|cache-dir|timeout|retries"
    r"|trusted-host|root|src|log|report|config-settings|exists-action|use-feature|directory|project|implementation|abi|only-binary|no-binary|proxy|cert|progress-bar|group|extra"
    r"|upgrade-package|index-strategy|prerelease|link-mode|solver)"
)


@record
class Places:
    """Where a command looks for packages, as its options say."""

    index: str  # addresses that replace the default index
    more: str  # addresses next to it
    channels: tuple[str, ...]
    backend: str  # the variant that uv is told to take
    nightly: bool  # pre-releases are let in
    upgrades: bool = False  # what is installed already is replaced


@record
class Package:
    """One package that a command installs. `tool`: pip (and what reads its index) or conda."""

    line: int
    command: tuple[int, ...]  # tells the commands of a file apart
    caller: str  # how the tool is called: python3.8 -m pip
    tool: str
    name: str
    extras: tuple[str, ...]
    spec: str
    places: Places
    marker: str  # the environment that it is for, as pip writes it
    wheel: Wheel | None  # the one that is named in place of a version
    held: bool = False  # a constraints file that cannot be read may bound it

    @property
    def asked(self) -> str:
        """The requirement without extras and marker: `torch>=2`."""
        return f"{self.name}{self.spec}"


@record
class ListFile:
    """A list, project or address that a command takes packages from and that could not be looked at."""

    line: int
    name: str
    command: tuple[int, ...] = ()  # the one that takes what an address names
    invalid: bool = False  # a line of a list in which names stand without a comma or an operator: no installer takes it


@record
class _Call:
    """One call of a tool: it is at `place` among the words, and what follows its verb begins at `start`."""

    command: tuple[int, ...]
    words: tuple[Word, ...]
    place: int
    start: int

    @property
    def tool(self) -> str:
        """The name of the tool."""
        return self.words[self.place].rpartition("/")[2]

    @property
    def caller(self) -> str:
        """The tool with what is right before it: `python3.8 -m pip`."""
        return " ".join(self.words[max(self.place - 2, 0) : self.place + 1])

    @property
    def index(self) -> str:
        """What it takes packages from: conda's channels, or the index of pip."""
        return "conda" if _CONDA_TOOL.fullmatch(self.tool) else "pip"


@record
class _Given:
    """What is after the verb of a command: words that are no options, and the options that matter."""

    plain: tuple[Word, ...]
    options: tuple[tuple[str, Word], ...]

    def values(self, kind: str) -> list[Word]:
        """The values of the options of that kind."""
        return [value for other, value in self.options if other == kind]


def installed(commands: Iterable[ShellCommand], lists: Lists) -> Iterator[Package | ListFile]:
    """Every package that the commands of a RUN install, and what else they install from that `lists` has not."""
    for number, command in enumerate(commands):
        words = command.words
        if words[0] in ("cd", "pushd"):
            lists = lists.within(" ".join(words[1:]))
            continue
        fed = words.index("xargs") if "xargs" in words else len(words)
        for place, word in enumerate(words):
            tool = word.rpartition("/")[2]
            if _PIP.fullmatch(tool) or _CONDA_TOOL.fullmatch(tool):
                if fed < place:
                    yield ListFile(word.line, f"xargs {tool}")
                start = _arguments(tool, words, place + 1)
                if start is not None:
                    yield from _of_tool(_Call((lists.stage, lists.line, number), words, place, start), lists.read)
                    break
            elif tool == "setup.py" and {"install", "develop"} & set(words[place:]):
                yield ListFile(word.line, "setup.py")


def _arguments(tool: str, words: Sequence[Word], first: int) -> int | None:
    """Where the packages of a tool's command start; None for a command that installs nothing."""
    starts = {"install", "add"} | ({"create", "update"} if _CONDA_TOOL.fullmatch(tool) else {"sync"})
    for place in range(first, len(words)):
        if words[place] in _NOTHING_INSTALLED:
            return None
        if words[place] in starts:
            return place + 1
        if _PIP.fullmatch(words[place]) and tool != "uv":  # conda run … pip, python -m pip: the later tool counts
            return None
    return None


def _of_tool(call: _Call, read: Reader) -> Iterator[Package | ListFile]:
    """What one call of a tool installs."""
    verb, given = call.words[call.start - 1], call.words[call.start :]
    unread = ListFile(call.words[call.place].line, f"{call.tool} {verb}")
    if verb == "sync" and "pip" in call.words[call.place + 1 : call.start]:
        given = tuple([part for word in given for part in _named_as_list(word)])
    elif verb == "sync" or (verb == "install" and _LOCKS.fullmatch(call.tool)):
        yield unread
        return
    found = list(_listed(call, _sorted_out(call.index, given), read))
    yield from found or ([unread] if call.tool == "pipenv" else [])


def _named_as_list(word: Word) -> tuple[Word, ...]:
    return (word,) if word.startswith("-") else (Word.at(word.line, "-r"), word)


def _listed(call: _Call, given: _Given, read: Reader) -> Iterator[Package | ListFile]:
    missing = given.values("file")
    if call.index == "pip":
        given, missing = _with_lists(given, read)
    else:
        given, missing, of_pip = _with_environments(given, read)
        for caller, words in of_pip:
            yield from _of_environment(call, caller, words, read)
    yield from (ListFile(name.line, name) for name in (*missing, *given.values("project")))
    places = _places(given, call.words)
    if call.index == "pip":
        own = frozenset(call.words)
        listed = (word for word in given.plain if word not in own and _WORDS.fullmatch(word.partition(";")[0]))
        yield from (ListFile(word.line, word, call.command, invalid=True) for word in listed)
    found = [_item(call, word, places) for word in given.plain]
    yield from _constrained([item for item in found if item is not None], given.values("constraint"), read)


def _places(given: _Given, words: Sequence[Word]) -> Places:
    index, more = " ".join(given.values("index")), " ".join(given.values("more"))
    backend: str = next(iter(given.values("backend")), "")
    nightly = "--pre" in words or "/nightly" in index  # an index beside the default one offers it pre-releases alone
    return Places(index, more, tuple(given.values("channel")), backend, nightly, not _REPLACES.isdisjoint(words))


def _constrained(
    items: list[Package | ListFile], constraints: list[Word], read: Reader
) -> Iterator[Package | ListFile]:
    """The items with the bounds of the constraints files, and those of the files that leave a version open."""
    bounds: dict[str, str] = {}
    held = False  # a file that cannot be read may hold a version back
    for name in constraints:
        text = read(name)
        if text is None and any(isinstance(item, Package) and not item.spec.startswith("==") for item in items):
            yield ListFile(name.line, name)
            held = True
        for word in list_words(text or "", name):
            found = _REQUIREMENT.fullmatch(word.partition(";")[0].strip())
            if found is not None and found["spec"]:
                bounds[normalized(found["name"])] = found["spec"].replace(" ", "")
    for item in items:
        bound = bounds.get(normalized(item.name)) if bounds and isinstance(item, Package) else None
        if isinstance(item, Package) and bound:
            item = replace(item, spec=",".join(filter(None, (item.spec, bound))))
        yield replace(item, held=not item.spec.startswith("==")) if held and isinstance(item, Package) else item


def _with_lists(given: _Given, read: Reader) -> tuple[_Given, list[Word]]:
    """The same with the words and options of its requirements files, those that they name included; those not there."""
    plain, options = list(given.plain), list(given.options)
    missing: list[Word] = []
    waiting = deque(given.values("file"))
    seen: set[str] = set(waiting)
    while waiting:
        name = waiting.popleft()
        text = None if name.endswith(_NO_LIST) else read(name)
        if text is None:
            missing.append(name)
            continue
        more = _sorted_out("pip", [Word.at(name.line, word) for word in list_words(text, name)])
        plain += more.plain
        options += [option for option in more.options if option[0] != "file"]
        named = [Word.at(name.line, posixpath.normpath(value)) for value in more.values("file")]
        waiting += [value for value in named if value not in seen]
        seen.update(named)
    return _Given(tuple(plain), tuple(options)), missing


def _with_environments(given: _Given, read: Reader) -> tuple[_Given, list[Word], list[tuple[str, list[Word]]]]:
    """The same with the specs and channels of conda's files, those not there, and what each has for which pip."""
    plain, options = list(given.plain), list(given.options)
    missing: list[Word] = []
    of_pip: list[tuple[str, list[Word]]] = []
    for name in given.values("file"):
        text = read(name) if name.endswith(CONDA_LISTS) else None
        found = conda_list(text) if text is not None else None
        if found is None or (found.pip and not found.python):  # for which Python, only conda decides
            missing.append(name)
        if found is None:
            continue
        plain += [Word.at(name.line, spec) for spec in found.specs]
        options += [("channel", Word.at(name.line, channel)) for channel in found.channels]
        if found.python:
            words = [Word.at(name.line, word) for word in list_words("\n".join(found.pip), name)]
            of_pip.append((f"python{found.python} -m pip", words))
    return _Given(tuple(plain), tuple(options)), missing, of_pip


def _of_environment(call: _Call, caller: str, words: Sequence[Word], read: Reader) -> Iterator[Package | ListFile]:
    """What the section for pip of conda's files installs."""
    given, missing = _with_lists(_sorted_out("pip", words), read)
    yield from (ListFile(name.line, name) for name in (*missing, *given.values("project")))
    places = _places(given, ())
    found = (named(word, places, index="pip", command=call.command, caller=caller) for word in given.plain)
    yield from (item for item in found if item is not None)


def _item(call: _Call, word: Word, places: Places) -> Package | ListFile | None:
    """What one word of a command names; None for a word that names nothing to install."""
    return named(word, places, index=call.index, command=call.command, caller=call.caller)


def named(
    word: Word, places: Places, *, index: str, command: tuple[int, ...] = (), caller: str = ""
) -> Package | ListFile | None:
    """What a requirement of pip or a spec of conda names (`index`: pip or conda); None where it names nothing."""
    if index == "conda":
        requirement = " ".join(word.split())
        found, marker = _CONDA.fullmatch(requirement), ""
    else:
        requirement, _, marker = word.partition(";")
        requirement, marker = " ".join(requirement.split()), marker.strip()
        file = wheel(requirement)
        if file is not None:
            of_file = Places(file.folder, "", (), "", "/nightly" in file.folder)
            spec = f"=={file.version}"
            return Package(word.line, command, caller, "pip", file.name, (), spec, of_file, marker, file)
        if not _UNSET.search(requirement) and _ELSEWHERE.fullmatch(requirement):
            return ListFile(word.line, word, command)
        found = _REQUIREMENT.fullmatch(requirement)
    if found is None and _UNSET.search(requirement):  # its version is a variable; what only a variable names is a list
        found = _OF_A_VARIABLE.fullmatch(requirement)
        if found is None:
            return ListFile(word.line, "$(…)" if word.startswith("$(") else word)
    if found is None:
        return None
    parts = found.groupdict(default="")
    extras = tuple([normalized(extra.strip()) for extra in parts.get("extras", "").split(",") if extra.strip()])
    if parts.get("channel"):
        places = replace(places, channels=(*places.channels, parts["channel"]))
    spec = parts["spec"].replace(" ", "")
    return Package(word.line, command, caller, index, parts["name"], extras, spec, places, marker, None)


def _sorted_out(tool: str, words: Sequence[Word]) -> _Given:
    """The words that are no options, and the options that matter with their values."""
    plain: list[Word] = []
    options: list[tuple[str, Word]] = []
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
        name, equals, text = (joined[1], "=", joined[2]) if joined else word.partition("=")
        kind = _kind(tool, name)
        value = Word.at(word.line, text)
        if not equals and (kind or _WITH_VALUE.fullmatch(name)):
            value = words[position] if position < len(words) else value
            position += 1
        if kind:
            options.append((kind, value))
    return _Given(tuple(plain), tuple(options))


def _kind(tool: str, option: str) -> str:
    """What an option's value is: index, more, file, constraint, project, channel, backend or setting; '' for others."""
    if tool == "conda":  # -f is its file, -r its root
        return _CONDA_OPTIONS.get(option, "")
    return next((kind for kind, names in _OPTIONS.items() if option in names), "")
