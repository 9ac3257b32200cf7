"""The wheels that NVIDIA builds for the L4T releases of its Jetson boards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit._startup.regex import regex
from envkit.base.versions import Version
from envkit.checks.engine.command import IMAGE, run
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.messages import named, seen
from envkit.checks.engine.remedies import remedy
from envkit.checks.frameworks.companions import going_with
from envkit.checks.frameworks.installs import Installed, distribution, installs, named_python, release
from envkit.model import Environment
from envkit.tables.codes import limit
from envkit.tables.jetson import JetsonImages, JetsonWheel
from envkit.tables.loader import read
from envkit.tables.rows import JetPack

if TYPE_CHECKING:
    from envkit.tables import Matrix


_COMPILED = (
    "The installed bitsandbytes has libraries for x86-64 only. Replace it with one that is compiled on the board by "
    "the nvcc of its JetPack; it takes some minutes. The last command tests it."
)
_TO_KNOW = (
    ": to get its address, add the output of cat /etc/nv_tegra_release and of python3 --version to the input, and run "
    "envkit again"
)
OF_BOARDS = ("pytorch", "tensorflow")  # the frameworks that NVIDIA builds for its boards


def jetson_wheel(environment: Environment, matrix: Matrix, name: str = "", wanted: Version | None = None) -> Remedy:
    """NVIDIA's wheel for this board by its address, or a container where none is known.

    `name` and `wanted`: what somebody asks pip for; otherwise what is installed.
    """
    if not name and seen(environment, "jetson-generic-wheel", "bitsandbytes"):
        python = named_python(environment).executable or "python3"
        return remedy(environment, _COMPILED, "jetson-bitsandbytes", python=python)
    own = _board(environment)
    items = list(installs(environment, *((name,) if name else OF_BOARDS)))
    framework = name or (items[0].framework.name if items else "pytorch")
    have = wanted or (release(items[0].framework.version) if items else None)
    if wheel := _wheel_of(environment, framework, have):
        return _from_vendor(environment, items, wheel, have)
    if framework == "pytorch" and items and own is not None and (image := _image_of(environment)):
        return Remedy(
            f"Use an image with PyTorch for this board: {image} is one for L4T {own.major}. Put it in your own "
            "command in place of the image that fails, and keep the volumes; the command below prints True and the GPU "
            "targets of its PyTorch. (The autotag script of jetson-containers prefers local images, such as the one "
            "that fails.)",
            (run("docker", "run", "--rm", "--runtime", "nvidia", IMAGE(image), "python3", "-c", _SHOW),),
        )
    why = "is not listed by NVIDIA for this release" if own is not None else "depends on the board's JetPack release"
    return remedy(
        environment,
        "The package index has no build of it for the board's GPU. Use one that was made for this board, in a "
        "container: these commands find the board's release and start the image for it, in which "
        "torch.cuda.is_available() is True. A wheel for the board's own Python "
        f"{why}{_TO_KNOW if own is None else ' (the guide is under See also)'}.",
        "jetson-container",
        framework=framework,
    )


def jetson_vision(environment: Environment, matrix: Matrix) -> Remedy | None:
    """torchvision for NVIDIA's own torch: the package index has it without CUDA; None where torch is another one."""
    item = next(installs(environment, "pytorch"), None)
    torch = distribution(item.python, "torch") if item is not None else None
    if item is None or torch is None or not _VENDORS.search(torch.version):
        return None
    wanted = going_with(matrix, torch, "torchvision")
    number = Version.find(wanted.line.partition("==")[2]) if wanted is not None else None
    if number is None:
        return None
    return remedy(
        environment,
        f"Keep torch {torch.version}, which is NVIDIA's for this board, and replace torchvision only: the "
        f"installed one was built without CUDA. torchvision {number} goes with this torch. The package index has it "
        "for Arm without CUDA, so compile it with FORCE_CUDA=1 (nvcc of JetPack must be there; it takes some twenty "
        "minutes), or install the wheel of that release from the Jetson AI Lab's index of your JetPack, if it has one "
        "(https://pypi.jetson-ai-lab.io). The last command prints tensor([0], device='cuda:0').",
        "jetson-vision",
        python=item.python.executable or "python3",
        version=number,
    )


_VENDORS = regex(r"\.nv\d|a0\+")
_SHOW = "import torch; print(torch.cuda.is_available(), torch.cuda.get_arch_list())"
_FIRST_IMAGE = regex(r"\((?P<image>[\w./-]{3,80}:[\w.-]{3,60})\)")


def _image_of(environment: Environment) -> str:
    """The image for the board's L4T that its table names, '' where it names none or the L4T is not known."""
    own = _board(environment)
    told = next((row.told for row in read(JetsonImages) if own is not None and row.l4t == own.major), "")
    match = _FIRST_IMAGE.search(told)
    return match["image"] if match else ""


def _board(environment: Environment) -> Version | None:
    """The board's L4T release, by the JetPack that somebody names where nothing shows the release itself."""
    if environment.system.l4t_release.known:
        return environment.system.l4t_release.get()
    told = Version.find(named(seen(environment, "jetson-generic-wheel", "detail-jetpack"), "jetpack") or "")
    return min((row.l4t for row in read(JetPack) if row.released and row.jetpack == told), default=None)


def _wheel_of(environment: Environment, name: str, have: Version | None) -> JetsonWheel | None:
    """NVIDIA's wheel for this L4T and framework: of the release at hand if there is one, otherwise the newest."""
    own = _board(environment)
    fitting = [
        row
        for row in read(JetsonWheel)
        if own is not None and row.framework == name and row.l4t == own.major and row.first_l4t <= own
    ]
    return next((row for row in fitting if row.version == have), None) or max(
        fitting, key=lambda row: row.version, default=None
    )


def _from_vendor(environment: Environment, items: list[Installed], wheel: JetsonWheel, have: Version | None) -> Remedy:
    """The wheel by its address: the index has none for these boards."""
    changed = f" NVIDIA has no build of PyTorch {have} for it." if have not in (None, wheel.version) else ""
    python = items[0].python if items else named_python(environment)
    told = Version.find(named(seen(environment, "jetson-generic-wheel", "detail-python"), "python") or "")
    own = (python.version or told or wheel.python).release(2)
    other = (
        f" It is for the board's own Python, {wheel.python}, not for {own}, for which NVIDIA has none: run the program "
        f"with {wheel.python}, or compile PyTorch for {own} on the board."
        if own != wheel.python
        else f" It is for Python {wheel.python}, which this JetPack has as python3."
        if python.version is None
        else ""
    )
    executable = "/usr/bin/python3" if own != wheel.python else python.executable or "python3"
    return remedy(
        environment,
        f"Install NVIDIA's PyTorch {wheel.version} for L4T {_board(environment)}; the package index "
        f"has no build for this board.{changed}{other} The index's torchvision and torchaudio wheels do not match it: "
        "build the matching releases from source. If a requirements file lists torch, remove it there, because pip "
        "would reinstall the other build.",
        *(("jetson-cusparselt",) if _needs_cusparselt(wheel) else ()),
        "jetson-wheel",
        python=executable,
        file=wheel.file,
        url=wheel.url,
    )


def _needs_cusparselt(wheel: JetsonWheel) -> bool:
    """Whether NVIDIA built the wheel with cuSPARSELt, which JetPack does not bring."""
    built = Version.find(wheel.file.partition(".nv")[2])
    return built is not None and built.release(2) >= limit("jetson-wheel-with-cusparselt")
