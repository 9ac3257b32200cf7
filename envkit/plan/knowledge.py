"""The relations' answers, each worked out once: one `Knowledge` serves a request and every change tried on it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cached_property
from typing import TypeVar

from envkit.matrix.rows import CudnnRelease, FrameworkBuild, ImageTag, OperatingSystem, Toolkit
from envkit.plan import relations
from envkit.plan.request import TargetGpu
from envkit.plan.tables import Tables
from envkit.versions import ComputeCapability, Version

T = TypeVar("T")


class Knowledge:
    """The tables with a memory; only what a request touches is read."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self._answers: dict[Hashable, object] = {}

    def _once(self, key: Hashable, work: Callable[[], T]) -> T:
        if key not in self._answers:
            self._answers[key] = work()
        return self._answers[key]  # type: ignore[return-value]  # the key names the work, so the type is its own

    def toolkits(self, cuda: Version) -> tuple[Toolkit, ...]:
        """The toolkits of a CUDA version or release line."""
        return self._once(("toolkits", cuda.parts), lambda: relations.toolkits_of(cuda, self.tables))

    def floors(self, cuda: Version, platform: str) -> relations.DriverFloors:
        """The driver floors of a CUDA version or release line."""
        return self._once(
            ("floors", cuda.parts, platform), lambda: relations.driver_floors(cuda, self.tables, platform)
        )

    def cuda_match(self, gpu: ComputeCapability, cuda: Version) -> relations.ToolkitMatch:
        """How a CUDA version knows a GPU."""
        return self._once(("gpu", gpu, cuda.parts), lambda: relations.cuda_match(gpu, cuda, self.tables))

    def code_match(self, gpu: ComputeCapability, build: FrameworkBuild) -> relations.CodeMatch:
        """How a GPU runs a build's code."""
        key = ("code", gpu, build.sass, build.ptx, build.min_compute_capability)
        return self._once(key, lambda: relations.code_match(gpu, build.sass, build.ptx, build.min_compute_capability))

    def cudnn_on_gpu(self, gpu: ComputeCapability, cudnn: Version, cuda: Version | None) -> str:
        """The status of a cuDNN version on a GPU: ok, fail or unknown."""
        major = cuda.major if cuda else None
        key = ("cudnn", gpu, cudnn.parts, major)
        return self._once(key, lambda: relations.gpu_on_cudnn(gpu, cudnn, cuda, self.tables).status)

    def cudnns(self, toolkit: Toolkit, architecture: str) -> tuple[CudnnRelease, ...]:
        """The cuDNN builds made for a toolkit on a processor, newest first."""
        return self._once(
            ("cudnns", toolkit.version.parts, architecture),
            lambda: tuple(
                sorted(
                    (
                        row
                        for row in self.tables.cudnns
                        if row.architecture == architecture and relations.cudnn_supports_cuda(row, toolkit.version)
                    ),
                    key=lambda row: row.version,
                    reverse=True,
                )
            ),
        )

    def driver_on_gpu(self, gpu: TargetGpu, driver: Version) -> str:
        """The status of a driver on a GPU: ok, fail or unknown."""
        return self._once(
            ("driver", gpu, driver.major),
            lambda: (
                relations.gpu_on_driver(
                    gpu.compute_capability, driver, self.tables, last_driver_branch=gpu.last_driver_branch
                ).status
            ),
        )

    def last_branch(self, gpu: TargetGpu) -> int | None:
        """The last driver branch that supports a GPU; None while the newest one does or nothing is recorded."""
        if gpu.last_driver_branch is not None:
            return gpu.last_driver_branch
        return self._once(
            ("last", gpu.compute_capability), lambda: relations.last_branch_of(gpu.compute_capability, self.tables)
        )

    @cached_property
    def supported_images(self) -> dict[tuple[int, ...], tuple[ImageTag, ...]]:
        """The supported CUDA image tags that name their system, by CUDA version."""
        groups: dict[tuple[int, ...], list[ImageTag]] = {}
        for tag in self.tables.image_tags:
            if tag.state == "supported" and tag.cuda is not None and tag.os_id:
                groups.setdefault(tag.cuda.parts, []).append(tag)
        return {cuda: tuple(tags) for cuda, tags in groups.items()}

    def images(self, toolkit: Toolkit) -> tuple[ImageTag, ...]:
        """The supported image tags of one toolkit release."""
        parts = toolkit.version.parts
        return self.supported_images.get(parts, ()) or self.supported_images.get(parts[:2], ())

    @cached_property
    def as_of(self) -> str:
        """The date that the tables speak for, as text: that of the newest toolkit."""
        return max((row.release_date for row in self.tables.toolkits if row.release_date), default="")

    def maintained(self, system: OperatingSystem) -> bool:
        """True unless the distribution's standard support had ended when the tables were made."""
        return system.end_of_support is None or system.end_of_support >= self.as_of
