"""Driver libraries that an image of Apptainer brings, which the program finds before those of the host."""

from __future__ import annotations

from envkit.checks.engine.command import PATH, Word, fixed, run
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.loader_path import library_path
from envkit.model import Environment

_OF_HOST = "/.singularity.d/libs"  # where --nv puts the host's driver
_OF_IMAGE = "/usr/local/nvidia"

OWN_OF_CONTAINER = (
    "The module is that of the host, which works; the driver packages that were installed in the container brought "
    "libraries of another version. Restarting the node does not help, and nothing has to change on it: remove those "
    "packages in the container, then restart the container (from outside, or ask whoever runs it), so that it gets the "
    "host's libraries again. For a newer CUDA, install a PyTorch build that the host's driver supports: in a "
    "container, never install a driver."
)
COUNTERS_OF_CLUSTER = (
    "Only root can allow this: ask the administrators to set NVreg_RestrictProfilingToAdminUsers=0 on the nodes of "
    "that partition (options nvidia NVreg_RestrictProfilingToAdminUsers=0 in /etc/modprobe.d, then a reload of the "
    "module or a reboot), and send them the message with the name of the node. Until then, profile on a partition "
    "whose nodes allow it (grep RmProfilingAdminOnly /proc/driver/nvidia/params prints 0 there), or use nsys profile, "
    "whose timelines need no counters."
)


def host_libraries_first(environment: Environment) -> Remedy:
    """The remedy that lets the host's libraries come first; nothing is unloaded or installed on the node."""
    others = [folder for folder in library_path(environment) if folder != _OF_HOST and not folder.startswith(_OF_IMAGE)]
    return Remedy(
        "The image brings driver libraries of its own, which are found before those of the host that --nv mounts in "
        f"{_OF_HOST}. The node and its driver are not at fault: nothing has to be reloaded there. Put the host's "
        "libraries first, as in the first command (IMAGE is the image that fails), in every command that starts it. "
        "For good, rebuild the image without them (in the %post section of its definition file: rm -rf "
        "/usr/local/nvidia/lib /usr/local/nvidia/lib64). If nvidia-smi fails outside of the image, too, the node's "
        "administrators must reload or restart its driver.",
        (
            run("apptainer", "exec", "--nv", "--env", *_set_to((_OF_HOST, *others)), "IMAGE", "nvidia-smi"),
            fixed("nvidia-smi"),
        ),
    )


def _set_to(folders: tuple[str, ...]) -> tuple[Word, ...]:
    """What --env takes as one word."""
    path = PATH(":".join(folders))
    return (f"LD_LIBRARY_PATH={path}" if isinstance(path, str) else path,)
