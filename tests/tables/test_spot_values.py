"""Values copied by hand from vendors' pages, not from our tables; the page is above each group."""

from __future__ import annotations

import pytest

from envkit.base.versions import ComputeCapability, Version, VersionSpec
from envkit.tables import Matrix
from envkit.tables.rows import FrameworkBuild, Toolkit


def v(text: str) -> Version:
    return Version.parse(text)


def toolkit(matrix: Matrix, version: str) -> Toolkit:
    found = [row for row in matrix.toolkits if row.version == v(version)]
    assert len(found) == 1, version
    return found[0]


def builds(matrix: Matrix, framework: str, version: str, cuda: str) -> list[FrameworkBuild]:
    return [row for row in matrix.builds(framework) if row.version == v(version) and row.cuda == v(cuda)]


# https://docs.nvidia.com/cuda/archive/11.6.0/cuda-toolkit-release-notes/index.html and the notes of 12.8 and 13.0,
# table "CUDA Toolkit and Corresponding Driver Versions": toolkit, Linux, Windows
DRIVERS = [
    ("7.5.18", "352.31", "353.66"),
    ("8.0.44", "367.48", "369.30"),
    ("8.0.61", "375.26", "376.51"),
    ("9.0.176", "384.81", "385.54"),
    ("9.1.85", "390.46", "391.29"),
    ("9.2.88", "396.26", "397.44"),
    ("9.2.148", "396.37", "398.26"),
    ("10.0.130", "410.48", "411.31"),
    ("10.1.243", "418.39", "418.96"),
    ("10.2.89", "440.33", "441.22"),
    ("11.0.3", "450.51.06", "451.82"),
    ("11.1.1", "455.32", "456.81"),
    ("11.2.0", "460.27.03", "460.82"),
    ("11.2.2", "460.32.03", "461.33"),
    ("11.3.1", "465.19.01", "465.89"),
    ("11.4.0", "470.42.01", "471.11"),
    ("11.4.4", "470.82.01", "472.50"),
    ("11.5.0", "495.29.05", "496.04"),
    ("11.6.0", "510.39.01", "511.23"),
    ("11.7.0", "515.43.04", "516.01"),
    ("11.8.0", "520.61.05", "520.06"),
    ("12.0.0", "525.60.13", "527.41"),
    ("12.1.1", "530.30.02", "531.14"),
    ("12.2.2", "535.104.05", "537.13"),
    ("12.4.1", "550.54.15", "551.78"),
    ("12.6.3", "560.35.05", "561.17"),
    ("12.8.0", "570.26", "570.65"),
]


@pytest.mark.parametrize(("version", "linux", "windows"), DRIVERS)
def test_minimum_drivers(matrix: Matrix, version: str, linux: str, windows: str) -> None:
    row = toolkit(matrix, version)
    assert (row.minimum_driver, row.minimum_windows_driver) == (v(linux), v(windows))


# https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html
@pytest.mark.parametrize(
    ("version", "floor"), [("11.1.0", "450.80.02"), ("11.8.0", "450.80.02"), ("12.4.1", "525.60.13"), ("13.0.0", "580")]
)
def test_floors_of_minor_version_compatibility(matrix: Matrix, version: str, floor: str) -> None:
    assert toolkit(matrix, version).minor_compatibility_driver == v(floor)


# https://docs.nvidia.com/cuda/archive/<version>/cuda-installation-guide-linux/, host compiler support
@pytest.mark.parametrize(
    ("version", "gcc"),
    [("9.0.176", 6), ("10.0.130", 7), ("10.2.89", 8), ("11.0.3", 9), ("11.8.0", 11), ("12.0.0", 12), ("12.3.2", 12),
     ("12.4.1", 13), ("12.8.1", 14), ("13.0.0", 15)],
)  # fmt: skip
def test_newest_host_compilers(matrix: Matrix, version: str, gcc: int) -> None:
    limit = toolkit(matrix, version).gcc_max
    assert limit is not None
    assert limit.major == gcc


# release notes of 9.0 (Fermi removed), 11.0 (3.0 removed), 12.0 (Kepler removed), 13.0 (Maxwell to Volta removed)
# and 9.0, 10.0, 11.0, 11.1, 11.8, 12.8 (Volta, Turing, A100, GeForce 30, Ada and Hopper, Blackwell added)
@pytest.mark.parametrize(
    ("version", "lowest", "highest"),
    [("8.0.61", "2.0", "6.2"), ("10.0.130", "3.0", "7.5"), ("11.0.3", "3.5", "8.0"), ("11.1.1", "3.5", "8.6"),
     ("11.8.0", "3.5", "9.0"), ("12.0.0", "5.0", "9.0"), ("13.0.0", "7.5", "12.1")],
)  # fmt: skip
def test_targets_of_nvcc(matrix: Matrix, version: str, lowest: str, highest: str) -> None:
    row = toolkit(matrix, version)
    assert row.min_compute_capability == ComputeCapability.parse(lowest)
    assert row.max_compute_capability == ComputeCapability.parse(highest)


# https://developer.nvidia.com/cuda-toolkit-archive, the installer names on the download pages
@pytest.mark.parametrize(
    ("version", "name", "patches"),
    [
        ("8.0.61", "cuda_8.0.61_375.26_linux-run", 1),
        ("9.0.176", "cuda_9.0.176_384.81_linux-run", 4),
        ("10.0.130", "cuda_10.0.130_410.48_linux", 0),
        ("10.2.89", "cuda_10.2.89_440.33.01_linux.run", 2),
        ("11.8.0", "cuda_11.8.0_520.61.05_linux.run", 0),
        ("12.1.1", "cuda_12.1.1_530.30.02_linux.run", 0),
        ("12.4.1", "cuda_12.4.1_550.54.15_linux.run", 0),
        ("12.8.0", "cuda_12.8.0_570.86.10_linux.run", 0),
    ],
)
def test_installers(matrix: Matrix, version: str, name: str, patches: int) -> None:
    files = matrix.runfiles(v(version), "x86_64")
    assert files[0].name == name
    assert len(files) - 1 == patches


# https://docs.nvidia.com/datacenter/tesla/drivers/, CUDA version of each branch; legacy GPUs:
# https://nvidia.custhelp.com/app/answers/detail/a_id/3142
@pytest.mark.parametrize(
    ("branch", "cuda", "knows", "dropped"),
    [
        (384, "9.0", "Fermi", "Turing"),
        (390, "9.1", "Fermi", "Turing"),
        (418, "10.1", "Kepler", "Fermi"),
        (450, "11.0", "Ampere", "Fermi"),
        (470, "11.4", "Kepler", "Fermi"),
        (525, "12.0", "Hopper", "Kepler"),
        (535, "12.2", "Maxwell", "Kepler"),
        (550, "12.4", "Pascal", "Kepler"),
        (570, "12.8", "Blackwell", "Kepler"),
        (580, "13.0", "Volta", "Kepler"),
    ],
)
def test_driver_branches(matrix: Matrix, branch: int, cuda: str, knows: str, dropped: str) -> None:
    row = matrix.driver_branch(branch)
    assert row is not None
    assert row.driver_cuda_version == v(cuda)
    assert knows in (row.families or ())
    assert dropped not in (row.families or ())


# https://github.com/NVIDIA/open-gpu-kernel-modules, README: open modules from 515
def test_the_first_branch_with_open_modules(matrix: Matrix) -> None:
    first = next(row for row in matrix.driver_branches if row.open_kernel_module != "none")
    assert first.branch == 515


# https://developer.nvidia.com/cuda-gpus; data sheets on nvidia.com for memory, bandwidth and power
GPUS = [
    ("Tesla K80", "3.7", 12, 240, 300, 470),
    ("GeForce GTX 780 Ti", "3.5", 3, 336, 250, 470),
    ("GeForce GTX 980 Ti", "5.2", 6, 336.5, 250, 580),
    ("Tesla P100-SXM2-16GB", "6.0", 16, 732, 300, 580),
    ("GeForce GTX 1080 Ti", "6.1", 11, 484, 250, 580),
    ("Tesla V100-SXM2-32GB", "7.0", 32, 900, 300, 580),
    ("GeForce RTX 2080 Ti", "7.5", 11, 616, 250, None),
    ("Tesla T4", "7.5", 16, 320, 70, None),
    ("NVIDIA A100-SXM4-80GB", "8.0", 80, 2039, 400, None),
    ("NVIDIA A10", "8.6", 24, 600, 150, None),
    ("GeForce RTX 3090", "8.6", 24, 936, 350, None),
    ("NVIDIA L4", "8.9", 24, 300, 72, None),
    ("NVIDIA L40S", "8.9", 48, 864, 350, None),
    ("GeForce RTX 4090", "8.9", 24, 1008, 450, None),
    ("NVIDIA H100 80GB HBM3", "9.0", 80, 3350, 700, None),
    ("NVIDIA H200", "9.0", 141, 4800, 700, None),
    ("GeForce RTX 5090", "12.0", 32, 1792, 575, None),
]


@pytest.mark.parametrize(("name", "capability", "memory", "bandwidth", "power", "last"), GPUS)
def test_gpus(
    matrix: Matrix, name: str, capability: str, memory: int, bandwidth: float, power: int, last: int | None
) -> None:
    gpu = matrix.gpu_by_name(name)
    assert gpu is not None
    assert gpu.compute_capability == ComputeCapability.parse(capability)
    assert gpu.memory_gb == memory
    assert gpu.memory_bandwidth_gbs == pytest.approx(bandwidth, rel=0.01)
    assert gpu.tdp_w == power
    assert gpu.last_driver_branch == last


# hothardware.com/reviews/nvidia-geforce-gtx-660-roundup-msi-zotac-gigabyte?page=3 (GTX 650: GK107, 64 W, 2012); the
# announcement of the V100 for PCIe (150 W, full height half length); nvidia.com/en-us/products/workstations/a800
@pytest.mark.parametrize(
    ("name", "chip", "year", "power"),
    [
        ("GeForce GTX 650", "GK107", 2012, 64),
        ("Tesla V100-FHHL-16GB", "GV100", 2018, 150),
        ("NVIDIA A800 40GB Active", "GA100", 2022, 240),
    ],
)
def test_boards_that_share_a_name_with_others(matrix: Matrix, name: str, chip: str, year: int, power: int) -> None:
    gpu = matrix.gpu_by_name(name)
    assert gpu is not None
    assert (gpu.chip, gpu.launch_year, gpu.tdp_w) == (chip, year, power)


# en.wikipedia.org/wiki/List_of_Nvidia_graphics_processing_units: 192 cores at 797 MHz, two operations each
def test_the_gt_720_has_192_cores(matrix: Matrix) -> None:
    gpu = matrix.gpu_by_name("GeForce GT 720")
    assert gpu is not None and gpu.fp32_tflops == pytest.approx(2 * 192 * 797e6 / 1e12, rel=0.01)


@pytest.mark.parametrize("name", ["Tesla T4", "NVIDIA A100-SXM4-80GB", "NVIDIA L40S", "NVIDIA H200", "NVIDIA B200"])
def test_data_center_gpus(matrix: Matrix, name: str) -> None:
    gpu = matrix.gpu_by_name(name)
    assert gpu is not None
    assert gpu.data_center


@pytest.mark.parametrize("name", ["GeForce RTX 4090", "NVIDIA RTX A6000", "NVIDIA TITAN V", "Quadro GV100"])
def test_gpus_of_desks(matrix: Matrix, name: str) -> None:
    gpu = matrix.gpu_by_name(name)
    assert gpu is not None
    assert not gpu.data_center


# https://pci-ids.ucw.cz/read/PC/10de
@pytest.mark.parametrize(
    ("device", "name"),
    [("1B06", "GTX 1080 Ti"), ("2684", "RTX 4090"), ("1EB8", "T4"), ("20B2", "A100-SXM4-80GB"), ("102D", "K80"),
     ("2204", "RTX 3090"), ("2B85", "RTX 5090")],
)  # fmt: skip
def test_device_ids(matrix: Matrix, device: str, name: str) -> None:
    assert any(gpu.name.endswith(name) for gpu in matrix.gpus_by_device_id(device))


# https://www.tensorflow.org/install/source, tested build configurations, Linux GPU: version, Pythons, cuDNN, CUDA
TENSORFLOW = [
    ("1.4.0", "2.7", "3.6", "6", "8.0"),
    ("1.12.0", "2.7", "3.6", "7", "9.0"),
    ("1.13.1", "2.7", "3.7", "7.4", "10.0"),
    ("1.15.0", "2.7", "3.7", "7.4", "10.0"),
    ("2.1.0", "2.7", "3.7", "7.6", "10.1"),
    ("2.4.0", "3.6", "3.8", "8.0", "11.0"),
    ("2.5.0", "3.6", "3.9", "8.1", "11.2"),
    ("2.10.0", "3.7", "3.10", "8.1", "11.2"),
    ("2.12.0", "3.8", "3.11", "8.6", "11.8"),
    ("2.15.0", "3.9", "3.11", "8.9", "12.2"),
    ("2.16.1", "3.9", "3.12", "8.9", "12.3"),
    ("2.18.0", "3.9", "3.12", "9.3", "12.5"),
]


@pytest.mark.parametrize(("version", "first", "last", "cudnn", "cuda"), TENSORFLOW)
def test_tensorflow(matrix: Matrix, version: str, first: str, last: str, cudnn: str, cuda: str) -> None:
    rows = builds(matrix, "tensorflow", version, cuda)
    assert any("linux" in row.platforms for row in rows)
    for row in (row for row in rows if "linux" in row.platforms):  # Windows has had fewer Pythons
        assert (row.pythons[0], row.pythons[-1]) == (v(first), v(last))
        assert row.cudnn is not None
        assert row.cudnn.starts_with(v(cudnn))


# https://www.tensorflow.org/install/pip: 2.10 was the last with a GPU on native Windows
def test_the_last_tensorflow_with_a_gpu_on_windows(matrix: Matrix) -> None:
    last = [row.version for row in matrix.builds("tensorflow") if "windows" in row.platforms][-1]
    assert last.release(2) == v("2.10")


# https://pytorch.org/get-started/previous-versions/: version, CUDA, requirement, torchvision, place
PYTORCH = [
    ("1.5.1", "10.1", "torch==1.5.1+cu101", "torchvision==0.6.1+cu101", "https://download.pytorch.org/whl/torch_stable.html"),
    ("1.6.0", "9.2", "torch==1.6.0+cu92", "torchvision==0.7.0+cu92", "https://download.pytorch.org/whl/torch_stable.html"),
    ("1.7.1", "11.0", "torch==1.7.1+cu110", "torchvision==0.8.2+cu110", "https://download.pytorch.org/whl/torch_stable.html"),
    ("1.10.1", "11.3", "torch==1.10.1+cu113", "torchvision==0.11.2+cu113", "https://download.pytorch.org/whl/cu113/torch_stable.html"),
    ("1.13.1", "11.6", "torch==1.13.1+cu116", "torchvision==0.14.1+cu116", "https://download.pytorch.org/whl/cu116"),
    ("2.0.1", "11.8", "torch==2.0.1", "torchvision==0.15.2", "https://download.pytorch.org/whl/cu118"),
    ("2.4.1", "12.4", "torch==2.4.1", "torchvision==0.19.1", "https://download.pytorch.org/whl/cu124"),
    ("2.5.1", "12.1", "torch==2.5.1", "torchvision==0.20.1", "https://download.pytorch.org/whl/cu121"),
    ("2.6.0", "12.6", "torch==2.6.0", "torchvision==0.21.0", "https://download.pytorch.org/whl/cu126"),
    ("2.7.0", "12.8", "torch==2.7.0", "torchvision==0.22.0", "https://download.pytorch.org/whl/cu128"),
]  # fmt: skip


@pytest.mark.parametrize(("version", "cuda", "package", "companion", "place"), PYTORCH)
def test_pytorch_commands(matrix: Matrix, version: str, cuda: str, package: str, companion: str, place: str) -> None:
    assert any(
        (row.package, row.index_url or row.find_links) == (package, place) and companion in row.companions
        for row in builds(matrix, "pytorch", version, cuda)
    )


# https://github.com/pytorch/pytorch/blob/main/RELEASE.md, release compatibility matrix: the stable CUDA is PyPI's
@pytest.mark.parametrize(
    ("version", "cuda", "first", "last"),
    [("1.1.0", "9.0", "2.7", "3.7"), ("1.13.1", "11.7", "3.7", "3.11"), ("2.0.1", "11.7", "3.8", "3.11"),
     ("2.1.0", "12.1", "3.8", "3.11"), ("2.5.1", "12.4", "3.9", "3.12"), ("2.6.0", "12.4", "3.9", "3.13")],
)  # fmt: skip
def test_the_pytorch_of_the_package_index(matrix: Matrix, version: str, cuda: str, first: str, last: str) -> None:
    rows = [row for row in builds(matrix, "pytorch", version, cuda) if row.on_pypi]
    assert rows
    assert rows[0].package == f"torch=={version}"
    assert rows[0].pythons[0] == v(first)
    assert rows[0].pythons[-1] >= v(last)


# torch.cuda.get_arch_list() in users' reports: https://github.com/pytorch/pytorch/issues/146977 (2.6 and RTX 5090),
# https://discuss.pytorch.org/t/98441 (1.7.1+cu110), https://github.com/pytorch/pytorch/issues/87595 (1.12)
@pytest.mark.parametrize(
    ("version", "cuda", "held", "lacking"),
    [("2.6.0", "12.4", "9.0", "12.0"), ("2.7.0", "12.8", "12.0", "6.1"), ("1.7.1", "11.0", "8.0", "8.6"),
     ("1.12.1", "10.2", "7.0", "8.0"), ("2.5.1", "12.4", "5.0", "10.0")],
)  # fmt: skip
def test_code_in_pytorch(matrix: Matrix, version: str, cuda: str, held: str, lacking: str) -> None:
    rows = [row for row in builds(matrix, "pytorch", version, cuda) if row.sass]
    assert rows
    for row in rows:
        assert ComputeCapability.parse(held) in (row.sass or ())
        assert ComputeCapability.parse(lacking) not in (row.sass or ())


# NVIDIA's redistrib_8.9.7.json, redistrib_9.8.0.json and redistrib_9.27.0.json, as NixOS/nixpkgs keeps them: linux-sbsa
SBSA = [
    ("8.9.7.29", "11", "91c37cfb458f541419e98510f13aaf5975c0232c613e18b776385490074eea17"),
    ("9.8.0.87", "12", "22f62f474f0cbb35bef540adb1d841da63c9cd3df76b3c4e43010f436b2cd85c"),
    ("9.27.0.42", "13", "74912c0c6182d7af2cd35619241674781dd4ca716a5ba87b01157b78ee959001"),
]


@pytest.mark.parametrize(("version", "cuda", "sha256"), SBSA)
def test_archives_of_cudnn_for_aarch64(matrix: Matrix, version: str, cuda: str, sha256: str) -> None:
    (row,) = (
        row
        for row in matrix.cudnns
        if row.version == v(version) and row.cuda == v(cuda) and row.architecture == "aarch64"
    )
    assert row.sha256 == sha256
    assert row.url == (
        "https://developer.download.nvidia.com/compute/cudnn/redist/cudnn/linux-sbsa/"
        f"cudnn-linux-sbsa-{version}_cuda{cuda}-archive.tar.xz"
    )


def test_no_address_of_cudnn_is_listed_with_two_checksums(matrix: Matrix) -> None:
    """facebookarchive/caffe2#142: the archive of 5.1 became 5.1.10 in place, so 5.1.5 can be obtained no more."""
    sums: dict[str, set[str | None]] = {}
    for row in matrix.cudnns:
        if row.url:
            sums.setdefault(row.url, set()).add(row.sha256)
    assert [url for url, found in sums.items() if len(found) > 1] == []


# https://docs.nvidia.com/deeplearning/cudnn/archives/cudnn_760, cudnn-803, cudnn-822, cudnn-896, support matrices
@pytest.mark.parametrize(
    ("version", "cuda", "driver"),
    [("7.6.0", "10.1", "418.39"), ("7.6.5", "10.2", "440"), ("7.6.5", "9.0", "384.111"), ("8.0.3", "11.0", "450"),
     ("8.9.6", "12", "525.60.13"), ("8.9.6", "11", "450.80.02")],
)  # fmt: skip
def test_drivers_of_cudnn(matrix: Matrix, version: str, cuda: str, driver: str) -> None:
    rows = [row for row in matrix.cudnns if row.version.starts_with(v(version)) and row.cuda.starts_with(v(cuda))]
    assert rows
    assert {row.minimum_driver for row in rows} == {v(driver)}


# the same pages: cuDNN 8.9 for CUDA 11 runs on 11.0 to 11.8, 7.6 has a build for each CUDA
@pytest.mark.parametrize(
    ("version", "cudas"),
    [("7.6.5", {"9.0", "9.2", "10.0", "10.1", "10.2"}), ("8.0.5", {"10.1", "10.2", "11.0", "11.1"})],
)
def test_builds_of_cudnn(matrix: Matrix, version: str, cudas: set[str]) -> None:
    assert {str(row.cuda) for row in matrix.cudnns if row.version.starts_with(v(version))} == cudas


# https://onnxruntime.ai/docs/execution-providers/CUDA-ExecutionProvider.html
@pytest.mark.parametrize(
    ("version", "cuda", "cudnn"), [("1.11.0", "11.4", "8.2"), ("1.17.0", "11.8", "8"), ("1.20.0", "12", "9")]
)
def test_onnx_runtime(matrix: Matrix, version: str, cuda: str, cudnn: str) -> None:
    (row,) = builds(matrix, "onnxruntime", version, cuda)
    assert row.cudnn is not None
    assert row.cudnn.starts_with(v(cudnn))


# https://mxnet.apache.org/versions/1.9.1/get_started and https://github.com/apache/mxnet/issues/21165 (NumPy 1.24)
def test_the_last_mxnet(matrix: Matrix) -> None:
    last = matrix.builds("mxnet")[-1]
    assert (str(last.version), str(last.cuda), last.package) == ("1.9.1", "11.2", "mxnet-cu112==1.9.1")
    assert last.archived
    assert last.numpy is not None
    assert "<1.24" in last.numpy
    assert v("3.12") not in last.pythons


# https://docs.jax.dev/en/latest/installation.html: CUDA 12 wheels on the package index, driver 525 or newer
def test_jax(matrix: Matrix) -> None:
    rows = [row for row in matrix.builds("jax") if row.package == "jax[cuda12]==0.4.35"]
    assert rows
    assert all(row.cuda is not None and row.cuda.major == 12 and row.on_pypi and row.bundles_cuda for row in rows)


# https://docs.cupy.dev/en/stable/install.html
@pytest.mark.parametrize(("package", "spec"), [("cupy-cuda11x", "11.2"), ("cupy-cuda12x", "12.0")])
def test_cupy(matrix: Matrix, package: str, spec: str) -> None:
    rows = [row for row in matrix.builds("cupy") if (row.package or "").startswith(f"{package}==")]
    assert rows
    assert all(row.cuda is not None and VersionSpec.parse(str(row.cuda)).holds(v(spec)) for row in rows)


# https://gitlab.com/nvidia/container-images/cuda/-/blob/master/doc/supported-tags.md and unsupported-tags.md
@pytest.mark.parametrize(
    ("tag", "states"),
    [
        ("9.0-cudnn7-devel-ubuntu16.04", {"deleted"}),
        ("10.2-cudnn8-devel-ubuntu18.04", {"deleted"}),
        ("11.8.0-cudnn8-devel-ubuntu22.04", {"supported"}),
        ("12.4.1-cudnn-devel-ubuntu22.04", {"supported", "unsupported"}),
        ("12.6.3-cudnn-runtime-ubuntu24.04", {"supported"}),
        ("13.0.0-cudnn-devel-ubuntu24.04", {"unsupported"}),
        ("13.0.0-devel-ubuntu20.04", {"never"}),
        ("latest", {"deleted"}),
    ],
)
def test_images(matrix: Matrix, tag: str, states: set[str]) -> None:
    (row,) = [row for row in matrix.image_tags if row.tag == tag]
    assert row.state in states


# https://github.com/tensorflow/tensorflow/blob/HEAD/RELEASE.md, 2.3.0: "TF 2.3 includes PTX kernels only for compute
# capability 7.0 [...]. Earlier releases included PTX for a variety of older compute capabilities", which the wrapper of
# nvcc made for each of 3.5, 3.7, 5.2, 6.0, 6.1 and 7.0; tensorflow/tensorflow#41892: 2.2 runs on 5.0
@pytest.mark.parametrize(("version", "ptx"), [("1.15.5", "3.5"), ("2.2.0", "3.5"), ("2.3.0", "7.0"), ("2.4.0", "8.0")])
def test_the_lowest_ptx_in_tensorflow(matrix: Matrix, version: str, ptx: str) -> None:
    for row in matrix.builds("tensorflow"):
        if row.version == v(version):
            assert row.ptx and min(row.ptx, key=lambda target: (target.major, target.minor)) == ComputeCapability.parse(
                ptx
            )


# https://github.com/jax-ml/jax/blob/HEAD/CHANGELOG.md, jaxlib 0.4.4: "Support for NVIDIA Kepler series GPUs has been
# removed"; docs/installation.md: "SM version 5.2 (Maxwell) or newer"
def test_jax_left_kepler_before_cuda_12(matrix: Matrix) -> None:
    rows = [row for row in matrix.builds("jax") if row.cuda is not None and row.cuda.major == 11]
    lowest = {row.version: row.min_compute_capability for row in rows}
    maxwell, kepler = ComputeCapability.parse("5.2"), ComputeCapability.parse("3.5")
    assert all(low == (maxwell if version >= v("0.4.4") else kepler) for version, low in lowest.items())
    assert len(set(lowest.values())) == 2


# https://docs.nvidia.com/deeplearning/tensorrt: the support matrix of 10.1.0 ("SM 7.0 or higher") and the release notes
# of 10.5.0 ("NVIDIA Volta support [...] has been removed starting with TensorRT 10.5")
@pytest.mark.parametrize(
    ("version", "lowest"),
    [("10.1.0", "7.0"), ("10.4.0", "7.0"), ("10.5.0", "7.5"), ("10.16.1.11", "7.5"), ("11.4.0.106", "7.5")],
)
def test_the_gpus_of_tensorrt(matrix: Matrix, version: str, lowest: str) -> None:
    rows = [row for row in matrix.builds("tensorrt") if row.version == v(version)]
    assert rows and all(row.min_compute_capability == ComputeCapability.parse(lowest) for row in rows)


# packages.ubuntu.com, packages.debian.org and docs.redhat.com: glibc, default Python, default GCC
@pytest.mark.parametrize(
    ("os_id", "glibc", "python", "gcc"),
    [
        ("ubuntu14.04", "2.19", "3.4", "4"), ("ubuntu16.04", "2.23", "3.5", "5"), ("ubuntu18.04", "2.27", "3.6", "7"),
        ("ubuntu20.04", "2.31", "3.8", "9"),
        ("ubuntu22.04", "2.35", "3.10", "11"), ("ubuntu24.04", "2.39", "3.12", "13"),
        ("debian11", "2.31", "3.9", "10"), ("debian12", "2.36", "3.11", "12"), ("debian13", "2.41", "3.13", "14"),
        ("centos7", "2.17", "2.7", "4"), ("rockylinux8", "2.28", "3.6", "8"), ("rockylinux9", "2.34", "3.9", "11"),
        ("amzn2023", "2.34", "3.9", "11"),
    ],
)  # fmt: skip
def test_distributions(matrix: Matrix, os_id: str, glibc: str, python: str, gcc: str) -> None:
    row = matrix.operating_system(os_id)
    assert row is not None
    assert (row.glibc, row.default_python) == (v(glibc), v(python))
    assert row.default_gcc is not None
    assert row.default_gcc.major == int(gcc)


# https://docs.nvidia.com/cuda/cuda-installation-guide-linux/: openSUSE Leap 15.6 and SLES 15.7 have glibc 2.38 and GCC
# 7.5.0, those of 15.5 glibc 2.31; the rows are those of the images that they name
@pytest.mark.parametrize("os_id", ["opensuse15", "sles15"])
def test_suse_is_that_of_its_image(matrix: Matrix, os_id: str) -> None:
    row = matrix.operating_system(os_id)
    assert row is not None and row.base_image is not None and row.base_image.endswith(":15.6")
    assert (row.glibc, row.default_gcc) == (v("2.38"), v("7.5.0"))


# packages.ubuntu.com and packages.debian.org: the gcc-N that each release has, in all its components
@pytest.mark.parametrize(
    ("os_id", "versions"),
    [
        ("ubuntu20.04", "7;8;9;10"), ("ubuntu22.04", "9;10;11;12"), ("ubuntu24.04", "9;10;11;12;13;14"),
        ("ubuntu26.04", "11;12;13;14;15;16"), ("debian11", "9;10"), ("debian12", "11;12"), ("debian13", "12;13;14"),
    ],
)  # fmt: skip
def test_compilers_of_distributions(matrix: Matrix, os_id: str, versions: str) -> None:
    row = matrix.operating_system(os_id)
    assert row is not None
    assert ";".join(map(str, row.installable_gcc)) == versions


# OpenRAL/openral#99: "2.7.x and 2.9.x both ship manylinux_2_28_aarch64 on cu128", 2.8.0 does not; openral#167:
# 2.9.1+cu128 on aarch64 lists sm_80, sm_90, sm_100 and sm_120; pytorch/builder#1971:
# whl/cu124/torch-2.4.0-cp311-cp311-linux_aarch64.whl
# pytorch/pytorch, RELEASE.md, "architectures supported for Linux aarch64 builds" of 2.12, 2.13 and 2.14
@pytest.mark.parametrize(
    ("version", "cuda", "held"),
    [
        ("2.4.0", "12.4", None), ("2.7.1", "12.8", "9.0 10.0 12.0"), ("2.9.1", "12.8", "8.0 9.0 10.0 12.0"),
        ("2.13.0", "12.6", "8.0 9.0"), ("2.13.0", "13.0", "8.0 9.0 10.0 11.0 12.0"),
        ("2.14.1", "13.2", "8.0 9.0 10.0 11.0 12.0"),
    ],
)  # fmt: skip
def test_pytorch_for_aarch64(matrix: Matrix, version: str, cuda: str, held: str | None) -> None:
    (row,) = [row for row in builds(matrix, "pytorch", version, cuda) if "aarch64" in row.architectures]
    assert row.package == f"torch=={version}" and row.on_pypi == (cuda == "13.0")
    assert row.sass == (tuple(map(ComputeCapability.parse, held.split())) if held else None)
    assert not [row for row in builds(matrix, "pytorch", "2.8.0", "12.8") if "aarch64" in row.architectures], (
        "the one release without"
    )


# https://github.com/mayeut/pep600_compliance/blob/main/README.rst, table "compatibility": the newest policy that each
# distribution meets is its glibc
@pytest.mark.parametrize(
    ("glibc", "os_ids"),
    [
        ("2.17", "centos7 oraclelinux7 rhel7"), ("2.19", "ubuntu14.04"), ("2.23", "ubuntu16.04"), ("2.26", "amzn2"),
        ("2.27", "ubuntu18.04"), ("2.28", "almalinux8 centos8 debian10 oraclelinux8 rhel8 ubi8 rockylinux8"),
        ("2.31", "debian11 ubuntu20.04"), ("2.32", "fedora33"), ("2.33", "fedora34"),
        ("2.34", "almalinux9 amzn2023 oraclelinux9 rhel9 ubi9 rockylinux9"), ("2.35", "ubuntu22.04"),
        ("2.36", "debian12"), ("2.39", "almalinux10 fedora40 rhel10 ubi10 rockylinux10 ubuntu24.04"),
        ("2.40", "fedora41"), ("2.41", "debian13 fedora42"), ("2.42", "fedora43"),
    ],
)  # fmt: skip
def test_the_glibc_of_distributions(matrix: Matrix, glibc: str, os_ids: str) -> None:
    rows = [matrix.operating_system(os_id) for os_id in os_ids.split()]
    assert {row.glibc for row in rows if row is not None} == {v(glibc)}


# README of each archived project
@pytest.mark.parametrize(
    "name", ["mxnet", "cntk", "theano", "chainer", "caffe", "caffe2", "torch7", "ngraph", "clipper"]
)
def test_archived_projects(matrix: Matrix, name: str) -> None:
    framework = matrix.framework(name)
    assert framework is not None
    assert framework.archived


@pytest.mark.parametrize("name", ["tensorflow", "pytorch", "jax", "onnxruntime", "cupy", "keras"])
def test_living_projects(matrix: Matrix, name: str) -> None:
    framework = matrix.framework(name)
    assert framework is not None
    assert not framework.archived
