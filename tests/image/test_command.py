"""The command line: what lands on stdout, what on stderr, and the answers to wrong use."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from envkit.base.errors import EnvkitError, RequestError
from envkit.cli.dockerfile import FORMATS
from envkit.cli.main import envkit
from envkit.cli.options import PlanOptions
from envkit.solver.request import Request
from tests.image.making import froms, hadolint, parsed, run


@pytest.mark.parametrize("framework", ["tensorflow", "pytorch", "mxnet"])
def test_stdout_is_a_dockerfile_and_nothing_else(framework: str, tmp_path: Path) -> None:
    result = run("--framework", framework, "--target", "any")
    assert result.return_value == 0
    assert parsed(result.stdout)
    assert froms(result.stdout)
    file = tmp_path / "Dockerfile"
    file.write_text(result.stdout)
    assert hadolint([file]) == []
    assert "Plan" in result.stderr


def test_this_machine_without_a_gpu_is_the_normal_case() -> None:
    assert run("--framework", "tensorflow").stdout.startswith("# syntax=")


def test_json_is_the_plan() -> None:
    assert run("--framework", "pytorch", "--json", "--target", "any").stdout.startswith("{")


def test_no_plan_gives_no_file(tmp_path: Path) -> None:
    file = tmp_path / "Dockerfile"
    result = run("--framework", "pytorch==1.1", "--gpu", "9.0", "--cuda", "9.0", "--target", "any", "-o", str(file))
    assert result.return_value == 1
    assert not file.exists()
    assert result.stdout == ""


@pytest.mark.parametrize("target", FORMATS)
def test_every_format(target: str) -> None:
    assert run("--framework", "pytorch", "--target", "any", "--format", target).stdout


def test_dockerignore_goes_with_it() -> None:
    assert run("--framework", "pytorch", "--target", "any", "--dockerignore").stdout.endswith("*\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--smoke"],
        ["--tag", "x"],
        ["--base", "x", "--slim"],
        ["--base", "x", "--digest"],
        ["--slim", "--from", "official"],
        ["--build", "--format", "compose"],
        ["--workdir", "relative"],
        ["--user", "Bad Name"],
        ["--apt", "git; rm -rf /"],
        ["--pip", "x$(id)"],
        ["--pip", "x==1\n--index-url=http://192.0.2.1/"],
        ["--pip", "x==1\u202e"],
        ["--entrypoint", "python 'a\nb'"],
        ["--base", "a b"],
        ["--requirements", "a b.txt"],
        ["--requirements", "/etc/passwd"],
        ["--requirements", "../x.txt"],
        ["--requirements", "a/../../x.txt"],
        ["--lock", "/tmp/x.lock"],
        ["--user", "root"],
        ["--entrypoint", 'python -c "print(1)'],
        ["--entrypoint", "  "],
        ["--check", "Dockerfile", "--build"],
        ["--check", "Dockerfile", "--jupyter"],
        ["--check", "Dockerfile", "--user", "bob"],
        ["--check", "Dockerfile", "--format", "compose"],
    ],
)
def test_wrong_use_is_named(arguments: list[str]) -> None:
    with pytest.raises(RequestError):
        run("--framework", "pytorch", "--target", "any", *arguments)


def test_check_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "Dockerfile"
    file.write_text("FROM nvidia/cuda:10.0-base-ubuntu18.04\n")
    result = run("--check", str(file), "--target", "any")
    assert result.return_value == 1
    assert "was deleted" in result.stdout
    file.write_text("FROM nvidia/cuda:12.9.1-base-ubuntu24.04\n")
    assert run("--check", str(file), "--target", "any").return_value == 0
    assert run("--check", str(file), "--target", "any", "--json").stdout.startswith("{")


def test_check_of_what_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(EnvkitError, match="cannot read"):
        run("--check", str(tmp_path / "none"), "--target", "any")
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(EnvkitError, match="not text"):
        run("--check", str(binary), "--target", "any")
    for encoding in ("utf-16", "utf-32"):  # as the > of PowerShell writes it; Docker refuses its first word
        binary.write_bytes("FROM python:3.12\n".encode(encoding))
        with pytest.raises(EnvkitError, match=rf"is {encoding.upper()} text, which Docker cannot read. Save it as"):
            run("--check", str(binary), "--target", "any")
    binary.write_bytes("FROM python:3.12\n".encode("utf-8-sig"))
    assert run("--check", str(binary), "--target", "any").stdout
    binary.write_bytes(b"FROM python:3.12\n" + b"#" * 1_000_000)
    with pytest.raises(EnvkitError, match="larger than 1 MB"):
        run("--check", str(binary), "--target", "any")


@pytest.mark.parametrize("comment", ["# für Größe".encode("latin-1"), b"# \xe9\xff\xfe", "# 说明".encode("gb18030")])
def test_a_comment_that_is_not_utf_8_is_read_over(comment: bytes, tmp_path: Path) -> None:
    file = tmp_path / "Dockerfile"
    file.write_bytes(
        b"FROM nvidia/cuda:12.9.1-base-ubuntu24.04\n" + comment + b"\nRUN echo \\\n" + comment + b"\n  b\n"
    )
    assert run("--check", str(file), "--target", "any").return_value == 0
    file.write_bytes(comment + b"\nFROM nvidia/cuda:10.0-base-ubuntu18.04\n")
    result = run("--check", str(file), "--target", "any")
    assert result.return_value == 1 and "line 2: " in result.stdout
    piped = CliRunner().invoke(envkit, ["dockerfile", "--check", "-"], input=file.read_bytes(), standalone_mode=False)
    assert piped.return_value == 1 and "line 2: " in piped.stdout


def test_a_check_is_for_no_machine_unless_one_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a Dockerfile is worth does not change with the machine that asks."""
    file = tmp_path / "Dockerfile"
    file.write_text("FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\n")
    asked: list[str] = []

    def noted(options: PlanOptions, matrix: object, **more: object) -> Request:
        asked.append(options.target)
        return Request(container=True)

    monkeypatch.setattr("envkit.cli.dockerfile.request_from", noted)
    run("--check", str(file))
    run("--check", str(file), "--target", "this")
    run("--check", str(file), "--target", "any")
    assert asked == ["any", "this", "any"]


@pytest.mark.parametrize(
    ("text", "status", "code", "words"),
    [
        ("FROM nvidia/cuda:10.0-base-ubuntu18.04\n", "fail", 1, "1 error"),
        ("FROM nvidia/cuda:12.9.1-base-ubuntu24.04\n", "ok", 0, "0 errors"),
        ("FROM python:3.12\nRUN pip install requests\n", "ok", 0, "No errors found."),
        ("FROM alpine\n", "ok", 0, "No errors found."),
        ("FROM registry.example.com/team/base:1\n", "unknown", 1, "Nothing in this file could be checked"),
        (
            "FROM registry.example.com/team/base:1\nRUN pip install tensorflow==2.13.0\n",
            "unknown",
            1,
            "could be checked",
        ),
        ("FROM example.org/mine:1\n", "unknown", 1, "0 errors, 1 unknown"),
        ("FROM python:3.12\nCOPY . .\nRUN pip install -r none.txt\n", "unknown", 1, "0 errors, 1 unknown"),
        (
            "FROM nvidia/cuda:12.9.1-base-ubuntu22.04\nCOPY . .\n"
            "RUN apt-get install -y python3-pip; pip install -r none.txt\n",
            "ok",
            0,
            "No errors in what could be checked.",
        ),
        ("FROM nvidia/cuda:11.1.1-base-ubuntu20.04\n", "warn", 0, "No errors."),
    ],
)
def test_the_verdict_says_whether_anything_could_be_judged(
    text: str, status: str, code: int, words: str, tmp_path: Path
) -> None:
    file = tmp_path / "Dockerfile"
    file.write_text(text)
    told = run("--check", str(file), "--target", "any")
    assert told.return_value == code and words in " ".join(told.stdout.split())  # a long path wraps its line
    document = json.loads(run("--check", str(file), "--target", "any", "--json").stdout)
    assert document["verdict"]["status"] == status and document["tool"]["name"] == "envkit"
    first = document["findings"][0]["id"] if status in ("fail", "warn") else None
    assert document["verdict"]["id"] == first


def test_a_generated_dockerfile_passes_its_own_check(tmp_path: Path) -> None:
    for framework in ("tensorflow", "pytorch", "jax", "cupy"):
        file = tmp_path / framework
        run("--framework", framework, "--target", "any", "-o", str(file))
        assert run("--check", str(file), "--target", "any").return_value == 0


def test_half_a_command_is_named() -> None:
    with pytest.raises(RequestError, match="--entrypoint: .*no closing quotation"):
        run("--framework", "pytorch", "--target", "any", "--entrypoint", "sh -c 'x")


def test_no_digest_says_what_to_do() -> None:
    told = run("--framework", "pytorch", "--target", "any", "--digest").stderr
    assert "no digest of nvidia/cuda:" in told and "docker buildx imagetools inspect" in told
    official = run("--framework", "pytorch==2.5.1", "--target", "any", "--digest", "--from", "official").stderr
    assert "no digest of pytorch/pytorch:" in official


_LOGIN = "https://bob:Sup3rS3cret@mirror.lan"
_WITH_LOGINS = [
    ("--index-url", f"{_LOGIN}/simple"),
    ("--index-url", "https://Sup3rS3cret@mirror.lan/simple"),
    ("--index-url", "https://bob:a/Sup3rS3cret@mirror.lan/simple"),
    ("--mirror", f"developer.download.nvidia.com={_LOGIN}/nvidia"),
    ("--mirror", f"apt={_LOGIN}/debian"),
    ("--mirror", f"yum={_LOGIN}/rocky"),
    ("--pip", "mine @ git+https://Sup3rS3cret@git.lan/mine"),
]


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("options", _WITH_LOGINS, ids=" ".join)
def test_a_password_in_an_address_is_in_no_file(options: tuple[str, ...], form: str, tmp_path: Path) -> None:
    """The file is committed, and the layers of an image keep what its steps were given."""
    if form in ("conda", "requirements") and options[1].startswith(("apt=", "yum=")):
        pytest.skip("such a file asks no mirror of a distribution")
    words = ("--framework", "pytorch", "--target", "any", "--format", form, *options)
    with pytest.raises(RequestError, match="password would be readable") as refused:
        run(*words, "-o", str(tmp_path / "file"))
    assert "Sup3rS3cret" not in f"{refused.value} {refused.value.hint}" and "type=secret" in refused.value.hint
    assert not (tmp_path / "file").exists()


def test_nor_is_one_of_the_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tmp_path / "envkit.toml"
    config.write_text(f'[mirrors]\nindex-url = "{_LOGIN}/simple"\napt = "{_LOGIN}/debian"\n')
    monkeypatch.setenv("ENVKIT_CONFIG", str(config))
    with pytest.raises(RequestError, match="password would be readable"):
        run("--framework", "pytorch", "--target", "any")


@pytest.mark.parametrize("address", ["https://mirror.lan:8080/a@b/simple", "https://[::1]:8080/a@b", "https://m.lan/x"])
def test_an_address_without_one_is_taken(address: str) -> None:
    assert address in run("--framework", "pytorch", "--target", "any", "--index-url", address).stdout
