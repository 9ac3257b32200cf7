"""`envkit recommend machine`: whether a machine carries its cards."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any

import click

from envkit._startup.regex import regex
from envkit.base.errors import RequestError
from envkit.cli.complete import complete_gpu, complete_target
from envkit.cli.output import one_format, output_option, say, write_output

if TYPE_CHECKING:
    from envkit.advice.build import Machine, Present
    from envkit.tables import Matrix

_CIRCUIT = regex(r"(\d{2,3})\s{0,2}[vV]\s{0,2}[x*/,]?\s{0,2}(\d{1,3})\s{0,2}[aA]")
_SLOT = regex(r"x?(1|2|4|8|16)")


@click.command(
    epilog="""\b
Examples:
  envkit recommend machine --gpu "RTX 3090" --psu 650
  envkit recommend machine --target this --gpu "RTX 5090" --psu 1200
  envkit recommend machine --gpu "RTX 3090 x4" --psu 1600 --slots x16,x8,x8,x4 --pcie 4 --circuit 120V15A""",
)
@click.option("--gpu", "gpus", multiple=True, metavar="NAME[xN]", shell_complete=complete_gpu,
              help="Card and quantity. Repeatable.")  # fmt: skip
@click.option(
    "--target",
    metavar="this|PATH",
    shell_complete=complete_target,
    help="Add the cards to this machine, or to the machine in a capture.",
)
@click.option("--cpu-watts", type=click.IntRange(1, 10_000), metavar="W", help="Power draw of the CPUs. [default: 125]")
@click.option("--psu", type=click.IntRange(1, 100_000), metavar="W", help="Total power of the power supplies.")
@click.option("--slots", metavar="x16,x8,...", help="Lanes of each slot that holds a card.")
@click.option("--pcie", type=click.IntRange(1, 6), metavar="GENERATION", help="PCIe generation of the slots.")
@click.option("--circuit", metavar="230V10A", help="Voltage and breaker of the circuit.")
@click.option(
    "--memory", type=click.FloatRange(min=1, max=100_000), metavar="GIB", help="Memory of the machine, in GiB."
)
@click.option("--cooling", type=click.Choice(["blower", "open", "passive"]), help="How the cards are cooled.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--verbose", "-v", is_flag=True, help="Also list the sources for each statement.")
@output_option
def machine(as_json: bool, verbose: bool, output: str | None, **given: Any) -> int:
    """Check a build: power supply, cables, circuit, PCIe lanes, airflow, and memory."""
    from envkit.advice.build import judged
    from envkit.tables import Matrix

    matrix = Matrix.load()
    planned = _machine(given, matrix, _present(given["target"], matrix))
    judgements = judged(planned, matrix)
    if one_format(None, as_json, output, ["text", "json"]) == "json":
        from envkit.base.json_text import dumps
        from envkit.documents.recommend import machine_document

        text = dumps(machine_document(planned, judgements))
    else:
        from envkit.base.shown import shown_lines
        from envkit.cli.terminal import paper
        from envkit.render.recommend_text import machine_text

        page = paper(output is not None)
        text = page.fitted(shown_lines(machine_text(planned, judgements, page.width, verbose=verbose)))
    write_output(text, output)
    return 1 if any(row.status == "fail" for row in judgements) else 0


def _present(target: str | None, matrix: Matrix) -> tuple[Present, ...]:
    """The GPUs that are in the machine already; none where no machine was named. Raises RequestError, SourceError."""
    if target is None:
        return ()
    from envkit.advice.cards import all_cards
    from envkit.advice.present import present_gpus
    from envkit.cli.environment import target_environment

    found, unknown = present_gpus(target_environment(target, matrix), all_cards(matrix), matrix)
    if unknown:
        say(f"Note: {unknown} of its GPUs are not in the tables and were left out.")
    return found


def _machine(given: dict[str, Any], matrix: Matrix, present: tuple[Present, ...]) -> Machine:
    from envkit.advice.build import Machine
    from envkit.advice.cards import all_cards
    from envkit.advice.named_cards import ambiguous, counted

    if not given["gpus"] and not present:
        told = (
            "No GPU was found in that machine."
            if given["target"]
            else ("Add --target this to check this machine as it is.")
        )
        raise RequestError("--gpu is missing: pass a card.", told)
    cards = all_cards(matrix)
    planned = []
    for word in given["gpus"]:
        some, count = counted(word, cards, "--gpu")
        if len({(card.form, card.model.tdp_w, card.model.pcie_generation) for card in some}) > 1:
            raise ambiguous("--gpu", word, some)
        planned.append((some[0], count or 1))
    return Machine(
        tuple(planned),
        given["cpu_watts"],
        given["psu"],
        _slots(given["slots"]),
        given["pcie"],
        _circuit(given["circuit"]),
        _memory(given["memory"]),
        given["cooling"],
        present,
    )


def _memory(size: float | None) -> float | None:
    if size is not None and not isfinite(size):
        raise RequestError(f"--memory: {size:g} is not a valid size.", "Specify it in GiB, such as 64.")
    return size


def _slots(text: str | None) -> tuple[int, ...]:
    matches = [_SLOT.fullmatch(word.strip().lower()) for word in text.split(",")] if text is not None else []
    if not all(matches):
        raise RequestError(f"--slots: {text!r} is not a valid list of slots.", "Write the lanes of each: x16,x8,x4.")
    return tuple(int(match[1]) for match in matches if match)


def _circuit(text: str | None) -> float | None:
    if text is None:
        return None
    match = _CIRCUIT.fullmatch(text.strip())
    if match is None:
        raise RequestError(
            f"--circuit: {text!r} is not a valid circuit.", "Write voltage and breaker: 230V10A or 120V15A."
        )
    return float(match[1]) * float(match[2])
