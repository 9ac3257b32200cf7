"""What NCCL's own log tells of the network: the interfaces it took, and the cards and addresses that are usable."""

from __future__ import annotations

from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.checks.engine.command import INTERFACES, NUMBER, PROGRAM, SAFE_WORD, Command, export, run
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import managed_by
from envkit.checks.engine.messages import named, seen
from envkit.model import Environment

_FAULT = "nccl-wrong-interface"
_USED = regex(r"(?:^|[ \]])(?P<name>[a-z][\w.-]{0,20}):(?P<address>[\da-fx.:]{2,45})(?:%[\w.-]{1,20})?<\d{1,5}>")
_VIRTUAL = ("lo", "docker", "br-", "veth", "virbr", "cni", "flannel", "vmnet", "vboxnet")
_UNREACHABLE = ("127.", "169.254.", "fe80:", "::1")
_MOST = 8  # interfaces of all hosts that one list holds


def by_log(environment: Environment) -> Remedy | None:
    """The interfaces with the hosts' own addresses, where NCCL's log lists others next to them; None elsewhere."""
    listed = list(_listed(environment))
    kept = sorted({name for name, reachable in listed if reachable})
    others = sorted({name for name, reachable in listed if not reachable} - set(kept))
    if not kept or not others or len(kept) > _MOST:
        return None
    names = ",".join(kept)
    return Remedy(
        f"NCCL also took {', '.join(others)}, which the other hosts cannot reach: let it use only "
        f"{' and '.join(kept)}, with the hosts' own addresses in its log. {_where(environment)} With NCCL_DEBUG=INFO, "
        "the log then lists nothing else after Using.",
        (setting(environment, f"NCCL_SOCKET_IFNAME={names}"),),
    )


def _listed(environment: Environment) -> Iterator[tuple[str, bool]]:
    """Each interface of the log, and whether another host can reach its address."""
    for message in seen(environment, _FAULT, "detail-used"):
        for match in _USED.finditer(message.values.get("used", "")):
            name, address = match["name"], match["address"]
            yield name, not (name.startswith(_VIRTUAL) or address.startswith(_UNREACHABLE))


def setting(environment: Environment, assignment: str) -> Command:
    """The command that sets a variable of NCCL for the program, on every host."""
    if managed_by(environment, "mpirun"):
        return run("mpirun", "-x", INTERFACES(assignment), PROGRAM)
    return run("export", INTERFACES(assignment))


def _where(environment: Environment) -> str:
    if managed_by(environment, "mpirun"):
        return "In your own mpirun command, put it in place of any other value, and leave the rest as it is."
    if seen(environment, _FAULT, "detail-ray"):
        return (
            "Ray starts the workers, so set it before ray start on every node, wherever that is started (or in "
            "ray.init: runtime_env={'env_vars': {'NCCL_SOCKET_IFNAME': ...}}); an export next to the script does not "
            "reach them."
        )
    return "Set it wherever the program is started, on every host."


def by_gids(environment: Environment) -> Remedy | None:
    """The card or the index that show_gids names, where the text holds its output; None elsewhere."""
    gids = seen(environment, _FAULT, "detail-gid")
    cards = sorted({message.values["card"] for message in gids})
    indexes = {message.values["index"] for message in gids}
    if not cards:
        return None
    if named(seen(environment, _FAULT, "ibv"), "reason") == "No such device":
        return Remedy(
            f"NCCL takes cards that this container does not own: show_gids lists only {', '.join(cards)} with an "
            "address here, and the others belong to other containers. In every container, let NCCL use the cards that "
            "show_gids lists there. Their names can differ, so set it in each container, wherever the ranks are "
            "started (NCCL also reads it from /etc/nccl.conf), and not with mpirun -x.",
            (run("export", INTERFACES(f"NCCL_IB_HCA={','.join(cards)}")),),
        )
    if len(indexes) != 1:
        return None
    index = indexes.pop()
    mpi = managed_by(environment, "mpirun")
    return Remedy(
        f"Over RoCE, this NCCL takes GID index 0, which has no address that both hosts reach: index {index} is the one "
        f"that show_gids lists as v2 with an IPv4 address ({', '.join(cards)}). Set it for all ranks"
        + (" (in your own mpirun command, before the program)" if mpi else ", wherever the program is started")
        + ". Run show_gids on the other hosts, too: the index must mean the same there.",
        (
            run("mpirun", "-x", SAFE_WORD(f"NCCL_IB_GID_INDEX={index}"), PROGRAM)
            if mpi
            else export("NCCL_IB_GID_INDEX", NUMBER(index)),
        ),
    )
