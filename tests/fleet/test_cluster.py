"""What a cluster's own scheduler runs: manifests that the API's schema takes, scripts that a shell takes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from envkit.base.errors import RequestError
from envkit.checks.engine.registry import all_checks
from envkit.fleet.cluster import KINDS, Manifests
from envkit.fleet.model import FleetReport, State
from envkit.fleet.report import fleet_report
from envkit.render.cluster import batch_script, manifests, prolog
from envkit.render.fleet import formatted
from envkit.render.fleet_files import collector
from envkit.render.reports import Look
from tests.cli.run import envkit
from tests.fleet.hosts import host

SHELLCHECK = str(Path(sys.executable).with_name("shellcheck"))
WANTED = [
    Manifests(kind, nodes=None if kind == "daemonset" else 8, runtime_class=runtime, rights=rights)
    for kind in KINDS
    for runtime in ("", "nvidia")
    for rights in (False, True)
]


def _objects(wanted: Manifests) -> dict[str, Any]:
    return {item["kind"]: item for item in yaml.safe_load_all(manifests(wanted.checked()))}


def _pod(wanted: Manifests) -> dict[str, Any]:
    objects = _objects(wanted)
    if wanted.kind == "cronjob":
        objects["Job"] = objects["CronJob"]["spec"]["jobTemplate"]
    pod: dict[str, Any] = (objects.get("DaemonSet") or objects["Job"])["spec"]["template"]
    return pod


@pytest.mark.parametrize("wanted", WANTED, ids=lambda item: f"{item.kind}-{item.runtime_class}-{item.rights}")
def test_a_pod_asks_for_no_gpu_and_has_few_rights(wanted: Manifests) -> None:
    spec = _pod(wanted)["spec"]
    (container,) = spec["containers"]
    assert "nvidia.com/gpu" not in json.dumps(container["resources"])
    context = container["securityContext"]
    assert context["allowPrivilegeEscalation"] is False and "privileged" not in context
    assert context["capabilities"] == {"drop": ["ALL"], "add": ["SYS_CHROOT", "SYSLOG"]}
    assert all(mount["readOnly"] for mount in container["volumeMounts"])
    assert spec["automountServiceAccountToken"] is False and "hostPID" not in spec and "hostNetwork" not in spec
    assert spec.get("runtimeClassName", "") == wanted.runtime_class
    assert (" unasked " in container["args"][0]) == (not wanted.runtime_class)
    assert spec["nodeSelector"] == {"nvidia.com/gpu.present": "true"}
    assert ("affinity" in spec) == (wanted.kind != "daemonset")


@pytest.mark.parametrize("wanted", WANTED, ids=lambda item: f"{item.kind}-{item.runtime_class}-{item.rights}")
def test_the_collector_lies_in_the_manifests_word_for_word(wanted: Manifests) -> None:
    objects = _objects(wanted)
    assert objects["ConfigMap"]["data"]["collect.sh"] == collector()
    assert len(json.dumps(objects["ConfigMap"])) < 1_000_000
    assert ("ClusterRole" in objects) == wanted.rights
    if wanted.rights:
        assert objects["ClusterRole"]["rules"] == [
            {"apiGroups": [""], "resources": ["nodes", "nodes/status"], "verbs": ["get", "patch"]}
        ]


@pytest.mark.network
@pytest.mark.thorough
@pytest.mark.parametrize("version", ["1.25", "1.30", ""])
def test_the_schema_of_the_api_takes_them(version: str, tmp_path: Path) -> None:
    """kubernetes-validate carries the schemas of the API's releases; strict refuses every key that they do not know."""
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    programs = tmp_path / "venv/bin"
    subprocess.run([programs / "python", "-m", "pip", "install", "--quiet", "kubernetes-validate"], check=True)
    for number, wanted in enumerate(WANTED):
        place = tmp_path / f"{number}.yaml"
        place.write_text(manifests(wanted))
    chosen = ["--kubernetes-version", version] if version else []
    places = sorted(map(str, tmp_path.glob("*.yaml")))
    command = [str(programs / "kubernetes-validate"), "--strict", *chosen, *places]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    Path(places[0]).write_text(Path(places[0]).read_text().replace("readOnly: true", "readonly: true"))
    assert subprocess.run(command, capture_output=True).returncode == 1


@pytest.mark.parametrize(
    "words",
    [
        ("--namespace", "a b"), ("--namespace", "../x"), ("--namespace", "X"),
        ("--image", "x\ny"), ("--image", "$(id)"),
        ("--selector", "a"), ("--selector", "a=b: c"), ("--runtime-class", "'"), ("--nodes", "3"),
        ("--namespace", "a" * 64),
    ],
    ids=ascii,
)  # fmt: skip
def test_words_that_kubernetes_would_refuse_are_refused(words: tuple[str, str]) -> None:
    done = envkit("fleet", "kubernetes", *words)
    assert done.returncode == 2 and done.stdout == "" and words[0] in done.stderr


@pytest.mark.parametrize("word", ["123", "true", "null", "1e3", "0x1f", "2026-11-28"])
def test_a_name_that_looks_like_another_type_stays_text(word: str) -> None:
    wanted = Manifests(namespace=word, image=word, runtime_class=word, selector=f"{word}={word}", rights=True)
    objects, spec = _objects(wanted), _pod(wanted)["spec"]
    assert objects["Namespace"]["metadata"]["name"] == objects["DaemonSet"]["metadata"]["namespace"] == word
    assert spec["containers"][0]["image"] == spec["runtimeClassName"] == word
    assert spec["nodeSelector"] == {word: word}


def test_without_a_number_of_nodes_there_is_no_job() -> None:
    with pytest.raises(RequestError, match="--nodes is missing"):
        Manifests("cronjob").checked()


@pytest.mark.parametrize("script", [batch_script(), prolog()], ids=["batch", "prolog"])
def test_slurm_scripts_are_plain_shell(script: str, tmp_path: Path) -> None:
    place = tmp_path / "script"
    place.write_text(script)
    command = [SHELLCHECK, "--shell=sh", "--exclude=SC2231,SC2015", str(place)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout == ""


def _prolog(folder: Path, doctor: str, gpus: bool = True) -> subprocess.CompletedProcess[str]:
    """The prolog's end where `envkit` is this script."""
    (folder / "bus/0").mkdir(parents=True)
    (folder / "bus/0/vendor").write_text("0x10de\n" if gpus else "0x8086\n")
    (folder / "envkit").write_text(f"#!/bin/sh\n{doctor}\n")
    (folder / "envkit").chmod(0o755)
    text = prolog().replace("/sys/bus/pci/devices/*/vendor", f"{folder}/bus/*/vendor")
    (folder / "prolog").write_text(text)
    variables = {**os.environ, "ENVKIT": str(folder / "envkit")}
    return subprocess.run(["sh", str(folder / "prolog")], env=variables, capture_output=True, text=True, timeout=20)


def _said(status: str, confidence: str) -> str:
    verdict = {"status": status, "id": "x", "title": "A GPU is gone", "confidence": confidence}
    return f"cat <<'END'\n{json.dumps({'schema': 1, 'verdict': verdict}, indent=2)}\nEND\nexit 1"


@pytest.mark.parametrize(
    ("doctor", "code"),
    [
        (_said("fail", "certain"), 1), (_said("fail", "likely"), 0), (_said("warn", "certain"), 0),
        (_said("unknown", "certain"), 0), ("exit 1", 0), ("exit 3", 0), ("echo rubbish; exit 1", 0),
        ("head -c 100000 /dev/urandom", 0), ("kill -9 $$", 0),
    ],
)  # fmt: skip
def test_a_prolog_stops_jobs_only_on_what_is_certain(doctor: str, code: int, tmp_path: Path) -> None:
    done = _prolog(tmp_path, doctor)
    assert done.returncode == code and ("A GPU is gone" in done.stderr) == bool(code)


def test_a_prolog_passes_nodes_without_gpus(tmp_path: Path) -> None:
    assert _prolog(tmp_path, _said("fail", "certain"), gpus=False).returncode == 0


@pytest.mark.thorough
def test_a_prolog_ends_in_time(tmp_path: Path) -> None:
    import time

    began = time.monotonic()
    assert _prolog(tmp_path, "exec sleep 60").returncode == 0
    assert time.monotonic() - began < 20


def test_a_prolog_asks_checks_that_there_are() -> None:
    text = prolog()
    asked = text[text.index("for id in") : text.index("; do")].replace("\\", " ").split()[3:]
    assert len(asked) > 30 and set(asked) <= set(all_checks()) and "driver-library-mismatch" in asked
    assert not any("torch" in id for id in asked)


FLEET = [
    host("n1"),
    host("n2", State.FAIL, cause="driver-library-mismatch"),
    host("n3", State.UNREACHABLE),
    host("$(id)", State.FAIL, cause="x"),
]


def _script(fleet: FleetReport) -> str:
    return formatted(fleet, "kubectl", Look(False, False, 100))


def test_nodes_get_a_label_and_a_condition(tmp_path: Path) -> None:
    (tmp_path / "kubectl").write_text('#!/bin/sh\nfor word; do printf "%s\\n" "$word"; done >>"$0.log"\n')
    (tmp_path / "kubectl").chmod(0o755)
    from envkit._startup.records import replace

    fleet = fleet_report([replace(FLEET[0], reason='it\'s "well" $(id)\n'), *FLEET[1:]])
    done = subprocess.run(
        ["sh"], input=_script(fleet), env={"PATH": f"{tmp_path}:{os.environ['PATH']}"}, capture_output=True, text=True
    )
    assert done.returncode == 0 and done.stderr == ""
    said = (tmp_path / "kubectl.log").read_text().splitlines()
    patches = [json.loads(line)["status"]["conditions"][0] for line in said if line.startswith("{")]
    assert [(patch["status"], patch["reason"]) for patch in patches] == [
        ("True", "Ok"), ("False", "DriverLibraryMismatch"), ("Unknown", "Unreachable"),
    ]  # fmt: skip
    assert patches[0]["message"].startswith('it\'s "well" $(id)')
    assert [line for line in said if line.startswith("envkit/state=")] == [
        "envkit/state=ok", "envkit/state=fail", "envkit/state=unreachable",
    ]  # fmt: skip


def test_a_script_is_plain_shell() -> None:
    command = [SHELLCHECK, "--shell=sh", "-"]
    done = subprocess.run(command, input=_script(fleet_report(FLEET)), capture_output=True, text=True)
    assert done.stdout == ""
