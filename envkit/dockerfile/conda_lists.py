"""Reads the environment files of conda that a Dockerfile names: their specs, their channels, their section for pip."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from envkit._startup.records import record
from envkit._startup.regex import regex
from envkit.base.errors import SourceError
from envkit.base.yaml_subset import Text, parse

_PYTHON = regex(r"(?:[\w-]+::)?python={1,2}(\d\.\d{1,2})[\w.*=]*")
CONDA_LISTS = (".yml", ".yaml")


@record
class CondaList:
    """What `conda env create -f` takes from a file: specs of conda, and lines as a requirements file has them.

    `python`: the release that it pins, which pip then installs for; '' where it pins none.
    """

    python: str
    specs: tuple[str, ...]
    channels: tuple[str, ...]
    pip: tuple[str, ...]


def conda_list(text: str) -> CondaList | None:
    """The lists of an environment file; None for a text that is none, or that cannot be read for certain."""
    try:
        document = parse(text)
    except SourceError:
        return None
    listed = document.get("dependencies") if isinstance(document, dict) else None
    if not isinstance(listed, list):
        return None
    specs = [_spec(one) for one in listed if isinstance(one, Text)]
    pip = [line for one in listed if isinstance(one, dict) for line in _texts(one.get("pip"))]
    python = next((found[1] for one in specs if (found := _PYTHON.fullmatch(one)) is not None), "")
    return CondaList(python, tuple(specs), tuple(_texts(document.get("channels"))), tuple(pip))


def _spec(text: str) -> str:
    """A spec as a command line has it: `name=1.0` of `name 1.0`."""
    return text.replace(" ", "=", 1) if not set("=<>") & set(text) else text.replace(" ", "")


def _texts(value: Any) -> Sequence[str]:  # noqa: ANN401
    return [str(one) for one in value if isinstance(one, Text)] if isinstance(value, list) else []
