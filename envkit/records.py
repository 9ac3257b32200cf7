"""`@record` makes a frozen dataclass an order of magnitude faster to define than the standard decorator.

The standard one compiles five methods for every class; the program defines over a hundred classes and starts in tens
of milliseconds. A record shares its methods with all others. `dataclasses.fields`, `replace` and `is_dataclass` work.
"""

from __future__ import annotations

from dataclasses import MISSING, FrozenInstanceError, dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_: object) -> Any:  # noqa: ANN401 - at run time it only hands the decorator back
        """Tell type checkers what the decorator does; nothing at run time."""
        return lambda decorator: decorator


T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: type[T]) -> type[T]:
    """The class as an immutable value: equal and hashed by its fields. Raises TypeError for wrong arguments."""
    made: Any = dataclass(init=False, repr=False, eq=False)(cls)
    fields = made.__dataclass_fields__
    made.__record_names__ = tuple(fields)
    made.__record_plain__ = {name: item.default for name, item in fields.items() if item.default is not MISSING}
    made.__record_made__ = tuple(
        (name, item.default_factory) for name, item in fields.items() if item.default_factory is not MISSING
    )
    for name, method in _METHODS.items():
        if name not in cls.__dict__:
            setattr(made, name, method)
    made.__setattr__ = made.__delattr__ = _frozen
    checked: type[T] = made
    return checked


def _init(self: Any, *args: object, **given: object) -> None:  # noqa: ANN401 - any record
    cls = type(self)
    names = cls.__record_names__
    values = self.__dict__
    values.update(cls.__record_plain__)
    values.update(zip(names, args, strict=False))
    values.update(given)
    if len(args) > len(names):
        raise TypeError(f"{cls.__name__} takes {len(names)} values, not {len(args)}")
    for name, factory in cls.__record_made__:
        if name not in values:
            values[name] = factory()
    if len(values) != len(names) or not given.keys() <= cls.__dataclass_fields__.keys():
        wrong = sorted(set(values) ^ set(names))
        raise TypeError(f"{cls.__name__}: missing or unknown fields {', '.join(wrong)}")
    if not given.keys().isdisjoint(names[: len(args)]):
        raise TypeError(f"{cls.__name__}: a field is given twice")
    after = getattr(self, "__post_init__", None)
    if after is not None:
        after()


def _key(self: Any) -> tuple[object, ...]:  # noqa: ANN401
    values = self.__dict__
    return tuple([values[name] for name in type(self).__record_names__])


def _eq(self: object, other: object) -> bool:
    return _key(self) == _key(other) if type(self) is type(other) else NotImplemented


def _hash(self: object) -> int:
    return hash(_key(self))


def _repr(self: Any) -> str:  # noqa: ANN401
    shown = ", ".join(f"{name}={self.__dict__[name]!r}" for name in type(self).__record_names__)
    return f"{type(self).__name__}({shown})"


def _frozen(self: object, name: str, *_: object) -> NoReturn:
    raise FrozenInstanceError(f"cannot change field {name!r}")


_METHODS = {"__init__": _init, "__eq__": _eq, "__hash__": _hash, "__repr__": _repr}
