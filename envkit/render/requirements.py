"""A recipe as a requirements file."""

from __future__ import annotations

from envkit.image.limits import outside_python, packages_of, refuse
from envkit.image.parts import Recipe
from envkit.render.plans.requirements import written


def render_requirements(recipe: Recipe) -> str:
    """The requirements file of the recipe. Raises EnvkitError for what Python packages alone cannot hold."""
    reasons = outside_python(recipe)
    if recipe.context:
        reasons.append("--requirements and --lock already refer to such files")
    refuse("requirements", reasons)
    return written(packages_of(recipe))
