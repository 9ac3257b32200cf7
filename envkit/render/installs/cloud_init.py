"""User data for cloud-init, which runs the script once, at the first boot of an instance."""

from __future__ import annotations

from json import dumps

from envkit.install.model import Installation
from envkit.install.unattended import DIRECTORY, MODE, script_path
from envkit.render.installs import about, comments
from envkit.render.yaml_text import literal

USE = "Pass it as the user data of the instances."
_LIMIT_KB = 16  # of Amazon EC2, before it is compressed or after


def limit(text: str) -> str:
    """What to do where clouds may refuse the text; empty for a short one."""
    from gzip import compress

    size, packed = (len(data) // 1024 for data in (text.encode(), compress(text.encode())))
    if size < _LIMIT_KB:
        return ""
    told = f"The user data is {size} kB, {packed} kB after gzip -9. Amazon EC2 accepts at most {_LIMIT_KB} kB:"
    if packed < _LIMIT_KB:
        return f"{told} there, pass the compressed file."
    return f'{told} there, serve the file over HTTPS and pass the line "#include URL" instead.'


def written(work: Installation, script: str) -> str:
    """The #cloud-config."""
    path = script_path(work)
    lines = [
        "#cloud-config",
        *comments(*about(work), "Logs: /var/log/cloud-init-output.log and /var/log/envkit/"),
        "write_files:",
        f"  - path: {dumps(path)}",
        '    owner: "root:root"',
        f'    permissions: "{MODE}"',
        f"    content: {literal(script, 6)}runcmd:",
        f"  - {dumps(['chmod', MODE, DIRECTORY])}",
        f"  - {dumps(['bash', path, *(['--reboot'] if work.may_reboot else [])])}",
    ]
    return "\n".join(lines) + "\n"
