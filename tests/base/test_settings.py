"""Mirrors replace hosts, and nothing else of a URL."""

from __future__ import annotations

from pathlib import Path

import pytest

from envkit.base.errors import RequestError, SourceError
from envkit.base.settings import Mirrors, named_hosts, plain_http_host
from envkit.cli.config import configured_mirrors


def test_a_mirror_replaces_scheme_and_host_and_keeps_the_path() -> None:
    mirrors = Mirrors({"vendor.example": "http://mirror.lan/nv/"})
    assert mirrors.rewrite("https://vendor.example/a/b.run?x=1") == "http://mirror.lan/nv/a/b.run?x=1"
    assert mirrors.rewrite("https://other.example/a") == "https://other.example/a"


def test_options_stand_above_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tmp_path / "envkit.toml"
    config.write_text('[mirrors]\nindex-url = "https://a/simple"\n[mirrors.hosts]\n"v.example" = "https://b"\n')
    monkeypatch.setenv("ENVKIT_CONFIG", str(config))
    mirrors = configured_mirrors().with_options(("apt=http://apt.lan", "w.example=http://w.lan"), "https://c/simple")
    assert mirrors.index_url == "https://c/simple"
    assert mirrors.apt == "http://apt.lan"
    assert mirrors.hosts == {"v.example": "https://b", "w.example": "http://w.lan"}


def test_no_file_is_no_mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ENVKIT_CONFIG", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert configured_mirrors() == Mirrors()


def test_a_file_that_is_named_has_to_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENVKIT_CONFIG", str(tmp_path / "none.toml"))
    with pytest.raises(SourceError, match="does not exist"):
        configured_mirrors()
    (tmp_path / "none.toml").touch()
    assert configured_mirrors() == Mirrors()


@pytest.mark.parametrize("text", ["", "host", "host=", "host=mirror.lan"])
def test_what_is_no_mirror_is_refused(text: str) -> None:
    with pytest.raises(RequestError, match="HOST=URL"):
        Mirrors().with_options((text,), None)


def test_a_broken_file_names_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tmp_path / "envkit.toml"
    config.write_text("[mirrors")
    monkeypatch.setenv("ENVKIT_CONFIG", str(config))
    with pytest.raises(SourceError, match="envkit.toml"):
        configured_mirrors()


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("http://mirror.lan/simple", "mirror.lan"),
        ("http://mirror.lan:8080", "mirror.lan"),
        ("http://me:word@mirror.lan:80/x", "mirror.lan"),
        ("http://[fd00::1]:80/x", "[fd00::1]"),
        ("http://localhost.example.org/x", "localhost.example.org"),
        ("http://127.0.0.1.example.org/x", "127.0.0.1.example.org"),
        ("http://localhost:8080/x", ""),
        ("http://127.0.0.1/x", ""),
        ("http://[::1]:80/x", ""),
        ("https://mirror.lan/simple", ""),
        ("file:///srv/wheels", ""),
        ("/srv/wheels", ""),
    ],
)
def test_what_goes_over_a_network_unprotected(address: str, host: str) -> None:
    assert plain_http_host(address) == host


def test_the_hosts_that_a_text_names() -> None:
    assert named_hosts("('https://a.lan/x', 'http://b.lan:80/', 'https://a.lan/y')") == ("a.lan", "b.lan:80")


@pytest.mark.parametrize("text", ["a = " + "[" * 20_000, "a = " + "{b = " * 20_000])
def test_a_file_of_depths_is_refused_in_one_line(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENVKIT_CONFIG", str(tmp_path / "envkit.toml"))
    (tmp_path / "envkit.toml").write_text(text)
    with pytest.raises(SourceError, match="config file"):
        configured_mirrors()
