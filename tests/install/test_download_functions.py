"""Downloads, function by function: what the log may hold."""

from __future__ import annotations

from pathlib import Path

from envkit.install.options import ScriptOptions
from envkit.render.script import render_script
from envkit.settings import Mirrors
from tests.install.plans import plan
from tests.install.shell import call

_ADDRESS = "https://user:secret@mirror.lan/file"
_WGET = """
command() { [[ $2 != curl ]] && builtin command "$@"; }
wget() { echo "URL:$_ADDRESS [1/1] -> file"; return 8; }
_ADDRESS={address}; transfer {address} {folder}/file || echo "code $?"
"""


def test_what_wget_says_is_logged_without_the_password(tmp_path: Path) -> None:
    text = render_script(plan("12.4.1"), ScriptOptions(), Mirrors())
    done = call(text, _WGET.replace("{address}", _ADDRESS).replace("{folder}", str(tmp_path)), tmp_path)
    assert done.stdout == "code 22\n", done
    log = (tmp_path / "log.txt").read_text()
    assert "mirror.lan/file [1/1]" in log and "secret" not in log + done.stderr
