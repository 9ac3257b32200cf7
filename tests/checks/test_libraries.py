"""The CUDA libraries that frameworks load: missing, foreign, mixed and old ones."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from envkit.model import Cudnn, Distribution, LibraryUse
from tests.checks.software import (
    GPU_1080,
    GPU_4090,
    SITE,
    Case,
    assert_case,
    dist,
    framework,
    gpus,
    machine,
    python,
    pythons,
    said,
    torch,
    use,
    v,
    worst,
)

CUDART, JIT, SHADOW = "libcudart-missing", "nvjitlink-symbol", "ld-library-path-shadows-wheels"
TF, JAX = "tf-cannot-dlopen", "jax-library-load"
MISSING, MIXED, OLDER, DROPPED = (
    "cudnn-missing",
    "cudnn-mixed-sublibraries",
    "cudnn-older-than-build",
    "cudnn-dropped-arch",
)
WHEEL = f"{SITE}/nvidia/cudnn/lib/libcudnn.so.9"
TENSORFLOW = framework("tensorflow", "tensorflow==2.18.0", "2.18.0", "12.5")
PLUGIN = framework("jax", "jax==0.6.0", "0.6.0", "12")
IN_TF = "tensorflow/libtensorflow_framework.so.2"
IN_JAX = "jax_plugins/xla_cuda12/xla_cuda_plugin.so"
RUNTIME = dist("nvidia-cuda-runtime-cu12==12.4.127")


def with_uses(*uses: LibraryUse, dists: Iterable[Distribution] = (), **more: object) -> dict[str, object]:
    return pythons(python(torch(cudnn=v("9.1.0")), library_uses=uses, dists=dists, **more))


def sublibraries(**versions: str) -> dict[str, object]:
    return {f"{SITE}/nvidia/cudnn/lib/{name}.so.9": v(text) for name, text in versions.items()}


CASES = (
    Case(
        CUDART,
        "fail",
        "not-found",
        machine(with_uses(use("libcudart.so.12", None, "missing"))),
        "nvidia-cuda-runtime-cu12",
    ),
    Case(
        CUDART,
        "fail",
        "several-in-one-finding",
        machine(
            with_uses(
                use("libcudart.so.12", None, "missing"),
                use("libcublas.so.12", None, "missing"),
                dists=[dist("torch==2.6.0+cu124", "nvidia-cublas-cu12 (==12.4.5.8) ; sys_platform == 'linux'")],
            )
        ),
        "nvidia-cuda-runtime-cu12 nvidia-cublas-cu12==12.4.5.8",
    ),
    Case(CUDART, "ok", "found", machine(with_uses(use("libcudart.so.12", "/x/libcudart.so.12", "RPATH", "12.4.127")))),
    Case(
        CUDART,
        "warn",
        "only-in-a-wheel",
        machine(
            with_uses(
                use(
                    "libcublas.so.12",
                    None,
                    "not searched for in the wheel's own directory (/x)",
                    consumer="onnxruntime/capi/libonnxruntime_providers_cuda.so",
                )
            )
        ),
    ),
    Case(
        CUDART,
        "fail",
        "told",
        machine(said(CUDART, "libcudart.so.12: cannot open shared object file", library="libcudart.so.12")),
        "libcudart.so.12",
    ),
    Case(
        JIT, "fail", "older-wheel", machine(with_uses(dists=[dist("nvidia-nvjitlink-cu12==12.1.105"), RUNTIME])), "12.4"
    ),
    Case(JIT, "ok", "newer-wheel", machine(with_uses(dists=[dist("nvidia-nvjitlink-cu12==12.6.20"), RUNTIME]))),
    Case(
        JIT,
        "fail",
        "older-on-the-path",
        machine(
            with_uses(
                use(
                    "libnvJitLink.so.12", "/usr/local/cuda-12.1/lib64/libnvJitLink.so.12", "LD_LIBRARY_PATH", "12.1.105"
                ),
                dists=[dist("nvidia-nvjitlink-cu12==12.4.127"), RUNTIME],
            )
        ),
        "grep -v cuda",
    ),
    Case(JIT, "fail", "told", machine(said(JIT, "undefined symbol: __nvJitLinkComplete_12_4"))),
    Case(
        SHADOW,
        "warn",
        "displaced",
        machine(
            with_uses(
                use("libcublas.so.12", "/usr/local/cuda/lib64/libcublas.so.12", "LD_LIBRARY_PATH", "12.1.0.26"),
                dists=[RUNTIME],
            )
        ),
        "grep -v cuda",
    ),
    Case(
        SHADOW,
        "ok",
        "rpath-wins",
        machine(
            with_uses(use("libcublas.so.12", f"{SITE}/nvidia/cublas/lib/libcublas.so.12", "RPATH"), dists=[RUNTIME]),
            variables={"LD_LIBRARY_PATH": "/usr/local/cuda/lib64"},
        ),
    ),
    Case(
        SHADOW,
        "ok",
        "no-wheels-to-displace",
        machine(with_uses(use("libcublas.so.12", "/usr/local/cuda/lib64/libcublas.so.12", "LD_LIBRARY_PATH"))),
    ),
    Case(SHADOW, "fail", "told", machine(said(SHADOW))),
    Case(
        TF,
        "fail",
        "not-found",
        machine(pythons(python(TENSORFLOW, library_uses=(use("libcufft.so.11", None, "missing", consumer=IN_TF),)))),
        "libcufft.so.11",
    ),
    Case(
        TF,
        "ok",
        "found",
        machine(
            pythons(
                python(
                    TENSORFLOW, library_uses=(use("libcufft.so.11", "/x/libcufft.so.11", "RUNPATH", consumer=IN_TF),)
                )
            )
        ),
    ),
    Case(TF, "fail", "told", machine(said(TF)), "envkit resolve --framework tensorflow"),
    Case(
        JAX,
        "fail",
        "not-found",
        machine(pythons(python(PLUGIN, library_uses=(use("libcusparse.so.12", None, "missing", consumer=IN_JAX),)))),
        "libcusparse.so.12",
    ),
    Case(
        JAX,
        "ok",
        "found",
        machine(
            pythons(
                python(
                    PLUGIN, library_uses=(use("libcusparse.so.12", "/x/libcusparse.so.12", "RUNPATH", consumer=IN_JAX),)
                )
            )
        ),
    ),
    Case(JAX, "fail", "told", machine(said(JAX))),
    Case(
        MISSING,
        "fail",
        "not-found",
        machine(with_uses(use("libcudnn.so.9", None, "missing"), dists=[RUNTIME])),
        "nvidia-cudnn-cu12==9",
    ),
    Case(MISSING, "ok", "found", machine(with_uses(use("libcudnn.so.9", WHEEL, "RPATH", "9.1.0.70")))),
    Case(
        MISSING,
        "fail",
        "told",
        machine(said(MISSING, "Unable to load any of {libcudnn_ops.so.9.1.0}", library="libcudnn_ops.so.9")),
        "libcudnn_ops.so.9",
    ),
    Case(
        MIXED,
        "fail",
        "wheel-folder",
        machine(
            with_uses(
                cudnn_sublibraries=sublibraries(libcudnn="9.1.0", libcudnn_ops="9.5.1"),
                dists=[dist("nvidia-cudnn-cu12==9.1.0.70")],
            )
        ),
        "uninstall",
    ),
    Case(
        MIXED,
        "fail",
        "two-wheels-of-two-releases",
        machine(with_uses(dists=[dist("nvidia-cudnn-cu12==9.1.0.70"), dist("nvidia-cudnn-cu11==8.9.6.50")])),
        "nvidia-cudnn-cu11",
    ),
    Case(
        MIXED,
        "warn",
        "two-wheels-of-one-release",
        machine(
            with_uses(
                owners_clash=(f"{SITE}/nvidia/cudnn/lib/libcudnn.so.9: nvidia-cudnn-cu12, nvidia-cudnn-cu13",),
                dists=[dist("nvidia-cudnn-cu12==9.10.2.21"), dist("nvidia-cudnn-cu13==9.10.2.21")],
            )
        ),
    ),
    Case(
        MIXED,
        "fail",
        "system-folder",
        machine(
            cudnns=(
                Cudnn(
                    v("8.9.7"),
                    "/usr/lib/x86_64-linux-gnu",
                    "system",
                    sublibraries={"libcudnn.so.8": v("8.9.7"), "libcudnn_ops_infer.so.8": v("8.4.0")},
                ),
            )
        ),
        "8.4.0",
    ),
    Case(
        MIXED,
        "ok",
        "one-release",
        machine(
            with_uses(
                cudnn_sublibraries=sublibraries(libcudnn="9.1.0", libcudnn_ops="9.1.0"),
                dists=[dist("nvidia-cudnn-cu12==9.1.0.70")],
            )
        ),
    ),
    Case(MIXED, "fail", "told", machine(said(MIXED, "CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH"))),
    Case(
        OLDER,
        "fail",
        "older-loaded",
        machine(with_uses(use("libcudnn.so.9", "/usr/lib/libcudnn.so.9", "LD_LIBRARY_PATH", "9.0.0"))),
        "9.1.0",
    ),
    Case(OLDER, "ok", "newer-loaded", machine(with_uses(use("libcudnn.so.9", WHEEL, "RPATH", "9.5.1.17")))),
    Case(
        OLDER,
        "fail",
        "told",
        machine(
            said(
                OLDER,
                "Loaded runtime CuDNN library: 8.1.1 but source was compiled with: 8.6.0.",
                loaded="8.1.1",
                built="8.6.0",
            )
        ),
        "8.1.1",
    ),
    Case(
        DROPPED,
        "warn",
        "pascal-on-cudnn-for-13",
        machine(with_uses(dists=[dist("nvidia-cudnn-cu13==9.20.0.48")]), gpus=gpus(GPU_1080)),
        "torch==2.6.0",
    ),
    Case(DROPPED, "ok", "ada", machine(with_uses(dists=[dist("nvidia-cudnn-cu13==9.20.0.48")]), gpus=gpus(GPU_4090))),
    Case(
        DROPPED,
        "ok",
        "pascal-on-9.10",
        machine(with_uses(dists=[dist("nvidia-cudnn-cu12==9.10.2.21")]), gpus=gpus(GPU_1080)),
    ),
    Case(DROPPED, "fail", "told", machine(said(DROPPED, "CUDNN_STATUS_ARCH_MISMATCH"))),
    Case(DROPPED, "unknown", "gpu-unknown", machine(with_uses(dists=[dist("nvidia-cudnn-cu13==9.20.0.48")]))),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_each_case_gets_its_verdict(case: Case) -> None:
    assert_case(case)


def test_a_cuda_folder_on_the_path_alone_is_no_finding() -> None:
    environment = machine(
        with_uses(use("libcudart.so.12", f"{SITE}/nvidia/cuda_runtime/lib/libcudart.so.12", "RPATH"), dists=[RUNTIME]),
        variables={"LD_LIBRARY_PATH": "/usr/local/cuda/lib64:/opt/cuda/lib64"},
    )
    assert worst(SHADOW, environment).status.value == "ok"


def test_the_kept_cudnn_is_the_one_that_the_framework_pins() -> None:
    owner = dist("torch==2.6.0+cu124", "nvidia-cudnn-cu12==9.1.0.70")
    environment = machine(
        pythons(
            python(torch(), dists=[owner, dist("nvidia-cudnn-cu12==9.1.0.70"), dist("nvidia-cudnn-cu13==9.20.0.48")])
        )
    )
    remedy = worst(MIXED, environment).remedy
    assert remedy is not None
    assert "nvidia-cudnn-cu12==9.1.0.70" in remedy.commands[1]
