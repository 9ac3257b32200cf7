"""A probe of a host that wants everything: started by the tests in a process of its own."""

from __future__ import annotations

import time

from envkit.host.apart import given_host


def main() -> None:
    """Write a line, and then take all the time or all the memory."""
    about = given_host()
    print("first", flush=True)
    if about["variables"] == {"WANTS": "time"}:
        time.sleep(60)
    print(len(bytes(1 << 30)))
