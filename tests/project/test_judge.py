"""What a file installs together, and for which Python: what is asked for counts, and no more."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from envkit.api.project import project_change, project_report
from envkit.base.errors import RequestError, SourceError
from envkit.base.names import normalized
from envkit.checks.engine.findings import Finding, Status
from envkit.dockerfile.check import check_dockerfile
from envkit.project.read import read_manifest
from envkit.render.check_report import file_verdict
from envkit.solver.request import Request
from envkit.tables import Matrix
from tests.project.test_expected import request_of

AMPERE = "--gpu 8.6 --driver 550.54.15 --python 3.10 --os ubuntu22.04"
OPEN_PYTHON = "--gpu 8.6 --driver 550.54.15 --os ubuntu22.04"
BLACKWELL = '--gpu "GeForce RTX 5090" --driver 535.54 --python 3.10 --os ubuntu22.04'


def findings_on(text: str, target: str, folder: Path, name: str = "requirements.txt") -> tuple[Finding, ...]:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    matrix = Matrix.load()
    return project_report(str(file), request_of(target, matrix), matrix).findings


def failed(findings: tuple[Finding, ...]) -> set[str]:
    return {one.id for one in findings if one.status is Status.FAIL}


def test_libraries_of_an_extra_that_is_not_asked_for_clash_with_nothing(tmp_path: Path) -> None:
    jax = "jax[cuda12]==0.4.30\n"
    assert not failed(findings_on(f"tensorflow==2.15.1\n{jax}", AMPERE, tmp_path))
    with_extra = findings_on(f"tensorflow[and-cuda]==2.15.1\n{jax}", AMPERE, tmp_path)
    assert failed(with_extra) == {"project.requirements-clash"}


@pytest.mark.parametrize("version", ["1.5.0", "2.1.0", "2.4.0", "2.6.99", "99.0"])
@pytest.mark.parametrize("target", [AMPERE, f"{AMPERE} --arch aarch64"])
def test_a_fix_is_a_sentence_of_its_own(version: str, target: str, tmp_path: Path) -> None:
    """It is read below a title, not after it: `torch==2.15.0 is.` says nothing."""
    for finding in findings_on(f"torch=={version}\n", target, tmp_path):
        fix = finding.remedy.summary if finding.remedy else ""
        assert not re.search(r"\b(is|are|is one|are some)\.$|^(It|They|That) ", fix), fix


def test_a_package_is_counted_once_however_its_name_is_written() -> None:
    text = (
        '[project]\nname="x"\ndependencies=["Torch==2.6.0", "Flash.Attn==2.7.0"]\n'
        '[tool.poetry.dependencies]\nPython="^3.11"\ntorch={version="2.6.0", source="pt"}\nflash_attn="2.7.0"\n'
        '[[tool.poetry.source]]\nname="pt"\nurl="https://download.pytorch.org/whl/cu124"\n'
    )
    items = read_manifest("pyproject.toml", text, lambda name: None, "x86_64", "linux").items
    assert [normalized(item.package.name) for item in items] == ["torch", "flash-attn"]


def test_two_packages_of_one_framework_overwrite_each_other(tmp_path: Path) -> None:
    two = findings_on("tensorflow==2.15.0\ntensorflow-gpu==2.4.0\n", OPEN_PYTHON, tmp_path)
    assert failed(two) == {"project.requirements-clash"}
    alike = findings_on("tensorflow==2.9.1\ntensorflow-gpu==2.9.1\n", OPEN_PYTHON, tmp_path)
    assert "project.requirements-clash" not in failed(alike)


@pytest.mark.parametrize(
    ("allowed", "fails"),
    [("==3.8.*", True), (">=3.8,<3.9", True), (">=3.8", False), ("==3.9.*", False), ("nonsense", False)],
)
def test_the_one_python_of_a_project_is_the_one_it_is_judged_for(allowed: str, fails: bool, tmp_path: Path) -> None:
    text = f'[project]\nname="x"\nversion="1"\nrequires-python="{allowed}"\ndependencies=["torch==2.6.0"]\n'
    found = failed(findings_on(text, OPEN_PYTHON, tmp_path, "pyproject.toml"))
    assert found == ({"project.python-without-package"} if fails else set())


def test_a_pin_that_clashes_is_judged_as_it_stands(tmp_path: Path) -> None:
    """Its neighbors want another torch: what the pinned one lacks on the target is told all the same."""
    found = findings_on("torch==2.1.0\ntorchvision==0.17.0\n", BLACKWELL, tmp_path)
    of_torch = {one.id for one in found if "torch==2.1.0" in one.subject}
    assert of_torch == {"project.driver-too-old", "project.gpu-without-code"}
    assert all("No GPU build" not in one.title for one in found)


def test_an_open_torch_between_neighbors_that_exclude_each_other_is_not_guessed(tmp_path: Path) -> None:
    found = findings_on("torch\ntorchvision==0.17.0\ntorchaudio==2.1.0\n", AMPERE, tmp_path)
    assert any("No release of torch" in one.title for one in found) or failed(found)
    assert not any(one.id == "project.installs" and one.title.startswith("torch ") for one in found)


def test_a_file_that_is_not_there_is_said_to_be_missing(tmp_path: Path) -> None:
    matrix = Matrix.load()
    with pytest.raises(SourceError, match="No such file"):
        project_report(str(tmp_path / "nope"), request_of(AMPERE, matrix), matrix)


def test_the_fix_is_the_change_that_the_option_makes(tmp_path: Path) -> None:
    target = BLACKWELL.replace("535.54", "575.57.08")
    found = findings_on("torch==2.6.0\ntorchvision==0.21.0\n", target, tmp_path)
    remedies = {one.remedy.summary for one in found if one.status is Status.FAIL and one.remedy}
    matrix = Matrix.load()
    _, change, _ = project_change(str(tmp_path / "requirements.txt"), request_of(target, matrix), matrix)
    assert change is not None and change.told
    assert len(remedies) == 1 and all(word in remedies.copy().pop() for word in (*change.told, "--fix"))


def test_where_nothing_fits_the_fix_says_why(tmp_path: Path) -> None:
    found = findings_on("torch==2.6.0\n", BLACKWELL, tmp_path)
    remedies = [one.remedy.summary for one in found if one.status is Status.FAIL and one.remedy]
    assert remedies[0] == "Update the driver to 570.86.10 or newer."
    assert remedies[1:] and all("it needs driver 570.86.10 or newer" in one for one in remedies[1:])
    assert all("older release" not in one and "--fix" not in one for one in remedies)


def test_without_a_gpu_what_is_installed_is_reported_and_the_verdict_is_unknown(tmp_path: Path) -> None:
    file = tmp_path / "requirements.txt"
    file.write_text("torch==2.6.0\n", encoding="utf-8")
    matrix = Matrix.load()
    request = request_of("--python 3.10 --os ubuntu22.04", matrix)
    report = project_report(str(file), request, matrix, gpu_meant=True)
    first = " ".join(str(report).split("\n\n")[0].split())
    assert report.verdict.status is Status.UNKNOWN and "Ubuntu 22.04 x86_64, no GPU or driver, Python 3.10" in first
    assert "--gpu" in str(report) and "torch==2.6.0 installs" in str(report)
    assert project_report(str(file), request, matrix).verdict.status is Status.OK
    named = project_report(str(file), request_of(AMPERE, matrix), matrix, gpu_meant=True)
    assert named.verdict.status is Status.OK and "sm_86, driver 550.54.15" in " ".join(str(named).split())


def test_a_line_that_pip_refuses_fails_with_the_right_spelling(tmp_path: Path) -> None:
    found = findings_on("numpy (>=1.20)\ntorch=2.6.0\n\x1b[31mtorch\n-e .\n${WHEEL}\n", AMPERE, tmp_path)
    refused = [one for one in found if one.status is Status.FAIL]
    assert {one.id for one in refused} == {"project.invalid-requirement"}
    assert [one.subject.split(":")[0] for one in refused] == ["line 2", "line 3"]
    assert refused[0].remedy is not None and refused[0].remedy.summary == "Write torch==2.6.0."


def test_an_index_that_stays_is_no_part_of_the_change(tmp_path: Path) -> None:
    text = "torch==2.6.0\ntorchvision==0.20.0\n--index-url https://download.pytorch.org/whl/cu118\n"
    found = findings_on(text, AMPERE, tmp_path)
    remedies = [one.remedy.summary for one in found if one.status is Status.FAIL and one.remedy]
    assert len(remedies) == 1 and "torchvision==0.21.0" in remedies[0] and "in place of" not in remedies[0]


@pytest.mark.parametrize(
    ("torch", "numpy", "status"),
    [
        ("torch==2.1.0", "numpy==2.0.0", Status.FAIL),
        ("torch==1.13.1", "numpy>=2", Status.FAIL),
        ("torch==2.1.0", "numpy", Status.WARN),
        ("torch==2.1.0", "numpy>=1.20", Status.WARN),
        ("torch==2.1.0", "numpy~=1.26", None),
        ("torch==2.1.0", "numpy<2", None),
        ("torch==2.6.0", "numpy==2.0.0", None),
        ("tensorflow==2.15.0", "numpy==2.0.0", Status.FAIL),
        ("tensorflow==2.15.0", "numpy", None),  # its own metadata holds NumPy back
    ],
)
def test_numpy_is_one_that_the_framework_takes(torch: str, numpy: str, status: Status | None, tmp_path: Path) -> None:
    """`check` and `dockerfile --check` read one relation, so they tell one thing of one pair."""
    of_file = findings_on(f"{torch}\n{numpy}\n", AMPERE, tmp_path)
    text = f'FROM python:3.10-slim\nRUN pip install "{torch}" "{numpy}"\n'
    of_image = check_dockerfile(text, Request(), Matrix.load())
    for findings in (of_file, of_image):
        told = [one.status for one in findings if "numpy" in one.id]
        assert told == ([status] if status else [])


@pytest.mark.parametrize(
    ("pins", "clash"),
    [
        ("torch==2.6.0 torchvision==0.15.2", True),
        ("torch==2.3.0 torchvision==0.19.0", True),
        ("torch==2.6.0 torchaudio==2.5.1", True),
        ("torch==2.6.0 torchvision==0.21.0 torchaudio==2.6.0", False),
        ("torch==2.6.0 torchvision", False),
    ],
)
def test_a_file_and_a_dockerfile_are_told_the_same_of_a_pair(pins: str, clash: bool, tmp_path: Path) -> None:
    of_file = findings_on(pins.replace(" ", "\n"), AMPERE, tmp_path)
    of_image = check_dockerfile(f"FROM python:3.10-slim\nRUN pip install {pins}\n", Request(), Matrix.load())
    for findings in (of_file, of_image):
        assert any(one.id.endswith("requirements-clash") for one in findings) is clash


@pytest.mark.parametrize(
    ("name", "meant"),
    [("tesnorflow", "tensorflow"), ("tensorflw", "tensorflow"), ("torchvison", "torchvision"), ("torchx", "")],
)
def test_a_misspelled_package_is_reported_with_what_was_meant(name: str, meant: str, tmp_path: Path) -> None:
    titles = [one.title for one in findings_on(f"{name}==1.0\n", AMPERE, tmp_path)]
    assert any(title.endswith(f"did you mean {meant}?") for title in titles) is bool(meant)


@pytest.mark.parametrize(
    ("pins", "clash"),
    [
        ("jax==0.4.30\njaxlib==0.4.36\n", True),
        ("jax==0.4.36\njaxlib==0.4.30\n", True),
        ("jax==0.4.30\njaxlib==0.4.30\n", False),
        ("jax==0.4.35\njaxlib==0.4.34\n", False),  # its metadata takes the one before
    ],
)
def test_jax_takes_the_jaxlib_that_it_names(pins: str, clash: bool, tmp_path: Path) -> None:
    found = findings_on(pins, AMPERE, tmp_path)
    assert any(one.id == "project.requirements-clash" for one in found) is clash
    fixes = [one.remedy.summary for one in found if one.id == "project.cpu-build" and one.remedy]
    assert all("jax[cuda12]==" in fix for fix in fixes)


@pytest.mark.parametrize("gpu", ["A100", '"GeForce RTX 3090"'])
def test_a_suffix_that_runs_is_kept(gpu: str, tmp_path: Path) -> None:
    target = f"--gpu {gpu} --driver 550.54.15 --python 3.11 --os ubuntu22.04"
    found = findings_on("torch==2.6.0+cu124\n", target, tmp_path)
    fixes = [one.remedy.summary for one in found if one.status is Status.FAIL and one.remedy]
    assert fixes and all("whl/cu124. With" in fix for fix in fixes)


@pytest.mark.parametrize(("allowed", "fails"), [(">=3.13", True), (">=3.9", False), (">=3.11", False)])
def test_a_python_that_no_wheel_is_for_fails_without_a_named_one(allowed: str, fails: bool, tmp_path: Path) -> None:
    text = f'[project]\nname="x"\nversion="1"\nrequires-python="{allowed}"\ndependencies=["tensorflow==2.15.0"]\n'
    found = failed(findings_on(text, OPEN_PYTHON, tmp_path, "pyproject.toml"))
    assert ("project.python-without-package" in found) is fails


def test_a_list_that_powershell_wrote_is_read(tmp_path: Path) -> None:
    file = tmp_path / "requirements.txt"
    file.write_bytes("torch==2.4.1\r\ntorchvision==0.18.0\r\n".encode("utf-16"))
    matrix = Matrix.load()
    assert failed(project_report(str(file), request_of(AMPERE, matrix), matrix).findings) == {
        "project.requirements-clash"
    }


@pytest.mark.parametrize(
    ("line", "gpu", "told"),
    [
        ("vllm==0.6.3", "Tesla P40", "7.0"),  # its torch 2.4 has kernels for 6.1
        ("vllm>=0.21", "Tesla V100", "7.5"),
        ("vllm", "Tesla V100", ""),  # an older release runs there
        ("flash-attn", "Tesla T4", "8.0"),
        ("flash_attn==1.0.9", "Tesla T4", ""),
        ("bitsandbytes==0.49.0", "Tesla M40", "6.0"),
        ("bitsandbytes==0.42.0", "Tesla M40", ""),
        ("cudf-cu13==25.10.0", "Tesla V100", "7.5"),
        ("cuml-cu12==25.2.0", "Tesla P100", "7.0"),
        ("sglang", "Tesla T4", ""),
    ],
)
def test_a_package_next_to_the_framework_needs_newer_gpus_than_it(
    line: str, gpu: str, told: str, tmp_path: Path
) -> None:
    needs = [one for one in findings_on(f"{line}\n", f'--gpu "{gpu}"', tmp_path) if "compute capability" in one.title]
    assert [f"needs compute capability {told} or higher" in one.title for one in needs] == ([True] if told else [])
    assert all(one.id == "project.gpu-without-code" and one.sources for one in needs)


def test_a_dockerfile_is_told_the_same_of_it(tmp_path: Path) -> None:
    matrix = Matrix.load()
    text = "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\nRUN pip install flash-attn==2.6.3\n"
    found = check_dockerfile(text, request_of('--gpu "Tesla T4"', matrix), matrix)
    assert any(one.id == "image.gpu-without-code" and "flash-attn==2.6.3" in one.title for one in found)


_ANACONDA = "https://conda.anaconda.org"
_OF_2023 = "/pytorch/linux-64/pytorch-2.0.1-py3.10_cuda11.8_cudnn8.7.0_0.tar.bz2"
_OF_2021 = "/pytorch/linux-64/pytorch-1.8.1-py3.8_cuda10.2_cudnn7.6.5_0.tar.bz2"
_OF_FORGE = "/conda-forge/linux-64/pytorch-2.1.2-cuda120_py310h327d3bc_301.conda#0a1b2c"


@pytest.mark.parametrize(
    ("packages", "target", "expected"),
    [
        ((_OF_2023,), '--gpu "GeForce RTX 4090" --driver 535.183.01', ""),
        ((_OF_2023,), '--gpu "GeForce RTX 5090" --driver 575.57.08', "project.gpu-without-code"),
        ((_OF_2021,), '--gpu "GeForce RTX 3090" --driver 535.183.01', "project.gpu-without-code"),
        ((_OF_FORGE,), '--gpu "GeForce RTX 2080 Ti" --driver 450.80.02', "project.driver-too-old"),
        (("/pytorch/linux-64/pytorch-2.0.1-py3.10_cpu_0.tar.bz2",), "--gpu 8.6", "project.cpu-build"),
    ],
)
@pytest.mark.parametrize("name", ["spec-file.txt", "conda-linux-64.lock"])
def test_the_explicit_list_of_conda_is_read(
    packages: tuple[str, ...], target: str, expected: str, name: str, tmp_path: Path
) -> None:
    text = "# platform: linux-64\n@EXPLICIT\n" + "".join(f"{_ANACONDA}{one}\n" for one in packages)
    found = [one.id for one in findings_on(text, target, tmp_path, name) if one.status in (Status.FAIL, Status.WARN)]
    assert found[:1] == ([expected] if expected else [])


@pytest.mark.parametrize("gpu", ["A100", "T4", "V100"])
def test_cuda_compat_that_nothing_installs_is_not_counted_on(gpu: str, tmp_path: Path) -> None:
    target = f"--gpu {gpu} --driver 470.82.01 --python 3.10 --os ubuntu22.04"
    found = findings_on("torch==2.5.1\n", target, tmp_path)
    (old,) = [one for one in found if one.status is Status.FAIL]
    assert old.id == "project.driver-too-old" and "525.60.13" in old.title
    assert "only with cuda-compat-12-4" in old.title and old.remedy is not None and "cu118" in old.remedy.summary
    assert not failed(findings_on("torch==2.5.1\n", target.replace("470.82.01", "535.54"), tmp_path))


@pytest.mark.parametrize("companion", ["torchvision==99.9", "torchaudio==9.9.9", "vllm==99.0", "xformers==0.0.99"])
def test_a_release_of_a_companion_that_is_not_known_is_unknown(companion: str, tmp_path: Path) -> None:
    found = findings_on(f"torch==2.1.0\n{companion}\n", AMPERE, tmp_path)
    assert any(one.status is Status.UNKNOWN and companion in one.title for one in found)
    dockerfile = f"FROM python:3.10\nRUN pip install torch==2.1.0 {companion}\n"
    matrix = Matrix.load()
    image = check_dockerfile(dockerfile, request_of(AMPERE, matrix), matrix)
    assert any(one.status is Status.UNKNOWN and companion in one.title for one in image)
    known = findings_on("torch==2.1.0\ntorchvision==0.16.0+cu118\ntorchaudio>=2.1\n", AMPERE, tmp_path)
    assert not any("envkit knows" in one.title for one in known)


_EXTRAS = {
    "pyproject.toml": '[project]\nname = "a"\n'
    '[project.optional-dependencies]\nold = ["torch==2.5.1", "torchvision==0.15.2"]\n',
    "poetry/pyproject.toml": '[tool.poetry.dependencies]\ntorch = "2.5.1"\n'
    'torchvision = {version = "0.15.2", optional = true}\n[tool.poetry.extras]\nold = ["torchvision"]\n',
    "pixi.toml": '[feature.old.pypi-dependencies]\ntorch = "==2.5.1"\ntorchvision = "==0.15.2"\n',
    "setup.py": "from setuptools import setup\n"
    'setup(extras_require={"old": ["torch==2.5.1", "torchvision==0.15.2"]})\n',
    "setup.cfg": "[options.extras_require]\nold =\n    torch==2.5.1\n    torchvision==0.15.2\n",
}


@pytest.mark.parametrize("name", _EXTRAS)
def test_an_extra_is_installed_and_an_unknown_one_refused(name: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(_EXTRAS[name], encoding="utf-8")
    matrix = Matrix.load()
    request = request_of(AMPERE, matrix)
    for extra in ("old", "OLD"):
        found = project_report(str(file), request, matrix, (extra,)).findings
        assert failed(found) == {"project.requirements-clash"}, extra
    with pytest.raises(RequestError, match=r"--extra.*has no extra 'oldd'. Did you mean old\? It has old"):
        project_report(str(file), request, matrix, ("oldd",))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("setup.py", "setup(extras_require=made())\n"),
        ("setup.py", "setup(**options)\n"),
        ("pyproject.toml", '[project]\ndynamic = ["optional-dependencies"]\n'),
        ("uv.lock", "version = 1\n"),
    ],
)
def test_an_extra_that_the_file_does_not_tell_is_not_refused(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    matrix = Matrix.load()
    assert project_report(str(tmp_path / name), request_of(AMPERE, matrix), matrix, ("gpu",)).findings


def test_a_file_without_extras_takes_none(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("torch\n", encoding="utf-8")
    matrix = Matrix.load()
    with pytest.raises(RequestError, match="It has none"):
        project_report(str(tmp_path / "requirements.txt"), request_of(AMPERE, matrix), matrix, ("gpu",))


@pytest.mark.parametrize("gpu", ["GeForce GTX 1080 Ti", "Tesla V100-PCIE-16GB", "Tesla K80"])
def test_a_driver_that_is_too_new_for_the_gpu_is_never_to_be_updated(gpu: str, tmp_path: Path) -> None:
    found = findings_on("torch==2.5.1\n", f'--gpu "{gpu}" --driver 595.45.04 --python 3.12', tmp_path)
    refused = next(one for one in found if "is its last branch" in one.title)
    assert refused.remedy is not None
    last = re.search(r"(\d+) is its last branch", refused.title)
    assert last is not None and f"Install driver branch {last[1]}" in refused.remedy.summary


def test_what_is_after_a_wrong_index_is_reported_with_it(tmp_path: Path) -> None:
    text = "torch==2.1+cu118\nnumpy>=2\ntransformers\n"
    found = [one for one in findings_on(text, BLACKWELL, tmp_path) if one.status is Status.FAIL]
    assert {one.id for one in found} >= {"project.not-on-index", "project.numpy-not-for-framework"}
    assert any("CUDA 11.8" in one.title for one in found) and not any("CUDA 12.1" in one.title for one in found)


# ---- what the second sixty questions taught (tests/solver/questions-2)


def advice_on(text: str, target: str, folder: Path) -> list[str]:
    """The titles of what fails, each with its remedy."""
    found = findings_on(text, target, folder)
    return [f"{one.title}: {one.remedy.advice if one.remedy else ''}" for one in found if one.status is Status.FAIL]


def test_torchaudio_2_11_needs_the_torch_that_its_metadata_does_not_name(tmp_path: Path) -> None:
    """docs.pytorch.org/audio/2.11.0/installation.html: torch 2.11 and every later one."""
    before = advice_on("torch==2.10.0\ntorchaudio==2.11.0\n", "--python 3.11", tmp_path)
    assert len(before) == 1 and "torchaudio==2.10.0" in before[0]
    assert not advice_on("torch==2.12.0\ntorchaudio==2.11.0\n", "--python 3.11", tmp_path)


@pytest.mark.parametrize(
    ("text", "target", "told", "advice"),
    [
        ("bitsandbytes==0.41.3", "--gpu 8.6 --os windows --python 3.10", "not for Windows", "bitsandbytes==0.43.0"),
        ("vllm==0.11.0", "--gpu 8.6 --os windows --python 3.10", "not for Windows", "WSL"),
        ("bitsandbytes==0.49.2", "--gpu 5.2 --python 3.11", "6.0 or higher", "bitsandbytes==0.47.0"),
        ("flash-attn==2.8.3", "--gpu 7.0 --python 3.11", "8.0 or higher", "scaled_dot_product_attention"),
        ("flash-attn==2.8.3", "--gpu 7.5 --python 3.11", "8.0 or higher", "1.x supports Turing"),
        ("cupy-cuda114==9.5.0", "--gpu 3.0 --python 3.8", "CUDA 10.2 was the last", "cupy-cuda102==9.5.0"),
        ("paddlepaddle-gpu==2.2.2", "--gpu 8.6 --python 3.7 --driver 470.57.02", "CUDA 10.2", "2.2.2.post112"),
        ("tensorrt==8.6.1", "--gpu 5.0 --python 3.9 --driver 470.223.02", "6.0 or higher", "tensorrt==8.5.3.1"),
        ("tensorrt==8.6.1", "--gpu 3.0 --python 3.9", "6.0 or higher", "3.5 or higher"),
    ],
)
def test_a_refused_package_is_told_its_neighbor(text: str, target: str, told: str, advice: str, tmp_path: Path) -> None:
    found = advice_on(f"{text}\n", target, tmp_path)
    assert any(told in line and advice in line for line in found), found


def test_another_torch_beneath_vllm_does_not_change_the_cuda_of_vllm(tmp_path: Path) -> None:
    """vllm-project/vllm#44335: it loads libcudart.so.13 whatever torch is there."""
    place = "--extra-index-url https://download.pytorch.org/whl"
    hopper = "--gpu H200 --driver 535.183.01 --python 3.12 --os ubuntu22.04"
    beneath = advice_on(f"{place}/cu126\ntorch==2.11.0+cu126\nvllm==0.20.2\n", hopper, tmp_path)
    assert any("compiled for CUDA 13.0, but torch 2.11.0 is for CUDA 12.6" in line for line in beneath)
    alone = advice_on("vllm==0.20.2\n", hopper, tmp_path)
    assert len(alone) == 1 and "vllm==0.19.1" in alone[0] and "https://wheels.vllm.ai/" in alone[0]
    elsewhere = "--extra-index-url https://wheels.vllm.ai/0.20.2/cu129"
    assert not advice_on(f"{elsewhere}\n{place}/cu129\ntorch==2.11.0+cu129\nvllm==0.20.2\n", hopper, tmp_path)
    ampere = "--gpu 8.6 --driver 535.183.01 --python 3.12"
    assert not advice_on(f"{place}/cu126\ntorch==2.10.0+cu126\nvllm==0.19.1\n", ampere, tmp_path)  # both CUDA 12


# ---- what the third sixty questions taught (tests/solver/questions-3)


@pytest.mark.parametrize(
    ("name", "framework"),
    [
        ("mmcv==2.2.0", "torch==2.9.0"),
        ("horovod==0.28.1", "torch==2.0.1"),
        ("torch-scatter", "torch==2.5.1"),
        ("transformer-engine-cu12", "torch==2.8.0"),
        ("faiss-gpu-cu12", "torch==2.8.0"),
    ],
)
def test_compiled_packages_without_data_are_named_not_passed(name: str, framework: str, tmp_path: Path) -> None:
    found = findings_on(f"{framework}\n{name}\n", "", tmp_path)
    told = [one.title for one in found if one.status is Status.UNKNOWN]
    assert any(title.startswith(("Not checked, because envkit has no data", f"Not checked: {name}")) for title in told)
    assert file_verdict(found).title == "No errors in what could be checked."


@pytest.mark.parametrize("name", ["transformers", "mmengine", "kornia", "pandas", "textual", "torchmetrics"])
def test_packages_without_gpu_code_are_not_reported(name: str, tmp_path: Path) -> None:
    found = findings_on(f"torch==2.5.1\n{name}\n", "", tmp_path)
    assert all("no data" not in one.title for one in found)


def test_torchtext_goes_with_the_torch_that_it_was_built_for(tmp_path: Path) -> None:
    """pytorch/text#2272: the last release asks for torch>=2.3.0, and does not import next to 2.4."""
    assert failed(findings_on("torch==2.4.0\ntorchtext==0.18.0\n", "--python 3.10", tmp_path)) == {
        "project.requirements-clash"
    }
    assert not failed(findings_on("torch==2.3.1\ntorchtext==0.18.0\n", "--python 3.10", tmp_path))


def test_torch_2_11_for_cuda_12_9_has_no_windows_wheel() -> None:
    builds = [
        one for one in Matrix.load().builds("pytorch") if str(one.version) == "2.11.0" and str(one.cuda) == "12.9"
    ]
    assert builds and all("windows" not in one.platforms for one in builds)


@pytest.mark.parametrize(
    ("sources", "told"),
    [
        ("", True),
        ('[tool.uv.sources]\ntorch = { index = "torch-gpu" }\n', False),
        ('[tool.uv.sources]\ntorchvision = { index = "torch-gpu" }\n', False),
    ],
)
def test_an_explicit_index_that_no_package_names(sources: str, told: bool, tmp_path: Path) -> None:
    index = '[[tool.uv.index]]\nname = "torch-gpu"\nurl = "https://mirror.example/whl/cu126"\nexplicit = true\n'
    text = f'[project]\nname = "x"\nversion = "1"\ndependencies = ["torch>=2.6"]\n\n{sources}\n{index}'
    found = [one for one in findings_on(text, AMPERE, tmp_path, "pyproject.toml") if "is explicit" in one.title]
    assert bool(found) is told
    for one in found:
        assert one.status is Status.WARN and one.remedy is not None
        assert 'torch = { index = "torch-gpu" }' in one.remedy.summary
    optional = text.replace("explicit = true\n", "")
    assert not [one for one in findings_on(optional, AMPERE, tmp_path, "pyproject.toml") if "is explicit" in one.title]
