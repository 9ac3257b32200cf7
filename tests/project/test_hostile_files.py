"""A file that nobody should trust is refused in one line, costs little time, and names no file outside its folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from envkit.api.project import project_report
from envkit.base.errors import SourceError
from envkit.project.judge import judge as judged
from envkit.project.read import KINDS, read_manifest
from envkit.solver.request import Request
from envkit.tables import Matrix
from tests.processor_time import seconds

NASTY = {
    "nothing": "",
    "noise": "\x01\x02é☃" * 300 + "\n[[[",
    "brackets": "[" * 20_000,
    "nested tables": "a=" + "[" * 5_000 + "]" * 5_000,
    "nested objects": '{"default":' * 5_000 + "1" + "}" * 5_000,
    "one long line": "x" * 400_000,
    "operators": "install_requires=" + "+".join(["[]"] * 20_000),
    "minuses": "x=" + "-" * 20_000 + "1",
    "includes itself": "-r requirements.txt\n-r ../requirements.txt\n-r /etc/passwd\n-c //x\n",
    "numbers": "torch==" + "9" * 5_000 + "." + "1." * 2_000 + "\ntorch~=^1\n",
    "keys": "a: b: c: d\n- - - -\n? x\n",
    "spaces": "torch" + " " * 50_000 + ";" + " " * 50_000 + "\n",
    "continued": "\\\n" * 20_000,
    "wrong types": "[project]\ndependencies = 3\n[tool.uv]\nindex = 'x'\nsources = 4\n[tool.poetry]\nsource = 1\n",
    "wrong packages": 'package = 3\npackages = ["x", {name = 1}]\n[metadata]\ntargets = "x"\n',
}


@pytest.mark.parametrize("name", NASTY)
def test_any_text_is_read_or_refused_in_one_line(name: str) -> None:
    def read() -> None:
        for kind in KINDS:
            try:
                read_manifest(kind, NASTY[name], lambda name: None, "x86_64", "linux")
            except SourceError as error:
                assert "\n" not in str(error)
                assert len(str(error)) < 400

    assert seconds(read) < 5  # of all kinds together; half a second on a quiet machine


def test_includes_stay_in_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    (folder / "more").mkdir(parents=True)
    (tmp_path / "outside.txt").write_text("torch==1.0\n", encoding="utf-8")
    (folder / "link.txt").symlink_to(tmp_path / "outside.txt")
    (folder / "more" / "gpu.txt").write_text("-r ../requirements.txt\ntorch==2.6.0\n", encoding="utf-8")
    file = folder / "requirements.txt"
    file.write_text("-r ../outside.txt\n-r link.txt\n-r more/gpu.txt\n", encoding="utf-8")
    report = project_report(str(file), Request(), Matrix.load())
    told = [finding.title for finding in report.findings]
    assert [title for title in told if "could not be read" in title] == [
        "Not checked: -r ../outside.txt could not be read",
        "Not checked: -r link.txt could not be read",
    ]
    assert any("PyTorch 2.6.0" in title for title in told)
    assert "more/gpu.txt line 2: torch==2.6.0" in {finding.subject for finding in report.findings}


def test_setup_py_is_not_run(tmp_path: Path) -> None:
    file = tmp_path / "setup.py"
    mark = tmp_path / "ran"
    file.write_text(f"open({str(mark)!r}, 'w')\nfrom setuptools import setup\nsetup(install_requires=['torch'])\n")
    project_report(str(file), Request(), Matrix.load())
    assert not mark.exists()


def test_a_lock_of_300_packages_takes_a_third_of_a_second() -> None:
    wheel = '    {{ url = "https://index.example.org/p{0}-1.{1}-cp312-cp312-linux_x86_64.whl", hash = "sha256:0" }},\n'
    packages = "".join(
        f'[[package]]\nname = "p{number}"\nversion = "1.{number}"\n'
        'source = { registry = "https://index.example.org/simple" }\nwheels = [\n'
        + "".join(wheel.format(number, at) for at in range(20))
        + "]\n\n"
        for number in range(300)
    )
    text = f'version = 1\nrequires-python = ">=3.12"\n\n{packages}'

    def read() -> None:
        found = read_manifest("uv.lock", text, lambda name: None, "x86_64", "linux")
        assert len(found.items) == 300

    assert seconds(read) < 1  # 0.1 on a quiet machine


def test_a_list_of_2000_pins_takes_a_second() -> None:
    lines = [f"package-{number}==1.{number}" for number in range(2000)]

    def judge() -> None:
        manifest = read_manifest("requirements", "\n".join(lines), lambda name: None, "x86_64", "linux")
        judged(manifest, Request(), (), Matrix.load())

    assert seconds(judge) < 1
