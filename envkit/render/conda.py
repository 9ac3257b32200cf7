"""A recipe as a conda environment."""

from __future__ import annotations

from envkit.image.limits import loader_notes, outside_python, pip_lines, refuse
from envkit.image.parts import Recipe
from envkit.render.templating import template


def render_conda(recipe: Recipe) -> str:
    """The environment.yml of the recipe. Raises EnvkitError for what a conda environment cannot hold."""
    reasons = outside_python(recipe)
    if recipe.context:
        reasons.append("--requirements and --lock name files that environment.yml cannot take in")
    refuse("conda", reasons)
    return template("dockerfiles", "environment.yml.j2").render(
        recipe=recipe,
        pip_lines=pip_lines("conda", recipe),
        python=recipe.python and recipe.python.release(2),
        notes=loader_notes(recipe),
    )
