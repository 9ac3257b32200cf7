"""Requirements are read as pip (PEP 440) and conda read them, and lead to the build that they would take."""

from __future__ import annotations

from pathlib import Path

import pytest

from envkit.base.markers import holds
from envkit.base.versions import Version
from envkit.checks.engine.findings import Finding, Status
from envkit.dockerfile.check import check_dockerfile
from envkit.dockerfile.contents import contents
from envkit.dockerfile.copies import Copies
from envkit.dockerfile.packages import ListFile, Package, installed
from envkit.dockerfile.requirement_lists import Lists, nothing_beside
from envkit.dockerfile.specifiers import Release, Wish
from envkit.dockerfile.stages import read_stages
from envkit.dockerfile.wanted import Problem, chosen_build
from envkit.solver.request import Request
from envkit.tables import Matrix
from tests.image.making import run


@pytest.mark.parametrize(
    ("spec", "tool", "release", "taken"),
    [
        ("==2.12", "pip", "2.12.0", True),
        ("==2.12", "pip", "2.12.1", False),
        ("==2.12.*", "pip", "2.12.1", True),
        ("==2.12.0", "pip", "2.12", True),
        ("===2.12.0", "pip", "2.12.0", True),
        ("==2.7", "pip", "2.7.post2", False),
        ("==2.7.post2", "pip", "2.7.post2", True),
        ("==2.7.*", "pip", "2.7.post2", True),
        ("==1.9.0", "pip", "1.9.0+cu111", True),
        ("==1.9.0+cu111", "pip", "1.9.0", False),
        ("~=2.12", "pip", "2.15.0", True),
        ("~=2.12", "pip", "3.0.0", False),
        ("~=2.12.1", "pip", "2.12.0", False),
        ("~=2.12.1", "pip", "2.12.3", True),
        (">2.7", "pip", "2.7.post2", False),
        (">2.7", "pip", "2.7.1", True),
        ("<2.12", "pip", "2.12.0", False),
        ("<=2.12", "pip", "2.12.1", False),
        ("!=2.12.0,>=2.11", "pip", "2.12.0", False),
        ("!=2.12.*,>=2.11", "pip", "2.12.1", False),
        ("", "pip", "2.12.1", True),
        ("=2.1", "conda", "2.1.2", True),
        ("=2.1.0", "conda", "2.1.0", True),
        ("=2.1.0", "conda", "2.1.1", False),
        ("==2.1", "conda", "2.1.2", False),
        ("2.1.*", "conda", "2.1.2", True),
        ("=2.1.0=py3.10_cuda12.1_cudnn8.9.2_0", "conda", "2.1.0", True),
        (">=2.1,<2.3", "conda", "2.2.0", True),
    ],
)
def test_a_requirement_holds_for_what_its_tool_would_take(spec: str, tool: str, release: str, taken: bool) -> None:
    assert Wish.parse(spec, tool).holds(Release.parse(release)) is taken


@pytest.mark.parametrize("spec", ["==2.13.0rc1", "==abc", "@https://x"])
def test_what_cannot_be_read_is_refused(spec: str) -> None:
    with pytest.raises(ValueError, match="not a"):
        Wish.parse(spec, "pip")


@pytest.mark.parametrize(
    ("command", "package"),
    [
        ("pip install tensorflow-gpu==1.15", "tensorflow-gpu==1.15.0"),
        ("pip install 'tensorflow-gpu==1.15.*'", "tensorflow-gpu==1.15.5"),
        ("pip install tensorflow==2.12", "tensorflow==2.12.0"),
        ("pip install tensorflow~=2.12.0", "tensorflow==2.12.1"),
        ("pip install 'tensorflow>=2.10,<2.13'", "tensorflow==2.12.1"),
        ("pip install 'tensorflow[and-cuda]==2.15.0.post1'", "tensorflow[and-cuda]==2.15.0.post1"),
        ("pip install 'tensorflow[and-cuda]==2.15.0'", "tensorflow[and-cuda]==2.15.0"),
        ("pip install torch==1.9.0+cu111 -f https://download.pytorch.org/whl/torch_stable.html", "torch==1.9.0+cu111"),
        ("pip install torch==1.9.0", "torch==1.9.0"),
        (
            "pip install 'jax[cuda11_pip]==0.4.25' -f https://storage.googleapis.com/jax-releases/jax_cuda_releases.html",
            "jax[cuda11_pip]==0.4.25",
        ),
        ("pip install cntk-gpu==2.7", "cntk-gpu==2.7"),
        ("pip install cntk-gpu==2.7.post2", "cntk-gpu==2.7.post2"),
        ("pip install chainer==7.8.1 cupy-cuda102==7.8.0", "chainer==7.8.1"),
        ("if true; then python3 -m pip install torch==1.9.0; fi", "torch==1.9.0"),
    ],
)
def test_the_build_is_the_one_that_pip_takes(command: str, package: str, matrix: Matrix) -> None:
    found = contents(read_stages(f"FROM registry.example.com/base:1\nRUN {command}\n"), matrix)
    build = chosen_build(found.wanted[0], found, matrix)
    assert not isinstance(build, Problem), build
    assert build.package == package


def test_the_package_next_to_it_tells_chainers_cuda(matrix: Matrix) -> None:
    text = "FROM ubuntu:20.04\nRUN pip install chainer==7.8.1 cupy-cuda102==7.8.0\n"
    found = contents(read_stages(text), matrix)
    build = chosen_build(found.wanted[0], found, matrix)
    assert not isinstance(build, Problem)
    assert str(build.cuda) == "10.2"


def test_an_extra_index_wins_a_tie_and_never_a_newer_release(matrix: Matrix) -> None:
    line = "RUN pip install torch{} --extra-index-url https://download.pytorch.org/whl/{}\n"
    for spec, index, cuda in [("==2.2.2", "cu118", "11.8"), ("==2.5.1", "cu117", "12.4")]:
        found = contents(read_stages("FROM ubuntu:22.04\n" + line.format(spec, index)), matrix)
        build = chosen_build(found.wanted[0], found, matrix)
        assert not isinstance(build, Problem)
        assert str(build.cuda) == cuda


def test_words_of_commands_are_told_apart() -> None:
    script = (
        "apt-get install -y python3 && pip install -U 'torch>=2,<3' -c limits.txt -r more.txt # tensorflow==1.0\n"
        "conda run -n work pip install jax[cuda12]==0.4.30; conda install -c nvidia -n work pytorch=2.1.0 \n"
        "pip uninstall -y mxnet && bash -lc 'pip install cupy-cuda12x'"
    )
    stages = read_stages(f"FROM a\nRUN <<END\n{script}\nEND\n")
    found = list(installed(stages[0].instructions[0].commands, Lists(Copies(stages), 0, 2, nothing_beside)))
    packages = [(item.tool, item.name, item.extras, item.spec) for item in found if isinstance(item, Package)]
    assert packages == [
        ("pip", "torch", (), ">=2,<3"),
        ("pip", "jax", ("cuda12",), "==0.4.30"),
        ("conda", "pytorch", (), "=2.1.0"),
        ("pip", "cupy-cuda12x", (), ""),
    ]
    assert [item.name for item in found if isinstance(item, ListFile)] == ["more.txt", "limits.txt"]
    assert [item.line for item in found] == [3, 3, 3, 4, 4, 5]


@pytest.mark.parametrize(
    ("command", "unread"),
    [
        ("pip install .", "."),
        ('pip install -e ".[gpu]"', ".[gpu]"),
        ("pip install -rmore.txt", "more.txt"),
        ("uv sync --frozen --extra gpu", "uv sync"),
        ("uv pip sync more.txt", "more.txt"),
        ("uv pip install -r pyproject.toml", "pyproject.toml"),
        ("poetry install --no-root --only main", "poetry install"),
        ("pipenv install --system --deploy", "pipenv install"),
        ("pdm sync", "pdm sync"),
        ("pip install $PACKAGES", "$PACKAGES"),
        ("pip install $(cat more.txt)", "$(…)"),
        ("cat more.txt | xargs pip install", "xargs pip"),
        ("pip install /wheels/*.whl", "/wheels/*.whl"),
        ("pip install git+https://example.com/torch.git", "git+https://example.com/torch.git"),
        ("python3 setup.py install", "setup.py"),
        ("conda install -f more.yml", "more.yml"),
    ],
)
def test_what_cannot_be_looked_at_is_named(command: str, unread: str, matrix: Matrix) -> None:
    finding = only(f"FROM python:3.11\nCOPY . .\nRUN pip install poetry uv && {command}\n", matrix)
    assert (finding.id, finding.status) == ("image.list-unread", Status.UNKNOWN)
    assert finding.subject == f"line 3: {unread}"


@pytest.mark.parametrize(
    "command",
    ["pip install requests > /dev/null", "pip install requests 2>/tmp/log", "pip list", "pipenv install requests"],
)
def test_nothing_is_missed_where_all_is_reported(command: str, matrix: Matrix) -> None:
    findings = check_dockerfile(f"FROM python:3.11\nRUN {command}\n", Request(container=True), matrix)
    assert all(one.status is Status.OK for one in findings)


@pytest.mark.parametrize(
    "requirement", ["torch==${V}", "torch==$V+cu118", "'torch>=${V},<3'", "jax[cuda12]==${V}", "${FRAMEWORK}"]
)
def test_a_variable_without_a_value_is_no_version(requirement: str, matrix: Matrix) -> None:
    findings = check_dockerfile(f"FROM python:3.11\nARG V\nRUN pip install {requirement}\n", REQUEST, matrix)
    told = [(one.id, one.status) for one in findings if one.status is not Status.OK]
    assert told[-1][1] is Status.UNKNOWN
    assert {id for id, _ in told[:-1]} <= {"image.argument-missing"}


HASHED = "https://mirror.example/packages/aa/bb/" + "0" * 60
WHEELS = [
    # the wheel itself says for which Python it is, whatever else there is of that release
    ("https://example.com/whl/cu121/torch-2.1.0%2Bcu121-cp310-cp310-linux_x86_64.whl", "3.10", set()),
    (
        "https://example.com/whl/cu121/torch-2.1.0%2Bcu121-cp310-cp310-linux_x86_64.whl",
        "3.11",
        {"image.python-without-package"},
    ),
    (
        "torch @ https://example.com/whl/cu118/torch-2.0.0%2Bcu118-cp39-cp39-linux_x86_64.whl",
        "3.10",
        {"image.python-without-package"},
    ),
    (
        "torch @ https://example.com/whl/cu113/torch-2.0.0%2Bcu113-cp310-cp310-linux_x86_64.whl",
        "3.10",
        {"image.framework-version"},
    ),
    ("https://example.com/whl/cu92/torch-1.2.0-cp36-cp36m-manylinux1_x86_64.whl", "3.6", set()),
    (
        f"{HASHED}/tensorflow-2.13.0-cp310-cp310-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
        "3.10",
        set(),  # without CUDA it runs on the CPU
    ),
    ("./flash_attn-2.5.8+cu122torch2.3-cp310-cp310-linux_x86_64.whl", "3.12", {"image.python-without-package"}),
    ("./some_tool-1.0-py3-none-any.whl", "3.12", set()),
    ("./some_tool-1.0-cp37-abi3-manylinux2014_x86_64.whl", "3.12", set()),
    ("./some_tool-1.0-py2-none-any.whl", "3.12", {"image.python-without-package"}),
]


@pytest.mark.parametrize(("requirement", "python", "wrong"), WHEELS)
def test_the_name_of_a_wheel_says_what_it_is(requirement: str, python: str, wrong: set[str], matrix: Matrix) -> None:
    text = f'FROM python:{python}\nRUN pip install "numpy<2" "{requirement}"\n'
    findings = check_dockerfile(text, Request(container=True), matrix)
    assert {finding.id for finding in findings if finding.status in (Status.FAIL, Status.UNKNOWN)} == wrong


def test_a_suffix_that_the_only_index_does_not_hold_is_wrong(matrix: Matrix) -> None:
    for places, wrong in [
        ("--index-url https://download.pytorch.org/whl/cu121", True),
        ("--extra-index-url https://download.pytorch.org/whl/cu121", True),
        ("--extra-index-url https://download.pytorch.org/whl/cu118", False),
        ("--index-url https://example.com/simple", False),
        ("-f https://download.pytorch.org/whl/torch_stable.html", False),
    ]:
        text = f'FROM python:3.10\nRUN pip install torch==2.1.0+cu118 "numpy<2" {places}\n'
        findings = check_dockerfile(text, Request(container=True), matrix)
        assert [finding.id for finding in findings if finding.status is Status.FAIL] == (
            ["image.framework-version"] if wrong else []
        ), places


@pytest.mark.parametrize("places", ["", " -f https://download.pytorch.org/whl/cu102/torch_stable.html"])
def test_a_page_of_files_is_no_index(places: str, matrix: Matrix) -> None:
    text = f'FROM python:3.8\nRUN pip install torch==1.8.1+cu111 "numpy<1.24"{places}\n'
    findings = check_dockerfile(text, Request(container=True), matrix)
    (wrong,) = (finding for finding in findings if finding.status is Status.FAIL)
    assert wrong.remedy is not None
    assert " -f https://download.pytorch.org/whl/torch_stable.html" in wrong.remedy.summary


def test_a_constraints_file_that_cannot_be_read_leaves_the_version_open(matrix: Matrix) -> None:
    text = "FROM python:3.7\nRUN pip install torch{} -c https://example.com/constraints.txt\n"
    for spec in ("", ">=2.0", "<2.4"):
        findings = check_dockerfile(text.format(f'"{spec}"'), Request(container=True), matrix)
        assert {one.status for one in findings} <= {Status.OK, Status.UNKNOWN}, spec
    findings = check_dockerfile(text.format("==2.0.1"), Request(container=True), matrix)
    assert "image.python-without-package" in {one.id for one in findings if one.status is Status.FAIL}


def test_the_fix_of_a_cpu_index_in_env_is_to_drop_it(matrix: Matrix) -> None:
    install = "RUN apt-get install -y python3-pip; pip install torch==2.4.1 'numpy<2'"
    index = "https://download.pytorch.org/whl/cpu"
    start = f"FROM {CUDA_12}\n"
    finding = only(f"{start}ENV PIP_INDEX_URL={index}\n{install}\n", matrix)
    assert finding.id == "image.cpu-build"
    assert finding.remedy is not None
    assert finding.remedy.summary.startswith("Remove the CPU index setting")
    finding = only(f"{start}{install} --index-url {index}\n", matrix)
    assert finding.remedy is not None
    assert "Drop" not in finding.remedy.summary


@pytest.mark.parametrize(
    "marker", ["platform_release >= '4'", "platform_version != ''", "implementation_version > '1'"]
)
def test_a_marker_of_the_machine_that_builds_is_not_judged_by_this_one(marker: str) -> None:
    assert holds(marker, Version.parse("3.12"), "x86_64") is None


@pytest.mark.parametrize(
    "image",
    ["rockylinux:9", "rockylinux/rockylinux:9", "almalinux:9", "oraclelinux:9", "amazonlinux:2023", "fedora:41"]
    + ["centos:7", "opensuse/leap:15.6", "debian:12", "ubuntu:22.04"],
)
def test_a_plain_distribution_holds_no_cuda(image: str, matrix: Matrix) -> None:
    assert contents(read_stages(f"FROM {image}\n"), matrix).base.plain


@pytest.mark.parametrize(
    "text",
    [
        "FROM continuumio/miniconda3:4.10.3-alpine\nRUN pip install torch==2.0.1\n",
        "FROM frolvlad/alpine-glibc:alpine-3.20\nRUN pip install torch==2.0.1\n",
        "FROM python:3.11-alpine\nRUN apk add glibc-2.35-r1.apk && pip install torch==2.0.1\n",
    ],
)
def test_alpine_with_glibc_is_not_reported_to_have_none(text: str, matrix: Matrix) -> None:
    findings = check_dockerfile(text, Request(container=True), matrix)
    assert [one.status for one in findings if one.id == "image.glibc-missing"] == [Status.UNKNOWN]


def test_what_is_unread_has_a_name_in_the_title(matrix: Matrix) -> None:
    for command, name in (("pip install .", "the project in ."), ("pip install -r", "a file without a name")):
        assert name in only(f"FROM python:3.11\nRUN {command}\n", matrix).title


LISTS = {
    "requirements.txt": (
        "# the frameworks\n--index-url https://download.pytorch.org/whl/cu121\n"
        "torch==2.1.0+cu121 \\\n    --hash=sha256:00 # pinned\nonnxruntime-gpu==1.18.0; sys_platform == 'win32'\n"
    ),
    "all.txt": "-r more/base.txt\ntorch==2.1.0\n",
    "more/base.txt": "-r ../all.txt\n-rdeep.txt\n",
    "more/deep.txt": "numpy<2\n",
}


@pytest.mark.parametrize(
    ("before", "named"),
    [
        ("COPY requirements.txt /tmp/", "/tmp/requirements.txt"),
        ("COPY . /app", "/app/requirements.txt"),
        ("COPY requirements.txt .", "requirements.txt"),
        ('COPY ["requirements.txt", "/tmp/"]', "/tmp/requirements.txt"),
        ("COPY require*.txt setup.py /tmp/", "/tmp/requirements.txt"),
        ("WORKDIR /srv", "COPIED"),
        ("# a mount lasts for its own RUN", "MOUNTED"),
        ("COPY requirements.txt /tmp/", "requirements.txt"),  # the base image may say that RUN is in /tmp
    ],
)
def test_a_list_next_to_the_dockerfile_is_read(before: str, named: str, matrix: Matrix) -> None:
    run = {
        "COPIED": "COPY . sub\nRUN true && cd sub && pip install -r ./requirements.txt 'numpy<2'\n",
        "MOUNTED": "RUN --mount=type=bind,target=/src --mount=type=cache,target=/c"
        " pip install 'numpy<2' -r /src/requirements.txt\n",
    }.get(named, f"RUN pip install -r {named} 'numpy<2'\n")
    line = 4 if named == "COPIED" else 3
    text = f"FROM python:3.12\n{before}\n{run}"
    findings = check_dockerfile(text, Request(container=True), matrix, LISTS.get)
    (finding,) = (finding for finding in findings if finding.status is not Status.OK)
    assert finding.subject == f"line {line}: torch==2.1.0+cu121"
    assert finding.id == "image.python-without-package"  # torch 2.1.0 has wheels up to Python 3.11


TWO_LISTS = {"a/requirements.txt": "torch==2.1.0\nnumpy<2\n", "b/requirements.txt": "torch==2.5.1\nnumpy<2\n"}
COPIED = "COPY a/requirements.txt /a/\nCOPY b/requirements.txt /b/\n"


@pytest.mark.parametrize(
    ("before", "command", "judged"),
    [
        (COPIED, "pip install -r /a/requirements.txt", "==2.1.0"),
        (COPIED, "pip install -r /b/requirements.txt", "==2.5.1"),
        (f"{COPIED}WORKDIR /b\n", "pip install -r requirements.txt", "==2.5.1"),
        (COPIED, "cd /b && pip install -r requirements.txt", "==2.5.1"),
        ("COPY a/requirements.txt /c/\nCOPY b/requirements.txt /c/\n", "pip install -r /c/requirements.txt", "==2.5.1"),
        ("COPY --from=first /from/requirements.txt /c/\n", "pip install -r /c/requirements.txt", "==2.1.0"),
        (COPIED, "pip install -r /c/requirements.txt", ""),  # one of them was moved there
    ],
)
def test_the_list_that_is_put_there_is_read(before: str, command: str, judged: str, matrix: Matrix) -> None:
    first = "FROM python:3.11 AS first\nCOPY a /from\n"
    text = f"{first}FROM python:3.11\n{before}RUN {command}\n"
    found = contents(read_stages(text), matrix, TWO_LISTS.get)
    assert [item.spec for item in found.wanted] == [judged][: len(judged)]
    assert len(found.lists) == (0 if judged else 1)


@pytest.mark.parametrize(
    ("before", "command"),
    [
        ("COPY requirements.txt /app/", "pip install -r https://example.com/requirements.txt"),
        ("ADD https://example.com/requirements.txt /app/", "pip install -r /app/requirements.txt"),
        ("COPY --from=example/image /requirements.txt /app/", "pip install -r /app/requirements.txt"),
        ("WORKDIR /app", "git clone https://example.com/bar && cd bar && pip install -r requirements.txt"),
        ("COPY . /app", "git clone https://example.com/bar && cd bar && pip install -r requirements.txt"),
        ("WORKDIR /app", "pip install -r requirements.txt"),
        ("RUN --mount=type=bind,target=/src true", "pip install -r /src/requirements.txt"),
    ],
)
def test_no_other_list_of_that_name_is_read(before: str, command: str, matrix: Matrix) -> None:
    found = contents(read_stages(f"FROM python:3.12\n{before}\nRUN {command}\n"), matrix, LISTS.get)
    assert not found.wanted
    assert len(found.lists) == 1


@pytest.mark.parametrize(("limit", "wrong"), [("torch<2.2", True), ("# none", False), ("torchvision==0.15", False)])
def test_a_constraints_file_bounds_what_is_named(limit: str, wrong: bool, matrix: Matrix) -> None:
    text = "FROM python:3.12\nCOPY . .\nRUN pip install -c limits.txt torch 'numpy<2'\n"
    findings = check_dockerfile(text, Request(container=True), matrix, {"limits.txt": f"{limit}\n"}.get)
    assert [one.id for one in findings if one.status is not Status.OK] == ["image.python-without-package"] * wrong
    unread = [one for one in check_dockerfile(text, Request(container=True), matrix) if one.status is not Status.OK]
    assert [one.subject for one in unread] == ["line 3: torch", "line 3: limits.txt"]  # it may hold torch back
    assert all(one.status is Status.UNKNOWN for one in unread)
    pinned = text.replace("torch 'numpy<2'", "torch==2.5.1 numpy==1.26.4")
    assert all(one.status is Status.OK for one in check_dockerfile(pinned, Request(container=True), matrix))


@pytest.mark.parametrize("named", ["all.txt", "/app/all.txt"])
def test_lists_name_further_lists(named: str, matrix: Matrix) -> None:
    text = f"FROM python:3.11\nWORKDIR /app\nCOPY . /app\nRUN pip install -r {named}\n"
    assert all(one.status is Status.OK for one in check_dockerfile(text, Request(container=True), matrix, LISTS.get))


def test_a_list_that_the_dockerfile_writes_itself_is_read(matrix: Matrix) -> None:
    text = "FROM python:3.12\nCOPY <<EOF /tmp/list.txt\ntorch==2.1.0\nnumpy<2\nEOF\nRUN pip install -r /tmp/list.txt\n"
    (finding,) = (one for one in check_dockerfile(text, Request(container=True), matrix) if one.status is not Status.OK)
    assert finding.id == "image.python-without-package"


def test_a_marker_that_cannot_be_judged_leaves_the_package_unjudged(matrix: Matrix) -> None:
    image = "FROM registry.example.com/base:1\n"
    finding = only(f"{image}RUN pip install \"torch==2.0.1; python_version < '3.12'\"\n", matrix)
    assert (finding.id, finding.status) == ("image.list-unread", Status.UNKNOWN)
    findings = check_dockerfile(
        "FROM python:3.12\nRUN pip install \"torch==2.0.1; python_version < '3.12'\"\n", Request(container=True), matrix
    )
    assert all(one.status is Status.OK for one in findings)


REQUEST = Request(container=True)


def only(text: str, matrix: Matrix) -> Finding:
    """The one finding that is not in order."""
    findings = check_dockerfile(text, REQUEST, matrix)
    (finding,) = (one for one in findings if one.status is not Status.OK)
    return finding


@pytest.mark.parametrize("image", ["nvidia/cuda", "docker.io/nvidia/cuda", "nvidia/cuda:latest"])
def test_cuda_without_a_tag_names_the_tag_that_is_gone(image: str, matrix: Matrix) -> None:
    finding = only(f"FROM {image}\n", matrix)
    assert finding.status is Status.FAIL
    assert "nvidia/cuda:latest" in finding.title
    assert "deleted" in finding.title
    assert finding.remedy is not None
    newest = finding.remedy.summary.rpartition("as in ")[2].rstrip(".")
    supported = {f"{tag.repository}:{tag.tag}" for tag in matrix.image_tags if tag.state == "supported"}
    assert newest in supported


def test_the_command_reads_the_list_next_to_the_dockerfile(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text("FROM python:3.12\nCOPY . /app\nRUN pip install -r /app/list.txt\n")
    unread = run("--check", str(tmp_path / "Dockerfile"))
    assert "/app/list.txt was not checked: its contents are not available" in unread.output
    assert "No errors found" not in unread.output
    (tmp_path / "list.txt").write_text("torch==2.1.0\nnumpy<2\n", encoding="utf-8-sig")
    assert "image.python-without-package" in run("--check", str(tmp_path / "Dockerfile")).output


def test_no_list_is_read_from_above_the_dockerfile(tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("torch==2.1.0\n")
    folder = tmp_path / "context"
    folder.mkdir()
    (folder / "Dockerfile").write_text("FROM python:3.12\nRUN pip install -r ../list.txt\n")
    assert "image.list-unread" in run("--check", str(folder / "Dockerfile")).output


@pytest.mark.parametrize(
    "image",
    [
        "pytorch/pytorch:2.99.0-cuda12.4-cudnn9-runtime",
        "tensorflow/tensorflow:2.99.0-gpu",
        "nvcr.io/nvidia/pytorch:21.13-py3",
        "tensorflow/tensorflow",
        "nvidia/cuda@sha256:" + "0" * 64,
    ],
)
def test_a_tag_of_a_known_repository_that_is_not_known_is_unknown(image: str, matrix: Matrix) -> None:
    finding = only(f"FROM {image}\n", matrix)
    assert (finding.id, finding.status) == ("image.base-unknown", Status.UNKNOWN)


@pytest.mark.parametrize(
    ("tag", "nearest"),
    [
        ("11.8-cudnn8-devel-ubuntu20.04", "11.8.0-cudnn8-devel-ubuntu20.04"),
        ("12.4-base-ubuntu22.04", "12.4.1-base-ubuntu22.04"),
        ("11.0-base", "11.0.3-base-ubuntu20.04"),  # not CentOS's, whose archive is gone
    ],
)
def test_a_tag_without_the_patch_release_names_the_nearest(tag: str, nearest: str, matrix: Matrix) -> None:
    finding = only(f"FROM nvidia/cuda:{tag}\n", matrix)
    assert finding.remedy is not None
    assert f"nvidia/cuda:{nearest}," in finding.remedy.summary


@pytest.mark.parametrize("words", ["sudo", "sudo sudo", "sudo python3 -m"])
def test_a_command_without_an_end_breaks_no_rule(words: str, matrix: Matrix) -> None:
    check_dockerfile(f"FROM ubuntu:24.04\nRUN {words}\n", Request(container=True), matrix)


AIMED = Request(container=True, driver=Version.parse("470.57.02"))


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("FROM registry.example.com/base:1\n", True),
        ("FROM ubuntu:22.04\nRUN apt-get install -y nvidia-cuda-toolkit\n", True),
        ("FROM ubuntu:22.04\n", False),  # it holds no CUDA
        ('FROM registry.example.com/base:1\nRUN pip install torch==1.9.0 "numpy<2"\n', False),  # the wheel's is judged
    ],
)
def test_a_driver_for_a_cuda_that_is_not_reported_is_unknown(text: str, unknown: bool, matrix: Matrix) -> None:
    found = [one.id for one in check_dockerfile(text, AIMED, matrix) if one.status is Status.UNKNOWN]
    assert ("image.cuda-unknown" in found) is unknown


@pytest.mark.parametrize(
    ("start", "spec", "wrong"),
    [
        # The page of the package: it and tensorflow are the same from 2.1 on, and 2.12.0 stops any pip.
        ("python:3.13", "==2.8.0", {"image.package-refuses", "image.python-without-package", "image.cuda-missing"}),
        ("nvidia/cuda:11.8.0-cudnn8-runtime-ubuntu22.04", "==2.11.0", set()),
        (
            "nvidia/cuda:12.4.1-cudnn-runtime-ubuntu22.04",
            "==2.11.0",
            {"image.framework-for-other-cuda", "image.cudnn-differs"},
        ),
        ("python:3.7", ">=2.1", {"image.framework-version"}),
        ("python:3.9", "==2.12.0", {"image.framework-version"}),
    ],
)
def test_tensorflow_gpu_is_tensorflow_until_it_was_emptied(
    start: str, spec: str, wrong: set[str], matrix: Matrix
) -> None:
    install = f'RUN apt-get install -y python3-pip; pip install "numpy<1.24" "protobuf<3.21" "tensorflow-gpu{spec}"\n'
    findings = check_dockerfile(f"FROM {start}\n{install}", Request(container=True), matrix)
    assert {finding.id for finding in findings if finding.status in (Status.FAIL, Status.UNKNOWN)} == wrong


CUDA_11 = "nvidia/cuda:11.8.0-cudnn8-runtime-ubuntu22.04"
CUDA_12 = "nvidia/cuda:12.4.1-cudnn-runtime-ubuntu22.04"  # with cuDNN 9


@pytest.mark.parametrize(
    ("start", "package", "fix"),
    [
        (CUDA_11, "onnxruntime==1.18.0", "pip install onnxruntime-gpu==1.18.0"),  # made for CUDA 11.8 and cuDNN 8
        (CUDA_11, "mxnet", "pip install mxnet-cu112==1.9.1"),
        (CUDA_12, "mxnet", "envkit dockerfile --framework mxnet"),  # no build of it knows CUDA 12
    ],
)
def test_a_cpu_package_on_cuda_names_the_build_that_the_image_serves(
    start: str, package: str, fix: str, matrix: Matrix
) -> None:
    finding = only(f"FROM {start}\nRUN apt-get install -y python3-pip; pip install {package}\n", matrix)
    assert (finding.id, finding.status) == ("image.cpu-build", Status.WARN)
    assert finding.remedy is not None
    assert finding.remedy.commands == (fix,)


def test_what_is_named_for_a_cpu_package_has_no_fault_there(matrix: Matrix) -> None:
    for start in (CUDA_11, CUDA_12):
        for package in ("onnxruntime", "onnxruntime==1.18.0", "paddlepaddle==2.6.2", "mxnet-mkl"):
            text = f"FROM {start}\nRUN apt-get install -y python3-pip; pip install 'numpy<1.24' "
            finding = only(f"{text}{package}\n", matrix)
            assert finding.remedy is not None
            (command,) = finding.remedy.commands
            if command.startswith("pip install "):
                again = check_dockerfile(
                    text + command.removeprefix("pip install ") + "\n", Request(container=True), matrix
                )
                assert all(one.status is Status.OK for one in again), (start, command, again)


@pytest.mark.parametrize("package", ["torch", "tensorflow-cpu==2.15.0", "onnxruntime", "jax[cuda12]"])
def test_no_compiled_package_installs_on_musl(package: str, matrix: Matrix) -> None:
    finding = only(f"FROM python:3.11-alpine3.20\nRUN pip install {package}\n", matrix)
    assert (finding.id, finding.status) == ("image.glibc-missing", Status.FAIL)
    assert "musl" in finding.title


def test_plain_python_packages_install_on_musl(matrix: Matrix) -> None:
    findings = check_dockerfile(
        "FROM python:3.11-alpine\nRUN pip install keras==3.3.3\n", Request(container=True), matrix
    )
    assert "image.glibc-missing" not in {finding.id for finding in findings}


@pytest.mark.parametrize(
    ("copied", "judged"),
    [
        ("--from=build /opt/venv /opt/venv", True),
        ("--from=0 /root/.local /root/.local", True),
        ("--from=build /usr/local/lib/python3.12/site-packages /usr/local/lib/python3.12/site-packages", True),
        ("--from=build /src/model.onnx /model.onnx", False),  # what wrote the model is not in the image
    ],
)
def test_an_environment_that_another_stage_hands_over_is_judged(copied: str, judged: bool, matrix: Matrix) -> None:
    build = 'FROM python:3.12 AS build\nRUN pip install torch==2.0.1 "numpy<2"\n'
    for last in ("python:3.12-slim", "ubuntu:22.04"):
        findings = check_dockerfile(f"{build}FROM {last}\nCOPY {copied}\n", Request(container=True), matrix)
        wrong = [one.id for one in findings if one.status is not Status.OK]
        assert wrong == (["image.python-without-package"] if judged else []), last


# What real files do and was once called an error: (file, findings that are no OK)
UNSURE = {
    "a build between two of the rows": (
        "FROM nvidia/cuda:12.9.1-runtime-ubuntu24.04\nCOPY --from=ghcr.io/astral-sh/uv:0.9.2 /uv /bin/\n"
        "RUN uv pip install --system --break-system-packages torch==2.12.0 --index-url https://download.pytorch.org/whl/cu129\n",
        ["unknown image.framework-version"],
    ),
    "a build that came later": (
        "FROM python:3.10\nRUN pip install 'numpy<2' torch==1.12.1 --index-url https://download.pytorch.org/whl/cu118\n",
        ["fail image.framework-version"],
    ),
    "an older minor release of the same libraries": (
        "FROM nvidia/cuda:12.1.1-cudnn8-runtime-ubuntu22.04\n"
        "RUN apt-get install -y python3-pip libcudnn9-cuda-12; pip install onnxruntime-gpu==1.23.2 'numpy<2'\n",
        [],  # its makers say that it works with any CUDA 12
    ),
    "a package that runs without CUDA too": (
        "FROM ubuntu:16.04\n"
        "RUN apt-get install -y python3-pip; pip3 install --upgrade 'pip<21'; pip3 install --upgrade tensorflow\n",
        ["warn image.base-end-of-life", "warn image.cpu-build"],
    ),
    "one whose name says that it does not": (
        "FROM ubuntu:20.04\nRUN apt-get install -y python3-pip;"
        " pip3 install 'numpy<1.24' tensorflow-gpu==2.8.0 'protobuf<3.21'\n",
        ["fail image.cuda-missing", "warn image.base-end-of-life"],
    ),
    "what the image has already": ("FROM tensorflow/tensorflow:2.15.0-gpu\nRUN pip install tensorflow\n", []),
    "what replaces it": (
        "FROM tensorflow/tensorflow:2.15.0-gpu\nRUN pip install -U tensorflow\n",
        ["unknown image.framework-for-other-cuda", "warn image.cudnn-differs"],
    ),
    "CUDA in the version of a part": (
        "FROM nvidia/cuda:12.2.2-cudnn8-runtime-ubuntu22.04\n"
        "RUN apt-get install -y python3-pip; pip install jax==0.4.26 jaxlib==0.4.26+cuda12.cudnn89 -f https://storage.googleapis.com/jax-releases/jax_cuda_releases.html\n",
        [],
    ),
}


@pytest.mark.parametrize("name", UNSURE)
def test_what_is_not_certain_is_no_error(name: str, matrix: Matrix) -> None:
    text, expected = UNSURE[name]
    found = check_dockerfile(text, Request(container=True), matrix)
    assert sorted(f"{one.status.value} {one.id}" for one in found if one.status is not Status.OK) == expected


PYTHONS = [
    # what another project calls python is none of Docker's images
    ("mxnet/python:1.1.0_nccl", "true", "pip", "cp27", None),
    ("python:3.12", "true", "pip", "cp311", "fail"),
    ("docker.io/library/python:3.12-slim", "true", "pip", "cp311", "fail"),
    # two Pythons: which of them pip is, only its name, a link or get-pip tells
    ("rockylinux:8", "dnf install -y python38 && ln -s /usr/bin/pip3.8 /usr/bin/pip", "pip", "cp38", None),
    ("rockylinux:8", "dnf install -y python38 && ln -s /usr/bin/pip3.8 /usr/bin/pip", "pip", "cp36", "fail"),
    ("rockylinux:8", "dnf install -y python38", "pip3", "cp38", None),
    ("rockylinux:8", "dnf install -y python38", "pip3.8", "cp36", "fail"),
    ("ubuntu:22.04", "apt-get install -y python3.12", "pip", "cp311", None),
    ("ubuntu:22.04", "apt-get install -y python3.12", "python3.12 -m pip", "cp311", "fail"),
    ("ubuntu:22.04", "apt-get install -y python3.12 && python3.12 /tmp/get-pip.py", "pip", "cp311", "fail"),
    ("ubuntu:22.04", "apt-get install -y python3.12 && python3.12 -m venv /v", "/v/bin/pip", "cp311", "fail"),
    (
        "ubuntu:22.04",
        "apt-get install python3.12; ln -sf /usr/bin/python3.12 /usr/bin/python3",
        "pip3",
        "cp311",
        "fail",
    ),
    ("ubuntu:22.04", "apt-get install -y python3.10-venv python3-pip", "pip", "cp310", None),
    ("ubuntu:22.04", "apt-get install -y python3.10-venv python3-pip", "pip", "cp311", "fail"),
    # where pip and python are those of Python 2
    ("ubuntu:14.04", "python get-pip.py", "pip", "cp27", None),
    ("ubuntu:14.04", "python get-pip.py", "pip3", "cp27", "fail"),
    ("ubuntu:16.04", "apt-get install -y python-pip", "pip", "cp27", None),
    ("ubuntu:16.04", "apt-get install -y python-pip", "pip2", "cp35", "fail"),
    ("ubuntu:18.04", "apt-get install -y python2.7 python3-pip && python2.7 get-pip.py", "pip", "cp27", None),
    ("ubuntu:18.04", "apt-get install -y python2.7 python3-pip && python2.7 get-pip.py", "pip3", "cp27", "fail"),
    # where nothing provides a Python or pip, there is none that could refuse
    ("ubuntu:22.04", "true", "pip3", "cp311", "fail"),
]


@pytest.mark.parametrize(("image", "before", "pip", "tag", "status"), PYTHONS)
def test_the_python_is_the_one_that_the_command_means(
    image: str, before: str, pip: str, tag: str, status: str | None, matrix: Matrix
) -> None:
    """A wheel for one Python is an error only where that is certainly not the one."""
    text = f"FROM {image}\nRUN {before}\nRUN {pip} install ./x-1.0-{tag}-none-linux_x86_64.whl\n"
    found = check_dockerfile(text, Request(container=True), matrix)
    named = [one.status.value for one in found if one.id == "image.python-without-package"]
    assert named == [status] * (status is not None)


@pytest.mark.parametrize(
    ("base", "command", "stops"),
    [
        ("ubuntu:24.04", "pip install six", True),
        ("debian:12", "python3 -m pip install six", True),
        ("debian:bookworm-slim", "pip install six", True),
        ("ubuntu:noble", "pip install six", True),
        ("debian:bullseye", "pip install six", False),
        ("nvidia/cuda:12.6.3-runtime-ubuntu24.04", "pip3 install --no-cache-dir six", True),
        ("ubuntu:22.04", "pip install six", False),
        ("python:3.12-bookworm", "pip install six", False),
        ("ubuntu:24.04", "pip install --break-system-packages six", False),
        ("ubuntu:24.04", "PIP_BREAK_SYSTEM_PACKAGES=1 pip install six", False),
        ("ubuntu:24.04", "rm /usr/lib/python3.12/EXTERNALLY-MANAGED && pip install six", False),
        ("ubuntu:24.04", "python3 -m venv /v && /v/bin/pip install six", False),
        ("ubuntu:24.04", "pip install --target /app six", False),
        ("ubuntu:24.04", "pip download six", False),
    ],
)
def test_pip_stops_in_a_python_that_its_distribution_manages(
    base: str, command: str, stops: bool, matrix: Matrix
) -> None:
    text = f"FROM {base}\nRUN apt-get update && apt-get install -y python3-pip\nRUN {command}\n"
    found = {finding.id for finding in check_dockerfile(text, Request(container=True), matrix)}
    assert ("image.python-managed" in found) is stops


@pytest.mark.parametrize(
    ("flavor", "command", "stops"),
    [
        ("base", "nvcc --version", True),
        ("runtime", "pip install flash_attn==2.7.4.post1", True),
        ("devel", "pip install flash_attn==2.7.4.post1", False),
        ("runtime", "apt-get install -y cuda-nvcc-12-6 && nvcc --version", False),
        ("runtime", "which nvcc || true", False),
    ],
)
def test_what_compiles_needs_the_compiler(flavor: str, command: str, stops: bool, matrix: Matrix) -> None:
    text = f"FROM nvidia/cuda:12.6.3-{flavor}-ubuntu22.04\nRUN {command}\n"
    findings = check_dockerfile(text, Request(container=True), matrix)
    assert ("image.compiler-missing" in {one.id for one in findings if one.status is Status.FAIL}) is stops
    assert ("image.compiler-missing" in {one.id for one in findings if one.status is Status.OK}) is (flavor == "devel")
