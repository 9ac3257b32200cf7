"""The networks in real frameworks, new and old: their parameters are those of the tables. Needs the package index."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from envkit.bench.jobs import Job, jobs_for
from envkit.bench.measurement import measured
from envkit.host.bench import BenchChild, run_measuring
from envkit.tables.advice import Network
from envkit.tables.bench import runner
from envkit.tables.loader import read
from tests.package.pythons import kept_pythons

STACKS = [
    ("pytorch", "3.11", ["torch==2.13.0", "numpy"]),
    ("pytorch", "3.7", ["torch==1.0.0", "numpy<1.20"]),
    ("tensorflow", "3.12", ["tensorflow-cpu"]),
    ("tensorflow", "3.6", ["tensorflow==1.4.0", "numpy<1.17"]),
    ("mxnet", "3.8", ["mxnet==1.9.1", "numpy<1.24"]),
    ("mxnet", "3.6", ["mxnet==1.2.1"]),
]
ONE_BIAS = 2 * 4 * 256  # cuDNN, and with it PyTorch and MXNet, gives each gate a second bias; Keras does not


def install(python: Path, requirements: list[str]) -> None:
    """Installs into an environment of any age; the pip of an old Python takes no heed of what a newer one needs."""
    old = subprocess.run([python, "-c", "import sys; sys.exit(sys.version_info < (3, 7))"], check=False).returncode
    # a user's further indexes may be folders, which do not tell an old pip which Python their files are for
    variables = {**os.environ, **({"PIP_CONFIG_FILE": os.devnull} if old else {})}
    for wanted in (["--upgrade", "pip<21.4"] if old else [], requirements):
        if wanted:
            subprocess.run([python, "-m", "pip", "-q", "install", "--no-compile", *wanted], check=True, env=variables)


@pytest.mark.network
@pytest.mark.thorough
@pytest.mark.parametrize(("framework", "python", "requirements"), STACKS, ids=lambda value: str(value))
def test_the_parameters_of_every_network(framework: str, python: str, requirements: list[str], tmp_path: Path) -> None:
    kept = kept_pythons(python)
    if not kept:
        pytest.skip(f"no Python {python} is installed")
    subprocess.run([str(kept[0][1]), "-m", "venv", str(tmp_path)], check=True)
    install(tmp_path / "bin/python", requirements)
    networks = {row.name: row for row in read(Network)}
    jobs = jobs_for(list(networks), "cpu", (2,), ())

    def start(pending: object) -> BenchChild:
        assert isinstance(pending, list)
        settings = {"framework": framework, "device": "cpu", "threads": None, "seconds": 0, "least": 1}
        wanted = {**settings, "jobs": [job.settings for job in pending if isinstance(job, Job)]}
        return run_measuring(str(tmp_path / "bin/python"), runner(framework), wanted, {}, 300)

    for row in measured(jobs, framework, start):
        expected = networks[row.job.network].parameters
        if framework == "tensorflow" and row.job.network.startswith("lstm"):
            expected -= ONE_BIAS
        assert row.parameters == expected, f"{row.job.id}: {row.detail}"
