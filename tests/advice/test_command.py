"""The commands as a user types them: exit status, one line for what cannot be, formats."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.advice.judging import envkit


@pytest.mark.parametrize(
    "words",
    [
        ["Voodoo 2"], ["--network", "vgg"], ["--parameters", "many"], ["--budget", "500"], ["--price", "4090"],
        ["--price", "4090=-3"], ["--budget", "-1", "--price", "4090=5"], ["--as-of", "1850"], ["--framework", "numpy"],
        ["--cuda", "new"], ["--owned", "nothing"], ["--memory", "nan"], ["--gpus", "0"], ["machine"], [""],
        ["machine", "--gpu", "RTX 3090", "--slots", "x3"], ["machine", "--gpu", "RTX 3090", "--circuit", "lots"],
        ["--cuda", "99", "RTX 4090"], ["H100"], ["--parameters", "7"], ["RTX 4090 x0"], ["0x RTX 4090"],
        ["--task", "train", "--precision", "int4"], ["--parameters", "7B", "--precision", "int8"],
        ["machine", "--gpu", "RTX 4090 x0"], ["machine", "--gpu", "A100 80GB"],
        ["machine", "--gpu", "RTX 4090", "--memory", "nan"], ["machine", "--gpu", "RTX 4090", "--memory", "inf"],
        ["machine", "--gpu", "2x RTX 3090 x2"], ["machine", "--gpu", "RTX 3090", "--psu", "-5"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_what_cannot_be_is_one_line_and_status_2(words: list[str]) -> None:
    done = envkit("recommend", *words)
    assert done.returncode == 2 and done.stdout == ""
    assert "Traceback" not in done.stderr and len(done.stderr.strip().splitlines()) <= 4


def test_a_price_file_that_is_not_there_is_one_line() -> None:
    done = envkit("recommend", "--prices", "/nowhere/prices.csv")
    assert done.returncode == 1 and done.stderr.count("\n") == 1


def test_unknown_names_of_a_price_file_are_said_and_the_rest_counts(tmp_path: Path) -> None:
    file = tmp_path / "prices.csv"
    file.write_text("name,price\nRadeon VII,300\nRTX 4090,1800\n")
    done = envkit("recommend", "--prices", str(file), "--network", "resnet-50")
    assert done.returncode == 0 and "line 2" in done.stderr
    assert "1  GeForce RTX 4090" in done.stdout and "Without a price" in done.stdout


def test_text_tells_need_order_and_what_is_out() -> None:
    done = envkit("recommend", "RTX 4090", "GTX 1060 6GB", "--network", "resnet-50", "--batch", "128")
    assert done.returncode == 0
    assert "Need  ResNet-50" in done.stdout and "1  GeForce RTX 4090" in done.stdout
    assert "Left out  GeForce GTX 1060 6GB: 6 GiB of memory" in done.stdout


def test_a_card_that_is_owned_and_instances_to_rent() -> None:
    done = envkit("recommend", "T4", "--owned", "GTX 1080", "--cloud", "--network", "resnet-50", "--precision", "fp16")
    assert "times as fast" in done.stderr and "g4dn.xlarge" in done.stdout


@pytest.mark.parametrize("form", ["json", "markdown", "text", "html"])
def test_formats(form: str) -> None:
    done = envkit("recommend", "--for", "nlp", "--format", form)
    assert done.returncode == 0, done.stderr
    if form == "json":
        document = json.loads(done.stdout)
        assert document["schema"] == 1 and document["status"] == "ok"
        assert all(card["sources"] for card in document["cards"])
        assert all(part["sources"] for part in document["need"]["parts"])


def test_a_page_has_the_table_and_a_bar_for_each_card(tmp_path: Path) -> None:
    page = tmp_path / "cards.html"
    assert envkit("recommend", "RTX 3090", "2x RTX 3060 12GB", "-o", str(page)).returncode == 0
    text = page.read_text()
    assert text.startswith("<!doctype html>") and "at best" in text and "<script" not in text
    assert text.count("<rect ") == 2 and ">2 × GeForce RTX 3060" in text
    assert envkit("recommend", "RTX 3090", "--memory", "99", "-o", str(page)).returncode == 1
    assert "No card fits" in page.read_text() and "<svg" not in page.read_text()


def test_help_of_both() -> None:
    assert "--parameters" in envkit("recommend", "--help").stdout
    assert "--psu" in envkit("recommend", "machine", "--help").stdout


def test_lines_keep_to_the_width() -> None:
    for words in (
        ["--parameters", "7B"],
        ["machine", "--gpu", "RTX 4090 x4", "--psu", "900", "--slots", "x16,x4,x4,x1"],
    ):
        assert max(map(len, envkit("recommend", *words).stdout.splitlines())) <= 80
