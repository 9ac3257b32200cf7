"""The user data on a machine with the real cloud-init: the script is run at the first boot, and only then."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from envkit.install.options import ScriptOptions
from envkit.install.plan import for_script
from envkit.install.steps import installation
from envkit.render.installs import formatted
from envkit.render.script import render_script
from tests.engine.engine import Engine
from tests.install.conftest import Job
from tests.install.machine import PACKAGES, Machine, image, machine
from tests.install.plans import mirrors_to

pytestmark = [pytest.mark.docker, pytest.mark.thorough]
# The modules that the user data need; the others would set up keys, users, and the network of the machine that tests.
CONFIG = """\
datasource_list: [NoCloud]
network: {config: disabled}
cloud_init_modules: [write_files]
cloud_config_modules: [runcmd]
cloud_final_modules: [scripts_user]
"""
BOOT = """\
cloud-init init --local; cloud-init init
cloud-init modules --mode=config; cloud-init modules --mode=final >/job/output.log 2>&1
"""


@pytest.fixture
def instance(engine: Engine, tmp_path: Path) -> Iterator[Machine]:
    """A machine with cloud-init that has not booted yet."""
    name = image(engine, name="envkit-test/cloud-init-debian12", packages=f"{PACKAGES} cloud-init")
    with machine(engine, name, tmp_path / "job") as made:
        yield made


def test_the_first_boot_installs_and_the_second_one_does_not(instance: Machine, new: Job) -> None:
    options = ScriptOptions(accept_unverified=True)
    work = installation(for_script(new.plan), options, mirrors_to(new.base))
    script = render_script(work, options).replace("SPACE_CHECK=1", "SPACE_CHECK=0")  # a stand-in is small
    instance.put(formatted(work, script, "cloud-init", None).text, "user-data")
    instance.put(CONFIG, "cloud.cfg")
    seed = "/var/lib/cloud/seed/nocloud"
    instance.sh(
        f"mkdir -p {seed}; cp /job/user-data {seed}/; echo 'instance-id: one' >{seed}/meta-data\n"
        "cp /job/cloud.cfg /etc/cloud/cloud.cfg"
    )
    instance.sh(BOOT)
    said = (instance.folder / "output.log").read_text()
    assert f"Done: {work.plan_id} is installed." in said and '"status": "ok"' in said, said
    assert instance.sh("stat -c '%a %U' /root/envkit /root/envkit/*").splitlines() == ["700 root", "700 root"]
    assert instance.sh(f"cat /root/envkit/{work.plan_id}.sh") == script
    assert instance.sh("cat /usr/local/cuda-12.4/version.txt").startswith("CUDA Version 12.4.1")
    logs = instance.sh("ls /var/log/envkit")
    instance.sh(BOOT)
    assert instance.sh("ls /var/log/envkit") == logs
