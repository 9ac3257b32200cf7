"""Which network NCCL is to use between hosts: the interface, the card, or what keeps it from having any."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from envkit.checks.engine.command import INTERFACES, NAME, PROGRAM, SAFE_WORD, fixed, run
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import managers
from envkit.checks.engine.messages import named, seen, variants_of
from envkit.checks.engine.remedies import remedy
from envkit.checks.gpu.fabrics import by_address, one_fabric, one_network
from envkit.checks.gpu.nccl_log import by_gids, by_log
from envkit.model import Environment

if TYPE_CHECKING:
    from envkit.tables import Matrix

_INTERFACE_VARIABLES = ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME")
_NOT_BETWEEN_HOSTS = ("lo", "docker", "br-", "veth", "virbr", "wl")
_NO_ANSWER = "completion-12"  # the other side does not answer over it
_RDMA = frozenset({"ibv", "completion", "completion-12"})  # messages of InfiniBand's and RoCE's verbs
_NONE_FOUND = ("none-usable", "none-found", "last-warning")


def settings(environment: Environment) -> dict[str, tuple[str, str]]:
    """The interface settings and their source; a variable wins over a file."""
    settings: dict[str, tuple[str, str]] = {}
    for observed in (environment.nccl_config, environment.variables):
        values: Mapping[str, str] = observed.get() if observed.known else {}
        settings |= {name: (values[name], observed.source) for name in _INTERFACE_VARIABLES if values.get(name)}
    return settings


def _told_interfaces(environment: Environment) -> tuple[str, ...]:
    """The interfaces of all hosts that have an address, without those of the machine itself and of containers."""
    names = environment.network_interfaces.get() if environment.network_interfaces.known else ()
    return tuple(name for name in names if not name.startswith(_NOT_BETWEEN_HOSTS))


def is_rdma(environment: Environment) -> bool:
    """Whether the connection that failed is one of InfiniBand or RoCE: it is tried when the sockets have connected."""
    messages = seen(environment, "nccl-wrong-interface")
    kinds = variants_of(messages)
    return bool(kinds) and (kinds <= _RDMA or _NO_ANSWER in kinds)


def _over_rdma(environment: Environment) -> Remedy | None:
    """Where it is InfiniBand or RoCE that does not connect: the interface of the sockets has no part in that."""
    if not is_rdma(environment):
        return None
    if given := by_gids(environment):
        return given
    return remedy(
        environment,
        "The hosts reach each other, but not over InfiniBand or RoCE: NCCL_SOCKET_IFNAME does not change that. Do the "
        "first two commands on every host. List only ports that are active and of one kind (NCCL_IB_HCA=mlx5_0,"
        "mlx5_1). With RoCE (link_layer Ethernet), set NCCL_IB_GID_INDEX to an index that show_gids lists as v2 with "
        "an IPv4 address. If each network card reaches only the one with its own number, set NCCL_CROSS_NIC=0; on a "
        "very large network, NCCL_IB_TIMEOUT=22. A container needs /dev/infiniband. If all works with the last "
        "command, which makes NCCL use sockets, the fault is in cards, cables, or switches: run ib_write_bw.",
        "infiniband",
    )


_BY_ADDRESS = (
    "NCCL_SOCKET_IFNAME is a list of exclusions (^), and on some node, none of the interfaces that it leaves has an "
    "address that the other nodes can reach. On every node, find the interface that has the node's address, usually "
    "that of the default route (the commands show both), and specify it instead, where the variable is set now: "
    "NCCL_SOCKET_IFNAME=NAME, without ^. If its name differs between nodes, list all of them, separated by commas."
)


def _only_excluded(environment: Environment) -> bool:
    """Whether NCCL finds no interface among those that a list of exclusions leaves."""
    value = settings(environment).get("NCCL_SOCKET_IFNAME", ("", ""))[0]
    return value.startswith("^") and bool(seen(environment, "nccl-wrong-interface", *_NONE_FOUND))


def _of_open_mpi(environment: Environment) -> Remedy:
    """Its own connections: they ignore what is set for NCCL, and take every interface, Docker's bridge too."""
    given = (named(seen(environment, "nccl-wrong-interface", "detail-given"), "interface") or "").partition(",")[0]
    options = [words for kind_of in ("btl", "oob") for words in ("-mca", f"{kind_of}_tcp_if_include", NAME(given))]
    return Remedy(
        "This connection is one of Open MPI itself, which NCCL_SOCKET_IFNAME does not change: by default it uses every "
        "interface, Docker's bridge too, whose address is the same on each host. Add these options to your own mpirun "
        "command, before the program, and leave the rest as it is.",
        (run("mpirun", *options, PROGRAM) if given else _WITHOUT_BRIDGE,),
    )


_WITHOUT_BRIDGE = fixed("mpirun -mca btl_tcp_if_exclude docker0,lo -mca oob_tcp_if_exclude docker0,lo PROGRAM")


_NO_NETWORK = (
    "The container was started with --network none: it has no interface but lo, and NCCL needs one, even on a single "
    "host. Start it on the host's network: put --network=host in place of --network none in your own docker run "
    "command."
)
_NOT_EXACT = (
    "The = before the name asks for exactly this interface, and this NCCL finds none that way, although the interface "
    "is there: specify the name without =, wherever it is set now (in Kubernetes, the value in the pod's env; create "
    "the pods again). With NCCL_DEBUG=INFO, the log then says Bootstrap : Using, with the interface."
)
_GLOO_LOOPBACK = (
    "On the node in the message, Gloo took the loopback address, because the host name there resolves to no address of "
    "the machine: a variable in front of a command reaches only the node where it is typed. Ray starts the workers of "
    "the other nodes, so on every node, stop Ray, set both variables, and start it again as before (NAME is the "
    "interface with the node's own address: ip -br addr). Alternatively, add the node's name with its own address to "
    "/etc/hosts on every node."
)


def _gloo_loopback(environment: Environment) -> Remedy:
    """Both libraries on the interface that the text names, set before the workers are started."""
    told = named(seen(environment, "nccl-wrong-interface", "detail-told-name"), "name") or "NAME"
    names = ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME")
    said = _GLOO_LOOPBACK if told == "NAME" else _GLOO_LOOPBACK.replace("NAME is the", f"{told} must be the")
    exports = (run("export", SAFE_WORD(f"{name}={told}")) for name in names)
    return Remedy(said, (fixed("ray stop"), *exports))


def _by_cause(environment: Environment) -> Remedy | None:
    """What a text shows to be the reason; None where only the list of interfaces is to be set."""
    if seen(environment, "nccl-wrong-interface", "detail-no-network"):
        return Remedy(_NO_NETWORK, (fixed("docker run --network=host IMAGE"),))
    exact = named(seen(environment, "nccl-wrong-interface", "detail-exact"), "name")
    if exact and seen(environment, "nccl-wrong-interface", *_NONE_FOUND):
        return Remedy(_NOT_EXACT, (run("export", INTERFACES(f"NCCL_SOCKET_IFNAME={exact}")),))
    if seen(environment, "nccl-wrong-interface", "detail-gloo-loopback"):
        return _gloo_loopback(environment)
    return None


def _without_choice(environment: Environment) -> Remedy | None:
    """By the networks that the text shows; None where it shows none."""
    if given := one_fabric(environment) or one_network(environment):
        return given
    if given := _over_rdma(environment) or by_address(environment):
        return given
    if _only_excluded(environment):
        return Remedy(_BY_ADDRESS, (fixed("ip -br addr"), fixed("ip route show default")))
    if seen(environment, "nccl-wrong-interface", "detail-open-mpi"):
        return _of_open_mpi(environment)
    return by_log(environment)


def interfaces(environment: Environment, matrix: Matrix) -> Remedy:
    """The interface or card for NCCL, in the place where the text sets it."""
    if given := _by_cause(environment) or _without_choice(environment):
        return given
    advice = "Specify an interface that exists on every machine, or exclude the ones that NCCL should not use."
    names = managers(environment)
    told = _told_interfaces(environment)
    if "mpirun" in names and told:
        return Remedy(
            f"{advice} mpirun -x NCCL_SOCKET_IFNAME=VALUE overrides the shell: in your mpirun command, make it list "
            "the interfaces of all hosts.",
            (run("mpirun", "-x", INTERFACES(f"NCCL_SOCKET_IFNAME={','.join(told)}"), PROGRAM),),
        )
    if "mpirun" in names:
        return Remedy(
            f"{advice} mpirun -x NCCL_SOCKET_IFNAME=VALUE overrides the shell: change it in the command and list the "
            "interfaces of all hosts (-x NCCL_SOCKET_IFNAME=eth0,ens1), or drop that -x."
        )
    if "slurm" in names:
        advice = f"{advice} Put it in the job script, before srun."
    return remedy(environment, advice, "interface")
