"""The stack of the old benchmark is what the resolver plans."""

from __future__ import annotations

import json

import pytest

from tests.cli.run import envkit
from tests.docs.blocks import ROOT

PAGE = (ROOT / "docs" / "stack-of-2016.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("framework", "cudnn"), [("tensorflow==1.0", "5.1"), ("mxnet<1.1", "5.1"), ("torch7", "5.1"), ("caffe", "6.0")]
)
def test_each_part_is_planned_with_the_driver_of_its_time(framework: str, cudnn: str) -> None:
    words = ("--cuda", "8.0.44", "--cudnn", cudnn, "--driver", "367.48", "--os", "ubuntu16.04", "--target", "any")
    done = envkit("resolve", "--framework", framework, *words, "--json")
    assert done.returncode == 0, done.stderr
    choice = json.loads(done.stdout)["choice"]
    package = choice["frameworks"][0]["package"]
    assert not package or f"`{package}`" in PAGE
    assert choice["minimum_driver"] == "367.48" and choice["cudnn"].startswith(cudnn)


def test_what_is_unavailable_with_it_is_named() -> None:
    """Caffe with this cuDNN, and CNTK at all."""
    words = ("--driver", "367.48", "--os", "ubuntu16.04", "--target", "any")
    assert envkit("resolve", "--framework", "caffe", "--cudnn", "5.1", "--cuda", "8.0.44", *words).returncode == 1
    assert envkit("resolve", "--framework", "cntk", *words).returncode == 1
