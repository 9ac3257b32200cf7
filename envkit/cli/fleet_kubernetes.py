"""`envkit fleet kubernetes`: manifests that collect on every node with GPUs."""

from __future__ import annotations

import click

from envkit.cli.output import output_option
from envkit.fleet.cluster import KINDS, Manifests


@click.command(
    epilog="""\b
Examples:
  envkit fleet kubernetes -o collect.yaml
  envkit fleet kubernetes --kind job --nodes 8 --runtime-class nvidia -o collect.yaml
  envkit fleet kubernetes --image registry.example/busybox:stable --annotate"""
)
@click.option(
    "--kind",
    type=click.Choice(KINDS),
    default=KINDS[0],
    show_default=True,
    help="Kind of workload: continuous (daemonset), one-time (job), or nightly (cronjob).",
)
@click.option(
    "--nodes", type=click.IntRange(1, 5000), metavar="N", help="Number of nodes that a job or cronjob must reach."
)
@click.option(
    "--image", default=Manifests.image, show_default=True, metavar="IMAGE", help=("Container image with a shell.")
)
@click.option(
    "--namespace", default=Manifests.namespace, show_default=True, metavar="NAME", help=("Namespace of the workload.")
)
@click.option(
    "--selector",
    default=Manifests.selector,
    show_default=True,
    metavar="LABEL=VALUE",
    help=("Label of the nodes that have GPUs."),
)
@click.option(
    "--runtime-class",
    default="",
    metavar="NAME",
    help=(
        "Runtime class that gives pods the driver's device files, usually nvidia. Without one, the driver is not "
        "queried."
    ),
)
@click.option("--annotate", is_flag=True, help="Also write the RBAC rules that `fleet report --format kubectl` needs.")
@output_option
def kubernetes(
    kind: str,
    nodes: int | None,
    image: str,
    namespace: str,
    selector: str,
    runtime_class: str,
    annotate: bool,
    output: str | None,
) -> None:
    """Write Kubernetes manifests that collect the facts of every node with GPUs.

    They request no GPU. Save the pods' logs, one file for each node, and give them to `envkit fleet report`.
    """
    from envkit.cli.output import write_output
    from envkit.render.cluster import manifests

    wanted = Manifests(kind, image, namespace, selector, runtime_class, nodes, annotate).checked()
    write_output(manifests(wanted), output)
