"""The Python of a script comes from where the plan says, and that is a place that the script can use."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from envkit._startup.records import replace
from envkit.base.errors import EnvkitError
from envkit.base.settings import Mirrors
from envkit.base.versions import VersionSpec
from envkit.install.options import ScriptOptions
from envkit.install.plan import for_script
from envkit.install.steps import installation
from envkit.solver.model import Plan
from envkit.solver.request import FrameworkRequest
from tests.cli.run import envkit
from tests.install.plans import asked, planned, scripted
from tests.install.shell import call


def chosen(python: str, framework: str = "pytorch", os_id: str = "ubuntu22.04", version: str = "") -> Plan:
    wanted = FrameworkRequest(framework, VersionSpec.parse(version) if version else None)
    request = replace(asked(None, framework, os_id), frameworks=(wanted,), python=VersionSpec.parse(python))
    return planned(request)


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
    text = scripted(plan, ScriptOptions(), Mirrors())
    assert "deadsnakes" not in text
    assert re.search(rf"^#   Python +{re.escape(python)} \({way}\)$", text, re.M)


def test_the_shown_plan_names_the_same_source() -> None:
    words = ("--framework", "pytorch", "--python", "3.11", "--os", "ubuntu22.04", "--target", "any")
    assert "3.11 (standalone)" in envkit("install", *words).stderr
    assert '"python_source": "standalone"' in envkit("install", *words, "--json").stdout


@pytest.mark.parametrize(
    ("framework", "version", "os_id"),
    [("tensorflow", "1.12", "ubuntu16.04"), ("tensorflow", "1.12", "centos7"), ("pytorch", "1.4", "ubuntu18.04")],
)
def test_python_2_has_no_module_venv_and_comes_from_conda(framework: str, version: str, os_id: str) -> None:
    """docs.python.org/3/library/venv.html: "New in version 3.3"."""
    plan = chosen("2.7", framework, os_id, version)
    assert plan.choice.python_source is not None and plan.choice.python_source.way == "system"
    text = scripted(plan, ScriptOptions(), Mirrors())
    assert 'micromamba" create' in text and '"python=$PYTHON" pip' in text
    assert "-m venv" not in text and "python2.7-venv" not in text


def test_python_2_is_refused_where_no_build_of_it_is_known() -> None:
    plan = chosen("2.7", "tensorflow", "ubuntu16.04", "1.12")
    plan = replace(plan, choice=replace(plan.choice, architecture="aarch64"))
    with pytest.raises(EnvkitError, match=r"No pinned build of Python 2\.7 for aarch64"):
        for_script(plan)


@pytest.mark.parametrize("os_id", ["sles15", "opensuse15"])
def test_suse_15_calls_its_python_3_6_python3(os_id: str) -> None:
    """GoogleCloudPlatform/ops-agent#566: on SLES 15 there is no package python36, just python3, which is 3.6."""
    work = installation(chosen("3.6", "tensorflow", os_id, "2.4"), ScriptOptions(), Mirrors())
    (need,) = (need for step in work.steps for need in getattr(step, "needs", ()) if need.purpose == "venv")
    assert need.packages == (("zypper", ("python3",)),)


def test_offline_a_python_from_conda_is_refused_before_files_are_asked_for(tmp_path: Path) -> None:
    text = scripted(chosen("3.7", "tensorflow"), ScriptOptions(), Mirrors())
    done = call(text, f"OFFLINE_DIR={tmp_path}\ncheck_offline", tmp_path)
    assert done.returncode == 5 and "--offline cannot use" in done.stderr, done
    assert "--bundle" not in done.stderr  # which is refused for such a plan
