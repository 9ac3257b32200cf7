"""What `dockerfile --check` says of the image that `--project` writes: the project's own requirements may conflict."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from envkit.cli.output import say

if TYPE_CHECKING:
    from envkit.api.project_wishes import Project
    from envkit.image.parts import Recipe
    from envkit.solver.request import Request
    from envkit.tables import Matrix


def tell_errors(made: Recipe, project: Project, request: Request, matrix: Matrix) -> bool:
    """Whether the check finds errors in the image, each of which the user is told with its remedy."""
    from envkit.api.report import as_told
    from envkit.checks.engine.findings import Status
    from envkit.dockerfile.check import check_dockerfile
    from envkit.host.user_file import read_inside
    from envkit.render.dockerfile import render_dockerfile

    folder = os.path.dirname(os.path.abspath(project.files[-1]))
    found = check_dockerfile(render_dockerfile(made), request, matrix, lambda name: read_inside(folder, name))
    errors = [one for one in as_told(found) if one.status is Status.FAIL]
    for one in errors:
        say(f"Error: {one.title}. {one.remedy.advice if one.remedy is not None else ''}".rstrip())
    if errors:
        say("The image will not work as it is: change the project's files, then write it again.")
    return bool(errors)
