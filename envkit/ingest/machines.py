"""Several machines in what somebody pastes: hosts named alike in the prompts of one text, files about different GPUs.

Each is diagnosed on its own: what one host says of its driver is no news of another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from envkit._startup.regex import regex
from envkit.ingest.answers import PROMPT
from envkit.ingest.sessions import login_of, machine_of

if TYPE_CHECKING:
    from envkit.model import Environment

Named = tuple[str, str]  # the name of a file, '' for the only one, and its text
Parse = Callable[[Sequence[Named]], "Environment"]

_LOOKED_AT = regex(r"\b(?:nvidia-smi|dmesg|journalctl|lspci|lsmod|dkms|modprobe|nvcc)\b")  # the host's GPU
_TOGETHER = regex(  # hosts that take part in one job or cluster are one case
    r"(?i)\b(?:mpirun|mpiexec|torchrun|deepspeed|accelerate launch|kubectl|kubelet|microk8s|k3s"
    r"|srun|sbatch|scontrol|slurm|MASTER_ADDR|nnodes|NCCL|qm|pct|pvesh|lxc|incus|virsh|xl)\b"
)
_DIGITS = regex(r"\d+")
_LONGEST_PROMPT = 300  # characters of a line that can hold one
_HEAD = 200_000  # characters of a file that are enough to tell which GPU it is about
_MAKER = regex(r"(?i)\b(?:nvidia|geforce|corporation|graphics)\b|[\[\]()]")


def machines_in(texts: Sequence[Named], parse: Parse) -> list[tuple[str, list[Named]]]:
    """The texts by machine, with a word for each where there are several; nearly always it is one."""
    if len(texts) == 1:
        hosts = _hosts_in(texts[0][1])
        return [(host, [(texts[0][0], part)]) for host, part in hosts.items()] or [("", list(texts))]
    groups: list[tuple[set[str], list[Named]]] = []
    for name, text in texts:
        models = _models(parse([(name, text[:_HEAD])]))
        own = next((group for group in groups if not _differ(group[0], models)), None) if models else None
        own = own or (groups[-1] if groups and not models else None)
        if own is None:
            groups.append((models, [(name, text)]))
        else:
            own[0].update(models)
            own[1].append((name, text))
    return [(named[0][0] if len(groups) > 1 else "", named) for _, named in groups]


def _hosts_in(text: str) -> dict[str, str]:
    """The text of each host whose prompts stand in it, by its first login: the same lines, those of the others empty.

    None where it is of one machine, or of hosts that take part in one job.
    """
    lines = text.split("\n")
    prompts = {number: host for number, line in enumerate(lines) if (host := _host_of(line))}
    looked = {host for number, host in prompts.items() if _LOOKED_AT.search(lines[number])}
    hosts = list(dict.fromkeys(host for host in prompts.values() if host in looked))
    alike = {_DIGITS.sub("#", host) for host in prompts.values()}
    if len(hosts) < 2 or len(alike) != 1 or _TOGETHER.search(text):
        return {}
    owners, current = list[str](), ""
    for number in range(len(lines)):
        current = prompts.get(number, current)
        owners.append(current)
    logins = {prompts[number]: login_of(lines[number]) for number in sorted(prompts, reverse=True)}
    return {
        logins[host]: "\n".join(
            line if owner == host or (not owner and not _of_others(line, host, hosts)) else ""
            for line, owner in zip(lines, owners, strict=True)
        )
        for host in hosts
    }


def _host_of(line: str) -> str:
    if "@" not in line or len(line) > _LONGEST_PROMPT or not PROMPT.match(line):
        return ""
    return machine_of(line)


def _of_others(line: str, host: str, hosts: Sequence[str]) -> bool:
    """Whether a line above all prompts names other hosts and not this one."""
    return host not in line and any(other in line for other in hosts)


def _models(environment: Environment) -> set[str]:
    names = [gpu.name for gpu in environment.gpus.value or ()] + [gpu.name for gpu in environment.pci_gpus.value or ()]
    return {" ".join(_MAKER.sub(" ", name).lower().split()) for name in names if name}


def _differ(some: set[str], others: set[str]) -> bool:
    """Whether no model of one is named in the other, not in part either: `rtx 3090` is in `rtx 3090 ti`."""
    return bool(some and others) and not any(one in other or other in one for one in some for other in others)
