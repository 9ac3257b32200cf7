"""Builds wheel and sdist, installs the wheel into an empty environment, and uses it from `/`."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def run(*command: str, expect: tuple[int, ...] = (0,)) -> str:
    """What the command wrote on stdout, run from `/`. Ends the program when its exit status is not expected."""
    done = subprocess.run(command, cwd="/", capture_output=True, text=True, check=False)
    if done.returncode not in expect:
        sys.exit(f"{' '.join(command)} gave {done.returncode}:\n{done.stdout}\n{done.stderr}")
    return done.stdout


def main() -> None:
    """Exit status 0 when the installed wheel does the main jobs."""
    with tempfile.TemporaryDirectory() as folder:
        run(sys.executable, "-m", "build", "--outdir", folder, str(ROOT))
        (wheel,) = Path(folder).glob("*.whl")
        (sdist,) = Path(folder).glob("*.tar.gz")
        venv.create(Path(folder) / "venv", with_pip=True)
        program = str(Path(folder) / "venv" / "bin" / "envkit")
        run(str(Path(program).with_name("python")), "-m", "pip", "install", "--quiet", str(wheel))
        report = json.loads(run(program, "doctor", "--json", expect=(0, 1)))
        assert report["schema"] == 1 and report["findings"], "the report is empty"
        script = run(
            program, "install", "--cuda", "9.0", "--framework", "pytorch", "--os", "ubuntu16.04", "--target", "any"
        )
        assert script.startswith("#!"), "the script has no shebang"
        assert run(program, "dockerfile", "--framework", "tensorflow", "--target", "any").startswith("# syntax=")
        assert "<html" in run(program, "doctor", "--format", "html", expect=(0, 1))
        print(
            f"{wheel.name} ({wheel.stat().st_size // 1024} KiB), {sdist.name}: doctor, install, dockerfile run from /"
        )


if __name__ == "__main__":
    main()
