"""Whether a machine carries its cards: power, cables, circuit, lanes, air, memory, and one build for all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from math import ceil

from envkit._startup.records import record
from envkit.advice.cards import Card
from envkit.base.sentences import series
from envkit.compat.module_flavors import apart, flavors_of
from envkit.solver.guide import runs
from envkit.tables import Matrix
from envkit.tables.advice import BuildSize, Network, PowerPlug, rules
from envkit.tables.codes import pcie_generations
from envkit.tables.loader import read

_IN_SLOTS = ("desktop", "passive")
_MB = 1e6
_IMAGE = 3 * 224 * 224 * 4  # bytes of an image in fp32


@record
class Present:
    """A GPU of the machine. `lanes` and `generation`: the most that every link up to the processor allows, if known."""

    card: Card
    lanes: int | None = None
    generation: int | None = None


@record
class Machine:
    """A machine that is planned; None is not said."""

    cards: tuple[tuple[Card, int], ...]  # a card, and how many GPUs of it
    cpu_watts: int | None = None
    supply_watts: int | None = None
    slots: tuple[int, ...] = ()  # lanes of each slot
    pcie: int | None = None  # generation of the board's slots
    circuit_watts: float | None = None
    memory_gb: float | None = None
    cooling: str | None = None
    present: tuple[Present, ...] = ()  # GPUs that are there already

    @property
    def every(self) -> tuple[tuple[Card, int], ...]:
        """The cards that are there and those that are planned, each with its GPUs."""
        counts: dict[str, int] = {}
        for gpu in self.present:
            counts[gpu.card.name] = counts.get(gpu.card.name, 0) + 1
        there = {gpu.card.name: gpu.card for gpu in self.present}
        return (*((there[name], count) for name, count in counts.items()), *self.cards)

    @property
    def boards(self) -> tuple[Card, ...]:
        """Each board, one after the other."""
        return _boards(self.every)


@record
class Judgement:
    """One rule about the machine. `status`: ok, warn, fail, unknown, info (advice for what was not said)."""

    status: str
    rule: str
    text: str
    sources: tuple[str, ...]


def _boards(cards: Iterable[tuple[Card, int]]) -> tuple[Card, ...]:
    return tuple(card for card, gpus in cards for _ in range(card.boards(gpus)))


def judged(machine: Machine, matrix: Matrix) -> tuple[Judgement, ...]:
    """Every rule that says something about the machine."""
    return tuple(
        judgement for rule in (_power, _circuit, _cables, _lanes, _air, _memory, _driver) for judgement in rule(machine)
    ) + tuple(_together(machine, matrix))


def peak_watts(machine: Machine) -> tuple[int, tuple[Card, ...]]:
    """The sum of all peaks that are known, and the boards whose is not."""
    boards = machine.boards
    known = sum(board.model.tdp_w or 0 for board in boards)
    cpu = rules()["cpu-watts"].value if machine.cpu_watts is None else machine.cpu_watts
    silent = tuple(board for board in boards if board.model.tdp_w is None)
    return round(known + cpu + rules()["other-watts"].value), silent


def _power(machine: Machine) -> Iterator[Judgement]:
    total, silent = peak_watts(machine)
    headroom = rules()["power-headroom"]
    needed = ceil(total * headroom.value / 10) * 10
    sources = _sources(machine.boards, headroom.sources)
    at_most = f"a peak load of {total} W" + (f" without {_names(silent)}, whose power is unknown" if silent else "")
    supply = machine.supply_watts
    if supply is None:
        yield Judgement("info", "power", f"{at_most}: use a power supply of {needed} W or more", sources)
    elif supply < total:
        yield Judgement(
            "fail",
            "power",
            f"the {supply} W power supply is too small for {at_most}: {_remedy(machine, total)}",
            sources,
        )
    elif silent:
        yield Judgement("unknown", "power", f"{at_most}; the power supply has {supply} W", sources)
    elif supply < needed:
        message = f"{supply} W covers {at_most} with less than 20% to spare"
        yield Judgement("warn", "power", f"{message}: {_remedy(machine, total)}", sources)
    else:
        yield Judgement("ok", "power", f"{supply} W for {at_most}", sources)


def _remedy(machine: Machine, total: int) -> str:
    """A power limit, where that is enough for a sound supply; otherwise a larger one."""
    share = rules()["limit-watts-share"]
    headroom = rules()["power-headroom"].value
    cards = sum(board.model.tdp_w or 0 for board in machine.boards)
    larger = f"use one of at least {ceil(total * headroom / 10) * 10} W"
    limited = (total - cards * (1 - share.value)) * headroom
    if machine.supply_watts is not None and limited <= machine.supply_watts:
        limits = {board.name: f"{board.model.tdp_w * share.value:.0f}" for board in _each(machine) if board.model.tdp_w}
        if len(set(limits.values())) == 1:
            return f"{larger}, or set a power limit: sudo nvidia-smi -pl {next(iter(limits.values()))}"
        listed = series(f"{watts} for {name}" for name, watts in limits.items())
        return f"{larger}, or set power limits: sudo nvidia-smi -i INDEX -pl WATTS, with {listed}"
    return larger


def _circuit(machine: Machine) -> Iterator[Judgement]:
    if machine.circuit_watts is None:
        return
    total, silent = peak_watts(machine)
    share = rules()["breaker-share"]
    sustained = machine.circuit_watts * share.value
    efficiency = rules()["supply-efficiency"]
    drawn = total / efficiency.value
    good = "but the circuit supports only" if drawn > sustained else "and the circuit supports"
    message = (
        f"{drawn:.0f} W at the wall ({total} W at {efficiency.value:.0%} PSU efficiency), {good} {sustained:.0f} W "
        f"continuous ({share.value:.0%} of its breaker)"
    )
    status = "fail" if drawn > sustained else ("unknown" if silent else "ok")
    yield Judgement(status, "circuit", message, (*share.sources, *efficiency.sources))


def _cables(machine: Machine) -> Iterator[Judgement]:
    slot, plug, plugs = rules()["slot-watts"], rules()["plug-watts"], {row.gpu: row for row in read(PowerPlug)}
    for card in dict.fromkeys(card for card, _ in machine.cards):
        watts, row = card.model.tdp_w, plugs.get(card.model.name)
        if row is not None:
            yield Judgement("info", "cables", f"{card.name}: {row.plug}", row.sources)
        elif card.form in ("desktop", "passive") and (watts is None or watts > slot.value):
            least = ceil((watts - slot.value) / plug.value) if watts else 0
            message = f"{card.name}: power connectors unknown; check the card" + (
                f" (it needs {_counted(least, '8-pin connector')} or the equivalent: {plug.text})" if least else ""
            )
            yield Judgement("unknown", "cables", message, slot.sources)


def _lanes(machine: Machine) -> Iterator[Judgement]:
    for gpu in machine.present:
        if gpu.lanes and gpu.generation and gpu.card.form in _IN_SLOTS:
            yield _lane(gpu.card, gpu.lanes, gpu.generation, len(machine.boards))
    boards = tuple(board for board in _boards(machine.cards) if board.form in _IN_SLOTS)
    if not machine.slots or not boards:
        return
    if len(machine.slots) < len(boards):
        message = f"{_counted(len(boards), 'board')} but only {_counted(len(machine.slots), 'slot')}"
        yield Judgement("fail", "slots", message, _sources(boards, ()))
        return
    for (board, lanes), count in Counter(zip(boards, machine.slots, strict=False)).items():
        yield _lane(board, lanes, machine.pcie, len(machine.boards), count)


def _lane(board: Card, lanes: int, generation: int | None, together: int, count: int = 1) -> Judgement:
    generations = [number for number in (board.model.pcie_generation, generation) if number is not None]
    row = next((row for row in pcie_generations() if generations and row.generation == min(generations)), None)
    width = min(lanes, board.model.pcie_lanes or lanes)
    full = rules()["full-link-gbs"]
    name = f"{count} × {board.name}" if count > 1 else board.name
    if row is None:
        return Judgement("unknown", "lanes", f"{name} in x{lanes}: its PCIe generation is unknown", board.sources)
    rate = row.megabytes_per_lane * width / 1000
    message = f"{name} on PCIe {row.generation}.0 x{width}: {rate:.1f} GB/s" + (" each" if count > 1 else "")
    sources = (*row.sources, *full.sources)
    if rate >= full.value:
        return Judgement("ok", "lanes", message, sources)
    return Judgement(
        "warn",
        "lanes",
        f"{message}, less than the {full.value:.1f} GB/s of {full.text}; {_loss(rate, together)}",
        sources,
    )


def _loss(rate: float, boards: int) -> str:
    """What a narrow link costs: for the data of a step, and between several cards for the gradients."""
    network = next(row for row in read(Network) if row.name == "resnet-50")
    batch = network.batch * _IMAGE
    data = f"{network.batch} images ({batch / _MB:.0f} MB) take {batch / rate / 1e6:.1f} ms"
    if boards == 1:
        return f"{data}, which is short compared to a step, but loading a model takes longer"
    gradients = network.parameters * 4
    return (
        f"{data}, the gradients of {network.title} ({gradients / _MB:.0f} MB) {gradients / rate / 1e6:.0f} ms each way"
    )


def _air(machine: Machine) -> Iterator[Judgement]:
    crowded, many = rules()["crowded-boards"], rules()["many-boards"]
    boards = tuple(board for board in machine.boards if board.form != "module")  # whose server cools it
    for form, status, message in (
        ("module", "fail", "does not fit a slot: it is mounted on a server board"),
        ("laptop", "fail", "is a laptop GPU"),
        ("system", "fail", "is a complete computer"),
    ):
        for card, _ in machine.cards:
            if card.form == form:
                yield Judgement(status, "form", f"{card.name} {message}", card.sources)
    passive = [card for card, _ in machine.cards if card.form == "passive"]
    if passive and machine.cooling != "passive":
        message = f"{_names(passive)} has no fan: it needs server airflow (--cooling passive) or a duct with a fan"
        yield Judgement("fail" if machine.cooling else "warn", "air", message, _sources(passive, crowded.sources))
    if len(boards) >= crowded.value and machine.cooling in (None, "open"):
        message = f"{len(boards)} adjacent cards: use blower cards, or leave a free slot between them"
        yield Judgement("warn", "air", message, crowded.sources)
    if len(boards) > many.value:
        message = f"{len(boards)} cards: a server chassis with more than one power supply"
        yield Judgement("warn", "chassis", message, many.sources)


def _memory(machine: Machine) -> Iterator[Judgement]:
    count = sum(gpus for _, gpus in machine.every)
    size = next((row for row in read(BuildSize) if row.cards >= count), None)
    if size is None:
        return
    cores = f" and at least {size.cores} CPU cores" if size.cores else ""
    verb = "are" if size.cores else "is"
    advised = f"{size.memory_gb} GiB of RAM{cores} {verb} recommended for {count} GPU{'s' if count > 1 else ''}"
    if machine.memory_gb is None:
        yield Judgement("info", "memory", advised, size.sources)
    else:
        short = machine.memory_gb < size.memory_gb
        message = f"{machine.memory_gb:g} GiB; {advised}"
        yield Judgement("warn" if short else "ok", "memory", message, size.sources)


def _together(machine: Machine, matrix: Matrix) -> Iterator[Judgement]:
    """Cards of several generations need one build with code for all."""
    capabilities = sorted({card.capability for card in _each(machine)})
    if len(capabilities) < 2:
        return
    targets = series(capability.sm for capability in capabilities)
    for build in reversed(matrix.builds("pytorch")):
        if all(runs(capability, build, matrix) for capability in capabilities):
            text = f"PyTorch {build.version} is the newest that supports {targets}"
            yield Judgement("ok", "software", text, build.sources)
            return
    yield Judgement("warn", "software", f"no known PyTorch release has kernels for {targets}", ())


def _driver(machine: Machine) -> Iterator[Judgement]:
    """All cards of a system run on one driver, with one flavor of its kernel module."""
    flavors = [(card.name, flavor) for card in _each(machine) if (flavor := flavors_of(card.model))]
    if why := apart(flavors):
        sources = tuple(dict.fromkeys(key for _, row in flavors for key in row.sources))
        yield Judgement("fail", "driver", f"on Linux, {why}", sources)


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def _each(machine: Machine) -> tuple[Card, ...]:
    return tuple(dict((card.name, card) for card, _ in machine.every).values())


def _names(cards: Iterable[Card]) -> str:
    return ", ".join(dict.fromkeys(card.name for card in cards))


def _sources(cards: Iterable[Card], more: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*(key for card in cards for key in card.sources), *more)))
