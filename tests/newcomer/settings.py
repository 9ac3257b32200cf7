"""How this machine reaches the network: what a bare distribution needs to be told for the time of a run."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from tests.engine.settings import ca_bundle

_HOST = "/run/host"  # where this machine's own files are seen
_CA, _PIP = f"{_HOST}/ca.crt", f"{_HOST}/pip.conf"
_NAMES = re.compile(r"PIP_\w+|\w+_PROXY", re.I)


def variables() -> dict[str, str]:
    """Environment variables for pip, TLS and proxies."""
    found = {name: value for name, value in os.environ.items() if _NAMES.fullmatch(name)}
    if ca_bundle():
        found.update(dict.fromkeys(("PIP_CERT", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"), _CA))
    if _pip_config():
        found["PIP_CONFIG_FILE"] = _PIP
    return found


def mounts() -> dict[str, Path]:
    """Files and folders of this machine, by the path where they have to be seen."""
    config, system = _pip_config(), Path("/etc/pip.conf")
    found = {path: Path(path) for path in ("/etc/resolv.conf", "/etc/hosts", "/etc/pip.conf")}
    found.update({target: place for target, place in ((_CA, ca_bundle()), (_PIP, config)) if place})
    said = [value for name, value in os.environ.items() if name.startswith("PIP_")]
    said += [file.read_text() for file in (config, system) if file and file.is_file()]
    # local wheels and indexes, given as paths or as file: addresses; an index's pages lead to files next to it
    for path in re.findall(r"(?:(?<=file://)|(?<![\w/:]))(/[^\s:=]+)", "\n".join(said)):
        folder = path.rstrip("/").removesuffix("/simple")
        if Path(folder).is_dir():
            found[folder] = Path(folder)
    return {target: place.resolve() for target, place in found.items() if place.exists()}


def _pip_config() -> Path | None:
    home = Path.home()
    places = (os.environ.get("PIP_CONFIG_FILE"), home / ".config/pip/pip.conf", home / ".pip/pip.conf")
    return next((Path(place) for place in places if place and Path(place).is_file()), None)


def apt_settings() -> str:
    """A file of apt's configuration: this machine's proxies and its CA bundle."""
    try:
        said = subprocess.run(["apt-config", "dump"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        said = ""
    proxies = re.findall(r"^Acquire::https?::Proxy\b.*\n", said, re.M)
    return "".join(proxies) + (f'Acquire::https::CAInfo "{_CA}";\n' if ca_bundle() else "")
