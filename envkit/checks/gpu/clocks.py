"""What holds the GPU's clocks down: heat, a power brake, a lowered limit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit.checks.engine.evidence import not_looked
from envkit.checks.engine.findings import Outcome, fail, ok, warn
from envkit.checks.engine.messages import told
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.engine.remedies import remedy
from envkit.checks.gpu.gpus import SeenGpu, seen_gpus
from envkit.checks.gpu.health import field_evidence, gpus_of, name_of
from envkit.model import Environment, Gpu

if TYPE_CHECKING:
    from envkit.tables import Matrix

# NVML's clock event bits (nvml.h); 0x1 idle, 0x2 application clocks and 0x4 software power cap are no faults
_IDLE, _HW_SLOWDOWN, _SW_THERMAL, _HW_THERMAL, _POWER_BRAKE = 0x1, 0x8, 0x20, 0x40, 0x80
_TOLERANCE_W = 1.0


def _reasons(environment: Environment) -> list[tuple[Gpu, int]]:
    return [(gpu, gpu.throttle_reasons) for gpu in gpus_of(environment) if gpu.throttle_reasons is not None]


@check(
    "thermal-throttle",
    title="A GPU is too hot and slows down",
    layer=Layer.HEALTH,
    rank=50,
    tier="N",
    any_of=("gpus", "messages"),
    explained_by=("gpu-fallen-off-bus",),
    fix="Cooling: dust, fans, airflow of passive cards.",
    references=threads("mlfoundations/open_clip#703", "tensorflow/tensorflow#40042", "NVIDIA/DCGM#270"),
)
def thermal_throttle(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """No GPU lowers its clocks because of heat.

    Throughput then sinks after some minutes, without an error. Lower clocks at idle, application clocks and the power
    cap at full load are normal.
    """
    reasons = _reasons(environment)
    hot = [gpu for gpu, bits in reasons if bits & (_SW_THERMAL | _HW_THERMAL) and not bits & _IDLE]
    for gpu in hot:
        yield warn(
            f"{gpu.name} slows down because of heat" + (f" ({gpu.temperature_c} °C)" if gpu.temperature_c else ""),
            subject=name_of(gpu),
            evidence=[field_evidence(environment, gpu, "throttle_reasons", f"{gpu.throttle_reasons:#x}")],
            impact="Programs run slower the longer they run.",
            remedy=remedy(
                environment, "Clean and check fans, airflow and the fan curve of the case.", "throttle", index=gpu.index
            ),
        )
    if not hot:
        outcomes = told(
            environment,
            "thermal-throttle",
            "A GPU slows down because of heat",
            judge=warn,
            impact="Programs run slower the longer they run.",
            remedy=remedy(environment, "Clean and check fans, airflow and the fan curve of the case."),
        )
        yield from outcomes or (_no_brake(environment, reasons, "heat slows no GPU down"),)


@check(
    "hw-power-brake",
    title="The hardware holds a GPU's clocks down",
    layer=Layer.HEALTH,
    rank=35,
    tier="N",
    any_of=("gpus", "messages"),
    explained_by=("gpu-fallen-off-bus", "external-power-missing"),
    fix="Power supplies and their redundancy, cables, the power policy of the BMC.",
    references=threads(
        "Azure/azurehpc#595",
        "l4rz/reverse-engineering-dell-idrac-to-get-rid-of-gpu-throttling#3",
        "leptonai/gpud#331",
    ),
)
def hw_power_brake(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """No signal from outside (power supply, board controller) holds a GPU's clocks at their minimum.

    The GPU then does half the work or less, without an error. The software power cap at full load is not that, nor is
    what a laptop does on its battery.
    """
    reasons = _reasons(environment)
    laptops = {gpu.nvml.index for gpu in seen_gpus(environment, matrix) if gpu.nvml is not None and gpu.laptop}
    held = [gpu for gpu, bits in reasons if _held(bits) and gpu.index not in laptops]
    for gpu in held:
        yield fail(
            f"{gpu.name}: a hardware signal holds its clocks down",
            subject=name_of(gpu),
            evidence=[field_evidence(environment, gpu, "throttle_reasons", f"{gpu.throttle_reasons:#x}")],
            impact="The GPU does half of its work or less.",
            remedy=remedy(
                environment,
                "Check power supplies (is one of a redundant pair off?), power cables and the power policy of the BMC.",
                "throttle",
                index=gpu.index,
            ),
        )
    if not held:
        outcomes = told(
            environment,
            "hw-power-brake",
            "A hardware signal holds the clocks down",
            impact="The GPU does half of its work or less.",
            remedy=remedy(environment, "Check power supplies, power cables and the power policy of the BMC."),
        )
        yield from outcomes or (_no_brake(environment, reasons, "no hardware signal holds the clocks down"),)


def _held(bits: int) -> bool:
    slowed = bits & _POWER_BRAKE or (bits & _HW_SLOWDOWN and not bits & _HW_THERMAL)
    return bool(slowed and not bits & _IDLE)


def _no_brake(environment: Environment, reasons: list[tuple[Gpu, int]], title: str) -> Outcome:
    if not reasons:
        return not_looked(environment, "why the clocks are what they are was not asked", "gpus")
    evidence = [field_evidence(environment, gpu, "throttle_reasons", f"{bits:#x}") for gpu, bits in reasons[:4]]
    return ok(title, evidence=evidence)


@check(
    "power-limit-lowered",
    title="A GPU's power limit is below its default",
    layer=Layer.HEALTH,
    rank=85,
    tier="N",
    any_of=("gpus", "messages"),
    fix="Raise it again with nvidia-smi -pl, if it was not intended.",
    references=("https://github.com/leptonai/gpud",),
)
def power_limit_lowered(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """Every GPU may use the power that it was built for.

    A lower limit is often set on purpose; forgotten, it makes one GPU slower than its peers. Laptops move the limit
    all the time.
    """
    gpus = [gpu for gpu in seen_gpus(environment, matrix) if not gpu.laptop]
    lowered = [gpu.nvml for gpu in gpus if gpu.nvml is not None and _below_default(gpu)]
    for gpu in lowered:
        limits = f"{gpu.power_limit_w:.0f} W of {gpu.power_limit_default_w:.0f} W"
        yield warn(
            f"{gpu.name}: power limit {limits}",
            subject=name_of(gpu),
            evidence=[field_evidence(environment, gpu, "power_limit_w", limits)],
            impact="Under full load it is slower than it could be.",
            remedy=remedy(
                environment,
                "If this was not intended, give it its default limit back.",
                "power-limit",
                index=gpu.index,
                watts=round(gpu.power_limit_default_w or 0),
            ),
        )
    measured = [g for g in gpus_of(environment) if g.power_limit_w and g.power_limit_default_w]
    if lowered:
        return
    outcomes = told(
        environment,
        "power-limit-lowered",
        "A GPU's power limit is below its default",
        judge=warn,
        impact="Under full load it is slower than it could be.",
        remedy=remedy(environment, "If this was not intended, give it its default limit back with nvidia-smi -pl."),
    )
    if outcomes:
        yield from outcomes
    elif measured:
        yield ok("power limits are the default", evidence=[field_evidence(environment, measured[0], "power_limit_w")])
    else:
        yield not_looked(environment, "the power limits were not asked", "gpus")


def _below_default(gpu: SeenGpu) -> bool:
    nvml = gpu.nvml
    if nvml is None or nvml.power_limit_w is None or nvml.power_limit_default_w is None:
        return False
    return nvml.power_limit_w < nvml.power_limit_default_w - _TOLERANCE_W
