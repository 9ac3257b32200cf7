"""What the commands on this machine's registry share: its plans, and the scripts that they keep."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from envkit.host.run_script import ScriptRun
    from envkit.install.registry import InstalledPlan


def all_plans() -> tuple[InstalledPlan, ...]:
    """The plans of this machine and of this user."""
    from envkit.host.registry import is_there, plan_folders
    from envkit.install.registry import installed_plans

    return installed_plans(plan_folders(), is_there)


def kept_script(plan: InstalledPlan) -> str:
    """The text of the script that a plan has kept. Raises EnvkitError where there is none that may be run."""
    from envkit.host import registry
    from envkit.install.registry import script_of

    return registry.kept_script(script_of(plan))


def run_kept(script: str, option: str, *, as_root: bool) -> ScriptRun:
    """Runs a script that a plan has kept, through sudo where root is needed; its lines are shown."""
    from envkit.cli.install_run import display
    from envkit.host.run_script import is_root, run_script

    with display() as tell:
        return run_script(script, [option], tell, sudo=as_root and not is_root())
