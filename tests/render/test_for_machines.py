"""The reports that other programs read: valid against their schemas, and they say what the JSON report says."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree

import jsonschema
import pytest
from click.testing import CliRunner

from envkit.api.report import Report, judged
from envkit.checks.engine.findings import Finding, Status
from envkit.checks.engine.registry import all_checks
from envkit.cli.main import envkit
from envkit.cli.report import exit_code, rendered
from envkit.documents.verdict import verdict
from envkit.ingest import parse_text
from envkit.model import Environment
from tests.checks.software import matrix
from tests.fakes.machines import MACHINES
from tests.hostile.places import known

SCHEMAS = Path(__file__).parent / "schemas"
SARIF = json.loads((SCHEMAS / "sarif-2.1.0.json").read_text("utf-8"))
XS = "{http://www.w3.org/2001/XMLSchema}"
NAMES = (
    "ubuntu22.04-rtx3090-mismatch",
    "ubuntu22.04-8xh100-550",
    "ubuntu22.04-8xa100-row-remap",
    "cudnn-mixed-sublibraries.txt",
)


@lru_cache
def report_of(name: str) -> Report:
    return judged(known(name), list(all_checks().values()), matrix(), mask=False)


def broken() -> Report:
    """A report with every status that a finding can have."""
    findings = tuple(Finding(f"check-{status.value}", status, f"It is {status.value} <&> 100%") for status in Status)
    return Report(Environment(), findings, verdict(Environment(), findings))


def sarif(*reports: Report) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(rendered(reports, "sarif", verbose=False, to_file=True))
    jsonschema.Draft4Validator(SARIF).validate(document)
    return document


def valid_junit(element: ElementTree.Element, schema: ElementTree.Element) -> None:
    """Every element below has the attributes and children that the schema declares, and no other."""
    [declared] = schema.findall(f"{XS}element[@name='{element.tag}']")
    attributes = list(declared.iter(f"{XS}attribute"))
    assert set(element.attrib) <= {one.get("name") for one in attributes}, element.attrib
    assert {one.get("name") for one in attributes if one.get("use") == "required"} <= set(element.attrib)
    assert {child.tag for child in element} <= {one.get("ref") for one in declared.iter(f"{XS}element")}
    for child in element:
        valid_junit(child, schema)


def junit(*reports: Report) -> ElementTree.Element:
    root = ElementTree.fromstring(rendered(reports, "junit", verbose=False, to_file=True))
    valid_junit(root, ElementTree.parse(SCHEMAS / "junit-10.xsd").getroot())
    return root


def annotated(*reports: Report) -> Iterator[tuple[str, dict[str, str], str]]:
    """The annotations as a runner of workflows reads them."""
    for line in rendered(reports, "github", verbose=False, to_file=True).splitlines():
        match = re.fullmatch(r"::(\w+) ([^:]*)::(.*)", line)
        assert match, line
        given = dict(item.split("=", 1) for item in match.group(2).split(","))
        yield match.group(1), {name: unquote(value) for name, value in given.items()}, unquote(match.group(3))


@pytest.mark.parametrize("name", NAMES)
def test_sarif_holds_each_failure_and_warning_of_the_report(name: str) -> None:
    report = report_of(name)
    [run] = sarif(report)["runs"]
    told = [finding for finding in report.findings if finding.severity != "info"]
    assert [(item["ruleId"], item["level"]) for item in run["results"]] == [(one.id, one.severity) for one in told]
    for result, finding in zip(run["results"], told, strict=True):
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == finding.id
        assert all(
            command in result["message"]["text"] for command in (finding.remedy.commands if finding.remedy else ())
        )
    for rule in run["tool"]["driver"]["rules"]:
        assert urlsplit(rule.get("helpUri", "https://x")).scheme == "https"


@pytest.mark.parametrize("name", NAMES)
def test_junit_counts_what_the_report_counts(name: str) -> None:
    report = report_of(name)
    [suite] = junit(report).findall("testsuite")
    for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped"), ("tests", ".")):
        assert int(suite.get(attribute, "")) == len(suite.findall(f"testcase/{tag}")), attribute
    failed = [
        case.get("name", "").split(" ")[0] for case in suite.findall("testcase") if case.find("failure") is not None
    ]
    assert failed == [finding.id for finding in report.findings if finding.status is Status.FAIL]


@pytest.mark.parametrize("name", NAMES)
def test_annotations_are_the_failures_then_the_warnings(name: str) -> None:
    report = report_of(name)
    levels = {Status.FAIL: "error", Status.WARN: "warning"}
    expected = [(levels[one.status], one.id) for one in report.findings if one.status in levels]
    found = [(level, given["title"]) for level, given, _ in annotated(report)]
    assert [(level, title.rpartition("[")[2][:-1]) for level, title in found if level != "notice"] == expected
    assert ("notice" in {level for level, _ in found}) == (report.verdict.status is Status.OK)


def test_every_status_has_its_place() -> None:
    [run] = sarif(broken())["runs"]
    assert [item["ruleId"] for item in run["results"]] == ["check-warn", "check-fail"]
    [invocation] = run["invocations"]
    assert not invocation["executionSuccessful"]
    notices = {item["descriptor"]["id"]: item["level"] for item in invocation["toolExecutionNotifications"]}
    assert notices == {"check-unknown": "note", "check-error": "error"}
    [suite] = junit(broken()).findall("testsuite")
    inside = {case.get("name"): [child.tag for child in case] for case in suite.findall("testcase")}
    assert inside == {
        "check-ok": [], "check-warn": ["system-out"], "check-fail": ["failure"], "check-skip": ["skipped"],
        "check-unknown": ["skipped"], "check-error": ["error"],
    }  # fmt: skip
    assert [(level, given["title"]) for level, given, _ in annotated(broken())] == [
        ("warning", "It is warn <&> 100% [check-warn]"),
        ("error", "It is fail <&> 100% [check-fail]"),
        ("error", "It is error <&> 100% [check-error]"),
    ]


def text_of(text: str) -> Report:
    return judged(parse_text(text), list(all_checks().values()), matrix(), mask=False)


@pytest.mark.parametrize(
    "report",
    [
        lambda: text_of("\x00\x93nothing that anybody could read"),
        lambda: text_of("| NVIDIA-SMI 550.144.03    Driver Version: 550.144.03    CUDA Version: 12.4 |"),
        *(lambda name=name: report_of(name) for name in (*NAMES, "debian12-none-none")),
        broken,
    ],
)
def test_a_program_that_reads_the_file_alone_sees_red_where_the_exit_code_is_not_0(
    report: Callable[[], Report],
) -> None:
    made = report()
    red = exit_code([made], "fail") != 0
    root = junit(made)
    [suite] = root
    assert (sum(int(suite.get(name, "")) for name in ("failures", "errors")) > 0) == red
    assert [root.get(name) for name in ("tests", "failures", "errors")] == [
        str(sum(len(suite.findall(f"testcase{tag}")) for suite in root)) for tag in ("", "/failure", "/error")
    ]
    [run] = sarif(made)["runs"]
    [invocation] = run["invocations"]
    assert (not invocation["executionSuccessful"] or "error" in {one["level"] for one in run["results"]}) == red
    if not invocation["executionSuccessful"]:
        assert "error" in {notice["level"] for notice in invocation["toolExecutionNotifications"]}
    assert ("error" in {level for level, _, _ in annotated(made)}) == red


def test_several_machines_are_runs_suites_and_named_annotations() -> None:
    reports = [report_of(name) for name in NAMES[:2]]
    origins = [report.environment.origin for report in reports]
    assert [run["automationDetails"]["id"] for run in sarif(*reports)["runs"]] == [
        f"envkit-doctor/{one}" for one in origins
    ]
    assert [suite.get("name") for suite in junit(*reports)] == origins
    titles = [given["title"] for _, given, _ in annotated(*reports)]
    assert titles[0].startswith(origins[0]) and titles[-1].startswith(origins[1])


def test_a_line_of_a_named_text_can_be_opened(tmp_path: Path) -> None:
    (tmp_path / "my error.txt").write_text("$ python train.py\nRuntimeError: No CUDA GPUs are available\n")
    (tmp_path / "dkms.txt").write_text("$ dkms status\nnvidia/550.90.07, 6.8.0-45-generic, x86_64: installed\n")
    words = ["doctor", "--from", str(tmp_path / "my error.txt"), "--from", str(tmp_path / "dkms.txt")]
    done = CliRunner().invoke(envkit, [*words, "--format", "github"], standalone_mode=False)
    assert done.stdout.startswith(f"::error file={tmp_path}/my error.txt,line=2,title=")
    document = json.loads(CliRunner().invoke(envkit, [*words, "--format", "sarif"], standalone_mode=False).stdout)
    jsonschema.Draft4Validator(SARIF).validate(document)
    place = document["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": f"{tmp_path}/my%20error.txt"}, "region": {"startLine": 2}}


@pytest.mark.parametrize(("name", "begins"), [("r.sarif", "{"), ("r.xml", "<?xml ")])
def test_the_name_of_the_file_says_the_format(name: str, begins: str, tmp_path: Path) -> None:
    words = ["doctor", "--from", str(MACHINES / NAMES[0]), "-o", str(tmp_path / name)]
    assert CliRunner().invoke(envkit, words, standalone_mode=False).return_value == 1
    assert (tmp_path / name).read_text().startswith(begins)


def test_the_schema_of_sarif_refuses_what_is_wrong() -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft4Validator(SARIF).validate({"version": "2.1.0", "runs": [{"results": []}]})


@pytest.mark.thorough
def test_every_healthy_machine_passes_strict_unless_something_decisive_is_unseen() -> None:
    from envkit.documents.verdict import unseen

    passed = 0
    for folder in sorted(path for path in MACHINES.iterdir() if path.is_dir()):
        report = report_of(folder.name)
        if report.verdict.status is Status.OK:
            assert exit_code([report], "unknown") == int(bool(unseen(report.environment))), folder.name
            passed += not unseen(report.environment)
        sarif(report)
        junit(report)
        list(annotated(report))
    assert passed > 10
