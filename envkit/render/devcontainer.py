"""A recipe as a devcontainer.json next to its Dockerfile."""

from __future__ import annotations

from envkit.image.limits import refuse
from envkit.image.parts import Recipe
from envkit.image.python import VENV
from envkit.render.dockerfile import shared_memory


def render_devcontainer(recipe: Recipe) -> str:
    """The devcontainer.json of the recipe; it names the file `Dockerfile` next to it.

    Raises EnvkitError for an entrypoint, which editors replace with their own.
    """
    from envkit.base.json_text import dumps

    refuse(
        "devcontainer",
        ["editors replace the --entrypoint of a development container"] if recipe.runtime.entrypoint else [],
    )
    uses_gpu = bool(recipe.runtime.environment)
    document: dict[str, object] = {
        "name": recipe.title,
        "build": {"dockerfile": "Dockerfile"},
        "overrideCommand": True,
    }
    if uses_gpu:
        document |= {"runArgs": ["--gpus", "all", *shared_memory(recipe).split()], "hostRequirements": {"gpu": True}}
    if recipe.runtime.port:
        document["forwardPorts"] = [recipe.runtime.port]
    if not recipe.official and not recipe.source_built:
        settings = {"python.defaultInterpreterPath": f"{VENV}/bin/python"}
        document["customizations"] = {"vscode": {"extensions": ["ms-python.python"], "settings": settings}}
    return dumps(document) + "\n"
