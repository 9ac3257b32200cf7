"""Which model the words of `--gpu` mean."""

from __future__ import annotations

import pytest

from envkit.base.errors import RequestError
from envkit.solver.parse import parse_gpu
from tests.solver.asking import matrix


@pytest.mark.parametrize(
    ("text", "beginning", "data_center"),
    [
        ("V100", "Tesla V100", True),  # not Quadro GV100, whose name ends so
        ("P100", "Tesla P100", True),  # not Quadro GP100, nor P104-100
        ("Tesla V100", "Tesla V100", True),
        ("Tesla A100", "NVIDIA A100", True),  # the line's name of before
        ("H100 SXM5", "NVIDIA H100 80GB HBM3", True),
        ("h100", "NVIDIA H100", True),
        ("A800", "NVIDIA A800", True),  # one of the three is a workstation board
        ("K40", "Tesla K40", True),
        ("Tesla K20", "Tesla K20", True),
        ("A2", "NVIDIA A2", True),
        ("GV100", "Quadro GV100", False),
        ("3090", "NVIDIA GeForce RTX 3090", False),
        ("1080", "NVIDIA GeForce GTX 1080", False),
        ("1080Ti", "NVIDIA GeForce GTX 1080 Ti", False),
        ("rtx 3070 laptop", "NVIDIA GeForce RTX 3070 Laptop GPU", False),
        ("Quadro RTX A6000", "NVIDIA RTX A6000", False),
    ],
)
def test_a_part_of_a_name_means_the_model_that_holds_it_whole(text: str, beginning: str, data_center: bool) -> None:
    gpu = parse_gpu(text, matrix())
    assert gpu.name.startswith(beginning) and gpu.data_center is data_center


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Tesla V100", "Tesla V100"),
        ("A100", "NVIDIA A100"),
        ("GH200", "NVIDIA GH200"),
        ("Tesla V100-SXM2-16GB", "Tesla V100-SXM2-16GB"),
        ("H100 SXM5", "NVIDIA H100 80GB HBM3"),
        ("rtx 3070 laptop", "NVIDIA GeForce RTX 3070 Laptop GPU"),
    ],
)
def test_one_of_several_models_is_not_named_as_a_fact(text: str, name: str) -> None:
    gpu = parse_gpu(text, matrix())
    assert gpu.name == name and parse_gpu(name, matrix()) == gpu


@pytest.mark.parametrize(("text", "name"), [("3090", "NVIDIA GeForce RTX 3090"), ("1080", "NVIDIA GeForce GTX 1080")])
def test_a_bare_number_is_that_model_and_not_its_bigger_sister(text: str, name: str) -> None:
    assert parse_gpu(text, matrix()).name == name


@pytest.mark.parametrize(
    ("text", "capability"), [("86", "8.6"), ("sm_120", "12.0"), ("120", "12.0"), ("100", "10.0"), ("12.1", "12.1")]
)
def test_numbers_that_no_model_has_are_compute_capabilities(text: str, capability: str) -> None:
    gpu = parse_gpu(text, matrix())
    assert (str(gpu.compute_capability), gpu.name) == (capability, "")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Titan X", ("GTX TITAN X (5.2)", "TITAN X (Pascal) (6.1)")),
        ("RTX 4000", ("Quadro RTX 4000 (7.5)", "RTX 4000 Ada Generation (8.9)")),
        ("GT 730", ("GK107 (3.0)", "GK208 (3.5)")),
        ("GeForce GT 730", ("GeForce GT 730 GK107 (3.0)", "GK208 (3.5)", "DDR3 128-bit (2.1)")),
        ("GeForce GT 630", ("GF108 (2.1)", "GK107 (3.0)", "GK208 (3.5)")),
    ],
)
def test_models_that_judge_differently_are_listed(text: str, told: tuple[str, ...]) -> None:
    with pytest.raises(RequestError) as refused:
        parse_gpu(text, matrix())
    assert all(one in str(refused.value) for one in told)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(("text", "capability"), [("10de:1287", "3.5"), ("10DE:0f02", "2.1"), ("10de:2684", "8.9")])
def test_a_pci_id_says_which_chip_it_is(text: str, capability: str) -> None:
    assert str(parse_gpu(text, matrix()).compute_capability) == capability


@pytest.mark.parametrize("text", ["Tesla 3090", "", "10de:ffff", "Radeon", "999"])
def test_a_name_that_no_model_has_is_refused(text: str) -> None:
    with pytest.raises(RequestError):
        parse_gpu(text, matrix())
