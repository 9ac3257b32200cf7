"""The fix for reports of containers and programs whose fix was judged not to help, and what must not be in it."""

from __future__ import annotations

import pytest

from tests.checks.fix_said import assert_fix
from tests.checks.remedies_given import REPORTS

_ENGINE = "docker-no-nvidia-runtime"
_BLIND = "framework-sees-no-gpu"
_NO_NVML = "2022/12/06 03:20:14 Failed to initialize NVML: could not load NVML library.\n"
_SELECT = 'could not select device driver "nvidia" with capabilities: [[gpu]]\n'


@pytest.mark.parametrize(
    ("report", "check", "parts", "without"),
    [
        ("16/b16-21", _ENGINE, ["--runtime=containerd --set-as-default"], ["apt-get", "daemon.json"]),
        ("17/b17-14", _ENGINE, ['"default-runtime": "nvidia"', "DOCKER_BUILDKIT=0"], ["nvidia-jetpack"]),
        (
            "19/b19-35",
            _ENGINE,
            ["helm upgrade nvdp nvdp/nvidia-device-plugin", "--version 0.14.3"],
            ["patch daemonset"],
        ),
        ("24/b24-07", _ENGINE, ["nvidia-container-runtime, is not installed"], ["runtime configure"]),
        (
            "25/b25-36",
            _ENGINE,
            ['"default-runtime": "nvidia"', "delete pod -l name="],
            ["nvidia-ctk runtime", "rollout"],
        ),
        ("35/b35-19", _ENGINE, ["config.toml.tmpl", "runtimeClassName: nvidia"], ["patch daemonset", "kubectl apply"]),
        ("36/b36-27", _ENGINE, ["--gpus all in place of --runtime=nvidia"], []),
        ("6/b6-16", _ENGINE, ["was skipped"], []),
        ("8/b8-49", _ENGINE, ['"default-runtime": "nvidia"'], ["containerd", "yum"]),
        ("10/b10-03", "cdi-unresolvable", ["--feature-flag no-additional-gids-for-device-nodes"], []),
        ("19/b19-32", "cdi-unresolvable", ["chmod 644 /etc/cdi/nvidia.yaml"], ["cdi generate"]),
        ("7/b7-38", "cdi-unresolvable", ["nvidia-container-toolkit=1.14.5-1"], []),
        ("10/b10-23", "wsl-libcuda-missing", ["/usr/lib/wsl/lib:$LD_LIBRARY_PATH"], ["preview build"]),
        ("3/b3-25", "wsl-libcuda-missing", ["/usr/lib/wsl/lib"], ["preview build"]),
        ("30/b30-26", "wsl-libcuda-missing", ["19041"], []),
        ("5/b5-20", "wsl-libcuda-missing", ["dxgkrnl", "wsl --shutdown"], ["wsl --update"]),
        ("10/b10-06", "container-no-gpu-injected", ["--nv", "container_features"], ["docker run"]),
        ("14/b14-04", "image-needs-newer-driver", ["tritonserver:24.10-py3-igpu"], ["nvidia-driver-"]),
        ("27/b27-25", "image-needs-newer-driver", ["NVIDIA_DISABLE_REQUIRE=1"], ["image tag for CUDA"]),
        ("2/b2-07", "jetson-container-of-other-release", ["l4t-pytorch:r34.1.1-pth1.12-py3"], ["autotag"]),
        ("13/b13-36", "jetson-container-of-other-release", ["No l4t-pytorch image for L4T 32.3.1"], ["autotag"]),
        ("17/b17-34", "rootless-cgroups", ["no-cgroups = true"], ["systemctl"]),
        ("24/b24-03", "driver-baked-into-image", ['/"default-runtime"/d'], ["purge", "without-driver"]),
        ("5/b5-18", "wsl-gpu-in-tcc-mode", ["only GPU"], ["the others then work"]),
        ("18/b18-27", "selinux-blocks-device", ["docker run --rm --security-opt label=disable"], ["podman"]),
        ("30/b30-10", "image.gpu-at-build", ["TORCH_CUDA_ARCH_LIST="], ["lib64/stubs"]),
        ("24/b24-10", "image.gpu-at-build", ["libcuda.so.1", "COMMAND"], ["TORCH_CUDA_ARCH_LIST"]),
        ("31/b31-40", "slurm-gres-misconfigured", ["has no gres.conf"], ["one way of listing"]),
        ("31/b31-28", "operator-driver-image-missing", ["debian12", "driver.enabled=false"], ["set driver.version"]),
        ("34/b34-43", "mig-change-refused", ["stop nvidia-persistenced"], ["mig -dci"]),
        ("18/b18-32", "cuda-used-before-fork", ["__getitem__"], ["VLLM"]),
        ("21/b21-37", "jetson-generic-wheel", ["cp38", "not for 3.10", "/usr/bin/python3"], ["autotag"]),
        ("6/b6-29", "jetson-generic-wheel", ["cp38", "not for 3.10"], ["autotag"]),
        ("23/b23-26", "docker-from-snap-or-desktop", ["snap remove docker"], []),
    ],
)
def test_the_fix_is_whole(report: str, check: str, parts: list[str], without: list[str]) -> None:
    assert_fix((REPORTS / f"batch-{report}.txt").read_text("utf-8"), check, parts, without)


@pytest.mark.parametrize(
    ("text", "check", "parts", "without"),
    [
        (  # a cluster in a container of Docker
            "minikube: the device plugin runs, but kubectl describe node shows no nvidia.com/gpu, pods stay Pending\n",
            _ENGINE,
            ["minikube start", "deletes the present one"],
            ["apt-get"],
        ),
        (  # a node without GPUs, whose plugin's log nobody has shown
            "describe nodes says nvidia.com/gpu: 0, and the nvidia-device-plugin pod is in CrashLoopBackOff\n",
            _ENGINE,
            ["logs -l name=nvidia-device-plugin-ds"],
            ["--runtime=docker"],
        ),
        (f"{_NO_NVML}kubectl get pods\n", _ENGINE, ["write docker in place of containerd"], ["Docker has the runtime"]),
        (  # Docker is the engine, and knows the runtime
            f"{_NO_NVML}kubectl get pods\n$ docker info\n Runtimes: nvidia runc\n Default Runtime: runc\n",
            _ENGINE,
            ["daemon.json.bak"],
            ["containerd"],
        ),
        (  # each program has its own questions
            "after the update, ollama detects my RTX 3060 but still uses the CPU for everything\n",
            _BLIND,
            ["ollama.com/install.sh", "inference compute"],
            ["torch"],
        ),
        ("PaddleOCR 的 GPU 一直没用上,nvidia-smi 显存是 0,GTX 1080Ti\n", _BLIND, ["paddlepaddle-gpu=="], ["torch"]),
        (
            "GeForce GT 740M (compute 3.0): pytorch cannot use the GPU, only the cpu\n",
            _BLIND,
            ["compute capability 3.0", "torch==0.3.0"],
            ["collect_env"],
        ),
        (
            "since onnxruntime-gpu 1.9.0 with CUDA 11.1 my session only has CPUExecutionProvider\n",
            _BLIND,
            ["CUDA 11.4 and cuDNN 8.2", "providers="],
            ["torch"],
        ),
        (
            "Deployed a test pod with a GPU on k8s but the utilization stays at 0, the GPU isn't used\n",
            _BLIND,
            ["kubectl exec POD"],
            [],
        ),
        (
            "my jetson nano (JetPack 4.4) installs the wheel, but torch.cuda.is_available() returns False\n",
            "jetson-generic-wheel",
            ["torch-1.10.0-cp36", "L4T 32.4.3"],
            ["autotag"],
        ),
        (  # nothing tells the board's release
            "pip install torch on my Jetson Orin: torch.cuda.is_available() returns False\n",
            "jetson-generic-wheel",
            ["cat /etc/nv_tegra_release"],
            [],
        ),
        (
            "libcuda.so can't be found by tensorflow in my singularity container\n",
            "container-no-gpu-injected",
            ["--nv"],
            ["docker run"],
        ),
        (
            "gtx 1650 super, win 11. Every model load ends with DefaultCPUAllocator: not enough memory\n",
            "process-out-of-memory",
            ["page file"],
            ["dmesg"],
        ),
        (_SELECT, _ENGINE, ["has no NVIDIA GPU"], []),
        (f"GeForce RTX 3060\n{_SELECT}", _ENGINE, ["apt-get install"], ["has no NVIDIA GPU"]),
    ],
)
def test_what_the_fix_depends_on(text: str, check: str, parts: list[str], without: list[str]) -> None:
    assert_fix(text, check, parts, without)
