"""The options of every command that ends with a fleet's report, and that end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from envkit._startup.records import record
from envkit.cli.complete import complete_file
from envkit.cli.output import one_format, output_option, write_output
from envkit.render.fleet import formats

if TYPE_CHECKING:
    from envkit.fleet.baseline import Baseline
    from envkit.fleet.model import FleetReport, HostResult

F = TypeVar("F", bound=Callable[..., Any])
_FORMATS = formats()
_SHOWN = 5
_OPTIONS = [
    click.option(
        "--baseline",
        default="majority",
        show_default=True,
        metavar="majority|none|FILE",
        shell_complete=complete_file,
        help="What to compare machines with: the majority of similar machines, nothing, or a baseline file.",
    ),
    click.option(
        "--group-by",
        "group_by",
        metavar="TRAIT,...",
        help="Compare only machines that have these traits in common. [default: gpu,architecture]",
    ),
    click.option(
        "--format",
        "form",
        type=click.Choice(_FORMATS),
        help="Report format. [default: from the --output file extension, else text]",
    ),
    click.option("--json", "as_json", is_flag=True, help="Same as --format json."),
    click.option(
        "--nodes",
        type=click.Path(file_okay=False),
        metavar="DIR",
        help="Also write passing_nodes.txt, failing_nodes.txt, and unknown_nodes.txt to DIR.",
    ),
    click.option("--strict", is_flag=True, help="Warnings, unknown hosts, and drift also make the exit status 1."),
    click.option(
        "--mask", is_flag=True, help="Replace host names with numbers, and redact names, addresses, and serial numbers."
    ),
    click.option("--verbose", "-v", is_flag=True, help="Also show traits without a majority."),
]


@record
class ReportOptions:
    """What `report_options` adds to a command."""

    baseline: Baseline | None
    compare: bool
    alike: tuple[str, ...]
    form: str
    nodes: str | None
    strict: bool
    mask: bool
    verbose: bool
    output: str | None


def report_options(function: F) -> F:
    """Adds every option of a fleet's report and `-o`; the command takes them among its keyword arguments."""
    function = output_option(function)
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def asked(given: dict[str, Any]) -> ReportOptions:
    """What these options say, checked before any work is done. Raises RequestError or SourceError."""
    from envkit.base.errors import RequestError
    from envkit.fleet.report import MAJORITY, NOTHING

    baseline = given["baseline"]
    form = one_format(given["form"], given["as_json"], given["output"], _FORMATS)
    if given["mask"] and form == "kubectl":
        raise RequestError("--mask: the kubectl commands need the names of the nodes.", "Omit --mask.")
    return ReportOptions(
        None if baseline in (MAJORITY, NOTHING) else _baseline(baseline),
        baseline != NOTHING,
        _alike(given["group_by"]),
        form,
        *(given[name] for name in ("nodes", "strict", "mask", "verbose", "output")),
    )


def reported(hosts: Sequence[HostResult], options: ReportOptions) -> int:
    """Prints or writes the report of the hosts and returns the exit code."""
    from envkit.fleet.report import exit_code, fleet_report, headline, masked

    named = masked(hosts) if options.mask else hosts
    fleet = fleet_report(named, options.baseline, compare=options.compare, alike=options.alike)
    if options.nodes is not None:
        _write_nodes(fleet, options.nodes)
        _say_omitted(fleet, "node lists")
    write_output(_rendered(fleet, options), options.output, told=headline(fleet))
    if options.form == "kubectl":
        _say_omitted(fleet, "script")
    return exit_code(fleet, strict=options.strict)


def _baseline(path: str) -> Baseline:
    from envkit.base.errors import SourceError
    from envkit.fleet.baseline import read_baseline
    from envkit.fleet.report import MAJORITY, NOTHING
    from envkit.host.limits import limited
    from envkit.ingest.sources import read_file

    try:
        text = read_file(path, "--baseline")
    except SourceError as error:
        hint = f"Pass {MAJORITY}, {NOTHING}, or a TOML file that `envkit fleet baseline` wrote."
        raise SourceError(error.message, hint) from error
    with limited(f"--baseline: {path}"):
        return read_baseline(text, path)


def _alike(group_by: str | None) -> tuple[str, ...]:
    from envkit.base.errors import RequestError, did_you_mean
    from envkit.fleet.drift import ALIKE
    from envkit.fleet.traits import KEYS

    if group_by is None:
        return ALIKE
    all_traits = f"Traits are {', '.join(KEYS)}."
    keys = tuple(filter(None, (key.strip() for key in group_by.split(","))))
    for key in keys:
        if key not in KEYS:
            hint = did_you_mean(key, KEYS) or all_traits
            raise RequestError(f"--group-by: unknown trait {key!r}.", hint)
    if not keys:
        raise RequestError("--group-by is empty.", all_traits)
    return keys


def _rendered(fleet: FleetReport, options: ReportOptions) -> str:
    from envkit.cli.terminal import paper
    from envkit.render.fleet import FIRST, formatted
    from envkit.render.reports import Look

    page = paper(options.output is not None)
    look = Look(options.verbose, page.color, page.width)
    text = formatted(fleet, options.form, look)
    return page.fitted(text) if options.form == FIRST else text


def _write_nodes(fleet: FleetReport, folder: str) -> None:
    import os

    from envkit.base.errors import OutputError
    from envkit.cli.output import write_file
    from envkit.fleet.report import node_lists

    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise OutputError(f"--nodes: cannot create {folder}: {error.strerror}.", "Choose another directory.") from error
    lists = node_lists(fleet)
    for name, hosts in lists.items():
        place = os.path.join(folder, f"{name}_nodes.txt")
        if os.path.islink(place):  # its name is not the user's choice
            raise OutputError(f"--nodes: {place} is a link, and envkit does not write through links.", "Remove it.")
        write_file("".join(f"{host}\n" for host in hosts), place, option="--nodes")


def _say_omitted(fleet: FleetReport, product: str) -> None:
    """Which hosts are left out of what schedulers read, since their names cannot be those of nodes."""
    from envkit.cli.output import say
    from envkit.fleet.report import is_node

    names = [host.name for host in fleet.hosts if not is_node(host.name)]
    if names:
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        shown = ", ".join(map(repr, names[:_SHOWN])) + more
        say(f"Omitted from the {product}, because a node cannot have this name: {shown}.")
