"""The Python of a script comes from where the plan says, and that is a place that the script can use."""

from __future__ import annotations

import re

import pytest

from envkit.install.environment import for_script
from envkit.install.options import ScriptOptions
from envkit.plan.model import Plan
from envkit.records import replace
from envkit.render.script import render_script
from envkit.settings import Mirrors
from envkit.versions import VersionSpec
from tests.cli.run import envkit
from tests.install.plans import asked, planned


def chosen(python: str, framework: str = "pytorch") -> Plan:
    return planned(replace(asked(None, framework, "ubuntu22.04"), python=VersionSpec.parse(python)))


@pytest.mark.parametrize(
    ("python", "framework", "way"),
    [
        ("3.7", "tensorflow", "conda"),
        ("3.9", "pytorch", "standalone"),
        ("3.11", "pytorch", "standalone"),
        ("3.12", "pytorch", "standalone"),
        ("3.13", "pytorch", "standalone"),
        ("3.10", "pytorch", "system"),
    ],
)
def test_no_script_takes_its_python_from_an_archive_that_it_does_not_add(python: str, framework: str, way: str) -> None:
    plan = chosen(python, framework)
    source = for_script(plan).choice.python_source
    assert source is not None and source.way == way
    text = render_script(plan, ScriptOptions(), Mirrors())
    assert "deadsnakes" not in text
    assert re.search(rf"^#   Python +{re.escape(python)} \({way}\)$", text, re.M)


def test_the_shown_plan_names_the_same_source() -> None:
    words = ("--framework", "pytorch", "--python", "3.11", "--os", "ubuntu22.04", "--target", "any")
    assert "3.11 (standalone)" in envkit("install", *words).stderr
    assert '"python_source": "standalone"' in envkit("install", *words, "--json").stdout
