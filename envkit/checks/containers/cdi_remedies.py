"""What to do where a container engine finds no CDI device, by what is wrong with the specification."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.checks.engine.command import fixed
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import appliance, managers
from envkit.checks.engine.messages import named, said, seen
from envkit.checks.engine.remedies import remedy
from envkit.model import Environment

if TYPE_CHECKING:
    from envkit.tables import Matrix

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


def specification(environment: Environment, matrix: Matrix) -> Remedy:
    """By what is wrong with it: written by the operator, in a folder that nobody reads, stale, or not there."""
    text = said(environment, "cdi-unresolvable")
    before = named(seen(environment, "cdi-unresolvable", "detail-before"), "before")
    if before and seen(environment, "cdi-unresolvable", "unknown-field"):
        return remedy(
            environment,
            "The specification is there, but this engine is too old for its format and rejects the file; "
            f"regenerating it does not help. Go back to the NVIDIA Container Toolkit {before} that worked, hold it "
            "(otherwise, the next upgrade brings the new format back), and regenerate the specification with it. Or "
            "update the engine.",
            "toolkit-release",
            version=before,
        )
    if seen(environment, "cdi-unresolvable", "unknown-field"):
        return remedy(
            environment,
            "The specification is there, but this engine is too old for its format and rejects the file; "
            "regenerating it does not help. Update the engine, or go back to the release of the NVIDIA Container "
            "Toolkit that worked (the list shows what can be installed), regenerate the specification with it, and "
            "hold it.",
            "toolkit-releases",
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
    if named(seen(environment, "cdi-unresolvable"), "device"):
        return remedy(
            environment,
            "A specification names a device that no longer exists. Remove the old specifications from both "
            "directories (the list shows them; they are generated, so nothing else is lost), and generate a new one.",
            "cdi-anew",
        )
    return Remedy(
        "Regenerate the CDI specification: it lists the driver's files as they were when it was written, so do this "
        "again after every driver update. If nvidia-ctk is not found, first install the package "
        "nvidia-container-toolkit-base from the NVIDIA Container Toolkit's repository.",
        (_GENERATE_CDI, fixed("nvidia-ctk cdi list")),
    )
