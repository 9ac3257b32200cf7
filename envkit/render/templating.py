"""Templates are found in an installed wheel, an editable install and a checkout alike."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from envkit.errors import DataError

if TYPE_CHECKING:
    from jinja2 import Environment, Template


def template_root() -> Path:
    """The folder that holds `dockerfiles/` and `scripts/`: the packaged one, else the checkout's. Raises DataError."""
    package = Path(str(files("envkit")))
    for candidate in (package / "templates", package.parent / "templates"):
        if (candidate / "scripts").is_dir():
            return candidate
    raise DataError("envkit's templates are missing from this installation.", "Reinstall envkit.")


@cache
def _environment(folder: str) -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(template_root() / folder),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=folder == "reports",
    )


def template(folder: str, name: str) -> Template:
    """The compiled template `name` of `scripts`, `dockerfiles` or `reports`."""
    return _environment(folder).get_template(name)
