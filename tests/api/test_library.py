"""The front door: `import envkit`, and what its functions give and refuse."""

from __future__ import annotations

import doctest
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import envkit
from tests.cli.run import ROOT
from tests.cli.run import envkit as program
from tests.docs.blocks import blocks
from tests.fakes.machines import MACHINES

EXAMPLE = ROOT / "docs" / "examples" / "bug-report.txt"
MACHINE = MACHINES / "ubuntu22.04-rtx4090-550-torch"


def _python(source: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, cwd=ROOT, check=False)


def test_every_example_of_the_page_is_true(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    page = ROOT / "docs" / "library.md"
    text = "\n".join(block.text for block in blocks(page) if block.language == "python")
    examples = doctest.DocTestParser().get_doctest(text, {}, "library.md", str(page), 0)
    runner = doctest.DocTestRunner(verbose=False)
    told: list[str] = []
    runner.run(examples, out=told.append)
    assert runner.tries > 20
    assert not told, "".join(told)


def test_the_page_names_every_export() -> None:
    text = (ROOT / "docs" / "library.md").read_text(encoding="utf-8")
    left_out = {name for name in envkit.__all__ if name not in text}
    assert left_out <= {"__version__", "Finding", "Verdict"}


def test_an_import_loads_nothing_and_dir_shows_everything() -> None:
    done = _python(
        "import sys; before = set(sys.modules); import envkit\n"
        "print(sorted(set(sys.modules) - before), set(envkit.__all__) <= set(dir(envkit)))"
    )
    assert done.stdout.strip() == "['envkit'] True", done.stderr


def test_every_export_is_available_and_no_other() -> None:
    for name in envkit.__all__:
        assert getattr(envkit, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'diagnoze'"):
        envkit.diagnoze()  # type: ignore[attr-defined]  # mypy wants the comment: it knows every name


def test_a_type_checker_sees_the_types() -> None:
    """Mypy reads this file and refuses a comment that it does not need: neither call gives Any."""
    report: None = envkit.diagnose(EXAMPLE)  # type: ignore[assignment]
    plan: envkit.Plan = envkit.resolve("pytorch==2.6")  # type: ignore[assignment]
    assert isinstance(report, envkit.Report) and isinstance(plan, envkit.Plan)


@pytest.mark.thorough
def test_this_machine_is_diagnosed_without_a_word_from_a_thread_too() -> None:
    done = _python(
        "import envkit, threading, signal\n"
        "before = [signal.getsignal(number) for number in signal.valid_signals()]\n"
        "given = []\n"
        "thread = threading.Thread(target=lambda: given.append(envkit.diagnose()))\n"
        "thread.start(); thread.join()\n"
        "assert given[0].environment.origin == 'this machine'\n"
        "assert before == [signal.getsignal(number) for number in signal.valid_signals()]\n"
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.thorough
@pytest.mark.parametrize("source", [EXAMPLE, MACHINE], ids=lambda path: path.name)
def test_the_report_is_what_the_command_prints(source: Path) -> None:
    report = envkit.diagnose(source)
    printed = program("doctor", "--from", str(source), "--json", cwd=str(ROOT)).stdout
    assert json.loads(report.to_json()) == json.loads(printed)
    assert report == envkit.diagnose(envkit.facts(str(source)))


def test_a_pasted_text_and_its_file_give_the_same() -> None:
    text = EXAMPLE.read_text(encoding="utf-8")
    assert envkit.facts(text) == envkit.facts(EXAMPLE)
    document = envkit.diagnose(EXAMPLE).to_json()
    assert envkit.diagnose(document).findings == envkit.diagnose(EXAMPLE).findings


def test_a_file_with_a_blank_in_its_name_is_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my report.txt").write_bytes(EXAMPLE.read_bytes())
    (tmp_path / "-").write_bytes(EXAMPLE.read_bytes())
    monkeypatch.chdir(tmp_path)
    assert envkit.facts("my report.txt") == envkit.facts("-") == envkit.facts(EXAMPLE)


def test_masked_facts_do_not_hold_the_names() -> None:
    facts = envkit.facts('{"system": {}, "driver": {"kernel_module": {"value": "570.86", "source": "/home/anna/x"}}}')
    assert "anna" in envkit.diagnose(facts).to_json()
    assert "anna" not in envkit.diagnose(envkit.facts(facts, mask=True)).to_json()
    assert "anna" not in envkit.diagnose(facts, mask=True).to_json()


def test_a_check_is_what_the_command_prints() -> None:
    report = envkit.check(ROOT / "docs" / "examples" / "old.Dockerfile", gpu="GeForce RTX 5090")
    words = ("dockerfile", "--check", report.name, "--gpu", "GeForce RTX 5090")
    assert str(report) == program(*words).stdout.removesuffix("\n")
    assert json.loads(report.to_json()) == json.loads(program(*words, "--json").stdout)


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: envkit.diagnose("no-such-file.txt"), envkit.SourceError, "source: cannot read no-such-file.txt"),
        (lambda: envkit.diagnose(""), envkit.SourceError, "is empty"),
        (lambda: envkit.facts("a\0b"), envkit.SourceError, "is not a path"),
        (lambda: envkit.facts(ROOT / "docs"), envkit.SourceError, "is not a capture"),
        (lambda: envkit.check(ROOT / "README.md"), envkit.SourceError, r"README.md: line 3: .* Pass a Dockerfile"),
        (lambda: envkit.check(ROOT), envkit.SourceError, "Is a directory"),
        (lambda: envkit.check("-"), envkit.SourceError, "No such file"),
        (lambda: envkit.resolve("pytorch", python=3.10), envkit.RequestError, r"3\.1 is not text"),  # type: ignore[arg-type]
        (lambda: envkit.resolve("pytorch", arch="riscv64"), envkit.RequestError, "One of x86_64, aarch64"),
        (lambda: envkit.resolve("pytorch", gpu=["V100", "RTX 9999"]), envkit.RequestError, "RTX 9999"),
    ],
)
def test_bad_input_is_one_error_that_says_what_to_do(
    call: Callable[[], object], kind: type[envkit.EnvkitError], words: str
) -> None:
    with pytest.raises(kind, match=words) as caught:
        call()
    assert "\n" not in str(caught.value)
    assert caught.value.hint or "9999" in words
