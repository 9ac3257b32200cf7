"""Damaged and oversized files cost their own fact, little time and little memory; nothing goes round in circles."""

from __future__ import annotations

import json
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from envkit.base.errors import LimitError, SourceError
from envkit.capture.recorded import Answers
from envkit.cli.environment import recorded
from envkit.host.base import Told
from envkit.host.local import LocalHost
from envkit.model import Problem, PythonEnvironment, found
from envkit.model.facts_json import to_json
from envkit.probe import os_release, packages, pythons
from envkit.probe.collect import collect
from envkit.probe.distributions import distributions_in
from envkit.probe.elf import read_elf
from envkit.probe.kernel import log_tail
from envkit.probe.ld_cache import ld_cache
from envkit.probe.symbols import missing_torch_symbols
from envkit.probe.text import texts_of
from tests.fakes.memory_host import MemoryHost
from tests.programs import require
from tests.security.limits import envkit_measured

NAME = "_ZN3c106symbolE"
SECTION = struct.Struct("<IIQQQQIIQQ")


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Of the processor's time: what else runs on the machine takes none of it."""
    began = time.process_time()
    yield
    assert time.process_time() - began < seconds


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """An extension that needs a symbol, and a library that exports it."""
    require("gcc")
    folder = tmp_path_factory.mktemp("elf")
    (folder / "library.c").write_text(f'int puts(const char *); int {NAME}(void) {{ return puts("x"); }}\n')
    (folder / "extension.c").write_text(f"int {NAME}(void); int call(void) {{ return {NAME}(); }}\n")
    for name in ("library", "extension"):
        command: list[str | Path] = ["gcc", "-shared", "-fPIC", "-o", folder / f"{name}.so", folder / f"{name}.c"]
        subprocess.run([*command, "-Wl,--hash-style=gnu", "-Wl,-z,undefs"], check=True)
    return folder / "library.so", folder / "extension.so"


def _section(data: bytes, kind: int) -> tuple[int, int]:
    """Where the header of the section of that type is, and where the section itself begins."""
    start, size, count = struct.unpack_from("<Q", data, 40)[0], *struct.unpack_from("<HH", data, 58)
    for index in range(count):
        header = SECTION.unpack_from(data, start + index * size)
        if header[1] == kind:
            return start + index * size, header[4]
    raise LookupError(kind)


def _missing(libraries: tuple[Path, Path], folder: Path, data: bytes) -> tuple[str, ...]:
    (folder / "libtorch_cpu.so").write_bytes(data)
    return missing_torch_symbols(LocalHost(), str(libraries[1]), str(folder))


def test_the_sound_library_exports_the_symbol(libraries: tuple[Path, Path], tmp_path: Path) -> None:
    data = libraries[0].read_bytes()
    assert _missing(libraries, tmp_path, data) == ()
    assert _missing(libraries, tmp_path, data.replace(NAME.encode(), b"_ZN3c106another")) == (NAME,)


@pytest.mark.parametrize("damage", ["endless chain", "no bloom filter", "no buckets", "beyond the file"])
def test_a_damaged_hash_table_ends(libraries: tuple[Path, Path], tmp_path: Path, damage: str) -> None:
    data = bytearray(libraries[0].read_bytes())
    header, start = _section(bytes(data), 0x6FFFFFF6)
    buckets, first, bloom, _ = struct.unpack_from("<IIII", data, start)
    if damage == "endless chain":  # no entry is the last, and what follows the file counts as none
        after = start + 16 + 8 * bloom
        data[start + 16 : after] = b"\xff" * (8 * bloom)
        for index in range(buckets):
            struct.pack_into("<I", data, after + 4 * index, first)
        data[after + 4 * buckets :] = bytes(len(data) - after - 4 * buckets)
        headers = struct.unpack_from("<Q", data, 40)[0]
        data[headers:] = libraries[0].read_bytes()[headers:]
    elif damage == "no bloom filter":
        struct.pack_into("<I", data, start + 8, 0)
    elif damage == "no buckets":
        struct.pack_into("<I", data, start, 0)
    else:
        struct.pack_into("<Q", data, header + 24, 1 << 40)
    with within(2.0):
        assert set(_missing(libraries, tmp_path, bytes(data))) <= {NAME}


def test_a_library_of_holes_and_a_billion_sections_ends(libraries: tuple[Path, Path], tmp_path: Path) -> None:
    """64 GB that take no room on disk; the number of sections is in the first section's size."""
    data = bytearray(libraries[0].read_bytes())
    start = struct.unpack_from("<Q", data, 40)[0]
    struct.pack_into("<H", data, 60, 0)
    struct.pack_into("<Q", data, start + 32, 10**9)
    path = tmp_path / "libtorch_cuda.so"
    path.write_bytes(data)
    with path.open("r+b") as stream:
        stream.truncate(64 << 30)
    with within(1.0):
        assert read_elf(LocalHost(), str(path)).problem is Problem.UNPARSABLE


def test_versions_that_follow_each_other_in_a_circle_end(libraries: tuple[Path, Path], tmp_path: Path) -> None:
    data = bytearray(libraries[0].read_bytes())
    header, start = _section(bytes(data), 0x6FFFFFFE)
    struct.pack_into("<I", data, header + 44, 0xFFFFFFFF)  # so many needed versions …
    struct.pack_into("<I", data, start + 12, 0)  # … and the next one is always this one
    path = tmp_path / "circle.so"
    path.write_bytes(data)
    with within(10.0):
        assert read_elf(LocalHost(), str(path)).problem is Problem.UNPARSABLE


def test_a_million_empty_lines_of_package_sources_take_no_time() -> None:
    host = MemoryHost({"/etc/apt/sources.list": "\n" * 1_000_000, "/etc/apt/sources.list.d/a.list": " " * 999_999})
    with within(2.0):
        assert packages.probe(host)["repositories"].get() == ()


def test_repositories_are_found_in_lines_that_are_no_comment() -> None:
    text = "# deb https://x.nvidia.com/a /\n  #deb https://y.nvidia.com/b /\ndeb [x] https://z.nvidia.com/cuda /\n"
    assert packages.probe(MemoryHost({"/etc/apt/sources.list": text}))["repositories"].get() == (
        "https://z.nvidia.com/cuda",
    )


MANY = {  # files of settings, any number of which are read
    "/etc/modprobe.d/{}.conf": "options nvidia NVreg_A={}\n",
    "/etc/cdi/{}.yaml": "kind: nvidia.com/gpu\nhostPath: /usr/lib/libcuda.so.{}\n",
    "/etc/apt/sources.list.d/{}.list": "deb https://developer.download.nvidia.com/{} /\n",
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", MANY)
def test_many_large_files_of_settings_take_little_memory(name: str, tmp_path: Path) -> None:
    folder = (tmp_path / name[1:]).parent
    folder.mkdir(parents=True)
    line = MANY[name].format(*["1"] * 2)
    for index in range(400):
        (tmp_path / name[1:].format(index)).write_text(line * (900_000 // len(line)))
    done = envkit_measured("doctor", "--root", str(tmp_path))
    assert done.exit_code in (0, 1) and done.megabytes < 250 and done.seconds < 40, done


def test_files_of_one_kind_are_read_until_they_are_more_than_a_machine_has() -> None:
    host = MemoryHost({f"/etc/{index}": "x" * 1_000_000 for index in range(20)})
    texts = dict(texts_of(host, [f"/etc/{index}" for index in range(20)]))
    assert 4_000_000 < sum(map(len, texts.values())) < 10_000_000


def test_a_fact_has_no_more_items_than_that_of_any_machine() -> None:
    """Thousands of compilers, or of addresses of NVIDIA's software, would be judged and told one by one."""
    host = MemoryHost(
        {"/etc/apt/sources.list": "".join(f"deb https://x/nvidia/{number} /\n" for number in range(20_000))}
    )
    fact = collect(host).repositories
    assert len(fact.get()) == 10_000 and fact.detail == "the first 10000 of 20000"


@pytest.mark.thorough
@pytest.mark.parametrize("words", [("doctor", "-v", "--root"), ("doctor", "--json", "--root"), ("probe", "--root")])
def test_a_full_tree_is_told_within_limits(words: tuple[str, ...], tmp_path: Path) -> None:
    for folder in ("usr/bin", "etc/apt/sources.list.d", "usr/lib/x86_64-linux-gnu"):
        (tmp_path / folder).mkdir(parents=True)
    for number in range(30_000):
        (tmp_path / f"usr/bin/gcc-{number}").touch()
        (tmp_path / f"usr/lib/x86_64-linux-gnu/libcuda.so.{number}").touch()
    lines = [f"deb https://x/nvidia/{number} /\n" for number in range(200_000)]
    (tmp_path / "etc/apt/sources.list").write_text("".join(lines))
    done = envkit_measured(*words, str(tmp_path))
    assert done.exit_code in (0, 1, 2) and done.megabytes < 300 and done.processor_seconds < 14, done


def test_a_build_log_is_reported_in_lines_that_somebody_could_read() -> None:
    """The end of a log without line ends was all of it."""
    assert len(log_tail("x" * 4_000_000)) < 10_000
    assert log_tail("one\ntwo") == "one\ntwo"


def test_a_large_package_database_is_read_stanza_by_stanza() -> None:
    stanza = "Package: libfoo{}\nStatus: install ok installed\nVersion: 1\n\n"
    text = (
        "".join(stanza.format(index) for index in range(200_000))
        + "Package: cuda-toolkit\nStatus: install ok installed"
    )
    with within(5.0):
        (package,) = packages.packages(MemoryHost({"/var/lib/dpkg/status": text})).get()
    assert package.name == "cuda-toolkit"


def test_a_library_that_repeats_its_banner_without_a_version_takes_no_time() -> None:
    with within(5.0):
        glibc = os_release.glibc(MemoryHost({"/lib64/libc.so.6": b"GNU C Library " * 500_000}))
    assert not glibc.known


def test_a_loader_cache_without_ends_takes_no_time() -> None:
    entries = struct.pack("<iIIIQ", 0x0303, 0, 0, 0, 0) * 200_000
    header = b"glibc-ld.so.cache1.1" + struct.pack("<I", 200_000) + bytes(24)
    with within(3.0):
        ld_cache(MemoryHost({"/etc/ld.so.cache": header + entries.replace(b"\0", b"\1")}), "x86_64")


def test_a_text_beyond_reason_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "big.txt"
    with path.open("wb") as stream:
        stream.truncate(3 << 30)
    with within(1.0), pytest.raises(LimitError, match="longer than 24 MiB"):
        recorded(str(path))
    with within(1.0), pytest.raises(SourceError, match="a device"):
        recorded("/dev/zero")


def test_a_probe_apart_gives_what_it_had(tmp_path: Path) -> None:
    """When its time is over, and when it wants more memory than a probe needs."""
    slow, greedy = LocalHost({"WANTS": "time"}), LocalHost({"WANTS": "memory"})
    with within(5.0):
        late, large = slow.apart("tests.security.greedy", 1.0).get(), greedy.apart("tests.security.greedy", 10.0).get()
    assert (late.lines, late.cut_off) == (("first",), "not ended within 1 s")
    assert (large.lines, large.cut_off) == (("first",), "MemoryError")


def test_the_environments_that_were_done_are_kept() -> None:
    ignored = json.dumps({"ignored": "a version is ignored"})
    environment = json.dumps(to_json(PythonEnvironment("/opt/venv", None, "/opt/venv/bin/python")))
    kept = pythons._read(Told((ignored, environment), "not ended within 4 s"))
    assert [item.prefix for item in kept.get()] == ["/opt/venv"]
    assert kept.detail == "a version is ignored; not all environments: not ended within 4 s"
    assert pythons._read(Told((ignored,), "not ended within 4 s")).problem is Problem.TIMED_OUT
    whole = pythons._read(Told((ignored, environment, '{"end": true}')))
    assert (len(whole.get()), whole.detail) == (1, "a version is ignored")


def test_an_environment_with_60000_packages_is_read_as_far_as_one_can_be() -> None:
    names = tuple(f"nvidia_x{index}-1.0.dist-info" for index in range(60_000))
    host = MemoryHost({}, answers=Answers(lists={"/site": found(names, "/site")}))
    with within(5.0):
        kept = list(distributions_in(host, "/site"))
    assert len(kept) == 10_000
