"""What to do where a container engine finds no CDI device, by what is wrong with the specification."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.base.versions import Version
from envkit.checks.engine.command import fixed
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import appliance, managers
from envkit.checks.engine.messages import named, said, seen
from envkit.checks.engine.remedies import remedy
from envkit.model import Environment
from envkit.tables.codes import limit

if TYPE_CHECKING:
    from envkit.tables import Matrix

_ID = "cdi-unresolvable"
_GENERATE_CDI = fixed("sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml")


_WITH_FOLDER = fixed("podman --cdi-spec-dir=/run/cdi run --rm --device nvidia.com/gpu=all IMAGE nvidia-smi -L")
_IN_RUN = (
    "The specification is in /run/cdi, where this Podman does not look: pass that directory, which works at once, with "
    "and without root. "
)
_BY_FILE = (
    "To make this permanent, set it in /etc/containers/containers.conf: under [engine], cdi_spec_dirs = "
    '["/etc/cdi", "/run/cdi"].'
)
_BY_NIX = (
    "To make this permanent, set virtualisation.containers.containersConf.settings.engine.cdi_spec_dirs = [ "
    '"/etc/cdi" "/run/cdi" ]; in configuration.nix, and run sudo nixos-rebuild switch.'
)


_NIXOS_IN_WSL = Remedy(
    "nvidia-ctk does not find libdxcore.so, because NixOS programs do not search /usr/lib/wsl/lib. In the NixOS-WSL "
    "configuration, set wsl.useWindowsDriver = true; and rebuild, which puts the Windows driver's libraries on the "
    "loader's path. Then generate the specification again. Without that option, LD_LIBRARY_PATH=/usr/lib/wsl/lib in "
    "front of nvidia-ctk works for a single run. The driver in Windows and WSL itself are fine.",
    (
        fixed("sudo nixos-rebuild switch"),
        fixed("sudo nvidia-ctk cdi generate --mode=wsl --output=/etc/cdi/nvidia.yaml"),
    ),
)


def _in_run(environment: Environment, text: str) -> bool:
    """Whether the specification is only in the folder of the runtime; where the module of NixOS writes it."""
    if "/run/cdi" in text or appliance(environment) == "nixos":
        return True
    return bool(seen(environment, "cdi-unresolvable", "detail-run-cdi")) and bool(
        seen(environment, "cdi-unresolvable", "detail-podman")
    )


_REJECTED = (
    "The specification is there, but this engine is too old for its format and rejects the file; regenerating it in "
    "the same way does not help."
)
_OLD_FORMAT = (
    f"{_REJECTED} As of {{toolkit}}, the NVIDIA Container Toolkit writes the groups of device files into that file, "
    "which Podman accepts as of {podman}. Leave them out: the commands write the old format, and make the service "
    "that renews the specification do the same. (Users other than root in a container may then lose access to "
    "/dev/dri; a newer Podman avoids that.) The last command shows that Podman accepts it."
)


def _for_old_engine(environment: Environment) -> Remedy | None:
    """For a Podman that does not know the newest format: the old one, or the toolkit that wrote it."""
    rejected = bool(seen(environment, _ID, "unknown-field"))
    lines = seen(environment, _ID, "detail-podman-release")
    podman = environment.containers.podman.value or Version.find(named(lines, "podman") or "")
    old = podman is not None and podman < limit("podman-for-cdi-0.7")
    before = named(seen(environment, _ID, "detail-before"), "before")
    if before and (rejected or old):
        return remedy(
            environment,
            f"{_REJECTED} Go back to the NVIDIA Container Toolkit {before} that worked, hold it (otherwise, the next "
            "upgrade brings the new format back), and regenerate the specification with it. Or update the engine.",
            "toolkit-release",
            version=before,
        )
    told = named(seen(environment, _ID, "detail-toolkit-release"), "toolkit")
    toolkit = environment.containers.container_toolkit.value or Version.find(told or "")
    new = toolkit is not None and toolkit >= limit("toolkit-with-cdi-0.7")
    if new and (old or (rejected and lines)):
        words = _OLD_FORMAT.format(toolkit=limit("toolkit-with-cdi-0.7"), podman=limit("podman-for-cdi-0.7"))
        return remedy(environment, words, "cdi-old-format")
    if rejected:
        return remedy(
            environment,
            f"{_REJECTED} Update the engine, or go back to the release of the NVIDIA Container Toolkit that worked "
            "(the list shows what can be installed), regenerate the specification with it, and hold it.",
            "toolkit-releases",
        )
    return None


def specification(environment: Environment, matrix: Matrix) -> Remedy:
    """By what is wrong with it: written by the operator, in a folder that nobody reads, stale, or not there."""
    text = said(environment, "cdi-unresolvable")
    if given := _for_old_engine(environment):
        return given
    if seen(environment, _ID, "detail-only-root"):
        return remedy(
            environment,
            "The specification is there, but only root may read it, so a rootless engine does not find the device. "
            "Allow everyone to read the directory and the file; it contains no secrets. The last command lists the "
            "devices that your user finds.",
            "cdi-readable",
        )
    if "management.nvidia.com" in text:
        return Remedy(
            "The device kind management.nvidia.com/gpu is for the operator's own pods, and its specification has only "
            "one device, named all. In this pod's manifest, set runtimeClassName: nvidia instead of nvidia-cdi, and "
            "remove NVIDIA_VISIBLE_DEVICES if it is set there: nvidia.com/gpu under resources selects the GPU. The "
            "first command deletes the pod and creates it again from its manifest (FILE); the second shows whether it "
            "starts. If it still fails, upgrade the operator, whose toolkit writes the specifications.",
            (fixed("kubectl replace --force -f FILE"), fixed("kubectl get pods --watch")),
        )
    if "kubernetes" in managers(environment):
        return Remedy(
            "The operator writes the CDI specifications on its nodes: restart its toolkit, which rewrites them. If "
            "CDI is not enabled in the ClusterPolicy (cdi.enabled), pods that request nvidia.com/gpu also need "
            "runtimeClassName: nvidia.",
            (fixed("kubectl -n gpu-operator rollout restart daemonset nvidia-container-toolkit-daemonset"),),
        )
    if "dxcore" in text and appliance(environment) == "nixos":
        return _NIXOS_IN_WSL
    if _in_run(environment, text):
        return Remedy(_IN_RUN + (_BY_NIX if appliance(environment) == "nixos" else _BY_FILE), (_WITH_FOLDER,))
    podman = environment.containers.podman.known or seen(environment, "cdi-unresolvable", "detail-podman")
    if seen(environment, "cdi-unresolvable", "detail-rootless") and not podman:
        return remedy(
            environment,
            "The rootless Docker daemon has its own view of /etc and does not see the specification there. Write "
            "one in your home directory, list that directory in ~/.config/docker/daemon.json (with your own home: "
            '"cdi-spec-dirs": ["/home/USER/.config/cdi"]), and restart the daemon, which stops its containers. Newer '
            "Docker releases show /etc/cdi to the rootless daemon.",
            "cdi-rootless",
        )
    if device := named(seen(environment, "cdi-unresolvable"), "device"):
        again = (
            " If the new one names the device again, this toolkit has a bug that newer releases fix: update the "
            "package nvidia-container-toolkit and generate it once more."
            if device.startswith("/dev/dri/controlD")
            else ""
        )
        return remedy(
            environment,
            "A specification names a device that no longer exists. Remove the old specifications from both "
            "directories (the list shows them; they are generated, so nothing else is lost), and generate a new one."
            f"{again}",
            "cdi-anew",
        )
    return Remedy(
        "Regenerate the CDI specification: it lists the driver's files as they were when it was written, so do this "
        "again after every driver update. If nvidia-ctk is not found, first install the package "
        "nvidia-container-toolkit-base from the NVIDIA Container Toolkit's repository.",
        (_GENERATE_CDI, fixed("nvidia-ctk cdi list")),
    )
