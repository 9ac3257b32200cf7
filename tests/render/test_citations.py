"""Every source of the tables, cited by every output: one source is one citation, whatever its title holds."""

from __future__ import annotations

import re

from envkit._startup.records import replace
from envkit.base.settings import Mirrors
from envkit.checks.engine.findings import Evidence, Finding, Status
from envkit.compat.verdict import Verdict
from envkit.documents.doctor import finding_document
from envkit.documents.plan import plan_document
from envkit.install.options import ScriptOptions
from envkit.install.steps import installation
from envkit.model import Environment
from envkit.render.check_report import report_text
from envkit.render.markdown import doctor_markdown
from envkit.render.plan_text import plan_summary
from envkit.render.script_header import header
from envkit.render.text import doctor_text
from envkit.solver.model import Conflict, NoPlan, Plan
from envkit.solver.request import Request
from tests.solver.asking import ask, matrix, plan_of

SOURCES = matrix().sources
KEYS = tuple(source.key for source in SOURCES)
TITLES = list(dict.fromkeys(source.title for source in SOURCES))
CITATIONS = list(dict.fromkeys(source.citation for source in SOURCES))


def cited_by_all() -> Plan:
    """A plan with one verdict for each source, and one that names them all."""
    single = tuple(Verdict("relation", "ok", f"detail {key}", (key,)) for key in KEYS)
    return replace(plan_of(ask("pytorch")), verdicts=(*single, Verdict("relation", "ok", "all", KEYS)))


def flat(text: str) -> str:
    return " ".join(text.replace("\n# ", "\n").split())


def test_titles_that_look_like_several_are_among_them() -> None:
    assert any("; " in source.title for source in SOURCES) and any(";" in source.url for source in SOURCES)


def test_a_script_numbers_each_source_once() -> None:
    plan = cited_by_all()
    options = ScriptOptions()
    text = header(installation(plan, options, Mirrors()), options, ())
    listed = re.findall(r"(?m)^#   \[(\d+)\] (.*)$", text.partition("\n# Sources\n")[2])
    assert listed == [(str(number), citation) for number, citation in enumerate(CITATIONS, 1)]
    first = flat(text)
    for number, key in enumerate(KEYS, 1):
        assert f"detail {key} [{number}]" in first


def test_a_plan_lists_each_title_once() -> None:
    text = flat(plan_summary(cited_by_all(), verbose=True))
    assert all(text.count(f"- {' '.join(citation.split())}") == 1 for citation in CITATIONS)


def test_a_plan_as_json_keeps_one_text_per_verdict() -> None:
    verdicts = plan_document(cited_by_all())["verdicts"]
    assert isinstance(verdicts, list)
    assert [verdict["source"] for verdict in verdicts] == [*(s.citation for s in SOURCES), "; ".join(CITATIONS)]


def test_a_refusal_names_its_source() -> None:
    for source in SOURCES:
        refused = NoPlan(Request(), (Conflict(("a", "b"), "why", (source.key,)),))
        assert f"Source: {' '.join(source.citation.split())}" in flat(plan_summary(refused, verbose=True)), source.key
        document = plan_document(refused)
        assert document["conflicts"] == [{"between": ["a", "b"], "detail": "why", "source": source.citation}]


def test_a_finding_on_a_dockerfile_names_titles_in_text_and_addresses_in_json() -> None:
    finding = Finding("image.base-gone", Status.FAIL, "gone", "line 1: x", sources=KEYS)
    assert f"\n{len(TITLES)} sources (--json lists them)" in report_text([finding], "Dockerfile")
    key = min(KEYS, key=lambda key: len(matrix().source(key).title))
    short = replace(finding, sources=(key,))
    assert f"Sources: {matrix().source(key).title}" in report_text([short], "Dockerfile")
    assert finding_document(finding)["references"] == list(dict.fromkeys(s.url or s.title for s in SOURCES))


def test_evidence_of_a_row_names_its_sources() -> None:
    evidence = Evidence("pythons.frameworks[torch].sm_arch_list", "7.0", sources=KEYS[:3])
    finding = Finding("arch-newer-than-build", Status.FAIL, "too old", evidence=(evidence,))
    three = [matrix().source(key) for key in KEYS[:3]]
    assert "; ".join(source.title for source in three) in flat(doctor_text(Environment(), [finding], verbose=True))
    told = "; ".join(source.citation for source in three)
    assert finding_document(finding)["evidence"] == [{"fact": evidence.fact, "value": "7.0", "source": told}]
    assert told in doctor_markdown(Environment(), [finding])
    read = Evidence("driver.kernel_module", "470", "/sys/module/nvidia/version")
    assert finding_document(replace(finding, evidence=(read,)))["evidence"] == [
        {"fact": read.fact, "value": "470", "source": read.source}
    ]
