"""A recipe as a GitHub workflow that builds its Dockerfile, tests it without a GPU and publishes it."""

from __future__ import annotations

import json

from envkit.image.parts import Recipe
from envkit.render.templating import template
from envkit.tables.pipelines import architecture, pinned_actions


def render_github_workflow(recipe: Recipe) -> str:
    """The workflow of the recipe; it builds the file `Dockerfile` in the root directory of the repository."""
    return template("dockerfiles", "workflow.yaml.j2").render(
        recipe=recipe,
        runner=architecture(recipe.plan.choice.architecture).runner,
        actions=pinned_actions(),
        json=json.dumps,
    )
