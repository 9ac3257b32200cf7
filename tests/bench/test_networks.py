"""The networks in real frameworks, new and old: their parameters are those of the tables. Needs the package index."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from envkit.bench.jobs import Job, jobs_for
from envkit.bench.measurement import measured
from envkit.host.bench import BenchChild, run_measuring
from envkit.tables.advice import Network
from envkit.tables.bench import runner
from envkit.tables.loader import read
from tests.package.pythons import kept_pythons

STACKS = {
    "torch-old": ("pytorch", "3.7", ["torch==1.0.0", "numpy<1.20"]),
    "torch-new": ("pytorch", "3.11", ["torch==2.13.0", "numpy"]),
    "mxnet-old": ("mxnet", "3.6", ["mxnet==1.2.1"]),
    "mxnet-new": ("mxnet", "3.8", ["mxnet==1.9.1", "numpy<1.24"]),
    "tensorflow-old": ("tensorflow", "3.6", ["tensorflow==1.4.0", "numpy<1.17"]),
    "tensorflow-new": ("tensorflow", "3.12", ["tensorflow-cpu"]),
}
ONE_BIAS = 2 * 4 * 256  # cuDNN, and with it PyTorch and MXNet, gives each gate a second bias; Keras does not


def install(python: Path, requirements: list[str]) -> None:
    """Installs into an environment of any age; the pip of an old Python takes no heed of what a newer one needs."""
    old = subprocess.run([python, "-c", "import sys; sys.exit(sys.version_info < (3, 7))"], check=False).returncode
    # a user's further indexes may be folders, which do not tell an old pip which Python their files are for
    variables = {**os.environ, **({"PIP_CONFIG_FILE": os.devnull} if old else {})}
    for wanted in (["--upgrade", "pip<21.4"] if old else [], requirements):
        if wanted:
            subprocess.run([python, "-m", "pip", "-q", "install", "--no-compile", *wanted], check=True, env=variables)


def made(folder: Path, python: str, requirements: list[str]) -> Path | None:
    """The interpreter of a new environment; None where there is no such Python."""
    kept = kept_pythons(python)
    if not kept:
        return None
    subprocess.run([str(kept[0][1]), "-m", "venv", str(folder)], check=True)
    install(folder / "bin/python", requirements)
    return folder / "bin/python"


@pytest.fixture(scope="module")
def pythons(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Future[Path | None]]]:
    """Every stack that is tested here: the next ones are installed while one computes."""
    names = " ".join(item.name for item in request.session.items if item.path == request.path)
    with ThreadPoolExecutor(2) as pool:
        yield {
            name: pool.submit(made, tmp_path_factory.mktemp("stack"), python, requirements)
            for name, (_, python, requirements) in STACKS.items()
            if f"[{name}]" in names
        }


@pytest.mark.network
@pytest.mark.thorough
@pytest.mark.parametrize("stack", STACKS)
def test_the_parameters_of_every_network(stack: str, pythons: dict[str, Future[Path | None]]) -> None:
    framework, version, _ = STACKS[stack]
    python = pythons[stack].result()
    if python is None:
        pytest.skip(f"no Python {version} is installed")
    networks = {row.name: row for row in read(Network)}
    jobs = jobs_for(list(networks), "cpu", (2,), ())

    def start(pending: object) -> BenchChild:
        assert isinstance(pending, list)
        settings = {"framework": framework, "device": "cpu", "threads": None, "seconds": 0, "least": 1}
        wanted = {**settings, "jobs": [job.settings for job in pending if isinstance(job, Job)]}
        return run_measuring(str(python), runner(framework), wanted, {}, 300)

    for row in measured(jobs, framework, start):
        expected = networks[row.job.network].parameters
        if framework == "tensorflow" and row.job.network.startswith("lstm"):
            expected -= ONE_BIAS
        assert row.parameters == expected, f"{row.job.id}: {row.detail}"
