"""A stranger's project files: nothing is waited for, no work is endless, no login or token is reported."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from envkit.base.errors import LimitError
from envkit.cli.boundary import exit_code
from envkit.host.limits import limited
from envkit.project.read import KINDS
from tests.processor_time import least_seconds
from tests.security.limits import envkit_measured

SECRET = "S3cr3tX99zyq"
LOGIN = f"https://bob:{SECRET}@mirror.example.org"
WHEEL = f"{LOGIN}/torch-2.6.0-cp312-cp312-linux_x86_64.whl"
FOR = ("--target", "any", "--os", "ubuntu22.04", "--python", "3.12", "--driver", "450.80.02", "--gpu", "12.0")
# One file of each kind whose every address holds a login.
SIGNED = {
    "requirements.txt": f"--index-url {LOGIN}/simple\n--extra-index-url {LOGIN}\ntorch @ {WHEEL}\n-r {LOGIN}/r.txt\n"
    f"-c {LOGIN}/c.txt\n-e git+{LOGIN}/x.git\ngit+{LOGIN}/x.git#egg=flash-attn\nthis is none {LOGIN}\njax==0.4\n",
    "pyproject.toml": f'[project]\nname = "x"\nversion = "1"\ndependencies = ["torch @ {WHEEL}", "jax", "{LOGIN}"]\n'
    f'[[tool.uv.index]]\nname = "p"\nurl = "{LOGIN}/whl/cu118"\n[tool.uv.sources]\njax = {{ index = "p" }}\n'
    f'[[tool.poetry.source]]\nname = "q"\nurl = "{LOGIN}"\n[tool.poetry.dependencies]\n'
    f'tensorflow = {{ url = "{WHEEL}" }}\n',
    "environment.yml": f"channels:\n  - {LOGIN}/x\n  - https://conda.anaconda.org/t/{SECRET}/acme\ndependencies:\n"
    f"  - {LOGIN}::pytorch=2.5\n  - pip:\n    - --index-url {LOGIN}\n    - torch @ {WHEEL}\n",
    "setup.py": f"from setuptools import setup\nsetup(install_requires=['torch @ {WHEEL}', '{LOGIN}'])\n",
    "setup.cfg": f"[options]\ninstall_requires =\n  torch @ {WHEEL}\n  {LOGIN}\n",
    "uv.lock": f'version = 1\n[[package]]\nname = "torch"\nversion = "2.6.0"\nsource = {{ registry = "{LOGIN}" }}\n'
    f'wheels = [{{ url = "{WHEEL}" }}]\n[[package]]\nname = "jax"\nversion = "0.6"\nsource = {{ git = "{LOGIN}" }}\n',
    "poetry.lock": f'[[package]]\nname = "torch"\nversion = "2.6.0"\n[package.source]\ntype = "url"\nurl = "{WHEEL}"\n',
    "pdm.lock": f'[[package]]\nname = "torch"\nversion = "2.6.0"\nurl = "{WHEEL}"\nfiles = [{{ url = "{WHEEL}" }}]\n',
    "pylock.toml": f'lock-version = "1.0"\n[[packages]]\nname = "torch"\nversion = "2.6.0"\nindex = "{LOGIN}"\n'
    f'[[packages]]\nname = "jax"\narchive = {{ url = "{WHEEL}" }}\n',
    "Pipfile": f'[[source]]\nurl = "{LOGIN}"\nname = "x"\n[packages]\ntorch = {{ file = "{WHEEL}" }}\n'
    f'jax = {{ git = "{LOGIN}" }}\n',
    "Pipfile.lock": f'{{"_meta": {{"sources": [{{"name": "x", "url": "{LOGIN}"}}]}}, "default": {{"torch":\n'
    f'{{"version": "==2.6.0", "index": "x"}}, "jax": {{"file": "{WHEEL}"}}}}}}\n',
    "pixi.toml": f'[workspace]\nchannels = ["{LOGIN}"]\nplatforms = ["linux-64"]\n[dependencies]\n'
    f'pytorch = {{ version = "2.5", channel = "{LOGIN}" }}\n[pypi-dependencies]\ntorch = {{ url = "{WHEEL}" }}\n',
    "pixi.lock": f"version: 6\nenvironments:\n  default:\n    channels:\n    - url: {LOGIN}\n    packages:\n"
    f"      linux-64:\n      - pypi: {WHEEL}\npackages:\n- pypi: {WHEEL}\n  name: torch\n  version: 2.6.0\n",
    "conda-lock.yml": f"package:\n- name: torch\n  version: 2.6.0\n  manager: pip\n"
    f"  platform: linux-64\n  url: {WHEEL}\n",
    "Dockerfile": f"FROM ubuntu:22.04\nENV PIP_INDEX_URL={LOGIN} HF_TOKEN={SECRET}\nRUN pip install torch==2.6.0\n"
    f"RUN pip install '{WHEEL}' git+{LOGIN}/x.git && curl -H 'Authorization: Bearer {SECRET}' {LOGIN} | sh\n",
}


def test_a_file_of_every_kind_stands_here() -> None:
    from envkit.project.read import kind_of

    assert {kind_of(name) for name in SIGNED} == set(KINDS)


@pytest.mark.parametrize("options", [(), ("--json",), ("--fix",)], ids=str)
@pytest.mark.parametrize("name", SIGNED)
def test_no_login_of_an_address_is_reported(
    name: str, options: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_text(SIGNED[name])
    assert exit_code(["check", str(tmp_path / name), *FOR, *options]) in (0, 1)
    told = capsys.readouterr()
    assert name in told.out + told.err and SECRET not in told.out + told.err


def test_the_words_of_an_error_hold_no_secret(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["check", f"{LOGIN}/x.txt"], ["doctor", "--from", f"{LOGIN}/x"], ["explain", LOGIN], [LOGIN]):
        assert exit_code(words) in (1, 2)
        told = capsys.readouterr()
        assert told.err and SECRET not in told.err


@pytest.mark.parametrize(
    "words", [("check",), ("dockerfile", "--check"), ("doctor", "--from"), ("recommend", "--prices")], ids=" ".join
)
def test_a_pipe_or_a_device_is_not_opened(
    words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo(tmp_path / "requirements.txt")
    (tmp_path / "Dockerfile").symlink_to("/dev/zero")
    for name in ("requirements.txt", "Dockerfile"):
        assert exit_code([*words, str(tmp_path / name)]) == 1
        assert "it is a pipe, a device, or a socket" in capsys.readouterr().err


def test_what_a_file_includes_is_small_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / "pipe")
    os.truncate(os.open(tmp_path / "big", os.O_CREAT | os.O_WRONLY), 1 << 40)
    (tmp_path / "zero").symlink_to("/dev/zero")
    (tmp_path / "binary").write_bytes(b"torch==2.6.0\0")
    file = tmp_path / "requirements.txt"
    names = ("pipe", "big", "zero", "binary", "../x", "/etc/passwd", "/proc/self/environ")
    file.write_text("".join(f"-r {name}\n-c {name}\n" for name in names) + f"torch==2.6.0\n{'9' * 90_000}\n")
    assert exit_code(["check", str(file), *FOR]) == 1
    told = capsys.readouterr().out
    assert all(f"-r {name} could not be read" in told for name in names) and len(told) < 10_000


def test_what_a_file_names_often_is_read_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A thousand lines of constraints that a thousand lines name are no million lines."""
    (tmp_path / "c.txt").write_text("-c c.txt\n" * 9_000 + "torch==2.6.0\n")
    file = tmp_path / "requirements.txt"
    file.write_text("-c c.txt\n-r c.txt\n-c ./c.txt\n" * 9_000 + "torch\n")
    assert least_seconds(lambda: exit_code(["check", str(file), *FOR]), 3, tries=2) < 3
    assert "sm_120" in capsys.readouterr().out
    file.write_text("".join(f"-c c{index}.txt\n" for index in range(60)))
    assert exit_code(["check", str(file), *FOR]) == 1
    assert "more than 50 files are included" in capsys.readouterr().err


# Small texts that ask for endless work: each is refused in one line, whoever reads it.
ENDLESS = {
    "Dockerfile": "FROM ubuntu\n" + "ARG A=$A$A\n" * 3000 + "RUN pip install torch==$A\n",
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", ENDLESS)
def test_a_text_that_asks_for_endless_work_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(ENDLESS[name])
    done = envkit_measured("check", str(tmp_path / name), *FOR)
    assert done.exit_code == 2 and done.output.count("\n") <= 1 and "reading it takes over" in done.output
    assert done.megabytes < 330 and done.seconds < 40  # six of the processor's, of which others take their part


@pytest.mark.thorough
@pytest.mark.parametrize("options", [(), ("--json",), ("--fix",)], ids=str)
def test_telling_of_thousands_of_findings_is_limited_too(options: tuple[str, ...], tmp_path: Path) -> None:
    file = tmp_path / "requirements.txt"
    file.write_text("".join(f"no requirement {number}\n" for number in range(30_000)))
    done = envkit_measured("check", str(file), *FOR, *options)
    assert done.exit_code in (1, 2) and done.megabytes < 330 and done.processor_seconds < 8


def test_a_list_that_is_its_own_sum_ends(tmp_path: Path) -> None:
    (tmp_path / "setup.py").write_text("a = ['torch']\n" + "a = a + a\n" * 400 + "setup(install_requires=a)\n")
    done = envkit_measured("check", str(tmp_path / "setup.py"), *FOR)
    assert done.exit_code == 1 and "Nothing in this file could be checked" in done.output


@pytest.fixture
def no_callbacks() -> Iterator[None]:
    """Without what other tests hang on the garbage collector: what is raised there is lost, and a warning."""
    kept = gc.callbacks[:]
    gc.callbacks.clear()
    yield
    gc.callbacks.extend(kept)


@pytest.mark.usefixtures("no_callbacks")
def test_work_beyond_its_limits_is_ended() -> None:
    def swallowed() -> None:
        while True:
            with suppress(Exception):  # as a reader does that goes on after any error
                sum(range(1000))

    with pytest.raises(LimitError, match=r"^it: reading it takes over 0\.05 s"), limited("it", 0.05):
        swallowed()
    with pytest.raises(LimitError, match="50 MiB"), limited("it", memory=50 << 20):
        bytearray(1 << 40)
    with pytest.raises(LimitError, match="50 MiB"), limited("it", memory=50 << 20):
        many: list[object] = []
        while True:
            many.append([many])
