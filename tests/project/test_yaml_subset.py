"""The YAML that conda's tools write is read as PyYAML reads it, where every scalar stays text."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from envkit.base.errors import SourceError
from envkit.base.yaml_subset import parse

FILES = Path(__file__).parent / "files"
TEXTS = {
    "a list in line with its key": "a:\n- b\n- c: d\n  e: f\n-\n  - g\n",
    "quotes and comments": "a: 'it''s' # why\nb: \"x # y\"\n'c d': e#f\n",
    "brackets": "channels: [a, 'b c', {d: e, f: [g]}] # and so on\nempty: {}\nnone: []\n",
    "a scalar on several lines": "a: one\n  two\nb:\n  three\n  four\n",
    "addresses": "- conda: https://example.org/a-1.0.conda\n- pypi: https://example.org/b.whl#sha=1\n",
    "nothing": "a:\nb: ''\n",
    "a document": "---\nname: x\n",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=list(TEXTS))
def test_texts_are_read_as_pyyaml_reads_them(text: str) -> None:
    assert parse(text) == yaml.load(text, Loader=yaml.BaseLoader)


@pytest.mark.parametrize(
    "path", sorted([*FILES.rglob("*.y*ml"), *FILES.rglob("pixi.lock")]), ids=lambda p: p.parent.name
)
def test_files_are_read_as_pyyaml_reads_them(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert parse(text) == yaml.load(text, Loader=yaml.BaseLoader)


def test_block_scalars_hide_nothing_after_them() -> None:
    text = "a: |\n  - no: list\n  b: c\nd: e\n"
    assert parse(text) == {"a": "", "d": "e"}


@pytest.mark.parametrize(
    "text", ["a: &x b\nc: *x\n", "a: !!python/object x\n", "a: [b\n", "\ta: b\n", "a: b\n   c\n d: e\n: x\n"]
)
def test_other_yaml_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(SourceError, match="line [0-9]+") as refusal:
        parse(text)
    assert "\n" not in str(refusal.value)


def test_deep_nesting_is_refused() -> None:
    for text in ("[" * 5000 + "]" * 5000, "\n".join("  " * depth + "a:" for depth in range(500)), "- " * 500 + "a"):
        with pytest.raises(SourceError, match="nested too deeply"):
            parse(text)
