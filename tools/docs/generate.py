"""Writes the generated parts of the documentation; with `--check` it only says whether they are up to date."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import click

from tools.docs.pages import check_page, command_page, coverage_page, help_module, man_page, matrix_page, with_report
from tools.docs.pictures import cards_picture, times_picture, with_times

ROOT = Path(__file__).resolve().parents[2]
PAGES: dict[str, Callable[[], str]] = {
    "envkit/_startup/help_text.py": help_module,
    "docs/reference/commands.md": command_page,
    "docs/reference/checks.md": check_page,
    "docs/reference/coverage.md": coverage_page,
    "docs/reference/matrix.md": matrix_page,
    "docs/envkit.1": man_page,
    "docs/pictures/cards.svg": cards_picture,
    "docs/pictures/cpu-times.svg": times_picture,
    "docs/is-my-machine-slow.md": partial(with_times, ROOT / "docs/is-my-machine-slow.md"),
    "README.md": partial(with_report, ROOT / "README.md"),
    "README.zh-CN.md": partial(with_report, ROOT / "README.zh-CN.md"),
}


@click.command()
@click.argument("pages", nargs=-1, type=click.Choice(tuple(PAGES)))
@click.option("--check", is_flag=True, help="Write nothing; exit with 1 if a page is out of date.")
def main(pages: tuple[str, ...], check: bool) -> None:
    """Generate the reference pages and the man page: PAGES, or all."""
    stale = [path for path in pages or PAGES if not _same(ROOT / path, PAGES[path]())]
    for path in stale:
        if not check:
            (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
            (ROOT / path).write_text(PAGES[path](), encoding="utf-8")
        print(f"{'out of date' if check else 'written'}: {path}")
    sys.exit(1 if check and stale else 0)


def _same(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text(encoding="utf-8") == text


if __name__ == "__main__":
    main()
