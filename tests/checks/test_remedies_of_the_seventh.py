"""The fix for reports whose fix was judged not to work in the seventh reading, and what stays as it was beside them."""

from __future__ import annotations

import pytest

from tests.checks.remedies_given import REPORTS
from tests.checks.test_remedies_suited import told


@pytest.mark.parametrize(
    ("report", "check", "parts", "without"),
    [
        ("31/b31-01", "open-module-on-pre-turing", ["AMI", "g4dn"], ["apt-get", "Ubuntu"]),
        ("31/b31-02", "kernel-headers-missing", ["linux-image-cloud-amd64 linux-headers-cloud-amd64"], ["uname -r"]),
        ("31/b31-03", "device-node-permission", ["mode 1232", "0666", "chmod 0666 /dev/nvidia"], ["usermod"]),
        (
            "31/b31-05",
            "runfile-over-packages",
            ["purge -y libnvidia-compute-460", "NVIDIA-Linux-$(uname -m)-455.45.01.run"],
            ["--reinstall"],
        ),
        ("31/b31-06", "toolkit-dropped-arch", ["compute_20", "Makefile.config", "6.1"], ["--cuda 8.0"]),
        ("31/b31-08", "nvcc-too-old-for-gpu", ["--cuda 10.0 --cudnn 7"], []),
        ("31/b31-09", "nvcc-vs-torch-mismatch", ["$HOME/cuda-11.7", "cuda_11.7.1"], ["/usr/local", "--run"]),
        ("31/b31-12", "pip-belongs-to-other-python", ["python3 setup.py install", "without sudo"], ["PACKAGE"]),
        ("31/b31-14", "cpu-only-wheel", ["uv tool install --force", "torch==2.9.0+cu128", "/whl/cu128"], ["uv add"]),
        ("31/b31-15", "python-no-wheel", ["torch==1.8.1+cu111", "torch_stable.html"], ["lts", "uv venv"]),
        ("31/b31-17", "libcudart-missing", ["sgl-kernel==0.3.21", "/whl/cu130"], ["nvidia-cuda-nvrtc-cu12"]),
        ("31/b31-18", "cudnn-older-than-build", ["CuPy", "uninstall -y cupy-cuda92"], ["LD_LIBRARY_PATH"]),
        ("31/b31-20", "cudnn-missing", ["xcopy /y", "v7.6.5.32", "CUDA\\v10.2\\bin"], ["envkit install"]),
        ("31/b31-23", "bfloat16-not-on-gpu", ["vllm_dtype: float16"], ["--dtype half"]),
        ("31/b31-26", "triton-needs-compiler", ["Python.Python.3.11", "python_embeded"], ["apt-get"]),
        ("31/b31-27", "cdi-unresolvable", ["--cdi-spec-dir=/run/cdi", "cdi_spec_dirs"], ["Docker"]),
        ("31/b31-30", "rootless-cgroups", ["config.toml", "sudo systemctl restart docker"], ["--user", "nvidia-ctk"]),
        ("31/b31-34", "fabric-manager-not-running", ["nvidia-fabricmanager 575.64.03", "guest"], ["systemctl enable"]),
        ("31/b31-35", "vgpu-not-started", ["12288 MiB", "4 GB"], ["/usr/lib/nvidia/sriov-manage"]),
        ("31/b31-36", "memlock-too-low", ["docker run --ulimit memlock=-1 --gpus all"], ["limits.d"]),
        ("31/b31-39", "ecc-uncorrectable", ["terminate the pod", "uuid"], ["--gpu-reset -i"]),
        ("29/b29-06", "container-loses-gpu", ["PASS_DEVICE_SPECS=true", "CPU manager"], ["/dev/char", "udev"]),
        ("29/b29-13", "thermal-throttle", ["profile", "close it"], ["clean the fans and"]),
        ("29/b29-33", "nvidia-cu11-cu12-cu13-mixed", ["nvidia-nccl-cu11", "nvidia-nccl-cu12==2.18.1"], ["pip list"]),
        ("29/b29-48", "extension-without-operators", ["bitsandbytes==0.39.1"], ["BNB_CUDA_VERSION"]),
        ("22/b22-02", "fabric-manager-not-running", ["/sys/module/nvidia/version", "nvidia-fabricmanager-"], []),
        ("22/b22-03", "driver-library-mismatch", ["purge", "in a container, never"], ["modprobe"]),
        ("22/b22-22", "cudnn-older-than-build", ["--cuda 8.0 --cudnn 5.1"], []),
        ("22/b22-26", "extension-abi-mismatch", ["xformers==0.0.35", "whl/cu130"], []),
        ("23/b23-02", "module-missing-for-running-kernel", ["enable --now dkms"], ["apt-get"]),
        ("23/b23-03", "open-module-on-pre-turing", ["rpm-ostree rebase", "aurora-dx-nvidia:stable"], ["dnf"]),
        ("23/b23-04", "rm-init-adapter-failed", ["NVreg_OpenRmEnableUnsupportedGpus=1"], ["power cables"]),
        ("23/b23-06", "unattended-upgrade-of-driver", ["apt-mark hold"], ["driver.version"]),
        ("23/b23-12", "gpu-refused-in-vm", ["lxc config set"], ["virsh"]),
        ("23/b23-13", "gpu-bound-to-vfio", ["driver_override", "0000:41:00.0"], ["/etc/default/grub"]),
        ("23/b23-17", "nvlink-inactive", ["no bridge"], ["machine turned off"]),
        ("23/b23-20", "thermal-throttle", ["thermald", "not hot"], ["heat sink"]),
        ("23/b23-22", "profiling-counters-restricted", ["administrators"], ["sudo"]),
        ("23/b23-27", "container-no-gpu-injected", ["--runtime=nvidia", "Extra Parameters"], ["docker run"]),
        ("23/b23-31", "repository-key-replaced", ["Dockerfile", "rocker"], ["sudo"]),
        ("23/b23-38", "windows-runtime-missing", ["torch==2.4.1"], ["torch==2.3.1"]),
        ("21/b21-01", "secure-boot-unsigned-module", ["dkms status", "nvidia/$V"], ["nvidia/535 "]),
        ("24/b24-02", "driver-baked-into-image", ["libnvidia-compute-535-server", "RUN rm -f"], []),
        ("24/b24-22", "toolkit-dropped-arch", ["take compute_20", "grep -rnE"], []),
        ("24/b24-36", "libstdcxx-too-old", ["LD_LIBRARY_PATH", "The system's libstdc++"], []),
        ("24/b24-37", "libdevice-not-found", ["$CONDA_PREFIX/lib/nvvm/libdevice"], ["cu12"]),
        ("24/b24-39", "libcudart-missing", ["envkit install --cuda 11.8"], ["ldconfig -p"]),
        ("25/b25-14", "gpu-fallen-off-bus", ["replace the riser"], ["swap the card"]),
        ("26/b26-21", "download-failed", ["install --no-deps https://", ".whl"], ["timeout"]),
        ("26/b26-25", "pip-belongs-to-other-python", ["Microsoft Store"], []),
        ("28/b28-09", "glibc-too-old", ["cxx11-abi", "Apptainer"], ["envkit resolve"]),
        ("30/b30-01", "dkms-build-failed", ["470.256.02", "5.6.18"], ["apt-get", "Ubuntu"]),
        ("30/b30-11", "tf-cannot-dlopen", ["libcudnn.so", "LD_LIBRARY_PATH"], ["tensorflow-gpu=="]),
        ("30/b30-13", "ptx-newer-than-driver", ["cudatoolkit<=9.1"], ["apt-get"]),
        ("30/b30-33", "nccl-wrong-interface", ["NCCL_IB_HCA=mlx5_0,mlx5_3,mlx5_4"], ["NCCL_SOCKET_IFNAME"]),
        ("30/b30-39", "gpu-memory-held-by-lost-process", ["kill 30118"], ["smaller batch"]),
    ],
)
def test_the_fix_is_that_of_the_place(report: str, check: str, parts: list[str], without: list[str]) -> None:
    given = told((REPORTS / f"batch-{report}.txt").read_text(), check)
    said = "\n".join((given.advice, *given.commands))
    assert [part for part in parts if part not in said] == []
    assert [part for part in without if part in said] == []


_NO_HEADERS = "E: Unable to locate package linux-headers-"
_DROPPED = "nvcc fatal   : Unsupported gpu architecture 'compute_35'"
_LOCKED = "NCCL WARN Call to ibv_create_qp failed with error Cannot allocate memory\n"


@pytest.mark.parametrize(
    ("text", "check", "parts", "without"),
    [
        (f"uname -r\n6.8.0-1010-gcp\n{_NO_HEADERS}6.8.0-1010-gcp\n", "kernel-headers-missing", ["linux-image-gcp"], []),
        (  # a kernel of neither system has no metapackage
            f"{_NO_HEADERS}5.15.90-xanmod1\nnvidia-dkms is not built\n",
            "kernel-headers-missing",
            [],
            ["linux-image-"],
        ),
        (  # an octal mode is right
            "Failed to initialize NVML: Insufficient Permissions\noptions nvidia NVreg_DeviceFileMode=0660\n",
            "device-node-permission",
            [],
            ["decimal"],
        ),
        (  # the only GPU has the dropped target: another toolkit
            f"GPU: Tesla K40, driver 470.82\nCuda compilation tools, release 12.0, V12.0.76\n{_DROPPED}\n",
            "toolkit-dropped-arch",
            ["--cuda 11"],
            ["take compute_35"],
        ),
        (  # and none that is told has it
            f"GPU: GeForce RTX 3090\nCuda compilation tools, release 12.0, V12.0.76\n{_DROPPED}\n",
            "toolkit-dropped-arch",
            ["-DCMAKE_CUDA_ARCHITECTURES=86"],
            ["envkit install"],
        ),
        (_LOCKED, "memlock-too-low", ["limits.d"], ["docker"]),
        (f"{_LOCKED}It runs in the container that compose starts.\n", "memlock-too-low", ["--ulimit memlock=-1"], []),
        (  # a Podman that has no specification at all
            "$ podman run --device nvidia.com/gpu=all ubuntu\n"
            "Error: setting up CDI devices: unresolvable CDI devices nvidia.com/gpu=all\n",
            "cdi-unresolvable",
            ["nvidia-ctk cdi generate"],
            ["--cdi-spec-dir"],
        ),
        (  # a rootless Docker is no LXC container
            "rootless docker: nvidia-container-cli: mount error: failed to add device rules: operation not permitted\n",
            "rootless-cgroups",
            ["systemctl --user restart docker"],
            ["LXC"],
        ),
        (
            "ValueError: Bfloat16 is only supported on GPUs with compute capability of at least 8.0.\n",
            "bfloat16-not-on-gpu",
            ["--dtype half"],
            ["vllm_dtype"],
        ),
        (
            "torch.compile: fatal error: Python.h: No such file or directory\n/tmp/tmpx/main.c:5:10, triton\n",
            "triton-needs-compiler",
            ["python3-dev"],
            ["winget"],
        ),
        (
            "RuntimeError: CUDA error: uncorrectable ECC error encountered\nGPU 0: H100\n",
            "ecc-uncorrectable",
            ["reset the GPU"],
            ["pod"],
        ),
        (  # a fan that turns: the usual advice
            "nvidia-smi -q\nGPU 00000000:01:00.0\n    Clocks Throttle Reasons\n"
            "        SW Thermal Slowdown               : Active\n    Temperature\n"
            "        GPU Current Temp                  : 92 C\n",
            "thermal-throttle",
            ["fan speed"],
            ["thermald", "profile"],
        ),
        (  # a mismatch on a host whose containers fail too
            "docker: nvidia-container-cli: initialization error: nvml error: driver/library version mismatch\n",
            "driver-library-mismatch",
            ["modprobe"],
            ["purge"],
        ),
        (
            "NVRM: Xid (PCI:0000:01:00): 79, pid=1, GPU has fallen off the bus.\n",
            "gpu-fallen-off-bus",
            ["swap the card"],
            ["replace the riser"],
        ),
        (
            "ERROR: Could not install packages: HTTPSConnectionPool(host='files.pythonhosted.org'): Read timed out.\n",
            "download-failed",
            ["global.timeout"],
            ["setup.py"],
        ),
        (  # cards of one kind
            "NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB ; OOB eth0\n"
            "NCCL WARN Call to ibv_modify_qp failed with error Invalid argument\n",
            "nccl-wrong-interface",
            ["show_gids"],
            ["together with InfiniBand ports"],
        ),
        (
            "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 8.00 GiB total capacity)\n",
            "gpu-memory-held-by-lost-process",
            ["smaller batch"],
            ["kill"],
        ),
    ],
)
def test_the_rest_of_its_class_keeps_its_own(text: str, check: str, parts: list[str], without: list[str]) -> None:
    given = told(text, check)
    said = "\n".join((given.advice, *given.commands))
    assert [part for part in parts if part not in said] == []
    assert [part for part in without if part in said] == []
