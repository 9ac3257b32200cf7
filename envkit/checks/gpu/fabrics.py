"""Networks that NCCL took and that join no hosts: cards of two kinds, two in one subnet, a bridge, a lone link."""

from __future__ import annotations

from ipaddress import AddressValueError, IPv4Network, NetmaskValueError

from envkit._startup.regex import regex
from envkit.checks.engine.command import INTERFACES, NAME, SAFE_WORD, export, fixed, run
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import managed_by
from envkit.checks.engine.messages import named, seen
from envkit.checks.engine.remedies import remedy
from envkit.model import Environment

_DEVICE = regex(r"\](?P<name>[a-z][a-z0-9_]{2,20}):\d{1,2}/(?P<kind>IB|RoCE)")
_VARIABLE = "NCCL_IB_HCA"


def one_fabric(environment: Environment) -> Remedy | None:
    """Only the cards of InfiniBand, where NCCL's own line lists RoCE next to them; None where it does not."""
    line = named(seen(environment, "nccl-wrong-interface", "detail-cards"), "cards") or ""
    devices = [(match["name"], match["kind"]) for match in _DEVICE.finditer(line)]
    kept = sorted({name for name, kind in devices if kind == "IB"})
    others = sorted({name for name, kind in devices if kind == "RoCE"})
    if not kept or not others:
        return None
    where = " In Kubernetes, add it to the pod's env." if managed_by(environment, "kubernetes") else ""
    return Remedy(
        f"NCCL uses {', '.join(others)}, an Ethernet (RoCE) port, together with InfiniBand ports, and no connection "
        "between the two kinds is possible: let it use the InfiniBand cards only, on every node (names can differ "
        f"between nodes: ^{others[0]} excludes that one instead).{where}",
        (run("export", INTERFACES(f"{_VARIABLE}={','.join(kept)}")),),
    )


_BEHIND = "500"  # a metric that every usual route comes before


def one_network(environment: Environment) -> Remedy | None:
    """The other route put behind, where two interfaces are in one subnet; None where no list of routes shows that."""
    routes = seen(environment, "nccl-wrong-interface", "detail-one-network", "detail-one-link")
    names = [name for name in (named(routes, "first"), named(routes, "second")) if name]
    wanted = named(seen(environment, "nccl-wrong-interface", "detail-told-name"), "name") or ""
    if len(set(names)) < 2:
        return None
    other = next((name for name in names if name != wanted), "")
    network = _prefix(named(routes, "network") or "", named(routes, "mask") or "")
    said = (
        f"{names[0]} and {names[1]} are in the same subnet: the kernel then sends packets through whichever route "
        "comes first, and the other hosts do not get an answer from the address that NCCL announced. No variable of "
        "NCCL changes routes. Put each interface into a subnet of its own (a longer netmask, such as /24, if the "
        "addresses allow it) in the network configuration of every host"
    )
    if wanted not in names or not network:
        return Remedy(f"{said}, or give the route of the interface that NCCL should not use a higher metric.")
    return Remedy(
        f"{said}. Until then, the first two commands put the route of {other} behind that of {wanted}, up to the next "
        "restart: run them on every host that has both. The last one, with the address of another node, then prints "
        f"dev {wanted}.",
        (
            run("sudo", "ip", "route", "del", SAFE_WORD(network), "dev", NAME(other)),
            run("sudo", "ip", "route", "add", SAFE_WORD(network), "dev", NAME(other), "metric", _BEHIND),
            fixed("ip route get ADDRESS"),
        ),
    )


def _prefix(network: str, mask: str) -> str:
    """The subnet as `ip` writes it; '' where the numbers make none."""
    try:
        return str(IPv4Network(f"{network}/{mask}" if mask else network))
    except (AddressValueError, NetmaskValueError, ValueError):
        return ""


_ON_HOST = (
    "The address is that of Docker's bridge network: each machine has the same one, and containers on another machine "
    "cannot reach it. On every machine, start the container on the host's network: put --network host into your own "
    "docker run command in place of -p (the command below prints the addresses that the container has then). In WSL 2, "
    "first set networkingMode=mirrored under [wsl2] in .wslconfig on Windows and run wsl --shutdown."
)


_LINK_LOCAL = (
    "NCCL took an interface that has only a link-local address (169.254.x.x), which no other node can reach. On every "
    "node, find the interface that has the node's own address, usually that of the default route (the commands show "
    "both), and name it before the program starts, in the job or CI script too: export NCCL_SOCKET_IFNAME=NAME (if the "
    "name differs between nodes, all of them, separated by commas; NVSHMEM and UCX have settings of their own). With "
    "NCCL_DEBUG=INFO, the line Bootstrap then shows that address."
)


_EFA = (
    "This cluster's nodes have EFA, which NCCL reaches through libfabric: without these variables it falls back to "
    "sockets, and the start of a large job hangs. Launchers set them only for the instance types that they know: set "
    "them yourself where the ranks start (srun --export=ALL, mpirun -x, or the pod's env). With NCCL_DEBUG=INFO, the "
    "log then says that the provider efa is used; if it does not, the plug-in aws-ofi-nccl is missing in the image."
)
_EFA_VARIABLES = (("FI_PROVIDER", "efa"), ("FI_EFA_USE_DEVICE_RDMA", "1"), ("RDMAV_FORK_SAFE", "1"))


def by_address(environment: Environment) -> Remedy | None:
    """What the address or the kind of cluster in NCCL's lines calls for; None where they say nothing of it."""
    if seen(environment, "nccl-wrong-interface", "detail-link-local"):
        return Remedy(_LINK_LOCAL, (fixed("ip -br addr"), fixed("ip route show default")))
    if seen(environment, "nccl-wrong-interface", "detail-efa"):
        return Remedy(_EFA, tuple(export(name, value) for name, value in _EFA_VARIABLES))
    if seen(environment, "nccl-wrong-interface", "detail-docker-bridge"):
        return remedy(environment, _ON_HOST, "host-network")
    return None
