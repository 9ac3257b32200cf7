"""What the zipped application is made of, without building it: its start, its byte code, its packing."""

from __future__ import annotations

import ast
import marshal
import os
import shutil
import subprocess
import sys
import textwrap
import zipfile
import zlib
from importlib.metadata import metadata
from importlib.util import MAGIC_NUMBER
from pathlib import Path

import pytest

from tests.cli.run import ROOT
from tests.package.pythons import kept_pythons
from tools.package.zipapp.__main__ import _pack
from tools.package.zipapp.compile_code import packed
from tools.package.zipapp.lock import LOCK
from tools.package.zipapp.stage import HERE, _add_missing_licenses, licenses

START = HERE / "start.py"
OLD = [(2, 7), (3, 6), (3, 7), (3, 8), (3, 9)]


def test_the_start_is_read_by_python_3_6_and_asks_for_what_the_project_does() -> None:
    tree = ast.parse(START.read_text("utf-8"), feature_version=(3, 6))
    needed = next(node.value for node in tree.body if isinstance(node, ast.Assign))
    assert ">=" + ".".join(map(str, ast.literal_eval(needed))) == metadata("envkit")["Requires-Python"]


def said_once(done: subprocess.CompletedProcess[str], version: str) -> None:
    assert done.returncode == 2, done.stderr
    assert done.stdout == "" and len(done.stderr.splitlines()) == 1
    assert f"envkit needs Python 3.10 or newer, and this is {version}" in done.stderr


@pytest.mark.thorough
def test_an_old_python_is_reported_in_one_line() -> None:
    pythons = kept_pythons(*(".".join(map(str, version)) for version in OLD))
    if not pythons:
        pytest.skip("no Python older than the oldest supported one")
    for name, python in pythons:
        said_once(subprocess.run([python, START, "doctor"], capture_output=True, text=True, check=False), name)


@pytest.mark.parametrize("version", OLD)
def test_a_python_that_calls_itself_old_is_reported(version: tuple[int, int]) -> None:
    code = f"import runpy, sys; sys.version_info = {(*version, 1, 'final', 0)!r}; runpy.run_path({str(START)!r})"
    said_once(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False),
        ".".join(map(str, (*version, 1))),
    )


def archive(tmp_path: Path, tag: str = sys.implementation.cache_tag or "", magic: bytes = MAGIC_NUMBER) -> Path:
    """A zip with a package whose source says `source` and whose byte code says `byte code`."""
    sources = {
        "top.py": "WHERE = 'source'\n",
        "pack/__init__.py": "WHERE = 'source'\n",
        "pack/inner.py": "WHERE = 'source'\ndef fail():\n    raise KeyError('source line')\n",
        "pack/data.txt": "data",
        "_byte_code.py": (HERE / "byte_code.py").read_text("utf-8"),
        "__main__.py": textwrap.dedent("""
            import sys, traceback
            from _byte_code import use
            use(__spec__.loader.archive)
            import top, pack, pack.inner
            from importlib.resources import files
            print(top.WHERE, pack.WHERE, pack.inner.WHERE, files("pack").joinpath("data.txt").read_text(), sep="|")
            print(pack.inner.__file__, pack.__path__, sep="|")
            try:
                pack.inner.fail()
            except KeyError:
                traceback.print_exc(file=sys.stdout)
        """),
    }
    codes = {
        name: zlib.compress(marshal.dumps(compile(text.replace("'source'", "'byte code'"), name, "exec")))
        for name, text in sources.items()
        if name.endswith(".py")
    }
    made = tmp_path / "made.pyz"
    with zipfile.ZipFile(made, "w") as stream:
        for name, text in sources.items():
            stream.writestr(name, text)
        stream.writestr(f"{tag}.code", magic + marshal.dumps(codes))
    return made


def test_byte_code_is_used_and_files_and_tracebacks_are_as_without(tmp_path: Path) -> None:
    made = archive(tmp_path)
    done = subprocess.run([sys.executable, made], capture_output=True, text=True, check=True, cwd="/")
    first, second, *trace = done.stdout.splitlines()
    assert first == "byte code|byte code|byte code|data"
    assert second == f"{made}/pack/inner.py|['{made}/pack']"
    assert "raise KeyError('source line')" in "".join(trace)


@pytest.mark.parametrize(("tag", "magic"), [("cpython-27", MAGIC_NUMBER), (sys.implementation.cache_tag, b"\0\0\r\n")])
def test_byte_code_of_another_python_is_passed_over(tag: str, magic: bytes, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, archive(tmp_path, tag, magic)], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("source|source|source|data\n")


def test_a_module_that_this_python_cannot_read_stays_source(tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text("x = 1\n")
    (tmp_path / "bad.py").write_text("print 'x'\n")
    data = packed(tmp_path)
    assert data.startswith(MAGIC_NUMBER) and list(marshal.loads(data[len(MAGIC_NUMBER) :])) == ["good.py"]


def test_the_same_files_make_the_same_bytes_and_name_no_builder(tmp_path: Path) -> None:
    for name, umask, time in (("a", 0o022, 10**9), ("b", 0o077, 1.5 * 10**9)):
        before = os.umask(umask)
        folder = tmp_path / name / "pack"
        folder.mkdir(parents=True)
        for file in ("z.py", "a.py") if name == "a" else ("a.py", "z.py"):
            (folder / file).write_text("x = {1, 2, 'a'}\n")
            os.utime(folder / file, (time, time))
        code = subprocess.run(
            [sys.executable, "-sS", HERE / "compile_code.py", tmp_path / name, tmp_path / name / "x.code"],
            check=True,
            env={"PYTHONHASHSEED": "0", "HOME": str(tmp_path / name)},
        )
        assert code.returncode == 0
        _pack(tmp_path / name, tmp_path / f"{name}.pyz")
        os.umask(before)
    made, again = ((tmp_path / f"{name}.pyz") for name in "ab")
    assert made.read_bytes() == again.read_bytes()
    assert made.stat().st_mode & 0o777 == 0o755
    contents = b"".join(zipfile.ZipFile(made).read(name) for name in zipfile.ZipFile(made).namelist())
    assert str(tmp_path).encode() not in contents


def test_a_license_is_carried_or_the_build_stops(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}-1.dist-info").mkdir()
    (tmp_path / "one-1.dist-info" / "LICENSE.txt").write_text("MIT")
    with pytest.raises(LookupError, match="two"):
        _add_missing_licenses(tmp_path)
    (tmp_path / "two.py").write_text("# Redistribution is fine.  #\n\nx = 1\n")
    _add_missing_licenses(tmp_path)
    assert [path.read_text() for path in licenses(tmp_path / "two-1.dist-info")] == ["Redistribution is fine.\n"]


def test_every_package_of_the_lock_has_a_version_and_a_hash() -> None:
    lines = [line for line in LOCK.read_text("utf-8").splitlines() if not line.startswith("#")]
    assert lines == sorted(lines)
    for line in lines:
        name, digest = line.split(" --hash=sha256:")
        assert "==" in name and len(digest) == 64


def test_the_lock_carries_all_that_the_project_requires_on_any_python() -> None:
    carried = {line.partition("==")[0] for line in LOCK.read_text("utf-8").splitlines()}
    wanted = [line for line in metadata("envkit").get_all("Requires-Dist") or () if "extra ==" not in line]
    assert {line.partition(";")[0].partition(">")[0].strip().lower() for line in wanted} <= carried


def test_make_zipapp_does_not_install_the_test_environment() -> None:
    if shutil.which("make") is None:
        pytest.skip("no make here")
    done = subprocess.run(["make", "-nB", "zipapp"], capture_output=True, text=True, check=True, cwd=ROOT)
    assert "tools.package.zipapp" in done.stdout and "[test]" not in done.stdout
