"""Settings of this machine that builds, containers and bare distributions have to be told."""

from __future__ import annotations

import os
from pathlib import Path


def ca_bundle() -> Path | None:
    """The CA bundle that this host's own programs use."""
    for name in ("SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE"):
        if os.environ.get(name) and Path(os.environ[name]).is_file():
            return Path(os.environ[name])
    system = Path("/etc/ssl/certs/ca-certificates.crt")
    return system if system.is_file() else None
