"""The real pynvml on what each kind of product answers: little is asked in vain, and silence is not a finding."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from envkit.probe import nvml
from tests.fakes.nvml import build, host_with, one
from tests.fakes.nvml.products import PRODUCTS

pytestmark = pytest.mark.usefixtures("loaded_driver")


@pytest.fixture(scope="session")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Any:  # noqa: ANN401 - a function of the branch
    return cache(lambda branch: build(tmp_path_factory.mktemp(f"fake-nvml-{branch}"), branch))


@pytest.mark.thorough
@pytest.mark.parametrize("product", PRODUCTS)
def test_what_a_product_does_not_support_is_left_out_quietly(product: str, libraries: Any, tmp_path: Path) -> None:  # noqa: ANN401
    branch, answers, expected = PRODUCTS[product]
    settings = {key: one()[key] for key in ("driver", "cuda", "count", "pci_address")} | answers
    facts = nvml.probe(host_with(libraries(branch), tmp_path, settings), 5.0)
    (gpu,) = facts["gpus"].get()
    assert (gpu.name, gpu.error, gpu.failed) == (answers["name"], "", {})
    assert {name: getattr(gpu, name) for name in expected} == expected
