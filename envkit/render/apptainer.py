"""A recipe as an Apptainer definition file."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator

from envkit._startup.records import record
from envkit.image.limits import refuse
from envkit.image.options import ImageOptions
from envkit.image.parts import Arguments, Copy, Environment, Recipe, Run, Stage, Step
from envkit.render.dockerfile import missing_lines
from envkit.render.templating import template


@record
class Section:
    """One stage of a definition file: where it starts, what it takes from others, what it runs."""

    name: str
    image: str
    files: tuple[tuple[str, str, str], ...]  # stage, source, target
    context: tuple[tuple[str, str], ...]
    commands: tuple[str, ...]


def render_apptainer(recipe: Recipe) -> str:
    """The definition file of the recipe. Raises EnvkitError for what Apptainer cannot express."""
    reasons = []
    if recipe.runtime.health:
        reasons.append("Apptainer has no health checks and no published ports, which --jupyter needs")
    if recipe.runtime.user != ImageOptions().user:
        reasons.append("Apptainer containers run as the user who starts them, not as the user given with --user")
    refuse("apptainer", reasons)
    sections = _sections(recipe)
    variables: dict[str, str] = {}
    for step in recipe.final.steps:
        if isinstance(step, Environment):
            variables |= step.values
    variables |= recipe.runtime.environment
    return template("dockerfiles", "apptainer.def.j2").render(
        recipe=recipe,
        missing=missing_lines(recipe),
        sections=sections,
        entrypoint=shlex.join(recipe.runtime.entrypoint),  # a shell reads it here, and in a Dockerfile none
        variables={name: value.replace('"', '\\"') for name, value in variables.items()},
        indent=lambda text: text.replace("\n", " \\\n        "),
    )


def _sections(recipe: Recipe) -> tuple[Section, ...]:
    """The stages, each from an image: one that starts from another stage repeats that stage's commands.

    A stage that only others start from is left out. Files are copied before any command runs, which Apptainer
    does in every stage; the copied folders are those of no package, so the order does not matter.
    """
    by_name = {stage.name: stage for stage in recipe.stages}
    used = {copy.stage for stage in recipe.stages for copy in _copies(stage.steps)}
    return tuple(_section(stage, by_name) for stage in recipe.stages if stage.name in used or stage is recipe.final)


def _copies(steps: Iterable[Step]) -> Iterator[Copy]:
    """What the steps take from other stages, for good or while they run: Apptainer knows but the former."""
    for step in steps:
        if isinstance(step, Copy):
            yield step
        elif isinstance(step, Run) and step.taken:
            yield step.taken


def _section(stage: Stage, by_name: dict[str, Stage]) -> Section:
    chain = [stage]
    while chain[0].base.image in by_name:
        chain.insert(0, by_name[chain[0].base.image])
    steps = [step for part in chain for step in part.steps]
    copies = tuple((copy.stage, copy.source, copy.target) for copy in _copies(steps))
    runs = [step for step in steps if isinstance(step, Run)]
    context = tuple((part[0], part[2]) for part in (bind.partition(":") for run in runs for bind in run.bind))
    commands: list[str] = []
    for step in steps:
        if isinstance(step, Environment):
            commands += [f'export {name}="{value}"' for name, value in step.values.items()]
        elif isinstance(step, Arguments):
            commands += [f'export {name}="{value}"' for name, value in step.names.items() if value is not None]
        elif isinstance(step, Run):
            commands += [*(f"mkdir -p {folder}" for folder in step.caches), *step.commands]
    return Section(stage.name, chain[0].base.reference, copies, context, tuple(commands))
