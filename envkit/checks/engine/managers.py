"""What manages the software of a machine: a project's tool, a cluster, or a system without packages of one's own."""

from __future__ import annotations

from collections.abc import Iterable

from envkit.model import Environment, MachineKind

APPLIANCES = {  # whose software nobody installs by hand, and how it is done there
    "truenas": "TrueNAS ships its own driver, and manually installed packages damage it. Boot the previous boot "
    "environment (System > Boot), or select another driver release under Apps > Settings.",
    "unraid": "On Unraid, the Nvidia-Driver plugin provides the driver: choose a version there, then restart the "
    "server.",
    "synology": "On a Synology, the driver is a DSM package, and no other driver works with its kernel: check the "
    "Package Center for an update.",
    "nixos": "On NixOS, set this in configuration.nix (hardware.nvidia), then run sudo nixos-rebuild switch.",
    "talos": "On Talos, drivers are system extensions of the machine image: upgrade the node to another image.",
    "ostree": "This system's /usr is an image: layer the packages with rpm-ostree install, or rebase to an image that "
    "has the driver. If the fault came with an update of the image, go back to the one before it: sudo rpm-ostree "
    "rollback, then reboot.",
    "dgx": (
        "A DGX gets its driver from the DGX OS repositories: a server branch and, on systems with NVSwitches, the "
        "Fabric Manager of exactly the same version. Ubuntu's desktop packages do not keep the two in sync. Upgrade "
        "the driver as the DGX OS user guide describes: https://docs.nvidia.com/dgx/"
    ),
    "gke": "GKE installs the driver on its nodes: create a node pool with --accelerator "
    "type=TYPE,count=1,gpu-driver-version=latest.",
    "gpu-operator": "The GPU operator installs the driver in a container: set driver.version in its Helm values. "
    "Driver packages on the node would conflict with it.",
}
_OPERATOR = "gpu-operator"  # its nodes have no driver packages, unless the host brings the driver
QUEUES = ("cluster", "pbs", "slurm")  # where programs are jobs, and administrators install the system's software
_ENGINES = ("compose", "docker-run", "kubernetes")
_KERNELS = {"+truenas": "truenas", "-Unraid": "unraid", "-talos": "talos"}  # how a kernel of theirs is called


def managers(environment: Environment) -> tuple[str, ...]:
    """What manages the software here, as far as files, variables and the text tell."""
    named = environment.managed_by.get() if environment.managed_by.known else ()
    variables = environment.variables.get() if environment.variables.known else {}
    told = [name for name, start in (("kubernetes", "KUBERNETES_"), ("slurm", "SLURM_")) if _any(variables, start)]
    return tuple(dict.fromkeys((*named, *told)))


def managed_by(environment: Environment, *names: str) -> bool:
    """True where one of these manages the software here, as far as files, variables and the text tell."""
    return not frozenset(names).isdisjoint(managers(environment))


def in_image(environment: Environment) -> bool:
    """True where programs run in a container: what a shell of the host sets or installs does not reach them."""
    inside = environment.system.machine_kind.value is MachineKind.CONTAINER
    return inside or managed_by(environment, *_ENGINES)


def in_container(environment: Environment) -> bool:
    """The same, also where the text only speaks of a container."""
    return in_image(environment) or managed_by(environment, "container")


def _any(variables: Iterable[str], start: str) -> bool:
    return any(name.startswith(start) for name in variables)


def appliance(environment: Environment) -> str:
    """Which system without packages of one's own this is, a key of APPLIANCES; '' for an ordinary one."""
    kernel = environment.system.kernel.value or ""
    release = environment.system.os.value.id if environment.system.os.value is not None else ""
    product = ("dgx",) if "DGX" in (environment.system.vendor.value or "") else ()
    own = environment.package_changes.known or any("nvidia-" in each.name for each in environment.packages.value or ())
    names = (*(name for sign, name in _KERNELS.items() if sign in kernel), release, *product, *managers(environment))
    own = own or "host-driver" in names
    return next((name for name in names if name in APPLIANCES and not (own and name == _OPERATOR)), "")
