"""Every command in every format: whatever a stranger's files hold, its output is inert, and nothing is written, run or
told that is a secret."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from html.parser import HTMLParser
from pathlib import Path

import pytest

from envkit.cli.boundary import exit_code
from envkit.cli.dockerfile import FORMATS
from envkit.fleet.baseline import read_baseline
from tests.hostile.every_command import ASKED, Question, again, commands, questions, sent, uncovered
from tests.hostile.payloads import MARK, MARKUP, SHELL, STEERING
from tests.hostile.places import holders, known, put
from tests.hostile.rules import RULES, plain
from tests.hostile.test_outputs import SHOWN
from tests.redact.canaries import IDENTIFIERS, OWN_HOST, SECRETS, secret
from tests.redact.test_canaries import _environment, _found
from tests.security.tracing import traced

FLEET_PAGE = Path(__file__).parents[2] / "templates" / "reports" / "fleet.html.j2"
IN_THE_PAGE = {"#left", "#table"}
MACHINE = "ubuntu22.04-rtx3090-x4"
Rule = Callable[[str, Sequence[str]], None]


def prometheus(report: str, commands: Sequence[str]) -> None:
    """Comments of our own, and samples whose labels are quoted."""
    plain(report, commands)
    sample = re.compile(r'\w+(?:\{(?:\w+="(?:[^"\\\n]|\\[\\"n])*",?)*\})? [0-9]+')
    for line in report.splitlines():
        assert re.match(r"# (?:HELP|TYPE) envkit_", line) or sample.fullmatch(line), line


def script(report: str, commands: Sequence[str]) -> None:
    """What a shell or a builder reads: a payload is in comments alone."""
    plain(report.replace("\t", " "), commands)
    assert [line for line in report.splitlines() if MARK in line and not line.lstrip().startswith("#")] == []


def toml(report: str, commands: Sequence[str]) -> None:
    """A document that its own reader takes."""
    plain(report, commands)
    assert read_baseline(report, "baseline.toml")


class _Page(HTMLParser):
    """The tags and attributes of a page, and where its addresses lead."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: set[str] = set()
        self.addresses: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.parts |= {tag, *(f"{tag} {name}" for name, _ in attrs)}
        self.addresses |= {value or "" for name, value in attrs if name in ("href", "src")}


def page(report: str, commands: Sequence[str]) -> None:
    """A fleet's page: the tags and attributes of its template, and one script, which its policy names by its sum."""
    plain(report, commands)
    found = _Page(report)
    assert found.parts <= _Page(FLEET_PAGE.read_text()).parts and {*found.addresses} - IN_THE_PAGE <= {"data:,"}
    assert report.count("<script") == 1 and re.search(r"script-src 'sha256-[\w+/=]+'", report)


OTHER: dict[tuple[str, str], Rule] = {
    ("fleet report", "html"): page,
    ("fleet report", "prometheus"): prometheus,
    ("install", "text"): script,
    **{("dockerfile", form): script for form in FORMATS},
}
OTHER[("fleet baseline", "text")] = toml
OTHER |= {(name, "text"): plain for name in ASKED if (name, "text") not in OTHER}  # no rule of the doctor's layout


def _asked(question: Question, capsys: pytest.CaptureFixture[str]) -> str:
    code = exit_code(list(question.words))
    told = capsys.readouterr()
    assert code in (0, 1, 2), (str(question), told.err)
    plain(told.err, ())
    if told.out:
        OTHER.get((question.command, question.form), RULES.get(question.form, plain))(told.out, ())
    return told.out + told.err


def test_every_command_is_asked_or_reads_nothing_foreign() -> None:
    assert uncovered(list(commands())) == set()


@pytest.mark.thorough
@pytest.mark.parametrize("payloads", [SHELL, MARKUP, STEERING], ids=["shell", "markup", "steering"])
def test_no_output_of_any_command_does_anything(
    payloads: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hurt, payload = known(MACHINE), "x".join(payloads)
    for place, name in SHOWN:
        hurt = put(hurt, place, lambda text: text + payload) if name == MACHINE else hurt
    asked = 0
    for question in questions(sent(tmp_path, hurt, known(MACHINE), payload)):
        _asked(question, capsys)
        asked += 1
    assert asked > 50


@pytest.mark.thorough
def test_no_payload_in_any_place_does_anything_in_any_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chance, asked = random.Random(14), 0
    places = holders()
    for place in chance.sample(sorted(places), 12):
        name, payloads = chance.choice(places[place]), chance.choice((SHELL, MARKUP, STEERING))
        payload = "".join(chance.sample(payloads, 4))
        hurt = put(known(name), place, lambda text, payload=payload: text + payload)  # type: ignore[misc]
        for question in questions(sent(again(tmp_path / "sent"), hurt, known(name), payload)):
            _asked(question, capsys)
            asked += 1
    print(f"{asked} outputs of every command: all inert")


@pytest.mark.thorough
def test_no_command_writes_or_starts_anything(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = sent(tmp_path, known(MACHINE), known(MACHINE), "x")
    for question in questions(folder):
        with traced() as trace:
            _asked(question, capsys)
        assert (trace.writes, trace.starts) == ([], []), str(question)


@pytest.mark.thorough
def test_no_command_tells_a_secret_of_what_was_sent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hurt = known(MACHINE)
    for number, (place, name) in enumerate(SHOWN):
        told = f" {secret(number)} {secret(number + 20)} https://u:{SECRETS[number + 40]}@x.example.org/"
        hurt = put(hurt, place, lambda text, told=told: text + told) if name == MACHINE else hurt  # type: ignore[misc]
    for question in questions(sent(tmp_path, hurt, known(MACHINE), f"https://u:{SECRETS[59]}@x.example.org/")):
        assert _found(SECRETS, _asked(question, capsys)) == [], str(question)


@pytest.mark.thorough
def test_no_command_that_masks_tells_an_identifier(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    masked = 0
    for question in questions(sent(tmp_path, _environment(), known(MACHINE), OWN_HOST)):
        told = _asked(question, capsys) if question.masks else ""
        assert _found(IDENTIFIERS, told) == [], str(question)
        masked += question.masks
    assert masked > 10
