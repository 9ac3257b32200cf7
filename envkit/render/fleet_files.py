"""The files that reach machines: a playbook with its parts, word for word as they lie in the templates."""

from __future__ import annotations

from collections.abc import Callable

from envkit.fleet.playbook import PLACES
from envkit.render.templating import template_root


def write_playbook(write: Callable[[str, str], object]) -> None:
    """Gives the files of the playbook to `write`, each with its place in the folder."""
    for name, place in PLACES.items():
        write(place, fleet_template(name))


def fleet_template(name: str) -> str:
    """A file of the folder `fleet`, which has marks of another language and none of ours."""
    return (template_root() / "fleet" / name).read_text(encoding="utf-8")
