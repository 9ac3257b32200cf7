"""A plan as each kind of list: read back by the parser of the tool that it is for, it asks for the plan's packages."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from envkit.base.errors import EnvkitError
from envkit.base.settings import Mirrors
from envkit.cli.resolve import FORMATS
from envkit.documents.packages import PackageList, one_file, package_list
from envkit.render.plans import formats, formatted
from envkit.solver.having import resolve_having
from envkit.solver.model import Plan
from envkit.solver.parse import parse_request
from envkit.solver.request import RequestWords
from envkit.tables import Matrix
from tests.advice.judging import envkit

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Wanted = tuple[str, frozenset[str], str, str]  # version, extras, address of a file, index
Read = tuple[dict[str, Wanted], set[str]]  # and the pages of files to look at
MIRROR = "https://mirror.example/simple"
PLANS: dict[str, dict[str, Any]] = {
    "the default index": {"frameworks": ("pytorch==2.5.1",), "cuda": "12.4"},
    "its own index": {"frameworks": ("pytorch==2.5.1",), "cuda": "12.1"},
    "two indexes": {"frameworks": ("pytorch==1.12.1",), "cuda": "11.3"},
    "a page": {"frameworks": ("pytorch==1.4",), "cuda": "9.2"},
    "files": {"frameworks": ("pytorch==1.1",)},
    "extras": {"frameworks": ("tensorflow==2.21",)},
    "extras on a page": {"frameworks": ("jax==0.4.20",)},
    "two frameworks": {"frameworks": ("pytorch==2.11.0", "tensorflow==2.21")},
    "windows": {"frameworks": ("pytorch==2.7.1",), "os_id": "windows"},
    "another architecture": {"frameworks": ("pytorch==2.7.1",), "arch": "aarch64", "cuda": "12.8"},
    "a loader": {"frameworks": ("onnxruntime",)},
    "a companion": {"frameworks": ("vllm==0.9.1",)},
}


@lru_cache
def plan_of(name: str) -> Plan:
    matrix = Matrix.load()
    plan = resolve_having(parse_request(RequestWords(**PLANS[name]), matrix, container=False), matrix)
    assert isinstance(plan, Plan), plan
    return plan


def packages_of(name: str, mirrors: Mirrors | None = None) -> PackageList:
    return package_list(plan_of(name), mirrors or Mirrors(), "pip")


def wanted(lines: Mapping[str, str]) -> dict[str, Wanted]:
    """Requirement lines with the place that each is to come from."""
    found: dict[str, Wanted] = {}
    for line, place in lines.items():
        one = Requirement(line)
        found[canonicalize_name(one.name)] = (
            str(one.specifier), frozenset(one.extras), one.url or "", "" if one.url else place,
        )  # fmt: skip
    return found


def of_commands(text: str, program: list[str]) -> Read:
    lines: dict[str, str] = {}
    pages: set[str] = set()
    for command in text.splitlines():
        words = shlex.split(command, comments=True)
        if words and words != ["uv", "venv", *words[2:]]:
            assert words[: len(program)] == program, command
            given = words[len(program) :]
            first = next((place for place, word in enumerate(given) if word.startswith("--")), len(given))
            options = dict(zip(given[first::2], given[first + 1 :: 2], strict=True))
            assert set(options) <= {"--index-url", "--find-links"}
            lines |= dict.fromkeys(given[:first], options.get("--index-url", ""))
            pages |= {options["--find-links"]} if "--find-links" in options else set()
    return wanted(lines), pages


def of_file(lines: list[str]) -> Read:
    options = [line.split(" ") for line in lines if line.startswith("--")]
    [index] = [address for option, address in options if option == "--index-url"] or [""]
    pages = {address for option, address in options if option == "--find-links"}
    return wanted({line: index for line in lines if line and not line.startswith(("#", "--"))}), pages


def of_conda(text: str) -> Read:
    document = yaml.safe_load(text)
    assert document["channels"] == ["conda-forge"]
    python, pip, packages = document["dependencies"]
    assert python.startswith("python=") and pip == "pip"
    return of_file(packages["pip"])


def of_pyproject(text: str) -> Read:
    document = tomllib.loads(text)
    project, uv = document["project"], document["tool"]["uv"]
    indexes = {one.get("name"): one for one in uv.get("index", ())}
    assert all(one.get("explicit") or one.get("default") for one in indexes.values())
    assert project["name"] not in {canonicalize_name(Requirement(line).name) for line in project["dependencies"]}
    sources = uv.get("sources", {})
    lines = {}
    for line in project["dependencies"]:
        name = sources.get(canonicalize_name(Requirement(line).name), {}).get("index")
        lines[line] = indexes[name]["url"] if name else indexes.get(None, {}).get("url", "")
    return wanted(lines), set(uv.get("find-links", ()))


def of_pixi(text: str) -> Read:
    document = tomllib.loads(text)
    options = document.get("pypi-options", {})
    found = {}
    for name, one in document["pypi-dependencies"].items():
        assert set(one) <= {"version", "extras", "index", "url"}
        version = "" if one.get("version", "*") == "*" else one["version"]
        index = "" if one.get("url") else one.get("index") or options.get("index-url", "")
        found[name] = (version, frozenset(one.get("extras", ())), one.get("url", ""), index)
    return found, {one["url"] for one in options.get("find-links", ())}


def of_poetry(text: str) -> Read:
    document = tomllib.loads(text)
    project, poetry = document["project"], document["tool"]["poetry"]
    assert poetry["package-mode"] is False
    sources = {one["name"]: one for one in poetry.get("source", ())}
    assert {one["priority"] for one in sources.values()} <= {"explicit", "primary"}
    default = next((one["url"] for one in sources.values() if one["priority"] == "primary"), "")
    chosen = {canonicalize_name(name): one["source"] for name, one in poetry.get("dependencies", {}).items()}
    lines = {}
    for line in project["dependencies"]:
        name = chosen.get(canonicalize_name(Requirement(line).name))
        lines[line] = sources[name]["url"] if name else default
    return wanted(lines), set()


READERS: dict[str, Callable[[str], Read]] = {
    "pip": lambda text: of_commands(text, ["python", "-m", "pip", "install"]),
    "uv": lambda text: of_commands(text, ["uv", "pip", "install"]),
    "requirements": lambda text: of_file(text.splitlines()),
    "conda": of_conda,
    "pyproject": of_pyproject,
    "poetry": of_poetry,
    "pixi": of_pixi,
}


def test_every_format_has_a_reader_here_and_is_offered() -> None:
    assert set(READERS) == set(formats()) and {"text", "json", *formats()} == set(FORMATS)


@pytest.mark.parametrize("mirrors", [Mirrors(), Mirrors(index_url=MIRROR)], ids=["", "mirror"])
@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("form", READERS)
def test_a_list_asks_for_the_packages_of_the_plan_and_no_other(form: str, name: str, mirrors: Mirrors) -> None:
    packages = packages_of(name, mirrors)
    if form in ("requirements", "conda") and one_file(packages.calls) is None:
        with pytest.raises(EnvkitError, match="different indexes"):
            formatted(packages, form)
        return
    if form == "poetry" and packages.pages:
        with pytest.raises(EnvkitError, match="page of files"):
            formatted(packages, form)
        return
    text = formatted(packages, form)
    assert text.endswith("\n") and text.startswith("# ") and "None" not in text
    expected = wanted({line: index or mirrors.index_url or "" for line, index in packages.requirements})
    pages = {call.find_links for call in packages.calls} - {None}
    assert READERS[form](text) == (expected, pages)


@pytest.mark.parametrize(("form", "told"), [
    ("uv", "uv venv --python 3.10\n"), ("conda", "- python=3.10\n"), ("pyproject", 'requires-python = "==3.10.*"\n'),
    ("poetry", 'requires-python = "==3.10.*"\n'),
    ("pixi", 'python = "3.10.*"\n'), ("pip", "Python 3.10."), ("requirements", "Python 3.10."),
])  # fmt: skip
def test_the_python_of_the_plan_is_in_it(form: str, told: str) -> None:
    assert told in formatted(packages_of("its own index"), form)


def test_poetry_is_told_how_a_source_is_declared() -> None:
    """The default index has 2.5.1 for CUDA 12.4 too, so the file names no source, and the comment says how to."""
    own = formatted(packages_of("its own index"), "poetry")
    assert 'priority = "explicit"' in own and "poetry add --source torch-cu121 torch==2.5.1" in own
    same = formatted(packages_of("the default index"), "poetry")
    assert "poetry source add --priority explicit torch-cu124 https://download.pytorch.org/whl/cu124" in same
    assert "[[tool.poetry.source]]" not in same


def test_the_machines_of_the_plan_are_in_it() -> None:
    for name, marker, platform in (
        ("windows", "sys_platform == 'win32' and platform_machine == 'AMD64'", "win-64"),
        ("another architecture", "sys_platform == 'linux' and platform_machine == 'aarch64'", "linux-aarch64"),
        ("its own index", "sys_platform == 'linux' and platform_machine == 'x86_64'", "linux-64"),
    ):
        assert tomllib.loads(formatted(packages_of(name), "pyproject"))["tool"]["uv"]["environments"] == [marker]
        assert tomllib.loads(formatted(packages_of(name), "pixi"))["workspace"]["platforms"] == [platform]


@pytest.mark.parametrize("form", ["requirements", "conda", "pyproject", "poetry", "pixi"])
@pytest.mark.parametrize("name", ["the default index", "its own index", "extras"])
def test_check_finds_nothing_wrong_in_what_resolve_writes(form: str, name: str, tmp_path: Path) -> None:
    names = {"requirements": "requirements.txt", "conda": "environment.yml", "poetry": "pyproject.toml"}
    file = tmp_path / names.get(form, f"{form}.toml")
    file.write_text(formatted(packages_of(name), form))
    done = envkit("check", str(file), "--gpu", "8.6", "--driver", "580.65.06", "--os", "ubuntu24.04", "--json")
    assert done.returncode == 0, done.stdout
    assert '"project.installs"' in done.stdout or '"project.runs' in done.stdout or '"ok"' in done.stdout


def refused() -> Iterator[tuple[tuple[str, ...], str, str]]:
    """Requests, why no list holds their plans, and what to do."""
    yield ("--framework", "mxnet==1.9.1"), "the libraries of CUDA", "envkit install --framework mxnet==1.9.1"
    yield ("--cuda", "12.4"), "the plan", "envkit install --cuda"
    yield ("--framework", "pytorch", "--container"), "the plan is for an image", "envkit dockerfile"


@pytest.mark.parametrize("form", formats())
@pytest.mark.parametrize(("words", "why", "instead"), list(refused()))
def test_what_is_more_than_packages_is_refused_with_its_command(
    words: tuple[str, ...], why: str, instead: str, form: str, tmp_path: Path
) -> None:
    done = envkit("resolve", *words, "--target", "any", "--format", form, "-o", str(tmp_path / "out"))
    last = done.stderr.splitlines()[-1]
    assert done.returncode == 1 and last.startswith(f"envkit: --format {form}: ") and why in last and instead in last
    assert not list(tmp_path.iterdir())


def test_a_plan_that_does_not_exist_writes_no_file_and_says_why(tmp_path: Path) -> None:
    words = ("--framework", "pytorch==2.4", "--gpu", "GeForce RTX 5090", "--target", "any")
    done = envkit("resolve", *words, "--format", "uv", "-o", str(tmp_path / "out"))
    assert done.returncode == 1 and "No solution" in done.stderr and not list(tmp_path.iterdir())
    assert envkit("resolve", *words, "--format", "pip", "--json").returncode == 2


def test_stdout_holds_the_file_alone() -> None:
    done = envkit("resolve", "--framework", "pytorch", "--target", "any", "--format", "pyproject")
    assert tomllib.loads(done.stdout)["project"]["dependencies"] and "Why these versions" in done.stderr


def uv(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    beside = Path(sys.executable).with_name("uv")
    program = str(beside) if beside.is_file() else shutil.which("uv")
    if program is None:
        pytest.skip("uv is not installed")
    kept = {**os.environ, "UV_CACHE_DIR": str(cwd / "cache"), "UV_PYTHON_DOWNLOADS": "never"}
    return subprocess.run([program, *words], cwd=cwd, env=kept, text=True, capture_output=True, timeout=120)


def for_this_python(text: str) -> str:
    """Which Python a plan takes is not the question here, and uv needs one that is installed."""
    return re.sub(
        r'requires-python = ".*"', f'requires-python = "=={sys.version_info[0]}.{sys.version_info[1]}.*"', text
    )


@pytest.mark.thorough
@pytest.mark.parametrize("name", PLANS)
def test_uv_understands_every_list(name: str, tmp_path: Path) -> None:
    """Without a network it stops at the first package; what it cannot read it refuses before."""
    packages = packages_of(name)
    (tmp_path / "pyproject.toml").write_text(for_this_python(formatted(packages, "pyproject")))
    told = [uv("lock", "--offline", "--python", sys.executable, cwd=tmp_path).stderr]
    for command in formatted(packages, "uv").splitlines():
        words = shlex.split(command, comments=True)
        if words[1:3] == ["pip", "install"]:
            words += ["--dry-run", "--offline", "--python", sys.executable]
            told.append(uv(*words[1:], cwd=tmp_path).stderr)
    for text in told:
        stopped = re.search(
            r"in the cache|there (is|are) no version|network was disabled|connectivity is disabled", text
        )
        assert stopped or "Would install" in text or "Audited" in text, text
        assert "unknown field" not in text and "warning: Failed" not in text, text


@pytest.mark.network
@pytest.mark.parametrize("name", ["the default index", "extras"])
def test_uv_finds_the_plan_at_the_package_index(name: str, tmp_path: Path) -> None:
    packages = packages_of(name)
    (tmp_path / "pyproject.toml").write_text(for_this_python(formatted(packages, "pyproject")))
    done = uv("lock", "--python", sys.executable, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lock = tomllib.loads((tmp_path / "uv.lock").read_text())
    held = {one["name"]: one["version"] for one in lock["package"]}
    pinned = (Requirement(line) for line, _ in packages.requirements)
    for one in pinned:
        assert one.specifier.contains(held[canonicalize_name(one.name)]), one
