"""What holds the GPU's clocks down: heat, a power brake, a lowered limit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit._startup.regex import regex
from envkit.checks.engine.evidence import not_looked, unseen
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Evidence, Outcome, Remedy, Status, ok
from envkit.checks.engine.managers import managers
from envkit.checks.engine.messages import message_evidence, seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.engine.remedies import remedy
from envkit.checks.gpu.gpus import SeenGpu, gpus_of, seen_gpus, share_of_power
from envkit.checks.gpu.health import field_evidence, name_of, title_of
from envkit.model import Environment, Gpu
from envkit.model.clock_reasons import HARDWARE_HEAT, HEAT, IDLE, POWER_BRAKE, SLOWDOWN, in_words

if TYPE_CHECKING:
    from envkit.tables import Matrix

_TOLERANCE_W = 1.0
_SHARE = 0.8  # of a card's power, which costs a few percent of its speed
_FANS = regex(r"GeForce|TITAN")
_RESTING = 10  # percent of utilization below which clocks are nobody's concern


_WARM = 70  # degrees below which no GPU has to slow down
_LOW_LIMIT = (
    "The GPU is not hot: a temperature limit that the laptop's firmware sets far too low (Max Operating Temp in "
    "nvidia-smi -q) slows it down, and cleaning or new paste changes nothing. On many laptops, thermald raises it, "
    "following the firmware's own tables: install and start it (in its adaptive mode, which is the default of current "
    "releases), set the power profile to performance, and update the BIOS. The last command shows the limit again."
)
_STOPPED_FANS = (
    "The fans stand still although the GPU is hot. Software that controls fans keeps the curve of the card that it was "
    "set up with: close it (the driver then controls the fans itself), check that they turn under load, and delete the "
    "old profile or make a new one for this card; or take the GPU out of that software's control. If the fans do not "
    "turn without it either, check their cable, or have the card replaced. The heat sink and the airflow are not the "
    "first suspects."
)


_LIMIT_TRIED = (
    "A lower power limit changes nothing here, so only more cooling does: in a server chassis, take the case fans out "
    "of the quiet profile (the BMC's or the firmware's fan mode for full speed), and leave the slots next to the card "
    "free. The command shows when the slowdown ends."
)


def _cooler(environment: Environment, matrix: Matrix) -> Remedy:
    """Data-center cards have no fans of their own: their server cools them."""
    gpus = [gpu for gpu in seen_gpus(environment, matrix) if gpu.models]
    laptop = any(gpu.laptop for gpu in gpus) or (not gpus and "laptop" in managers(environment))
    watts = share_of_power(gpus, _SHARE) if not laptop else None
    hot = [gpu for gpu, bits in _reasons(environment) if bits & (HEAT | HARDWARE_HEAT)]
    index = hot[0].index if len(hot) == 1 else None
    limits = [gpu.power_limit_w for gpu in hot or gpus_of(environment) if gpu.power_limit_w is not None]
    if watts and limits and watts >= min(limits):
        watts = int(round(min(limits) * _SHARE, -1))
    if seen(environment, "thermal-throttle", "detail-fan-software", "detail-fan-stopped"):
        return Remedy(_STOPPED_FANS, ())
    if hot and all((gpu.temperature_c or _WARM) < _WARM for gpu in hot):
        return remedy(environment, _LOW_LIMIT, "thermal-daemon")
    passive = bool(gpus) and all(model.data_center for gpu in gpus for model in gpu.models)
    advice = (
        "Check the fans and the airflow of the chassis, and clean dust from the heat sinks."
        if passive
        else "Raise the laptop so that air can flow underneath it (with a cooling pad, for example), and clean its "
        "fans; only better cooling makes long runs faster."
        if laptop
        else "Raise the fan speed (its curve, or a fixed speed), and clean the fans and the heat sink; improve the "
        "airflow through the case."
    )
    if seen(environment, "thermal-throttle", "detail-limit-tried"):
        return remedy(environment, f"{advice} {_LIMIT_TRIED}", "throttle", index=index or 0)
    advice += (
        " Until then, a lower power limit keeps the speed steady: the clocks do not drop during a long run, and the "
        "card loses little speed. The limit lasts until the next restart."
    )
    action = "throttle" if not watts else "power-limit-all" if index is None else "power-limit"
    return remedy(environment, advice, action, index=index, watts=watts)


_HOT = Fault(
    "thermal-throttle",
    "A GPU is thermally throttled",
    impact="Programs slow down the longer they run.",
    remedy=_cooler,
    status=Status.WARN,
)
_FAN = Fault(
    _HOT.id,
    "The driver cannot read the fan of a GPU",
    impact="If the fan is not turning, the GPU gets hot and slow.",
    remedy=(
        "Check whether the fan turns, and whether the reading comes back after the machine has been off for a "
        "minute. If not, clean or replace the fan, or have the card replaced; until then, watch its temperature."
    ),
    actions=("throttle",),
    status=Status.WARN,
)
_BRAKE = Fault(
    "hw-power-brake",
    "A hardware power brake slows down a GPU",
    impact="The GPU runs at half speed or less.",
    remedy="Check the power supplies (one of a redundant pair may be off), the power cables, and the BMC's power "
    "policy.",
    actions=("throttle",),
)
_LIMITED = Fault(
    "power-limit-lowered",
    "A GPU's power limit is below its default",
    impact="Under full load it is slower than it could be.",
    remedy="If this was not intended, restore the default limit with nvidia-smi -pl.",
    actions=("power-limit",),
    status=Status.WARN,
)


def _reasons(environment: Environment) -> list[tuple[Gpu, int]]:
    return [(gpu, gpu.throttle_reasons) for gpu in gpus_of(environment) if gpu.throttle_reasons is not None]


def _reason(environment: Environment, gpu: Gpu) -> Evidence:
    return field_evidence(environment, gpu, "throttle_reasons", in_words(gpu.throttle_reasons or 0))


def _laptops(environment: Environment, matrix: Matrix) -> set[int]:
    """The indices of the GPUs that are made for laptops."""
    return {gpu.nvml.index for gpu in seen_gpus(environment, matrix) if gpu.nvml is not None and gpu.laptop}


def _cooled_to_a_target(environment: Environment, matrix: Matrix) -> set[int]:
    """The indices of laptops' GPUs and of cards with fans: their driver lowers clocks a little before they get hot."""
    gpus = seen_gpus(environment, matrix)
    return {gpu.nvml.index for gpu in gpus if gpu.nvml is not None and (gpu.laptop or _FANS.search(gpu.name))}


def _hot_bits(by_design: bool) -> int:
    return HARDWARE_HEAT if by_design else HEAT | HARDWARE_HEAT


@check(
    _HOT,
    layer=Layer.HEALTH,
    rank=50,
    tier="N",
    any_of=("gpus", "messages"),
    explained_by=("gpu-fallen-off-bus",),
    fix="Check the fans, the airflow, and the heat sinks.",
    references=threads("mlfoundations/open_clip#703", "tensorflow/tensorflow#40042", "NVIDIA/DCGM#270"),
)
def thermal_throttle(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """No GPU reduces its clocks because of heat.

    If one does, throughput drops after a few minutes, without an error. Lower clocks at idle, application clocks, and
    the power cap under full load are normal. It is also normal for the driver to lower the clocks of a laptop GPU or a
    fan-cooled card to keep it below its temperature limit.
    """
    reasons = _reasons(environment)
    cooled = _cooled_to_a_target(environment, matrix)
    hot = [gpu for gpu, bits in reasons if bits & _hot_bits(gpu.index in cooled) and not bits & IDLE]
    for gpu in hot:
        yield _HOT.found(
            [_reason(environment, gpu)],
            title=f"{title_of(gpu)} is thermally throttled"
            + (f" ({gpu.temperature_c} °C)" if gpu.temperature_c else ""),
            subject=name_of(gpu),
            index=gpu.index,
        )
    stuck = seen(environment, _HOT.id, "fan")
    if stuck:
        yield _FAN.found(message_evidence(environment, stuck), status=Status.FAIL if hot else None)
    elif not hot:
        told = seen(environment, _HOT.id, "told-csv")
        slower = _HOT.reported(environment, status=Status.FAIL if told else None)
        yield slower or _no_brake(environment, reasons, "no thermal throttling")


@check(
    _BRAKE,
    layer=Layer.HEALTH,
    rank=35,
    tier="N",
    any_of=("gpus", "messages"),
    explained_by=("gpu-fallen-off-bus", "external-power-missing"),
    references=threads(
        "Azure/azurehpc#595",
        "l4rz/reverse-engineering-dell-idrac-to-get-rid-of-gpu-throttling#3",
        "leptonai/gpud#331",
    ),
)
def hw_power_brake(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """No external signal (from the power supply or the board controller) holds a GPU's clocks at their minimum.

    If one does, the GPU runs at half speed or less, without an error. This is not the software power cap under full
    load, nor what a laptop does on battery power.
    """
    reasons = _reasons(environment)
    laptops = _laptops(environment, matrix)
    held = [gpu for gpu, bits in reasons if _held(bits) and gpu.index not in laptops and not _rests(gpu)]
    for gpu in held:
        yield _BRAKE.found(
            [_reason(environment, gpu)],
            title=f"{title_of(gpu)}: a hardware signal keeps its clocks low",
            subject=name_of(gpu),
            index=gpu.index,
        )
    if not held:
        yield _BRAKE.reported(environment) or _no_brake(environment, reasons, "no hardware power-brake slowdown")


def _rests(gpu: Gpu) -> bool:
    return gpu.utilization_percent is not None and gpu.utilization_percent < _RESTING


def _held(bits: int) -> bool:
    slowed = bits & POWER_BRAKE or (bits & SLOWDOWN and not bits & HARDWARE_HEAT)
    return bool(slowed and not bits & IDLE)


def _no_brake(environment: Environment, reasons: list[tuple[Gpu, int]], title: str) -> Outcome:
    if not reasons:
        return not_looked(environment, unseen(environment, "the clock throttle reasons"), "gpus")
    evidence = [_reason(environment, gpu) for gpu, _ in reasons[:4]]
    return ok(title, evidence=evidence)


@check(
    _LIMITED,
    layer=Layer.HEALTH,
    rank=85,
    tier="N",
    any_of=("gpus", "messages"),
    references=("https://github.com/leptonai/gpud",),
)
def power_limit_lowered(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """No GPU has a lower power limit than the other GPUs of its model in the machine.

    Limits are lowered on purpose, because of heat, noise, or the power supply; if one GPU's limit was forgotten, all
    the others wait for it. Laptops change the limit all the time.
    """
    gpus = [gpu for gpu in seen_gpus(environment, matrix) if not gpu.laptop]
    peers: dict[str, float] = {}
    for gpu in gpus_of(environment):
        peers[gpu.name] = max(peers.get(gpu.name, 0.0), gpu.power_limit_w or 0.0)
    lowered = [
        gpu.nvml
        for gpu in gpus
        if gpu.nvml is not None
        and _below(gpu, peers[gpu.nvml.name])
        and (gpu.nvml.power_limit_w or 0) < peers[gpu.nvml.name]
    ]
    for gpu in lowered:
        usual = gpu.power_limit_default_w or peers[gpu.name]
        limits = f"{gpu.power_limit_w:.0f} W of {usual:.0f} W"
        yield _LIMITED.found(
            [field_evidence(environment, gpu, "power_limit_w", limits)],
            title=f"{title_of(gpu)}: power limit {limits}",
            subject=name_of(gpu),
            index=gpu.index,
            watts=round(usual),
        )
    measured = [g for g in gpus_of(environment) if g.power_limit_w and g.power_limit_default_w]
    if lowered:
        return
    if reported := _LIMITED.reported(environment):
        yield reported
    elif measured:
        limit = field_evidence(environment, measured[0], "power_limit_w")
        yield ok("no power limit is lower than that of its peers", evidence=[limit])


def _below(gpu: SeenGpu, of_peers: float) -> bool:
    """Whether the limit is below the default, or below that of its peers where the default is not told."""
    nvml = gpu.nvml
    if nvml is None or nvml.power_limit_w is None:
        return False
    return nvml.power_limit_w < (nvml.power_limit_default_w or of_peers) - _TOLERANCE_W
