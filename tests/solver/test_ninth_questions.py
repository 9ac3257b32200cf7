"""What a ninth look at questions taught: drivers that exist, cuDNN that pip chooses, code that is known."""

from __future__ import annotations

import pytest

from envkit.base.errors import RequestError
from envkit.base.versions import Version
from envkit.solver.having import resolve_having
from envkit.solver.parse import parse_framework, parse_gpu
from envkit.solver.request import RequestWords
from tests.solver.asking import ask, matrix, offers, plan_of, refusal_of


@pytest.mark.parametrize(
    ("framework", "gpu", "driver"),
    [("pytorch", "GeForce RTX 5090", "550"), ("pytorch", "GeForce RTX 5090", "470"), ("jax", "B200", "550")],
)
def test_a_driver_that_is_offered_was_published(framework: str, gpu: str, driver: str) -> None:
    drivers = offers(refusal_of(ask(framework, gpus=(gpu,), driver=driver)), "driver")
    firsts = {row.branch: row.first_version for row in matrix().driver_branches}
    assert drivers
    for offered in map(Version.parse, drivers):
        first = firsts[offered.major]
        assert first is None or offered >= first


@pytest.mark.parametrize(
    ("asked", "cudnn", "pin"),
    [
        ("jax==0.4.38", "9.5", "nvidia-cudnn-cu12==9.5.*"),
        ("jax==0.4.38", "9.1", "nvidia-cudnn-cu12==9.1.*"),
        ("jax==0.4.38", "9", ""),
        ("jax==0.4.26", "8.9", "nvidia-cudnn-cu12==8.9.2.26"),
    ],
)
def test_a_cudnn_that_a_package_leaves_to_pip_can_be_chosen(asked: str, cudnn: str, pin: str) -> None:
    assert plan_of(ask(asked, cudnn=cudnn)).choice.pins == ((pin,) if pin else ())


@pytest.mark.parametrize(
    ("asked", "cudnn", "said"),
    [
        ("jax==0.4.38", "9.0", "needs cuDNN 9.1 or a later 9.x, not 9.0"),
        ("jax==0.4.38", "8.9", "needs cuDNN 9.1 or a later 9.x, not 8.9"),
        ("tensorflow==0.12.0", "5.0", "needs cuDNN 5.1, not 5.0"),
        ("pytorch==2.5.1", "9.5", "not 9.5"),
    ],
)
def test_another_cudnn_is_refused_with_the_one_that_it_needs(asked: str, cudnn: str, said: str) -> None:
    assert said in refusal_of(ask(asked, cudnn=cudnn)).conflicts[0].detail


@pytest.mark.parametrize(("release", "cuda"), [("2.9.0", "13.0"), ("2.9.1", "12.8"), ("2.10.0", "13.0")])
def test_code_for_the_gpu_of_a_dgx_spark_is_known(release: str, cuda: str) -> None:
    plan = plan_of(ask(f"pytorch=={release}", cuda=cuda, gpus=("NVIDIA GB10",), architecture="aarch64"))
    assert {one.status for one in plan.verdicts if one.relation == "gpu-runs-build"} == {"ok"}


def _refused(name: str, *frameworks: str, arch: str = "x86_64", cuda: str | None = None) -> str:
    """What is said of a package that has no versions here, next to the other frameworks asked for."""
    with pytest.raises(RequestError) as raised:
        parse_framework(name, matrix(), RequestWords(frameworks=(*frameworks, name), arch=arch, cuda=cuda))
    return f"{raised.value} {raised.value.hint}"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("whisperx", "3.5 or newer, which require ctranslate2 4.5"),
        ("sageattention", "on Windows, triton-windows"),
        ("warp-lang", "driver 580 and newer"),
        ("nvidia-warp-lang", "driver 580 and newer"),
        ("llama-cpp-python", "https://abetlen.github.io/llama-cpp-python/whl/cu124"),
        ("stable-fast", "https://github.com/chengzeyi/stable-fast/releases"),
        ("pytorch3d", "--no-build-isolation"),
        ("faiss-gpu-cu12", "On Windows, use WSL"),
        ("nvidia-dali-cuda120", "nvidia-dali-cuda130 for CUDA 13"),
    ],
)
def test_a_package_without_versions_has_the_place_of_its_wheels(name: str, words: str) -> None:
    assert words in _refused(name)


@pytest.mark.parametrize(
    ("frameworks", "arch", "cuda", "said", "words"),
    [
        (("pytorch==2.8.0", "flash-attn"), "aarch64", None, True, "on 64-bit Arm, flash-attn has hardly any wheels"),
        (("pytorch==2.8.0", "flash-attn"), "x86_64", None, False, "on 64-bit Arm, flash-attn has hardly any wheels"),
        (("pytorch==2.4.1", "dgl==2.4.0"), "x86_64", None, True, "Install PyTorch 2.4.0"),
        (("pytorch==2.4.0", "dgl==2.4.0"), "x86_64", None, False, "Install PyTorch 2.4.0"),
        (("pytorch==2.2.0", "dgl"), "x86_64", "12.2", True, "use those for CUDA 12.1"),
        (("pytorch==2.4.0", "dgl"), "x86_64", "12.4", False, "use those for CUDA 12.1"),
    ],
)
def test_a_note_of_a_package_is_for_what_it_names_alone(
    frameworks: tuple[str, ...], arch: str, cuda: str | None, said: bool, words: str
) -> None:
    assert (words in _refused(frameworks[-1], *frameworks[:-1], arch=arch, cuda=cuda)) is said


def test_the_gpu_of_another_company_has_the_pytorch_that_runs_on_it() -> None:
    for name, words in (("Intel Arc A770", "whl/xpu"), ("Apple M2 Pro", "device mps"), ("Radeon RX 7900", "ROCm")):
        with pytest.raises(RequestError) as raised:
            parse_gpu(name, matrix())
        assert words in f"{raised.value} {raised.value.hint}"


@pytest.mark.parametrize(("release", "said"), [("0.26.0", False), ("0.25.0", False)])
def test_the_first_release_for_a_cuda_is_no_news_to_who_asked_for_a_later_one(release: str, said: bool) -> None:
    told = resolve_having(ask(f"torchvision=={release}", cuda="13.0"), matrix()).background
    assert any("the first torchvision release" in one for one in told) is said
