"""A script that nobody watches: where it lies on its machine, and what it may not leave open."""

from __future__ import annotations

from envkit.base.errors import RequestError
from envkit.install.model import Installation, InstallDriver, InstallToolkit
from envkit.install.options import ScriptOptions

DIRECTORY = "/root/envkit"  # its mode is 0700, the script's too: what root runs nobody else may change or read
MODE = "0700"


def script_path(work: Installation) -> str:
    """The place of the script: plans do not overwrite each other's, and the same plan has the same one."""
    return f"{DIRECTORY}/{work.plan_id}.sh"


def check_unattended(work: Installation, options: ScriptOptions, form: str) -> None:
    """Raises RequestError for a script that would ask a question."""
    asks = any(isinstance(step, (InstallDriver, InstallToolkit)) for step in work.steps)
    if asks and not options.accept_eula:
        raise RequestError(
            f"--no-accept-eula: with --format {form}, nobody can answer when the script asks.",
            "Read the license and omit --no-accept-eula, or use --format script.",
        )
