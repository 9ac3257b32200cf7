"""Driver libraries that are not the system's own: of a container, an image of Apptainer, or a package of Nix."""

from __future__ import annotations

from envkit.checks.engine.command import NAME, PATH, Word, export, fixed, run
from envkit.checks.engine.evidence import driver_lives_elsewhere
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.loader_path import library_path
from envkit.checks.engine.managers import managers
from envkit.checks.engine.messages import named, seen
from envkit.checks.engine.remedies import remedy
from envkit.model import Environment

_MISMATCH = "driver-library-mismatch"

_OF_HOST = "/.singularity.d/libs"  # where --nv puts the host's driver
_OF_IMAGE = "/usr/local/nvidia"
_OF_NIXOS = "/run/opengl-driver/lib"

_OWN_OF_CONTAINER = (
    "The module is that of the host, which works; the driver packages that were installed in the container brought "
    "libraries of another version. Restarting the node does not help, and nothing has to change on it: remove those "
    "packages in the container, then restart the container (from outside, or ask whoever runs it), so that it gets the "
    "host's libraries again. For a newer CUDA, install a PyTorch build that the host's driver supports: in a "
    "container, never install a driver."
)


def _host_libraries_first(environment: Environment) -> Remedy:
    """The remedy that lets the host's libraries come first; nothing is unloaded or installed on the node."""
    others = [folder for folder in library_path(environment) if folder != _OF_HOST and not folder.startswith(_OF_IMAGE)]
    return Remedy(
        "The image contains its own driver libraries, which are found before the host's libraries that --nv mounts in "
        f"{_OF_HOST}. The node and its driver are not at fault: nothing has to be reloaded there. Put the host's "
        "libraries first, as in the first command (IMAGE is the image that fails), in every command that starts it. "
        "For a permanent fix, rebuild the image without them (in the %post section of its definition file: rm -rf "
        "/usr/local/nvidia/lib /usr/local/nvidia/lib64). If nvidia-smi fails outside of the image, too, the node's "
        "administrators must reload or restart its driver.",
        (
            run("apptainer", "exec", "--nv", "--env", *_set_to((_OF_HOST, *others)), "IMAGE", "nvidia-smi"),
            fixed("nvidia-smi"),
        ),
    )


def _without_those_of_nix(environment: Environment) -> Remedy:
    """The same for a flake, a shell or a package of nixpkgs that was built with a driver of its own."""
    module = environment.driver.kernel_module.value
    if seen(environment, _MISMATCH, "detail-nix-env"):
        return Remedy(
            "nvidia-smi and its libraries come from a driver package in a Nix profile, which stays at its version when "
            "the system's driver changes; rebooting does not help. Remove it from the profile (the second command is "
            f"for root's profile); the system's own nvidia-smi{f' of {module}' if module else ''} is found after that.",
            (fixed("nix-env -e nvidia-x11"), fixed("sudo -i nix-env -e nvidia-x11"), fixed("bash -lc nvidia-smi")),
        )
    return Remedy(
        "First run nvidia-smi outside the Nix environment. If it fails there, too, the driver was probably updated: "
        "reboot. If it works there, only Nix programs are affected: they bring their own driver libraries, whose "
        f"version differs from the loaded module's{f' ({module})' if module is not None else ''}, and rebooting does "
        "not help. Let them use the machine's own driver: remove linuxPackages.nvidia_x11 from buildInputs and "
        "LD_LIBRARY_PATH in the flake or package. On a distribution other than NixOS, start the program with nixGL (or "
        f"nix-gl-host). On NixOS, the driver libraries are in {_OF_NIXOS}. To test, run these commands in the same "
        "shell:",
        (export("LD_LIBRARY_PATH", PATH(_OF_NIXOS)), fixed("nvidia-smi")),
    )


def _without_package_of_image(package: str) -> Remedy:
    """The same for a step of a Dockerfile whose package depends on the driver's libraries."""
    return Remedy(
        f"The kernel module is the host's and works; {package}, which the Dockerfile installs, brings driver libraries "
        "of another version into the image. Rebooting or reinstalling on the host does not help. Take that package out "
        "of the Dockerfile, as well as lines that remove libnvidia-* packages, and build the image again: Docker's "
        "NVIDIA runtime then provides the host's own libraries. For OpenCL headers and linking, ocl-icd-opencl-dev is "
        "enough; for CUDA, cuda-toolkit packages contain no driver.",
        (
            run("docker", "build", "--no-cache", "-t", "IMAGE", "."),
            run("docker", "run", "--rm", "--gpus", "all", "IMAGE", "nvidia-smi"),
        ),
    )


def _set_to(folders: tuple[str, ...]) -> tuple[Word, ...]:
    """What --env takes as one word."""
    path = PATH(":".join(folders))
    return (f"LD_LIBRARY_PATH={path}" if isinstance(path, str) else path,)


def not_of_the_system(environment: Environment) -> Remedy | None:
    """The remedy where the libraries are not the system's own, but a container's or a package manager's beside it."""
    if "lxd" in managers(environment):
        return _same_in_lxd(environment)
    if "apptainer" in managers(environment):
        return _host_libraries_first(environment)
    if seen(environment, _MISMATCH, "detail-in-container", "detail-in-container-chinese"):
        return remedy(environment, _OWN_OF_CONTAINER, "purge-in-container")
    if package := named(seen(environment, _MISMATCH, "detail-image-step"), "package"):
        return _without_package_of_image(package)
    if seen(environment, _MISMATCH, "detail-nix"):
        return _without_those_of_nix(environment)
    if not driver_lives_elsewhere(environment):
        return None
    return Remedy(
        "The kernel module belongs to the host and cannot be changed from inside the container: keep driver "
        "libraries out of the image. If the host itself has mismatched versions, fix that there and restart the "
        "container."
    )


def _same_in_lxd(environment: Environment) -> Remedy:
    """The container has libraries of its own, of another version than the host's module: no reload changes that."""
    module = environment.driver.kernel_module.value
    own = f" {module}" if module is not None else ""
    name = named(seen(environment, _MISMATCH, "detail-lxd"), "container") or "CONTAINER"
    return Remedy(
        f"The driver libraries in the LXD container must have exactly the version of the host's module{own}. In the "
        "container, remove its own driver packages (nvidia-NNN, libnvidia-*); then let LXD pass the host's libraries "
        "through, as below. An older LXD does not have this setting: in that case, upgrade the driver package on the "
        "host as well, so that both have the same version, and reboot the host. Reloading modules or rebooting alone "
        "does not help. Run this on the host; restarting the container stops everything in it.",
        (
            run("lxc", "config", "set", NAME(name), "nvidia.runtime", "true"),
            run("lxc", "restart", NAME(name)),
            run("lxc", "exec", NAME(name), "--", "nvidia-smi"),
        ),
    )
