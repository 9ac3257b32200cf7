"""`envkit install`: an install script for the plan, run here or bundled for a machine without a network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from envkit.cli.options import mirrors_from, request_from, request_options
from envkit.cli.output import say, write_output

if TYPE_CHECKING:
    from envkit.base.settings import Mirrors
    from envkit.install.options import ScriptOptions
    from envkit.solver.model import NoPlan, Plan
    from envkit.solver.request import Request


@click.command(
    epilog="""\b
Examples:
  envkit install --cuda 9.0 --framework pytorch -o install.sh
  envkit install --framework tensorflow --run
  envkit install --cuda 12.4 --os ubuntu22.04 --target any --bundle ./bundle
  envkit install --cuda 12.8 --gpu "GeForce RTX 5090" --with-driver
  envkit install --with-driver --no-toolkit"""
)
@request_options
@click.option("--with-driver", is_flag=True, help="Install the driver too, if it is missing or too old.")
@click.option("--driver-runfile", metavar="FILE_OR_URL", help="Driver runfile to fall back to; needs --with-driver.")
@click.option("--toolkit-path", metavar="DIR", help="Where the toolkit goes; /usr/local/cuda-X.Y by default.")
@click.option(
    "--toolkit/--no-toolkit",
    "toolkit",
    default=None,
    help="Force or leave out the CUDA toolkit; what needs it must find it.",
)
@click.option("--symlink/--no-symlink", default=True, help="Set /usr/local/cuda when it is absent.")
@click.option("--samples", is_flag=True, help="Install the code samples too, where the release has them.")
@click.option(
    "--env", "env_dir", metavar="DIR", help="Where the framework goes; /opt/envkit/NAME-VERSION-cuXYZ by default."
)
@click.option("--accept-eula/--no-accept-eula", default=True, help="Accept NVIDIA's EULA in the script, or let it ask.")
@click.option("--run", "run_here", is_flag=True, help="Run the script here, after showing the plan and asking.")
@click.option("--yes", is_flag=True, help="With --run: do not ask.")
@click.option("--bundle", metavar="DIR", help="Fetch everything into DIR, for the script's --offline DIR.")
def install(run_here: bool, yes: bool, bundle: str | None, **options: Any) -> int:
    """Print an unattended install script (bash) for the plan; --run executes it.

    \b
    stdout holds the script alone; the plan goes to stderr. The script needs
    no Python, can be read, run twice, resumed, verified and undone.
    Windows: use WSL2. Jetson: sudo apt-get install nvidia-jetpack
    """
    from envkit._startup.records import replace
    from envkit.install.environment import for_script
    from envkit.solver.model import NoPlan
    from envkit.solver.solve import resolve
    from envkit.tables import Matrix

    _check_usage(options, run_here, yes)
    matrix = Matrix.load()
    request = _completed(request_from(options, matrix), options)
    mirrors = mirrors_from(options)
    plan = resolve(request, matrix)
    if not isinstance(plan, NoPlan):
        plan = _told(plan, options)
        if options["toolkit"] is False:
            plan = replace(plan, choice=replace(plan.choice, needs_toolkit=False))
        plan = for_script(plan)
    if options["as_json"]:
        from envkit.cli.resolve import plan_json

        write_output(plan_json(plan), options["output"])
        return 1 if isinstance(plan, NoPlan) else 0
    _show(plan)
    if isinstance(plan, NoPlan):
        return 1
    return _deliver(plan, _script_options(options), mirrors, options["output"], run_here, yes, bundle)


def _check_usage(options: dict[str, Any], run_here: bool, yes: bool) -> None:
    from envkit.base.errors import RequestError

    if options["driver_runfile"] and not options["with_driver"]:
        raise RequestError("--driver-runfile: needs --with-driver.", "The driver is left alone without it.")
    if options["toolkit"] is False and not options["frameworks"] and not options["with_driver"]:
        raise RequestError(
            "--no-toolkit: without --framework or --with-driver nothing is left to install.",
            "Give one of them, or leave --no-toolkit out.",
        )
    if run_here and options["target"] != "this":
        raise RequestError("--run: installs on this machine, so --target must be this.", "Leave --target out.")
    for name, path in (("--toolkit-path", options["toolkit_path"]), ("--env", options["env_dir"])):
        if path is not None and not path.startswith("/"):
            raise RequestError(
                f"{name}: {path} is relative, but the script may run elsewhere.", f"Give a whole path: {name} /..."
            )
        if path is not None and _is_the_systems(path):
            raise RequestError(f"{name}: {path} is a folder of the system.", f"Name one of its own: {name} /opt/NAME")
    if yes and not run_here:
        raise RequestError("--yes: answers what --run asks.", "Give --run too, or leave it out.")


def _is_the_systems(path: str) -> bool:
    """Whether a folder is one of the first of the file tree, which hold far more than an install lays there."""
    import os.path

    parts = [part for part in os.path.normpath(path).split("/") if part]
    return len(parts) < 2 or (parts[0] in ("usr", "var") and len(parts) == 2)


def _completed(request: Request, options: dict[str, Any]) -> Request:
    """The toolkit is wanted when its version was asked for, or when there is nothing else to install."""
    from envkit._startup.records import replace

    wanted = options["toolkit"]
    if wanted is None:
        wanted = request.cuda is not None or not request.frameworks
    return replace(request, needs_toolkit=wanted, with_driver=options["with_driver"])


def _told(plan: Plan, options: dict[str, Any]) -> Plan:
    """The plan with a warning where --no-toolkit leaves out what its frameworks load from the system."""
    from envkit._startup.records import replace
    from envkit.compat import needs_system_cuda

    choice = plan.choice
    if options["toolkit"] is not False or not choice.needs_toolkit or not choice.builds:
        return plan
    parts = f"CUDA {choice.cuda}" + (f" and cuDNN {choice.cudnn_version}" if choice.cudnn_version else "")
    loading = [f"{build.framework} {build.version}" for build in choice.builds if needs_system_cuda(build)]
    load = "loads" if len(loading) == 1 else "load"
    warning = (
        f"--no-toolkit: {' and '.join(loading)} {load} {parts} from the system, which the script does not install;"
        " it must be there, known to the loader (ldconfig -p), or the verification fails"
    )
    return replace(plan, warnings=(*plan.warnings, warning))


def _show(plan: Plan | NoPlan) -> None:
    from envkit.render.plan_text import plan_summary

    say(plan_summary(plan))


def _script_options(options: dict[str, Any]) -> ScriptOptions:
    import os

    from envkit.install.options import ScriptOptions

    names = ("with_driver", "accept_eula", "toolkit_path", "symlink", "samples", "env_dir")
    runfile = options["driver_runfile"]
    if runfile and "://" not in runfile:
        runfile = os.path.abspath(runfile)  # a file that lies here: the script is started from any folder
    return ScriptOptions(driver_runfile=runfile, **{name: options[name] for name in names})


def _deliver(
    plan: Plan,
    options: ScriptOptions,
    mirrors: Mirrors,
    output: str | None,
    run_here: bool,
    yes: bool,
    bundle: str | None,
) -> int:
    from envkit.install.steps import installation
    from envkit.render.script import render_installation

    work = installation(plan, options, mirrors)
    for note in work.notes:
        say(f"note: {note}")
    script = render_installation(work, plan, options)
    if bundle is not None:
        from envkit.cli.install_bundle import make_bundle

        make_bundle(work, script, bundle)
        return 0
    if run_here:
        from envkit.cli.install_run import run_here as run

        return run(script, work, yes)
    write_output(script, output, executable=True, told=f"Read it, then run: sudo bash {output}")
    return 0
