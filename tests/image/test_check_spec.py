"""Requirements are read as pip (PEP 440) and conda read them, and lead to the build that they would take."""

from __future__ import annotations

import pytest

from envkit.checks.findings import Finding, Status
from envkit.image.check import check_dockerfile
from envkit.image.check_spec import Release, Wish
from envkit.image.containerfile import read_stages
from envkit.image.containerfile_facts import contents
from envkit.image.containerfile_packages import ListFile, Package, installed
from envkit.image.wanted import Problem, chosen_build
from envkit.matrix import Matrix
from envkit.plan.request import Request


@pytest.mark.parametrize(
    ("spec", "tool", "release", "holds"),
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
def test_a_requirement_holds_for_what_its_tool_would_take(spec: str, tool: str, release: str, holds: bool) -> None:
    assert Wish.parse(spec, tool).holds(Release.parse(release)) is holds


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


def test_the_package_beside_it_tells_chainers_cuda(matrix: Matrix) -> None:
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
    found = list(installed(1, script))
    packages = [(item.tool, item.name, item.extras, item.spec) for item in found if isinstance(item, Package)]
    assert packages == [
        ("pip", "torch", (), ">=2,<3"),
        ("pip", "jax", ("cuda12",), "==0.4.30"),
        ("conda", "pytorch", (), "=2.1.0"),
        ("pip", "cupy-cuda12x", (), ""),
    ]
    assert [item.name for item in found if isinstance(item, ListFile)] == ["more.txt"]


def only(text: str, matrix: Matrix) -> Finding:
    (finding,) = check_dockerfile(text, Request(container=True), matrix)
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
