"""A recipe as a conda environment."""

from __future__ import annotations

from envkit.image.limits import outside_python, packages_of, refuse
from envkit.image.parts import Recipe
from envkit.render.plans.conda import written


def render_conda(recipe: Recipe) -> str:
    """The environment.yml of the recipe. Raises EnvkitError for what a conda environment cannot hold."""
    reasons = outside_python(recipe)
    if recipe.context:
        reasons.append("--requirements and --lock refer to files that environment.yml cannot include")
    refuse("conda", reasons)
    return written(packages_of(recipe))
