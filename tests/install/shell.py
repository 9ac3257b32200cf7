"""Single bash functions of a generated script, with stand-ins for what would touch the machine."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from pathlib import Path


def call(script: str, body: str, folder: Path, shell: tuple[str, ...] = ("bash",)) -> subprocess.CompletedProcess[str]:
    """Runs `body` after the script's functions, none of which has run: state, log and /sys lie in `folder`."""
    parts = re.sub(r'^(main "\$@"|trap .*)$', "", script, flags=re.M)
    text = f"""\
unset KUBERNETES_SERVICE_HOST # these tests may run in a pod
export ENVKIT_STATE_DIR={folder}/state ENVKIT_LOG_DIR={folder}/log ENVKIT_SYSROOT={folder}/root TMPDIR={folder}
{parts}
LOG_FILE={folder}/log.txt
SPACE_CHECK=0
PACKAGE_MANAGER=apt
mkdir -p "$STATE_DIR" "$CACHE_DIR"
WATCHED=({folder}/watched:1)
modprobe() {{ echo "modprobe $*"; }}
modinfo() {{ :; }}
list_packages() {{ :; }}
refresh_packages() {{ :; }}
install_packages() {{ echo "installs $*"; }}
package_candidate() {{ :; }}
installed_version() {{ :; }}
is_wsl() {{ return 1; }}
headers_are_here() {{ return 0; }}
runfile_driver() {{ return 1; }}
driver_on_disk() {{ cat {folder}/driver-on-disk 2>/dev/null || true; }}
initramfs_can_be_rebuilt() {{ return 0; }}
rebuild_initramfs() {{ echo "rebuilds the boot image"; }}
{body}
"""
    file = folder / "functions.sh"
    file.write_text(text)
    return subprocess.run(
        [*shell, str(file)], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60
    )


def keeping(script: str, *functions: str) -> str:
    """The script, whose `body` may say `eval "$kept"` to have these functions themselves instead of stand-ins."""
    return script.replace("run_all_steps() {", f"kept=$(declare -f {' '.join(functions)})\nrun_all_steps() {{", 1)


def dry_run(script: str, *words: str) -> subprocess.CompletedProcess[str]:
    """A dry run of the whole script, here: it changes nothing. Its state lies in a folder of its own.

    Every package of the distribution that it needs counts as installed: a bare machine has none, and is refused.
    """
    script = script.replace("\nmissing_packages() {", "\nmissing_packages() { :; }\nof_a_bare_machine() {", 1)
    command = ["bash", "-s", "--", "--dry-run", "--any-os", "--no-space-check", *words]
    with tempfile.TemporaryDirectory() as folder:
        own = {"ENVKIT_STATE_DIR": f"{folder}/state", "ENVKIT_LOG_DIR": f"{folder}/log"}
        return subprocess.run(
            command, input=script, env={**os.environ, **own}, capture_output=True, text=True, check=False
        )
