"""Runs templates that were compiled ahead of time, so that an installed envkit need not load the template compiler.

The compiler is jinja2's own and runs when a wheel is built (`hatch_build.py`). Its output expects a handful of names;
these are they, for the parts of the language that our templates use. `FILTERS` and `TESTS` are all that exist: the
build refuses a template that wants another. A checkout has no compiled templates and uses jinja2 itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from shlex import quote
from typing import Any, NoReturn


class Missing:
    """Stands for a name that has no value."""


missing = Missing()


class UndefinedError(LookupError):
    """A template used a name that it was not given."""


class Undefined:
    """A missing value; every use of it raises UndefinedError, as jinja2's strict kind does."""

    def __init__(self, hint: str | None = None, name: str = "") -> None:
        self._words = hint or f"{name!r} is undefined"

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise UndefinedError(self._words)

    __str__ = __iter__ = __bool__ = __len__ = __eq__ = __ne__ = __hash__ = __call__ = __getitem__ = _refuse


class Loop:
    """What `loop` is inside a for: index from 1, first, last, length; iterating gives (item, loop)."""

    def __init__(self, values: Iterable[Any], undefined: object) -> None:
        self._values = list(values)
        self.length = len(self._values)
        self.index = 0

    @property
    def first(self) -> bool:
        """True in the first round."""
        return self.index == 1

    @property
    def last(self) -> bool:
        """True in the last round."""
        return self.index == self.length

    def __iter__(self) -> Iterator[tuple[Any, Loop]]:
        for index, value in enumerate(self._values, 1):
            self.index = index
            yield value, self


class Macro:
    """A macro: called with positional or named arguments; those left out are missing."""

    def __init__(
        self, environment: object, function: Callable[..., str], name: str, names: tuple[str, ...], *_: object
    ) -> None:
        self._function = function
        self._names = names

    def __call__(self, *arguments: object, **named: object) -> str:
        """The macro's text."""
        rest = [named.get(name, missing) for name in self._names[len(arguments) :]]
        return self._function(*arguments, *rest)


class Context:
    """The names a template sees: `vars` are its own, the others were given to it."""

    class eval_ctx:  # noqa: N801 - the name that compiled templates use
        """Our compiled templates make plain text, never markup."""

        autoescape = False

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._given = given
        self.vars: dict[str, Any] = {}
        self.exported_vars: set[str] = set()

    def resolve_or_missing(self, name: str) -> object:
        """The value of a name, or `missing`."""
        return self.vars[name] if name in self.vars else self._given.get(name, missing)

    def get_all(self) -> dict[str, Any]:
        """Every name with its value, for an included template."""
        return {**self._given, **self.vars}

    @staticmethod
    def call(function: Callable[..., Any], *arguments: object, **named: object) -> object:
        """The result of a call in a template."""
        named.pop("_loop_vars", None)
        named.pop("_block_vars", None)
        return function(*arguments, **named)


class CompiledTemplate:
    """One compiled template."""

    def __init__(self, root: Callable[[Context], Iterator[str]]) -> None:
        self.root_render_func = root

    def render(self, **given: object) -> str:
        """The text for these values. Raises UndefinedError for a name that is missing."""
        return "".join(self.root_render_func(Context(given)))

    @staticmethod
    def new_context(given: dict[str, Any], shared: bool, local: Mapping[str, Any]) -> Context:
        """The names of an included template: those of the including one and its loop variables."""
        return Context({**given, **{name: value for name, value in local.items() if value is not missing}})


class AheadEnvironment:
    """The templates of one folder by name, and what their code asks of an environment."""

    undefined = Undefined
    concat = staticmethod("".join)

    def __init__(self) -> None:
        self.filters = FILTERS
        self.tests = TESTS
        self._templates: dict[str, CompiledTemplate] = {}

    def add(self, name: str, root: Callable[[Context], Iterator[str]]) -> None:
        """Registers a compiled template."""
        self._templates[name] = CompiledTemplate(root)

    def get_template(self, name: str, parent: str | None = None) -> CompiledTemplate:
        """The template of that name. Raises KeyError."""
        return self._templates[name]

    get_or_select_template = get_template

    @staticmethod
    def getattr(value: Any, name: str) -> object:  # noqa: ANN401 - whatever a template was given
        """An attribute, otherwise an item, otherwise undefined."""
        try:
            return getattr(value, name)
        except AttributeError:
            try:
                return value[name]
            except (TypeError, LookupError, AttributeError):
                return Undefined(name=name)

    @staticmethod
    def getitem(value: Any, key: Any) -> object:  # noqa: ANN401
        """An item, otherwise an attribute, otherwise undefined."""
        try:
            return value[key]
        except (TypeError, LookupError, AttributeError):
            return getattr(value, key, Undefined(name=key)) if isinstance(key, str) else Undefined(name=str(key))


def str_join(values: Iterable[object]) -> str:
    """The texts of all values in a row."""
    return "".join(map(str, values))


def _join(_: object, values: Iterable[object], separator: str = "") -> str:
    return separator.join(map(str, values))


def _length(value: Sized) -> int:
    return len(value)


FILTERS: dict[str, Callable[..., Any]] = {
    "bash": lambda value: quote(str(value)),
    "join": _join,
    "length": _length,
    "upper": lambda value: str(value).upper(),
}
TESTS: dict[str, Callable[[Any], bool]] = {"none": lambda value: value is None}
