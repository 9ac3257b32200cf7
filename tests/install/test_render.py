"""The script as text: every combination renders, parses and passes shellcheck; the same plan gives the same bytes."""

from __future__ import annotations

import re

import pytest

from envkit._startup.records import replace
from envkit.base.errors import EnvkitError
from envkit.base.settings import Mirrors
from envkit.install.options import ScriptOptions
from envkit.solver.model import NoPlan
from tests.cli.run import envkit
from tests.install.plans import outcome, plan, scripted
from tests.install.sweep import combinations, render_all


def script(*arguments: str, options: ScriptOptions | None = None, **more: str) -> str:
    return scripted(plan(*arguments, **more), options or ScriptOptions(), Mirrors())  # type: ignore[arg-type]


def test_a_part_of_all_combinations_parses() -> None:
    """`make test-sweep` takes many more, and checks them with shellcheck."""
    found = render_all(combinations(every=2503))
    assert found.rendered > 1
    assert found.faults == []


def test_cuda_9_with_pytorch_names_its_runfile_and_a_fitting_python_and_no_driver() -> None:
    text = script("9.0", "pytorch")
    assert text.startswith("#!/usr/bin/env bash\n")
    assert "cuda_9.0.176_384.81_linux-run" in text
    assert "96863423feaa50b5c1c5e1b9ec537ef7ba77576a3986652351ae43e66bcd080c" in text
    assert "torch==1.1.0" in text
    assert re.search(r"^PYTHON=3\.[567]$", text, re.M)
    assert "--driver" not in re.sub(r"^#.*", "", text, flags=re.M)
    assert "install_driver" not in text


def test_a_gpu_that_cannot_run_it_is_refused() -> None:
    found = outcome("9.0", "pytorch", gpus=("9.0",))
    assert isinstance(found, NoPlan)
    assert found.conflicts and found.alternatives


def test_patches_run_in_order_after_the_toolkit() -> None:
    text = script("9.0")
    steps = re.findall(r"^  run_step \d+ (\S+)", text, re.M)
    wanted = ["toolkit", "patch-1", "patch-2", "patch-3", "patch-4", "cudnn", "link", "environment", "verify"]
    assert [step for step in steps if step in wanted] == wanted


def test_each_installer_style_gets_its_own_options() -> None:
    legacy, middle, new = script("9.0"), script("10.1.105"), script("12.4.1")
    assert "--verbose" in legacy and "--defaultroot" not in legacy and "--accept-eula --installdir=" in legacy
    assert '--librarypath="$TOOLKIT_DIR"' in middle and "--librarypath" not in new
    assert '--toolkitpath="$TOOLKIT_DIR" --defaultroot="$TOOLKIT_DIR"' in new and "--verbose" not in new


def test_samples_only_where_the_release_has_them() -> None:
    wanted = ScriptOptions(samples=True)
    assert "--samples" in script("10.2", options=wanted)
    later = script("12.4", options=wanted)
    assert not re.search(r"^\s*run_installer.*--samples", later, re.M)
    assert "--samples: this release has none" in later


def test_choices_shape_the_script() -> None:
    text = script("12.4", options=ScriptOptions(symlink=False, accept_eula=False, toolkit_path="/data/my cuda"))
    assert "TOOLKIT_DIR='/data/my cuda'" in text
    assert "link_toolkit" not in text
    assert 'Type "accept"' in text


def test_never_ld_library_path_for_the_user() -> None:
    for text in (script("9.0", "pytorch"), script("12.5", "tensorflow"), script("13.0")):
        assert "export LD_LIBRARY_PATH" not in text


def test_mirrors_stand_in_for_vendors() -> None:
    mirrors = Mirrors(
        hosts={"developer.nvidia.com": "https://mirror.lan/nvidia"}, index_url="https://mirror.lan/simple"
    )
    text = scripted(plan("9.0", "pytorch"), ScriptOptions(), mirrors)
    assert "https://mirror.lan/nvidia/compute/cuda/9.0" in text
    assert "https://developer.nvidia.com/compute/cuda/9.0/Prod" not in text
    assert "--index-url https://mirror.lan/simple" in text


@pytest.mark.parametrize(("platform", "words"), [("windows", "--os windows"), ("jetson", "nvidia-jetpack")])
def test_windows_and_jetson_are_told_what_to_do_instead(platform: str, words: str) -> None:
    found = plan("12.4")
    with pytest.raises(EnvkitError, match=words):
        scripted(replace(found, request=replace(found.request, platform=platform)), ScriptOptions(), Mirrors())


def test_under_wsl_the_toolkit_comes_alone() -> None:
    found = plan("12.4", os_id="ubuntu22.04", platform="wsl", gpus=("8.6",))
    assert "install_toolkit" in scripted(found, ScriptOptions(), Mirrors())
    with pytest.raises(EnvkitError, match="part of Windows"):
        scripted(found, ScriptOptions(with_driver=True), Mirrors())


def test_a_driver_needs_to_know_the_gpu() -> None:
    with pytest.raises(EnvkitError, match="--gpu"):
        scripted(plan("12.4", with_driver=True), ScriptOptions(with_driver=True), Mirrors())


@pytest.mark.parametrize(
    ("gpu", "package", "absent"),
    [("6.1", 'nvidia-driver-580" ', '-open" '), ("12.0", 'nvidia-driver-580-open" ', 'nvidia-driver-580" ')],
)
def test_the_kernel_module_follows_the_gpu(gpu: str, package: str, absent: str) -> None:
    found = plan("12.8", os_id="ubuntu24.04", gpus=(gpu,), with_driver=True)
    text = scripted(found, ScriptOptions(with_driver=True), Mirrors())
    names = re.search(r"^DRIVER_PACKAGES=\((.*)\)$", text, re.M)
    assert names is not None
    assert package in names.group(1) and absent not in names.group(1)


def test_the_bundled_driver_is_not_used_where_the_runfile_has_none() -> None:
    found = plan("13.4", os_id="ubuntu24.04", gpus=("9.0",), with_driver=True)
    text = scripted(found, ScriptOptions(with_driver=True), Mirrors())
    assert "this CUDA runfile contains no suitable one" in text


def test_a_standalone_python_is_pinned() -> None:
    text = script("12.4", "pytorch", os_id="ubuntu20.04")
    found = re.search(r"get_file (cpython-\S+) https://github.com/\S+ sha256 ([0-9a-f]{64})", text)
    assert found is not None


def test_a_program_is_told_how_its_cuda_packages_are_found() -> None:
    """onnxruntime.ai, CUDA Execution Provider: preload_dlls loads the libraries of the site packages."""
    text = script(framework="onnxruntime", os_id="ubuntu24.04")
    advice = "call onnxruntime.preload_dlls() before the first session"
    assert advice in text
    probe = text[text.index("import onnxruntime") :]
    assert probe.index("onnxruntime.preload_dlls()") < probe.index('attempt("onnxruntime provider", libraries)')
    assert "preload" not in script(framework="pytorch", os_id="ubuntu24.04")


@pytest.mark.parametrize(("cuda", "archive"), [("11.8", "8.9.7.29_cuda11"), ("12.8", "_cuda12"), ("13.0", "_cuda13")])
def test_cudnn_is_installed_on_aarch64_too(cuda: str, archive: str) -> None:
    """The newest cuDNN there is known as a package alone; a script needs one that is known as an archive."""
    text = script(cuda, os_id="ubuntu22.04", architecture="aarch64")
    assert re.search(rf"get_file cudnn-linux-sbsa-\S*{archive}-archive.tar.xz https://\S+ sha256 [0-9a-f]{{64}}", text)


def test_the_last_words_name_a_way_into_the_environment_that_is_there() -> None:
    conda, venv = script("9.0", "pytorch"), script(framework="pytorch", os_id="ubuntu24.04")
    assert "micromamba" in conda and "bin/activate" not in conda  # only a venv has that script
    assert "say 'Python: /opt/envkit/pytorch-1.1.0-cu90/bin/python (its pip: " in conda
    assert re.search(r"^  say 'Python: [.] /opt/envkit/\S+/bin/activate'$", venv, re.M)


def test_each_license_is_named_where_its_part_is_installed() -> None:
    toolkit, driver = "docs.nvidia.com/cuda/eula", "nvidia-license/linux"
    alone, framework = script("12.4"), script(framework="pytorch", os_id="ubuntu24.04")
    found = plan("12.4", os_id="ubuntu24.04", gpus=("8.6",), with_driver=True)
    both = scripted(found, ScriptOptions(with_driver=True, accept_eula=False), Mirrors())
    assert toolkit in alone and driver not in alone
    assert toolkit not in framework and driver not in framework
    header, body = both.split("set -Eeuo pipefail")
    assert toolkit in header and driver in header and driver in body
    found = replace(found, choice=replace(found.choice, needs_toolkit=False))
    only = scripted(found, ScriptOptions(with_driver=True), Mirrors())
    assert driver in only and toolkit not in only


def test_a_script_for_the_driver_alone_shows_nothing_that_it_does_not_install() -> None:
    words = ("--with-driver", "--no-toolkit", "--gpu", "Tesla K80", "--os", "ubuntu20.04", "--target", "any")
    done = envkit("install", *words)
    header = done.stdout.partition("set -Eeuo pipefail")[0]
    for text in (header, done.stderr):
        plain = " ".join(text.replace("#", " ").split())
        assert "nvidia-driver-470" in plain, done
        assert not re.search(r"^\W*(CUDA|cuDNN|Python)  ", text, re.M), text  # a row of the plan
        assert "gcc" not in text and "which GPUs cuDNN" not in text
    toolkit = script("12.4").partition("set -Eeuo pipefail")[0]
    assert re.search("^#   CUDA ", toolkit, re.M) and not re.search("^#   Python ", toolkit, re.M)


@pytest.mark.parametrize(
    ("alone", "words"), [(True, "asked when NVIDIA's installer or zypper needs it"), (False, "asked: ")]
)
def test_the_license_of_a_driver_alone_is_asked_for_only_by_some(alone: bool, words: str) -> None:
    found = plan("12.4", os_id="ubuntu24.04", gpus=("8.6",), with_driver=True)
    found = replace(found, choice=replace(found.choice, needs_toolkit=not alone))
    text = scripted(found, ScriptOptions(with_driver=True, accept_eula=False), Mirrors())
    assert f"#   EULA         {words}" in text


def test_wsl_is_no_distribution_and_the_answer_says_what_to_name() -> None:
    found = plan("12.4", os_id="ubuntu22.04")
    assert found.choice.os is not None
    found = replace(found, choice=replace(found.choice, os=replace(found.choice.os, os_id="wsl")))
    with pytest.raises(EnvkitError, match="ubuntu22.04"):
        scripted(found, ScriptOptions(), Mirrors())
