"""What builds and runs an image elsewhere: a workflow that GitHub takes, a job that the API of Kubernetes takes."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from envkit.image.options import ImageOptions
from envkit.render.dockerfile import render_dockerfile
from envkit.render.github_workflow import render_github_workflow
from envkit.render.kubernetes import render_kubernetes
from envkit.tables import Matrix
from tests.hostile.payloads import SHELL
from tests.image.making import commands, made, run

_PLANS = ("pytorch", "tensorflow", "mxnet", "jax", "tensorrt", "onnxruntime", "tvm")
_LABEL = re.compile(r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?")  # RFC 1123, as Kubernetes wants the names of containers


def _workflow(matrix: Matrix, framework: str, **limits: str) -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load(render_github_workflow(made(matrix, framework, options=None, **limits)))
    return document


def _pod(matrix: Matrix, framework: str, options: ImageOptions | None = None, **limits: str) -> dict[str, Any]:
    document = yaml.safe_load(render_kubernetes(made(matrix, framework, options=options, **limits)))
    pod: dict[str, Any] = document["spec"]["template"]["spec"]
    return pod


def test_a_workflow_has_no_right_that_it_does_not_use(matrix: Matrix) -> None:
    workflow = _workflow(matrix, "pytorch")
    test, publish = workflow["jobs"]["test"], workflow["jobs"]["publish"]
    assert workflow["permissions"] == {"contents": "read"}
    assert "permissions" not in test and publish["permissions"] == {"contents": "read", "packages": "write"}
    assert (test["if"], publish["if"]) == ("github.ref_type != 'tag'", "github.ref_type == 'tag'")
    assert all(step["with"]["persist-credentials"] is False for step in (test["steps"][0], publish["steps"][0]))
    assert "login" not in str(test) and "run" not in {key for job in (test, publish) for s in job["steps"] for key in s}


def test_every_action_of_a_workflow_is_a_commit(matrix: Matrix) -> None:
    uses = re.findall(r"uses: (.*)", render_github_workflow(made(matrix, "pytorch")))
    assert len(uses) == 9
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", used) for used in uses), uses


def test_a_workflow_publishes_what_it_tested_with_sbom_and_provenance(matrix: Matrix) -> None:
    *_, tested, _, _, published = _workflow(matrix, "pytorch")["jobs"]["publish"]["steps"]
    assert tested["with"] == {"context": ".", "target": "smoke-test", "push": False}
    assert published["uses"] == tested["uses"]
    assert published["with"]["push"] is True and published["with"]["sbom"] is True
    assert published["with"]["provenance"] == "mode=max"


@pytest.mark.parametrize("framework", _PLANS)
def test_the_target_of_a_workflow_is_a_stage(framework: str, matrix: Matrix) -> None:
    """An image whose import needs the driver has no such stage, as no runner could run it."""
    recipe = made(matrix, framework)
    target = "target: smoke-test" in render_github_workflow(recipe)
    assert target == any(line.endswith("smoke-test") for line in commands(render_dockerfile(recipe), "FROM"))
    assert target != recipe.needs_driver


def test_an_architecture_has_its_own_runner_and_nodes(matrix: Matrix) -> None:
    assert _workflow(matrix, "pytorch", architecture="aarch64")["jobs"]["test"]["runs-on"] == "ubuntu-24.04-arm"
    assert _pod(matrix, "pytorch", architecture="aarch64")["nodeSelector"] == {"kubernetes.io/arch": "arm64"}
    assert _pod(matrix, "pytorch")["nodeSelector"] == {"kubernetes.io/arch": "amd64"}


def test_a_workflow_lies_below_the_root_where_its_dockerfile_is(tmp_path: Path) -> None:
    folder = tmp_path / ".github/workflows"
    folder.mkdir(parents=True)
    options = ("--framework", "pytorch", "--target", "any")
    for place in (folder / "image.yaml", tmp_path / "image.yaml"):
        shown = run(*options, "--format", "github-workflow", "-o", str(place))
        told = re.search(r"with the same options: (envkit dockerfile .*)", shown.stderr)
        assert told is not None and shlex.split(told.group(1))[-2:] == ["-o", str(tmp_path / "Dockerfile")]


def test_a_job_asks_for_one_gpu_and_gets_no_rights(matrix: Matrix) -> None:
    pod = _pod(matrix, "pytorch")
    (container,) = pod["containers"]
    assert container["resources"] == {"limits": {"nvidia.com/gpu": 1}}
    assert container["command"] == ["smoke-test"]
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True and pod["securityContext"]["runAsUser"] == 1000
    assert container["securityContext"] == {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    (mount,), (volume,) = container["volumeMounts"], pod["volumes"]
    assert mount == {"name": volume["name"], "mountPath": "/dev/shm"}
    assert volume["emptyDir"] == {"medium": "Memory", "sizeLimit": "8Gi"}


def test_a_job_without_cuda_asks_for_no_gpu(matrix: Matrix) -> None:
    pod = _pod(matrix, "tvm")
    assert "nvidia.com/gpu" not in str(pod) and "volumes" not in pod


def test_a_job_runs_the_command_of_the_image_where_one_was_asked_for(matrix: Matrix) -> None:
    for options in (ImageOptions(entrypoint="python -m server"), ImageOptions(jupyter=True)):
        (container,) = _pod(matrix, "pytorch", options)["containers"]
        assert "command" not in container and ("ports" in container) == options.jupyter


@pytest.mark.parametrize("payload", [payload for payload in SHELL if payload.isprintable()])
def test_words_of_the_command_line_change_neither(payload: str, matrix: Matrix) -> None:
    """What an entrypoint says is in the Dockerfile alone."""
    plain = made(matrix, "pytorch", options=ImageOptions(entrypoint="x"))
    hurt = made(matrix, "pytorch", options=ImageOptions(entrypoint=f"x {shlex.quote(payload)}"))
    assert render_github_workflow(hurt) == render_github_workflow(plain)
    assert render_kubernetes(hurt) == render_kubernetes(plain)


def test_the_names_of_all_frameworks_are_names_for_kubernetes(matrix: Matrix) -> None:
    assert all(_LABEL.fullmatch(framework.name) for framework in matrix.frameworks)


def test_the_dockerfile_says_how_to_run_and_publish_it(matrix: Matrix) -> None:
    text = render_dockerfile(made(matrix, "pytorch"))
    assert "# Run:     docker run --rm -it --gpus all --shm-size=8g pytorch\n" in text
    assert "--sbom=true --provenance=mode=max" in text
    assert "--shm-size" not in render_dockerfile(made(matrix, "tvm"))


@pytest.mark.network
@pytest.mark.thorough
def test_the_schemas_of_github_and_kubernetes_take_them(matrix: Matrix, tmp_path: Path) -> None:
    """check-jsonschema carries GitHub's schema, kubernetes-validate those of the API; zizmor audits workflows."""
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    programs = tmp_path / "venv/bin"
    tools = ["check-jsonschema", "kubernetes-validate", "zizmor"]
    subprocess.run([programs / "python", "-m", "pip", "install", "--quiet", *tools], check=True)
    for name in _PLANS:
        recipe = made(matrix, name, options=ImageOptions(jupyter=name == "pytorch"))
        (tmp_path / f"{name}.workflow.yaml").write_text(render_github_workflow(recipe))
        (tmp_path / f"{name}.job.yaml").write_text(render_kubernetes(recipe))
    workflows = sorted(map(str, tmp_path.glob("*.workflow.yaml")))
    jobs = sorted(map(str, tmp_path.glob("*.job.yaml")))
    schema = [str(programs / "check-jsonschema"), "--builtin-schema", "vendor.github-workflows"]
    audit = [str(programs / "zizmor"), "--offline", "--pedantic"]
    for words in (
        [*schema, *workflows],
        [*audit, *workflows],
        [str(programs / "kubernetes-validate"), "--strict", *jobs],
    ):
        done = subprocess.run(words, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    broken = {workflows[0]: ("runs-on", "runson"), jobs[0]: ("restartPolicy", "restartpolicy")}
    for place, (right, wrong) in broken.items():
        Path(place).write_text(Path(place).read_text().replace(right, wrong))
    assert subprocess.run([*schema, workflows[0]], capture_output=True).returncode == 1
    strict = [str(programs / "kubernetes-validate"), "--strict", jobs[0]]
    assert subprocess.run(strict, capture_output=True).returncode == 1
