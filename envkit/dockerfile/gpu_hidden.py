"""Whether a variable that the image sets hides the GPUs, or the driver's libraries, from what runs in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from envkit._startup.regex import regex
from envkit.checks.containers import image_faults as faults
from envkit.checks.engine.findings import Finding, Remedy, Status
from envkit.dockerfile.check_parts import finding, subject_of
from envkit.dockerfile.contents import Contents, parts_of, script_of
from envkit.dockerfile.stages import BuildStage, final_chain
from envkit.tables.known_images import CUDA_REPOSITORY

_VISIBLE = "CUDA_VISIBLE_DEVICES"
# Words that are no index and no UUID: CUDA ends its list at the first of them.
_NO_DEVICE = frozenset({"", "-1", "all", "none", "void"})
_LIBRARIES = "LD_LIBRARY_PATH"
_CAPABILITIES = "NVIDIA_DRIVER_CAPABILITIES"
_COMPUTE = frozenset({"compute", "all"})
_DEVICES = "NVIDIA_VISIBLE_DEVICES"
_NO_GPU = frozenset({"none", "void"})
_TOOLKIT = ("nvidia-container-toolkit",)
_VULKAN = regex(r"(?m)^[^\n]{0,4000}?\binstall\b[^\n]{0,4000}? (libvulkan1|vulkan-tools|libvulkan-dev)(?= |$)")
_SCRIPT = regex(r"\S\.sh\b|entry_?point")  # what starts the container, unread, and may set the variable again
_OF_THE_DRIVER = regex(r"/(?:usr/)?lib(?:64|/\w+-linux-gnu)/?|/usr/local/nvidia/lib(?:64)?/?|.*\$.*")


def gpu_hidden(stages: Sequence[BuildStage], found: Contents) -> Iterator[Finding]:
    """What is to say of the variables that ENV leaves set, where the start of the container does not set them again."""
    chain = final_chain(stages)
    started = " ".join(part.text for part in parts_of(chain, "CMD", "ENTRYPOINT"))
    visible = found.environment.get(_VISIBLE)
    gpu_image = found.base.cuda is not None or found.cuda is not None
    certain = _SCRIPT.search(started) is None
    if visible is not None and visible.strip("\"' ") in _NO_DEVICE and gpu_image and _VISIBLE not in started:
        told = visible.strip("\"' ") or "empty"
        yield finding(
            faults.GPU_HIDDEN,
            Status.FAIL if certain else Status.WARN,
            f"{_VISIBLE} is {told}: CUDA finds no GPU in a container of this image",
            subject_of(_line(chain, _VISIBLE), _VISIBLE),
            impact="Programs run on the CPU, or stop, on every machine.",
            remedy=Remedy(f"Remove {_VISIBLE}, or set it only in the RUN that needs it."),
        )
    if gpu_image:
        yield from _not_mounted(chain, found)
    yield from _without_graphics(chain, found)
    folders = found.environment.get(_LIBRARIES, "").strip("\"'").split(":")
    first = next((one for one in folders if _is_of_stubs(one) or _OF_THE_DRIVER.fullmatch(one)), "")
    if _is_of_stubs(first) and _LIBRARIES not in started:
        yield finding(
            faults.GPU_HIDDEN,
            Status.WARN,
            f"{_LIBRARIES} puts {first} before the driver's own libraries",
            subject_of(_line(chain, _LIBRARIES), _LIBRARIES),
            impact="A program that loads libcuda.so gets the stub and finds no GPU.",
            remedy=Remedy("For linking, use LIBRARY_PATH or -L instead; neither affects the program at run time."),
        )


def _not_mounted(chain: Sequence[BuildStage], found: Contents) -> Iterator[Finding]:
    """What is to say of the container toolkit's own variables: GPUs and driver libraries that it leaves out."""
    capabilities = found.environment.get(_CAPABILITIES, "").strip("\"' ")
    listed = capabilities.replace(" ", "").split(",")
    whole = len(listed) > 1 or listed == ["utility"]  # any other alone may be added to what the base sets
    if whole and "$" not in capabilities and _COMPUTE.isdisjoint(listed):
        yield finding(
            faults.GPU_HIDDEN,
            Status.WARN,
            f"{_CAPABILITIES} is {capabilities}: it does not include compute",
            subject_of(_line(chain, _CAPABILITIES), _CAPABILITIES),
            impact="The container toolkit does not mount libcuda.so.1, and CUDA finds no GPU.",
            remedy=Remedy(f"Add compute: ENV {_CAPABILITIES}=compute,{capabilities}."),
            sources=_TOOLKIT,
        )
    devices = found.environment.get(_DEVICES, "").strip("\"' ")
    if devices in _NO_GPU:
        yield finding(
            faults.GPU_HIDDEN,
            Status.WARN,
            f"{_DEVICES} is {devices}: a container gets a GPU only if something sets it again",
            subject_of(_line(chain, _DEVICES), _DEVICES),
            impact="docker run --gpus sets it; the NVIDIA runtime alone gives the container no GPU.",
            remedy=Remedy(f"Remove {_DEVICES}."),
            sources=_TOOLKIT,
        )


def _without_graphics(chain: Sequence[BuildStage], found: Contents) -> Iterator[Finding]:
    """What is to say of Vulkan in an image for which the container toolkit leaves the driver's Vulkan out."""
    if _CAPABILITIES in found.environment or found.base.repository != CUDA_REPOSITORY:
        return
    mention = script_of(chain).search(_VULKAN)
    if mention is not None:
        yield finding(
            faults.GPU_HIDDEN,
            Status.WARN,
            f"{_CAPABILITIES} of {found.base.image} is compute,utility: Vulkan finds no NVIDIA GPU",
            subject_of(mention.line, mention.text),
            impact="The container toolkit does not mount the driver's libraries for graphics.",
            remedy=Remedy(f"Set it: ENV {_CAPABILITIES}=graphics,compute,utility."),
        )


def _is_of_stubs(folder: str) -> bool:
    return "cuda" in folder and folder.rstrip("/").endswith("/stubs")


def _line(chain: Sequence[BuildStage], name: str) -> int:
    """The line of the last ENV that sets a variable."""
    lines = [part.line for part in parts_of(chain, "ENV") if name in part.text]
    return lines[-1] if lines else chain[-1].line
