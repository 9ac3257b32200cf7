"""What a later answer settles where nobody tells of trouble: a driver that answers is there, a GPU that computes works.

An installer complained and went on; a container failed before one that has the GPU; a node's devices are all in use.
"""

from __future__ import annotations

import re

from envkit._startup.regex import regex
from envkit.base.kept import kept
from envkit.ingest.answers import command_above, command_index
from envkit.ingest.computed import used
from envkit.ingest.meant import asks_for_help
from envkit.ingest.sessions import ENGINES, asked_by, inside_container, machine_of, place_of, tried_again
from envkit.ingest.text import Text

_NO_DRIVER = frozenset(
    (
        *("dkms-build-failed", "driver-dropped-gpu", "driver-library-mismatch", "driver-module-not-loaded"),
        *("driver-not-installed",),
        *("driver-repos-mixed", "gsp-firmware-missing", "kernel-headers-missing", "module-missing-for-running-kernel"),
        *("no-gpu-on-pci", "nouveau-loaded", "nova-core-bound", "nvml-library-missing", "optimus-gpu-off"),
        *("runfile-over-packages", "secure-boot-unsigned-module"),
    )
)  # with which nvidia-smi has no answer
_NO_CUDA = frozenset(
    (
        *("device-node-permission", "device-nodes-missing", "driver-lib-mismatch-803", "error-802-other-causes"),
        *("fabric-manager-not-running", "fabric-manager-version-mismatch", "jax-no-cuda-plugin"),
        *("libcuda-stub-loaded", "mps-unreachable", "opencl-not-found"),
        *("tf-finds-no-driver", "uvm-module-not-loaded", "wsl-libcuda-missing"),
    )
)  # with which no program computes
_ABSENT = frozenset(
    (
        *("device-nodes-missing", "driver-module-not-loaded", "driver-not-installed", "no-gpu-on-pci"),
        *("framework-sees-no-gpu", "nvml-library-missing", "tf-finds-no-driver", "wsl-libcuda-missing"),
    )
)  # what a machine without a GPU shows
_IN_CONTAINER = frozenset(
    (
        *("cdi-unresolvable", "container-no-gpu-injected", "docker-no-nvidia-runtime", "engine-without-cdi"),
        *("rootless-cgroups", "selinux-blocks-device"),
    )
)
_OTHER_DOCKER = "docker-from-snap-or-desktop"  # which on Windows reaches the GPU
_DEVICES = frozenset(("fabric-manager-not-running", "fabric-manager-version-mismatch"))  # of all programs at all times
_SMI = regex(
    r"^GPU \d{1,2}: [^\n]{4,60} \(UUID: |^# gpu {1,8}pwr {1,8}gtemp"
    r"|^(?:\d{1,2}, )?(?:NVIDIA |Tesla |Quadro |GeForce |TITAN )[\w ./-]{2,40}, \d{3}\.\d{2}"
    r"|^\| NVIDIA-SMI \d[^\n]{0,60}(?:Driver|KMD) Version: \d",
    re.MULTILINE,
)
_SMI_WORDS = ("GPU ", "NVIDIA", "Tesla ", "Quadro ", "GeForce ", "TITAN ", "# gpu ")
_INSIDE = regex(r"^(?:Singularity|Apptainer)(?: [\w.-]{1,60}:\S{1,80})?> ")
_OFF, _TURNED_ON = "optimus-gpu-off", regex(r"\b(?:optirun|primusrun)\b")
_ABOVE = 3  # lines: the command, the date, and the rule of nvidia-smi's table
_GIVEN_AWAY = "gpu-bound-to-vfio/"
_LISTED = regex(r"(?:VGA compatible|3D) controller[^\n]{0,20}: NVIDIA Corporation")
_PODS = regex(r"[#$>] ?(?:sudo )?(?:kubectl|oc|microk8s|k3s|crictl|helm|k)\s")
_FULL = "docker-no-nvidia-runtime/insufficient"
_GIVEN = regex(r"^ {1,4}nvidia\.com/[\w.-]{2,40}: {1,24}(?P<number>\d{1,6})$", re.MULTILINE)


def full_node(text: Text, signature: str) -> bool:
    """Whether pods wait for devices of a node that has them: others use them."""
    if signature != _FULL:
        return False
    counts = [int(match["number"]) for match in text.matches(_GIVEN, "nvidia.com/")]
    return bool(counts) and all(counts)


def answered_later(text: Text, signature: str, offset: int) -> bool:
    """Whether an answer below `offset` shows that what such a message tells of is no more so."""
    return _answered(text, signature, offset) and not tried_again(text, offset, len(text.whole) - 1)


def _answered(text: Text, signature: str, offset: int) -> bool:
    check = signature.partition("/")[0]
    if check in _NO_DRIVER:
        later = [place for place in answers_of_driver(text) if place > offset]
        if check == _OFF:  # which is on only while such a program runs
            later = [place for place in later if not _turned_on(text, place)]
        return bool(later) or used(text) > offset
    if check in _NO_CUDA:
        return used(text) > offset or (check in _DEVICES and used(text) >= 0)
    if check == _OTHER_DOCKER:
        return any(_inside(text, place) for place in answers_of_driver(text))
    return check in _IN_CONTAINER and any(
        place > offset and _inside(text, place) and _of_same_engine(text, offset, place)
        for place in answers_of_driver(text)
    )


def _of_same_engine(text: Text, offset: int, answer: int) -> bool:
    """Whether a later command of the engine that failed has the answer: a command that failed prints no table.

    What works with docker's own option need not be so in a pod.
    """
    first, last = text.index(offset), text.index(answer)
    if command_index(text, first) == command_index(text, last) >= 0 and not any(
        _INSIDE.match(line) for line in text.lines[first:last]
    ):
        return False
    in_pod = _PODS.search(command_above(text, offset)) is not None
    return not in_pod or _PODS.search(command_above(text, answer)) is not None


def _turned_on(text: Text, offset: int) -> bool:
    """Whether the command is one that turns a laptop's GPU on while it runs."""
    index = text.index(offset)
    return any(_TURNED_ON.search(line) for line in text.lines[max(index - _ABOVE, 0) : index])


def settles(signature: str) -> bool:
    """Whether a driver that answers, or a GPU that computes, is what such messages deny."""
    return signature.partition("/")[0] in _NO_DRIVER | _NO_CUDA


def of_another_machine(text: Text, signature: str, offset: int) -> bool:
    """Whether the prompt is of a machine, such as a guest, without a GPU that the text does not ask about.

    The driver answers on another one.
    """
    place = place_of(text, offset, asked_by(text, offset))
    if signature.partition("/")[0] not in _ABSENT or place in ("", *ENGINES) or inside_container(text, offset):
        return False
    if asks_for_help(text):
        return False
    hosts = {place_of(text, answer, command_above(text, answer)) for answer in answers_of_driver(text)}
    return bool(hosts - {""}) and place not in hosts


def given_to_guest(text: Text, signature: str, offset: int) -> bool:
    """Whether the host gave the GPU away, and a guest lists it: what is amiss is not that the host lacks it."""
    place = machine_of(asked_by(text, offset)) if signature.startswith(_GIVEN_AWAY) else ""
    listed = (machine_of(asked_by(text, match.start())) for match in text.matches(_LISTED, "NVIDIA Corporation"))
    return place != "" and any(machine not in ("", place, *ENGINES) for machine in listed)


def _inside(text: Text, offset: int) -> bool:
    command = command_above(text, offset)
    return inside_container(text, offset) or machine_of(command) in ENGINES or _INSIDE.match(command) is not None


@kept
def answers_of_driver(text: Text) -> tuple[int, ...]:
    """Where nvidia-smi lists GPUs."""
    return tuple(match.start() for match in text.matches(_SMI, *_SMI_WORDS))
