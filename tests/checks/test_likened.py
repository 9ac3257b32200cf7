"""What a text reads like is a hint: told where nothing else explains a failure, never as the answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import pytest

from envkit.checks.engine.findings import Confidence, Finding, Status
from envkit.checks.engine.likened import is_likened
from envkit.checks.engine.registry import all_checks
from envkit.checks.engine.runner import run_checks
from envkit.documents.doctor import doctor_json
from envkit.documents.verdict import verdict
from envkit.ingest import parse_text
from envkit.ingest.likeness import CAUSES, Known
from envkit.ingest.sources import from_text
from envkit.model import READS_LIKE, Environment
from envkit.render.text import doctor_text
from tests.checks.software import matrix

CAUSE = "power-supply-overloaded"
OTHER = "thermal-throttle"
TABLE = "\n".join(
    (
        f"{CAUSES}\tnone\t{CAUSE}\t{OTHER}",
        *(f"{term}\t4000\t1:900" for term in ("purple", "purple fan", "whirl")),
        "fan\t4000\t1:900,2:800",
        "amber\t4000\t1:900,2:860",
        "green\t4000\t0:900",
    )
)
KNOWN = Known(TABLE)
FAILS = "The purple fan begins to whirl and then it does not work."
WEAKER = "The purple fan begins to whirl and then everything is stuck."


@pytest.fixture(autouse=True)
def known() -> Iterator[None]:
    with patch("envkit.ingest.resemblance.known_reports", lambda: KNOWN):
        yield


def judged(environment: Environment) -> list[Finding]:
    return run_checks(environment, matrix(), all_checks().values())


def hints(environment: Environment) -> list[Finding]:
    return [finding for finding in judged(environment) if is_likened(finding)]


@pytest.mark.parametrize("text", [FAILS, WEAKER])
def test_a_hint_is_a_possible_warning_with_what_would_confirm_it(text: str) -> None:
    [hint] = hints(parse_text(text))
    assert (hint.id, hint.status, hint.confidence) == (CAUSE, Status.WARN, Confidence.POSSIBLE)
    assert hint.title == f"The wording resembles known reports of: {all_checks()[CAUSE].title}"
    assert hint.remedy is not None
    assert hint.remedy.commands == ()
    assert f"envkit explain {CAUSE}" in hint.remedy.summary
    assert hint.evidence[0].value == text


@pytest.mark.parametrize("text", [FAILS, WEAKER])
def test_the_verdict_is_neither_health_nor_the_hint(text: str) -> None:
    environment = parse_text(text)
    findings = judged(environment)
    answer = verdict(environment, findings)
    assert (answer.status, answer.id, answer.confidence) == (Status.UNKNOWN, None, Confidence.POSSIBLE)
    assert [other.id for other in answer.alternatives] == [CAUSE]
    assert answer.ask
    printed = doctor_text(environment, findings)
    assert "No problems found" not in printed
    assert "Nothing is broken" not in printed
    assert "The wording resembles known reports" in printed


def test_other_causes_that_are_nearly_as_like_are_named_with_what_tells_them_apart() -> None:
    environment = parse_text("The amber fan of my card is stuck and does not work.")
    [hint] = hints(environment)
    assert hint.id == CAUSE
    assert [other.id for other in hint.alternatives] == [OTHER]
    assert hint.remedy is not None
    assert OTHER in hint.remedy.summary
    answer = verdict(environment, judged(environment))
    assert [other.id for other in answer.alternatives] == [CAUSE, OTHER]
    assert OTHER in doctor_text(environment, judged(environment))


def test_a_long_text_gets_a_hint_where_it_states_a_failure() -> None:
    log = "".join(f"{number:03}: step done\n" for number in range(40))
    assert [hint.id for hint in hints(parse_text(f"{FAILS}\n{log}"))] == [CAUSE]


def test_facts_that_were_saved_give_the_same_hint() -> None:
    environment = parse_text(FAILS)
    document = doctor_json(environment, judged(environment))
    again = from_text(document, "facts.json")
    assert json.loads(doctor_json(again, judged(again)))["verdict"] == json.loads(document)["verdict"]


@pytest.mark.parametrize(
    "text",
    [
        "The purple fan begins to whirl, all is well.",
        "Is a purple fan that begins to whirl broken?",
        "Thanks, I solved it: the purple fan did whirl and was stuck.",
        "A feature request: the purple fan should whirl, now it does not.",
        "I don't get the error of the purple fan whirl any more.",
        "This is not the whirl of the purple fan.",
        "My colleague's purple fan began to whirl, his machine is stuck.",
        f"{WEAKER}\n" + "Some more words that somebody wrote.\n" * 10,
        "The whirl of the purple fan is gone now.",
        "bash: purple-fan-whirl: command not found",
        "It is green and does not work.",
    ],
)
def test_no_hint_without_a_stated_failure_in_a_few_words_that_are_like_others(text: str) -> None:
    assert hints(parse_text(text)) == []


def test_no_hint_next_to_a_finding() -> None:
    findings = judged(parse_text(f"{FAILS}\nNVRM: GPU 0000:01:00.0: GPU has fallen off the bus."))
    assert any(finding.status is Status.FAIL for finding in findings)
    assert not any(is_likened(finding) for finding in findings)


def test_no_hint_at_what_a_check_has_ruled_out_or_was_not_asked() -> None:
    environment = parse_text(FAILS)
    others = [check for id, check in all_checks().items() if id != CAUSE]
    assert not any(is_likened(finding) for finding in run_checks(environment, matrix(), others))


def test_no_hint_for_a_machine() -> None:
    assert hints(replace(parse_text(FAILS), origin="this machine")) == []


def test_the_score_stands_in_the_facts() -> None:
    [message] = [each for each in parse_text(FAILS).messages.get() if each.signature == READS_LIKE]
    assert set(message.values) == {"cause", "score", "others"}


def test_the_table_is_not_read_for_a_machine_or_a_healthy_text(tmp_path: Path) -> None:
    with patch("envkit.ingest.resemblance.known_reports", side_effect=AssertionError):
        parse_text("NVIDIA GeForce RTX 3090, driver 570.86, everything works.")
