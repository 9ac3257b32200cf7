"""Templates are found in an installed wheel, a zipped application, an editable install and a checkout alike."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from envkit.base.errors import DataError

if TYPE_CHECKING:
    from importlib.abc import Traversable

    from jinja2 import Environment, Template

    from envkit._startup.ahead import AheadEnvironment, CompiledTemplate


def template_root() -> Traversable:
    """What holds `dockerfiles/` and `scripts/`: the packaged folder, otherwise the checkout's. Raises DataError."""
    from importlib.resources import files
    from pathlib import Path

    packaged = files("envkit") / "templates"
    if packaged.is_dir():
        return packaged
    checkout = Path(str(files("envkit"))).parent / "templates"
    if checkout.is_dir():
        return checkout
    raise DataError("envkit's templates are missing from this installation.", "Reinstall envkit.")


@cache
def jinja_environment(folder: str) -> Environment:
    """jinja2 over the templates of a folder, for a checkout and for compiling them ahead."""
    from shlex import quote

    from jinja2 import Environment, FunctionLoader, StrictUndefined

    root = template_root() / folder

    def load(name: str) -> str | None:
        found = root / name
        return found.read_text(encoding="utf-8") if found.is_file() else None

    made = Environment(
        loader=FunctionLoader(load),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=folder == "reports",
    )
    made.filters["bash"] = lambda value: quote(str(value))  # a text as one word of a shell command
    return made


@cache
def _ahead(folder: str) -> AheadEnvironment | None:
    """The templates of a folder that were compiled when the wheel was built; none in a checkout."""
    try:
        environment: AheadEnvironment = import_module(f"envkit.compiled_{folder}").environment
    except ImportError:
        return None
    return environment


def template(folder: str, name: str) -> Template | CompiledTemplate:
    """The compiled template `name` of `scripts`, `dockerfiles` or `reports`."""
    return (_ahead(folder) or jinja_environment(folder)).get_template(name)
