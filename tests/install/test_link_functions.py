"""/usr/local/cuda where update-alternatives runs it: one more choice, and the link stays where it leads."""

from __future__ import annotations

from pathlib import Path

import pytest

from envkit.base.settings import Mirrors
from envkit.install.options import ScriptOptions
from tests.install.plans import plan, scripted
from tests.install.shell import call

# What `update-alternatives --display cuda` prints: Debian's, and Red Hat's with a family.
DEBIAN = """cuda - auto mode
  link best version is /usr/local/cuda-12.0
  link currently points to /usr/local/cuda-12.0
  link cuda is /usr/local/cuda
/usr/local/cuda-11.8 - priority 118
/usr/local/cuda-12.0 - priority {best}
"""
RED_HAT = """cuda - status is auto.
 link currently points to /usr/local/cuda-12.0
/usr/local/cuda-11.8 - priority 118
/usr/local/cuda-12.0 - family toolkit priority {best}
Current `best' version is /usr/local/cuda-12.0.
"""


@pytest.mark.parametrize("text", [DEBIAN, RED_HAT])
@pytest.mark.parametrize(
    ("best", "leads", "priority"),
    [(120, True, 119), (124, True, 123), (130, True, 124), (120, False, 124), (130, False, 131)],
)
def test_the_new_choice_ranks_below_the_one_that_is_in_use(
    tmp_path: Path, text: str, best: int, leads: bool, priority: int
) -> None:
    script = scripted(plan("12.4", os_id=None), ScriptOptions(), Mirrors())
    body = (
        f'update-alternatives() {{ if [[ $1 == --display ]]; then cat {tmp_path}/display; else echo "$*"; fi; }}\n'
        f"alternative_is_missing() {{ :; }}\nlink_leads_somewhere() {{ {'true' if leads else 'false'}; }}\n"
        "LOG_FILE=/dev/stdout CURRENT_STEP=link\nlink_toolkit"
    )
    (tmp_path / "display").write_text(text.format(best=best))
    done = call(script, body, tmp_path)
    assert f"--install /usr/local/cuda cuda /usr/local/cuda-12.4 {priority}\n" in done.stdout, done
