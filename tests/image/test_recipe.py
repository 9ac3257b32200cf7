from __future__ import annotations

import json
import re
import subprocess
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envkit.base.errors import EnvkitError
from envkit.base.settings import Mirrors
from envkit.image.options import ImageOptions
from envkit.image.recipe import recipe
from envkit.render.dockerfile import render_dockerfile, shell_word
from envkit.solver.model import NoPlan, Plan
from envkit.tables import Matrix
from tests.image.making import commands, froms, made, parsed, plan, planned, request, text


@pytest.mark.parametrize(
    ("framework", "limits", "options", "base"),
    [
        ("tensorflow", {}, ImageOptions(), r"nvidia/cuda:12\.5\.\d-base-ubuntu24\.04"),
        ("tensorflow", {}, ImageOptions(slim=True), r"ubuntu:24\.04"),
        ("tensorflow", {"os_id": "rockylinux9"}, ImageOptions(), r"nvidia/cuda:12\.5\.\d-base-rockylinux9"),
        ("tensorflow==2.13", {"cuda": "11.8"}, ImageOptions(), r"nvidia/cuda:11\.8\.0-cudnn8-runtime-ubuntu22\.04"),
        ("mxnet", {}, ImageOptions(), r"nvidia/cuda:11\.8\.0-cudnn8-runtime-ubuntu22\.04"),
        ("tensorflow", {}, ImageOptions(base="mine/base:1"), r"mine/base:1"),
    ],
)
def test_the_smallest_base_that_serves(
    matrix: Matrix, framework: str, limits: dict[str, str], options: ImageOptions, base: str
) -> None:
    rendered = text(matrix, framework, options=options, **limits)
    assert re.fullmatch(base, froms(rendered)[-1]), froms(rendered)


def test_devel_only_when_asked_for(matrix: Matrix) -> None:
    assert "-devel-" not in text(matrix, cuda="12.9")
    assert "-runtime-" in text(matrix, cuda="12.9")
    assert "-devel-" in text(matrix, cuda="12.9", options=ImageOptions(devel=True))


@pytest.mark.parametrize(
    ("limits", "options", "base", "cudnn"),
    [
        ({"cuda": "12.4"}, ImageOptions(), "nvidia/cuda:12.4.1-cudnn-runtime-ubuntu22.04", "9"),
        ({"cuda": "12.0"}, ImageOptions(), "nvidia/cuda:12.0.1-cudnn8-runtime-ubuntu22.04", "8"),
        ({"cuda": "12.1"}, ImageOptions(devel=True), "nvidia/cuda:12.1.1-cudnn8-devel-ubuntu22.04", "8"),
        ({"cuda": "13.0"}, ImageOptions(), "nvidia/cuda:13.0.3-cudnn-runtime-ubuntu24.04", "9"),
        ({"cuda": "12.4", "cudnn": "9.3"}, ImageOptions(), "nvidia/cuda:12.4.1-runtime-ubuntu22.04", "9.3.0.75"),
        ({"cuda": "12.4"}, ImageOptions(slim=True), "ubuntu:22.04", "9.27.0.42"),
        (
            {"cuda": "12.0", "architecture": "aarch64"},
            ImageOptions(),
            "nvidia/cuda:12.0.1-cudnn8-runtime-ubuntu22.04",
            "8",
        ),
    ],
)
def test_cuda_alone_gets_its_cudnn_without_a_python(
    matrix: Matrix, limits: dict[str, str], options: ImageOptions, base: str, cudnn: str | None
) -> None:
    recipe_made = made(matrix, options=options, **limits)
    rendered = render_dockerfile(recipe_made)
    assert froms(rendered)[-1] == base
    assert "pip install" not in rendered and "/opt/venv" not in rendered
    held = recipe_made.plan.choice.cudnn_version
    assert (str(held) if held else None) == cudnn
    assert ("-archive.tar.xz" in rendered) == (cudnn is not None and "." in cudnn)
    assert any("has no cuDNN" in note for note in recipe_made.notes) == (cudnn is None)
    assert all(base in one.detail for one in recipe_made.plan.verdicts if one.relation == "image-on-os")


def test_a_cudnn_that_nothing_provides_is_not_in_the_plan(matrix: Matrix) -> None:
    recipe_made = made(matrix, "cupy==12.3.0", cuda="10.2")
    assert recipe_made.plan.choice.cudnn_version is None
    assert any("has no cuDNN" in note for note in recipe_made.notes)


@pytest.mark.parametrize(
    ("framework", "told"),
    [("theano", "it is not known which CUDA Theano 1.0.5 needs"), ("tensorflow-lite", "the plan has no CUDA")],
)
def test_an_image_without_cuda_says_so(matrix: Matrix, framework: str, told: str) -> None:
    chosen = made(matrix, framework).plan
    verdict = next(one for one in chosen.verdicts if one.relation == "image-on-os")
    assert verdict.detail.startswith(told) and chosen.choice.base_image is None
    assert (verdict.detail in chosen.warnings) == (framework == "theano")
    assert chosen.choice.cuda is None and chosen.choice.cudnn_version is None
    assert not any("has no cuDNN" in warning for warning in chosen.warnings)


def test_a_cudnn_that_only_a_package_provides_needs_a_python(matrix: Matrix) -> None:
    with pytest.raises(EnvkitError, match="only as a Python package.*Add --python"):
        made(matrix, cuda="12.9", architecture="aarch64", cudnn="9.11")
    rendered = text(matrix, cuda="12.9", architecture="aarch64", cudnn="9.11", python="3.12")
    assert "-m venv /opt/venv" in rendered
    assert '"nvidia-cudnn-cu12==9.11' in rendered


@pytest.mark.parametrize("cuda", ["8.0", "9.0", "9.2", "10.0", "10.1", "10.2"])
def test_cuda_without_an_image_comes_from_its_checked_runfile(matrix: Matrix, cuda: str) -> None:
    chosen = plan(matrix, cuda=cuda)
    rendered = render_dockerfile(recipe(chosen, ImageOptions(), Mirrors(), matrix))
    assert all(name.startswith("ubuntu:") for name in froms(rendered))
    runfile = chosen.choice.runfiles[0]
    assert runfile.url in rendered
    assert (runfile.sha256 or runfile.md5 or "no checksum") in rendered
    assert "--toolkit" in rendered
    assert "--driver" not in rendered


def test_the_oldest_installers_find_their_perl_module(matrix: Matrix) -> None:
    assert "PERL5LIB=/tmp sh" in text(matrix, cuda="8.0")
    assert "PERL5LIB" not in text(matrix, cuda="10.1")


def test_a_digest_pins_the_base(matrix: Matrix) -> None:
    chosen = plan(matrix, "tensorflow")
    image = chosen.choice.base_image
    assert image is not None
    digest = "sha256:" + "a" * 64
    pinned = replace(chosen, choice=replace(chosen.choice, base_image=replace(image, digest=digest)))
    rendered = render_dockerfile(recipe(pinned, ImageOptions(digest=True), Mirrors(), matrix))
    assert f"FROM {image.repository}:{image.tag}@{digest} AS runtime" in rendered
    assert "sha256:a" not in render_dockerfile(recipe(pinned, ImageOptions(), Mirrors(), matrix))
    unknown = recipe(chosen, ImageOptions(digest=True), Mirrors(), matrix)
    assert any("no digest" in note for note in unknown.notes)


def test_jupyter_on_plain_cuda_suits_the_distribution_python(matrix: Matrix) -> None:
    rendered = text(matrix, cuda="9.0", os_id="ubuntu18.04", options=ImageOptions(jupyter=True))
    assert '"jupyterlab==3.2.9"' in rendered
    assert "python3 -m venv /opt/venv" in rendered
    assert "/opt/venv" not in text(matrix, cuda="9.0", os_id="ubuntu18.04")


def test_no_smoke_stage_where_the_import_needs_a_driver(matrix: Matrix) -> None:
    assert "AS smoke-test" in text(matrix, "tensorflow")
    assert "AS smoke-test" not in text(matrix, "mxnet")
    assert "/usr/local/bin/smoke-test" in text(matrix, "mxnet")


def test_labels_hold_the_plan(matrix: Matrix) -> None:
    label = next(part for part in parsed(text(matrix, "pytorch")) if part.cmd.upper() == "LABEL")
    pairs = dict(zip(label.value[::3], label.value[1::3], strict=False))
    stored = json.loads(json.loads(pairs["io.envkit.plan"]))
    assert stored["frameworks"][0]["name"] == "pytorch"
    assert stored["os"].startswith("ubuntu")


def test_containers_run_as_user_1000(matrix: Matrix) -> None:
    for os_id in ("ubuntu22.04", "ubuntu24.04", "rockylinux9"):
        rendered = text(matrix, "tensorflow", os_id=os_id)
        assert commands(rendered, "USER") == ["1000"]
        assert "getent passwd 1000 || useradd" in rendered


def test_a_name_that_was_asked_for_holds(matrix: Matrix) -> None:
    """ubuntu24.04 has a user 1000 already, who is called ubuntu."""
    rendered = text(matrix, "pytorch", os_id="ubuntu24.04", options=ImageOptions(user="bob"))
    assert 'usermod --login bob --home /home/bob --move-home "$(id -nu 1000)"' in rendered
    assert "usermod" not in text(matrix, "pytorch", os_id="ubuntu24.04")


def test_the_strictest_build_says_which_driver(matrix: Matrix) -> None:
    orders = (("tensorflow", "cupy"), ("cupy", "tensorflow"))  # of CUDA 12 in its packages, and of the system's 13
    told = {made(matrix, *order).runtime.environment["NVIDIA_REQUIRE_CUDA"] for order in orders}
    assert told == {"cuda>=13.0"}
    assert all("CUDA 12.5 and 13" in made(matrix, *order).title for order in orders)


def test_the_host_driver_is_asked_for_as_the_plan_needs_it(matrix: Matrix) -> None:
    rendered = text(matrix, "tensorflow", os_id="ubuntu22.04")
    variables = " ".join(commands(rendered, "ENV"))
    assert "NVIDIA_VISIBLE_DEVICES all" in variables
    assert "NVIDIA_DRIVER_CAPABILITIES compute,utility" in variables
    # CUDA 12.5 inside the packages runs on every driver of CUDA 12 (525.60.13 reports 12.0).
    assert 'NVIDIA_REQUIRE_CUDA="cuda>=12.0"' in rendered


def test_a_plan_without_cuda_asks_for_no_driver(matrix: Matrix) -> None:
    rendered = text(matrix, "tensorflow-lite")
    assert "NVIDIA_" not in rendered
    assert "--gpus" not in rendered


def test_options_land_in_the_image(matrix: Matrix) -> None:
    options = ImageOptions(
        pip=("pandas==2.2.3", "rich"),
        requirements="requirements.txt",
        apt=("git", "ffmpeg"),
        jupyter=True,
        workdir="/data",
        user="worker",
    )
    rendered = text(matrix, "tensorflow", options=options)
    assert '"pandas==2.2.3"' in rendered and '"rich"' in rendered
    assert "source=requirements.txt,target=/tmp/requirements.txt" in rendered
    assert "        ffmpeg \\\n        git \\\n" in rendered
    assert re.search(r'"jupyterlab==\d', rendered)
    assert commands(rendered, "WORKDIR") == ["/data"]
    assert "install -d -o 1000 -g 1000 /data" in rendered
    assert "--shell /bin/bash worker" in rendered
    assert commands(rendered, "CMD")[0].startswith("jupyter lab")
    assert commands(rendered, "EXPOSE") == ["8888"]
    assert len(commands(rendered, "HEALTHCHECK")) == 1


def test_an_entrypoint_replaces_the_shell(matrix: Matrix) -> None:
    rendered = text(matrix, "tensorflow", options=ImageOptions(entrypoint="python -m serve --port 80"))
    assert commands(rendered, "ENTRYPOINT") == ["python -m serve --port 80"]
    assert commands(rendered, "CMD") == []


def test_mirrors_replace_vendors(matrix: Matrix) -> None:
    mirrors = Mirrors(
        hosts={"developer.nvidia.com": "https://files.example", "download.pytorch.org": "https://torch.example/x"},
        index_url="https://index.example/simple",
        apt="https://apt.example/ubuntu",
    )
    chosen = plan(matrix, cuda="9.0")
    rendered = render_dockerfile(recipe(chosen, ImageOptions(pip=("six==1.16.0",)), mirrors, matrix))
    assert "https://files.example/compute/cuda/9.0" in rendered
    assert "developer.nvidia.com" not in rendered
    assert '--index-url "https://index.example/simple"' in rendered
    assert "#https://apt.example/ubuntu/#g" in rendered
    chosen = plan(matrix, "pytorch==2.5.1", cuda="11.8")
    rendered = render_dockerfile(recipe(chosen, ImageOptions(), mirrors, matrix))
    assert '--index-url "https://torch.example/x/whl/cu118"' in rendered


def test_pip_is_told_to_take_what_comes_over_plain_http(matrix: Matrix) -> None:
    mirrors = Mirrors({"download.pytorch.org": "http://torch.lan"}, index_url="http://index.lan/simple")
    chosen = plan(matrix, "pytorch==2.5.1", cuda="11.8")
    rendered = render_dockerfile(recipe(chosen, ImageOptions(requirements="requirements.txt"), mirrors, matrix))
    for host, address in (("torch.lan", "http://torch.lan/"), ("index.lan", "http://index.lan/")):
        assert 0 < rendered.count(address) == rendered.count(f'--trusted-host "{host}"')


@pytest.mark.parametrize(
    ("limits", "way", "told"),
    [
        ({"python": "3.12", "os_id": "ubuntu24.04"}, "system", "python3 -m venv /opt/venv"),
        ({"python": "3.11", "os_id": "ubuntu22.04"}, "deadsnakes", "python3.11 -m venv /opt/venv"),
        ({"python": "3.11", "os_id": "ubuntu24.04"}, "standalone", "/opt/python/bin/python3.11 -m venv /opt/venv"),
    ],
)
def test_ways_to_get_a_python(matrix: Matrix, limits: dict[str, str], way: str, told: str) -> None:
    chosen = plan(matrix, "pytorch==2.5.1", **limits)
    assert chosen.choice.python_source is not None
    assert chosen.choice.python_source.way == way
    rendered = render_dockerfile(recipe(chosen, ImageOptions(), Mirrors(), matrix))
    assert told in rendered
    if way == "standalone":
        assert re.search(r"echo \"[0-9a-f]{64}  \$file\" > /tmp/checksum", rendered)


def test_an_old_python_comes_from_conda(matrix: Matrix) -> None:
    rendered = text(matrix, "pytorch==1.1", cuda="9.0", python="3.7", os_id="ubuntu22.04")
    assert "'python=3.7'" in rendered or "python3.7 -m venv" in rendered
    rendered = text(matrix, "pytorch==1.1", cuda="9.0", python="3.6", os_id="ubuntu22.04")
    assert "micromamba create" in rendered
    assert "'python=3.6'" in rendered
    assert '--upgrade "pip<22"' in rendered


def test_the_official_image_as_an_alternative(matrix: Matrix) -> None:
    rendered = text(matrix, "pytorch==2.5.1", options=ImageOptions(official=True))
    assert froms(rendered)[0].startswith("pytorch/pytorch:2.5.1-cuda")
    assert "pip install" not in rendered
    assert commands(rendered, "USER") == ["1000"]


def test_a_framework_without_an_official_image_is_refused(matrix: Matrix) -> None:
    with pytest.raises(EnvkitError, match="no official image of JAX.*Without --from envkit builds the image itself"):
        made(matrix, "jax", options=ImageOptions(official=True))
    with pytest.raises(EnvkitError, match="no official image of MindSpore.*Without --from envkit builds"):
        made(matrix, "mindspore==1.10", options=ImageOptions(official=True))


def test_the_newest_with_an_official_image_is_offered(matrix: Matrix) -> None:
    with pytest.raises(EnvkitError, match="The newest version with one: --framework mxnet=="):
        made(matrix, "mxnet==1.2", options=ImageOptions(official=True))


def test_tensorflow_serving_comes_as_its_image(matrix: Matrix) -> None:
    assert froms(text(matrix, "tensorflow-serving"))[0].startswith("tensorflow/serving:")


def test_keras_gets_its_backend(matrix: Matrix) -> None:
    found = planned(request("keras"), matrix)
    assert isinstance(found, Plan)
    assert {build.framework for build in found.choice.builds} == {"keras", "tensorflow"}
    with_torch = planned(request("keras", "pytorch"), matrix)
    assert isinstance(with_torch, Plan)
    assert {build.framework for build in with_torch.choice.builds} == {"keras", "pytorch"}


def test_what_no_image_can_hold_says_why(matrix: Matrix) -> None:
    with pytest.raises(EnvkitError, match="Caffe2 0.8.1 with CUDA 9.0.*add --cuda"):
        made(matrix, "caffe2", cuda="9.0")


@pytest.mark.parametrize(
    ("framework", "limits", "python", "os_id"),
    [
        ("caffe", {}, "2.7", "ubuntu16.04"),
        ("caffe", {"python": "3.6"}, "3.6", "ubuntu18.04"),
        ("caffe", {"cuda": "8.0", "os_id": "ubuntu18.04"}, "3.6", "ubuntu18.04"),
        ("caffe", {"python": "2.7", "os_id": "ubuntu18.04"}, "2.7", "ubuntu18.04"),
        ("caffe2", {"cuda": "8.0"}, "2.7", "ubuntu16.04"),
        ("caffe2", {}, "2.7", "ubuntu16.04"),  # its newest build is for CUDA 9.0 and has no recipe
        ("torch7", {}, None, "ubuntu18.04"),
    ],
)
def test_a_source_build_is_its_plan(
    matrix: Matrix, framework: str, limits: dict[str, str], python: str | None, os_id: str
) -> None:
    """The Python and cuDNN that the plan names are those that the framework is compiled with."""
    recipe_made = made(matrix, framework, options=ImageOptions(), **limits)
    choice = recipe_made.plan.choice
    assert (str(choice.python) if choice.python else None, choice.os and choice.os.os_id) == (python, os_id)
    rendered = render_dockerfile(recipe_made)
    name = "python3" if python and python.startswith("3") else "python"
    built = rendered[rendered.index(f"AS {framework}-build") :]
    assert (f"        {name}-numpy" in built) == (python is not None)
    if framework == "caffe":
        assert f"-Dpython_version={(python or '')[0]}" in built
        assert f"{name} -c '" in built
    assert choice.cudnn is not None and choice.cudnn.sha256 is not None and choice.cudnn.sha256 in rendered
    into = built.index("COPY --from=cudnn /usr/local/cudnn /usr/local/cudnn")
    assert into < built.index("cp -a /usr/local/cudnn/include/. /usr/local/cuda/include/") < built.index("AS runtime")
    assert "COPY --from=cudnn /usr/local/cudnn/lib64 /usr/local/cudnn/lib64" in built


@pytest.mark.parametrize(
    ("framework", "limits", "told"),
    [
        ("caffe", {"os_id": "ubuntu22.04"}, "own Python.*2.7 or 3.6"),
        ("caffe", {"os_id": "rockylinux9"}, "Debian and Ubuntu only"),
        ("caffe", {"python": "3.5"}, "does not have Python 3.5"),
        ("caffe", {"python": "3.6", "os_id": "ubuntu16.04"}, "does not have Python 3.6"),
    ],
)
def test_a_source_build_that_its_system_cannot_hold(
    matrix: Matrix, framework: str, limits: dict[str, str], told: str
) -> None:
    found = planned(request(framework, **limits), matrix)
    assert isinstance(found, NoPlan)
    assert re.search(told, found.conflicts[0].detail)
    assert [dict(one.changes) for one in found.alternatives] == [{"os": "ubuntu18.04", "python": "3.6"}]


def test_aarch64_where_there_are_packages(matrix: Matrix) -> None:
    rendered = text(matrix, cuda="12.9", architecture="aarch64", os_id="ubuntu22.04")
    assert "x86_64" not in rendered.replace('\\"arch\\":\\"x86_64', "")


def test_without_the_syntax_line(matrix: Matrix) -> None:
    assert text(matrix, "tensorflow").startswith("# syntax=docker/dockerfile:1\n")
    assert "syntax=" not in text(matrix, "tensorflow", options=ImageOptions(syntax=False))


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=40))
def test_a_shell_word_is_read_back(word: str) -> None:
    done = subprocess.run(["sh", "-c", f"printf %s {shell_word(word)}"], capture_output=True, text=True, check=True)
    assert done.stdout == word


def test_a_source_build_has_the_compiler_that_its_nvcc_takes(matrix: Matrix) -> None:
    rendered = render_dockerfile(made(matrix, "caffe", options=ImageOptions(), cuda="8.0", os_id="ubuntu18.04"))
    assert "        g++-5 \\\n" in rendered and "export CC=gcc-5 CXX=g++-5" in rendered
    assert "export CC=" not in render_dockerfile(made(matrix, "caffe", options=ImageOptions()))


@pytest.mark.parametrize("torch", ["1.0.0", "1.0.1", "1.1.0", "1.2.0", "1.3.1", "1.4.0"])
def test_pillow_is_one_that_an_old_torchvision_imports(torch: str, matrix: Matrix) -> None:
    """torchvision before 0.5 imports PILLOW_VERSION, which Pillow 7 dropped; its own bound lets every Pillow in."""
    builds = [build for build in matrix.builds("pytorch") if str(build.version) == torch and build.companions]
    assert builds
    for build in builds:
        assert ("pillow<7" in build.companions) is (torch != "1.4.0")
