"""A bundle's wheels are those that the target needs, whatever Python fetches them."""

from __future__ import annotations

from pathlib import Path

import pytest

from envkit._startup.records import replace
from envkit.base.settings import Mirrors
from envkit.base.versions import Version, VersionSpec
from envkit.install.bundle import check_bundle, wheel_commands
from envkit.install.bundle_wheels import Target, left_out
from envkit.install.options import ScriptOptions
from envkit.install.plan import script_plan
from envkit.install.steps import installation
from envkit.solver.model import Plan
from envkit.tables import Matrix
from tests.cli.run import envkit
from tests.install.plans import asked

MARKDOWN = 'Name: Markdown\nRequires-Dist: importlib-metadata>=1; python_version < "3.8"\n\nRequires-Dist: prose\n'
EXTRAS = (
    "Name: tensorflow\nRequires-Dist: nvidia-cublas-cu12==12.5.* ; extra == 'and-cuda'\n"
    "Requires-Dist: colorama; sys_platform == 'win32'\nRequires-Dist: requests[socks]\n"
)
REQUESTS = "Name: requests\nRequires-Dist: PySocks!=1.5.7; extra == 'socks'\nRequires-Dist: chardet; extra == 'old'\n"


@pytest.mark.parametrize(
    ("metadata", "wanted", "python", "missing"),
    [
        ([MARKDOWN], ["markdown"], "3.5", ("importlib-metadata>=1",)),
        ([MARKDOWN], ["markdown"], "3.11", ()),
        ([MARKDOWN, "Name: importlib_metadata\n\n"], ["markdown"], "3.5", ()),
        ([EXTRAS], ["tensorflow==2.21"], "3.12", ("requests[socks]",)),
        ([EXTRAS, REQUESTS], ["tensorflow"], "3.12", ("PySocks!=1.5.7",)),
        ([EXTRAS, REQUESTS], ["tensorflow[and-cuda]"], "3.12", ("nvidia-cublas-cu12==12.5.*", "PySocks!=1.5.7")),
        (["Name: odd\nRequires-Dist: not a requirement !\nRequires-Dist: --index-url=x\n"], ["odd"], "3.9", ()),
        ([""], [], "3.9", ()),
    ],
)
def test_what_the_target_needs_and_pip_left_out(
    metadata: list[str], wanted: list[str], python: str, missing: tuple[str, ...]
) -> None:
    assert left_out(metadata, wanted, Target(Version.parse(python), "x86_64")) == missing


@pytest.mark.parametrize(("framework", "cuda"), [("pytorch", "9.0"), ("tensorflow", "8.0")])
def test_a_bundle_takes_a_python_that_it_can_hold(framework: str, cuda: str) -> None:
    matrix, request = Matrix.load(), asked(cuda, framework, "ubuntu16.04")
    plain, bundled = script_plan(request, matrix), script_plan(request, matrix, bundled=True)
    assert isinstance(plain, Plan) and isinstance(bundled, Plan)
    assert plain.choice.python_source is not None and plain.choice.python_source.way == "conda"
    assert str(bundled.choice.python) == "3.5" and any("Python 3.5 will be used" in line for line in bundled.warnings)
    check_bundle(installation(bundled, ScriptOptions(), Mirrors()), accept_unverified=True)
    own = script_plan(replace(request, python=VersionSpec.parse("3.6")), matrix, bundled=True)
    assert isinstance(own, Plan) and str(own.choice.python) == "3.6"


def test_what_is_there_only_as_sources_is_built_into_a_wheel_first() -> None:
    plan = script_plan(asked("8.0", "tensorflow", "ubuntu16.04"), Matrix.load(), bundled=True)
    assert isinstance(plan, Plan)
    built, fetched = wheel_commands(installation(plan, ScriptOptions(), Mirrors()), "/there", ("zipp<2",))
    assert built[0] == "wheel" and "html5lib==0.9999999" in built
    assert fetched[0] == "download" and fetched[-1] == "zipp<2"
    assert "/there" in fetched[fetched.index("--find-links") :]


@pytest.mark.network
def test_an_old_framework_is_bundled_whole(tmp_path: Path) -> None:
    words = ("--cuda", "8.0", "--framework", "tensorflow", "--no-toolkit", "--os", "ubuntu16.04", "--target", "any")
    done = envkit("install", *words, "--bundle", f"{tmp_path}/bundle")
    assert done.returncode == 0, done.stderr
    sums = (tmp_path / "bundle/wheels/SHA256SUMS").read_text("utf-8")
    for name in ("tensorflow_gpu-1.4.1-cp35", "html5lib-0.9999999", "importlib_metadata-", "zipp-", "numpy-1.18"):
        assert name in sums
