"""Images that put cuda-compat in front of a driver which is too old for them in any case."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.messages import named, seen
from envkit.checks.nvidia_driver.driver_state import installed
from envkit.checks.nvidia_driver.newer_driver import newer_driver
from envkit.model import Environment

if TYPE_CHECKING:
    from envkit.tables import Matrix

_REGISTRY = "nvcr.io/nvidia/"  # whose images of one month are built for one CUDA


def newer_than_the_driver(environment: Environment, matrix: Matrix) -> Remedy | None:
    """A newer driver, or an older image, where the driver's own libcuda does not run the image's CUDA either."""
    from envkit.compat.driver import driver_floors, reported_cuda

    month = named(seen(environment, "cuda-compat-on-unsupported-hw", "detail-image"), "month")
    rows = [row for row in matrix.framework_images if row.repository.startswith(_REGISTRY) and month]
    cuda = min((row.cuda for row in rows if row.cuda is not None and row.tag.startswith(f"{month}-")), default=None)
    driver = installed(environment)
    floor = driver_floors(cuda, matrix).lowest if cuda is not None else None
    if cuda is None or driver is None or floor is None or driver >= floor:
        return None
    own = reported_cuda(driver, matrix)
    return newer_driver(
        environment,
        matrix,
        cuda,
        f"Without cuda-compat, the image fails as well: it is built for CUDA {cuda.release(2)}, which needs driver "
        f"{floor} or newer, and the host has {driver}. To keep this driver, use an older tag of the image, for CUDA "
        f"{own.release(2) if own else 'of the driver'} or older.",
    )
