"""How each format of `envkit install` is read by what it is for: the script that it holds."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from pathlib import Path
from textwrap import indent
from typing import Any

import yaml


def cloud_config(text: str) -> dict[str, Any]:
    """The user data as cloud-init loads it."""
    assert text.startswith("#cloud-config\n")
    found: dict[str, Any] = yaml.safe_load(text)
    return found


def play(text: str) -> dict[str, Any]:
    """The playbook's play; what is marked as unsafe is a text that Ansible does not fill in."""

    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        """Of its own, so that other tests do not know the mark."""

    Loader.add_constructor("!unsafe", lambda loader, node: str(node.value))
    (found,) = yaml.load(text, Loader)  # noqa: S506 - a SafeLoader
    assert isinstance(found, dict)
    return found


def provisioners(text: str) -> list[dict[str, Any]]:
    """Those of the template, in order."""
    return [one["shell"] for one in json.loads(text)["build"]["provisioner"]]


def post_section(text: str) -> str:
    """The text of the %post section, as Anaconda's own parser reads the file."""
    from pykickstart.parser import KickstartParser
    from pykickstart.version import makeVersion

    parser = KickstartParser(makeVersion())
    parser.readKickstartFromString(text)
    (script,) = parser.handler.scripts
    assert script.interp == "/bin/bash" and script.errorOnFail and script.inChroot
    return str(script.script)


def _packed(text: str) -> str:
    (copied,) = [line for line in provisioners(text)[0]["inline"] if line.startswith("base64")]
    return base64.b64decode(copied.split("\n", 1)[1].removesuffix("END")).decode()


def _written_by_post(text: str) -> str:
    (found,) = re.findall(r"^cat >\S+ <<'ENVKIT_SCRIPT'\n(.*?)^ENVKIT_SCRIPT$", post_section(text), re.M | re.S)
    return str(found)


READERS: dict[str, Callable[[str], str]] = {
    "script": str,
    "cloud-init": lambda text: str(cloud_config(text)["write_files"][0]["content"]),
    "ansible": lambda text: str(play(text)["vars"]["envkit_script"]),
    "packer": _packed,
    "kickstart": _written_by_post,
}


def playing(text: str, folder: Path, script: str) -> str:
    """The playbook for this machine, with another script and directory, and no other user; this machine stays up."""
    rebooted = f'ansible.builtin.command:\n        argv: ["touch", "{folder}/rebooted"]\n      changed_when: false'
    for pattern, new in (
        (r"(!unsafe \|\n)(?: {6}.*\n|\n)+", r"\g<1>" + indent(script, " " * 6).replace("\\", r"\\")),
        (r"become: true", "become: false\n  connection: local"),
        (r" and ansible_connection .*", " and false"),  # a reboot is a file here, which this machine can make
        (r'"/root/envkit"', f'"{folder}/scripts"'),
        (r"ansible\.builtin\.reboot:\n.*", rebooted),
    ):
        text, found = re.subn(pattern, new, text)
        assert found == 1 or "reboot" in pattern
    return text
