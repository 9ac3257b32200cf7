"""A remedy names what the text names: its image, the kubectl of its cluster, its modules, its notebook."""

from __future__ import annotations

import pytest

from envkit.checks.engine.command import Command, fixed
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.suited import suited
from envkit.ingest import parse_text
from envkit.model import Environment, found
from tests.checks.test_remedies_suited import TORCH, told


def managed(*names: str) -> Environment:
    return Environment(managed_by=found(names, "test"))


@pytest.mark.parametrize(
    ("text", "image"),
    [
        ("docker run --rm --gpus all -it vllm/vllm-openai:v0.5.0 --model m\n", "vllm/vllm-openai:v0.5.0"),
        ("docker run -d -p 80:80 -v /srv:/srv --name x --shm-size=8g host.example:50/a/b:1\n", "host.example:50/a/b:1"),
        ("podman run -e A=b ubuntu nvidia-smi\n", "ubuntu"),
        ("    image: \"quay.io/org/app:2\"\n", "quay.io/org/app:2"),
        ("docker run --gpus all nvidia/cuda:12.2.0-base nvidia-smi\ndocker run --gpus all my/app\n", "my/app"),
        ("docker run --gpus all my/app\ndocker run --gpus all other/app\n", None),
        ("docker run --gpus all \\\n", None),
    ],
)  # fmt: skip
def test_the_image_that_a_text_starts(text: str, image: str | None) -> None:
    assert parse_text(text).containers.image.value == image


def test_the_image_stands_in_the_command() -> None:
    environment = parse_text("docker run --gpus all my/app:1\n")
    given = suited(environment, Remedy("Do it.", (fixed("docker run --gpus all IMAGE nvidia-smi"),)))
    assert given.commands == ("docker run --gpus all my/app:1 nvidia-smi",)
    shell = Command(shell="printf 'FROM IMAGE\\n' | docker build -t x -")
    assert suited(environment, Remedy("Do it.", (shell,))).commands == (
        "printf 'FROM my/app:1\\n' | docker build -t x -",
    )
    assert suited(Environment(), Remedy("Do it.", (shell,))).commands == (shell.line,)


def test_a_cluster_has_its_own_kubectl() -> None:
    step = Remedy("Do it.", (fixed("kubectl get pods"), Command(shell="kubectl get pods | cat")))
    assert suited(managed("microk8s"), step).commands == (
        "microk8s kubectl get pods",
        "microk8s kubectl get pods | cat",
    )
    assert suited(managed("k3s"), step).commands[0] == "sudo k3s kubectl get pods"
    assert suited(managed("kubernetes"), step).commands == step.commands


@pytest.mark.parametrize("name", ["slurm", "pbs", "modules"])
def test_a_toolkit_is_loaded_where_modules_are(name: str) -> None:
    toolkit = (fixed("envkit install --cuda 8.0 --run"), Command(shell="export CUDA_HOME=/usr/local/cuda-8.0"))
    again = fixed("python setup.py install")
    given = suited(managed(name), Remedy("Install it.", (*toolkit, again)))
    assert given.commands == ("module avail cuda cudnn", "module load cuda/8.0", again.line)
    assert "in the job script" in given.summary
    assert suited(managed(name), Remedy("Do it.", (again,))).commands == (again.line,)


def test_a_notebook_uses_the_pip_of_its_kernel() -> None:
    given = suited(managed("colab"), Remedy("Replace it.", (TORCH,)))
    assert given.commands == ("%pip install torch==2.6.0 --index-url https://download.pytorch.org/whl/cu124",)
    assert "restart the runtime" in given.summary


POD = """$ kubectl logs add
Failed to allocate device vector A (error code CUDA driver version is insufficient for CUDA runtime version)!
$ nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
Tesla T4, {driver}
"""


def test_a_pod_on_the_newest_driver_got_none() -> None:
    given = told(POD.format(driver="580.95.05"), "container-no-gpu-injected")
    assert "runtimeClassName: nvidia" in given.summary
    assert given.commands[0] == "kubectl get runtimeclass"


def test_a_pod_on_an_old_driver_may_have_one() -> None:
    environment = parse_text(POD.format(driver="470.82.01"))
    assert str(environment.driver.kernel_module.value) == "470.82.01"
    assert "driver" in told(POD.format(driver="470.82.01"), "driver-too-old-for-runtime").summary.lower()
