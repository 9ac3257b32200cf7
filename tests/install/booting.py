"""A whole script on a machine that reboots in play: its steps are stand-ins, its records, lock and units are real."""

from __future__ import annotations

import json
import os
import re
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from envkit._startup.records import replace
from envkit.base.settings import Mirrors
from envkit.install.options import ScriptOptions
from tests.install.plans import plan, scripted

# `systemctl` does what matters here: a unit that is enabled has a link, and a reboot is another boot.
PLAY = """
HERE={folder}
UNIT_DIR=$HERE/units
check_machine() {{ :; }}
check_for_driver() {{ :; }}
find_package_manager() {{ echo apt; }}
boot_id() {{ cat "$HERE/boot"; }}
systemctl() {{
  echo "$*" >>"$HERE/systemctl"
  case "$1" in
    enable) mkdir -p "$UNIT_DIR/multi-user.target.wants" && ln -sf "../$2" "$UNIT_DIR/multi-user.target.wants/$2" ;;
    reboot) echo another >"$HERE/boot" ;;
  esac
}}
step_is_done() {{ [[ $1 != driver && $1 != verify || -f $HERE/done-$1 ]]; }}
step_do() {{
  [[ $1 == driver ]] || {{ : >"$HERE/done-$1"; return 0; }}
  {driver}
  : >"$HERE/done-driver"
}}
"""
# The driver's step: what it does in each boot.
ASKS_ONCE = 'if [[ $(boot_id) == first ]]; then reboot_needed driver "it is installed"; fi'
ASKS_AGAIN = 'reboot_needed driver "it is installed"'
ASKS_SOMEBODY = 'reboot_needed driver "a key has to be enrolled" by-hand'
FAILS_THEN = f'{ASKS_ONCE}; fail 11 "its module does not load"'


@dataclass(frozen=True)
class Ran:
    """A run that has ended."""

    code: int
    out: str
    err: str

    @property
    def result(self) -> dict[str, Any]:
        """What the script printed last."""
        found: dict[str, Any] = json.loads(self.out)
        return found

    @property
    def events(self) -> list[dict[str, Any]]:
        """Its lines of --progress json."""
        return [json.loads(line) for line in self.out.splitlines()]


@cache
def _script() -> str:
    found = plan("12.4", os_id="ubuntu24.04", gpus=("8.6",), with_driver=True)
    found = replace(found, choice=replace(found.choice, needs_toolkit=False, cudnn=None))
    return scripted(found, ScriptOptions(with_driver=True), Mirrors())


class Booting:
    """A folder that plays the machine."""

    def __init__(self, folder: Path, driver: str = ASKS_ONCE) -> None:
        """It has booted for the first time, and its driver's step does this."""
        self.folder = folder
        (folder / "boot").write_text("first\n")
        (folder / "units").mkdir()
        (folder / "root/run/systemd/system").mkdir(parents=True)
        play = PLAY.format(folder=folder, driver=driver)
        self.script = folder / "install.sh"
        self.script.write_text(_script().replace('main "$@"', play + 'main "$@"'))
        self.variables = {
            "ENVKIT_STATE_DIR": str(folder / "state"),
            "ENVKIT_LOG_DIR": str(folder / "log"),
            "ENVKIT_SYSROOT": str(folder / "root"),
            "HOME": str(folder),
            "PATH": os.environ["PATH"],
        }

    def run(self, *words: str, text: str = "", **variables: str) -> Ran:
        """The script with these options; `-s` takes it from `text`."""
        return self._start(["bash", *(words if words[:1] == ("-s",) else (str(self.script), *words))], text, variables)

    def boot(self) -> Ran | None:
        """What the unit starts at a boot, with as little around it as systemd gives; None where no unit is enabled."""
        if not self.armed:
            return None
        (command,) = re.findall(r"^ExecStart=(.*)$", self.unit.read_text(), re.M)
        done = subprocess.run(command.split(), env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, cwd="/")
        return Ran(done.returncode, done.stdout, done.stderr)

    def _start(self, command: list[str], text: str, variables: dict[str, str]) -> Ran:
        done = subprocess.run(
            command, input=text, env={**self.variables, **variables}, capture_output=True, text=True, cwd=self.folder
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    @property
    def unit(self) -> Path:
        """The unit's file, there or not."""
        (mark,) = re.findall(r"^PLAN_ID=\S*-([0-9a-f]{8})$", _script(), re.M)
        return self.folder / f"units/envkit-continue-{mark}.service"

    @property
    def armed(self) -> bool:
        """Whether the next boot starts it."""
        return (self.unit.parent / "multi-user.target.wants" / self.unit.name).is_symlink() and self.unit.exists()

    @property
    def reboots(self) -> int:
        """How often the machine was told to boot."""
        file = self.folder / "systemctl"
        return file.read_text().split("\n").count("reboot") if file.exists() else 0

    @property
    def kept(self) -> list[str]:
        """What is left of the way to go on."""
        left = [self.folder.glob(f"state/*/{name}*") for name in ("continue", "install.sh")]
        return sorted(path.name for paths in (*left, (self.folder / "units").rglob("*.service")) for path in paths)
