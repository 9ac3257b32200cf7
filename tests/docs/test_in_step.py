"""Generated pages are up to date, and both READMEs say the same."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.docs.blocks import PAGES as DOCUMENTS
from tests.docs.blocks import ROOT, blocks
from tools.docs.generate import PAGES

COVERAGE = "docs/reference/coverage.md"  # made by running all checks on all that is recorded


OTHERS = tuple(page for page in PAGES if page != COVERAGE)


@pytest.mark.parametrize(
    "pages", [OTHERS, pytest.param((COVERAGE,), marks=pytest.mark.thorough)], ids=["others", "coverage"]
)
def test_generated_pages_are_up_to_date(pages: tuple[str, ...]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tools.docs.generate", "--check", *pages],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 0, f"run `make docs`:\n{done.stdout}{done.stderr}"


def test_both_readmes_have_the_same_sections_commands_and_links() -> None:
    english, chinese = ROOT / "README.md", ROOT / "README.zh-CN.md"
    for pattern in (r"^(#+) ", r"\]\((docs/[^)]+)\)", r"^\| `([^`]+)` \|"):
        found = [re.findall(pattern, page.read_text(encoding="utf-8"), re.MULTILINE) for page in (english, chinese)]
        assert found[0] == found[1], pattern
    assert [block.text for block in blocks(english)] == [block.text for block in blocks(chinese)]


def test_every_link_into_the_repository_leads_somewhere() -> None:
    for page in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")):
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_every_path_of_the_repository_that_a_page_names_is_there() -> None:
    path = re.compile(r"`((?:envkit|tests|tools|templates|docs|\.ci|\.github)/[\w./-]*)`")
    gone = {
        f"{page.name}: {name}"
        for page in DOCUMENTS
        for name in path.findall(page.read_text(encoding="utf-8"))
        if not (ROOT / name).exists()
    }
    assert gone == set()
