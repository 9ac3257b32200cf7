"""Reports for people: verdict first, 80 columns, nothing lost, nothing that a machine says becomes markup."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envkit.base.shown import inert
from envkit.base.versions import ComputeCapability, Version
from envkit.checks.engine.command import fixed
from envkit.checks.engine.findings import Evidence, Finding, Remedy, Status
from envkit.checks.engine.registry import all_checks
from envkit.checks.engine.runner import run_checks
from envkit.documents.doctor import doctor_document
from envkit.ingest import parse_text
from envkit.model import Driver, Environment, Gpu, Problem, System, found, missing
from envkit.model.paths import walk
from envkit.render.facts_text import facts_text
from envkit.render.html import doctor_html
from envkit.render.markdown import doctor_markdown
from envkit.render.text import doctor_text
from envkit.tables import Matrix
from tests.fakes.machines import load_machine

MISMATCH = Finding(
    "driver-library-mismatch",
    Status.FAIL,
    "The loaded driver is 570.133.07 and its libraries are 570.172",
    evidence=(Evidence("driver.kernel_module", "570.133.07", "/proc/driver/nvidia/version"),),
    impact="Every program that uses the GPU fails until both have one version, whatever else is right on this machine.",
    remedy=Remedy("Reboot.", (fixed("sudo systemctl reboot"),)),
    references=("https://example.org/1",),
)
CONSEQUENCE = Finding("nvml-broken", Status.FAIL, "NVML does not answer", because_of="driver-library-mismatch")
UNKNOWN = Finding("uvm-module-not-loaded", Status.UNKNOWN, "envkit did not probe the loaded modules")
WELL = Finding("glibc-too-old", Status.OK, "glibc is new enough")
MACHINE = Environment(
    system=System(architecture=found("x86_64", "uname")),
    driver=Driver(
        kernel_module=found(Version.parse("570.133.07"), "/proc/driver/nvidia/version"),
        user_space=missing(Problem.DENIED, "/usr/lib", "permission denied"),
    ),
    gpus=found((Gpu(0, "NVIDIA A100", compute_capability=ComputeCapability(8, 0), memory_bytes=85 * 10**9),), "nvml"),
)


def test_the_verdict_comes_first_and_the_consequence_says_so() -> None:
    text = doctor_text(MACHINE, [MISMATCH, CONSEQUENCE, UNKNOWN, WELL])
    assert text.startswith("FAIL  The loaded driver is 570.133.07")
    assert text.index("  Fix       Reboot.") < text.index("  Why       Every") < text.index("  See also  envkit")
    assert "\n              sudo systemctl reboot\n" in text
    assert "  Also      NVML does not answer (fixing the problem above should fix this too)\n" in text
    assert text.count("FAIL") == 1
    assert text.splitlines()[-2:] == [
        "driver 570.133.07 · NVIDIA A100",
        "1 check passed, 1 could not run. Use -v for details.",
    ]


def test_evidence_with_its_source_the_machine_and_the_counts_come_when_asked() -> None:
    text = doctor_text(MACHINE, [MISMATCH, CONSEQUENCE, UNKNOWN, WELL], verbose=True)
    assert "  Evidence  NVIDIA kernel module: 570.133.07  [/proc/driver/nvidia/version]" in text
    assert "envkit did not probe the loaded modules: uvm-module-not-loaded" in text
    assert "1 passed, 2 failed, 1 could not run" in text


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120])
def test_a_report_is_as_wide_as_the_terminal_and_commands_can_be_copied(width: int) -> None:
    environment = load_machine("ubuntu22.04-rtx4090-550-torchvision")
    findings = run_checks(environment, Matrix.load(), all_checks().values())
    lines = doctor_text(environment, findings, width=width).splitlines()
    commands = findings[0].remedy.commands if findings[0].remedy else ()
    printed = "\n".join(line for line in lines if line.startswith(" " * 14)).replace(" \\\n", " ").splitlines()
    assert commands and [" ".join(line.split()) for line in printed] == list(commands)
    words = [(line, line.strip().removesuffix(" \\")) for line in lines if "See also" not in line]
    free = [line for line, said in words if said.count(" ") > said.startswith("--")]  # an option stays with its value
    assert all(len(line) <= width for line in free)
    assert max(map(len, free)) > width // 2


@pytest.mark.parametrize("name", ["rtx4090-550-torchvision", "rtx3090-secureboot", "8xh100-550", "rtx3080-no-uvm"])
def test_one_cause_fits_a_screen(name: str) -> None:
    environment = load_machine(f"ubuntu22.04-{name}")
    findings = [
        finding
        for finding in run_checks(environment, Matrix.load(), all_checks().values())
        if finding.status is not Status.WARN
    ]
    text = doctor_text(environment, findings)
    rows = sum(1 + max(len(line) - 1, 0) // 80 for line in text.splitlines())  # as a terminal breaks long commands
    assert rows <= 23


def test_what_is_healthy_is_listed_only_when_asked() -> None:
    assert "glibc-too-old" not in doctor_text(MACHINE, [WELL])
    assert "glibc-too-old" in doctor_text(MACHINE, [WELL], verbose=True)


def test_ignorance_is_not_health() -> None:
    assert "uvm-module-not-loaded could not be checked" in doctor_text(Environment(), [UNKNOWN])


def test_no_form_of_the_report_takes_ignorance_for_health() -> None:
    assert "uvm-module-not-loaded could not be checked" in doctor_markdown(Environment(), [UNKNOWN])
    page = doctor_html(Environment(), [UNKNOWN])
    assert "uvm-module-not-loaded could not be checked" in page and '<h1 class="unknown">' in page


def test_color_only_when_asked() -> None:
    assert "\x1b[" not in doctor_text(MACHINE, [MISMATCH])
    assert "\x1b[31;1mFAIL" in doctor_text(MACHINE, [MISMATCH], color=True)
    assert "              \x1b[36;1msudo systemctl reboot\x1b[0m\n" in doctor_text(MACHINE, [MISMATCH], color=True)


@given(st.text(st.characters(categories=["L", "N", "P", "Zs"]), min_size=1, max_size=300))
def test_titles_of_any_length_keep_to_80_columns(title: str) -> None:
    words = " ".join(word[:40] for word in title.split()) or "x"
    text = doctor_text(MACHINE, [Finding("some-check", Status.FAIL, words)])
    assert all(len(line) <= 80 for line in text.splitlines())


def test_why_a_fact_is_missing_is_said() -> None:
    text = doctor_text(MACHINE, [], verbose=True)
    assert "libraries: not readable by this user (permission denied)" in text


def test_markdown_shows_what_a_machine_says_as_code() -> None:
    hostile = Finding("x", Status.FAIL, "a|b<c>*d*", evidence=(Evidence("f", "`v`\n# head", "s"),))
    page = doctor_markdown(*inert((MACHINE, [hostile])))
    assert "`a|b<c>*d*`" in page  # what is code does nothing
    assert "\n# head" not in page


def test_json_has_the_keys_that_are_fixed() -> None:
    document = doctor_document(MACHINE, [MISMATCH, CONSEQUENCE])
    assert set(document) == {"schema", "tool", "verdict", "environment", "findings", "summary"}
    findings = document["findings"]
    assert isinstance(findings, list)
    assert "because_of" not in findings[0]
    assert findings[1]["because_of"] == "driver-library-mismatch"
    assert findings[0]["severity"] == "error"


def test_every_fact_is_listed_with_its_source_or_reason() -> None:
    text = facts_text(MACHINE)
    assert "driver.kernel_module = 570.133.07  (/proc/driver/nvidia/version)" in text
    assert "driver.user_space: not readable by this user" in text
    assert len([line for line in text.splitlines() if line.startswith("  ")]) >= len(list(walk(MACHINE)))


def test_a_broken_check_reaches_the_headline() -> None:
    broken = Finding("glibc-too-old", Status.ERROR, "internal error in this check: KeyError: 'x'")
    text = doctor_text(MACHINE, [broken, WELL])
    assert text.startswith("UNKNOWN One check failed inside envkit")
    assert "No problems found" not in text
    assert '<h1 class="unknown">' in doctor_html(MACHINE, [broken, WELL])


def test_a_text_without_a_word_that_is_known_is_not_called_healthy() -> None:
    environment = parse_text("hello world\n")
    findings = run_checks(environment, Matrix.load(), all_checks().values())
    assert doctor_text(environment, findings).startswith("UNKNOWN envkit recognized nothing in the input")
    assert '<h1 class="unknown">' in doctor_html(environment, findings)


def test_a_text_that_tells_little_is_not_called_unknown() -> None:
    environment = parse_text("Linux node 6.8.0-60-generic #63-Ubuntu SMP x86_64 GNU/Linux\n")
    assert doctor_text(environment, [UNKNOWN]).startswith("UNKNOWN uvm-module-not-loaded could not be checked")


BEFORE = "After the update of our cluster I have tried everything that I found, and at the end it always writes "


@pytest.mark.parametrize("text", [BEFORE, BEFORE * 4, "", "$ python train.py\n"])
def test_the_words_that_decide_are_seen_in_a_long_line(text: str) -> None:
    environment = parse_text(f"{text}CUDA error: uncorrectable ECC error encountered, and that every day since then")
    findings = run_checks(environment, Matrix.load(), all_checks().values())
    _, seen = doctor_text(environment, findings).split("  Evidence")
    assert "uncorrectable ECC error" in " ".join(seen.partition("  See also")[0].split())


def test_a_command_is_not_shown_for_what_it_printed() -> None:
    environment = parse_text("$ nvidia-smi\nNo devices were found\n")
    findings = run_checks(environment, Matrix.load(), all_checks().values())
    assert "Evidence  No devices were found" in doctor_text(environment, findings)
