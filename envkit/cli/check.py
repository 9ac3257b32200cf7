"""`envkit check`: does what this project's file installs run on this machine, or on another one?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from envkit._startup.records import replace
from envkit.base.platforms import ARCHITECTURES
from envkit.cli.complete import complete_file, complete_gpu, complete_os, complete_python, complete_target
from envkit.cli.output import fail_on_option, one_format, output_option, write_output
from envkit.render.file_reports import formats, formatted

if TYPE_CHECKING:
    from envkit.solver.request import Request, RequestWords
    from envkit.tables import Matrix


@click.command(
    epilog="""\b
Examples:
  envkit check requirements.txt
  envkit check uv.lock --gpu "GeForce RTX 5090" --driver 575.57.08
  envkit check pyproject.toml environment.yml --target capture/ --json
  envkit check requirements.txt --driver 535.183.01 --fix
  envkit check requirements.txt Dockerfile --format github --fail-on warn
  envkit check uv.lock -o envkit.sarif"""
)
@click.argument("files", nargs=-1, required=True, metavar="FILE...", shell_complete=complete_file)
@click.option(
    "--gpu",
    "gpus",
    multiple=True,
    metavar="NAME_OR_CC",
    shell_complete=complete_gpu,
    help="GPU (name or compute capability) that the project must run on, e.g. 'GeForce RTX 5090' or 8.6. Repeatable.",
)
@click.option("--driver", metavar="VERSION", help="Driver that the project must run with, e.g. 550.54.15.")
@click.option("--os", "os_id", metavar="ID", shell_complete=complete_os, help="Target OS, e.g. ubuntu22.04 or windows.")
@click.option("--arch", type=click.Choice(ARCHITECTURES), help="CPU architecture. [default: the target's]")
@click.option(
    "--python",
    metavar="VERSION",
    shell_complete=complete_python,
    help="Python version that the project must run on, e.g. 3.12.",
)
@click.option(
    "--target",
    default="this",
    show_default=True,
    metavar="this|any|PATH",
    shell_complete=complete_target,
    help="Target to check against: this machine, any machine, or the machine described by the capture or report at "
    "PATH.",
)
@click.option("--extra", "extras", multiple=True, metavar="NAME", help="Also check this extra. Repeatable.")
@click.option(
    "--fix",
    is_flag=True,
    help="Print the smallest change that makes the file work on the target; with -o, write the changed file instead.",
)
@fail_on_option
@click.option("--json", "as_json", is_flag=True, help="Same as --format json.")
@click.option(
    "--format",
    "form",
    type=click.Choice(formats()),
    help="Report format. [default: from the --output file extension, else text]",
)
@output_option
def check(
    files: tuple[str, ...],
    gpus: tuple[str, ...],
    driver: str | None,
    os_id: str | None,
    arch: str | None,
    python: str | None,
    target: str,
    extras: tuple[str, ...],
    fix: bool,
    fail_on: str,
    as_json: bool,
    form: str | None,
    output: str | None,
) -> int:
    """Check whether the packages that a project file requests will run on this machine, or with the given GPU and
    driver.

    Reads requirements.txt, pyproject.toml, Pipfile, lock files (uv, Poetry, PDM,
    pylock, Pipenv, conda-lock, pixi), environment.yml, pixi.toml, setup.py,
    setup.cfg, and Dockerfiles. Does not execute any of them.
    """
    from envkit.api.project import project_report
    from envkit.host.limits import limited
    from envkit.render.check_report import exit_code
    from envkit.solver.request import RequestWords
    from envkit.tables import Matrix

    matrix = Matrix.load()
    words = RequestWords(python=python, os_id=os_id, arch=arch, gpus=gpus, driver=driver)
    request = _request(words, target, matrix)
    if fix:
        from envkit.cli.changed_file import refuse_formats

        refuse_formats(form, as_json=as_json)
        return _fixed(files, request, extras, output, matrix, gpu_meant=target != "any")
    form = one_format(form, as_json, output, formats())
    reports = []
    for file in files:
        with limited(f"check: {file}"):
            reports.append(project_report(file, request, matrix, extras, gpu_meant=target != "any"))
    with limited("check"):  # of thousands of findings the telling takes longest
        text = formatted([report.checked for report in reports], form)
    write_output(text, output)
    return max(exit_code(report.findings, fail_on) for report in reports)


def _fixed(
    files: tuple[str, ...],
    request: Request,
    extras: tuple[str, ...],
    output: str | None,
    matrix: Matrix,
    *,
    gpu_meant: bool,
) -> int:
    """Prints the change of one file, or writes the changed file; 1 where something stays wrong."""
    from envkit.api.project import project_change
    from envkit.base.errors import RequestError
    from envkit.cli.changed_file import show_change
    from envkit.host.limits import limited

    if len(files) > 1:
        raise RequestError("--fix works on one file at a time.", "Pass one.")
    with limited(f"check: {files[0]}"):
        text, change, report = project_change(files[0], request, matrix, extras, gpu_meant=gpu_meant)
        return show_change(text, change, report, output)


def _request(words: RequestWords, target: str, matrix: Matrix) -> Request:
    """The target of the check, completed from a machine. Raises RequestError or SourceError."""
    from envkit.cli.environment import target_environment
    from envkit.solver.parse import parse_request
    from envkit.solver.target import for_environment

    request = parse_request(words, matrix, container=False)
    if target == "any" or (target == "this" and words.gpus and words.driver and words.os_id):
        return request
    completed = for_environment(request, target_environment(target, matrix), matrix)
    return replace(completed, container=False)
