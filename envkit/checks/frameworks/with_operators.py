"""Extensions that are installed without what they compile, or not at all: how each is built with it."""

from __future__ import annotations

from envkit.checks.engine.command import PYTHON, REQUIREMENT, URL, Command, Word, fixed, run
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.messages import named, seen
from envkit.checks.engine.remedies import on_windows, steps
from envkit.checks.frameworks.installs import distribution, first_python, installs, pip, release
from envkit.checks.frameworks.known_wheels import wheel_for
from envkit.checks.nvidia_driver.driver_state import driver_platform
from envkit.model import Environment, PythonEnvironment
from envkit.tables.loader import read
from envkit.tables.pairs import PackageWheels

_ID = "extension-without-operators"
_WITHOUT = ("install", "--no-build-isolation")
_BY_GIT = {  # the module that is missing, and the words that name where pip builds it from
    "tinycudann": ("git+https://github.com/NVlabs/tiny-cuda-nn/#subdirectory=bindings/torch",),
    "nvdiffrast": ("git+https://github.com/NVlabs/nvdiffrast",),
    "fused_ssim": ("git+https://github.com/rahul-goel/fused-ssim",),
    "pointnet2_ops": ("git+https://github.com/erikwijmans/Pointnet2_PyTorch#subdirectory=pointnet2_ops_lib",),
}
_FRESH = ("--no-cache-dir",)
_PAGE = "https://download.openmmlab.com/mmcv/dist/cuXYZ/torchX.Y/index.html"
_SPCONV = "spconv-cu"  # what its packages with CUDA begin with
_BY_FOLDER = {
    "diff_gaussian_rasterization": ("./submodules/diff-gaussian-rasterization",),
    "simple_knn": ("./submodules/simple-knn",),
}


def compiled_again(environment: Environment, text: str) -> Remedy | None:
    """By the package that the messages are of; None where it is none of these."""
    python = first_python(environment)
    if "mmcv" in text:
        return _mmcv(environment, python)
    if any(sign in text for sign in ("apex", "amp_C", "fused_layer_norm_cuda", "multi_tensor_applier")):
        return Remedy(
            "apex from pip alone has no compiled code: build it from its source with the options below, in the "
            "environment that has your torch; nvcc must be from the CUDA release that torch was built with.",
            _apex(environment),
        )
    module = (named(seen(environment, _ID), "module") or "").partition(".")[0]
    if module in ("spconv", "cumm"):
        return _spconv(environment, python)
    if source := _BY_GIT.get(module):
        return Remedy(
            f"{module} is built from its source, in the environment of your torch, with nvcc of torch's CUDA.",
            (pip(python, *_WITHOUT, *source),),
        )
    if folder := _BY_FOLDER.get(module):
        return Remedy(
            f"{module} comes with the program, in its directory submodules: build it there, with torch and nvcc of the "
            "same CUDA. If the directory is empty, the first command fetches it.",
            (
                fixed("git submodule update --init --recursive"),
                pip(python, *_WITHOUT, *folder),
            ),
        )
    return None


def _spconv(environment: Environment, python: PythonEnvironment) -> Remedy:
    """The package with torch's CUDA in its name that has a wheel for this Python; the reader's choice without both."""
    from envkit.compat.package_wheels import package_has_wheel

    cuda = next((item.framework.cuda for item in installs(environment, "pytorch") if item.framework.cuda), None)
    processor = environment.system.architecture.value or "x86_64"
    names = [
        name
        for name in sorted({row.package for row in read(PackageWheels) if row.package.startswith(_SPCONV)})
        if package_has_wheel(name, "", driver_platform(environment), processor, python.version) is None
        and (cuda is None or name.removeprefix(_SPCONV).startswith(str(cuda.major)))
    ]
    offered = f" (for this Python: {', '.join(names)})" if names and python.version is not None else ""
    return Remedy(
        "The package spconv has no compiled part for this Python. Remove spconv and cumm, under every name that pip "
        "list shows, and install the package with the CUDA of your torch in its name; a package for the same major "
        f"release of CUDA will do{offered}. If the program is written for spconv 1.x (it imports VoxelGeneratorV2), "
        "build that release from its source instead.",
        (
            pip(python, "uninstall", "-y", "spconv", "cumm"),
            pip(python, "install", REQUIREMENT(names[-1]))
            if cuda is not None and names
            else fixed("python -c 'import torch; print(torch.version.cuda)'"),
        ),
    )


def _apex(environment: Environment) -> tuple[Command, ...]:
    return () if on_windows(environment) else steps(environment, "build-apex")


def _mmcv(environment: Environment, python: PythonEnvironment) -> Remedy:
    """mmcv 1.x has a package with and one without operators; the source builds them if it is told to."""
    if seen(environment, _ID, "detail-editable"):
        return Remedy(
            "The checkout was installed without its operators: install it again with them, in its directory; this "
            "takes minutes, and needs nvcc of the CUDA that torch was built with.",
            steps(environment, "mmcv-editable"),
        )
    have = distribution(python, "mmcv-full") or distribution(python, "mmcv")
    version = named(seen(environment, _ID, "detail-mmcv", "detail-mmcv-full"), "version") or (
        have.version if have is not None else ""
    )
    full = "mmcv-full" if version.startswith("1.") or not version else "mmcv"
    wheel = wheel_for(environment, full, version) if version else None
    pinned = f"{full}=={version}" if version else full
    page = _page(environment)
    source = f"the page {page}" if page else f"the page of OpenMMLab for your torch and CUDA ({_PAGE})"
    return Remedy(
        f"The operators are in {full}, not in {'mmcv 1.x' if full == 'mmcv-full' else 'mmcv-lite'}; a {full} that pip "
        "compiled without nvcc lacks them, too, and pip takes that from its cache again. Remove every variant, and "
        f"install {pinned} without the cache."
        + (
            ""
            if wheel
            else f" Wheels are on {source}: with -f and that address, pip need not compile. Without a wheel for your "
            "torch, pip compiles it, which takes minutes and needs nvcc of torch's CUDA; if the release is too old for "
            "your torch, take a torch that the page has. The last command must end without an error."
        ),
        (
            pip(python, "uninstall", "-y", "mmcv", "mmcv-full", "mmcv-lite"),
            wheel if wheel is not None else pip(python, *_WITHOUT, *_FRESH, REQUIREMENT(pinned), *_links(page)),
            run(PYTHON(python.executable or "python"), "-c", "import mmcv.ops"),
        ),
    )


def _page(environment: Environment) -> str:
    """OpenMMLab's page of wheels for the installed torch and its CUDA; '' where either is unknown."""
    item = next(installs(environment, "pytorch"), None)
    own = release(item.framework.version) if item is not None else None
    if item is None or own is None or item.framework.cuda is None:
        return ""
    cuda = str(item.framework.cuda.release(2)).replace(".", "")
    return _PAGE.replace("cuXYZ", f"cu{cuda}").replace("torchX.Y", f"torch{own.release(2)}")


def _links(page: str) -> tuple[Word, ...]:
    return ("-f", URL(page)) if page else ()
