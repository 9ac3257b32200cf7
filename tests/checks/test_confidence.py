"""How sure a finding is: machine facts are certain, a message as sure as its causes allow; others are named."""

from __future__ import annotations

import pytest

from envkit.checks.engine.confidence import message_causes, weighed
from envkit.checks.engine.findings import Confidence, Evidence, Finding, Status
from envkit.checks.engine.messages import message_evidence, seen
from envkit.checks.engine.registry import all_checks
from envkit.checks.engine.runner import run_checks
from envkit.ingest import parse_text
from envkit.model import Environment, Kernel, found
from envkit.tables.findings import Signature
from envkit.tables.loader import read
from tests.checks.software import findings_of, matrix
from tests.fakes.machines import load_machine, machine_names

NOT_INITIALIZED = "RuntimeError: cuDNN error: CUDNN_STATUS_NOT_INITIALIZED\n"


def first(text: str) -> Finding:
    return findings_of(text)[0]


def rows() -> list[tuple[str, str, str, str, str]]:
    own = (row for rows in message_causes().values() for row in rows)
    return [(row.signature, row.confidence, row.cause, row.title, row.tell_apart) for row in own]


def test_every_row_names_a_known_message_a_known_cause_and_how_to_tell_them_apart() -> None:
    ids = {row.signature for row in read(Signature)}
    known = ids | {name.partition("/")[0] for name in ids}
    for signature, confidence, cause, _, tell_apart in rows():
        assert signature in known
        assert Confidence(confidence)
        if confidence == "certain":
            assert (cause, tell_apart) == ("", ""), signature
        else:
            assert cause in all_checks() and cause != signature.partition("/")[0] and tell_apart, signature
    assert all(len({row.confidence for row in own}) == 1 for own in message_causes().values())


@pytest.mark.parametrize("signature", [name for name, own in message_causes().items() if own[0].cause])
def test_a_message_with_several_causes_names_them_where_it_stands_alone(signature: str) -> None:
    example = next(one.example for one in read(Signature) if one.signature.startswith(signature))
    findings = findings_of(f"{example}\n")
    own = next(finding for finding in findings if finding.id == signature.partition("/")[0])
    assert {other.id for other in own.alternatives} == {row.cause for row in message_causes()[signature]}
    assert own.confidence is Confidence(message_causes()[signature][0].confidence)


@pytest.mark.parametrize(
    ("text", "confidence", "others"),
    [
        ("Failed to initialize NVML: Driver/library version mismatch\n", Confidence.CERTAIN, 0),
        ("RuntimeError: No CUDA GPUs are available\n", Confidence.LIKELY, 2),
        (NOT_INITIALIZED, Confidence.POSSIBLE, 2),
        ("NCCL WARN Bootstrap : no socket interface found\n", Confidence.LIKELY, 0),  # the table does not hold it
    ],
)
def test_a_message_is_as_sure_as_its_causes_allow(text: str, confidence: Confidence, others: int) -> None:
    finding = first(text)
    assert (finding.confidence, len(finding.alternatives)) == (confidence, others)


@pytest.mark.parametrize("name", machine_names()[::9])
def test_what_facts_of_a_machine_show_is_certain(name: str) -> None:
    for finding in run_checks(load_machine(name), matrix(), all_checks().values()):
        if {item.fact for item in finding.evidence} - {"messages", "kernel.log"}:
            assert finding.confidence is Confidence.CERTAIN


def of_messages(environment: Environment, id: str) -> Finding:
    return Finding(id, Status.FAIL, "x", evidence=message_evidence(environment, seen(environment, id)))


def test_a_cause_that_was_looked_at_and_is_well_is_not_offered() -> None:
    environment = parse_text(NOT_INITIALIZED)
    finding = of_messages(environment, "cudnn-mixed-sublibraries")
    (with_both,) = weighed(environment, [finding])
    assert len(with_both.alternatives) == 2
    well = [Finding(other.id, Status.OK, "well") for other in with_both.alternatives]
    one = weighed(environment, [finding, well[0]])[0]
    assert (one.confidence, [other.id for other in one.alternatives]) == (Confidence.POSSIBLE, [well[1].id])
    none = weighed(environment, [finding, *well])[0]
    assert (none.confidence, none.alternatives) == (Confidence.CERTAIN, ())


def test_the_kernel_log_of_a_machine_is_certain_where_its_message_has_no_other_cause() -> None:
    line = "NVRM: GPU 0000:02:00.0: RmInitAdapter failed! (0x26:0x56:1482)"
    environment = Environment(kernel=Kernel(log=found((line,), "/dev/kmsg")))
    (finding,) = weighed(environment, [of_messages(environment, "rm-init-adapter-failed")])
    assert finding.evidence[0].fact == "kernel.log" and finding.confidence is Confidence.CERTAIN
    (pasted,) = weighed(parse_text(line), [of_messages(parse_text(line), "rm-init-adapter-failed")])
    assert pasted.confidence is Confidence.LIKELY


def test_evidence_that_is_no_known_message_is_likely_only() -> None:
    finding = Finding("x", Status.WARN, "x", evidence=(Evidence("messages", "some words"),))
    assert weighed(parse_text("y"), [finding])[0].confidence is Confidence.LIKELY
