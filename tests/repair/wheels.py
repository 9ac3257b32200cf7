"""Tiny wheels with the metadata and the few files of real ones, in a folder that pip takes for its index."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import quote


def wheel(folder: Path, name: str, version: str, requires: Sequence[str] = (), files: Mapping[str, str] = {}) -> Path:  # noqa: B006 - read only
    """A wheel of the project with these requirements and files, in an index of that folder."""
    project = name.replace("-", "_")
    info = f"{project}-{version}.dist-info"
    held = {
        **(files or {f"{project}/__init__.py": f"__version__ = {version!r}\n"}),
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        + "".join(f"Requires-Dist: {line}\n" for line in requires),
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{path},,{len(text)}\n" for path, text in held.items()) + f"{info}/RECORD,,\n"
    place = folder / name
    place.mkdir(parents=True, exist_ok=True)
    path = place / f"{project}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name_, text in {**held, f"{info}/RECORD": record}.items():
            archive.writestr(name_, text)
    links = "".join(f'<a href="{quote(item.name)}">{item.name}</a>\n' for item in sorted(place.glob("*.whl")))
    (place / "index.html").write_text(f"<!DOCTYPE html><html><body>\n{links}</body></html>\n")
    return path


def cudnn(folder: Path, cuda: str, version: str, *parts: str) -> Path:
    """A wheel of cuDNN with these of its libraries, as large as its release is long."""
    files = {f"nvidia/cudnn/lib/libcudnn{part}.so.9": f"{cuda} {version}" for part in parts}
    return wheel(folder, f"nvidia-cudnn-cu{cuda}", version, (), files)


def torch(folder: Path, version: str, cuda: str | None, requires: Sequence[str] = ()) -> Path:
    """A wheel that says of itself what torch's says."""
    told = f"__version__ = {version!r}\ncuda = {cuda!r}\ngit_version = 'x'\nhip = None\n"
    return wheel(folder, "torch", version, requires, {"torch/__init__.py": "", "torch/version.py": told})


class Venv:
    """A virtual environment whose pip is that of this Python and knows the folder of wheels alone."""

    def __init__(self, prefix: Path, wheels: Path) -> None:
        self.prefix, self.wheels = prefix, wheels
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(prefix)], check=True)
        [site] = prefix.glob("lib/python3*/site-packages")
        import pip

        link = site / "pip"
        link.symlink_to(Path(pip.__file__).parent)  # pip, but not as an installed package
        self.python = str(prefix / "bin" / "python")

    def variables(self) -> dict[str, str]:
        """What makes it the active one, with the wheels as the only index."""
        return {
            "VIRTUAL_ENV": str(self.prefix),
            "PATH": f"{self.prefix}/bin:/usr/bin:/bin:/usr/sbin:/sbin",
            "PIP_INDEX_URL": f"file://{self.wheels}",
            "PIP_CONFIG_FILE": "/dev/null",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        }

    def install(self, *requirements: str) -> None:
        subprocess.run(
            [self.python, "-m", "pip", "install", "-q", "--no-deps", *requirements],
            check=True,
            env=self.variables(),
            capture_output=True,
        )

    def packages(self) -> dict[str, str]:
        """Name and release of what is installed."""
        [site] = self.prefix.glob("lib/python3*/site-packages")
        found = (path.name.removesuffix(".dist-info").split("-") for path in site.glob("*.dist-info"))
        return {name: version for name, version in found}
