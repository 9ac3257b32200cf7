"""`--fix` on Dockerfiles: what it changes takes the error away, and it says what it leaves."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from envkit.base.errors import SourceError
from envkit.checks.engine.findings import Finding, Status
from envkit.cli.main import envkit
from envkit.dockerfile.change import change_for
from envkit.dockerfile.check import check_dockerfile
from envkit.solver.parse import parse_request
from envkit.solver.request import RequestWords
from tests.checks.software import matrix
from tests.image.test_public import FILES

UBUNTU = "FROM ubuntu:22.04\n"
CUDA = "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\n"
LISTS = "RUN apt-get update && apt-get install -y --no-install-recommends python3-pip && rm -rf /var/lib/apt/lists/*\n"


def check(text: str) -> tuple[Finding, ...]:
    return check_dockerfile(text, parse_request(RequestWords(), matrix(), container=True), matrix())


def errors(text: str) -> list[str]:
    """The errors, and a driver inside, which is repaired with them."""
    findings = (one for one in check(text) if one.status in (Status.FAIL, Status.WARN))
    return [one.id for one in findings if one.status is Status.FAIL or one.id == "image.driver-inside"]


@pytest.mark.parametrize(
    ("text", "fault", "fixed"),
    [
        pytest.param(
            "FROM nvidia/cuda:12.2-runtime-ubuntu22.04\n",
            "image.base-gone",
            "FROM nvidia/cuda:12.2.2-runtime-ubuntu22.04\n",
            id="a tag that never was",
        ),
        pytest.param(
            "FROM nvidia/cuda:11.6.0-base-ubuntu20.04 AS one\n",
            "image.base-gone",
            "FROM nvidia/cuda:11.6.2-base-ubuntu20.04 AS one\n",
            id="a tag that was deleted",
        ),
        pytest.param(
            f"{CUDA}RUN pip install numpy\n",
            "image.pip-missing",
            f"{CUDA}{LISTS}RUN pip install numpy\n",
            id="no pip",
        ),
        pytest.param(
            "FROM ubuntu:18.04\nRUN pip install numpy\n",
            "image.pip-missing",
            f"FROM ubuntu:18.04\n{LISTS.replace(' && rm', ' && ln -s pip3 /usr/bin/pip && rm')}RUN pip install numpy\n",
            id="no pip, and none by that name in the package",
        ),
        pytest.param(
            f"{UBUNTU}RUN apt-get install -y \\\n    ffmpeg\n",
            "image.apt-lists-missing",
            f"{UBUNTU}RUN apt-get update && apt-get install -y \\\n    ffmpeg\n",
            id="no lists",
        ),
        pytest.param(
            "FROM ubuntu:24.04\nRUN apt-get update && apt-get install -y python3-pip\nRUN pip install numpy\n",
            "image.python-managed",
            "FROM ubuntu:24.04\nENV PIP_BREAK_SYSTEM_PACKAGES=1 UV_BREAK_SYSTEM_PACKAGES=1\n"
            "RUN apt-get update && apt-get install -y python3-pip\nRUN pip install numpy\n",
            id="a managed Python",
        ),
        pytest.param(
            f'{CUDA}ENV CUDA_VISIBLE_DEVICES=""\nCMD ["true"]\n',
            "image.gpu-hidden",
            f'{CUDA}CMD ["true"]\n',
            id="hidden GPUs",
        ),
        pytest.param(
            f"{CUDA}RUN apt-get update && apt-get install -y curl nvidia-driver-550 git\n",
            "image.driver-inside",
            f"{CUDA}RUN apt-get update && apt-get install -y curl git\n",
            id="a driver",
        ),
        pytest.param(
            f"{CUDA}RUN apt-get update && apt-get install -y \\\n    git \\\n    nvidia-driver-550\n",
            "image.driver-inside",
            f"{CUDA}RUN apt-get update && apt-get install -y \\\n    git\n",
            id="a driver on a line of its own",
        ),
        pytest.param(
            "FROM python:3.11\nRUN pip install torch==2.6.0 torchvision==0.20.0\n",
            "image.requirements-clash",
            "FROM python:3.11\nRUN pip install torch==2.6.0 torchvision==0.21.0\n",
            id="a companion of another release",
        ),
        pytest.param(
            "FROM continuumio/miniconda3\nRUN conda install -y numpy\n",
            "image.conda-terms",
            "FROM continuumio/miniconda3\nENV CONDA_PLUGINS_AUTO_ACCEPT_TOS=yes\nRUN conda install -y numpy\n",
            id="terms of channels",
        ),
    ],
)
def test_a_known_fault_is_taken_away(text: str, fault: str, fixed: str) -> None:
    assert errors(text) == [fault]
    change = change_for(text, check(text), check, matrix())
    assert change is not None
    assert (change.text, change.left) == (fixed, ())
    assert errors(fixed) == []


def test_an_image_on_the_way_to_another_is_not_reported() -> None:
    text = "FROM nvidia/cuda:11.7.0-devel-ubuntu20.04\nRUN apt-get update && apt-get install -y python3.10\n"
    change = change_for(text, check(text), check, matrix())
    assert change is not None and change.left == ()
    [told] = change.told
    assert told == "replaced nvidia/cuda:11.7.0-devel-ubuntu20.04 with nvidia/cuda:11.7.1-devel-ubuntu22.04"


@pytest.mark.thorough
def test_no_change_of_a_public_file_introduces_errors() -> None:
    """Of more than five hundred files with errors, most have none after the change, and none has more."""
    tried = healed = 0
    for file in FILES.values():
        try:
            before = errors(text := file.text)
        except SourceError:
            continue
        change = change_for(text, check(text), check, matrix()) if before else None
        tried += bool(before)
        if change is not None:
            assert sorted(finding.id for finding in change.left) == sorted(errors(change.text))
            assert len(change.left) < len(before)
            healed += not change.left
    assert healed >= tried * 0.5, (healed, tried)


def run(*words: object) -> Result:
    return CliRunner().invoke(envkit, [*map(str, words)], standalone_mode=False)


@pytest.mark.parametrize("command", [("check",), ("dockerfile", "--check")])
def test_the_change_is_a_diff_or_a_file(command: tuple[str, ...], tmp_path: Path) -> None:
    file = tmp_path / "Dockerfile"
    file.write_text("FROM nvidia/cuda:12.2-runtime-ubuntu22.04\n")
    shown = run(*command, file, "--fix")
    assert shown.return_value == 0
    assert "-FROM nvidia/cuda:12.2-runtime-ubuntu22.04\n+FROM nvidia/cuda:12.2.2-runtime-ubuntu22.04\n" in shown.stdout
    assert file.read_text() == "FROM nvidia/cuda:12.2-runtime-ubuntu22.04\n"
    assert run(*command, file, "--fix", "-o", file).return_value == 0
    assert file.read_text() == "FROM nvidia/cuda:12.2.2-runtime-ubuntu22.04\n"
    assert "Nothing needs to change." in run(*command, file, "--fix").stderr


def test_what_is_left_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "Dockerfile"
    file.write_text(
        "FROM nvidia/cuda:12.2-runtime-ubuntu22.04\nRUN apt-get update && apt-get install -y python3-pip\n"
        "RUN nvidia-smi && pip3 install numpy\n"
    )
    done = run("check", file, "--fix")
    assert done.return_value == 1 and "Not fixed: " in done.stderr and "(line 3: nvidia-smi)" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("dockerfile", "--fix"), "--fix requires --check."),
        (("dockerfile", "--check", "Dockerfile", "--fix", "--json"), "--fix prints a change, not a report."),
    ],
)
def test_fix_alone_or_as_data_is_refused(words: tuple[str, ...], said: str) -> None:
    assert said in str(run(*words).exception)
