"""`envkit bench`: measured, possible and published in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from envkit.base.errors import SourceError
from envkit.cli.complete import complete_file
from envkit.cli.options import taken
from envkit.cli.output import one_format, output_option, refuse_unwritable, say, write_output, write_over

if TYPE_CHECKING:
    from collections.abc import Sequence

    from envkit.bench.verdicts import Verdict
    from envkit.cli.bench_run import Bench

_FORMATS = ["text", "json", "markdown", "html", "prometheus"]
_FRAMEWORKS = ["pytorch", "tensorflow", "mxnet"]


@click.command(
    epilog="""\b
Examples:
  envkit bench
  envkit bench resnet-50 lstm-32 --device cpu --threads 1,2,4
  envkit bench copy membw gemm --precision fp32,tf32,bf16
  envkit bench --python /opt/venv/bin/python --save-baseline today.json
  envkit bench --baseline today.json -o bench.html"""
)
@click.argument("workloads", nargs=-1, metavar="[WORKLOAD]...")
@click.option(
    "--device",
    default="",
    metavar="all|cpu|gpu|N",
    help=("Device to measure. [default: the GPUs, or the CPU if there is none]"),
)
@click.option(
    "--framework",
    "frameworks",
    multiple=True,
    type=click.Choice(_FRAMEWORKS),
    help="Measure only this framework. Repeatable.",
)
@click.option("--python", "pythons", multiple=True, metavar="PATH", shell_complete=complete_file,
              help="Environment to measure: its directory or its Python. Repeatable. [default: the ones that doctor "
              "finds]")  # fmt: skip
@click.option("--batch", metavar="N,N", help="Mini-batch sizes. [default: those of the published figures]")
@click.option("--threads", metavar="N,N", help="CPU threads. [default: the available physical cores]")
@click.option("--precision", metavar="NAME,NAME", help="fp32, tf32, fp16, or bf16.")
@click.option(
    "--seconds",
    type=click.FloatRange(0.1, 600),
    metavar="SECONDS",
    default=5,
    show_default=True,
    help="How long to time each workload.",
)
@click.option(
    "--limit",
    type=click.FloatRange(1, 3600),
    metavar="SECONDS",
    default=120,
    show_default=True,
    help="Time limit for each workload.",
)
@click.option("--baseline", metavar="FILE", shell_complete=complete_file, help="Compare with an earlier run.")
@click.option("--save-baseline", metavar="FILE", help="Write the medians to FILE.")
@click.option("--strict", is_flag=True, help="Also exit with status 1 for unknown verdicts.")
@click.option("--json", "as_json", is_flag=True, help="Same as --format json.")
@click.option("--format", "form", type=click.Choice(_FORMATS), help="Output format. [default: text]")
@output_option
def bench(
    baseline: str | None,
    save_baseline: str | None,
    strict: bool,
    as_json: bool,
    form: str | None,
    output: str | None,
    **given: Any,
) -> int:
    """Measure copies, memory bandwidth, matrix multiplication, and neural networks, and compare the results with
    hardware limits and published figures.

    Workloads: copy gemm membw fcn-s fcn-5 fcn-r alexnet-s alexnet-r resnet-50 resnet-56 lstm-32 lstm-64. A step is
    zero_grad, forward, loss, backward, and an SGD update on synthetic data.
    """
    from envkit.cli.bench_run import Bench, BenchOptions

    options = taken(BenchOptions, given)
    chosen = one_format(form, as_json, output, _FORMATS)
    medians = _baseline(baseline)
    run = Bench(options, medians)
    for option, path in (("--output", output), ("--save-baseline", save_baseline)):
        refuse_unwritable(path, option)  # before the minutes of measuring
    verdicts = run.verdicts()
    for note in run.notes:
        say(f"Note: {note}.")
    write_output(_rendered(chosen, verdicts, run, output), output)
    if not verdicts and not run.notes:
        say("Nothing was measured: these workloads need a GPU.")
    if save_baseline is not None:
        _save(verdicts, save_baseline)
    return _status(verdicts, strict)


def _save(verdicts: Sequence[Verdict], path: str) -> None:
    """Raises OutputError where there is nothing to keep: the file stays as it was."""
    from envkit.base.errors import OutputError
    from envkit.base.json_text import dumps
    from envkit.bench.verdicts import steady
    from envkit.documents.bench import baseline_document

    if all(row.measurement.value is None for row in verdicts):
        raise OutputError(f"--save-baseline: nothing was measured, so {path} was not written.", "The notes say why.")
    # the baseline that was read may be brought up to date
    write_over(dumps(baseline_document(verdicts)).encode(), path, option="--save-baseline")
    noisy = [row.measurement.job.id for row in verdicts if row.measurement.value is not None and not steady(row)]
    if noisy:
        say(
            f"Note: Too noisy for a good baseline: {', '.join(dict.fromkeys(noisy))}. Stop other programs, or measure "
            "longer with --seconds."
        )


def _baseline(path: str | None) -> dict[str, float] | None:
    if path is None:
        return None
    from envkit.base.errors import LimitError
    from envkit.base.json_text import loads
    from envkit.documents.bench import read_baseline
    from envkit.host.user_file import read_user_file

    try:
        document = loads(read_user_file("--baseline", path))
    except LimitError as error:
        raise LimitError(f"--baseline: {path}: {error.message}", "Create one with --save-baseline.") from None
    except ValueError as error:
        raise SourceError(f"--baseline: {path} is not JSON.", "Create one with --save-baseline.") from error
    return read_baseline(document, path)


def _rendered(form: str, verdicts: Sequence[Verdict], run: Bench, output: str | None) -> str:
    if form == "json":
        from envkit.base.json_text import dumps
        from envkit.documents.bench import bench_document

        return dumps(bench_document(verdicts, run.cpu, run.notes))
    from envkit.base.shown import shown_lines
    from envkit.render.bench_prometheus import bench_prometheus
    from envkit.render.bench_report import bench_html, bench_markdown, bench_text

    if form == "html":
        return bench_html(verdicts)
    if form == "markdown":
        return bench_markdown(verdicts)
    if form == "prometheus":
        return bench_prometheus(verdicts)
    from envkit.cli.terminal import paper

    page = paper(output is not None)
    return page.fitted(shown_lines(bench_text(verdicts, page.width)))


def _status(verdicts: Sequence[Verdict], strict: bool) -> int:
    """1 where something is low or nothing could be measured; with `strict` also where a verdict is unknown."""
    measured = [row for row in verdicts if row.measurement.value is not None]
    bad = {"low", "unknown"} if strict else {"low"}
    return 1 if not measured or any(row.status in bad for row in verdicts) else 0
