"""The request options, the same on `resolve`, `install` and `dockerfile`: typed at once, then a `Request`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from envkit._startup.records import record, types_of
from envkit.base.errors import RequestError
from envkit.base.platforms import ARCHITECTURES
from envkit.base.sentences import series
from envkit.cli.complete import (
    complete_cuda,
    complete_cudnn,
    complete_file,
    complete_framework,
    complete_gpu,
    complete_os,
    complete_python,
    complete_target,
)
from envkit.cli.output import output_option, say
from envkit.solver.request import RequestWords

if TYPE_CHECKING:
    from envkit.api.project_wishes import Project
    from envkit.base.settings import Mirrors
    from envkit.solver.request import Request
    from envkit.tables import Matrix

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


class Architecture(click.Choice):  # type: ignore[type-arg]  # the parameter is newer than the oldest click
    """A processor; for one that is known not to be covered the error says where its packages are."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401 - click's own signature
        """The processor as it is written."""
        if value not in self.choices:
            from envkit.solver.not_covered import refuse_architecture

            refuse_architecture(str(value), ARCHITECTURES)
        return super().convert(value, param, ctx)


_OPTIONS = [
    click.option(
        "--framework",
        "frameworks",
        multiple=True,
        metavar="NAME[SPEC]",
        shell_complete=complete_framework,
        help="Framework and version, e.g. pytorch, tensorflow==1.12, or 'mxnet>=1.5'. Repeatable.",
    ),
    click.option(
        "--cuda", metavar="SPEC", shell_complete=complete_cuda, help="CUDA version, e.g. 9.0, 12.4.1, or '>=12'."
    ),
    click.option(
        "--cudnn",
        metavar="SPEC",
        shell_complete=complete_cudnn,
        help="cuDNN version, e.g. 7.6 or '>=9'. The install script puts cuDNN in the toolkit directory.",
    ),
    click.option("--python", metavar="SPEC", shell_complete=complete_python, help="Python version, e.g. 3.10."),
    click.option(
        "--os",
        "os_id",
        metavar="ID",
        shell_complete=complete_os,
        help="Target OS, e.g. ubuntu22.04, rockylinux9, windows, or wsl.",
    ),
    click.option("--arch", type=Architecture(ARCHITECTURES), help="CPU architecture. [default: the target's]"),
    click.option(
        "--gpu",
        "gpus",
        multiple=True,
        metavar="NAME_OR_CC",
        shell_complete=complete_gpu,
        help="GPU name or compute capability, e.g. 'GeForce GTX 1080 Ti', 8.6, or sm_86. Repeatable; the plan must "
        "work on every GPU given.",
    ),
    click.option("--driver", metavar="VERSION", help="Driver version that the plan must work with, e.g. 550.54.15."),
    click.option(
        "--project",
        metavar="PATH",
        shell_complete=complete_file,
        help="Plan for the frameworks, CUDA version, and Python version that a project requires. PATH is a directory, "
        "or a requirements, lock, or project file. Other options take precedence.",
    ),
    click.option(
        "--target",
        default="this",
        show_default=True,
        metavar="this|any|PATH",
        shell_complete=complete_target,
        help="What to plan for: this machine, any machine, or the machine described by the capture or report at PATH.",
    ),
    click.option(
        "--mirror",
        "mirrors",
        multiple=True,
        metavar="HOST=URL",
        help="Use a mirror for a download host. apt=URL and yum=URL have no effect on the install script, which "
        "does not change the machine's package mirrors. Repeatable.",
    ),
    click.option("--index-url", metavar="URL", help="Python package index to use instead of the default."),
    click.option("--json", "as_json", is_flag=True, help="Print the plan as JSON."),
]


def names_of_list(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[str, ...]:
    """The names in a list with commas, each once and in order. Raises RequestError for a list with nothing in it."""
    if value is None:
        return ()
    names = {name.strip().lower() for name in value.split(",")} - {""}
    if not names:
        raise RequestError(f"{param.opts[0]}: the list is empty.", f"Example: {param.opts[0]} nvcc,cudart,cublas")
    return tuple(sorted(names))


@record
class PlanOptions:
    """The options that every command with a plan has."""

    words: RequestWords
    project: str | None
    target: str  # this, any, or the path of a recording
    mirrors: tuple[str, ...]
    index_url: str | None
    as_json: bool
    output: str | None


def request_options(function: F) -> F:
    """Adds every request option and `-o`; the command takes them among its keyword arguments."""
    function = output_option(function)
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def plan_options(given: dict[str, Any]) -> PlanOptions:
    """What `request_options` added to a command's keyword arguments, taken out of them."""
    return taken(PlanOptions, given, words=taken(RequestWords, given))


def taken(kind: type[T], given: dict[str, Any], **made: Any) -> T:  # noqa: ANN401 - what the fields hold
    """A record whose fields, but those in `made`, have the names of keyword arguments; they are taken out of these."""
    return kind(**{name: made[name] if name in made else given.pop(name) for name in types_of(kind)})


def request_from(
    options: PlanOptions, matrix: Matrix, *, container: bool = False, project: Project | None = None
) -> Request:
    """The request that the options make, completed from the project and the target machine.

    `project`: the one that `--project` names, where it was read already. Raises RequestError or SourceError.
    """
    from envkit._startup.records import replace
    from envkit.cli.environment import target_environment
    from envkit.solver.parse import parse_request
    from envkit.solver.target import for_environment

    project = project or project_of(options, matrix)
    words = options.words if project is None else _with_project(options.words, project, matrix)
    request = parse_request(words, matrix, container=container)
    if options.target == "any":
        return replace(request, asked=request.asked | {"target"})
    return for_environment(request, target_environment(options.target, matrix), matrix)


def project_of(options: PlanOptions, matrix: Matrix) -> Project | None:
    """The project that `--project` names, if it is given. Raises RequestError or SourceError."""
    if options.project is None:
        return None
    from envkit.api.project_wishes import read_project

    return read_project(options.project, options.words.arch or ARCHITECTURES[0], matrix)


def _with_project(words: RequestWords, project: Project, matrix: Matrix) -> RequestWords:
    """The options' words with those of the project, which the user is told."""
    from envkit.base.shown import shown
    from envkit.project.wishes import with_wishes

    words = with_wishes(words, project.wishes, matrix)
    versions = (f"{name} {text}" for name, text in (("CUDA", words.cuda), ("Python", words.python)) if text)
    say(f"{shown(series(project.files))}: {shown(', '.join((*words.frameworks, *versions)))}")
    return words


def mirrors_from(options: PlanOptions) -> Mirrors:
    """The user's mirrors: config file first, then the options. Raises RequestError."""
    from envkit.cli.config import configured_mirrors

    return configured_mirrors().with_options(options.mirrors, options.index_url)
