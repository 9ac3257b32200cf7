"""The answers of an attended installation, as choices made beforehand."""

from __future__ import annotations

from envkit._startup.records import record


@record
class ScriptOptions:
    """What the script may do. The driver is left alone unless `with_driver`; paths of None are the usual ones."""

    with_driver: bool = False
    driver_runfile: str | None = None  # path or URL of a driver runfile to use instead of the bundled one
    accept_eula: bool = True  # False: the script asks on the terminal
    toolkit_path: str | None = None
    symlink: bool = True  # set /usr/local/cuda when it is absent
    samples: bool = False
    env_dir: str | None = None
