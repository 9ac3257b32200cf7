"""A fault is declared once; the runner adds its words, asks its messages and leaves alone what a host manages."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

import envkit.checks
from envkit.checks.engine.evidence import NO_OWN_DRIVER
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Evidence, Finding, Outcome, Remedy, Status, ok, skip, unknown
from envkit.checks.engine.registry import Check, Layer, all_checks
from envkit.checks.engine.runner import run_checks
from envkit.model import Driver, Environment, MachineKind, Message, Problem, System, found, missing
from envkit.tables import Matrix

MATRIX = cast(Matrix, None)  # these checks do not ask it anything
FAULT = Fault("dead", "It is dead", impact="Nothing works.", remedy="Bury it.")
_SAID: tuple[Message, ...] = (Message("dead/variant", "kernel: it died", 3, {"pci_address": "65:00.0"}),)
SAID = found(_SAID, "text")
SHOWN = Evidence("gpus", "dead", "NVML")


def findings_of(environment: Environment, *outcomes: Outcome, **declared: object) -> list[Finding]:
    def run(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
        yield from outcomes

    made = Check("dead", FAULT.title, Layer.PCI, "F", run, fault=FAULT, **declared)  # type: ignore[arg-type]
    return run_checks(environment, MATRIX, [made])


def test_facts_and_messages_report_the_fault_in_the_same_words() -> None:
    (by_facts,) = findings_of(Environment(), FAULT.found([SHOWN]))
    (by_message,) = findings_of(Environment(messages=SAID))
    assert (by_facts.title, by_facts.impact, by_facts.remedy) == ("It is dead", "Nothing works.", Remedy("Bury it."))
    assert (by_message.title, by_message.impact, by_message.remedy) == (
        by_facts.title,
        by_facts.impact,
        by_facts.remedy,
    )
    assert by_facts.evidence == (SHOWN,)
    assert (by_message.subject, by_message.evidence[0].value) == ("GPU 0000:65:00.0", "kernel: it died")


def test_what_one_case_says_replaces_the_declared_words() -> None:
    case = FAULT.found([SHOWN], title="Half dead", impact="Slow.", remedy=Remedy("Rest."), status=Status.WARN)
    (finding,) = findings_of(Environment(), case)
    assert (finding.title, finding.impact, finding.remedy, finding.status) == (
        "Half dead",
        "Slow.",
        Remedy("Rest."),
        Status.WARN,
    )


@pytest.mark.parametrize("answer", [ok("well"), skip("not here")])
def test_a_message_does_not_overrule_what_facts_say(answer: Outcome) -> None:
    assert findings_of(Environment(messages=SAID), answer)[0].status is answer.status


def test_a_message_decides_where_facts_do_not() -> None:
    assert findings_of(Environment(messages=SAID), unknown("who knows"))[0].status is Status.FAIL
    assert findings_of(Environment(), unknown("who knows"))[0].status is Status.UNKNOWN


def test_a_check_that_weighs_its_messages_is_asked_alone() -> None:
    assert findings_of(Environment(messages=SAID), unknown("a few"), weighs_messages=True)[0].status is Status.UNKNOWN


def test_what_the_host_manages_is_skipped_whatever_was_said() -> None:
    container = System(machine_kind=found(MachineKind.CONTAINER, "/.dockerenv"))
    (finding,) = findings_of(Environment(system=container, messages=SAID), elsewhere=NO_OWN_DRIVER)
    assert (finding.status, finding.title) == (Status.SKIP, "managed on the container's host")


@pytest.mark.parametrize(
    ("problem", "status"),
    [(Problem.ABSENT, Status.SKIP), (Problem.DENIED, Status.UNKNOWN), (Problem.NOT_LOOKED, Status.UNKNOWN)],
)
def test_a_check_without_an_answer_says_what_was_not_looked_at(problem: Problem, status: Status) -> None:
    environment = Environment(driver=Driver(params=missing(problem, "/proc/x")), messages=found((), "text"))
    (finding,) = findings_of(environment, any_of=("driver.params", "messages"))
    assert (finding.status, finding.evidence[0].fact) == (status, "driver.params")


def test_every_check_that_can_fail_declares_its_fault() -> None:
    only_inform = {"jetson-no-nvml", "nvidia-smi-cuda-vs-nvcc"}
    assert {id for id, check in all_checks().items() if check.fault is None} == only_inform
    assert all(check.fault.id == id for id, check in all_checks().items() if check.fault is not None)


def test_words_of_a_fault_stand_in_one_place() -> None:
    said: dict[str, int] = {}
    for path in Path(envkit.checks.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                said[node.value] = said.get(node.value, 0) + 1
    titles = {check.fault.title for check in all_checks().values() if check.fault is not None}
    assert {title: said[title] for title in titles if said.get(title, 0) > 1} == {}
