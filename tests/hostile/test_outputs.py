"""Whatever a machine's facts hold, every output stays what it is: inert text, valid JSON, a page without tricks."""

from __future__ import annotations

import os
import random
from functools import partial
from pathlib import Path

import pytest

from envkit.api.report import judged
from envkit.base.json_text import dumps
from envkit.base.shown import inert
from envkit.checks.engine.registry import all_checks
from envkit.cli.boundary import exit_code
from envkit.cli.doctor import doctor
from envkit.cli.report import rendered
from envkit.model import Environment
from envkit.model.facts_json import to_json
from envkit.render.facts_text import facts_text
from tests.checks.software import matrix
from tests.hostile.payloads import MARK, MARKUP, PAYLOADS, SHELL, STEERING
from tests.hostile.places import WAYS, holders, known, put
from tests.hostile.rules import RULES, plain, valid_json

CHECKS = list(all_checks().values())
[FORMATS] = [list(option.type.choices) for option in doctor.params if option.name == "form"]  # type: ignore[attr-defined]
# Places that reports show, each with a machine or text that has one.
SHOWN = [
    (".system.os.value.pretty_name", "ubuntu22.04-rtx3090-x4"),
    (".gpus.value[].name", "ubuntu22.04-rtx3090-x4"),
    (".pci_gpus.value[].name", "ubuntu22.04-rtx3090-x4"),
    (".pci_gpus.value[].hops[].slot", "ubuntu22.04-rtx3090-x4"),
    (".pythons.value[].prefix", "cpu-only-conda.txt"),
    (".pythons.value[].shadowing_modules[]", "ubuntu22.04-rtx4090-550-local-torch"),
    (".pythons.value[].distributions[].name", "cudnn-mixed-sublibraries.txt"),
    (".messages.value[].text", "arch-dropped-torch-28.txt"),
    (".origin", "arch-dropped-torch-28.txt"),
    (".driver.nvml.source", "ubuntu22.04-rtx3090-x4"),
]

SHARES = 4  # of the places, so that several processors share them


def look(environment: Environment) -> int:
    """Every output about the machine kept to its rules; the number of outputs."""
    report = judged(environment, CHECKS, matrix(), mask=False, chosen=False)
    told = [finding for finding in report.findings if finding.severity != "info" or finding.status.value == "error"]
    remedies = [(finding.remedy.summary, finding.remedy.commands) for finding in told if finding.remedy]
    for form in FORMATS:
        assert form in RULES, f"no rule says what {form} may hold"
        shown = dict.fromkeys(remedies) if form == "text" else remedies  # which refers to a remedy that is above
        commands = [line for _, lines in shown for line in lines]
        RULES[form](rendered([report], form, verbose=True, to_file=True), commands)
    plain(facts_text(inert(environment)), ())
    valid_json(dumps(to_json(environment)), ())
    return len(FORMATS) + 2


@pytest.mark.parametrize(("place", "name"), SHOWN)
@pytest.mark.parametrize("payloads", [SHELL, MARKUP, STEERING], ids=["shell", "markup", "steering"])
def test_what_a_report_shows_does_nothing(place: str, name: str, payloads: tuple[str, ...]) -> None:
    look(put(known(name), place, lambda text: text + "x".join(payloads)))


@pytest.mark.thorough
@pytest.mark.parametrize("share", range(SHARES))
def test_no_payload_in_any_place_does_anything(share: int) -> None:
    chance, count = random.Random(share), 0
    for place, names in list(holders().items())[share::SHARES]:
        everything = "".join(chance.sample(PAYLOADS, len(PAYLOADS)))
        for payload in (everything, *chance.sample(PAYLOADS, 6)):
            count += look(put(known(chance.choice(names)), place, partial(chance.choice(WAYS), payload)))
    print(f"{count} outputs of {len(holders()) // SHARES} places: all inert")


@pytest.mark.parametrize("payload", PAYLOADS)
def test_a_payload_shown_is_one_visible_line_and_shown_again_the_same(payload: str) -> None:
    visible = inert((payload, {payload: payload}))[0]
    assert visible.isprintable() and visible == inert(visible)


# Facts that a plan takes from a machine, and that its script or Dockerfile may name.
ASKED = (
    *(".origin", ".gpus.value[].name", ".gpus.value[].pci_address", ".pci_gpus.value[].name"),
    *(".system.os.value.os_id", ".system.os.value.pretty_name", ".system.architecture.value"),
)


@pytest.mark.parametrize("place", ASKED)
@pytest.mark.parametrize("words", [("install",), ("dockerfile",), ("resolve",), ("resolve", "--json")], ids="-".join)
def test_what_a_plan_is_made_for_stays_a_comment(
    place: str, words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    environment = put(known("ubuntu22.04-rtx3090-x4"), place, lambda text: text + "".join(PAYLOADS))
    file = tmp_path / "facts.json"
    file.write_text(dumps(to_json(environment)), "utf-8")
    assert exit_code([*words, "--framework", "pytorch", "--target", str(file)]) in (0, 1, 2)
    printed = capsys.readouterr()
    plain(printed.err, ())
    plain(printed.out.replace("\t", " "), ())
    if words[0] != "resolve":
        assert [line for line in printed.out.splitlines() if MARK in line and not line.startswith("#")] == []


@pytest.mark.parametrize("payload", STEERING)
def test_a_line_about_an_error_is_one_visible_line(payload: str, capsys: pytest.CaptureFixture[str]) -> None:
    word = os.fsdecode(payload.encode("utf-8", "surrogatepass").replace(b"\0", b""))  # as a program can be given it
    for words in (["doctor", "--from", f"/x{word}"], ["explain", word], [word], ["doctor", f"--{word}"]):
        assert exit_code(words) in (1, 2)
        printed = capsys.readouterr()
        plain(printed.err, ())
        assert printed.err.count("\n") <= 2 and printed.out == ""
