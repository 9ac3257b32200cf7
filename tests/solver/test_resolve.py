"""How the resolver chooses: ranking, frameworks together, images, toolkits, Pythons, and what it offers."""

from __future__ import annotations

import pytest

from envkit.base.errors import RequestError
from envkit.base.versions import Version
from envkit.compat.system import compiling_effort
from envkit.solver.model import NoPlan
from envkit.solver.parse import parse_request
from envkit.solver.request import Request, RequestWords
from envkit.solver.solve import resolve
from tests.solver.asking import ask, matrix, offers, plan_of, refusal_of, status_of


def v(text: str) -> Version:
    return Version.parse(text)


def test_the_newest_release_comes_first_and_withdrawn_ones_last() -> None:
    newest = max(build.version for build in matrix().builds("pytorch") if not build.yanked)
    assert plan_of(ask("pytorch")).choice.builds[0].version == newest


@pytest.mark.parametrize(
    ("driver", "cuda", "level"),
    [
        ("595.45.04", "13.2", "native"),
        ("580.65.06", "13.0", "native"),  # the same release has a 13.2 build that this driver runs less well
        ("525.60.13", "12.6", "minor-version-compatibility"),  # 2.15 has no CUDA 12 build, 2.14 has
    ],
)
def test_the_driver_picks_the_cuda(driver: str, cuda: str, level: str) -> None:
    plan = plan_of(ask("pytorch", driver=driver))
    assert str(plan.choice.builds[0].cuda) == cuda
    assert status_of(plan, "driver-runs-cuda") == {level}


def test_a_driver_on_a_data_center_gpu_may_be_carried_by_cuda_compat() -> None:
    plan = plan_of(ask("pytorch==2.6", cuda="12.4", gpus=("A100-SXM4-40GB",), driver="470.256.02"))
    assert status_of(plan, "driver-runs-cuda") == {"forward-compatibility"}
    assert any("cuda-compat-12-4" in warning for warning in plan.warnings)


def test_minor_version_compatibility_is_reported_in_the_warnings() -> None:
    plan = plan_of(ask("pytorch", driver="525.60.13"))
    assert any("does not apply to PTX" in warning for warning in plan.warnings)


def test_code_that_must_be_compiled_asks_for_a_native_driver() -> None:
    plan = plan_of(ask("tensorflow==2.15.1", gpus=("H100 PCIe",)))
    assert status_of(plan, "gpu-runs-build") == {"warn"}  # PTX of 8.0
    assert plan.choice.minimum_driver == v("535.54.03")
    refused = refusal_of(ask("tensorflow==2.15.1", gpus=("H100 PCIe",), driver="525.60.13"))
    assert "cannot JIT-compile it" in refused.conflicts[0].detail
    assert offers(refused, "driver") == ["535.54.03"]


def test_a_driver_to_be_installed_is_no_limit() -> None:
    old = ask("pytorch", driver="384.81", with_driver=True)
    assert plan_of(old).choice.builds[0].version == plan_of(ask("pytorch")).choice.builds[0].version


@pytest.mark.parametrize("names", [("pytorch", "tensorflow"), ("tensorflow", "pytorch")])
def test_frameworks_share_one_python_and_the_packages_of_their_cuda(names: tuple[str, str]) -> None:
    plan = plan_of(ask(*names))
    first, second = plan.choice.builds
    assert plan.choice.python in first.pythons and plan.choice.python in second.pythons
    assert first.cuda != second.cuda and first.bundles_cuda and second.bundles_cuda
    # RELEASE.md of PyTorch: NCCL 2.29.3 and cuDNN 9.10.2.21 for CUDA 12.6; tensorflow[and-cuda] 2.21.0 has >=2.27.7
    assert {build.package for build in plan.choice.builds} == {"torch==2.14.1", "tensorflow[and-cuda]==2.21.0"}
    assert status_of(plan, "wheels-share-libraries") == {"ok"}


def test_a_release_whose_libraries_are_not_known_to_go_together_is_taken_with_a_warning() -> None:
    # what 2.2 for CUDA 11.8 on PyTorch's own index requires is not known
    plan = plan_of(ask("pytorch==2.2", "tensorflow==2.15.1"))
    assert status_of(plan, "wheels-share-libraries") == {"unknown"}
    assert any("is not known" in warning for warning in plan.warnings)


def test_wheels_that_pin_other_libraries_are_no_plan() -> None:
    # METADATA on PyPI: onnxruntime-gpu 1.31.1 [cuda,cudnn] nvidia-cudnn-cu13~=9.0, jax-cuda12-plugin nvidia-cudnn-cu12
    refused = refusal_of(ask("jax==0.6.0", "onnxruntime==1.31.1"))
    assert "both packages write nvidia/cudnn/lib/libcudnn.so.9" in refused.conflicts[0].detail
    assert refused.alternatives


@pytest.mark.parametrize(
    ("asked", "packages"),
    [
        # METADATA on PyPI: TensorFlow 2.15.1 has keras<2.16,>=2.15.0; dm-sonnet 1.36 is the last for TensorFlow 1
        (("keras", "tensorflow==2.15"), ["keras==2.15.0", "tensorflow[and-cuda]==2.15.1"]),
        (("sonnet", "tensorflow==1.15"), ["dm-sonnet==1.36", "tensorflow-gpu==1.15.5"]),
    ],
)
def test_a_version_meets_what_another_framework_requires_of_it(asked: tuple[str, str], packages: list[str]) -> None:
    plan = plan_of(ask(*asked))
    assert [build.package for build in plan.choice.builds] == packages
    assert status_of(plan, "requirement-met") == {"ok"}


def test_a_version_that_another_framework_does_not_take_is_no_plan() -> None:
    refused = refusal_of(ask("keras==2.13", "tensorflow==2.10"))
    assert refused.conflicts[0].between == ("keras==2.13", "tensorflow==2.10")
    assert "requires tensorflow==2.13.*" in refused.conflicts[0].detail
    assert {"keras==2.10.0", "tensorflow==2.13.0"} <= set(offers(refused, "framework"))


def test_frameworks_that_load_cuda_share_one_toolkit() -> None:
    plan = plan_of(ask("mxnet==1.5.1", "tensorflow==1.15.5"))
    assert {str(build.cuda) for build in plan.choice.builds} == {"10.0"}
    assert plan.choice.toolkit is not None and str(plan.choice.toolkit.release) == "10.0"
    refused = refusal_of(ask("mxnet==1.9.1", "tensorflow==1.12"))
    assert refused.conflicts[0].between == ("mxnet==1.9.1", "tensorflow==1.12")


def test_numpy_bounds_that_exclude_each_other_are_a_conflict() -> None:
    refused = refusal_of(ask("mxnet==1.9.1", "jax>=0.7.2"))
    (conflict,) = refused.conflicts
    assert set(conflict.between) == {"mxnet==1.9.1", "jax>=0.7.2"}
    assert "numpy" in conflict.detail.lower()


def test_frameworks_without_a_common_python_are_a_conflict() -> None:
    refused = refusal_of(ask("pytorch==1.1", "tensorflow>=2.16"))
    assert "no Python version in common" in refused.conflicts[0].detail


def test_a_toolkit_alone_is_the_newest_that_can_be_installed() -> None:
    choice = plan_of(ask(os_id="ubuntu24.04")).choice
    assert choice.toolkit is not None and choice.needs_toolkit and choice.builds == ()
    assert choice.runfiles and (choice.runfiles[0].sha256 or choice.runfiles[0].md5)
    assert choice.cudnn is not None and choice.cudnn_version == choice.cudnn.version


def test_a_toolkit_for_an_old_driver() -> None:
    choice = plan_of(ask(driver="450.80.02")).choice
    assert choice.cuda is not None and choice.cuda.release(2) == v("11.0")  # the newest that it runs natively


def test_cudnn_can_be_asked_for() -> None:
    choice = plan_of(ask(cuda="11.8", cudnn="8.7")).choice
    assert str(choice.cudnn_version) == "8.7.0.84"
    refused = refusal_of(ask(cuda="9.0", cudnn="9.1"))
    assert "no cuDNN 9.1 is built for CUDA 9.0" in refused.conflicts[0].detail
    assert {"cuda", "cudnn"} <= {option for change in refused.alternatives for option in change.changes}
    older = refusal_of(ask("pytorch==2.6", cudnn="7.6"))
    assert "needs cuDNN" in older.conflicts[0].detail


def test_cudnn_is_one_that_knows_the_gpu() -> None:
    pascal = plan_of(ask(cuda="12.9", gpus=("GeForce GTX 1080 Ti",))).choice
    anything = plan_of(ask(cuda="12.9")).choice
    assert pascal.cudnn is not None and anything.cudnn is not None
    assert pascal.cudnn.version < v("9.11") <= anything.cudnn.version  # 9.11 dropped Pascal


def test_a_build_for_cuda_11_2_uses_the_image_of_11_8() -> None:
    plan = plan_of(ask("mxnet", container=True))
    assert str(plan.choice.builds[0].cuda) == "11.2"
    assert plan.choice.base_image is not None and plan.choice.base_image.tag.startswith("11.8.0-cudnn8-runtime")
    assert status_of(plan, "toolkit-serves-build") == {"warn"}
    installed = plan_of(ask("mxnet")).choice
    assert installed.toolkit is not None and str(installed.toolkit.release) == "11.2"  # no image: its own CUDA


def test_an_image_never_holds_a_newer_cuda_than_the_wheel() -> None:
    for version in ("2.1", "2.6", "2.9", "2.12", "2.15"):
        choice = plan_of(ask(f"pytorch=={version}", container=True)).choice
        wheel = choice.builds[0].cuda
        image = choice.base_image
        assert wheel is not None and (image is None or image.cuda is None or image.cuda.release(2) <= wheel)
    whole_major = plan_of(ask("jax==0.4.30", container=True)).choice  # its CUDA is any 12.x
    assert whole_major.base_image is not None and whole_major.base_image.cuda is not None
    assert whole_major.base_image.cuda < v("12.4")


def test_an_image_for_a_cuda_without_supported_tags_is_the_plain_system() -> None:
    plan = plan_of(ask("tensorflow==1.12", container=True))
    assert plan.choice.base_image is None and plan.choice.os is not None and plan.choice.os.base_image is not None
    assert plan.choice.runfiles


def test_an_image_with_only_a_toolkit_can_compile() -> None:
    image = plan_of(ask(container=True, cuda="12.4")).choice.base_image
    assert image is not None and image.flavor == "devel" and image.cudnn


def test_an_image_of_a_named_system() -> None:
    choice = plan_of(ask("pytorch", container=True, os_id="rockylinux9")).choice
    assert choice.base_image is not None and choice.base_image.os_id == "rockylinux9"


def test_pythons_of_a_maintained_system_come_first_else_the_newest() -> None:
    own = plan_of(ask("pytorch", os_id="ubuntu24.04")).choice
    assert str(own.python) == "3.12" and own.python_source is not None and own.python_source.way == "system"
    ended = plan_of(ask("pytorch==2.4.1", os_id="ubuntu20.04")).choice
    assert str(ended.python) == "3.12"  # the system's 3.8 has ended with it


def test_a_python_patch_asks_for_its_line() -> None:
    assert str(plan_of(ask("pytorch", python="3.11.9")).choice.python) == "3.11"


def test_old_glibc_limits_the_wheels() -> None:
    plan = plan_of(ask("pytorch", os_id="centos7"))
    assert plan.choice.builds[0].min_glibc == v("2.17")
    assert plan.choice.builds[0].version < v("2.7.0")  # 2.7 and later want glibc 2.28
    refused = refusal_of(ask("pytorch==2.15", os_id="centos7"))
    assert "glibc 2.28 or newer" in refused.conflicts[0].detail
    assert offers(refused, "os")


def test_other_processors() -> None:
    plan = plan_of(ask(cuda="12.4", architecture="aarch64"))
    assert plan.choice.runfiles and plan.choice.runfiles[0].architecture == "aarch64"
    missing = plan_of(ask(cuda="9.0", architecture="aarch64"))
    assert status_of(missing, "runfile-for-architecture") == {"unknown"}


def test_parts_that_can_never_be_met_stand_alone() -> None:
    refused = refusal_of(ask("pytorch", driver="100.1"))
    assert refused.conflicts[0].between == ("driver 100.1",)
    assert offers(refused, "driver")


def test_several_changes_are_offered_where_only_another_gpu_would_be_enough() -> None:
    refused = refusal_of(ask("pytorch==2.6", gpus=("GeForce RTX 5090",), driver="525.60.13", cuda="12.4"))
    first, last = refused.alternatives[0].changes, refused.alternatives[-1].changes
    assert set(first) == {"framework", "cuda", "driver"} and Version.parse(first["cuda"]) >= v("12.8")
    assert set(last) == {"gpu"}


def test_one_change_is_offered_alone_where_it_is_enough() -> None:
    refused = refusal_of(ask("pytorch", gpus=("H100 PCIe",), cuda="9.0"))
    assert all(len(change.changes) == 1 for change in refused.alternatives)


def test_offers_are_ranked_by_what_they_cost() -> None:
    refused = refusal_of(ask("pytorch", gpus=("H100 PCIe",), cuda="9.0", driver="384.81", python="3.7"))
    costs = ["framework", "cuda", "cudnn", "python", "driver", "os", "gpu"]
    told = [costs.index(next(iter(change.changes))) for change in refused.alternatives if len(change.changes) == 1]
    assert told == sorted(told)


def test_a_successful_plan_says_what_a_change_would_bring() -> None:
    plan = plan_of(ask("pytorch", cuda="9.0"))
    (change,) = plan.alternatives
    assert set(change.changes) == {"cuda"} and change.gain.startswith("PyTorch ")
    assert plan_of(ask("pytorch")).alternatives == ()  # nothing could be newer


def test_archived_frameworks_say_so() -> None:
    assert any("no longer developed" in warning for warning in plan_of(ask("chainer")).warnings)


@pytest.mark.parametrize("name", [row.name for row in matrix().frameworks])
def test_every_framework_has_a_plan(name: str) -> None:
    plan = plan_of(ask(name))
    assert [build.framework for build in plan.choice.builds] == [name]
    assert plan.verdicts


def test_an_empty_request_is_a_toolkit() -> None:
    plan = resolve(Request(), matrix())
    assert not isinstance(plan, NoPlan) and plan.choice.needs_toolkit


def test_a_driver_to_be_installed_names_the_kernel_module_that_the_gpu_needs() -> None:
    old = plan_of(ask("pytorch", gpus=("GeForce GTX 1080 Ti",), with_driver=True))
    new = plan_of(ask("pytorch", gpus=("GeForce RTX 5090",), with_driver=True))
    told = [verdict.detail for plan in (old, new) for verdict in plan.verdicts if "kernel-module" in verdict.relation]
    assert len(told) == 2 and "install the proprietary module" in told[0] and "only NVIDIA's open" in told[1]


def test_a_system_that_is_not_known_is_told_and_refuses_nothing() -> None:
    plan = plan_of(ask("pytorch", os_id="gentoo"))
    assert plan.choice.os is None and any("gentoo is not in envkit's data" in warning for warning in plan.warnings)


def test_an_image_says_why_it_is_plain() -> None:
    built = plan_of(ask("tensorflow==1.12", container=True))
    assert any("no supported image has CUDA 9.0" in warning for warning in built.warnings)
    brought = plan_of(ask("pytorch==1.1", container=True))
    assert status_of(brought, "image-on-os") == {"ok"} and brought.choice.base_image is None


@pytest.mark.parametrize("gpus", [(), ("Jetson Orin",)])
def test_a_jetson_gets_no_framework_and_is_reported_where_to_look(gpus: tuple[str, ...]) -> None:
    refusal = refusal_of(ask("pytorch", gpus=gpus, platform="jetson"))
    (conflict,) = refusal.conflicts
    assert "those built for JetPack are at https://" in conflict.detail
    assert any("JetPack" in warning for warning in refusal.warnings)


def test_a_jetson_is_told_what_its_jetpack_has() -> None:
    notes = refusal_of(
        ask("pytorch", gpus=("Jetson AGX Orin 32 GB",), platform="jetson", architecture="aarch64")
    ).warnings
    assert any("JetPack 6.2 (L4T 36.4.3) has CUDA 12.6, cuDNN 9.3" in note and "Python 3.10" in note for note in notes)
    assert any("jp6/cu126" in note for note in notes) and not any("r32.7.1" in note for note in notes)


def test_a_jetson_thor_takes_the_packages_of_arm_servers() -> None:
    request = parse_request(RequestWords(frameworks=("pytorch",), gpus=("Jetson AGX Thor",)), matrix(), container=False)
    plan = plan_of(request)
    assert plan.choice.architecture == "aarch64" and status_of(plan, "gpu-runs-build") == {"ok"}
    assert plan.choice.os is not None and plan.choice.os.os_id == "ubuntu24.04"
    assert any("Jetson Thor" in warning for warning in plan.warnings)


@pytest.mark.parametrize("gpu", ["Jetson TX2", "Jetson Nano", "Jetson AGX Xavier 32 GB", "Jetson AGX Orin 32 GB"])
def test_a_jetson_gets_nothing_that_is_made_for_servers(gpu: str) -> None:
    plan = plan_of(ask(gpus=(gpu,), platform="jetson", architecture="aarch64"))
    choice = plan.choice
    assert (choice.cuda, choice.toolkit, choice.cudnn_version, choice.os, choice.minimum_driver) == (None,) * 5
    assert choice.builds == () and choice.runfiles == () and choice.base_image is None
    assert {verdict.status for verdict in plan.verdicts} == {"unknown"}


def test_a_jetson_is_refused_the_cuda_that_dropped_its_gpu() -> None:
    # CUDA 13 compiles for 7.5 and newer; the GPU of Jetson Nano is 5.3, that of Orin 8.7
    (conflict,) = refusal_of(ask(gpus=("Jetson Nano",), cuda="13.0", platform="jetson")).conflicts
    assert "Jetson Nano" in conflict.between[0] and conflict.between[1] == "cuda 13.0"
    known = plan_of(ask(gpus=("Jetson Orin NX 8 GB",), cuda="13.0", platform="jetson"))
    assert status_of(known, "gpu-runs-cuda") == {"ok"}


@pytest.mark.parametrize(
    ("gpu", "architecture", "platform"),
    [("GB200", "aarch64", "linux"), ("Jetson Orin NX 8 GB", "aarch64", "jetson"), ("B200", "x86_64", "linux")],
)
def test_a_gpu_that_is_built_onto_a_processor_provides_it(gpu: str, architecture: str, platform: str) -> None:
    request = parse_request(RequestWords(gpus=(gpu,)), matrix(), container=False)
    assert (request.architecture, request.platform) == (architecture, platform)
    if architecture != "x86_64":
        with pytest.raises(RequestError, match="exists only on"):
            parse_request(RequestWords(gpus=(gpu,), arch="x86_64"), matrix(), container=False)


def test_the_system_chosen_for_a_toolkit_has_a_compiler_that_nvcc_takes() -> None:
    plan = plan_of(ask(cuda=">=11.8,<12.2", needs_toolkit=True))
    assert plan.choice.toolkit is not None and plan.choice.os is not None
    assert compiling_effort(plan.choice.os, plan.choice.toolkit) == 0


def test_a_python_whose_files_nobody_vouches_for_is_chosen_by_nobody() -> None:
    plan = plan_of(ask("pytorch", os_id="ubuntu22.04"))
    assert plan.choice.python_source is not None and plan.choice.python_source.pinned


def test_a_requested_cudnn_is_met_or_reported() -> None:
    known = plan_of(ask("pytorch", cudnn="8.9"))  # METADATA of torch 2.3.1 on PyPI: nvidia-cudnn-cu12==8.9.2.26
    assert (str(known.choice.builds[0].version), str(known.choice.cudnn_version)) == ("2.3.1", "8.9.2.26")
    assert str(plan_of(ask("jax", cudnn="8")).choice.cudnn_version).startswith("8.9")
    open_one = plan_of(ask("pytorch==2.11", cuda="12.9", cudnn="9.10"))  # a blank cell
    assert open_one.choice.builds[0].cudnn is None and status_of(open_one, "cudnn-version") == {"unknown"}
    assert any("so it is not known whether it is 9.10" in warning for warning in open_one.warnings)


def test_no_cudnn_before_9_is_made_for_cuda_13() -> None:
    refused = refusal_of(ask("pytorch==2.15", cuda="13.0", cudnn="8.9"))  # a blank cell, too
    assert refused.conflicts[0].between[0] == "pytorch==2.15"


def test_a_build_whose_cuda_is_not_recorded_is_judged_by_its_cudnn_and_reported() -> None:
    # Theano 1.0.5, theano/gpuarray/dnn.py: "downgrading cuDNN to a version >= v5 and <= v7"
    refused = refusal_of(ask("theano", gpus=("RTX 3090",)))
    assert "do not support the NVIDIA GeForce RTX 3090" in refused.conflicts[0].detail
    older = plan_of(ask("theano", gpus=("GTX 1080 Ti",), driver="390.48"))
    assert str(older.choice.cudnn_version) == "7"
    assert status_of(older, "gpu-runs-cuda") == status_of(older, "driver-runs-cuda") == {"unknown"}
    asked = plan_of(ask("nvcaffe", cuda="12.4"))
    assert status_of(asked, "cuda-version") == {"unknown"}
    assert str(plan_of(ask("nvcaffe", cuda="10.1")).choice.builds[0].version) == "0.17.3"  # the one that says so


def test_a_library_on_top_of_a_framework_says_whose_cuda_it_uses() -> None:
    alone = plan_of(ask("keras", gpus=("RTX 3090",), cuda="12"))
    assert status_of(alone, "cuda-from-another") == {"unknown"}
    assert status_of(plan_of(ask("keras", "tensorflow", gpus=("RTX 3090",))), "cuda-from-another") == set()
    assert status_of(plan_of(ask("keras")), "cuda-from-another") == set()


def test_an_alternative_that_leaves_nothing_unknown_is_better_than_a_nearer_one() -> None:
    # the cuDNN of torch 2.11 for CUDA 12.9 is a blank cell; that of 2.3.1 is 8.9.2.26 in its METADATA on PyPI
    refused = refusal_of(ask("pytorch==2.15", cudnn="8.9"))
    assert offers(refused, "framework") == ["pytorch==2.3.1"]


def test_an_alternative_says_what_is_not_known_of_it() -> None:
    refused = refusal_of(ask("pytorch==2.15", cudnn="8.9"))
    told = {change.changes["cudnn"]: change.gain for change in refused.alternatives if "cudnn" in change.changes}
    assert told["9.26"] == "PyTorch 2.15.0 for CUDA 13.2"  # METADATA: nvidia-cudnn-cu13==9.26.0.51
    assert all(gain == "PyTorch 2.15.0 for CUDA 13.2" or "; unknown: " in gain for gain in told.values())


def test_two_frameworks_are_not_offered_together_where_pip_may_refuse_them() -> None:
    pair = refusal_of(ask("pytorch==2.15", "tensorflow==1.15"))
    assert not any("whether they can share their CUDA libraries" in change.gain for change in pair.alternatives)
    assert any("each works in its own environment" in way for way in pair.warnings)


def test_an_offer_names_the_cuda_that_its_plan_has() -> None:
    refused = refusal_of(ask(cuda="13.4", driver="384.81"))
    (offer,) = (offer for offer in refused.alternatives if "driver" in offer.changes)
    plan = plan_of(ask(cuda="13.4", driver=offer.changes["driver"]))
    assert offer.gain == f"CUDA {plan.choice.cuda}"


@pytest.mark.parametrize("zeros", ["", ".0", ".0.0.0.0"])
def test_a_version_may_be_asked_for_with_any_number_of_zeros(zeros: str) -> None:
    assert str(plan_of(ask(cuda=f"12.4.1{zeros}")).choice.cuda) == "12.4.1"
    assert str(plan_of(ask(f"pytorch==2.6.0{zeros}")).choice.builds[0].version) == "2.6.0"
