"""Images of the projects themselves: only what is known of them is said, and the smoke test works in them."""

from __future__ import annotations

import json

import pytest

from envkit.base.errors import EnvkitError
from envkit.image.options import ImageOptions
from envkit.tables import Matrix
from tests.image.making import commands, froms, made, run

OFFICIAL = ImageOptions(official=True)


@pytest.mark.parametrize(
    ("framework", "image", "title"),
    [
        (
            "mxnet==1.9.1",
            "mxnet/python:1.9.1_gpu_cu112_py3",
            "Apache MXNet 1.9.1 with CUDA 11.2 on Ubuntu 18.04 (official image)",
        ),
        (
            "tensorflow==2.21.0",
            "tensorflow/tensorflow:2.21.0-gpu",
            "TensorFlow 2.21.0 with CUDA 12.3 on Ubuntu 22.04, Python 3.11 (official image)",
        ),
        (
            "tensorflow-serving==2.20.0",
            "tensorflow/serving:2.20.0-gpu",
            "TensorFlow Serving 2.20.0 with CUDA 12.5 (official image)",
        ),
        ("caffe", "bvlc/caffe:gpu", "Caffe 1.0 (official image)"),
        ("cupy==13.6.0", "cupy/cupy:v13.6.0", "CuPy 13.6.0 (official image)"),
    ],
)
def test_labels_say_what_is_known_of_the_image(matrix: Matrix, framework: str, image: str, title: str) -> None:
    recipe_made = made(matrix, framework, options=OFFICIAL)
    assert (recipe_made.final.base.image, recipe_made.title) == (image, title)
    stored = json.loads(recipe_made.labels["io.envkit.plan"])
    row = next((one for one in matrix.framework_images if f"{one.repository}:{one.tag}" == image), None)
    for key, known in (("cuda", row and row.cuda), ("python", row and row.python), ("os", row and row.os_id)):
        assert stored[key] == (str(known) if known else None)
    assert stored["base_image"] == image
    assert stored["frameworks"][0]["package"] is None
    assert not stored["needs_toolkit"]
    details = " ".join(one.detail for one in recipe_made.plan.verdicts)
    assert "nvidia/cuda:" not in details


def test_a_name_that_names_its_cuda_is_believed(matrix: Matrix) -> None:
    """swr.cn-south-1.myhuaweicloud.com/mindspore/mindspore-gpu-cuda11.6:2.2.14, as public guides pull it."""
    recipe_made = made(matrix, "mindspore==2.2.14", options=OFFICIAL)
    image = "swr.cn-south-1.myhuaweicloud.com/mindspore/mindspore-gpu-cuda11.6:2.2.14"
    assert recipe_made.final.base.image == image
    assert recipe_made.title == "MindSpore 2.2.14 with CUDA 11.6 (official image)"
    assert recipe_made.plan.choice.cudnn_version is None
    assert any("it was not verified" in note for note in recipe_made.notes)


def test_a_server_without_python_is_tried_as_one() -> None:
    rendered = run("--framework", "tensorflow-serving", "--target", "any").stdout
    assert "tensorflow_model_server --version" in rendered
    assert "import tensorflow_serving" not in rendered
    assert "--entrypoint smoke-test tensorflow-serving" in rendered
    assert commands(rendered, "CMD") == []
    assert "AS smoke-test" not in rendered  # its server loads the driver's library


def test_gpus_are_given_where_the_cuda_is_not_known(matrix: Matrix) -> None:
    variables = made(matrix, "caffe", options=OFFICIAL).runtime.environment
    assert variables["NVIDIA_VISIBLE_DEVICES"] == "all"
    assert "NVIDIA_REQUIRE_CUDA" not in variables


def test_an_entrypoint_does_not_swallow_the_test() -> None:
    rendered = run("--framework", "pytorch", "--target", "any", "--entrypoint", "python -m serve").stdout
    assert "docker run --rm --gpus all --entrypoint smoke-test pytorch" in rendered


def test_packages_of_a_distribution_that_nobody_knows_are_not_dropped() -> None:
    arguments = ("--framework", "pytorch==2.5.1", "--from", "official", "--apt", "git", "--target", "any")
    with pytest.raises(EnvkitError, match="not known to envkit. Specify it with --os"):
        run(*arguments)
    assert "        git\n" in run(*arguments, "--os", "ubuntu22.04").stdout


def test_the_backend_is_in_the_official_image() -> None:
    rendered = run("--framework", "chainer", "--from", "official", "--target", "any").stdout
    assert froms(rendered)[0].startswith("chainer/chainer:v")


@pytest.mark.parametrize(
    ("arguments", "told", "untold"),
    [
        (("--framework", "nvcaffe"), "be built from source. envkit matrix nvcaffe", "CUDA None|--from official"),
        (("--framework", "nvcaffe", "--from", "official"), "no official image of ", "envkit builds|newest"),
        (
            ("--framework", "tensorflow==2.21.0", "--from", "official", "--cuda", "12.5"),
            "with CUDA 12.5 is known to envkit. Without --from",
            "==2.21.0",
        ),
        (
            ("--framework", "mxnet==1.2", "--from", "official"),
            "The newest version with one: --framework mxnet==1.9.1",
            "1.2.1.",
        ),
    ],
)
def test_no_advice_leads_nowhere(arguments: tuple[str, ...], told: str, untold: str) -> None:
    with pytest.raises(EnvkitError, match=told) as caught:
        run(*arguments, "--target", "any")
    advice = caught.value.hint
    assert not any(word in advice for word in untold.split("|")), advice
