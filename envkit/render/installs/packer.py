"""A Packer template in JSON whose provisioners run the script on the machine that becomes the image."""

from __future__ import annotations

from base64 import encodebytes
from shlex import quote

from envkit.base.json_text import dumps
from envkit.install.model import Installation
from envkit.install.unattended import DIRECTORY, MODE, script_path
from envkit.render.installs import about

USE = (
    "Replace the source with your own, then build the image:\n"
    "  packer build {file}\n"
    "As written, it installs on a running machine:\n"
    "  packer build -var host=ADDRESS {file}"
)
_AS_ROOT = 'if [ "$(id -u)" != 0 ]; then exec sudo -n sh -e "$0"; fi'
# The connection breaks while the last command waits, which is expected.
_OR_REBOOT = "{ code=$?; [ $code = 8 ] || exit $code; systemctl reboot; sleep 600; }"


def written(work: Installation, script: str) -> str:
    """The template: variables, a source, and a build of one or two provisioners."""
    path = quote(script_path(work))
    run = f"bash {path}"
    provisioners = [_shell(*_copied(path, script), f"{run} || {_OR_REBOOT}" if work.may_reboot else run)]
    if work.may_reboot:
        provisioners[0]["expect_disconnect"] = True
        provisioners[0]["skip_clean"] = True  # else Packer waits for a machine that is going down
        provisioners.append(_shell(run, pause_before="30s", start_retry_timeout="30m"))
    return (
        dumps(
            {
                "//": " ".join(about(work)),
                "variable": {
                    "host": {"type": "string", "default": "localhost"},
                    "user": {"type": "string", "default": "root"},
                },
                "source": {
                    "null": {
                        "machine": {"ssh_host": "${var.host}", "ssh_username": "${var.user}", "ssh_agent_auth": True}
                    }
                },
                "build": {
                    "sources": ["source.null.machine"],
                    "provisioner": [{"shell": provisioner} for provisioner in provisioners],
                },
            }
        )
        + "\n"
    )


def _copied(path: str, script: str) -> tuple[str, ...]:
    """Commands that lay the script down. As base64: Packer reads its own marks in what is there as it is."""
    text = encodebytes(script.encode()).decode()
    return (
        "umask 077",
        f"mkdir -p {DIRECTORY}",
        f"chmod {MODE} {DIRECTORY}",
        f"base64 -d >{path} <<'END'\n{text}END",
        f"chmod {MODE} {path}",
        "umask 022",
    )


def _shell(*lines: str, **options: object) -> dict[str, object]:
    return {"inline": [_AS_ROOT, *lines], **options}
