"""The headline: a known message is never passed over, wherever the text comes from."""

from __future__ import annotations

import csv
from functools import lru_cache
from pathlib import Path
from unittest.mock import patch

import pytest

from envkit.checks.engine.findings import Confidence, Finding, Status
from envkit.checks.engine.registry import all_checks
from envkit.checks.engine.runner import run_checks
from envkit.documents.doctor import doctor_document
from envkit.documents.verdict import unseen, verdict
from envkit.documents.verdict_ask import commands_to_paste
from envkit.ingest import parse_text
from envkit.ingest.likeness import CAUSES, Known
from envkit.model import Environment, OsRelease, Problem, System, found, missing
from envkit.model.paths import with_facts
from envkit.render.html import doctor_html
from envkit.render.markdown import doctor_markdown
from envkit.render.text import doctor_text
from envkit.tables import Matrix
from tests.fakes.machines import load_machine
from tests.sweeps import turn

DATA = Path(__file__).parents[2] / "envkit/data"
WORKS = ">>> torch.cuda.is_available()\nTrue\n>>> torch.cuda.get_device_name(0)\n'NVIDIA GeForce RTX 4090'\n"
PLACES = {
    "wsl": "Linux pc 5.15.153.1-microsoft-standard-WSL2 #1 SMP x86_64 GNU/Linux\n",
    "jetson": "# R36 (release), REVISION: 4.3, GCID: 38968081, BOARD: generic, EABI: aarch64\n",
    "container": "root@0123456789ab:/workspace# ls /.dockerenv\n/.dockerenv\n",
}
NOTHING_ALONE = ("tf-finds-no-driver", "xid-other")
# a Jetson may have no NVML (NVIDIA/nvidia-container-toolkit#1853); its own check jetson-no-nvml says so
NORMAL_ON_A_JETSON = ("driver-not-installed/nvidia-smi-not-found", "nvml-library-missing")
SMI = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that it is installed.\n"


@lru_cache(maxsize=1)
def matrix() -> Matrix:
    return Matrix.load()


def judged(text: str) -> tuple[Environment, list[Finding]]:
    environment = parse_text(text)
    return environment, run_checks(environment, matrix(), all_checks().values())


def examples() -> list[tuple[str, str]]:
    with (DATA / "signatures.csv").open(encoding="utf-8", newline="") as file:
        return [(row["signature"], row["example"]) for row in csv.DictReader(file)]


@pytest.mark.thorough
@pytest.mark.parametrize("place", PLACES)
def test_no_known_message_is_called_health_in_any_place(place: str) -> None:
    passed_over = []
    for signature, example in examples()[turn(3) :: 3]:
        environment, findings = judged(f"{PLACES[place]}{example}\n")
        normal = (*NOTHING_ALONE, *(NORMAL_ON_A_JETSON if place == "jetson" else ()))
        if verdict(environment, findings).title.startswith(("Nothing wrong", "Nothing in", "None of")):
            passed_over += [] if signature.startswith(normal) else [signature]
    assert passed_over == []


@pytest.mark.parametrize("line", [SMI, "RuntimeError: Found no NVIDIA driver on your system.\n"])
def test_in_wsl_a_driver_that_is_not_reached_is_the_root_cause(line: str) -> None:
    findings = judged(PLACES["wsl"] + line)[1]
    assert (findings[0].id, findings[0].status) == ("wsl-libcuda-missing", Status.FAIL)


def test_a_message_that_no_check_of_the_place_judges_is_named() -> None:
    nothing_known = Known(f"{CAUSES}\t\n")  # of other reports, which the line may resemble
    with patch("envkit.ingest.resemblance.known_reports", lambda: nothing_known):
        environment, findings = judged(PLACES["container"] + SMI)
    answer = verdict(environment, findings)
    assert answer.title == (
        "envkit recognized an error message, but its check does not apply here: driver-module-not-loaded"
    )
    assert answer.status is Status.UNKNOWN and answer.ask


def test_nvidia_smi_without_a_driver_is_no_answer_of_the_driver() -> None:
    findings = judged(PLACES["container"] + SMI)[1]
    assert {finding.status for finding in findings if finding.id == "nvidia-smi-hangs"} == {Status.SKIP}


def test_on_a_jetson_a_missing_nvidia_smi_is_normal() -> None:
    environment, findings = judged(PLACES["jetson"] + "bash: nvidia-smi: command not found\n")
    assert verdict(environment, findings).status is Status.OK


WARNING = Finding("link-narrow", Status.WARN, "The link is narrow")
CAUSE = Finding("driver-too-old", Status.FAIL, "The driver is too old", confidence=Confidence.LIKELY)
WELL = Finding("glibc-too-old", Status.OK, "glibc is new enough")
UNKNOWN = Finding("xid-other", Status.UNKNOWN, "envkit did not probe the kernel log")
SKIPPED = Finding("mig", Status.SKIP, "no MIG")


@pytest.mark.parametrize(
    ("findings", "status", "id", "headline"),
    [
        ([CAUSE, WARNING, WELL], Status.FAIL, "driver-too-old", "Most likely cause: The driver is too old"),
        ([WARNING, WELL, UNKNOWN], Status.WARN, "link-narrow", "Nothing is broken. Warning: The link is narrow"),
        ([WELL, UNKNOWN, SKIPPED], Status.OK, None, "No problems found"),
        ([UNKNOWN, SKIPPED], Status.UNKNOWN, None, "Too little is known for a verdict"),
        ([SKIPPED], Status.OK, None, "None of these checks applies here"),
    ],
)
def test_the_verdict_is_the_same_in_every_report(
    findings: list[Finding], status: Status, id: str | None, headline: str
) -> None:
    environment = Environment()
    answer = verdict(environment, findings)
    assert (answer.status, answer.id, answer.headline) == (status, id, headline)
    assert bool(answer.ask) == (status is Status.UNKNOWN)
    first = doctor_text(environment, findings).splitlines()[0]
    assert first.endswith(headline.removeprefix("Nothing is broken. Warning: ")) and not first.startswith(" ")
    assert doctor_markdown(environment, findings).startswith(f"### envkit doctor: {answer.heading}")
    assert f'<h1 class="{status.value}">{headline}</h1>' in doctor_html(environment, findings)
    document = doctor_document(environment, findings)["verdict"]
    assert isinstance(document, dict)
    assert (document["status"], document["id"], document["confidence"]) == (status.value, id, answer.confidence.value)


def test_health_is_certain_only_where_all_that_decides_was_looked_at() -> None:
    assert verdict(load_machine("ubuntu22.04-8xh100-550"), [WELL]).confidence is Confidence.CERTAIN
    assert verdict(Environment(), [WELL]).confidence is Confidence.LIKELY


@pytest.mark.parametrize("problem", [Problem.DENIED, Problem.TIMED_OUT, Problem.UNPARSABLE, Problem.NOT_LOOKED])
def test_a_fact_is_unseen_unless_it_is_known_or_certainly_absent(problem: Problem) -> None:
    machine = load_machine("ubuntu22.04-8xh100-550")
    assert unseen(machine) == ()
    assert unseen(with_facts(machine, {"gpus": missing(problem)})) == ("gpus",)
    assert unseen(with_facts(machine, {"gpus": missing(Problem.ABSENT)})) == ()


def test_every_form_names_the_other_causes_and_how_to_tell_them_apart() -> None:
    environment, findings = judged("RuntimeError: cuDNN error: CUDNN_STATUS_NOT_INITIALIZED\n")
    answer = verdict(environment, findings)
    assert (answer.confidence, answer.ask) == (Confidence.POSSIBLE, ("nvidia-smi",))
    for form in (doctor_text, doctor_markdown, doctor_html):
        page = form(environment, findings)
        assert "Possible cause: " in page or "(possibly)" in page
        assert all(other.title in page and other.tell_apart in page for other in answer.alternatives)


def test_a_text_that_says_nothing_is_asked_for_what_would_tell() -> None:
    environment, findings = judged("hello world\n")
    for form in (doctor_text, doctor_markdown, doctor_html):
        page = form(environment, findings)
        assert "envkit recognized nothing in the input" in page
        assert page.index("nvidia-smi") < page.index("torch.utils.collect_env") < page.index("dmesg")


@pytest.mark.parametrize("told", ["It stopped when I upgraded the kernel. RTX 3060.\n", "torch 2.6.0 on my new 4090\n"])
def test_a_machine_that_is_only_spoken_of_is_not_called_healthy(told: str) -> None:
    answer = verdict(*judged(told))
    assert answer.status is Status.UNKNOWN and "mentions hardware or software" in answer.title and answer.ask
    assert verdict(*judged(told + WORKS)).status is Status.OK


def test_what_a_text_tells_is_not_asked_for_again() -> None:
    text = f"{PLACES['container']}{SMI}CUDA_VISIBLE_DEVICES=0\n"
    environment, findings = judged(text)
    asked = verdict(environment, findings).ask
    assert asked and "env | grep" not in " ".join(asked)


def test_windows_is_asked_for_no_command_of_linux() -> None:
    environment = Environment(system=System(os=found(OsRelease("windows", "windows", ""), "a test")))
    assert not [command for command in commands_to_paste(environment) if "grep" in command]
