"""`envkit dockerfile`: a Dockerfile for the plan, or another image format; builds it, or checks somebody's own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from envkit._startup.records import record, replace
from envkit.base.errors import RequestError
from envkit.base.shown import shown
from envkit.cli.complete import complete_file
from envkit.cli.options import (
    PlanOptions,
    mirrors_from,
    plan_options,
    project_of,
    request_from,
    request_options,
    taken,
)
from envkit.cli.output import fail_on_option, one_format, say, write_file, write_output
from envkit.render.file_reports import formats, formatted

if TYPE_CHECKING:
    from envkit.api.project_wishes import Project
    from envkit.image.options import ImageOptions
    from envkit.image.parts import Recipe
    from envkit.solver.model import Plan
    from envkit.tables import Matrix

FORMATS = (
    "dockerfile",
    "compose",
    "devcontainer",
    "github-workflow",
    "kubernetes",
    "apptainer",
    "conda",
    "requirements",
)
# Formats that build a Dockerfile written by another call, and where they look for it.
_BUILDERS = {"devcontainer": "next to it", "github-workflow": "in the root directory of the repository"}
_WORKFLOWS = ".github/workflows"
_LISTS = ("conda", "requirements")  # of Python packages alone


@record
class DockerfileOptions:
    """The options of one call that writes a file."""

    plan: PlanOptions
    image: ImageOptions
    target_format: str
    dockerignore: bool
    build: bool
    tag: str | None
    smoke: bool


@record
class CheckOptions:
    """The options of one call that checks a file."""

    file: str
    form: str | None
    fail_on: str
    fix: bool
    context: str | None


@click.command(
    epilog="""\b
Examples:
  envkit dockerfile --framework tensorflow > Dockerfile
  envkit dockerfile --framework pytorch --jupyter --build --smoke
  envkit dockerfile --framework pytorch --format compose > compose.yaml
  envkit dockerfile --framework pytorch --format github-workflow -o .github/workflows/image.yaml
  envkit dockerfile --framework pytorch --format kubernetes > job.yaml
  envkit dockerfile --project . -o Dockerfile
  envkit dockerfile --check Dockerfile --gpu "GeForce RTX 5090"
  envkit dockerfile --check Dockerfile --format github --fail-on warn
  envkit dockerfile --check Dockerfile --fix -o Dockerfile
  envkit dockerfile --check docker/Dockerfile --context ."""
)
@request_options
@click.option(
    "--from",
    "start",
    type=click.Choice(["build", "official"]),
    default="build",
    show_default=True,
    help="Build from a CUDA base image, or start from the framework's official image.",
)
@click.option("--base", metavar="IMAGE", help="Base image to use instead.")
@click.option("--digest", is_flag=True, help="Pin the base image by digest when one is known.")
@click.option("--devel", is_flag=True, help="Include nvcc and the CUDA headers.")
@click.option("--slim", is_flag=True, help="Start from the plain distribution image.")
@click.option("--no-syntax", is_flag=True, help="Omit the `# syntax=` line, for builders that cannot reach Docker Hub.")
@click.option("--pip", "pip", multiple=True, metavar="PKG", help="Additional Python package. Repeatable.")
@click.option(
    "--requirements", metavar="FILE", help="Install from this requirements file (relative to the build context)."
)
@click.option("--lock", metavar="FILE", help="Write a hash-pinned lock file to FILE and install from it in the image.")
@click.option("--apt", "apt", multiple=True, metavar="PKG", help="Additional distribution package. Repeatable.")
@click.option("--jupyter", is_flag=True, help="Install JupyterLab and start it by default.")
@click.option("--workdir", default="/workspace", show_default=True, metavar="DIR", help="Working directory.")
@click.option("--entrypoint", metavar="COMMAND", help="Container ENTRYPOINT.")
@click.option("--user", default="app", show_default=True, metavar="NAME", help="User name for UID 1000.")
@click.option(
    "--format",
    "target_format",
    type=click.Choice((*FORMATS, *formats())),
    metavar="NAME",
    help=f"Output format: {', '.join(FORMATS)}; with --check, the report format: {', '.join(formats())}. "
    "[default: dockerfile; with --check, from the --output file extension, else text]",
)
@click.option("--dockerignore", is_flag=True, help="Print the matching .dockerignore instead of the Dockerfile.")
@click.option(
    "--check",
    "checked",
    metavar="FILE",
    shell_complete=complete_file,
    help="Check this Dockerfile instead of writing one. No host is assumed unless --target, --gpu, or --driver is "
    "given.",
)
@click.option(
    "--fix",
    is_flag=True,
    help="With --check: print the smallest change that leaves fewer errors; with -o, the changed Dockerfile.",
)
@fail_on_option
@click.option(
    "--context",
    metavar="DIR",
    shell_complete=complete_file,
    help="With --check: the build context that COPY copies from. [default: the Dockerfile's directory]",
)
@click.option("--build", is_flag=True, help="Build the image with BuildKit.")
@click.option("--tag", metavar="NAME", help="Name for the built image.")
@click.option("--smoke", is_flag=True, help="After --build, run the smoke test in the image.")
def dockerfile(**given: Any) -> int:
    """Print a Dockerfile for the plan, or build it.

    Uses only base images known to be supported. CUDA releases without one are
    installed on the plain distribution image.
    """
    from envkit.tables import Matrix

    matrix = Matrix.load()
    if given["checked"] is not None:
        _refuse_beside_check(given)
        wanted = CheckOptions(
            given["checked"], given["target_format"], given["fail_on"], given["fix"], given["context"]
        )
        return _check(wanted, plan_options(given), matrix)
    if given["fix"]:
        raise RequestError("--fix requires --check.", "Add --check FILE.")
    if given["context"] is not None:
        raise RequestError("--context requires --check.", "Add --check FILE.")
    options = _options(given)
    project = project_of(options.plan, matrix)
    if project is not None:
        options = _with_packages(options, project)
    request = request_from(options.plan, matrix, container=True, project=project)
    from envkit.image.plan import image_plan
    from envkit.solver.model import NoPlan

    plan = image_plan(request, options.image, matrix)
    if isinstance(plan, NoPlan) and project is not None:
        plan = _looser(project, options, matrix) or plan
    if options.plan.as_json:
        from envkit.cli.resolve import exit_code, plan_json

        write_output(plan_json(plan), options.plan.output)
        return exit_code(plan)
    from envkit.render.plan_text import plan_summary

    say(plan_summary(plan))
    if isinstance(plan, NoPlan):
        return 1
    if options.dockerignore:
        from envkit.image.project import context_files
        from envkit.render.dockerignore import render_dockerignore

        write_output(render_dockerignore(context_files(options.image)), options.plan.output)
        return 0
    from envkit.image.recipe import recipe

    made = recipe(plan, options.image, mirrors_from(options.plan), matrix)
    wrong = False
    if project is not None and options.target_format not in _LISTS:
        from envkit.cli.own_check import tell_errors

        wrong = tell_errors(made, project, request, matrix)
    return _produce(made, options, wrong=wrong)


def _looser(project: Project, options: DockerfileOptions, matrix: Matrix) -> Plan | None:
    """The plan for the first of the project's looser wishes that has one; None where none has."""
    from envkit.image.plan import image_plan
    from envkit.solver.model import Plan

    for wishes in project.wishes.looser():
        looser = replace(project, wishes=wishes)
        plan = image_plan(request_from(options.plan, matrix, container=True, project=looser), options.image, matrix)
        if isinstance(plan, Plan):
            for note in wishes.notes:
                say(f"Note: {shown(note)}.")
            return plan
    return None


def _options(given: dict[str, Any]) -> DockerfileOptions:
    """The options as one record. Raises RequestError for a pair that contradicts itself."""
    from envkit.host.inputs import note_read
    from envkit.image.options import ImageOptions, ProjectParts, check_options

    if (given["smoke"] or given["tag"]) and not given["build"]:
        raise RequestError("--smoke and --tag require --build.", "Add --build.")
    official, syntax = given.pop("start") == "official", not given.pop("no_syntax")
    image = taken(ImageOptions, given, official=official, syntax=syntax, project=ProjectParts())
    del given["checked"], given["fail_on"], given["fix"], given["context"]
    given["target_format"] = _format_of_plan(given["target_format"])
    options = DockerfileOptions(plan_options(given), image, **given)
    check_options(image)
    if image.requirements is not None:
        note_read(image.requirements)  # by the image, from which it must not be taken
    _refuse_mirrors(options)
    return options


def _with_packages(options: DockerfileOptions, project: Project) -> DockerfileOptions:
    """The options with the project's own list, or the packages that it names; what is left out is reported."""
    from envkit.image.options import ProjectParts, check_files

    image, asked = options.image, project.wishes
    parts = ProjectParts(
        lines=asked.lines, apt=asked.apt, git=asked.git, missing=asked.left_out, frameworks=asked.planned
    )
    if project.requirements and image.requirements is None:
        compiled = asked.compiled if not (image.official or image.lock) else ()
        image = replace(image, requirements=project.requirements, pip=(*image.pip, *compiled))
        parts = replace(parts, hashed=project.hashed, included=project.included, local=asked.local, bounds=asked.bounds)
        check_files((project.requirements, *project.included))
        files = ", ".join((project.requirements, *project.included))
        say(f"Note: The image installs {shown(files)}; keep it next to the Dockerfile.")
    elif not project.requirements:
        image = replace(image, pip=(*image.pip, *asked.other, *asked.bounds))
    for line in (*asked.notes, *(f"Not in the image: {line}" for line in asked.left_out)):
        say(f"Note: {shown(line)}.")
    return replace(options, image=replace(image, project=parts))


def _format_of_plan(name: str | None) -> str:
    """Raises RequestError for a format of reports, which --check alone makes."""
    if name is not None and name not in FORMATS:
        raise RequestError(
            f"--format {name} is for reports on a Dockerfile.", f"Add --check FILE, or use: {', '.join(FORMATS)}."
        )
    return name or FORMATS[0]


def _refuse_beside_check(values: dict[str, Any]) -> None:
    """Raises RequestError for an option that shapes or builds an image, of which --check makes none."""
    context = click.get_current_context()
    judged = {"frameworks", "cuda", "cudnn", "python", "os_id", "arch", "gpus", "driver", "target", "as_json", "output"}
    judged |= {"checked", "fail_on", "fix", "target_format", "context", "mirrors", "index_url"}
    for parameter in context.command.params:
        given = values.get(parameter.name or "")
        if parameter.name in judged or given == parameter.get_default(context):
            continue
        if given:
            raise RequestError(
                f"{parameter.opts[0]} cannot be combined with --check, which writes no file.", "Omit one of them."
            )


def _produce(made: Recipe, options: DockerfileOptions, *, wrong: bool) -> int:
    """Writes the file, and builds it unless something is wrong with it; the exit status."""
    for note in made.notes:
        if note not in made.plan.warnings:
            say(f"Note: {note}")
    for note in _format_notes(made, options.target_format):
        say(f"Note: {note}")
    if options.image.lock:
        _write_lock(made, options.image.lock)
    text = render(made, options.target_format)
    if not options.build or wrong:
        write_output(text, options.plan.output)
        return int(wrong)
    if options.target_format != "dockerfile":
        raise RequestError("--build builds Dockerfiles only.", "Omit --format.")
    if options.plan.output:
        write_output(text, options.plan.output)
    return _build(made, text, options)


def _format_notes(recipe: Recipe, target_format: str) -> Iterator[str]:
    """What the user should know of this format alone."""
    if target_format in _LISTS:
        from envkit.image.limits import loader_notes

        yield from loader_notes(recipe)
    if target_format in _BUILDERS:
        yield f"it builds the Dockerfile {_BUILDERS[target_format]}; write that with the same options: {_same_image()}"


def _same_image() -> str:
    """The command that writes the Dockerfile with the options of this call."""
    import os
    import shlex

    context = click.get_current_context()
    words = ["envkit", "dockerfile"]
    for parameter in context.command.params:
        given = context.params.get(parameter.name or "")
        if parameter.name in ("target_format", "output") or not given or given == parameter.get_default(context):
            continue
        flag = isinstance(parameter, click.Option) and parameter.is_flag
        for value in given if isinstance(given, tuple) else (given,):
            words += [parameter.opts[0]] if flag else [parameter.opts[0], str(value)]
    folder = os.path.dirname(context.params["output"] or "")
    if folder.endswith(_WORKFLOWS):
        folder = folder.removesuffix(_WORKFLOWS).rstrip("/")
    beside = os.path.join(folder, "Dockerfile")
    return shlex.join([*words, "-o", beside])


def _refuse_mirrors(options: DockerfileOptions) -> None:
    """Raises RequestError for a mirror of a distribution where the format names no packages of one."""
    for text in options.plan.mirrors if options.target_format in _LISTS else ():
        name = text.partition("=")[0]
        if name in ("apt", "yum"):
            raise RequestError(
                f"--format {options.target_format}: --mirror {name}= applies only to an image.",
                "Use --format dockerfile, or omit that mirror.",
            )


def _write_lock(recipe: Recipe, file: str) -> None:
    from envkit.documents.packages import in_one_file
    from envkit.host.lock import locked
    from envkit.image.limits import packages_of

    choice = recipe.plan.choice
    if choice.python is None or not recipe.pip:
        raise RequestError("--lock: this plan installs no Python packages.", "Omit --lock.")
    write_file(locked(in_one_file(packages_of(recipe), "lock"), choice.python, choice.architecture), file)
    say(f"Wrote {file}: keep it next to the Dockerfile.")


def render(recipe: Recipe, target_format: str) -> str:
    """The recipe in that format. Raises EnvkitError for what the format cannot express."""
    from importlib import import_module

    name = target_format.replace("-", "_")
    module = import_module(f"envkit.render.{name}")
    text: str = getattr(module, f"render_{name}")(recipe)
    return text


def _build(recipe: Recipe, text: str, options: DockerfileOptions) -> int:
    from envkit.host.docker_build import build, smoke

    tag = options.tag or recipe.name
    build(text, tag, say, recipe.context)
    say(f"Built {tag}.")
    if options.smoke:
        say(smoke(tag, recipe.plan.choice.cuda is not None, recipe.needs_driver, say))
    return 0


def _check(wanted: CheckOptions, options: PlanOptions, matrix: Matrix) -> int:
    from envkit.api.report import file_change, file_report
    from envkit.cli.changed_file import refuse_formats, show_change
    from envkit.host.limits import limited
    from envkit.render.check_report import exit_code

    file, form = wanted.file, wanted.form
    if form in FORMATS:
        raise RequestError(f"--check writes no {form}.", f"Omit --format, or use: {', '.join(formats())}.")
    if wanted.fix:
        refuse_formats(form, as_json=options.as_json)
    form = one_format(form, options.as_json, options.output, formats())
    source = click.get_current_context().get_parameter_source("target")
    if source is ParameterSource.DEFAULT:  # what a file is worth does not change with the machine that asks
        options = replace(options, target="any")
    request = request_from(options, matrix, container=True)
    with limited(f"--check: {file}"):
        if wanted.fix:
            return show_change(*file_change(file, request, matrix, "--check", wanted.context), options.output)
        report = file_report(file, request, matrix, "--check", wanted.context)
        text = formatted([report.checked], form)
    write_output(text, options.output)
    return exit_code(report.findings, wanted.fail_on)
