"""Downloads, function by function: what the log may hold, and what --offline needs before it begins."""

from __future__ import annotations

from pathlib import Path

import pytest

from envkit.base.settings import Mirrors
from envkit.install.options import ScriptOptions
from tests.install.plans import plan, scripted
from tests.install.shell import call

_ADDRESS = "https://user:secret@mirror.lan/file"
_WGET = """
command() { [[ $2 != curl ]] && builtin command "$@"; }
wget() { echo "URL:$_ADDRESS [1/1] -> file"; return 8; }
_ADDRESS={address}; transfer {address} {folder}/file || echo "code $?"
"""


def test_what_wget_says_is_logged_without_the_password(tmp_path: Path) -> None:
    text = scripted(plan("12.4.1"), ScriptOptions(), Mirrors())
    done = call(text, _WGET.replace("{address}", _ADDRESS).replace("{folder}", str(tmp_path)), tmp_path)
    assert done.stdout == "code 22\n", done
    log = (tmp_path / "log.txt").read_text()
    assert "mirror.lan/file [1/1]" in log and "secret" not in log + done.stderr


# A file of the bundle, by a link into another folder.
_LINKED = """
mkdir $OFFLINE_DIR/../away; mv $OFFLINE_DIR/cuda_* $OFFLINE_DIR/../away; ln -s $OFFLINE_DIR/../away/cuda_* $OFFLINE_DIR
chmod {above} $OFFLINE_DIR/../away; chmod {file} $OFFLINE_DIR/../away/*
"""
# A list with a line that no sha256sum wrote: what it names was never verified.
_UNREADABLE = ": >a.whl; : >b.whl; { sha256sum a.whl; echo 'abc  b.whl'; } >SHA256SUMS"


@pytest.mark.parametrize(
    ("cuda", "framework", "state", "code", "words"),
    [
        ("9.0", "pytorch", "PYTHON_READY=no", 5, "Python 3.7 comes from conda-forge here"),
        ("9.0", "pytorch", "", 5, "cannot be installed, because"),
        ("9.0", "pytorch", ": >torch.whl", 6, "has no SHA256SUMS to verify"),
        ("9.0", "pytorch", ": >a.whl; sha256sum a.whl >SHA256SUMS", 0, ""),
        (
            "9.0",
            "pytorch",
            ": >a.whl; sha256sum a.whl >SHA256SUMS; echo other >a.whl",
            6,
            "differs from the bundle as it was created",
        ),
        (
            "9.0",
            "pytorch",
            ": >a.whl; sha256sum a.whl >SHA256SUMS; : >a.tar.gz",
            6,
            "not in the bundle's list: a.tar.gz",
        ),
        ("9.0", "pytorch", ": >a.whl; sha256sum a.whl >SHA256SUMS; : >$'a.whl\\na.whl'", 6, "list: a.whl?a.whl"),
        ("9.0", "pytorch", ": >a.whl; sha256sum a.whl >SHA256SUMS; : >$'\\e[2Jb'", 6, "list: ?[2Jb"),
        ("9.0", "pytorch", _UNREADABLE, 6, "differs from the bundle as it was created"),
        ("12.4.1", None, "chmod 777 $OFFLINE_DIR", 3, "is writable by others: run chown"),
        ("12.4.1", None, "chmod 777 $OFFLINE_DIR/..", 3, "who can replace what is below it"),
        ("12.4.1", None, "chmod 1777 $OFFLINE_DIR/..", 0, ""),
        ("12.4.1", None, _LINKED.format(above=755, file=666), 3, "is writable by others: run chown"),
        ("12.4.1", None, _LINKED.format(above=777, file=644), 3, "who can replace what is below it"),
        ("12.4.1", None, _LINKED.format(above=755, file=644), 0, ""),
        ("12.4.1", None, "rm $OFFLINE_DIR/cuda_*", 5, "is not in"),
        ("12.4.1", None, "echo other >$(echo $OFFLINE_DIR/cuda_*)", 6, "wrong sha256 checksum"),
        ("12.4.1", None, "", 0, ""),
    ],
)
def test_what_the_offline_folder_lacks_is_reported_before_anything_changes(
    cuda: str, framework: str | None, state: str, code: int, words: str, tmp_path: Path
) -> None:
    found = plan(cuda, framework)
    text = scripted(found, ScriptOptions(), Mirrors())
    name = found.choice.runfiles[0].name
    body = f"""
    OFFLINE_DIR={tmp_path}/bundle; mkdir -p $OFFLINE_DIR/wheels; cd $OFFLINE_DIR/wheels
    for name in {name} {" ".join(row.name for row in found.choice.runfiles[1:])} micromamba-linux-64 \
      {found.choice.cudnn.archive if found.choice.cudnn else ""}; do echo right >$OFFLINE_DIR/$name; done
    PYTHON_READY=yes
    python_is_ready() {{ [[ $PYTHON_READY == yes ]]; }}
    pytorch_is_installed() {{ return 1; }}
    checksum_is_right() {{ grep -q right "$1"; }}
    {state}
    check_offline; echo checked
    """
    done = call(text, body, tmp_path)
    assert done.returncode == code and words in done.stderr, done
    assert ("checked" in done.stdout) is (code == 0)


def test_the_offline_folder_is_looked_at_by_the_first_check_of_the_machine() -> None:
    text = scripted(plan("12.4.1"), ScriptOptions(), Mirrors())
    check = text[text.index("check_machine() {") : text.index("check_offline() {")]
    assert "|| check_offline" in check
