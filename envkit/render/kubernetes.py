"""A recipe as a Kubernetes job that runs its image."""

from __future__ import annotations

import json

from envkit.image.parts import Recipe
from envkit.render.templating import template
from envkit.tables.pipelines import architecture


def render_kubernetes(recipe: Recipe) -> str:
    """The job of the recipe: the smoke test, or the image's own command where one was asked for."""
    runtime = recipe.runtime
    return template("dockerfiles", "kubernetes.yaml.j2").render(
        recipe=recipe,
        architecture=architecture(recipe.plan.choice.architecture).name,
        smoke=not (runtime.entrypoint or runtime.port),
        json=json.dumps,
    )
