"""Price files as people have them."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from envkit.advice.named_cards import by_words, cards_within
from envkit.advice.prices import Price, parse_amount, parse_price, parse_prices
from envkit.base.errors import RequestError
from tests.advice.judging import cards, envkit


def _prices(text: str) -> dict[str, Price]:
    return parse_prices(text, cards(), "--prices")[0]


@pytest.mark.parametrize(
    ("text", "amount", "currency"),
    [
        ("499", 499, ""), ("499.90", 499.9, ""), ("$1,299.99", 1299.99, "$"), ("1.299,99 €", 1299.99, "€"),
        ("1 299", 1299, ""), ("EUR 700", 700, "EUR"), ("1299.00 usd", 1299, "USD"), ("1,299", 1299, ""),
    ],
)  # fmt: skip
def test_amounts(text: str, amount: float, currency: str) -> None:
    assert parse_amount(text, "--budget") == Price(amount, currency)


@pytest.mark.parametrize("text", ["", "-5", "0", "free", "1e9", "nan", "12,34,5", "9" * 40, "5 6", "$", "1.2.3"])
def test_what_is_no_amount_is_refused(text: str) -> None:
    with pytest.raises(RequestError) as refused:
        parse_amount(text, "--budget")
    assert "--budget" in str(refused.value)


@pytest.mark.parametrize(("words", "refused"), [
    (("--price", "RTX 4090=1800 EUR", "--price", "RTX 3090=700 USD"), True),
    (("--price", "RTX 4090=1800 EUR", "--budget", "$2000"), True),
    (("--price", "RTX 4090=€1800", "--price", "RTX 3090=700 EUR", "--budget", "2000"), False),
])  # fmt: skip
def test_amounts_in_several_currencies_are_not_compared(words: tuple[str, ...], refused: bool) -> None:
    done = envkit("recommend", "RTX 4090", "RTX 3090", *words)
    assert ("cannot be compared" in done.stderr) == refused and done.returncode == (2 if refused else 0)


@pytest.mark.parametrize("text", ['name,price\n"' + "a" * 200_000 + '",5\n', "a" * 200_000 + ",price\n"])
def test_an_endless_cell_is_refused(text: str) -> None:
    with pytest.raises(RequestError, match="--prices: not a CSV file") as refused:
        _prices(text)
    assert "\n" not in str(refused.value)


def test_names_as_people_write_them() -> None:
    found = _prices(
        "Card;x,Price (EUR)\nnvidia rtx 4090,1800\n3060 12GB,280\nRTX3060 Ti,300\nTesla P40,200\nA100,9000\n"
    )
    assert found["GeForce RTX 4090"].amount == 1800
    assert "GeForce RTX 4090 Laptop GPU" not in found and "GeForce RTX 4090 D" not in found
    assert found["GeForce RTX 3060 (12GB)"].amount == 280 and "GeForce RTX 3060 (8GB)" not in found
    assert {"GeForce RTX 3060 Ti (GDDR6)", "GeForce RTX 3060 Ti (GDDR6X)", "Tesla P40"} <= set(found)
    assert "A100 80GB PCIe" in found


def test_a_line_that_tells_of_no_card_is_said_and_the_others_count() -> None:
    text = "\ufeffname,price,currency,condition\n\n,5\nRadeon VII,300,USD,\n"
    text += "RTX 2070,,USD,\nRTX 2080,400,USD,used\nRTX 2060\n"
    found, notes = parse_prices(text, cards(), "--prices")
    assert found == {"GeForce RTX 2080": Price(400, "USD", True)}
    assert len(notes) == 3 and "line 4" in notes[0]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "first line"), ("a,b\n1,2\n", "first line"), ("name,price\nRTX 2070,-3\n", "line 2"),
        ("name,price\nRTX 2070,cheap\n", "line 2"), ("name,price\nRTX 2070,$3\nRTX 2080,€4\n", "cannot be compared"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_used_is_one_line(text: str, told: str) -> None:
    with pytest.raises(RequestError) as refused:
        _prices(text)
    assert told in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.parametrize("word", ["4090", "=5", "4090=", "4090=-1", "Voodoo 2=10"])
def test_an_option_that_is_no_price_is_refused(word: str) -> None:
    with pytest.raises(RequestError):
        parse_price(word, cards())


def test_a_name_may_hold_the_sign() -> None:
    assert parse_price("RTX 4090 = 1,800", cards()) == {"GeForce RTX 4090": Price(1800)}


@pytest.mark.parametrize(
    ("label", "names"),
    [
        ("NVIDIA GeForce RTX 4090 Gaming X Trio 24G", {"GeForce RTX 4090"}),
        ("ASUS TUF RTX 4070 Ti SUPER OC", {"GeForce RTX 4070 Ti SUPER"}),
        ("MSI GeForce RTX 3060 Ventus 2X 12G", {"GeForce RTX 3060 (12GB)"}),
        ("PNY NVIDIA RTX A6000 48GB", {"RTX A6000"}),
        ("Gaming PC Ryzen 7 RTX 4070", set()), ("Tower with Ryzen 7, RTX 4070, 32GB", set()),
        ("Lenovo Legion RTX 4090 16GB Laptop", set()), ("RTX 4070 OC Super", set()),
        ("Radeon RX 7900 XTX", set()), ("4090", set()), ("", set()),
    ],
)  # fmt: skip
def test_names_of_shops_hold_the_name_of_a_card(label: str, names: set[str]) -> None:
    assert {one.name for one in cards_within(label, by_words(cards()))} == names


def test_every_card_is_within_its_own_name_with_a_makers_around_it() -> None:
    names = by_words(cards())
    for one in cards():
        if one.form == "desktop":
            found = cards_within(f"Acme {one.model.name} Ultra OC", names)
            assert not found or one in found, one.name


@pytest.mark.parametrize("text", ["name;price\nRTX 4090;1.800,00\n", "name\tprice\nRTX 4090\t1800\n"])
def test_cells_may_be_parted_as_spreadsheets_part_them(text: str) -> None:
    assert _prices(text) == {"GeForce RTX 4090": Price(1800)}


def test_what_may_be_meant_otherwise_is_said() -> None:
    text = "name,price,condition\nRTX 4090,1800,gebraucht\nRTX 4090,1650,new\nRTX 4090,1700,\nRTX 3060,300,\n"
    found, notes = parse_prices(text, cards(), "--prices")
    assert found["GeForce RTX 4090"].amount == 1650
    assert len(notes) == 4 and "line 2" in notes[0] and "lower" in notes[1] and "used for each" in notes[3]


def test_a_file_without_a_price_that_can_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "prices.csv").write_text("name,price\nRTX 4090,\nVoodoo 2,90\n")
    done = envkit("recommend", "--prices", str(tmp_path / "prices.csv"), "--budget", "500")
    assert done.returncode == 2 and "prices.csv has no line" in done.stderr


def test_a_long_list_of_a_shop_is_read_in_time_and_its_notes_fit_a_screen(tmp_path: Path) -> None:
    lines = [f"Maker {number} {'RTX 4090 OC' if number % 2 else 'Voodoo 2'},{900 + number}" for number in range(400)]
    (tmp_path / "prices.csv").write_text("\n".join(["name,price", *lines]))
    begin = time.process_time()
    done = envkit("recommend", "--network", "resnet-50", "--prices", str(tmp_path / "prices.csv"))
    assert time.process_time() - begin < 5  # asking for the nearest name of each would take more than 8
    assert done.returncode == 0 and "RTX 4090" in done.stdout and " · 901" in done.stdout
    assert "more notes on the prices" in done.stderr and done.stderr.count("\n") < 30


@pytest.mark.parametrize("currency", ["![x](http://evil.example/a.png)", "\x1b]0;x\x07", "euros and cents"])
def test_a_currency_is_a_code_or_a_sign(currency: str) -> None:
    with pytest.raises(RequestError, match="is not a currency"):
        _prices(f"name,price,currency\nGeForce RTX 4090,1000,{currency}\n")
