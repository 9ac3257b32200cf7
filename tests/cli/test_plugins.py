"""Plug-ins run when asked for, are named, and break alone."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from envkit.checks.engine.findings import Status
from envkit.checks.engine.plugins import plugin_checks
from envkit.checks.engine.registry import all_checks, ordered
from envkit.checks.engine.runner import plugins_of, run_checks
from envkit.documents.doctor import doctor_json
from envkit.ingest import parse_text
from tests.checks.software import matrix
from tests.cli.run import ROOT, envkit
from tests.cli.test_schema import valid

CHECK = """
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Evidence, Remedy, ok
from envkit.checks.engine.registry import Layer, check

RULE = Fault("{id}", "A site rule is broken", impact="Jobs wait.", remedy="Ask the site.")

@check(RULE, layer=Layer.PLACE, references=("https://example.org/",))
def site(environment, matrix):
    "The site's rule holds."
    {body}
"""
FAULT = 'yield RULE.found([Evidence("system.os", "none")], remedy=Remedy("Ask."))'
GOOD = CHECK.format(id="site-rule", body=FAULT)
TEXT = "docs/examples/cpu-only-wheel.txt"


def plugin(folder: Path, name: str, source: str) -> None:
    """An installed distribution whose entry point is a module."""
    module = name.replace("-", "_")
    (folder / f"{module}.py").write_text(source, "utf-8")
    metadata = folder / f"{module}-1.5.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.5\n", "utf-8")
    (metadata / "entry_points.txt").write_text(f"[envkit.checks]\n{name} = {module}\n", "utf-8")


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return envkit(*words, variables={"PYTHONPATH": str(folder)})


@pytest.mark.parametrize(
    "words", [("doctor", "--from", TEXT), ("doctor", "--list-checks"), ("explain", "no-gpu-on-pci"), ("resolve",)]
)
def test_no_code_of_a_plugin_runs_unasked(words: tuple[str, ...], tmp_path: Path) -> None:
    plugin(tmp_path, "site-check", f"open({str(tmp_path / 'ran')!r}, 'w')")
    run(tmp_path, *words)
    assert not (tmp_path / "ran").exists()


@pytest.mark.thorough
def test_a_plugin_is_named_with_its_findings(tmp_path: Path) -> None:
    plugin(tmp_path, "site-check", GOOD)
    done = run(tmp_path, "doctor", "--plugins", "--from", TEXT, "--json")
    document = json.loads(done.stdout)
    valid(document, "doctor")
    assert document["tool"]["plugins"] == [{"name": "site-check", "version": "1.5"}]
    marked = {finding["id"]: finding["plugin"] for finding in document["findings"] if "plugin" in finding}
    assert marked == {"site-rule": "site-check 1.5", "plugin-site-check": "site-check 1.5"}
    text = run(tmp_path, "doctor", "--plugins", "--from", TEXT).stdout
    assert "site-rule of site-check 1.5" in text and "Plug-ins: site-check 1.5" in text
    page = run(tmp_path, "doctor", "--plugins", "--from", TEXT, "--format", "html").stdout
    assert "<code>site-rule</code> of site-check 1.5" in page
    markdown = run(tmp_path, "doctor", "--plugins", "--from", TEXT, "--format", "markdown").stdout
    assert "`site-rule` of `site-check 1.5`" in markdown
    assert "site-rule" in run(tmp_path, "doctor", "--plugins", "--list-checks").stdout
    assert "The site's rule holds" in run(tmp_path, "explain", "--plugins", "site-rule").stdout


BROKEN = {
    "at its import": "import nothing_of_this_name",
    "by its syntax": "def",
    "by leaving": "raise SystemExit(7)",
    "by an id that is taken": GOOD.replace("site-rule", "no-gpu-on-pci"),
    "by an id of another form": GOOD.replace("site-rule", "Site Rule"),
    "by a layer that is none": GOOD.replace("Layer.PLACE", "99"),
    "by a fact that is none": GOOD.replace("references=", 'needs=("system.moon",), references='),
    "in its check": CHECK.format(id="site-rule", body="raise RuntimeError('gone'); yield ok('')"),
    "by what it yields": CHECK.format(id="site-rule", body='yield "a word"'),
    "by a title that is none": CHECK.format(id="site-rule", body="yield ok(7)"),
    "by a remedy of another form": GOOD.replace('Remedy("Ask.")', 'Remedy("Ask.", ("rm -rf /",))'),
    "by a failure without evidence": GOOD.replace('[Evidence("system.os", "none")]', "[]"),
    "by its references": GOOD.replace("https://example.org/", "javascript:alert(1)"),
}


@pytest.mark.parametrize("source", BROKEN.values(), ids=BROKEN.keys())
def test_a_plugin_breaks_alone(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, checks_may_break: None
) -> None:
    plugin(tmp_path, "bad-check", source)
    plugin(tmp_path, "good-check", GOOD.replace("site-rule", "good-rule"))
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("bad_check", "good_check"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    plugin_checks.cache_clear()
    environment = parse_text((ROOT / TEXT).read_text("utf-8"))
    findings = run_checks(environment, matrix(), ordered({**all_checks(), **plugin_checks()}).values())
    plugin_checks.cache_clear()
    valid(json.loads(doctor_json(environment, findings)), "doctor")
    assert [finding.plugin for finding in findings if finding.status is Status.ERROR] == ["bad-check 1.5"]
    assert plugins_of(findings) == ["bad-check 1.5", "good-check 1.5"]
    assert {"good-rule", "cpu-only-wheel"} <= {finding.id for finding in findings if finding.status is Status.FAIL}
    assert [finding.plugin for finding in findings if finding.id == "no-gpu-on-pci"] == [""]
    assert all(check.plugin == "" for check in all_checks().values())


def test_a_plugin_alone_makes_nothing_healthy(tmp_path: Path) -> None:
    plugin(tmp_path, "site-check", "")
    (tmp_path / "nothing.txt").write_text("hello\n", "utf-8")
    done = run(tmp_path, "doctor", "--plugins", "--from", str(tmp_path / "nothing.txt"), "--json")
    assert json.loads(done.stdout)["verdict"]["status"] == "unknown"
