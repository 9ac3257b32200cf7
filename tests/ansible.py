"""Ansible for tests: the one of the machine, else one that is installed for them."""

from __future__ import annotations

import os
import shutil
import subprocess
import venv

import pytest


@pytest.fixture(scope="session")
def ansible(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of `ansible-playbook`; without one, the package index is needed."""
    found = shutil.which("ansible-playbook")
    if found:
        return os.path.dirname(found)
    folder = tmp_path_factory.mktemp("ansible")
    venv.create(folder, with_pip=True)
    subprocess.run([folder / "bin" / "python", "-m", "pip", "install", "--quiet", "ansible-core"], check=True)
    return str(folder / "bin")
