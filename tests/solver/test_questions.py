"""The questions that people really ask, answered with the reason."""

from __future__ import annotations

import pytest

from envkit.base.settings import Mirrors
from envkit.base.versions import Version
from envkit.documents.plan import plan_document
from envkit.render.plan_text import plan_summary
from envkit.solver.build_targets import build_targets
from envkit.solver.having import resolve_having
from envkit.solver.model import NoPlan
from envkit.solver.request import Request
from envkit.solver.solve import resolve
from envkit.solver.wheel_files import requirement_lines
from tests.solver.asking import ask, matrix, offers, plan_of, refusal_of, status_of


def v(text: str) -> Version:
    return Version.parse(text)


def test_gtx_1080_ti_with_driver_580_and_newest_pytorch() -> None:
    plan = plan_of(ask("pytorch", gpus=("GeForce GTX 1080 Ti",), driver="580.65.06"))
    (build,) = plan.choice.builds
    assert (str(build.version), str(build.cuda)) == ("2.14.1", "12.6")  # 2.15 and every newer CUDA lack Pascal
    assert status_of(plan, "driver-runs-cuda") == {"native"}
    assert status_of(plan, "gpu-on-driver") == {"ok"}
    newest = refusal_of(ask("pytorch==2.15", gpus=("GeForce GTX 1080 Ti",), driver="580.65.06"))
    assert any("2.15.0" in conflict.detail and "GTX 1080 Ti" in conflict.detail for conflict in newest.conflicts)
    assert "pytorch==2.14.1" in offers(newest, "framework")


def test_gtx_1080_ti_is_not_offered_a_driver_that_dropped_it() -> None:
    refused = refusal_of(ask("pytorch", gpus=("GeForce GTX 1080 Ti",), driver="595.58.03"))
    (conflict,) = refused.conflicts
    assert conflict.between == ("gpu NVIDIA GeForce GTX 1080 Ti (sm_61)", "driver 595.58.03")
    assert "580 is its last branch" in conflict.detail and conflict.sources
    assert [v(value).major for value in offers(refused, "driver")] == [580]


def test_rtx_5090_with_pytorch_2_6() -> None:
    refused = refusal_of(ask("pytorch==2.6", gpus=("GeForce RTX 5090",)))
    (conflict,) = refused.conflicts
    assert "needs CUDA 12.8 or newer" in conflict.detail and "has no kernels" in conflict.detail
    assert offers(refused, "framework")[0] == "pytorch==2.7.0"
    assert refused.rejected["gpu-runs-build"] > 0


@pytest.mark.parametrize("framework", ["pytorch", "tensorflow", "mxnet"])
def test_k80_with_anything(framework: str) -> None:
    plan = plan_of(ask(framework, gpus=("Tesla K80",)))
    cuda = plan.choice.cuda
    assert cuda is not None and cuda.major <= 11  # CUDA 12 dropped Kepler
    assert plan.choice.minimum_driver is not None and plan.choice.minimum_driver.major <= 470  # the last Kepler branch
    assert status_of(plan, "gpu-last-driver") == {"ok"}
    cudnn = plan.choice.cudnn_version
    assert cudnn is None or cudnn.major < 9  # which has no kernels for Kepler
    assert not any("safer" in warning for warning in plan.warnings)


def test_k80_with_a_driver_of_today() -> None:
    refused = refusal_of(ask("pytorch", gpus=("Tesla K80",), driver="580.65.06"))
    assert "470 is its last branch" in refused.conflicts[0].detail
    assert [v(value).major for value in offers(refused, "driver")] == [470]


def test_h100_with_cuda_9_0() -> None:
    refused = refusal_of(ask("pytorch", gpus=("H100 PCIe",), cuda="9.0", needs_toolkit=True))
    (conflict,) = refused.conflicts
    assert conflict.between[1] == "cuda 9.0" and "needs CUDA 11.8 or newer" in conflict.detail
    assert conflict.sources
    assert offers(refused, "cuda")[0] == "11.8"  # the nearest that is enough comes first


def test_tensorflow_1_15_on_rtx_3090() -> None:
    refused = refusal_of(ask("tensorflow==1.15", gpus=("GeForce RTX 3090",)))
    (conflict,) = refused.conflicts
    assert "The closest, TensorFlow 1.15.5 for CUDA 10.0, fails: CUDA 10.0 predates" in conflict.detail
    assert "11.0 or newer" in conflict.detail  # its sm_80 code runs on sm_86; 11.1 is the first to compile for it
    assert "could be JIT-compiled" in conflict.detail and "cuBLAS" in conflict.detail
    assert offers(refused, "framework")[0] == "tensorflow==2.4.0"


def test_the_reason_and_the_offer_name_the_same_cuda() -> None:
    refused = refusal_of(ask(cuda="10.2", gpus=("GeForce RTX 3090",)))
    assert "needs CUDA 11.0 or newer" in refused.conflicts[0].detail  # its libraries run there
    assert offers(refused, "cuda")[0] == "11.1"  # the first whose compiler knows the GPU


@pytest.mark.parametrize(
    ("framework", "gpu", "nearest"),
    [
        ("tensorflow", "GeForce RTX 5090", "TensorFlow 2.21.0 for CUDA 12.5, fails: CUDA 12.5 predates"),
        ("pytorch==1.1", "GeForce RTX 3090", "PyTorch 1.1.0 for CUDA 10.0, fails: CUDA 10.0 predates"),
    ],
)
def test_the_nearest_build_is_the_newest_of_those_that_lack_the_gpu(framework: str, gpu: str, nearest: str) -> None:
    (conflict,) = refusal_of(ask(framework, gpus=(gpu,))).conflicts
    assert f"The closest, {nearest}" in conflict.detail


def test_a_reason_does_not_name_its_build_twice() -> None:
    (conflict,) = refusal_of(ask("pytorch==1.1", os_id="ubuntu22.04", python="3.10")).conflicts
    assert conflict.detail.count("PyTorch 1.1.0") == 1


def test_tensorflow_2_2_on_a_gpu_between_its_binaries() -> None:
    plan = plan_of(ask("tensorflow==2.2", gpus=("5.0",)))  # no binary for 5.0, and PTX of 3.7
    assert status_of(plan, "gpu-runs-build") == {"warn"}
    (conflict,) = refusal_of(ask("tensorflow==2.3", gpus=("5.0",))).conflicts
    assert "has no kernels" in conflict.detail and "PTX for compute_70" in conflict.detail


@pytest.mark.parametrize(("framework", "gpu"), [("jax>=0.4.4", "Tesla K80"), ("tensorrt>=11", "Tesla V100-PCIE-16GB")])
def test_gpus_below_the_lowest_of_a_framework_are_refused(framework: str, gpu: str) -> None:
    (conflict,) = refusal_of(ask(framework, gpus=(gpu,))).conflicts
    assert "needs compute capability" in conflict.detail


def test_pytorch_2_9_on_a_grace_hopper() -> None:
    plan = plan_of(ask("pytorch==2.9", gpus=("GH200 480GB",), architecture="aarch64"))
    (build,) = plan.choice.builds
    assert build.package == "torch==2.9.1" and build.index_url == "https://download.pytorch.org/whl/cu130"
    assert status_of(plan, "gpu-runs-build") == {"ok"}
    refused = refusal_of(ask("pytorch==2.3", gpus=("GH200 480GB",), architecture="aarch64"))
    assert offers(refused, "framework")[0] == "pytorch==2.6.0"


def test_tensorflow_serving_comes_as_an_image() -> None:
    plan = plan_of(ask("tensorflow-serving", gpus=("Tesla T4",)))
    image = "tensorflow/serving:2.20.0-gpu"  # hub.docker.com/r/tensorflow/serving; there is no wheel with CUDA
    assert plan.choice.own_image(plan.choice.builds[0]) == image
    assert any(f"it is distributed as the image {image}" in warning for warning in plan.warnings)
    (framework,) = plan_document(plan)["choice"]["frameworks"]  # type: ignore[index]
    assert framework["package"] is None and framework["image"] == image
    assert f"2.20.0 (image {image})" in plan_summary(plan)
    packaged = plan_of(ask("tensorflow")).choice  # which has images too, and a package
    assert packaged.framework_images == () and packaged.own_image(packaged.builds[0]) is None


def test_mxnet_on_python_3_12() -> None:
    plan = plan_of(ask("mxnet", python="3.12"))
    assert str(plan.choice.builds[0].version).startswith("1.5")  # later releases import np.bool, gone with NumPy 1.24
    assert any("no longer developed" in warning for warning in plan.warnings)
    assert offers(plan, "python") == ["3.11"]
    refused = refusal_of(ask("mxnet==1.9.1", python="3.12"))
    assert "only for 3.6, 3.7, 3.8, 3.9, 3.10, and 3.11" in refused.conflicts[0].detail


def test_driver_384_81_with_pytorch_2() -> None:
    refused = refusal_of(ask("pytorch>=2", driver="384.81"))
    (conflict,) = refused.conflicts
    assert set(conflict.between) == {"pytorch>=2", "driver 384.81"}
    assert "needs 450.80.02 or newer" in conflict.detail
    assert offers(refused, "driver") == ["450.80.02"]
    assert offers(refused, "framework") == ["pytorch==1.1.0"]


def test_rtx_2080_ti_and_b200_with_one_build() -> None:
    plan = plan_of(ask("pytorch", gpus=("GeForce RTX 2080 Ti", "B200")))
    (build,) = plan.choice.builds
    assert build.cuda is not None and build.cuda >= v("12.8")  # the first CUDA for B200; 13 still knows Turing
    assert status_of(plan, "gpu-runs-build") == {"ok"}
    assert len([verdict for verdict in plan.verdicts if verdict.relation == "gpu-runs-build"]) == 2
    assert plan.choice.minimum_driver is not None and plan.choice.minimum_driver.major >= 570


def test_two_gpus_that_no_build_serves_name_both() -> None:
    refused = refusal_of(ask("pytorch", gpus=("Tesla K80", "B200")))
    (conflict,) = refused.conflicts
    assert len(conflict.between) >= 2 and any("K80" in part for part in conflict.between)
    assert any("B200" in part for part in conflict.between)
    assert "no CUDA release supports both of them" in conflict.detail and "11.8 and older" in conflict.detail
    assert set(offers(refused, "gpu")) == {"NVIDIA B200", "Tesla K80"}


def test_pytorch_1_1_on_ubuntu_22_04() -> None:
    plan = plan_of(ask("pytorch==1.1", os_id="ubuntu22.04"))
    assert str(plan.choice.python) == "3.7"
    assert plan.choice.python_source is not None and plan.choice.python_source.way == "deadsnakes"
    assert not plan.choice.needs_toolkit  # the wheel provides its CUDA
    refused = refusal_of(ask("pytorch==1.1", os_id="ubuntu22.04", python="3.10"))
    assert "no wheel for Python 3.10" in refused.conflicts[0].detail
    assert "3.7" in offers(refused, "python")


def test_tensorflow_2_10_on_windows() -> None:
    plan = plan_of(ask("tensorflow==2.10", platform="windows"))
    assert str(plan.choice.builds[0].cuda) == "11.2" and plan.choice.os is None and plan.choice.runfiles == ()
    assert str(plan.choice.python) == "3.10" and plan.choice.python_source is None  # our ways to a Python are Linux's
    refused = refusal_of(ask("tensorflow==2.11", platform="windows"))
    assert "no package for Windows" in refused.conflicts[0].detail
    assert offers(refused, "framework") == ["tensorflow==2.10.1"]


def test_cuda_9_0_with_pytorch_for_an_install_script() -> None:
    plan = plan_of(ask("pytorch", cuda="9.0", needs_toolkit=True))
    choice = plan.choice
    assert (str(choice.cuda), str(choice.builds[0].version), str(choice.python)) == ("9.0.176", "1.1.0", "3.7")
    assert choice.os is not None and choice.os.os_id == "ubuntu16.04"  # the newest that CUDA 9.0 lists
    assert choice.minimum_driver == v("384.81")
    assert choice.runfiles and choice.runfiles[0].kind == "toolkit" and choice.runfiles[0].sha256


def test_cuda_9_0_on_a_system_it_does_not_list_warns() -> None:
    plan = plan_of(ask("pytorch", cuda="9.0", needs_toolkit=True, os_id="debian12"))
    assert status_of(plan, "runfile-on-os") <= {"unknown", "warn"}
    assert any("GCC up to 6" in warning for warning in plan.warnings)


@pytest.mark.parametrize("framework", ["pytorch", "tensorflow", "mxnet"])
def test_images_without_a_gpu_in_sight(framework: str) -> None:
    choice = plan_of(ask(framework, container=True)).choice
    image = choice.base_image
    assert image is not None and image.state == "supported" and choice.os is not None
    assert image.os_id == choice.os.os_id
    assert image.flavor == ("runtime" if choice.needs_toolkit else "base")
    assert choice.python_source is not None and choice.python_source.way == "system"


def test_every_answer_is_the_same_twice() -> None:
    request = ask("pytorch", "tensorflow", gpus=("GeForce RTX 3090",), driver="535.54.03")
    first = resolve(request, matrix())
    assert not isinstance(first, NoPlan)
    assert first == resolve(request, matrix())


@pytest.mark.parametrize(
    ("framework", "cuda", "newest"),
    [("jax", "12.1", "0.12.0.1"), ("onnxruntime", "12.4", "1.26.0"), ("onnxruntime", "11.4", "1.18.1")],
)
def test_the_range_of_cuda_that_a_package_states_counts(framework: str, cuda: str, newest: str) -> None:
    plan = plan_of(ask(framework, cuda=cuda))
    assert str(plan.choice.builds[0].version) == newest
    if plan.choice.builds[0].bundles_cuda:
        assert status_of(plan, "cuda-version") == {"ok"}  # which CUDA it provides, and from which on it works
    else:
        assert str(plan.choice.toolkit and plan.choice.toolkit.release) == cuda


def test_a_build_that_the_driver_runs_by_itself_goes_before_one_that_needs_cuda_compat() -> None:
    plan = plan_of(ask("pytorch", gpus=("B200",), driver="570.124.06"))
    assert status_of(plan, "driver-runs-cuda") == {"minor-version-compatibility"}
    pinned = plan_of(ask("pytorch==2.15.0", gpus=("B200",), driver="570.124.06"))
    assert status_of(pinned, "driver-runs-cuda") == {"forward-compatibility"}


@pytest.mark.parametrize(
    ("request_", "told"),
    [
        (ask("tensorflow", gpus=("GeForce RTX 5070",)), "nvcr.io/nvidia/tensorflow:25.02-tf2-py3"),
        (ask("tensorflow==1.15", gpus=("GeForce RTX 3090",)), "nvidia-tensorflow"),
        (ask("tensorflow", architecture="aarch64"), "64-bit Arm"),
        (ask("jax>=0.4.16", gpus=("Tesla K80",)), "to run on the CPU"),
    ],
)
def test_what_is_known_to_work_is_reported_in_place_of_other_hardware(request_: Request, told: str) -> None:
    refused = refusal_of(request_)
    assert any(told in way for way in refused.warnings)
    assert not offers(refused, "gpu") and not offers(refused, "arch")


def test_a_way_is_told_for_its_own_gpus_and_releases_only() -> None:
    assert refusal_of(ask("tensorflow==2.21", gpus=("Tesla K80",))).warnings == ()
    old = refusal_of(ask("tensorflow==1.15", gpus=("GeForce RTX 5090",))).warnings
    assert old == ()  # NVIDIA's own 1.15 ended before Blackwell


def test_windows_is_reported_the_linux_inside_it() -> None:
    refused = refusal_of(ask("jax", platform="windows"))
    assert offers(refused, "os") == ["wsl"]
    plan = plan_of(ask("tensorflow", platform="windows"))
    assert offers(plan, "os") == ["wsl"]
    assert any("2.10.1 is the last release with native Windows GPU support" in warning for warning in plan.warnings)


@pytest.mark.parametrize(
    ("request_", "version", "index"),
    [
        (ask("pytorch==2.13", gpus=("GeForce RTX 5090",), driver="570.133.07"), "2.13.0", "cu129"),
        (ask("pytorch", gpus=("B200",), driver="570.124.06"), "2.13.0", "cu129"),
        (ask("pytorch==2.10", cuda="12.9"), "2.10.0", "cu129"),
    ],
)
def test_builds_next_to_the_announced_ones_are_known(request_: Request, version: str, index: str) -> None:
    (build,) = plan_of(request_).choice.builds
    assert str(build.version) == version and (build.index_url or "").endswith(index)


def test_frameworks_that_cannot_share_an_environment_are_told_apart() -> None:
    refused = refusal_of(ask("pytorch==2.6", "tensorflow==2.18"))
    assert "nvidia-cublas-cu12==12.6.4.1" in refused.conflicts[0].detail
    assert any("in its own environment" in note for note in refused.warnings)


def test_an_older_nvcc_is_told_a_target_that_it_has() -> None:
    toolkit = plan_of(ask(cuda="9.0")).choice.toolkit
    targets = build_targets(ask(gpus=("GeForce RTX 2070",)).gpus, toolkit)
    assert targets is not None and targets.torch == "7.0"


@pytest.mark.parametrize("cuda", ["11.4", "11.5", "11.6", "11.7"])
def test_no_card_gets_the_target_of_a_jetson(cuda: str) -> None:
    toolkit = plan_of(ask(cuda=cuda)).choice.toolkit
    targets = build_targets(ask(gpus=("GeForce RTX 4090",)).gpus, toolkit)
    assert targets is not None and (targets.torch, targets.cmake) == ("8.6", "86")


def test_windows_gets_no_python_that_has_just_come_out() -> None:
    plan = plan_of(ask("pytorch", platform="windows", gpus=("GeForce RTX 5090",)))
    assert str(plan.choice.python) == "3.14"  # torch 2.15.0 has packages for 3.15, torchvision 0.29.2 has none


def test_a_framework_without_its_backend_asks_for_one() -> None:
    told = "runs on top of another framework: also specify that, such as --framework tensorflow"
    assert any(told in warning for warning in plan_of(ask("keras")).warnings)
    assert not any("runs on top of another" in warning for warning in plan_of(ask("keras", "tensorflow")).warnings)


def test_tensorflow_of_2017_is_known() -> None:
    plan = plan_of(ask("tensorflow==1.3"))
    assert plan.choice.builds[0].package == "tensorflow-gpu==1.3.0" and str(plan.choice.cuda).startswith("8.0")


def test_the_cudnn_that_an_old_gpu_needs_is_named_where_pip_may_take_a_newer_one() -> None:
    told = "nvidia-cudnn-cu12==9.10.2.21"
    assert any(told in warning for warning in plan_of(ask("jax", gpus=("GeForce GTX 1080 Ti",))).warnings)
    assert not any("cudnn" in warning for warning in plan_of(ask("jax", gpus=("GeForce RTX 4090",))).warnings)
    assert not any(told in warning for warning in plan_of(ask("pytorch", gpus=("GeForce GTX 1080 Ti",))).warnings)


def test_no_build_has_code_for_pascal_and_for_blackwell() -> None:
    refused = refusal_of(ask("pytorch", gpus=("GeForce GTX 1080 Ti", "GeForce RTX 5090")))
    assert {"NVIDIA GeForce RTX 5090", "NVIDIA GeForce GTX 1080 Ti"} <= set(offers(refused, "gpu"))


def test_a_toolkit_older_than_the_gpu_says_what_it_cannot_compile() -> None:
    plan = plan_of(ask("tensorflow==2.4", gpus=("GeForce RTX 3090",), cuda="11.0"))
    assert any("nvcc 11.0 does not compile for" in line and "CUDA 11.1 is the first" in line for line in plan.warnings)
    newer = plan_of(ask(gpus=("GeForce RTX 3090",), cuda="11.1", needs_toolkit=True))
    assert not any("does not compile" in line for line in newer.warnings)


def test_packages_of_the_cuda_that_was_asked_for_are_not_said_to_be_none() -> None:
    """There are packages of that CUDA; what they lack is reported, and the CUDA read as the machine's."""
    plan = resolve_having(ask("pytorch==2.11", gpus=("Tesla V100",), cuda="12.8"), matrix())
    assert not isinstance(plan, NoPlan) and str(plan.choice.cuda) == "12.6"
    assert "no package built for CUDA 12.8 is suitable" in plan.warnings[0] and "no kernels" in plan.warnings[0]


@pytest.mark.parametrize(
    ("framework", "python"),
    [
        ("jax==0.5.2", "3.9"),  # PyPI: JAX 0.5.2 requires Python 3.10
        ("jax==0.4.16", "3.8"),  # and 0.4.16 3.9
        ("chainer==7.0.0", "2.7"),  # 7.0 dropped it; its row names no Python
        ("chainer==4.4.0", "3.8"),
        ("theano==1.0.4", "3.12"),
        ("mxnet-cu92==1.3.0", "3.12"),
    ],
)
def test_no_release_is_planned_for_a_python_that_its_neighbors_rule_out(framework: str, python: str) -> None:
    refused = refusal_of(ask(framework, python=python))
    assert any(f"Python {python}" in conflict.detail for conflict in refused.conflicts)


def test_where_no_python_is_asked_for_one_is_chosen_that_the_neighbors_leave() -> None:
    choice = plan_of(ask("chainer==4.4.0")).choice
    assert str(choice.python) == "3.6"
    assert status_of(plan_of(ask("chainer==4.4.0")), "python-has-wheel") == {"unknown"}


@pytest.mark.parametrize("variant", ["", "==2.4.1"])
def test_tensorflow_and_pytorch_that_require_two_releases_of_cudnn(variant: str) -> None:
    """pip refuses each build of 2.4.1 next to TensorFlow 2.15: CUDA 12's pin other cuDNNs, CUDA 11's share files."""
    refused = refusal_of(ask("tensorflow==2.15.1", f"pytorch{variant or '==2.4'}", python="3.10"))
    (conflict,) = refused.conflicts
    assert "cudnn" in conflict.detail and offers(refused, "framework")
    assert not any("2.4.1" in value for value in offers(refused, "framework") if value.startswith("pytorch"))


def test_a_companion_is_not_planned_for_a_gpu_that_it_does_not_run_on() -> None:
    refused = refusal_of(ask("vllm==0.6.3", gpus=("Tesla P40",)))
    (conflict,) = refused.conflicts
    assert conflict.between[0] == "vllm==0.6.3" and "compute capability 7.0" in conflict.detail and conflict.sources
    assert plan_of(ask("vllm==0.6.3", gpus=("Tesla T4",))).choice.builds


def test_a_cudnn_that_came_with_an_earlier_cuda_than_the_gpu_is_refused() -> None:
    """NVIDIA's support matrix of cuDNN 7 names Turing for CUDA 10 alone; builds for CUDA 9 are reported to fail."""
    refused = refusal_of(ask("pytorch==0.4.1", gpus=("GeForce RTX 2080 Ti",)))
    assert "with CUDA 10, but not with CUDA 9" in refused.conflicts[0].detail
    assert offers(refused, "framework")[0] == "pytorch==1.0.0"
    newer = plan_of(ask("pytorch==1.0.0", gpus=("GeForce RTX 2080 Ti",)))
    assert (str(newer.choice.cuda), status_of(newer, "gpu-on-cudnn")) == ("10.0", {"ok"})
    # NVIDIA's matrix of cuDNN 8.0.4 names compute capability 8.6 for CUDA 11.1: the same major, so nothing is doubted
    assert status_of(plan_of(ask("pytorch==1.7.0", gpus=("GeForce RTX 3090",))), "gpu-on-cudnn") == {"ok"}
    assert status_of(plan_of(ask("pytorch==0.4.1", gpus=("Tesla V100",))), "gpu-on-cudnn") <= {"ok", "unknown"}


# ---- what the second sixty taught (questions-2)


def test_a_requested_cudnn_has_to_know_the_gpus() -> None:
    """cuDNN 9.11 dropped what is older than Turing, for CUDA 12 as well (pytorch/pytorch#162574)."""
    refused = refusal_of(ask(cuda="12.8", cudnn=">=9.11", gpus=("Tesla V100",)))
    (conflict,) = refused.conflicts
    assert "has no kernels for the Tesla V100" in conflict.detail and "from 7.5" in conflict.detail and conflict.sources
    assert offers(refused, "cudnn") == ["9.10"]
    chosen = plan_of(ask(cuda="12.8", gpus=("Tesla V100",))).choice.cudnn
    assert chosen is not None and str(chosen.version) == "9.10.2.21"
    assert plan_of(ask(cuda="12.8", cudnn=">=9.11", gpus=("Tesla T4",))).choice.cudnn is not None


def test_windows_has_its_own_gpu_code() -> None:
    """As measured on both systems in nikopueringer/CorridorKey#141."""
    gpus = ("GeForce GTX 1060", "GeForce RTX 5090")
    (build,) = plan_of(ask("pytorch", gpus=gpus, platform="windows")).choice.builds
    assert (str(build.version), str(build.cuda), build.platforms) == ("2.7.1", "12.8", ("windows",))
    assert refusal_of(ask("pytorch", gpus=gpus)).conflicts


def test_a_windows_driver_of_2018_gets_a_wheel_of_its_time() -> None:
    plan = plan_of(ask("pytorch", gpus=("Quadro M2000",), driver="391.74", platform="windows"))
    (build,) = plan.choice.builds
    assert (str(build.version), str(build.cuda)) == ("1.1.0", "9.0")
    (line,) = requirement_lines(build, plan.choice.python, "x86_64", Mirrors())
    assert line == "torch @ https://download.pytorch.org/whl/cu90/torch-1.1.0-cp37-cp37m-win_amd64.whl"
    assert offers(plan, "driver") == ["528.33"]


@pytest.mark.parametrize(
    ("gpu", "closest", "told"),
    [
        ("GeForce GTX 660 Ti", "", "a build from source with CUDA 10.2 or older"),
        ("GeForce GTX 670M", "", "no PyTorch release since 0.2 supports this GPU"),
    ],
)
def test_gpus_before_every_package_are_told_what_is_left(gpu: str, closest: str, told: str) -> None:
    refused = refusal_of(ask("pytorch", gpus=(gpu,), platform="windows"))
    assert closest in refused.conflicts[0].detail
    assert any(told in way for way in refused.warnings) and any("whl/cpu" in way for way in refused.warnings)
    assert not offers(refused, "gpu")


def test_fermi_cards_are_none_of_their_kepler_namesakes() -> None:
    capability = {gpu.name: str(gpu.compute_capability) for gpu in matrix().gpus}
    assert capability["GeForce GTX 670M"] == "2.1" and capability["GeForce GTX 670"] == "3.0"


def test_a_companion_is_made_for_certain_systems() -> None:
    refused = refusal_of(ask("vllm", gpus=("GeForce RTX 3080",), platform="windows"))
    (conflict,) = refused.conflicts
    assert conflict.between == ("vllm", "windows") and "not for Windows" in conflict.detail and conflict.sources
    assert offers(refused, "os") == ["wsl"]


def test_a_toolkit_is_not_supported_on_a_system_that_came_later() -> None:
    plan = plan_of(ask(cuda="12.1", os_id="ubuntu24.04"))
    assert status_of(plan, "runfile-on-os") == {"warn"}
    told = next(line for line in plan.warnings if "is older than Ubuntu 24.04" in line)
    assert "CUDA 12.5.1 on Ubuntu 24.04" in told and "CUDA 12.1.1 on Ubuntu 20.04, Ubuntu 22.04" in told
    assert status_of(plan_of(ask(cuda="12.1", os_id="ubuntu22.04")), "runfile-on-os") == {"ok"}
    # a clone of RHEL takes RHEL's packages, whenever it came out
    assert status_of(plan_of(ask(cuda="11.1", os_id="almalinux8")), "runfile-on-os") == {"unknown"}


def test_releases_that_share_an_environment_are_named() -> None:
    refused = refusal_of(ask("tensorflow==2.19", "pytorch==2.6", python="3.12"))
    assert "nvidia-cublas-cu12==12.5.3.2" in refused.conflicts[0].detail
    shared = next(way for way in refused.warnings if way.startswith("releases that share an environment"))
    assert "TensorFlow 2.21.0" in shared and "PyTorch 2.14.1" in shared
    assert not any("unknown" in change.gain for change in refused.alternatives)


def test_maintained_systems_are_offered_before_ended_ones() -> None:
    assert offers(refusal_of(ask("pytorch==2.7", os_id="ubuntu18.04")), "os") == ["ubuntu22.04"]
