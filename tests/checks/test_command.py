"""Words of commands are quoted in one place; what has not its form is left out, with its reason."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from envkit.checks.engine.command import (
    CAPABILITY,
    GROUP,
    NAME,
    NUMBER,
    PATH,
    PCI_ADDRESS,
    PYTHON,
    REQUIREMENT,
    SPEC,
    URL,
    VERSION,
    Form,
    Unfit,
    export,
    fixed,
    for_windows,
    run,
)
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.remedies import FORMS, remedy
from envkit.model import Environment
from envkit.tables.findings import RemedyStep
from envkit.tables.loader import read
from tests.checks.software import matrix
from tests.hostile.payloads import MARK, PAYLOADS, SHELL, STEERING

BASH = shutil.which("bash") or "bash"
STEPS = read(RemedyStep)


@pytest.mark.parametrize(
    ("form", "good"),
    [
        (PATH, ("/usr/bin/gcc-12", "/home/jane doe/it's here", "C:\\Users\\jane\\x", "/srv/ü")),
        (PYTHON, ("python", "/usr/bin/python3.11", "/opt/my env/bin/python", "/usr/libexec/platform-python3.6")),
        (PYTHON, ("C:\\Python312\\python.exe", "/opt/pypy3.10/bin/pypy3")),
        (PCI_ADDRESS, ("0000:65:00.0", "00000000:3B:00.0", "65:00.0", "10000:e1:00.0")),
        (GROUP, ("video", "render", "nvidia_users", "44")),
        (NUMBER, (0, 11, "580")),
        (VERSION, ("580.65.06", "2.6.0+cu124", "1.0rc1")),
        (NAME, ("nvlsm", "jax-cuda12-plugin", "torch")),
        (REQUIREMENT, ("torch==2.6.0+cu124", "jax[cuda12]", "numpy>=1.21,<2", "nvidia-cudnn-cu12==9.*", "torch")),
        (SPEC, ("<12", "<=12.4", "12.4", ">=12,<13")),
        (CAPABILITY, ("12.0", "6.1")),
        (URL, ("https://download.example.org/whl/cu124", "http://localhost:8080/simple/")),
    ],
    ids=lambda value: value.kind if isinstance(value, Form) else None,
)
def test_values_that_have_their_form_are_words(form: Form, good: tuple[object, ...]) -> None:
    assert [form(value) for value in good] == [str(value) for value in good]


@pytest.mark.parametrize("form", [PATH, PYTHON, PCI_ADDRESS, GROUP, NUMBER, VERSION, NAME, REQUIREMENT, SPEC, URL])
def test_what_has_not_its_form_is_refused(form: Form) -> None:
    for wrong in ("", "-rf", "--index-url=x", "a\nb", "\x1b[2J", "x" * 5000, "/a\u202eb", "\udc80"):
        assert isinstance(form(wrong), Unfit)


@pytest.mark.parametrize("form", [PCI_ADDRESS, GROUP, NUMBER, VERSION, NAME, REQUIREMENT, CAPABILITY, PYTHON])
def test_no_payload_is_a_name_or_a_number(form: Form) -> None:
    for payload in PAYLOADS:
        for text in (payload, f"12{payload}", f"{payload}12", f"/usr/bin/python{payload}"):
            word = form(text)
            assert isinstance(word, Unfit) or re.fullmatch(r"[\w./+=~<>!*,:\[\]-]+", word), text


def test_a_number_too_long_to_be_written_is_none() -> None:
    assert isinstance(NUMBER(10**6000), Unfit)


def _read_by_bash(line: str, folder: Path) -> list[str]:
    script = f"f() {{ printf '%s\\0' \"$@\"; }}\nf {line}\n"
    done = subprocess.run(
        [BASH, "--norc", "-c", script],
        capture_output=True,
        check=True,
        cwd=folder,
        env={"PATH": "", "LC_ALL": "C.UTF-8"},
    )
    return [word.decode("utf-8", "surrogateescape") for word in done.stdout.split(b"\0")[:-1]]


def test_bash_reads_the_words_that_were_meant(tmp_path: Path) -> None:
    for payload in SHELL:
        path = "/srv/a" + re.sub(r"[\n\r\t]", "", payload)
        made = run("mv", PATH(path), PATH(f"{path}_mine"), f"A={path}")
        assert made.problem == ""
        assert _read_by_bash(made.line, tmp_path) == ["mv", path, f"{path}_mine", f"A={path}"]
    assert not (tmp_path / MARK).exists()


@pytest.mark.parametrize("payload", STEERING)
def test_what_steers_a_terminal_is_in_no_command(payload: str) -> None:
    for made in (run("mv", PATH(f"/a{payload}")), run("mv", f"/a{payload}"), export("CUDA_HOME", PATH(f"/a{payload}"))):
        assert made.problem and payload not in made.problem and not made.words


def test_half_a_remedy_is_not_given_and_says_why() -> None:
    given = Remedy("Rename it.", (run("cd", "/"), run("mv", PATH("relative"), "/b"), run("ls")))
    assert given.commands == ()
    assert given.summary == (
        "Rename it. No command is given: 'relative' is not an absolute path without special characters."
    )
    assert Remedy("Look.", (run("ls", "/a b"),)).commands == ("ls '/a b'",)


def test_a_blank_that_does_not_fit_says_why() -> None:
    hostile = remedy(Environment(), "Join the group.", "node-group", group="video;reboot")
    assert hostile.commands == ()
    assert hostile.summary == "Join the group. No command is given: 'video;reboot' is not the name of a group."


@pytest.mark.parametrize("step", STEPS, ids=lambda step: f"{step.action}-{step.family}-{step.step}")
def test_every_blank_has_a_form_and_is_outside_quotes_where_it_may_need_them(step: RemedyStep) -> None:
    for blank in re.findall(r"\{([a-z]+)\}", step.command):
        assert blank in FORMS
        if FORMS[blank] in (PATH, PYTHON):
            before = step.command.partition(f"{{{blank}}}")[0]
            assert before.count('"') % 2 == 0 and before.count("'") % 2 == 0, step.command


def test_a_path_that_needs_quotes_has_them_in_a_template(tmp_path: Path) -> None:
    odd = "/opt/my 'cuda' $(:>pwned)"
    [first] = remedy(Environment(), "Do it.", "toolkit-first", root=f"{odd}").commands
    done = subprocess.run(
        [BASH, "--norc", "-c", f'{first}\nprintf %s "$PATH"'],
        capture_output=True, text=True, check=True, cwd=tmp_path, env={"PATH": "/bin"},
    )  # fmt: skip
    assert done.stdout == f"{odd}/bin:/bin"
    assert not (tmp_path / MARK).exists()


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("python", "-m", "pip", "install", "numpy<2"), 'python -m pip install "numpy<2"'),
        (("C:\\Program Files\\Python\\python.exe", "-m", "pip"), '"C:\\Program Files\\Python\\python.exe" -m pip'),
        (("envkit", "resolve", "--cuda", "<=12.4"), 'envkit resolve --cuda "<=12.4"'),
        (("docker", "run", "--gpus", "all", "…"), "docker run --gpus all …"),
    ],
)
def test_windows_has_quotes_of_its_own(words: tuple[str, ...], line: str) -> None:
    assert for_windows(run(*words)).line == line


@pytest.mark.parametrize("word", ["%PATH%", "$(calc)", "a`b", 'a"b', "\u201ca\u201d", "C:\\a b\\", "a|b"])
def test_what_shells_of_windows_read_differently_is_left_out(word: str) -> None:
    assert for_windows(run("python", word)).problem


def test_every_package_and_place_of_the_tables_has_its_form() -> None:
    for framework in matrix().frameworks:
        for build in matrix().builds(framework.name):
            packages = (*([build.package] if build.package else []), *build.companions)
            assert not [each for each in packages if isinstance(REQUIREMENT(each), Unfit)]
            assert not [each for each in (build.index_url, build.find_links) if each and isinstance(URL(each), Unfit)]


def test_what_the_code_spells_out_is_split_as_a_shell_does() -> None:
    assert fixed("python -m pip install 'numpy<2'").words == ("python", "-m", "pip", "install", "numpy<2")
