"""A %post section for Anaconda, which leaves the script and a unit that runs it at the machine's first boot."""

from __future__ import annotations

from envkit.base.errors import RequestError
from envkit.install.model import Installation
from envkit.install.unattended import DIRECTORY, MODE, script_path
from envkit.render.installs import about, comments

USE = "Add it to the kickstart file: %include {file}"
_MANAGERS = ("dnf", "yum")  # of the systems that Anaconda installs
_END = "ENVKIT_SCRIPT"  # no line of a script is this word


def written(work: Installation, script: str) -> str:
    """The section. Raises RequestError for a system that is not installed by Anaconda."""
    if work.os is not None and work.os.package_manager not in _MANAGERS:
        raise RequestError(
            f"--format kickstart: {work.os.os_id} does not install from kickstart files.",
            "Use --format cloud-init, or another --os.",
        )
    path, unit = script_path(work), f"envkit-install-{work.plan_id.rpartition('-')[2]}.service"
    lines = [
        *comments(
            *about(work),
            "It runs at the first boot, because a driver must be built for the running kernel. At that time, the "
            "machine needs a",
            "network connection: pass --onboot=yes to `network`, and do not disable NetworkManager-wait-online with "
            "`services`.",
            f"Logs: journalctl -u {unit}, and /var/log/envkit/",
        ),
        "%post --interpreter=/bin/bash --erroronfail --log=/root/envkit-post.log",
        "set -eu",
        f"mkdir -p {DIRECTORY}",
        f"chmod {MODE} {DIRECTORY}",
        f"cat >{path} <<'{_END}'",
        f"{script}{_END}",
        f"chmod {MODE} {path}",
        f"cat >/etc/systemd/system/{unit} <<'UNIT'",
        *_unit(work, path, unit),
        "UNIT",
        f"systemctl enable {unit}",
        "%end",
    ]
    return "\n".join(lines) + "\n"


def _unit(work: Installation, path: str, unit: str) -> list[str]:
    """The unit runs once, whatever comes of it: it is disabled first."""
    return [
        "[Unit]",
        f"Description=Install {work.plan_id} at the first boot",
        "Wants=network-online.target",
        "After=network-online.target",
        "Before=display-manager.service",
        "",
        "[Service]",
        "Type=oneshot",
        f"ExecStartPre=/usr/bin/systemctl --no-reload disable {unit}",
        f"ExecStart=/bin/bash {path}{' --reboot' if work.may_reboot else ''}",
        "",
        "[Install]",
        "WantedBy=multi-user.target",
    ]
