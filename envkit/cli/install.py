"""`envkit install`: an install script for the plan, run here or bundled for a machine without a network."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from envkit._startup.records import record, replace
from envkit.base.errors import RequestError
from envkit.base.platforms import WINDOWS
from envkit.cli.complete import complete_components
from envkit.cli.options import (
    PlanOptions,
    mirrors_from,
    names_of_list,
    plan_options,
    request_from,
    request_options,
    taken,
)
from envkit.cli.output import say, say_plan, write_output
from envkit.render.installs import FIRST, formats

if TYPE_CHECKING:
    from collections.abc import Iterator

    from envkit.base.settings import Mirrors
    from envkit.install.options import ScriptOptions
    from envkit.solver.model import Plan


@record
class InstallOptions:
    """The options of one call."""

    plan: PlanOptions
    script: ScriptOptions
    toolkit: bool | None
    run_here: bool
    yes: bool
    bundle: str | None
    form: str


@click.command(
    epilog="""\b
Examples:
  envkit install --cuda 9.0 --framework pytorch -o install.sh
  envkit install --framework tensorflow --run
  envkit install --cuda 12.4 --os ubuntu22.04 --target any --bundle ./bundle
  envkit install --cuda 12.4 --components nvcc,cudart,cublas -o install.sh
  envkit install --cuda 12.8 --gpu "GeForce RTX 5090" --with-driver
  envkit install --cuda 12.4 --modules /opt/modulefiles -o install.sh
  envkit install --os windows --target any --framework pytorch -o install.ps1
  envkit install --with-driver --no-toolkit
  envkit install --with-driver --no-toolkit --gpu 8.6 --nvidia-repository
  envkit install --framework pytorch --os ubuntu22.04 --target any --format cloud-init"""
)
@request_options
@click.option("--with-driver", is_flag=True, help="Also install the driver if it is missing or too old.")
@click.option(
    "--driver-runfile",
    metavar="FILE_OR_URL",
    help="Driver .run file to use when no package is available; requires --with-driver.",
)
@click.option(
    "--nvidia-repository",
    is_flag=True,
    help="Add NVIDIA's package repository (Debian and Ubuntu, x86_64) and install the driver from it; requires "
    "--with-driver.",
)
@click.option("--toolkit-path", metavar="DIR", help="Toolkit install directory. [default: /usr/local/cuda-X.Y]")
@click.option(
    "--toolkit/--no-toolkit",
    "toolkit",
    default=None,
    help="Whether to install the CUDA toolkit. With --no-toolkit, a framework that needs one uses the toolkit already "
    "on the machine. [default: only if needed]",
)
@click.option(
    "--symlink/--no-symlink",
    default=True,
    help="Whether to create the /usr/local/cuda symlink if it does not exist. [default: create]",
)
@click.option(
    "--components",
    metavar="NAME,...",
    callback=names_of_list,
    shell_complete=complete_components,
    help="Install only these parts of the toolkit and their dependencies (CUDA 11.8 and newer), e.g. "
    "nvcc,cudart,cublas.",
)
@click.option("--samples", is_flag=True, help="Also install the CUDA samples, for releases that include them.")
@click.option(
    "--env", "env_dir", metavar="DIR", help="Virtual environment directory. [default: /opt/envkit/NAME-VERSION-cuXYZ]"
)
@click.option(
    "--modules", metavar="DIR", help="Also write modulefiles for Environment Modules and Lmod to this directory."
)
@click.option(
    "--accept-eula/--no-accept-eula",
    default=True,
    help="Accept NVIDIA's EULA in the script (default), or have the script ask you to accept it.",
)
@click.option(
    "--accept-unverified",
    is_flag=True,
    help="Accept files without a published checksum; the script stops otherwise.",
)
@click.option(
    "--allow-http",
    is_flag=True,
    help="Allow plain-HTTP mirrors and URLs; Python packages from them are not verified.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(formats()),
    default=FIRST,
    show_default=True,
    help="The plain script, or a file for a provisioning tool: cloud-init user data, an Ansible "
    "playbook, a Packer template, or a %post section for a kickstart file.",
)
@click.option(
    "--run",
    "run_here",
    is_flag=True,
    help="Run the script on this machine after showing the plan and asking for confirmation.",
)
@click.option("--yes", is_flag=True, help="With --run: do not ask for confirmation.")
@click.option(
    "--bundle",
    metavar="DIR",
    help="Download the files and Python packages that the script needs into DIR, for use with the script's "
    "--offline DIR option. System packages and driver packages are not included.",
)
def install(**given: Any) -> int:
    """Print an unattended install script (bash) for the chosen versions; --run executes it.

    \b
    Only the script goes to stdout; the plan goes to stderr. The script is
    plain bash, needs no Python, is idempotent and resumable, and supports
    --verify-only and --rollback. "bash install.sh --help" lists its options.
    With --os windows, the output is a PowerShell script or, if that is not
    possible, an explanation of why you should use WSL 2. On Jetson, run
    "sudo apt-get update && sudo apt-get install nvidia-jetpack" instead.
    """
    from envkit.install.plan import script_plan
    from envkit.solver.model import NoPlan
    from envkit.tables import Matrix

    options = _options(given)
    matrix = Matrix.load()
    request, mirrors = request_from(options.plan, matrix), mirrors_from(options.plan)
    plan = script_plan(
        request,
        matrix,
        with_driver=options.script.with_driver,
        toolkit=options.toolkit,
        components=options.script.components,
        cuda_of_wheels=options.plan.project is not None and options.plan.words.cuda is None,
        bundled=options.bundle is not None,
    )
    if options.plan.as_json:
        from envkit.cli.resolve import exit_code, plan_json

        write_output(plan_json(plan), options.plan.output)
        return exit_code(plan)
    if request.platform == WINDOWS:
        from envkit.cli.install_windows import deliver_windows

        return deliver_windows(plan, options, mirrors)
    if isinstance(plan, NoPlan):
        say_plan(plan)
        return 1
    return _deliver(plan, options, mirrors)


def _options(given: dict[str, Any]) -> InstallOptions:
    """The options as one record. Raises RequestError for a pair that contradicts itself."""
    from envkit.install.options import ScriptOptions, check_options

    options = InstallOptions(plan_options(given), taken(ScriptOptions, given), **given)
    check_options(options.script, windows=options.plan.words.os_id == WINDOWS)
    if options.toolkit is False and options.script.toolkit_path:
        raise RequestError("--toolkit-path: --no-toolkit installs no toolkit.", "Omit one of them.")
    if options.run_here and options.plan.target != "this":
        raise RequestError(
            '--run installs on this machine, so --target must be "this" (the default).', "Omit --target."
        )
    if options.form != FIRST:
        _refuse_beside_format(options)
    if options.yes and not options.run_here:
        raise RequestError("--yes: requires --run.", "Add --run, or omit --yes.")
    runfile = options.script.driver_runfile
    if runfile and "://" not in runfile:  # a file that lies here: the script is started from any folder
        return replace(options, script=replace(options.script, driver_runfile=os.path.abspath(runfile)))
    return options


def _refuse_beside_format(options: InstallOptions) -> None:
    """Raises RequestError for an option that does something else than write a file of that format."""
    others = (("--json", options.plan.as_json), ("--run", options.run_here), ("--bundle", options.bundle is not None))
    for name, given in others:
        if given:
            raise RequestError(f"{name} cannot be combined with --format {options.form}.", "Omit one of them.")


def _deliver(plan: Plan, options: InstallOptions, mirrors: Mirrors) -> int:
    from envkit.install.steps import installation
    from envkit.install.trust import check_trust
    from envkit.render.script import render_script

    work = installation(plan, options.script, mirrors)
    check_trust(work, options.script, mirrors)
    if options.form != FIRST:
        from envkit.install.unattended import check_unattended

        check_unattended(work, options.script, options.form)
    say_plan(plan)
    for note in (*work.notes, *_mirror_notes(plan, options)):
        say(f"Note: {note}")
    script = render_script(work, options.script)
    if options.bundle is not None:
        from envkit.cli.install_bundle import make_bundle

        make_bundle(work, script, options.bundle, options.script.accept_unverified)
        return 0
    if options.run_here:
        from envkit.cli.install_run import run_here

        return run_here(script, work, options.yes)
    from envkit.render.installs import formatted

    output = options.plan.output
    made = formatted(work, script, options.form, output)
    if made.note:
        say(f"Note: {made.note}")
    write_output(made.text, output, executable=options.form == FIRST, told=made.use)
    return 0


def _mirror_notes(plan: Plan, options: InstallOptions) -> Iterator[str]:
    """Which of the mirrors that this call names the script does not ask, and the hosts that it does."""
    from envkit.base.settings import Mirrors, named_hosts
    from envkit.install.steps import installation

    given = [text.partition("=")[0] for text in options.plan.mirrors]
    if not given:
        return
    hosts = named_hosts(repr(installation(plan, options.script, Mirrors()).steps))
    for name in dict.fromkeys(given):
        if name in ("apt", "yum"):
            yield f"--mirror {name}: a script does not change where the machine gets its system packages."
        elif name not in hosts:
            used = ", ".join(hosts) or "none"
            yield f"--mirror {name}: nothing in this plan is downloaded from that host. It uses: {used}."
