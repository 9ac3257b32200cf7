"""What ELF files say: real libraries built here, and files that are none."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest

from envkit.host.local import LocalHost
from envkit.model import Problem
from envkit.probe.elf import ElfReader, read_elf
from envkit.probe.symbols import missing_torch_symbols
from tests.probe.binaries import library
from tests.programs import require


def test_names_and_folders_are_those_that_were_linked(tmp_path: Path) -> None:
    need = library(tmp_path / "deep" / "libcudart.so.12")
    path = library(tmp_path / "libuser.so", needs=[need], search="$ORIGIN/deep:/opt/cuda/lib64")
    elf = read_elf(LocalHost(), str(path)).get()
    assert elf.soname == "libuser.so"
    assert elf.needed == ("libcudart.so.12",)
    assert elf.rpath == ("$ORIGIN/deep", "/opt/cuda/lib64")
    assert elf.runpath == ()


def test_runpath_is_no_rpath(tmp_path: Path) -> None:
    elf = read_elf(LocalHost(), str(library(tmp_path / "libuser.so", search="$ORIGIN/deep", runpath=True))).get()
    assert (elf.rpath, elf.runpath) == ((), ("$ORIGIN/deep",))


def test_symbol_versions_are_those_that_readelf_prints(tmp_path: Path) -> None:
    require("g++")
    (tmp_path / "main.cc").write_text(
        '#include <string>\n#include <cstdio>\nint main() { std::string s("x"); puts(s.c_str()); }\n'
    )
    subprocess.run(["g++", "-o", "main", "main.cc"], cwd=tmp_path, check=True)
    text = subprocess.run(["readelf", "-V", "main"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    elf = read_elf(LocalHost(), str(tmp_path / "main")).get()
    assert set(elf.symbol_versions) == {
        line.split("Name: ")[1].split()[0] for line in text.splitlines() if "Name: " in line
    }
    assert elf.highest_needed("GLIBC") is not None
    assert elf.highest_needed("GLIBCXX") is not None


def test_a_versioned_library_offers_its_highest() -> None:
    paths = LocalHost().glob("/usr/lib/*-linux-gnu/libstdc++.so.6")
    if not paths:
        pytest.skip("no libstdc++.so.6 in the usual folder")
    highest = read_elf(LocalHost(), paths[0]).get().highest_defined("GLIBCXX")
    assert highest is not None
    assert highest.major == 3


@pytest.mark.parametrize("content", [b"", b"#!/bin/sh\n", b"\x7fELF", b"\x7fELF\x02\x01\x01" + b"\0" * 40])
def test_what_is_no_elf_file_is_unparsable(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "libodd.so").write_bytes(content)
    assert read_elf(LocalHost(), str(tmp_path / "libodd.so")).problem is Problem.UNPARSABLE


def test_an_absent_file_is_absent(tmp_path: Path) -> None:
    assert read_elf(LocalHost(), str(tmp_path / "none.so")).problem is Problem.ABSENT


@pytest.mark.thorough
def test_damaged_files_never_raise(tmp_path: Path) -> None:
    whole = library(tmp_path / "libwhole.so", search="$ORIGIN").read_bytes()
    chance = random.Random(7)
    target = tmp_path / "libdamaged.so"
    for _ in range(150):
        data = bytearray(whole[: chance.randrange(1, len(whole))] if chance.random() < 0.3 else whole)
        for _ in range(chance.randrange(1, 12)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        target.write_bytes(bytes(data))
        answer = read_elf(LocalHost(), str(target))
        assert answer.known or answer.problem is Problem.UNPARSABLE
        missing_torch_symbols(LocalHost(), str(target), str(tmp_path))


def test_a_reader_parses_a_file_once(tmp_path: Path) -> None:
    path = library(tmp_path / "libonce.so")
    reader = ElfReader(LocalHost())
    first = reader.read(str(path))
    path.unlink()
    assert reader.read(str(path)) is first


def compiled(folder: Path, name: str, source: str, *flags: str) -> Path:
    require("g++")
    (folder / f"{name}.cc").write_text(source)
    path = folder / f"{name}.so"
    command = ["g++", "-shared", "-fPIC", "-Wl,--hash-style=gnu", "-o", str(path), str(folder / f"{name}.cc"), *flags]
    subprocess.run(command, check=True, capture_output=True)
    return path


def test_only_symbols_that_torch_lacks_are_missing(tmp_path: Path) -> None:
    many = "".join(f"int other{number}() {{ return {number}; }}\n" for number in range(500))
    compiled(tmp_path, "libc10", f"namespace c10 {{ int there(int x) {{ return x; }} {many} }}")
    source = (
        "namespace c10 { int there(int); int gone(long); int other42(); }\n"
        "int use() { return c10::there(1) + c10::gone(2) + c10::other42(); }"
    )
    extension = compiled(tmp_path, "extension", source)
    assert missing_torch_symbols(LocalHost(), str(extension), str(tmp_path)) == ("_ZN3c104goneEl",)


def test_without_torch_nothing_is_missing(tmp_path: Path) -> None:
    extension = compiled(tmp_path, "extension", "namespace c10 { int gone(long); } int use() { return c10::gone(2); }")
    assert missing_torch_symbols(LocalHost(), str(extension), str(tmp_path / "nowhere")) == ()
