"""Real builds with a real engine. The bases are distribution roots under the names that the Dockerfiles give."""

from __future__ import annotations

import io
import tarfile
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from envkit.base.settings import Mirrors
from envkit.image.options import ImageOptions
from envkit.image.parts import Recipe
from envkit.image.recipe import recipe
from envkit.render.dockerfile import render_dockerfile
from envkit.solver.model import Plan
from envkit.tables import Matrix
from envkit.tables.images import source_steps
from tests.engine.engine import Engine, bases, one_off
from tests.image.making import plan
from tests.image.standins import (
    CUDA11,
    CUDA12_RUNTIME,
    CUDNN8,
    LIBRARIES,
    NCCL,
    archive,
    cuda_image,
    driver_stub,
    runfile,
    served,
    wheel_libraries,
)

pytestmark = [pytest.mark.docker, pytest.mark.network]

RESULTS: list[str] = []


@pytest.fixture(scope="module", autouse=True)
def report(request: pytest.FixtureRequest) -> Iterator[None]:
    """Prints sizes and times at the end."""
    yield
    capture = request.config.pluginmanager.getplugin("capturemanager")
    assert capture is not None
    with capture.global_and_fixture_disabled():
        print("\n" + "\n".join(RESULTS))


@pytest.fixture(autouse=True)
def room(engine: Engine) -> Iterator[None]:
    """Each image's steps are given back after its test: all of them take 50 GB, which other tests then lack."""
    yield
    engine.run("builder", "prune", "--all", "--force")


@pytest.fixture(scope="module")
def cuda11() -> Path:
    """Real libraries of CUDA 11.8, cuDNN 8 and NCCL."""
    target = LIBRARIES / "cuda11-cudnn8"
    wheel_libraries((*CUDA11, *CUDNN8, *NCCL), target)
    return target


def build(engine: Engine, made: Recipe, tag: str) -> str:
    """Builds twice: the first time works, the second takes every step from the cache. Gives the text back."""
    text = render_dockerfile(made)
    for base in bases(text):
        engine.stand_in(base)
    first = engine.build(text, tag)
    assert first.exit_code == 0, first.log[-6000:]
    second = engine.build(text, tag)
    assert second.exit_code == 0 and second.ran == (), second.ran
    RESULTS.append(
        f"{made.title}: {engine.size_mb(tag)} MB, built in {first.seconds:.0f} s, again in {second.seconds:.1f} s"
    )
    return text


def try_out(engine: Engine, tag: str, *options: str) -> str:
    """The image runs as user 1000, may write its work folder, and its smoke test passes. Gives what that said."""
    who = engine.run("run", "--rm", tag, "sh", "-c", "id -u && touch here && pwd").stdout.split()
    assert who == ["1000", "/workspace"]
    said = engine.run("run", "--rm", *options, tag, "smoke-test").stdout
    assert said.endswith("smoke test passed\n")
    return said


def made(matrix: Matrix, *frameworks: str, **limits: str | bool) -> Recipe:
    return recipe(plan(matrix, *frameworks, **limits), ImageOptions(), Mirrors(), matrix)


@pytest.mark.parametrize(
    ("frameworks", "limits", "says"),
    [
        (("tensorflow",), {}, ("TensorFlow 2.",)),
        (("tensorflow", "jax"), {"cuda": "12"}, ("TensorFlow 2.", "JAX 0.")),
        (("jax",), {"cuda": "12"}, ("JAX 0.",)),
        (("onnxruntime",), {"cuda": "12"}, ("ONNX Runtime 1.",)),
        (("pytorch",), {}, ("PyTorch 2.",)),
    ],
)
def test_framework_with_its_own_cuda(
    engine: Engine, matrix: Matrix, frameworks: tuple[str, ...], limits: dict[str, str], says: tuple[str, ...]
) -> None:
    tag = f"envkit-test-{'-'.join(frameworks)}"
    build(engine, made(matrix, *frameworks, **limits), tag)
    said = try_out(engine, tag)
    assert all(word in said for word in says), said
    engine.run("rmi", "--force", tag)


def test_cuda_alone(engine: Engine, matrix: Matrix) -> None:
    """An image of CUDA 12 without a framework: its base provides cuDNN, and nothing asks for a Python."""
    libraries = LIBRARIES / "cuda12-runtime"
    wheel_libraries(CUDA12_RUNTIME, libraries)
    recipe_made = made(matrix, cuda="12.4")
    cuda_image(engine, recipe_made.final.base.image, libraries)
    build(engine, recipe_made, "envkit-test-cuda")
    assert "libcudart.so.12" in try_out(engine, "envkit-test-cuda")
    engine.run("rmi", "--force", "envkit-test-cuda", recipe_made.final.base.image)


def test_mxnet_on_system_cuda(engine: Engine, matrix: Matrix, cuda11: Path, tmp_path: Path) -> None:
    recipe_made = made(matrix, "mxnet")
    cuda_image(engine, recipe_made.final.base.image, cuda11)
    build(engine, recipe_made, "envkit-test-mxnet")
    options = driver_mount(engine, "envkit-test-mxnet", "mxnet/libmxnet.so", tmp_path)
    assert "MXNet 1.9.1" in try_out(engine, "envkit-test-mxnet", *options)
    engine.run("rmi", "--force", "envkit-test-mxnet")


def test_paddle_on_system_cuda(engine: Engine, matrix: Matrix, cuda11: Path) -> None:
    recipe_made = made(matrix, "paddlepaddle==2.6.2", cuda="11.8")
    cuda_image(engine, recipe_made.final.base.image, cuda11)
    build(engine, recipe_made, "envkit-test-paddle")
    assert "PaddlePaddle 2.6.2" in try_out(engine, "envkit-test-paddle")
    engine.run("rmi", "--force", "envkit-test-paddle")


def test_cntk_with_the_open_mpi_of_its_system(engine: Engine, matrix: Matrix, tmp_path: Path) -> None:
    recipe_made = made(matrix, "cntk", os_id="ubuntu16.04", python="2.7")
    text = build(engine, recipe_made, "envkit-test-cntk")
    assert bases(text) == ("ubuntu:16.04",)
    driver = ("libnvidia-ml.so.1", "nvml")
    options = driver_mount(engine, "envkit-test-cntk", "cntk/libs/libCntk.*-2.7.so", tmp_path, *driver)
    assert "('Microsoft Cognitive Toolkit', '2.7')" in try_out(engine, "envkit-test-cntk", *options)
    engine.run("rmi", "--force", "envkit-test-cntk")


def driver_mount(
    engine: Engine, tag: str, library: str, folder: Path, name: str = "libcuda.so.1", prefix: str = "cu"
) -> tuple[str, ...]:
    """The options that mount a driver library without a device, as the NVIDIA runtime mounts the host's."""
    container = engine.run("create", tag).stdout.strip()
    found = engine.run("run", "--rm", tag, "sh", "-c", f"ls -d /opt/venv/lib/python*/site-packages/{library}").stdout
    loading = [folder / f"library{number}.so" for number, _ in enumerate(found.split())]
    for path, copied in zip(found.split(), loading, strict=True):
        engine.run("cp", f"{container}:{path}", str(copied))
    engine.run("rm", container)
    stub = driver_stub(folder, loading, name, prefix)
    return ("--volume", f"{stub}:/usr/lib/x86_64-linux-gnu/{name}:ro")


def with_checksums(found: Plan, sums: dict[str, str]) -> Plan:
    """The plan with the checksums of the stand-in files in place of NVIDIA's."""
    choice = found.choice
    runfiles = tuple(replace(row, sha256=sums[row.name], md5=None) for row in choice.runfiles)
    cudnn = choice.cudnn
    if cudnn is not None and cudnn.archive in sums:
        cudnn = replace(cudnn, sha256=sums[cudnn.archive])
    return replace(found, choice=replace(choice, runfiles=runfiles, cudnn=cudnn))


def put(folder: Path, url: str) -> Path:
    """Where the server must have the file of that address."""
    return folder / url.split("/", 3)[3]


def serve_installers(found: Plan, folder: Path, libraries: Path | None) -> dict[str, str]:
    """Stand-ins for every installer of the plan, and their checksums by name."""
    sums = {}
    for row in found.choice.runfiles:
        main = row.kind == "toolkit"
        put(folder, row.url).parent.mkdir(parents=True, exist_ok=True)
        sums[row.name] = runfile(put(folder, row.url), str(row.cuda.release(2)), libraries if main else None)
    cudnn = found.choice.cudnn
    if cudnn is not None and cudnn.url and cudnn.archive:
        content = libraries or _empty_cudnn(folder)
        sums[cudnn.archive] = archive(put(folder, cudnn.url), content)
    return sums


def _empty_cudnn(folder: Path) -> Path:
    library = folder / "empty/lib64/libcudnn.so.7"
    library.parent.mkdir(parents=True)
    library.write_bytes(b"")
    return folder / "empty"


def mirrors(address: str) -> Mirrors:
    hosts = ("developer.nvidia.com", "developer.download.nvidia.com", "github.com")
    return Mirrors(hosts=dict.fromkeys(hosts, address))


def test_mxnet_with_cuda_from_its_installer(engine: Engine, matrix: Matrix, cuda11: Path, tmp_path: Path) -> None:
    """CUDA 11.2 has no supported image: it comes from the runfile, on the plain distribution."""
    found = plan(matrix, "mxnet", cuda="11.2", os_id="ubuntu20.04", python="3.8")
    sums = serve_installers(found, tmp_path / "files", cuda11)
    with served(engine, tmp_path / "files") as address:
        recipe_made = recipe(with_checksums(found, sums), ImageOptions(), mirrors(address), matrix)
        text = build(engine, recipe_made, "envkit-test-mxnet-runfile")
    assert bases(text) == ("ubuntu:20.04",)
    options = driver_mount(engine, "envkit-test-mxnet-runfile", "mxnet/libmxnet.so", tmp_path)
    assert "MXNet 1.9.1" in try_out(engine, "envkit-test-mxnet-runfile", *options)
    engine.run("rmi", "--force", "envkit-test-mxnet-runfile")


def test_legacy_cuda_9_0_with_its_patches(engine: Engine, matrix: Matrix, tmp_path: Path) -> None:
    found = plan(matrix, "pytorch", cuda="9.0", os_id="ubuntu16.04", python="3.5", needs_toolkit=True)
    assert len(found.choice.runfiles) > 1
    sums = serve_installers(found, tmp_path / "files", None)
    with served(engine, tmp_path / "files") as address:
        options = ImageOptions(devel=True)
        recipe_made = recipe(with_checksums(found, sums), options, mirrors(address), matrix)
        text = build(engine, recipe_made, "envkit-test-legacy")
    assert bases(text) == ("ubuntu:16.04",)
    assert "PyTorch 1.1.0" in try_out(engine, "envkit-test-legacy")
    assert "release 9.0" in engine.run("run", "--rm", "envkit-test-legacy", "nvcc", "--version").stdout
    engine.run("rmi", "--force", "envkit-test-legacy")


def test_a_changed_installer_stops_the_build(engine: Engine, matrix: Matrix, tmp_path: Path) -> None:
    found = plan(matrix, cuda="9.0", os_id="ubuntu18.04")
    sums = serve_installers(found, tmp_path / "files", None)
    wrong = dict.fromkeys(sums, "0" * 64)
    with served(engine, tmp_path / "files") as address:
        text = render_dockerfile(recipe(with_checksums(found, wrong), ImageOptions(), mirrors(address), matrix))
        for base in bases(text):
            engine.stand_in(base)
        stopped = engine.build(text, "envkit-test-wrong")
    assert stopped.exit_code != 0
    assert "did NOT match" in stopped.log


# Ubuntu's copy of Caffe's last release; unlike the project's own archive it has no folder around it.
CAFFE_SOURCE = "pool/universe/c/caffe/caffe_1.0.0.orig.tar.gz"


def test_caffe_from_source(engine: Engine, matrix: Matrix, tmp_path: Path) -> None:
    """Compiled without CUDA, whose real compiler no test machine may fetch; the steps are the same."""
    found = plan(matrix, "caffe", cuda="8.0", python="3.6")
    assert found.choice.os is not None and found.choice.os.os_id == "ubuntu18.04"
    choice = replace(found.choice, cuda=None, toolkit=None, needs_toolkit=False, cudnn=None, cudnn_version=None)
    files = tmp_path / "files"
    address_of = next(step.value for step in source_steps(found.choice.builds[0]) if step.kind == "archive")
    put(files, address_of).parent.mkdir(parents=True)
    listed = one_off(engine, engine.stand_in("ubuntu:18.04"), "cat /etc/apt/sources.list").stdout
    with urllib.request.urlopen(f"{listed.split()[1].rstrip('/')}/{CAFFE_SOURCE}") as stream:
        packed = io.BytesIO(stream.read())
    with tarfile.open(fileobj=packed) as source, tarfile.open(put(files, address_of), "w:gz") as wrapped:
        for member in source:
            content = source.extractfile(member) if member.isfile() else None
            member.name = f"caffe-1.0/{member.name}"
            wrapped.addfile(member, content)
    with served(engine, files) as address:
        recipe_made = recipe(replace(found, choice=choice), ImageOptions(), mirrors(address), matrix)
        build(engine, recipe_made, "envkit-test-caffe")
    said = try_out(engine, "envkit-test-caffe")
    assert "caffe version 1.0" in said and "pycaffe 1.0" in said
    linked = engine.run("run", "--rm", "envkit-test-caffe", "sh", "-c", "ldd /opt/caffe/python/caffe/_caffe.so").stdout
    assert "libpython3.6" in linked and "libpython2" not in linked
    engine.run("rmi", "--force", "envkit-test-caffe")
