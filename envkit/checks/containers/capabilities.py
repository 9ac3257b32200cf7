"""Inside a container: which capabilities of the driver, and so which of its libraries, it was given."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from envkit._startup.regex import regex
from envkit.base.sentences import series
from envkit.checks.engine.command import CAPABILITIES, fixed, run
from envkit.checks.engine.evidence import kind, known, unseen
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Evidence, Outcome, Remedy, ok, skip
from envkit.checks.engine.managers import managers
from envkit.checks.engine.messages import message_evidence, said, seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.frameworks.variables import variables
from envkit.checks.nvidia_driver.driver_state import CUDA, NVML, has_library
from envkit.model import Environment, MachineKind

if TYPE_CHECKING:
    from envkit.tables import Matrix

_ID = "driver-capabilities-missing"
_VARIABLE = "NVIDIA_DRIVER_CAPABILITIES"
_ALWAYS = ("compute", "utility")
_ORDER = ("compute", "graphics", "video", "utility")
_BY_WORDS = (  # a capability, and what a program says whose libraries come with it
    ("video", regex(r"(?i)nvenc|nvdec|cuvid|nvidia-encode|nvidia-opticalflow|\bvideo\b")),
    ("graphics", regex(r"(?i)vulkan|\bvk|\begl|glx|optix|opengl|no drivers!|\bgraphics\b|\bdisplay\b")),
)
_LOSSES = {
    "video": "Programs in the container cannot encode or decode video on the GPU.",
    "graphics": "Programs in the container cannot use the GPU through Vulkan, OpenGL, or OptiX.",
}
_ICD = (
    " If Vulkan still finds no driver, the file that names it is missing: add -v "
    "/usr/share/vulkan/icd.d:/usr/share/vulkan/icd.d:ro (on some hosts, nvidia_icd.json is in /etc/vulkan/icd.d)."
)
_REFUSED = Remedy(
    "The host lets containers have only the capabilities that the message lists as allowed. Request only those, or, "
    "if you administer the host, allow more: in /etc/nvidia-container-runtime/config.toml, extend "
    "supported-driver-capabilities, then create the container again. The command shows the current setting.",
    (fixed("grep -n supported-driver-capabilities /etc/nvidia-container-runtime/config.toml"),),
)

_NIXOS_IN_WSL = Remedy(
    "The specification that NixOS generates also mounts the programs of NVIDIA's Linux driver, whose libraries WSL "
    "does not have. In configuration.nix, next to hardware.nvidia-container-toolkit.enable = true;, set "
    "hardware.nvidia-container-toolkit.mount-nvidia-executables = false; and wsl.useWindowsDriver = true;. Then "
    "rebuild and create the container again: it gets nvidia-smi and libcuda from Windows.",
    (fixed("sudo nixos-rebuild switch"),),
)


def _wanted(environment: Environment) -> tuple[str, ...]:
    """The capabilities beyond compute and utility that the programs of a text miss: video, graphics."""
    lines = said(environment, _ID)
    return tuple(name for name, words in _BY_WORDS if words.search(lines))


def _given_all(environment: Environment, matrix: Matrix) -> Remedy:
    """The variable with what is missing and what is set already, in the words of what starts the container."""
    if seen(environment, _ID, "told-nixos-wsl"):
        return _NIXOS_IN_WSL
    if seen(environment, _ID, "unsupported"):
        return _REFUSED
    named = {*_ALWAYS, *_wanted(environment), *_set(environment)}
    names = [name for name in _ORDER if name in named]
    value = ",".join(names)
    why = f"Give the container the driver's {_listed(names)} capabilities"
    which = managers(environment)
    if "kubernetes" in which:
        return Remedy(
            f"{why}: in the pod's spec, add {{name: {_VARIABLE}, value: '{value}'}} to the container's env. A running "
            "pod cannot be changed: the command deletes it and creates it again from its manifest (FILE).",
            (fixed("kubectl replace --force -f FILE"),),
        )
    if "compose" in which:
        return Remedy(
            f"{why}: under the service in the compose file, add environment: {{{_VARIABLE}: '{value}'}}. If it "
            "has that variable already, change the value. Then re-create the container.",
            (fixed("docker compose up -d"),),
        )
    if "apptainer" in which:
        return Remedy(
            "Apptainer mounts only the host libraries that its nvliblist.conf lists, and an older list lacks some that "
            "newer drivers have. Add the missing library to it, as root on the node (the name without its version, "
            "such as libnvidia-nvvm.so), or update Apptainer. Without root, mount it from the host (the first command "
            "lists the host's files) with --bind FILE:/.singularity.d/libs/NAME in your own command.",
            (
                fixed("ldconfig -p"),
                fixed("find /etc /usr/etc -name nvliblist.conf"),
            ),
        )
    icd = _ICD if seen(environment, _ID, "vulkan-icd") else ""
    return Remedy(
        f"{why}, which decide which of its libraries are mounted. They are set when a container is created.{icd}",
        (run("docker", "run", "--gpus", "all", "-e", CAPABILITIES(f"{_VARIABLE}={value}"), "IMAGE"),),
    )


def _set(environment: Environment) -> Iterable[str]:
    return (variables(environment).get(_VARIABLE) or "").split(",")


def _listed(names: Iterable[str]) -> str:
    *firsts, last = names
    return f"{', '.join(firsts)}{',' if len(firsts) > 1 else ''} and {last}"


_NO_LIBRARIES = Fault(
    _ID,
    "The container has the GPU but not the driver's libraries",
    impact="CUDA programs or nvidia-smi cannot find the driver library in the container.",
    remedy=_given_all,
)


@check(
    _NO_LIBRARIES,
    layer=Layer.PLACE,
    rank=12,
    any_of=("system.machine_kind", "messages"),
    fix="Set NVIDIA_DRIVER_CAPABILITIES=compute,utility for the container, with video or graphics where they are used.",
    references=threads("NVIDIA/nvidia-docker#1226", "NVIDIA/libnvidia-container#231"),
)
def driver_capabilities_missing(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """A container with GPU device files also has libcuda and libnvidia-ml (the compute and utility capabilities)."""
    nodes = environment.driver.device_nodes
    gpu_nodes = [node for node in nodes.get() if re.fullmatch(r"/dev/nvidia\d+", node.path)] if nodes.known else []
    missing = [name for name in (CUDA, NVML) if has_library(environment, name) is False]
    value = variables(environment).get(_VARIABLE)
    inside = kind(environment) is MachineKind.CONTAINER
    if inside and gpu_nodes and missing:
        yield _NO_LIBRARIES.found(
            [
                known(environment, "driver.device_nodes", gpu_nodes[0].path),
                known(environment, "driver.libraries", "missing: " + ", ".join(missing)),
                Evidence(f"variables[{_VARIABLE}]", repr(value), environment.variables.source),
            ],
            title=f"The container has {gpu_nodes[0].path} but no {' and no '.join(missing)}",
        )
        return
    blind = seen(environment, "framework-sees-no-gpu")
    if value and blind and not {"compute", "all"} & set(value.split(",")):
        yield _NO_LIBRARIES.found(
            [
                Evidence(f"variables[{_VARIABLE}]", repr(value), environment.variables.source),
                *message_evidence(environment, blind),
            ],
            title=f"{_VARIABLE}={value} leaves out compute",
        )
    elif reported := _reported(environment):
        yield reported
    elif not inside:
        yield skip("not inside a container", evidence=[known(environment, "system.machine_kind")])
    elif gpu_nodes and has_library(environment, CUDA):
        yield ok("the container has the driver's libraries", evidence=[known(environment, "driver.libraries", CUDA)])
    else:
        yield skip(f"the container has no GPU device files, or {unseen(environment, 'its libraries')}")


def _reported(environment: Environment) -> Outcome | None:
    """The fault as messages tell it, named by the capability that they are about."""
    missing = _wanted(environment)
    if not missing:
        return _NO_LIBRARIES.reported(environment)
    return _NO_LIBRARIES.reported(
        environment,
        title=f"The container has the GPU but not the driver's libraries for {series(missing)}",
        impact=" ".join(_LOSSES[name] for name in missing),
    )
