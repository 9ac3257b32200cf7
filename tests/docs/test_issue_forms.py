"""The issue forms are complete, and a filled one is a text that `envkit doctor --from` understands."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from envkit.checks.engine.findings import Status
from envkit.checks.engine.registry import all_checks
from envkit.checks.engine.runner import run_checks
from envkit.ingest import parse_text
from envkit.model import Environment
from envkit.tables import Matrix
from tests.docs.blocks import ROOT
from tests.ingest.texts import Case, cases

FORMS = sorted(path for path in (ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml") if path.name != "config.yml")
SMI = (ROOT / "tests/texts/healthy-smi-535.txt").read_text("utf-8")
COLLECT_ENV = (ROOT / "tests/texts/healthy-collect-env-new.txt").read_text("utf-8")
# healthy as nobody complains, which an issue does: without nvcc a build would stop, and a log's warning is meant
NO_COMPLAINT = (
    "framework-sees-no-gpu-root-works",
    "healthy-mxfp4-falls-back",
    "healthy-collect-env-cpu-laptop",
    "healthy-work-rootless-docker-cdi",
    "healthy-third-no-nvcc",
    "healthy-third-nixos",
    "healthy-seventh-desktop-5090",
    "healthy-nouveau-desktop",
    "healthy-eleventh-nano-4gb-l4t-docker",
    "healthy-work-colab-l4-finetune",
    "healthy-work-comfy-4090-nvtop",
    "healthy-work-egpu-razer",
    "healthy-work-julia-cuda-versioninfo",
    "healthy-work-kaggle-2xt4",
    "healthy-work-operator-node-h100",
    "healthy-work-rstudio-tf-r",
    "healthy-work-t480-mx150-bumblebee",
    "healthy-work-talos-k8s-3060",
    "healthy-work-two-different-cards",
    "healthy-work-windows-comfy-portable-4060",
    "healthy-work-windows-gpuz-dxdiag",
    "healthy-work-xavier-docker",
    "healthy-compose-api-without-gpu",
    "healthy-d3cold-then-used",
    "healthy-dkms-of-another-module",
    "healthy-gke-l4-installer",
    "healthy-incus-4060",
    "healthy-inxi-failed-nvidia",
    "healthy-lambda-h100-torchrun",
    "healthy-old-680-left-dark",
    "healthy-pytest-hides-gpu",
    "healthy-riser-replaced",
    "healthy-selinux-old-denial",
    "healthy-singularity-v100-login",
    "healthy-t400-import-in-passing",
    "healthy-t400-nvr-no-torch",
    "healthy-vllm-v100-patched",
    "healthy-twelfth-ollama-3060-amd-igpu",
    "healthy-twelfth-esxi-guest-t4",
    "healthy-thirteenth-silverblue-toolbox-4070ti",
    "healthy-thirteenth-rhel8-k80-legacy",
    "healthy-thirteenth-microk8s-2080ti-gpu-addon",
    "healthy-thirteenth-k3s-talos-mixed-nodes",
    "healthy-thirteenth-openshift-vgpu-l40s-virt",
    "healthy-fourteenth-arch-hyprland-5070",
    "healthy-fourteenth-ubuntu-server-upgrade-story",
    "healthy-fourteenth-win11-arm-no-wait-wsl-container",
    "healthy-fourteenth-rke2-gpu-operator-l4-first-try",
    "healthy-sixteenth-h20-pyxis-megatron",
    "healthy-sixteenth-sagemaker-g5-48xl-log",
    "healthy-sixteenth-rhel94-podman-a4500-pair",
    "healthy-sixteenth-isaacsim-3500ada-laptop",
    "healthy-sixteenth-titanv-mps-openmm",
    "healthy-sixteenth-lambda-8xv100-nanogpt",
    "healthy-seventeenth-lammps-kokkos-2xl40s",
    "healthy-seventeenth-plex-p2000-unraid",
    "healthy-seventeenth-comfyui-arch-4080s",
    "healthy-seventeenth-nccl-tests-4xa100-pcie",
    "healthy-seventeenth-alphafold3-a100-mig",
    "healthy-eighteenth-ci-log-gpu-runner",
    "healthy-eighteenth-colab-a100-jax",
    "healthy-eighteenth-comfyui-docker-4090-notices",
    "healthy-eighteenth-egpu-tb3-3060-davinci",
    "healthy-eighteenth-fedora-wayland-4060-notebook",
    "healthy-eighteenth-k8s-mixed-pool-events",
    "healthy-nineteenth-julia-rust-a2000",
    "healthy-nineteenth-ue5-editor-log",
    "healthy-twentieth-frigate-onnx-3050lp",
    "healthy-twentieth-gtx1050ti-arch-hibernate-solved",
    "healthy-twentieth-ubuntu2604-5080-upgrade-report",
    "healthy-twentyfirst-azure-hbv-no-gpu-login",
    "healthy-twentyfirst-crypt-hashcat-hybrid-t4-colab",
    "healthy-twentyfirst-guide-conda-solved-steps",
    "healthy-twentyfirst-ltx-video-windows-log-pl",
    "healthy-twentyfirst-pytest-cuda-lib-failures",
    "healthy-twentyfirst-solved-title-old-gpu-slot",
    "healthy-twentysecond-gke-a3mega-tcpxo",
    "healthy-twentythird-incus-a2000-plain-vm-beside",
    "healthy-twentythird-rust-candle-3080-cargo-test",
    "healthy-twentythird-arch-3060-laptop-err-list",
    "healthy-twentythird-pytest-oom-tests-4090",
    "healthy-twentythird-go-gocv-cuda-tests-1660s",
    "healthy-twentythird-kai-2060-laptop-solved-tutorial",
    "healthy-twentythird-vm-headings-esx-2xa40",
    "healthy-twentyfourth-de-nachtrag",
    "healthy-twentyfourth-es-actualizacion",
    "healthy-twentyfourth-it-risolto",
    "healthy-twentyfourth-ko-now",
    "healthy-twentieth-changelog",
    "healthy-twentieth-tutorial",
    "healthy-twentieth-tutorial-zh",
    "healthy-twentysecond-pbspro-4xa100-lammps-fr",
    "jetson-container-of-other-release-fourteenth-jetson-image-r35-on-r36",
)
EVERY = [case for case in cases() if case.name not in NO_COMPLAINT]
FIELDS = ("error", "more")  # where a text is pasted
FEW = [(case, field) for case in EVERY[::20] for field in FIELDS]
IN_TURN = [(case, FIELDS[number % len(FIELDS)]) for number, case in enumerate(EVERY)]


def form(name: str) -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load((ROOT / ".github/ISSUE_TEMPLATE" / name).read_text("utf-8"))
    return read


def filled(name: str, answers: Mapping[str, str]) -> str:
    """The issue that GitHub makes of the form: a heading and an answer for each field."""
    fields = {item["id"]: item["attributes"] for item in form(name)["body"] if item["type"] != "markdown"}
    assert set(answers) <= set(fields)
    parts = []
    for id, attributes in fields.items():
        answer = answers.get(id, "_No response_")
        fence = f"```{attributes['render']}\n{answer}\n```" if "render" in attributes and id in answers else answer
        parts.append(f"### {attributes['label']}\n\n{fence}\n")
    return "\n".join(parts)


def first_fail(environment: Environment) -> str:
    findings = run_checks(environment, Matrix.load(), all_checks().values())
    return next((finding.id for finding in findings if finding.status is Status.FAIL), "none")


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.name)
def test_a_form_has_what_github_asks_for(path: Path) -> None:
    read = form(path.name)
    assert {"name", "description", "body"} <= set(read)
    fields = [item for item in read["body"] if item["type"] != "markdown"]
    assert {item["type"] for item in fields} <= {"input", "textarea", "dropdown", "checkboxes"}
    assert len({item["id"] for item in fields}) == len({item["attributes"]["label"] for item in fields}) == len(fields)


@pytest.mark.parametrize(
    ("case", "field"), [*FEW, *(pytest.param(*one, marks=pytest.mark.thorough) for one in IN_TURN)]
)
def test_an_issue_is_read_like_the_text_in_it(case: Case, field: str) -> None:
    issue = filled("diagnosis.yml", {field: case.text, "answer": "No problems found", "truth": "I do not know"})
    assert first_fail(parse_text(issue)) == case.fail


def test_all_fields_are_one_machine() -> None:
    texts = {"error": "RuntimeError: CUDA out of memory.", "nvidia-smi": SMI, "collect-env": COLLECT_ENV}
    told = parse_text(filled("diagnosis.yml", texts))
    error, smi, collected = map(parse_text, texts.values())
    assert {item.signature for item in error.messages.get()} <= {item.signature for item in told.messages.get()}
    assert told.driver.kernel_module.get() == smi.driver.kernel_module.get()
    pairs = zip(told.pythons.get()[0].frameworks, collected.pythons.get()[0].frameworks, strict=True)
    assert all(here.package == there.package for here, there in pairs)


def test_pre_commit_runs_the_lint_of_the_gate() -> None:
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))
    hooks = [hook for repository in config["repos"] for hook in repository["hooks"]]
    assert [hook["entry"] for hook in hooks] == ["make lint"]
    assert "make lint" in (ROOT / ".ci/run").read_text("utf-8").splitlines()
