"""A recipe as a requirements file."""

from __future__ import annotations

from envkit.image.limits import loader_notes, outside_python, pip_lines, refuse
from envkit.image.parts import Recipe


def render_requirements(recipe: Recipe) -> str:
    """The requirements file of the recipe. Raises EnvkitError for what Python packages alone cannot hold."""
    reasons = outside_python(recipe)
    if recipe.context:
        reasons.append("--requirements and --lock name such files already")
    refuse("requirements", reasons)
    choice = recipe.plan.choice
    lines = [f"# {recipe.title}. Written by envkit."]
    if recipe.python is not None:
        lines.append(f"# For Python {recipe.python.release(2)}.")
    if choice.minimum_driver is not None:
        lines.append(f"# The machine needs NVIDIA driver {choice.minimum_driver} or newer.")
    lines += [f"# Note: {note}." for note in loader_notes(recipe)]
    return "\n".join([*lines, *pip_lines("requirements", recipe)]) + "\n"
