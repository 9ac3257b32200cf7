"""`envkit install --os windows`: a PowerShell script, or why WSL 2 is the way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.base.errors import RequestError
from envkit.cli.output import say, say_plan, write_output
from envkit.render.installs import FIRST

if TYPE_CHECKING:
    from envkit.base.settings import Mirrors
    from envkit.cli.install import InstallOptions
    from envkit.solver.model import NoPlan, Plan


def deliver_windows(plan: Plan | NoPlan, options: InstallOptions, mirrors: Mirrors) -> int:
    """Prints the script; gives 1 where there is no plan. Raises RequestError for what only works on Linux."""
    from envkit.install.trust import check_addresses
    from envkit.install.windows import windows_installation, wsl_words
    from envkit.render.powershell import render_powershell
    from envkit.solver.model import NoPlan

    if isinstance(plan, NoPlan):
        say_plan(plan)
        say(f"Note: WSL 2: {wsl_words(plan)}")
        return 1
    check_addresses(options.script, mirrors)
    linux = {"--run": options.run_here, "--bundle": options.bundle is not None, "--format": options.form != FIRST}
    for option, given in linux.items():
        if given:
            raise RequestError(f"{option}: the PowerShell script for Windows has no such option.", "Omit it.")
    work = windows_installation(plan, options.script, mirrors)
    say_plan(plan)
    for note in work.notes:
        say(f"Note: {note}")
    script = render_powershell(work, options.script)
    output = options.plan.output
    write_output(script, output, told=f"Read it, then run: powershell -ExecutionPolicy Bypass -File {output}")
    return 0
