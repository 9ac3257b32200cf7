"""Other distributions' minimal roots: their own bash and tools, packages installed from their archives and removed."""

from __future__ import annotations

from pathlib import Path

import pytest

from envkit.install.options import ScriptOptions
from tests.engine.engine import Engine
from tests.install.conftest import StandIns
from tests.install.machine import Machine, machine
from tests.install.plans import mirrors_to, plan, scripted, with_stand_ins
from tests.install.server import Behavior

pytestmark = [pytest.mark.docker, pytest.mark.network]


@pytest.mark.parametrize(
    ("os_id", "release"), [("ubuntu16.04", "9.0.176"), ("ubuntu22.04", "12.4.1"), ("debian12", "12.4.1")]
)
def test_a_minimal_system_gets_what_it_lacks_and_gives_it_back(
    engine: Engine,
    stand_ins: StandIns,
    server: tuple[str, Behavior],
    os_id: str,
    release: str,
    tmp_path: Path,
) -> None:
    name = f"{os_id[:6]}:{os_id[6:]}"
    original = plan(release, os_id=os_id)
    found = with_stand_ins(original, stand_ins[1][release])
    with machine(engine, engine.stand_in(name), tmp_path) as target:
        target.put(scripted(found, ScriptOptions(), mirrors_to(server[0])))
        before = _state(target)
        done = target.install()
        assert done.exit_code == 0, done.stderr
        assert done.states["prerequisites"] == "done"
        assert done.verdicts["toolkit"] == "ok"
        assert target.install().changed_nothing
        back = target.install("--rollback")
        assert back.exit_code == 0, back.stderr
        assert _state(target) == before


def _state(target: Machine) -> str:
    """Installed packages, and every path that is not a package manager's own record."""
    return target.sh(
        "dpkg-query -W -f '${binary:Package} ${Version} ${db:Status-Abbrev}\\n' | grep -v ' rc ';"
        "find /usr/local /etc/ld.so.conf.d /etc/profile.d /opt -printf '%p %y %m %u:%g %l\\n' | sort;"
        "ls /var/lib/envkit 2>/dev/null || true"
    )
