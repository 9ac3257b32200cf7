"""`envkit fleet report` on folders of any origin: states, formats, exit statuses, hostile names."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from envkit._startup.records import replace
from envkit.checks.engine.registry import all_checks
from envkit.cli.fleet_doctor import _inventory
from envkit.fleet.judge import host_results
from envkit.fleet.model import State
from envkit.fleet.report import fleet_report, masked
from envkit.fleet.traits import KEYS
from envkit.ingest.hosts import host_sources
from envkit.render.fleet import formats, formatted
from envkit.render.reports import Look
from envkit.tables import Matrix
from tests.cli.run import ROOT, envkit
from tests.cli.test_schema import valid
from tests.fakes.machines import MACHINES
from tests.fleet.hosts import HEALTHY, MISMATCH, changed, facts, host, write
from tests.hostile.rules import STEERS


def _json(*words: str) -> dict[str, Any]:
    done = envkit("fleet", "report", *words, "--json")
    assert done.returncode in (0, 1), done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    valid(document, "fleet")
    return document


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Hosts of every origin, and everything that is no host."""
    folder = write(
        tmp_path_factory.mktemp("fleet") / "in",
        n1=facts(), n2=facts(), n3=facts(), n4=changed(system__kernel="6.8.0-99-generic"),
        down=json.dumps({"schema": 1, "host": "down.lan", "state": "unreachable", "reason": "connection refused"}),
        half=facts()[:900], empty="", other='{"a": 1}',
    )  # fmt: skip
    shutil.copytree(MACHINES / MISMATCH, folder / "captured")
    (folder / "pasted.txt").write_text("Failed to initialize NVML: Driver/library version mismatch\n")
    (folder / "several").mkdir()
    (folder / "several" / "smi.txt").write_text("Failed to initialize NVML: Driver/library version mismatch\n")
    (folder / "several" / "note.txt").write_text("It happened after an upgrade.\n")
    (folder / "noise.bin").write_bytes(bytes(range(256)) * 4000)
    (folder / "README.md").write_text("What these are.")
    return folder


def test_every_origin_is_a_host_and_rubbish_says_so(mixed: Path) -> None:
    document = _json(str(mixed))
    states = {item["host"]: item["state"] for item in document["hosts"]}
    assert states["n1"] == states["n4"] == "ok"
    assert states["captured"] == states["pasted"] == states["several"] == "fail"
    assert states["down.lan"] == "unreachable"
    assert states["half"] == states["empty"] == states["noise.bin"] == states["other"] == "unreadable"
    reasons = {item["host"]: item["reason"] for item in document["hosts"]}
    assert reasons["empty"] == "the file is empty" and reasons["other"] == "nothing was recognized"
    assert len(states) == 12
    (cause,) = document["causes"]
    assert cause["id"] == "driver-library-mismatch" and cause["count"] == 3
    drift = {item["key"]: item for item in document["drift"]}
    assert drift["kernel"]["others"] == [{"value": "6.8.0-99-generic", "hosts": ["n4"]}]


@pytest.mark.thorough
def test_a_report_of_the_doctor_and_one_of_several_machines(tmp_path: Path) -> None:
    one, two = str(MACHINES / HEALTHY), str(MACHINES / MISMATCH)
    (tmp_path / "one.json").write_text(envkit("doctor", "--from", one, "--json").stdout)
    (tmp_path / "two.json").write_text(envkit("doctor", "--from", one, "--from", two, "--json").stdout)
    states = {item["host"]: item["state"] for item in _json(str(tmp_path))["hosts"]}
    assert states == {"one": "ok", "two:1": "ok", "two:2": "fail"}


def test_hosts_of_one_name_are_told_apart(tmp_path: Path) -> None:
    first, second = write(tmp_path / "a", n1=facts()), write(tmp_path / "b", n1=facts())
    names = [item["host"] for item in _json(str(first), str(second))["hosts"]]
    assert names == [str(first / "n1.json"), str(second / "n1.json")]


def test_exit_status_and_node_lists(mixed: Path, tmp_path: Path) -> None:
    well = write(tmp_path / "well", n1=facts(), n2=facts(), n3=facts())
    assert envkit("fleet", "report", str(well)).returncode == 0
    done = envkit("fleet", "report", str(mixed), "--nodes", str(tmp_path / "lists"))
    assert done.returncode == 1
    lists = {path.name: path.read_text().split() for path in (tmp_path / "lists").iterdir()}
    assert lists["passing_nodes.txt"] == ["n1", "n2", "n3", "n4"]
    assert lists["failing_nodes.txt"] == ["captured", "pasted", "several"]
    assert len(lists["unknown_nodes.txt"]) == 5


def test_a_mistyped_baseline_is_told_what_it_may_be(tmp_path: Path) -> None:
    write(tmp_path, n1=facts())
    done = envkit("fleet", "report", str(tmp_path), "--baseline", "majorty")
    assert done.returncode == 1 and "cannot read majorty" in done.stderr
    assert "majority, none, or a TOML file" in done.stderr and "capture directory" not in done.stderr


def test_without_a_command_the_group_prints_its_help() -> None:
    done = envkit("fleet")
    assert (done.returncode, done.stderr) == (0, "") and done.stdout == envkit("fleet", "--help").stdout


def test_a_baseline_decides_who_fails(tmp_path: Path) -> None:
    fleet = write(tmp_path / "fleet", n1=facts(), n2=facts())
    (tmp_path / "b.toml").write_text('must = ["kernel"]\n[[machines]]\nexpect = {kernel = "6.8.0"}\n')
    done = envkit("fleet", "report", str(fleet), "--baseline", str(tmp_path / "b.toml"))
    assert done.returncode == 1 and "kernel (required): 6.8.0 expected, 0 of 2 have it" in done.stdout


def _report(folder: Path, form: str, *, mask: bool = False) -> str:
    """The report without a process of its own."""
    checks, matrix = list(all_checks().values()), Matrix.load()
    hosts = [item for each in host_sources([str(folder)]) for item in host_results(each, checks, matrix, mask=mask)]
    return formatted(fleet_report(masked(hosts) if mask else hosts), form, Look(True, False, 100))


def test_a_name_that_schedulers_read_as_several_is_in_no_list(tmp_path: Path) -> None:
    folder = write(tmp_path / "in", n1=facts())
    for number, name in enumerate(("n[2-500]", "n2,n3", "--all", "n2 n3", "$(x)", "*")):
        document = {"host": name, **json.loads(facts())}
        (folder / f"{number}.json").write_text(json.dumps(document))
    done = envkit("fleet", "report", str(folder), "--nodes", str(tmp_path / "lists"), "--jobs", "1")
    assert "Omitted from the node lists, because a node cannot have this name: " in done.stderr
    assert "".join(path.read_text() for path in (tmp_path / "lists").iterdir()) == "n1\n"
    done = envkit("fleet", "report", str(folder), "--format", "kubectl", "--jobs", "1")
    assert "Omitted from the script, because a node cannot have this name: " in done.stderr
    assert done.stderr.count("\n") == 1 and "and 1 more." in done.stderr
    assert done.stdout.count("\ntold ") == 1


@pytest.mark.parametrize("form", formats())
def test_mask_numbers_the_hosts(form: str, tmp_path: Path) -> None:
    write(tmp_path, **{"secret-name-1": facts(), "secret-name-2": facts(MISMATCH)})
    text = _report(tmp_path, form, mask=True)
    assert "secret" not in text and "host-" in text


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["/nonexistent"], 1),
        (["EMPTY"], 1),
        ([str(MACHINES / HEALTHY), "/nonexistent"], 1),
        (["EMPTY", "--group-by", "gpus"], 2),
        (["EMPTY", "--group-by", ","], 2),
        ([], 2),
        (["EMPTY", "--baseline", "/nonexistent"], 1),
        (["EMPTY", "--json", "--format", "html"], 2),
    ],
)
def test_bad_requests_are_one_line(words: list[str], expected: int, tmp_path: Path) -> None:
    done = envkit("fleet", "report", *(str(tmp_path) if word == "EMPTY" else word for word in words))
    assert done.returncode == expected and done.stdout == ""
    assert len(done.stderr.strip().splitlines()) <= 2 and "Traceback" not in done.stderr


HOSTILE = '<script>alert(1)</script>"\n\x1b[31m\u202e$(id) @user #1 {{ 7*7 }}'


@pytest.mark.parametrize("form", formats())
def test_no_name_and_no_fact_steers_a_report(form: str, tmp_path: Path) -> None:
    document = {"schema": 1, "host": HOSTILE, "state": "unreachable", "reason": HOSTILE}
    odd = changed(system__kernel=HOSTILE, system__vendor=HOSTILE)
    bad = changed(MISMATCH, system__vendor=HOSTILE)
    write(tmp_path, a=json.dumps(document), b=facts(), c=facts(), d=facts(), e=odd, f=bad)
    (tmp_path / "d.json").rename(tmp_path / "$(id);<b>.json")
    text = _report(tmp_path, form)
    assert not STEERS.search(text.replace("\n", "")), STEERS.findall(text)
    if form == "html":
        body = text.partition("</head>")[2]
        assert body.count("<script>") == 1 and "<b>" not in body
    if form == "prometheus":
        sample = re.compile(r'[a-z_]+\{(?:[a-z_]+="(?:[^"\\\n]|\\[\\"n])*",?)*\} \d+')
        assert all(line.startswith("# ") or sample.fullmatch(line) for line in text.splitlines())
    if form == "markdown":
        assert "@user" not in re.sub(r"(`+).*?\1", "", text)


def test_groups_of_the_inventory_are_no_drift_and_can_be_compared_within(tmp_path: Path) -> None:
    for number in range(6):
        document = {"host": f"n{number}", "groups": [f"rack{number % 2}"], **json.loads(facts())}
        (tmp_path / f"{number}.json").write_text(json.dumps(document))
    document = _json(str(tmp_path))
    assert [item["traits"]["group"] for item in document["hosts"]] == ["rack0", "rack1"] * 3
    assert document["drift"] == [] and document["not_compared"] == 0
    assert _json(str(tmp_path), "--group-by", "group")["not_compared"] == 0
    assert "rack" not in _report(tmp_path, "json", mask=True)
    assert "rack" not in envkit("fleet", "baseline", str(tmp_path)).stdout


def test_prometheus_learns_how_old_the_facts_of_a_host_are() -> None:
    hosts = [
        replace(host("n1"), collected_at="2026-11-28T12:54:42Z"),
        replace(host("n2"), collected_at="yesterday"),
        host("n3", State.UNREACHABLE),
    ]
    text = formatted(fleet_report(hosts), "prometheus", Look(False, False, 80))
    assert re.findall("^envkit_last_run_seconds.*", text, re.M) == ['envkit_last_run_seconds{host="n1"} 1795870482']


def test_the_policy_of_the_page_names_its_script_and_nothing_else() -> None:
    page = formatted(fleet_report([host("n1")]), "html", Look(False, False, 80))
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    checksum = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{checksum}';" in policy and policy.startswith("default-src 'none';")
    assert not re.search(r"https?:|//", page.replace("// ", ""))


def test_the_page_names_every_trait() -> None:
    text = (ROOT / "docs" / "fleet.md").read_text()
    assert [key for key in KEYS if f"`{key}`" not in text] == []


@pytest.mark.parametrize("name", ["hosts.ini", "lab.yaml", "a/b"])
def test_an_inventory_that_is_not_there_is_no_host(name: str, tmp_path: Path) -> None:
    done = envkit("fleet", "doctor", "-i", name, "--out", str(tmp_path / "run"))
    assert done.returncode == 2 and f"{name} does not exist" in done.stderr
    assert not list((tmp_path / "run").glob("hosts/*"))


def test_names_are_names_whatever_lies_in_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("node1,node2", "hosts", "a,b"):
        (tmp_path / name).touch()
    assert _inventory("node1,node2") == "node1,node2,"
    assert _inventory("hosts") == str(tmp_path / "hosts")
    assert _inventory("./a,b") == str(tmp_path / "a,b")


def test_node_lists_are_written_through_no_link(mixed: Path, tmp_path: Path) -> None:
    (tmp_path / "lists").mkdir()
    (tmp_path / "lists/failing_nodes.txt").symlink_to(tmp_path / "mine")
    (tmp_path / "mine").write_text("mine")
    done = envkit("fleet", "report", str(mixed), "--nodes", str(tmp_path / "lists"))
    assert done.returncode == 1 and "is a link" in done.stderr, done.stderr
    assert (tmp_path / "mine").read_text() == "mine"
