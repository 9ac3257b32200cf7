"""The files with which a cluster's own scheduler collects: manifests for Kubernetes, scripts for Slurm.

All of them run the shell collector, so that nodes need no Python and no image of ours.
"""

from __future__ import annotations

from collections.abc import Mapping

from envkit.fleet.cluster import Manifests
from envkit.render.fleet_files import collector, fleet_template

_PATH = "/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin"
_DAY_PART_S = 21_600
_IDS_A_LINE = 4


def manifests(wanted: Manifests) -> str:
    """The YAML of a namespace, the collector, and the workload that runs it on each node."""
    pod = _pod(wanted)
    pieces = ["head", wanted.kind, *(["rights"] if wanted.rights else [])]
    marks = {"namespace": wanted.namespace, "collector": collector(), "pod": pod, "nodes": str(wanted.nodes)}
    return "".join(_filled(f"kubernetes/{piece}.yaml", marks) for piece in pieces)


def batch_script() -> str:
    """The script for sbatch."""
    return _filled("slurm.sh", {"collector": collector()})


def prolog() -> str:
    """The prolog. It asks the checks of GPUs and driver alone: somebody's Python stops nobody's job."""
    from envkit.checks.engine.registry import Layer, all_checks

    ids = [check.id for check in all_checks().values() if Layer.PCI <= check.layer <= Layer.HEALTH]
    lines = [" ".join(ids[start : start + _IDS_A_LINE]) for start in range(0, len(ids), _IDS_A_LINE)]
    return _filled("prolog.sh", {"checks": " \\\n    ".join(lines)})


def _pod(wanted: Manifests) -> str:
    """The template of a pod. Without a runtime class its device files are closed, so the driver is not asked."""
    label, _, value = wanted.selector.partition("=")
    asked = "asked" if wanted.runtime_class else "unasked"
    collect = f"env -i PATH={_PATH} HOME=/root chroot /host /bin/sh -s 60 {asked} </envkit/collect.sh"
    once = f"{collect}\nsleep 30 # so that no second pod is placed on this node"
    pause = f"sleep $(({_DAY_PART_S} + $(od -An -N2 -tu2 /dev/urandom) % 3600))"
    is_job = wanted.kind != "daemonset"
    return _filled(
        "kubernetes/pod.yaml",
        {
            "label": label,
            "value": value,
            "image": wanted.image,
            "runtime": f'runtimeClassName: "{wanted.runtime_class}"' if wanted.runtime_class else "",
            "affinity": fleet_template("kubernetes/affinity.yaml") if is_job else "",
            "restart": "Never" if is_job else "Always",
            "command": once if is_job else f"while :; do\n  {collect}\n  {pause}\ndone",
        },
    )


def _filled(name: str, marks: Mapping[str, str]) -> str:
    """The template with its marks replaced; each line of a text gets the indent of its mark."""
    lines = []
    for line in fleet_template(name).splitlines():
        mark = line.strip().strip("@")
        if line.strip() == f"@{mark}@" and mark in marks:
            indent = line[: len(line) - len(line.lstrip())]
            lines += [f"{indent}{part}" if part else "" for part in marks[mark].rstrip("\n").split("\n") if marks[mark]]
            continue
        for word, value in marks.items():
            line = line.replace(f"@{word}@", value)
        lines.append(line)
    return "\n".join(lines) + "\n"
