"""What a plan has chosen, each as a name and a value for people."""

from __future__ import annotations

from collections.abc import Iterator

from envkit.compat.driver import first_branch_floor
from envkit.documents.commands import script_cudnn
from envkit.documents.plan import image_name, os_name
from envkit.solver.build_targets import older_targets, plan_targets
from envkit.solver.model import Choice
from envkit.solver.request import Request
from envkit.tables import Matrix
from envkit.tables.rows import FrameworkBuild, framework_title, os_title

_COMPILED = "pytorch"  # the framework whose extensions people compile


def plan_choices(choice: Choice, request: Request) -> Iterator[tuple[str, str]]:
    """Each framework, then the CUDA, cuDNN, Python, system, image, driver, and targets of what is compiled."""
    for build in choice.builds:
        yield framework_title(build.framework), _package(build, choice.own_image(build))
    if choice.cuda is not None:
        bundled = not choice.needs_toolkit and all(build.bundles_cuda for build in choice.builds if build.cuda)
        where = "bundled in the wheels" if bundled else "system toolkit"
        yield "CUDA", f"{choice.cuda} ({where})"
    if choice.cudnn_version is not None:
        checked = script_cudnn(choice, request)
        told = f" (install scripts use {checked}, the newest with a published checksum)" if checked else ""
        yield "cuDNN", f"{choice.cudnn_version}{told}"
    if choice.python is not None:
        way = f" ({choice.python_source.way})" if choice.python_source else ""
        yield "Python", f"{choice.python}{way}"
    system = os_name(choice, request)
    if system is not None:
        yield "System", f"{os_title(system)} ({choice.architecture})"
    if choice.base_image is not None:
        yield "Image", image_name(choice.base_image)
    if choice.minimum_driver is not None:
        last = request.last_driver_branch
        most = f", up to branch {last}" if last is not None else ""
        why = f" (the first for the {choice.first_driver_of})" if choice.first_driver_of else ""
        image = _image_driver(choice, request)
        yield "Driver", f"{choice.minimum_driver} or newer{most}{why}{image}"
    targets = plan_targets(request, choice)
    with_torch = any(build.framework == _COMPILED for build in choice.builds)
    if targets is not None and (choice.needs_toolkit or with_torch):
        torch = f"TORCH_CUDA_ARCH_LIST={targets.torch} " if with_torch or not choice.builds else ""
        older = older_targets(request, choice)
        why = f" ({older})" if older else ""
        yield "Extensions", f"compile with {torch}CMAKE_CUDA_ARCHITECTURES={targets.cmake}{why}"


def _image_driver(choice: Choice, request: Request) -> str:
    """The branch that the image of a plan asks for, where its CUDA alone would do with an older driver."""
    image, lowest = choice.base_image, choice.minimum_driver
    if image is None or image.cuda is None or lowest is None or request.driver is not None:
        return ""
    if request.gpus and all(gpu.data_center for gpu in request.gpus):
        return ""
    first = first_branch_floor(image.cuda, Matrix.load())
    return (
        f" (the base image requires {first} by default; the generated Dockerfile lowers that to {lowest})"
        if first is not None and first.major > lowest.major
        else ""
    )


def _package(build: FrameworkBuild, image: str | None) -> str:
    package = build.package or f"{build.version} ({f'image {image}' if image else 'no package'})"
    place = build.index_url or build.find_links
    return f"{package} from {place}" if place else package
