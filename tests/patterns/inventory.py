"""Every regular expression of the program, found in its source and its tables, so that none is forgotten."""

from __future__ import annotations

import ast
import importlib
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import envkit
from envkit.checks.engine import command
from envkit.dockerfile import stops_absent
from envkit.host.name_pattern import name_pattern
from envkit.ingest import signatures
from envkit.ingest.signatures import compiled
from envkit.privacy.name_places import LIKELY_PLACES, PLACES
from envkit.privacy.printed_secrets import printer_pattern
from envkit.privacy.secret_commands import pattern_of
from envkit.probe import kept
from envkit.tables.build_stops import BaseUser, ExpiredKey, MovingPython, MovingSystem, Redirect
from envkit.tables.findings import Signature
from envkit.tables.images import BuildError, ForeignSystem
from envkit.tables.known_bases import TagScheme, VendorImage
from envkit.tables.loader import read
from envkit.tables.names import NotCovered
from envkit.tables.program_stops import AbsentProgram
from envkit.tables.secrets import SecretCommand

ROOT = Path(envkit.__file__).parent
_FUNCTIONS = {"compile", "match", "search", "fullmatch", "findall", "finditer", "sub", "subn", "split"}
_FROM_THE_START = {"match", "fullmatch"}
_FLAGS_AT = {"compile": 1, "sub": 4, "subn": 4, "split": 3}  # position of the flags; 2 for the others


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

    path: Path
    module: str
    line: int
    function: str
    node: ast.Call
    name: str  # the module's name for the result, '' where it has none
    place: str  # the function that it stands in


def _cards() -> Iterator[Pattern]:
    """Of names that take as many letters as any: the rest of the expression is the same for each."""
    for name in ("p4", "1080", "a100"):
        yield Pattern(f"envkit.ingest.signatures._alone: {name}", signatures._alone(name).pattern)


def _signatures() -> Iterator[Pattern]:
    for signature in read(Signature):
        yield Pattern(
            f"signatures.csv: {signature.signature}", compiled(signature).pattern, re.IGNORECASE | re.MULTILINE
        )


def _build_errors() -> Iterator[Pattern]:
    for row in read(BuildError):
        yield Pattern(f"build_errors.csv: {row.message}", row.pattern, re.IGNORECASE | re.MULTILINE)


def _names() -> Iterator[Pattern]:
    for part in ("*.so*", "lib*cuda*.so.[0-9]*", "*-*-*.dist-info", "?*-release", "[!.]*"):
        yield Pattern(f"name_pattern: {part}", name_pattern(part).pattern, from_the_start=True)


def _places() -> Iterator[Pattern]:
    for name, place in {**PLACES, **LIKELY_PLACES}.items():
        yield Pattern(f"envkit.privacy.name_places: {name}", place.pattern, re.MULTILINE)


def _commands() -> Iterator[Pattern]:
    for row in read(SecretCommand):
        made = printer_pattern if row.value == "printed" else pattern_of
        yield Pattern(f"secret_commands.csv: {row.command} {row.option}", made(row))


def _kept_paths() -> Iterator[Pattern]:
    rows = [row[:1] for row in (*kept._TEXTS, *kept._BYTES, *kept._OUTPUTS)] + [row[:2] for row in kept._FOLDERS]
    for text in (*kept.FACTS_ALONE, *(text for row in rows for text in row)):
        yield Pattern("envkit.probe.kept", text, from_the_start=True)


def _kept_lines() -> Iterator[Pattern]:
    for _, keep in (*kept._TEXTS, *kept._OUTPUTS):
        for cell in getattr(keep, "__closure__", None) or ():
            yield Pattern("envkit.probe.kept", cell.cell_contents.pattern)


def _not_covered() -> Iterator[Pattern]:
    for row in read(NotCovered):
        yield Pattern(f"not_covered.csv: {row.title}", row.pattern, from_the_start=True)


def _foreign_systems() -> Iterator[Pattern]:
    for row in read(ForeignSystem):
        yield Pattern(f"image/foreign_systems.csv: {row.title}", rf"{row.word}(?![a-z])", from_the_start=True)


def _moving_tags() -> Iterator[Pattern]:
    for system in read(MovingSystem):
        yield Pattern(f"image/moving_systems.csv: {system.repository}", system.tags, from_the_start=True)
    for python in read(MovingPython):
        yield Pattern(f"image/moving_pythons.csv: {python.repository}", python.tags, from_the_start=True)
    for key in read(ExpiredKey):
        yield Pattern(f"image/expired_keys.csv: {key.repository}", key.tags, from_the_start=True)
    for redirect in read(Redirect):
        yield Pattern("image/redirects.csv", redirect.address, from_the_start=True)
    for user in read(BaseUser):
        yield Pattern(f"image/base_users.csv: {user.user}", user.images, from_the_start=True)
    for image in read(VendorImage):
        yield Pattern(f"image/vendor_images.csv: {image.vendor}", image.repository, from_the_start=True)
        if image.release:
            yield Pattern(f"image/vendor_images.csv: a release of {image.vendor}", image.release)
    for scheme in read(TagScheme):
        yield Pattern(f"image/tag_schemes.csv: {scheme.repository}", scheme.tags, from_the_start=True)


def _words_of_repairs() -> Iterator[Pattern]:
    """Of words of a Dockerfile's own line, which are taken as they are: the rest is the same for each."""
    where = "envkit.dockerfile.repair_lines, repairs_base, repairs_names, repairs_words"
    for word in map(re.escape, ("nvidia-driver-550", "cuda")):
        yield Pattern(where, rf"(?<![\w.+=-]){word}(?:=\S+)?(?![\w.+-])\s?")
        yield Pattern(where, rf"(?<=[\s'\"]){word}(?![\w.-])")
        yield Pattern(where, rf"(?<![\w./@+-]){word}(?:=[^\s'\"]+)?(?=[\s'\"\\]|$)")
        yield Pattern(where, rf"(?<=\s){word}(?=\s|$)")
        yield Pattern(where, rf"{word}\w+")
        yield Pattern(where, rf"\b{word}(?=\s+\.)")
    for name in ("CUDA", "B"):
        yield Pattern(where, rf"\s*(?:ARG|ENV)\s+{name}\b", from_the_start=True)
        yield Pattern(where, rf"(?i)\s*ARG\s+{name}=", from_the_start=True)
        yield Pattern(where, rf"\$\{{?{name}\b")
        yield Pattern(where, rf"(?im)^[ \t]*ARG[ \t]+{name}\b")
        yield Pattern(where, rf"(&&|;)\s+{name}\s+")
    yield Pattern(where, r"nvidia/cuda:(.+?)-devel-ubuntu(.+?)", from_the_start=True)


def _programs() -> Iterator[Pattern]:
    for row in read(AbsentProgram):
        yield Pattern(f"image/programs.csv: {row.program}", stops_absent._named(row.program).pattern)


def _targets() -> Iterator[Pattern]:
    for kind in ("sm", "compute"):
        yield Pattern("envkit.ingest.readers.torch_log: targets", rf"{kind}_(\d{{2,3}}[af]?)")


def _forms() -> Iterator[Pattern]:
    for form in (form for form in vars(command).values() if isinstance(form, command.Form)):
        yield Pattern(f"envkit.checks.engine.command: {form.kind}", form._pattern.pattern, from_the_start=True)


def _entries() -> Iterator[Pattern]:
    for key in ("cuda_version", "cudnn_version_number"):
        yield Pattern("envkit.probe.frameworks: an entry", rf"[\"']?\b{key}[\"']?\s*[:=,]\s*[\"']([^\"'\n]*)[\"']")


# Expressions that are made when the program runs: where, and all of them or examples.
MADE: dict[str, Callable[[], Iterator[Pattern]]] = {
    "envkit.checks.engine.command.__init__": _forms,
    "envkit.solver.not_covered._rows": _not_covered,
    "envkit.solver.not_covered.refuse_system": _foreign_systems,
    "envkit.dockerfile.base._system": _moving_tags,
    "envkit.dockerfile.other_vendors._there": lambda: iter(()),  # those of the line above
    "envkit.dockerfile.stops_redirects.redirect_not_followed": lambda: iter(()),  # the same
    "envkit.dockerfile.stops_root._base_user": lambda: iter(()),  # the same
    "envkit.dockerfile.stops_absent._named": _programs,
    "envkit.ingest.readers.torch_log._whole_list": _targets,
    "envkit.tables.build_stops.holds": lambda: iter(()),  # those of the line above
    "envkit.dockerfile.least_python._of_tag": lambda: iter(()),  # those of the line above
    "envkit.dockerfile.contents._at_least": lambda: iter(()),  # the same
    "envkit.tables.known_bases._by_its_words": lambda: iter(()),  # the same
    "envkit.dockerfile.repair_lines.without_word": _words_of_repairs,
    "envkit.dockerfile.repair_lines.named_for_pip": lambda: iter(()),  # the same
    "envkit.dockerfile.repairs_base._by_arguments": lambda: iter(()),  # the same
    "envkit.dockerfile.repairs_base._uses": lambda: iter(()),  # the same
    "envkit.dockerfile.repairs_names.instruction_apart": lambda: iter(()),  # the same
    "envkit.dockerfile.repairs_names.name_replaced": lambda: iter(()),  # the same
    "envkit.dockerfile.repairs._without_driver": lambda: iter(()),  # the same, a name that stands in the file
    "envkit.dockerfile.repairs_words._completed": lambda: iter(()),  # the same
    "envkit.dockerfile.repairs_words._declares": lambda: iter(()),  # the same
    "envkit.dockerfile.repairs_words.companion_bounded": lambda: iter(()),  # the same
    "envkit.dockerfile.repairs_words.switch_renamed": lambda: iter(()),  # the same
    "envkit.dockerfile.repairs_words.written": lambda: iter(()),  # the same
    "envkit.host.name_pattern.name_pattern": _names,
    "envkit.privacy.secret_commands._pattern": _commands,
    "envkit.privacy.printed_secrets._pattern": lambda: iter(()),  # those of the line above
    "envkit.tables.build_errors.explain": _build_errors,
    "envkit.ingest.signatures._alone": _cards,
    "envkit.ingest.signatures.compiled": _signatures,
    "envkit.probe.frameworks._entry": _entries,
    "envkit.privacy.free_text.__init__": lambda: iter(()),  # those of the line below
    "envkit.privacy.names._places": _places,
    "envkit.probe.kept._is": _kept_paths,
    "envkit.probe.kept._keeper": lambda: iter(()),  # the same
    "envkit.probe.kept._lines": _kept_lines,
    "envkit.probe.kept.kept_names": lambda: iter(()),  # the same
    "envkit._startup.regex.__getattr__": lambda: iter(()),  # each call of `regex` is found by itself
}


def patterns() -> list[Pattern]:
    """Every expression; the same text in two places counts twice."""
    found = [pattern for call in _calls() if (pattern := _constant(call)) is not None]
    return found + made_patterns()


def made_patterns() -> list[Pattern]:
    """Those of `MADE`, which holds all that come from tables."""
    return [pattern for made in MADE.values() for pattern in made()]


def unexplained() -> list[str]:
    """Calls whose expression is neither constant nor in `MADE`."""
    return sorted({call.place for call in _calls() if _constant(call) is None} - set(MADE))


def made_nowhere() -> list[str]:
    """Entries of `MADE` without such a call."""
    return sorted(set(MADE) - {call.place for call in _calls()})


@cache
def _calls() -> tuple[_Call, ...]:
    return tuple(call for path in sorted(ROOT.rglob("*.py")) for call in _calls_of(path))


def _calls_of(path: Path) -> Iterator[_Call]:
    module = ".".join((ROOT.name, *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")
    tree = _tree(path)
    names = {
        id(node.value): node.targets[0].id
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    functions = [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    inside = {id(node): function.name for function in functions for node in ast.walk(function)}
    for node in ast.walk(tree):
        function = _function(node)
        if isinstance(node, ast.Call) and function:
            place = f"{module}.{inside.get(id(node), '')}"
            yield _Call(path, module, node.lineno, function, node, names.get(id(node), ""), place)


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
    module = importlib.import_module(call.module)
    try:
        return eval(compile(ast.Expression(node), call.module, "eval"), {**vars(module), "re": re})  # noqa: S307
    except NameError:
        return None


def _only_from_the_start(call: _Call) -> bool:
    if not call.name:
        return call.function in _FROM_THE_START
    return call.name.startswith("_") and _uses(call.path)[call.name] <= _FROM_THE_START


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


@cache
def _uses(path: Path) -> Mapping[str, set[str]]:
    """For each name in a module, its methods that are called; '' where it is handed on."""
    nodes = list(ast.walk(_tree(path)))
    methods = {id(node.value): node.attr for node in nodes if isinstance(node, ast.Attribute)}
    uses: dict[str, set[str]] = defaultdict(set)
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            uses[node.id].add(methods.get(id(node), ""))
    return uses


def renamed() -> list[str]:
    """Where a module calls `re`, a function of it or `regex` by another name, so that its expressions are not found."""
    return sorted(
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in ROOT.rglob("*.py")
        for node in ast.walk(_tree(path))
        if (isinstance(node, ast.ImportFrom) and node.module == "re")
        or (isinstance(node, (ast.Import, ast.ImportFrom)) and any(_as_another(alias) for alias in node.names))
    )


def _as_another(alias: ast.alias) -> bool:
    return alias.name in ("re", "regex") and alias.asname not in (None, alias.name)
