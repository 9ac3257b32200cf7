"""Whatever a report on a Dockerfile names is declared: with words, a remedy and references, and known to `explain`."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from envkit.checks.engine.registry import ImageFault, all_checks, check, declared, image_fault, image_faults
from envkit.dockerfile.check import check_dockerfile
from envkit.render.explain import explanation
from envkit.solver.request import Request
from envkit.tables import Matrix
from tests.cli.run import envkit

PACKAGE = Path(__file__).resolve().parents[2] / "envkit"
FOLDER = Path(__file__).with_name("dockerfiles")
INFORMS = {"image.base-on-record", "image.python-of-pip", "image.framework-in-base"}


@pytest.mark.parametrize("fault", image_faults().values(), ids=list(image_faults()))
def test_a_fault_explains_itself(fault: ImageFault) -> None:
    first, _, rest = fault.doc.partition("\n\n")
    assert first.endswith(".") and rest.strip().endswith((".", '".'))
    assert fault.title and not fault.title.endswith(".") and fault.fix.endswith(".")
    assert fault.references and all(reference.startswith("https://") for reference in fault.references)
    told = explanation(fault)
    command = "dockerfile --check" if fault.id.startswith("image.") else "check"
    assert fault.title in " ".join(told.split()) and f"envkit {command} FILE" in told
    assert all(len(line) <= 80 or "https://" in line for line in told.splitlines())


def test_explain_knows_a_fault() -> None:
    told = envkit("explain", "image.base-gone")
    assert told.returncode == 0 and told.stdout.startswith("image.base-gone\n")


def test_the_list_of_checks_has_every_fault() -> None:
    listed = [line.split()[0] for line in envkit("doctor", "--list-checks").stdout.splitlines()]
    assert listed == list(declared()) == list(dict.fromkeys([*all_checks(), *image_faults()]))


def test_doctor_sends_a_fault_to_its_command() -> None:
    done = envkit("doctor", "--check", "image.base-gone")
    assert done.returncode == 2 and "dockerfile --check" in done.stderr


def test_no_id_is_declared_twice() -> None:
    for taken in ("image.base-gone", next(iter(all_checks()))):
        with pytest.raises(ValueError, match="twice"):
            image_fault(taken, title="", doc="", fix="", references=())
    layer = next(iter(all_checks().values())).layer
    with pytest.raises(ValueError, match="twice"):
        check("image.base-gone", title="", layer=layer)(lambda *_: iter(()))


def test_findings_are_made_from_declarations_alone() -> None:
    """A finding takes its id from a check or a declared fault, never from a text next to it."""
    made = {}
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text("utf-8")
        for function in ast.walk(ast.parse(text)) if "Finding(" in text else ():
            if isinstance(function, ast.FunctionDef):
                for call in ast.walk(function):
                    if isinstance(call, ast.Call) and ast.unparse(call.func).rpartition(".")[2] == "Finding":
                        made[f"{path.stem}.{function.name}"] = ast.unparse(call.args[0])
    assert made == {"check_parts.finding": "fault.id", "runner._finding": "check.id"}


def test_every_id_in_the_program_is_declared() -> None:
    named = {
        id
        for path in PACKAGE.rglob("*.py")
        for id in re.findall(r"\"((?:image|project)\.[a-z]+(?:-[a-z]+)*)\"", path.read_text("utf-8"))
    }
    assert named == set(image_faults())


def test_every_fault_is_seen_in_a_dockerfile() -> None:
    expected = {line.split()[1] for path in FOLDER.glob("*.expected") for line in path.read_text().splitlines()[1:]}
    assert expected == {id for id in image_faults() if id.startswith("image.")} - INFORMS


def test_what_is_found_is_declared(matrix: Matrix) -> None:
    for path in FOLDER.glob("*.Dockerfile"):
        for finding in check_dockerfile(path.read_text(), Request(container=True), matrix):
            assert finding.id in declared() and finding.references == image_faults()[finding.id].references
