"""Several frameworks in one environment: what one of them requires is not taken away by the next. With real pip."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from envkit._startup.records import replace
from envkit.base.settings import Mirrors
from envkit.base.versions import Version
from envkit.install.bundle import wheel_commands
from envkit.install.options import ScriptOptions
from envkit.install.steps import installation
from envkit.solver.model import Plan
from envkit.solver.request import FrameworkRequest
from tests.install.plans import asked, planned, scripted
from tests.install.shell import call

BUILDS = {"pytorch": ("torch", "2.15.0"), "tensorflow": ("tensorflow", "2.13.0")}


def both(cuda_pages: bool = False) -> Plan:
    """PyTorch and TensorFlow in one environment, as small packages of their names."""
    found = planned(
        replace(asked(os_id="ubuntu22.04"), frameworks=tuple(map(FrameworkRequest, BUILDS)), needs_toolkit=False)
    )
    builds = tuple(
        replace(
            build,
            package="==".join(BUILDS[build.framework]),
            version=Version.parse(BUILDS[build.framework][1]),
            companions=(),
            numpy=None,
            index_url=f"https://there/{build.framework}" if cuda_pages else None,
            find_links=None,
        )
        for build in found.choice.builds
    )
    return replace(found, choice=replace(found.choice, builds=builds, needs_toolkit=False))


def wheel(folder: Path, name: str, version: str, *requires: str, module: bool = False) -> None:
    """A wheel that holds its requirements, and an empty module of its name or nothing else."""
    folder.mkdir(exist_ok=True)
    with ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as file:
        about = f"{name}-{version}.dist-info"
        lines = "".join(f"Requires-Dist: {line}\n" for line in requires)
        file.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{lines}")
        file.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr(f"{about}/RECORD", "")
        if module:
            file.writestr(f"{name}.py", "")


def installed(folder: Path, torch: str, tensorflow: str, commands: str) -> subprocess.CompletedProcess[str]:
    """Runs `commands` where both frameworks can be obtained, which ask for these versions of typing_extensions."""
    for version in ("4.5.0", "4.10.0", "4.15.0"):
        wheel(folder / "wheels", "typing_extensions", version)
    wheel(folder / "wheels", "torch", "2.15.0", torch)
    wheel(folder / "wheels", "tensorflow", "2.13.0", tensorflow)
    subprocess.run([sys.executable, "-m", "venv", str(folder / "env")], check=True)
    body = f"""
    ENV_DIR={folder}/env PYTHON={sys.version_info[0]}.{sys.version_info[1]}
    export PIP_NO_INDEX=1 PIP_FIND_LINKS={folder}/wheels PIP_CONFIG_FILE=/dev/null
    here() {{ "$ENV_DIR/bin/python" -m pip list --format=freeze 2>/dev/null | grep typing; }}
    {commands}
    """
    return call(scripted(both(), ScriptOptions(), Mirrors()), body, folder)


@pytest.mark.thorough  # each makes an environment, and runs pip in it
def test_the_second_framework_leaves_what_the_first_requires(tmp_path: Path) -> None:
    done = installed(
        tmp_path,
        "typing_extensions>=4.10",
        "typing_extensions<4.12",
        "install_pytorch; here; install_tensorflow; here; verify_packages",
    )
    assert done.stdout.replace("-", "_").split() == ["typing_extensions==4.15.0", "typing_extensions==4.10.0"], done
    assert "ok   packages" in done.stderr


@pytest.mark.thorough
def test_frameworks_that_exclude_each_other_are_told_and_not_mixed(tmp_path: Path) -> None:
    """PyPI: torch 2.15 requires typing-extensions>=4.10, tensorflow 2.13 requires typing-extensions<4.6."""
    done = installed(
        tmp_path,
        "typing_extensions>=4.10",
        "typing_extensions<4.6,>=3.6.6",
        "trap here EXIT; install_pytorch; install_tensorflow",
    )
    assert done.returncode == 1 and "could not be installed" in done.stderr, done
    assert done.stdout.replace("-", "_").split() == ["typing_extensions==4.15.0"]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("spoiled", "verdict"),
    [("typing_extensions==4.5.0", "fail packages"), ("stranger", "skip packages")],
)
def test_pip_check_is_part_of_the_verification(spoiled: str, verdict: str, tmp_path: Path) -> None:
    wheel(tmp_path / "wheels", "stranger", "1.0", "typing_extensions<4.6")
    done = installed(
        tmp_path,
        "typing_extensions>=4.10",
        "typing_extensions",
        f"install_pytorch; $ENV_DIR/bin/python -m pip install -q --no-deps {spoiled}; verify_packages",
    )
    assert verdict in done.stderr and "typing" in done.stderr.split(verdict)[1], done


@pytest.mark.parametrize(
    ("cuda_pages", "index_url", "places"),
    [
        (False, None, []),
        (True, None, ["--index-url", "https://there/pytorch", "--extra-index-url", "https://there/tensorflow"]),
        (False, "https://mirror/simple", ["--index-url", "https://mirror/simple"]),
    ],
)
def test_the_wheels_of_a_bundle_are_chosen_together(cuda_pages: bool, index_url: str | None, places: list[str]) -> None:
    work = installation(both(cuda_pages), ScriptOptions(), Mirrors(index_url=index_url))
    (words,) = wheel_commands(work, "/there")
    assert {"torch==2.15.0", "tensorflow==2.13.0"} <= set(words)
    assert [word for word in words if "index-url" in word or "://" in word] == places


def test_the_default_index_stays_where_one_of_them_needs_it() -> None:
    found = both(cuda_pages=True)
    first, second = found.choice.builds
    builds = (first, replace(second, index_url=None))
    work = installation(replace(found, choice=replace(found.choice, builds=builds)), ScriptOptions(), Mirrors())
    (words,) = wheel_commands(work, "/there")
    assert "--index-url" not in words and words[words.index("--extra-index-url") + 1] == "https://there/pytorch"
