"""What `--from` is given: text in Windows' encodings, envkit's own reports, cut JSON, things that are no text."""

from __future__ import annotations

from pathlib import Path

import pytest

from envkit.base.decode import decoded
from envkit.base.errors import SourceError
from envkit.checks.engine.findings import Status
from envkit.checks.engine.registry import all_checks
from envkit.checks.engine.runner import run_checks
from envkit.cli.environment import recorded
from envkit.documents.doctor import doctor_json
from envkit.ingest.sources import from_text
from envkit.model import Environment
from envkit.render.facts_text import facts_text
from envkit.render.html import doctor_html
from envkit.render.markdown import doctor_markdown
from envkit.render.text import doctor_text
from envkit.tables import Matrix
from tests.fakes.machines import load_machine

MATRIX = Matrix.load()
REPORT = Path("docs/examples/bug-report.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_a_text_is_read_in_the_encodings_that_shells_write(encoding: str, tmp_path: Path) -> None:
    assert decoded(REPORT.encode(encoding)) == REPORT
    (tmp_path / "report.txt").write_bytes(REPORT.encode(encoding))
    assert recorded(str(tmp_path / "report.txt")) == from_text(REPORT, "report.txt")


@pytest.mark.parametrize(
    "data", [b"", b"\x00", b"\x00" * 50, b"plain", "驱动程序".encode(), b"\x7fELF\x02\x01\x01\x00\x00"]
)
def test_other_bytes_are_taken_for_utf8(data: bytes) -> None:
    assert decoded(data) == data.decode("utf-8", "replace")


def oks(environment: Environment) -> list[str]:
    return [
        finding.id for finding in run_checks(environment, MATRIX, all_checks().values()) if finding.status.value == "ok"
    ]


@pytest.mark.parametrize("text", ["hello world", "{}", '{"a": [1, 2', "lorem\nipsum"])
def test_a_text_that_tells_nothing_is_not_healthy(text: str) -> None:
    assert oks(from_text(text, "a text")) == []


def test_a_program_is_no_text() -> None:
    with pytest.raises(SourceError, match="is not text"):
        from_text("\x7fELF\x02\x01\x00\ufffd\ufffd", "a text")


def test_memory_that_ran_out_is_named() -> None:
    # the message of https://github.com/pytorch/pytorch/issues/16417, as Jupyter frames it
    text = "OutOfMemoryError          Traceback (most recent call last)\nCell In[7], line 3\n----> 3 model(x)\n\n" + (
        "OutOfMemoryError: CUDA out of memory. Tried to allocate 22.00 MiB. GPU 0 has a total capacity of 23.65 GiB"
    )
    found = run_checks(from_text(text, "a text"), MATRIX, all_checks().values())
    assert [finding.id for finding in found if finding.status is Status.WARN] == ["gpu-memory-held-by-lost-process"]


@pytest.mark.parametrize("name", ["ubuntu22.04-rtx3090-mismatch", "ubuntu22.04-8xh100-550"])
def test_an_own_report_is_not_judged_again(name: str) -> None:
    environment = load_machine(name)
    findings = run_checks(environment, MATRIX, all_checks().values())
    reports = [form(environment, findings) for form in (doctor_text, doctor_markdown, doctor_html)]
    for report in (*reports, doctor_text(environment, findings, verbose=True, color=True), facts_text(environment)):
        with pytest.raises(SourceError, match="a report that envkit wrote"):
            from_text(report, "a text")


def test_own_json_that_was_cut_is_said_so() -> None:
    environment = load_machine("ubuntu22.04-8xh100-550")
    with pytest.raises(SourceError, match="cut off or damaged"):
        from_text(doctor_json(environment, [])[:5000], "a text")
