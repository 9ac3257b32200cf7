"""What people copy from wheel names, nvidia-smi and shops is understood, or refused with the word that helps."""

from __future__ import annotations

import pytest

from envkit._startup.records import replace
from envkit.base.errors import RequestError
from envkit.compat.pairs import pairs_by_package, required
from envkit.documents.commands import plan_commands
from envkit.solver.having import resolve_having
from envkit.solver.model import NoPlan, Plan
from envkit.solver.parse import parse_framework, parse_gpu, parse_os, parse_request
from envkit.solver.request import RequestWords
from envkit.tables import Matrix


@pytest.fixture(scope="module")
def matrix() -> Matrix:
    return Matrix.load()


@pytest.mark.parametrize("word", ["cu118", "cu11.8", "cuda118", "cuda11.8", "CU118", "cuda-11.8", "11.8"])
def test_a_suffix_is_a_cuda(word: str, matrix: Matrix) -> None:
    request = parse_request(RequestWords(cuda=word), matrix, container=False)
    assert str(request.cuda) == "11.8"


def test_the_cuda_that_nvidia_smi_shows_is_no_driver(matrix: Matrix) -> None:
    with pytest.raises(RequestError, match=r"is not a driver version.*--cuda 12\.2"):
        parse_request(RequestWords(driver="12.2"), matrix, container=False)


def test_every_cuda_in_the_data_is_understood_as_wheels_write_it(matrix: Matrix) -> None:
    for release in {toolkit.release for toolkit in matrix.toolkits}:
        major, minor = release.parts[:2]
        request = parse_request(RequestWords(cuda=f"cu{major}{minor}"), matrix, container=False)
        assert str(request.cuda) == f"{major}.{minor}", release
        if major >= 10:
            line = parse_request(RequestWords(cuda=f"cu{major}"), matrix, container=False)
            assert str(line.cuda) == f"{major}", release


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (RequestWords(cuda="cpu"), "asks for a CPU build"),
        (RequestWords(cuda="rocm6.2"), "not for NVIDIA GPUs"),
        (RequestWords(os_id="alpine3.20"), "its C library is musl"),
        (RequestWords(os_id="scratchbox"), "unknown value 'scratchbox'"),
        (RequestWords(python="3.13t"), "pytorch 2.7.0 to 2.12.0"),
        (RequestWords(gpus=("sm_86a",)), "there is no target sm_86a"),
        (RequestWords(gpus=("9.0f",)), "there is no target 9.0f"),
        (RequestWords(gpus=("Radeon RX 7900 XTX",)), "rocm.docs.amd.com"),
        (RequestWords(frameworks=("torchvision==9.9",)), "not known to envkit"),
        (RequestWords(frameworks=("vllm==0.9.1rc1",)), "not known to envkit"),
        (RequestWords(frameworks=("xformers==1e9",)), "not a version that pip understands"),
        (RequestWords(frameworks=("vllm>=0.8,==x",)), "not a version that pip understands"),
        (RequestWords(frameworks=("torch==2.7.0rc1",)), "not a version"),
        (RequestWords(frameworks=("tensorflow==2.15.0.post9",)), "not a version"),
    ],
)
def test_what_is_not_covered_says_so(words: RequestWords, told: str, matrix: Matrix) -> None:
    with pytest.raises(RequestError, match=told) as refusal:
        parse_request(words, matrix, container=False)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("torchvision==0.20.0", "pytorch==2.5.0"),
        ("torchvision==0.20", "pytorch==2.5.0"),
        ("torchvision==0.20.*", "pytorch==2.5.1"),
        ("vllm==0.9.1", "pytorch==2.7.0"),
        ("vllm==0.8.5.post1", "pytorch==2.6.0"),
        ("xformers==0.0.27", "pytorch==2.3.1"),
        ("xformers==0.0.28", "pytorch==2.4.1"),
        ("xformers==0.0.28.post3", "pytorch==2.5.1"),
        ("xformers==0.0.29", "pytorch==2.5.1"),
        ("xformers==0.0.26", "pytorch==2.3.0"),  # there is a 0.0.26.post1 alone
        ("tensorflow==2.15.0.post1", "tensorflow==2.15.0"),
    ],
)
def test_a_companion_asks_for_its_torch(text: str, wanted: str, matrix: Matrix) -> None:
    assert str(parse_framework(text, matrix)) == wanted


def test_every_companion_in_the_data_is_found_by_its_own_release(matrix: Matrix) -> None:
    wanted = [
        (f"{row.package}=={row.version}", row.version, line.spec)
        for package, rows in pairs_by_package().items()
        for row in rows
        for line in required(row)
        if line.package == "torch" and package != "torch"
    ]
    assert len(wanted) > 150
    for text, release, torch in wanted:
        request = parse_framework(text, matrix)
        assert (request.companions[0].release, request.spec) == (release, torch), text


@pytest.mark.parametrize(
    ("names", "after", "told"),
    [
        (("vllm==0.9.1",), ["vllm==0.9.1"], "vllm==0.9.1 itself is installed after them"),
        (("torch==2.7.0", "vllm==0.9.1"), ["vllm==0.9.1"], "vllm==0.9.1 itself is installed after them"),
        (("xformers==0.0.26",), ["xformers==0.0.26.post1"], "xformers==0.0.26 is not known to envkit"),
        (("torch==2.7.0", "xformers"), ["xformers==0.0.30"], "xformers==0.0.30 itself is installed after them"),
        (("torchvision==0.20.0",), [], None),  # the plan installs it
    ],
)
def test_a_companion_is_never_dropped(
    names: tuple[str, ...], after: list[str], told: str | None, matrix: Matrix
) -> None:
    plan = resolve_having(parse_request(RequestWords(names), matrix, container=False), matrix)
    assert isinstance(plan, Plan)
    assert list(plan_commands(plan)[1:]) == [f"python -m pip install {line}" for line in after]
    assert any(told in warning for warning in plan.warnings) if told else "after them" not in " ".join(plan.warnings)


_OPEN = sorted(
    {
        name
        for name, rows in pairs_by_package().items()
        for row in rows
        for line in required(row)
        if line.package == "torch" and name != "torch"
    }
)
_TARGETS = {
    "any": RequestWords(),
    "an older GPU": RequestWords(gpus=("Tesla V100-PCIE-16GB",)),
    "an older driver": RequestWords(driver="535.183.01"),
    "arm": RequestWords(arch="aarch64"),
}
_REFUSED = {
    ("torchtext", "arm"),  # it ends with PyTorch 2.3, of which no build for CUDA on arm is known
    ("sglang", "an older GPU"),  # it needs compute capability 7.5
    *(("triton-windows", target) for target in _TARGETS),  # it is for Windows alone
}


@pytest.mark.parametrize("target", _TARGETS)
@pytest.mark.parametrize("name", _OPEN)
def test_a_plan_for_a_package_installs_it(name: str, target: str, matrix: Matrix) -> None:
    words: RequestWords = replace(_TARGETS[target], frameworks=(name,))
    plan = resolve_having(parse_request(words, matrix, container=False), matrix)
    if (name, target) in _REFUSED:
        assert isinstance(plan, NoPlan)
        return
    assert isinstance(plan, Plan)
    commands = plan_commands(plan)
    assert any(f"{name}==" in command for command in commands), commands
    (build,) = plan.choice.builds
    tied = any(line.package == "torch" and line.spec.exact for line in required(pairs_by_package()[name][-1]))
    if tied and not any(f"{name}==" in line for line in commands[:1]):
        assert build.on_pypi  # the one that the default index's package was compiled for


def test_a_package_without_a_release_for_the_framework_is_refused(matrix: Matrix) -> None:
    newest = parse_framework("vllm==" + pairs_by_package()["vllm"][-1].version, matrix).spec
    later = max(build.version for build in matrix.builds("pytorch"))
    assert newest is not None and not newest.holds(later)
    request = parse_request(RequestWords((f"pytorch=={later}", "vllm")), matrix, container=False)
    refused = resolve_having(request, matrix)
    assert isinstance(refused, NoPlan)
    assert f"no known release of vllm was built for pytorch=={later}; vllm" in refused.conflicts[0].detail
    assert refused.conflicts[0].sources and refused.alternatives


@pytest.mark.parametrize(
    ("name", "capability"), [("sm86", "8.6"), ("DGX Spark", "12.1"), ("Jetson AGX Thor", "11.0"), ("sm_90a", "9.0a")]
)
def test_names_of_boards(name: str, capability: str, matrix: Matrix) -> None:
    assert str(parse_gpu(name, matrix).compute_capability) == capability


@pytest.mark.parametrize(
    ("framework", "cuda", "newest"),
    [("pytorch", "11.4", "2.7.1"), ("pytorch==1.12", "11.4", "1.12.1"), ("pytorch", "12.3", "2.14.1")],
)
def test_the_cuda_of_the_machine_is_not_that_of_the_package(
    framework: str, cuda: str, newest: str, matrix: Matrix
) -> None:
    plan = resolve_having(parse_request(RequestWords((framework,), cuda=cuda), matrix, container=False), matrix)
    assert isinstance(plan, Plan)
    assert str(plan.choice.builds[0].version) == newest
    assert "bundles its own CUDA" in plan.warnings[0]


def test_a_cuda_whose_drivers_run_no_such_release_stays_refused(matrix: Matrix) -> None:
    request = parse_request(RequestWords(("pytorch==2.4",), cuda="9.0"), matrix, container=False)
    assert isinstance(resolve_having(request, matrix), NoPlan)


@pytest.mark.parametrize(("family", "newest"), [("ubuntu", "ubuntu26.04"), ("debian", "debian13")])
def test_of_a_distribution_the_newest_release_is_named_first(family: str, newest: str, matrix: Matrix) -> None:
    with pytest.raises(RequestError, match=f"Did you mean {newest}"):
        parse_os(family, matrix)


def test_a_plan_for_packages_of_a_cuda_says_what_its_driver_would_run(matrix: Matrix) -> None:
    def warnings_of(words: RequestWords) -> tuple[str, ...]:
        return resolve_having(parse_request(words, matrix, container=False), matrix).warnings

    (told,) = warnings_of(RequestWords(("pytorch",), cuda="12.4"))
    assert "use --driver 550 instead of --cuda: PyTorch 2.14.1 for CUDA 12.6" in told
    assert warnings_of(RequestWords(("pytorch",), cuda="12.4", driver="550.54.15")) == ()
    assert warnings_of(RequestWords(("pytorch",), cuda="13.2")) == ()  # nothing newer
    volta = warnings_of(RequestWords(("pytorch",), cuda="9.0", gpus=("Tesla V100-PCIE-16GB",)))
    assert not any("nvidia-smi" in warning for warning in volta)  # it would take cuda-compat


@pytest.mark.parametrize("text", ["windows", "Windows11", "win10", "windows-server-2022", "windows 8.1"])
def test_every_release_of_windows_is_windows(text: str, matrix: Matrix) -> None:
    assert parse_request(RequestWords(os_id=text), matrix, container=False).platform == "windows"
