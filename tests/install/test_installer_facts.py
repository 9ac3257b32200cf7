"""What is known about NVIDIA's installers: each row has a source, and the document about them is true."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from envkit.base.versions import ComputeCapability, Version
from envkit.install.commands import installer_options
from envkit.install.driver_packages import module_for
from envkit.solver.request import TargetGpu
from envkit.tables import Matrix
from envkit.tables.installer import FailureRow, PythonFileRow, holds_for, style_of
from envkit.tables.loader import read

ROOT = Path(__file__).parents[2]
LINES = re.findall(r"^\| (.+?) \| `(.+?)` \| `(.+?)` \|$", (ROOT / "docs/installer-facts.md").read_text(), re.M)


def test_the_document_has_a_line_for_everything() -> None:
    assert len(LINES) > 45


@pytest.mark.parametrize(("what", "file", "words"), LINES)
def test_each_line_of_the_document_is_true(what: str, file: str, words: str) -> None:
    assert words in (ROOT / file).read_text(), what


def test_failure_patterns_are_patterns() -> None:
    for row in read(FailureRow):
        re.compile(row.pattern)


def test_pinned_pythons_have_a_checksum_and_a_name_that_ends_their_address() -> None:
    for row in read(PythonFileRow):
        assert re.fullmatch(r"[0-9a-f]{64}", row.sha256)
        assert row.url.endswith(row.name.replace("+", "%2B"))


@pytest.mark.parametrize(
    ("spec", "cuda", "holds"),
    [("", "9.0.176", True), ("<11.6", "11.5.2", True), ("<11.6", "11.6.0", False), ("10.1", "10.1.243", True)],
)
def test_rows_hold_for_their_releases(spec: str, cuda: str, holds: bool) -> None:
    assert holds_for(spec, Version.parse(cuda)) is holds


def test_options_come_in_order_and_only_on_their_condition() -> None:
    values = {"path": "P", "work": "W"}
    words = installer_options("new", "driver", Version.parse("12.4.1"), frozenset({"open"}), values)
    assert words == ("--silent", "--driver", "-m=kernel-open", "--override-driver-check", "--tmpdir=W")
    assert "-m=kernel-open" not in installer_options(
        "new", "driver", Version.parse("11.6.0"), frozenset({"open"}), values
    )


def test_only_the_new_style_has_a_log_that_makes_it_crash() -> None:
    assert style_of("new").stale_log == "/tmp/cuda-installer.log"
    assert style_of("legacy").stale_log is None


@pytest.mark.parametrize(
    ("branch", "capability", "module"),
    [
        (470, "8.6", "proprietary"),
        (535, "8.6", "proprietary"),
        (570, "8.6", "open"),
        (570, "6.1", "proprietary"),
        (580, "12.0", "open"),
        (550, "12.0", "open"),
        (470, "12.0", None),
    ],
)
def test_the_kernel_module_by_branch_and_gpu(branch: int, capability: str, module: str | None) -> None:
    row = Matrix.load().driver_branch(branch)
    assert row is not None
    assert module_for(row, (TargetGpu(ComputeCapability.parse(capability)),)) == module
