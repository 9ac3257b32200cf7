"""A recipe as a Compose file that holds its Dockerfile."""

from __future__ import annotations

import json

from envkit.image.parts import Recipe
from envkit.render.dockerfile import render_dockerfile
from envkit.render.templating import template


def render_compose(recipe: Recipe) -> str:
    """The compose.yaml of the recipe: one service with its image built in place, and the GPUs where it uses any."""
    # Compose replaces $NAME itself, so every dollar that the Dockerfile means is doubled.
    lines = render_dockerfile(recipe).replace("$", "$$").rstrip("\n").split("\n")
    return template("dockerfiles", "compose.yaml.j2").render(recipe=recipe, lines=lines, json=json.dumps)
