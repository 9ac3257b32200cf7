"""`envkit recommend`: which card suits a workload, or, with `machine`, whether a machine carries its cards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from envkit._startup.records import record, replace
from envkit._startup.regex import regex
from envkit.advice.workload import CHECKPOINTING, TASKS, WorkloadWords
from envkit.base.errors import RequestError
from envkit.cli.complete import complete_file, complete_gpu
from envkit.cli.main import WithOthers
from envkit.cli.options import taken
from envkit.cli.output import one_format, output_option, say, write_output

if TYPE_CHECKING:
    from collections.abc import Mapping

    from envkit.advice.cards import Card
    from envkit.advice.changes import Change
    from envkit.advice.prices import Price
    from envkit.advice.rank import Judge, Limits, Offer
    from envkit.advice.support import Wanted
    from envkit.tables import Matrix
    from envkit.tables.advice import CloudInstance, Persona

_FORMATS = ["text", "json", "markdown", "html"]
_FORMS = ["desktop", "laptop", "server", "any"]
_PERSONAS = ["starter", "hobby", "kaggle", "vision", "nlp", "cluster"]
_OF_LIMITS = {"gpus": "gpus", "form": "form", "max-watts": "watts", "years": "years", "budget": "budget"}
_COUNT = click.IntRange(min=1, max=1_000_000)
_USUAL, _MOST = 5, 400  # cards to show
_NOTES = 20  # on a file of prices


@record
class _Given:
    """The options next to those of the workload."""

    budget: str | None
    prices: str | None
    price: tuple[str, ...]
    gpus: int
    max_watts: int | None
    form: str | None
    display: bool
    framework: str | None
    cuda: str | None
    years: int | None
    as_of: int | None
    owned: str | None
    persona: str | None
    cloud: bool
    top: int | None


class _Recommend(WithOthers):
    others = ("machine",)

    def other(self, name: str) -> click.Command:
        """The command that judges a build."""
        from envkit.cli.recommend_machine import machine

        return machine


@click.command(
    cls=_Recommend,
    epilog="""\b
Examples:
  envkit recommend --for vision
  envkit recommend --parameters 7B --task lora --precision int4
  envkit recommend "2x RTX 3090" "RTX 4090" --parameters 70B --task infer --precision int4
  envkit recommend "Tesla P40" --parameters 13B --task infer --precision int8
  envkit recommend --network resnet-50 --batch 64 --prices prices.csv --budget 600
  envkit recommend machine --gpu "RTX 3090 x2" --psu 1000 --slots x16,x4""",
)
@click.argument("gpu", nargs=-1, shell_complete=complete_gpu)
@click.option(
    "--network",
    metavar="NAME",
    help="Network: resnet-50, resnet-56, alexnet-s, alexnet-r, fcn-s, fcn-5, fcn-r, lstm-32, or lstm-64.",
)
@click.option("--parameters", metavar="N", help="Size of a transformer, e.g. 7B or 350M.")
@click.option("--active", metavar="N", help="Parameters that one token uses, in a mixture-of-experts model, e.g. 3B.")
@click.option("--layers", type=_COUNT, metavar="N", help="Number of layers.")
@click.option("--hidden", type=_COUNT, metavar="N", help="Hidden size.")
@click.option("--heads", type=_COUNT, metavar="N", help="Number of attention heads.")
@click.option(
    "--kv-heads", type=_COUNT, metavar="N", help="Heads with their own keys and values (grouped-query attention)."
)
@click.option("--vocab", "vocabulary", type=_COUNT, metavar="N", help="Vocabulary size.")
@click.option("--task", type=click.Choice(TASKS), help="What to do with the model.")
@click.option("--precision", metavar="NAME", help="fp32, tf32, bf16, fp16, fp8, int8, or int4.")
@click.option("--optimizer", metavar="NAME", help="sgd, momentum, adam, or adam8bit.")
@click.option("--batch", type=_COUNT, metavar="N", help="Samples or sequences per step.")
@click.option("--sequence", type=_COUNT, metavar="N", help="Tokens per sequence.")
@click.option(
    "--checkpointing",
    type=click.Choice(CHECKPOINTING),
    is_flag=False,
    flag_value="full",
    help="Activations to recompute: none, selective (attention scores), or full.",
)
@click.option("--memory", type=float, metavar="GIB", help="Minimum memory of the card, in GiB.")
@click.option("--budget", metavar="AMOUNT", help="Maximum cost of all cards together; requires prices.")
@click.option("--prices", metavar="FILE", shell_complete=complete_file, help="CSV of prices: name,price[,currency].")
@click.option("--price", multiple=True, metavar="NAME=AMOUNT", help="Price of one card. Repeatable.")
@click.option(
    "--gpus",
    type=click.IntRange(1, 8),
    metavar="N",
    default=1,
    show_default=True,
    help="Maximum number of cards to split the work over.",
)
@click.option("--max-watts", type=_COUNT, metavar="W", help="Maximum power draw of all cards together.")
@click.option("--form", type=click.Choice(_FORMS), help="Where the card goes. [default: desktop]")
@click.option("--display", is_flag=True, help="The card also drives a display.")
@click.option("--framework", metavar="NAME[SPEC]", help="Framework that must run, e.g. pytorch or tensorflow==2.15.")
@click.option("--cuda", metavar="SPEC", help="CUDA version that must run, e.g. 12.4.")
@click.option("--years", type=click.IntRange(1, 20), metavar="N", help="How many years the card must be supported.")
@click.option("--as-of", type=click.IntRange(2013, 2100), metavar="YEAR", help="Recommend as of this year.")
@click.option("--owned", metavar="NAME", help="Card that you own: each result shows how much faster it is.")
@click.option("--for", "persona", type=click.Choice(_PERSONAS), help="A typical user profile instead of a workload.")
@click.option("--cloud", is_flag=True, help="Also list cloud instance types with the card.")
@click.option(
    "--top",
    type=click.IntRange(1, _MOST),
    metavar="N",
    help=f"Number of cards to show. [default: {_USUAL}, or all that you specify]",
)
@click.option("--json", "as_json", is_flag=True, help="Same as --format json.")
@click.option("--format", "form_of_output", type=click.Choice(_FORMATS), help="Output format. [default: text]")
@click.option("--verbose", "-v", is_flag=True, help="Also list every card left out, and the sources.")
@output_option
def recommend(
    gpu: tuple[str, ...], as_json: bool, form_of_output: str | None, verbose: bool, output: str | None, **given: Any
) -> int:
    """Rank graphics cards for a workload by memory, speed, support, and price.

    Name GPUs to compare them; otherwise all recent ones are ranked. Prices are not included: pass your own. Times are
    lower bounds computed from data sheets. `envkit recommend machine` checks a whole build.
    """
    from envkit.advice.cards import all_cards
    from envkit.tables import Matrix

    words, options = taken(WorkloadWords, given), taken(_Given, given)
    form = one_format(form_of_output, as_json, output, _FORMATS)
    matrix = Matrix.load()
    cards = all_cards(matrix)
    prices, of_prices = _prices(options, cards)
    judging = _Judging(words, options, matrix, prices)
    chosen, counts = _chosen(gpu, cards)
    top = options.top or (_MOST if chosen else _USUAL)
    judge = judging.judge()
    ranking = judge.ranking(chosen or cards, named=bool(chosen), counts=counts)
    fits = ranking.fits
    changes: tuple[Change, ...] = ()
    if not fits:
        from envkit.advice.changes import nearest_changes

        changes = nearest_changes(judge, chosen or cards, judging.changed, named=bool(chosen), counts=counts)
    instances = _instances() if options.cloud else {}
    notes = _about_owned(options, judge, cards, tuple(offer for _, offer in ranking.shown(top)))
    notes += _about_instances(instances, [offer.card.model.name for _, offer in ranking.shown(top)])
    if not prices and not chosen and fits:
        notes += (_order_told(judge.limits),)
    for note in (*of_prices[:_NOTES], *notes):
        say(f"Note: {note}.")
    if len(of_prices) > _NOTES:
        say(f"Note: {len(of_prices) - _NOTES} more notes on the prices are in the JSON (--json).")
    if form == "json":
        from envkit.base.json_text import dumps
        from envkit.documents.recommend import ranking_document

        text = dumps(ranking_document(ranking, top, changes, instances, (*of_prices, *notes)))
    elif form in ("markdown", "html"):
        from envkit.render.recommend_text import ranking_html, ranking_markdown

        text = (ranking_html if form == "html" else ranking_markdown)(ranking, top, changes)
    else:
        from envkit.base.shown import shown_lines
        from envkit.cli.terminal import paper
        from envkit.render.recommend_text import ranking_text

        page = paper(output is not None)
        body = ranking_text(ranking, top, changes, instances, page.width, named=bool(chosen), verbose=verbose)
        text = page.fitted(shown_lines(body))
    write_output(text, output)
    return 0 if fits else 1


class _Judging:
    """Makes the judge of a request, and of the same request with one option changed."""

    def __init__(self, words: WorkloadWords, options: _Given, matrix: Matrix, prices: dict[str, Price]) -> None:
        from datetime import date

        from envkit.advice.support import SupportTable

        self._words, self._options, self._matrix, self._prices = words, options, matrix, prices
        self._wanted = _wanted(options, matrix)
        today = date.today().year
        self._year = options.as_of or today
        past = self._year if self._year < today else None
        self._supports = SupportTable(matrix, past, dict.fromkeys(["pytorch", *filter(None, [self._wanted.framework])]))

    def judge(self, options: Mapping[str, str] | None = None) -> Judge:
        """The judge, where these options have other values."""
        from envkit.advice.rank import Judge
        from envkit.advice.workload import workload_of

        persona = _persona(self._options.persona)
        words, limits = self._words, self._limits(persona)
        for option, value in (options or {}).items():
            whole = int(value) if value.isdigit() else value
            if option == "framework":
                limits = replace(limits, wanted=replace(self._wanted, versions=None, cuda=None))
            elif option == "cuda":
                limits = replace(limits, wanted=replace(self._wanted, cuda=_spec("--cuda", value)))
            elif option in _OF_LIMITS:
                limits = replace(limits, **{_OF_LIMITS[option]: whole})
            else:
                words = replace(words, **{option: whole})
        return Judge(workload_of(words, persona), limits, self._matrix, self._prices, self._supports)

    def changed(self, options: Mapping[str, str]) -> Judge | None:
        """The judge after a change, None where the request cannot be changed so."""
        try:
            return self.judge(options)
        except RequestError:
            return None

    def _limits(self, persona: Persona | None) -> Limits:
        from envkit.advice.prices import one_currency, parse_amount
        from envkit.advice.rank import Limits

        options = self._options
        budget = None if options.budget is None else parse_amount(options.budget, "--budget")
        if budget is not None:
            if not self._prices:
                raise _no_prices(options)
            one_currency((budget, *self._prices.values()), "--budget")
        form = options.form or (persona.form if persona else "desktop")
        line = persona.line if persona and not self._prices and form in ("desktop", "laptop") else ""
        words = self._words
        only_memory = words.memory is not None and not (persona or words.network or words.parameters)
        return Limits(
            form,
            options.gpus,
            options.max_watts,
            None if budget is None else budget.amount,
            options.display,
            self._wanted,
            self._year,
            options.years,
            line,
            smallest_first=bool(line) or (only_memory and not self._prices),
        )


def _no_prices(options: _Given) -> RequestError:
    if options.prices is None:
        return RequestError("--budget needs prices, which envkit does not have.", "Add --prices or --price.")
    return RequestError(
        f"--budget: {options.prices} has no line with a known card and its price.",
        "`envkit matrix gpus` lists the names of cards.",
    )


def _wanted(options: _Given, matrix: Matrix) -> Wanted:
    from envkit.advice.support import Wanted

    name, versions = "", None
    if options.framework is not None:
        match = regex(r"([\w.-]{1,60}?)\s*([<>=!~].{0,60})?").fullmatch(options.framework.strip())
        row = matrix.framework(match[1]) if match else None
        if row is None or match is None:
            known = [framework.name for framework in matrix.frameworks]
            raise RequestError.unknown_value("--framework", options.framework, known, "envkit matrix frameworks")
        name, versions = row.name, _spec("--framework", match[2]) if match[2] else None
        if versions is not None and not any(versions.holds(build.version) for build in matrix.builds(name)):
            asked = match[2].strip().removeprefix("==")
            raise RequestError(
                f"--framework: no {row.title} {asked} is known to envkit.",
                f"`envkit matrix frameworks {name}` lists its releases.",
            )
    cuda = _spec("--cuda", options.cuda) if options.cuda else None
    if cuda is not None and not any(cuda.holds(row.version) or cuda.holds(row.release) for row in matrix.toolkits):
        raise RequestError(f"--cuda: no CUDA {options.cuda} is known to envkit.", "`envkit matrix cuda` lists them.")
    return Wanted(name, versions, cuda)


def _spec(option: str, text: str) -> Any:  # noqa: ANN401 - a VersionSpec, whose module loads only now
    from envkit.base.versions import VersionSpec

    try:
        return VersionSpec.parse(text)
    except ValueError as error:
        raise RequestError(f"{option}: {error}.", "Write a version such as 12.4 or '>=12'.") from error


def _persona(name: str | None) -> Persona | None:
    if name is None:
        return None
    from envkit.advice.workload import named
    from envkit.tables.advice import Persona

    return named(Persona, "--for", name)


def _prices(options: _Given, cards: tuple[Card, ...]) -> tuple[dict[str, Price], tuple[str, ...]]:
    if options.prices is None and not options.price:
        return {}, ()
    from envkit.advice.prices import one_currency, parse_price, parse_prices

    prices: dict[str, Price] = {}
    notes: tuple[str, ...] = ()
    if options.prices is not None:
        from envkit.host.user_file import read_user_file

        prices, notes = parse_prices(read_user_file("--prices", options.prices), cards, "--prices")
    for word in options.price:
        prices |= parse_price(word, cards)
    one_currency(prices.values(), "--prices and --price")
    return prices, notes


def _chosen(words: tuple[str, ...], cards: tuple[Card, ...]) -> tuple[tuple[Card, ...], dict[str, int]]:
    """The cards that were named, and how many of each where that was said: `2x RTX 3090`."""
    from envkit.advice.named_cards import counted

    found: dict[str, Card] = {}
    counts: dict[str, int] = {}
    for word in words:
        some, count = counted(word, cards, "GPU")
        found |= {card.name: card for card in some}
        if count:
            counts |= {card.name: count for card in some}
    return tuple(found.values()), counts


def _order_told(limits: Limits) -> str:
    """In what order the cards are where nobody gave prices."""
    if limits.smallest_first:
        order = "only the fastest card of each memory size is listed, the smallest first"
    else:
        order = (
            "setups with fewer cards are ranked first, then by speed, and only the fastest card of each product line "
            "is listed (which is why rank numbers skip)"
        )
    return f"without prices, {order}; add --prices or --price to rank by value"


def _about_owned(options: _Given, judge: Judge, cards: tuple[Card, ...], offers: tuple[Offer, ...]) -> tuple[str, ...]:
    """How fast each card of the answer is next to the one that the user has."""
    if options.owned is None:
        return ()
    from envkit.advice.named_cards import cards_named
    from envkit.advice.speed import step_on, times_as_fast

    owned = cards_named(options.owned, cards, "--owned")[0]
    step = step_on(owned, judge.loads(1))
    told = tuple(
        f"at best, {offer.gpus} \u00d7 {offer.card.name} is {times_as_fast(offer.step, step):.1f} times as fast as "
        f"your {owned.name}"
        for offer in offers
        if step and offer.step and offer.card is not owned
    )
    return told or (f"the speed of {owned.name} cannot be compared with the others",)


def _about_instances(instances: dict[str, list[CloudInstance]], cards: list[str]) -> tuple[str, ...]:
    """What the table of instances covers, where it was asked for, and whether one has any of these cards."""
    rows = [row for some in instances.values() for row in some]
    if not rows:
        return ()
    names = sorted({row.provider for row in rows})
    providers = f"{', '.join(names[:-1])}, and {names[-1]}" if len(names) > 1 else names[0]
    oldest, newest = min(row.as_of for row in rows), max(row.as_of for row in rows)
    if any(card in instances for card in cards):
        return (f"instance types are from {providers} only, as of {oldest} to {newest}, and the list is not complete",)
    place = f"in envkit's list ({providers} only, as of {oldest} to {newest}; it is not complete)"
    return (f"no instance type with these cards is {place}",)


def _instances() -> dict[str, list[CloudInstance]]:
    from envkit.tables.advice import CloudInstance
    from envkit.tables.loader import read

    found: dict[str, list[CloudInstance]] = {}
    for row in read(CloudInstance):
        found.setdefault(row.gpu, []).append(row)
    return found
