"""`--components`: the named parts and what they need, from archives that NVIDIA's list names, and nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from envkit._startup.records import replace
from envkit.base.errors import EnvkitError, RequestError
from envkit.base.settings import Mirrors
from envkit.base.versions import Version, VersionSpec
from envkit.cli.install_bundle import make_bundle
from envkit.install.options import ScriptOptions
from envkit.install.parts import check_names, chosen_parts
from envkit.install.plan import script_plan
from envkit.install.registry import installed_plans, toolkit_user
from envkit.install.steps import installation
from envkit.render.script import render_script
from envkit.solver.model import Plan
from envkit.tables.installer import holds_for
from envkit.tables.loader import read
from envkit.tables.parts import PartListRow, PartRow, part_list, parts_of
from tests.cli.run import envkit
from tests.engine.engine import Engine
from tests.install.machine import machine, without_notes
from tests.install.part_archives import archives
from tests.install.plans import asked, matrix, mirrors_to
from tests.install.server import serving
from tests.install.shell import call, dry_run
from tests.install.test_identity import toolkit
from tests.install.test_registry import Written

HERE = ("--os", "debian12", "--target", "any")
CUDA = "12.4.1"


def planned(cuda: str, *names: str) -> Plan:
    found = script_plan(asked(cuda), matrix(), components=tuple(sorted(names)))
    assert isinstance(found, Plan)
    return found


def script(cuda: str, folder: Path | None, *names: str, base: str = "", checksum: str = "") -> str:
    """The script for these parts, into `folder`, its files from the server at `base`."""
    options = ScriptOptions(components=tuple(sorted(names)), toolkit_path=str(folder) if folder else None)
    text = render_script(installation(planned(cuda, *names), options, mirrors_to(base) if base else Mirrors()), options)
    row = part_list(Version.parse(cuda))
    assert row is not None and row.sha256 in text
    return text.replace(row.sha256, checksum or row.sha256)


def names_with_needs(cuda: str, *names: str) -> dict[str, bool]:
    found = next(row for row in matrix().toolkits if str(row.version) == cuda)
    return {part.name: part.asked for part in chosen_parts(found, "x86_64", names)}


def test_every_list_has_a_checksum_and_belongs_to_a_known_toolkit() -> None:
    known = {row.version for row in matrix().toolkits}
    for row in read(PartListRow):
        assert len(row.sha256) == 64 and {*row.sha256} <= {*"0123456789abcdef"}
        assert row.cuda in known and row.url.endswith(f"/{row.name}") and str(row.cuda) in row.name


@pytest.mark.parametrize("architecture", ["x86_64", "aarch64"])
def test_what_a_part_needs_is_there_where_the_part_is(architecture: str) -> None:
    for row in read(PartListRow):
        there = parts_of(row.cuda, architecture)
        assert {"nvcc", "cudart", "cublas"} <= {*there}
        for part in there.values():
            assert {*part.needs} <= {*there}, (row.cuda, part.part)


def test_no_release_has_two_rows_of_one_part() -> None:
    for release in read(PartListRow):
        names = [row.part for row in read(PartRow) if holds_for(row.cuda, release.cuda)]
        assert len(names) == len(set(names)), release.cuda


@pytest.mark.parametrize(
    ("cuda", "names", "wanted"),
    [
        ("12.4.1", ("nvcc",), {"nvcc": True, "cudart": False, "cccl": False}),
        ("13.0.0", ("nvcc",), {"nvcc": True, "cudart": False, "cccl": False, "crt": False, "nvvm": False}),
        ("13.0.0", ("cudart", "crt"), {"cudart": True, "cccl": False, "crt": True}),
        ("12.4.1", ("nvdisasm",), {"nvdisasm": True}),
        ("11.8.0", ("cusparse",), {"cusparse": True, "cudart": False, "cccl": False, "nvcc": False}),
        (
            "12.4.1",
            ("cusolver",),
            dict.fromkeys(("cublas", "cusparse", "nvjitlink", "cudart", "cccl", "nvcc"), False) | {"cusolver": True},
        ),
    ],
)
def test_a_part_provides_what_it_is_of_no_use_without(
    cuda: str, names: tuple[str, ...], wanted: dict[str, bool]
) -> None:
    assert names_with_needs(cuda, *names) == wanted


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("--cuda", "12.4", "--components", "nvc"), 2, "Did you mean nvcc"),
        (("--cuda", "12.4", "--components", "nvcc,$(id)"), 2, "unknown value '$(id)'"),
        (("--cuda", "12.4", "--components", "nvvm"), 2, "CUDA 12.4.1 for x86_64 has no part nvvm"),
        (("--cuda", "12.4", "--components", " , "), 2, "the list is empty"),
        (("--cuda", "12.4", "--components", "nvcc", "--samples"), 2, "Omit --samples"),
        (("--cuda", "12.4", "--components", "nvcc", "--no-toolkit"), 2, "--no-toolkit leaves out every part"),
        (("--cuda", "9.0", "--components", "nvcc"), 1, "runfile installs the whole toolkit or nothing"),
        (("--cuda", "11.4", "--components", "nvcc"), 1, "a release with parts: 11.8.0"),
        (("--cuda", "12.4", "--components", "cufile", "--arch", "aarch64"), 0, ""),
        (("--cuda", "12.4", "--components", "opencl", "--arch", "aarch64"), 2, "has no part opencl"),
    ],
)
def test_names_are_checked_before_anything_is_printed(words: tuple[str, ...], code: int, told: str) -> None:
    done = envkit("install", *HERE, *words)
    assert done.returncode == code, done.stderr
    assert told in done.stderr and bool(done.stdout) == (code == 0)


def test_the_order_of_the_names_makes_no_other_script() -> None:
    first, second = (
        envkit("install", *HERE, "--cuda", "12.4", "--components", names).stdout
        for names in ("nvcc,curand", "curand, NVCC")
    )
    assert first == second and "cuda-12.4.1-parts-" in first


def test_a_line_whose_last_release_has_no_known_list_gets_the_newest_that_has() -> None:
    done = envkit("install", *HERE, "--cuda", "12.2", "--components", "curand")
    assert done.returncode == 0 and "redistrib_12.2.0.json" in done.stdout
    assert "so 12.2.0 is installed" in " ".join(done.stderr.split())


def test_no_runfile_and_no_cudnn_come_with_parts_unless_asked() -> None:
    text = script(CUDA, None, "nvcc", "cublas")
    assert "_linux.run" not in text and "cudnn" not in text and "run_installer" not in text
    assert "cccl, cublas, cudart, nvcc" in text.split("set -Eeuo")[0]
    request = asked(CUDA)
    with_cudnn = script_plan(replace(request, cudnn=VersionSpec.parse("9")), matrix(), components=("nvcc",))
    assert isinstance(with_cudnn, Plan)
    options = ScriptOptions(components=("nvcc",))
    assert "install_cudnn" in render_script(installation(with_cudnn, options, Mirrors()), options)


@pytest.mark.parametrize("cuda", [str(row.cuda) for row in read(PartListRow)])
def test_scripts_of_every_release_parse(cuda: str) -> None:
    every = [*parts_of(Version.parse(cuda), "x86_64")]
    for names in (("nvcc", "cudart", "cublas"), ("nvdisasm",), every):
        text = script(cuda, None, *names)
        assert subprocess.run(["bash", "-n"], input=text, text=True, check=False).returncode == 0


@pytest.mark.thorough
@pytest.mark.parametrize(
    "words",
    [("nvcc",), ("nvdisasm,nvtx",), ("cufft",), ("nvcc", "--with-driver", "--gpu", "8.6"), ("nvcc", "--cudnn", "9")],
)
def test_scripts_pass_shellcheck(words: tuple[str, ...]) -> None:
    text = envkit("install", *HERE, "--cuda", "13.0", "--components", *words).stdout
    program = str(Path(sys.executable).with_name("shellcheck"))
    done = subprocess.run([program, "-s", "bash", "-"], input=text, text=True, capture_output=True, check=False)
    assert text and done.returncode == 0, done.stdout


def installed(
    folder: Path, cuda: str, *names: str, served: tuple[str, ...] | None = None, damaged: bool = False
) -> str:
    """Fetches, installs and verifies parts in `folder`, by the script's own functions; all that they say."""
    every = tuple(names_with_needs(cuda, *names))
    made = archives(folder / "served", cuda, every if served is None else served)
    with serving(folder / "served") as (base, behavior):
        text = script(cuda, folder / "cuda", *names, base=base, checksum=made.sha256)
        if damaged:
            file = next((folder / "served").glob("cuda_nvcc*.tar.xz"))
            file.write_bytes(file.read_bytes()[:-1] + b"?")
        body = """
SYSTEM_WIDE=0
for CURRENT_STEP in fetch-toolkit fetch-parts toolkit; do
  ! step_is_done "$CURRENT_STEP" || echo "early: $CURRENT_STEP"
  step_do "$CURRENT_STEP"
  step_is_done "$CURRENT_STEP" || echo "missing: $CURRENT_STEP"
done
journal toolkit done
verify_toolkit; verify_libraries; write_manifest; verify_manifest
step_is_done fetch-parts && step_is_done toolkit && echo twice
"""
        done = call(text, body, folder)
    return f"{done.returncode} {done.stdout} {done.stderr}"


def test_parts_are_fetched_and_laid_together(tmp_path: Path) -> None:
    (tmp_path / "served").mkdir()
    said = installed(tmp_path, CUDA, "nvcc", "cublas")
    here = tmp_path / "cuda"
    assert said.startswith("0 ") and "twice" in said and "early" not in said and "missing" not in said, said
    assert "ok   toolkit: CUDA 12.4.1 with only cccl cublas cudart nvcc" in said
    assert "ok   libraries: all resolve" in said and "ok   files" in said
    assert (here / "envkit-parts").read_text() == "12.4.1 cccl cublas cudart nvcc\n"
    assert json.loads((here / "version.json").read_text())["cuda"]["version"] == CUDA
    assert (here / "lib64/libcublas.so").exists() and not (here / "lib64/libcufft.so").exists()
    assert (here / "pkg-config/nvcc.pc").read_text().startswith(f"cudaroot={here}\n")


def test_parts_without_a_compiler_and_a_runtime_are_not_asked_for_them(tmp_path: Path) -> None:
    (tmp_path / "served").mkdir()
    said = installed(tmp_path, CUDA, "nvdisasm", "nvtx")
    assert said.startswith("0 ") and "fail" not in said and "nvdisasm nvtx" in said
    text = script(CUDA, tmp_path / "cuda", "nvdisasm", "nvtx")
    assert "verify_compiler" not in text and "build-essential" not in text and "g++" not in text.split("set -Eeuo")[1]


def test_a_damaged_archive_is_not_unpacked(tmp_path: Path) -> None:
    (tmp_path / "served").mkdir()
    said = installed(tmp_path, CUDA, "nvcc", damaged=True)
    assert said.startswith("6 ") and "wrong sha256 checksum" in said and not (tmp_path / "cuda").exists()


def test_a_part_that_the_list_lacks_is_reported(tmp_path: Path) -> None:
    (tmp_path / "served").mkdir()
    said = installed(tmp_path, CUDA, "nvcc", served=("nvcc", "cccl"))
    assert said.startswith("5 ") and "has no archive of cudart for linux-x86_64" in said


def test_a_missing_file_of_a_part_is_named(tmp_path: Path) -> None:
    (tmp_path / "served").mkdir()
    installed(tmp_path, CUDA, "nvcc", "curand")
    (tmp_path / "cuda/include/curand.h").unlink()
    done = call(script(CUDA, tmp_path / "cuda", "nvcc", "curand"), "verify_toolkit", tmp_path)
    assert "fail toolkit" in done.stderr and "curand (include/curand.h)" in done.stderr


@pytest.mark.parametrize(
    ("here", "wanted", "options", "code", "told"),
    [
        (("nvcc",), ("nvcc",), (), 0, "already done"),
        (("nvcc",), ("nvcc", "cudart"), (), 0, "already done"),  # nvcc has brought it
        (("nvcc",), ("nvcc", "curand"), (), 3, "CUDA 12.4.1 with only cccl cudart nvcc is in"),
        (("nvcc",), ("nvcc", "curand"), ("--upgrade",), 0, "would be done"),
        (("nvcc",), (), (), 3, "and this script installs CUDA 12.4.1 there: pass --upgrade"),
        ((), ("nvcc",), (), 3, "CUDA 12.4.1 is in {folder}, and this script installs CUDA 12.4.1 with only"),
    ],
)
def test_another_set_of_parts_is_another_installation(
    here: tuple[str, ...], wanted: tuple[str, ...], options: tuple[str, ...], code: int, told: str, tmp_path: Path
) -> None:
    (tmp_path / "served").mkdir()
    if here:
        installed(tmp_path, CUDA, *here)
    else:
        toolkit(tmp_path / "cuda", "12.4.131")
    whole = render_script(
        installation(planned(CUDA), ScriptOptions(toolkit_path=str(tmp_path / "cuda")), Mirrors()), ScriptOptions()
    )
    done = dry_run(script(CUDA, tmp_path / "cuda", *wanted) if wanted else whole, *options)
    assert done.returncode == code and told.format(folder=tmp_path / "cuda") in done.stderr, done.stderr


def test_a_bundle_holds_the_archives_that_the_list_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "served").mkdir()
    made = archives(tmp_path / "served", CUDA, ("nvcc", "cudart", "cccl"))
    options = ScriptOptions(components=("nvcc",), toolkit_path=str(tmp_path / "cuda"))
    with serving(tmp_path / "served") as (base, _):
        row = part_list(Version.parse(CUDA))
        assert row is not None
        monkeypatch.setattr("envkit.install.parts.part_list", lambda _: replace(row, sha256=made.sha256))
        work = installation(planned(CUDA, "nvcc"), options, mirrors_to(base))
        make_bundle(work, render_script(work, options), str(tmp_path / "bundle"))
    files = {entry["name"] for entry in json.loads((tmp_path / "bundle/bundle.json").read_text())["files"]}
    assert files == {row.name, *(path.name for path in (tmp_path / "served").glob("*.tar.xz"))}
    done = dry_run((tmp_path / "bundle/install.sh").read_text(), "--offline", str(tmp_path / "bundle"))
    assert done.returncode == 0 or "writable by others" in done.stderr, done.stderr


def test_unknown_names_are_refused_for_programs_too() -> None:
    with pytest.raises(RequestError, match="Did you mean cublas"):
        check_names(("cubals",))
    with pytest.raises(EnvkitError, match="runfile installs the whole toolkit"):
        planned("9.0", "nvcc")


@pytest.mark.docker
@pytest.mark.thorough
def test_sets_in_one_folder_replace_and_restore_each_other(engine: Engine, target_image: str, tmp_path: Path) -> None:
    (tmp_path / "served").mkdir()
    every = tuple(names_with_needs(CUDA, "nvcc", "curand"))
    made = archives(tmp_path / "served", CUDA, every)
    with (
        serving(tmp_path / "served") as (base, _),
        machine(engine, target_image, tmp_path / "job") as target,
    ):
        for name, names in (("small", ("nvcc",)), ("large", ("nvcc", "curand"))):
            target.put(script(CUDA, None, *names, base=base, checksum=made.sha256), f"{name}.sh")
        before = target.tree()
        assert target.install(name="small.sh").exit_code == 0
        small = target.tree()
        assert target.install(name="large.sh").exit_code == 3
        done = target.install("--upgrade", name="large.sh")
        assert done.exit_code == 0 and done.verdicts["toolkit"] == "ok", done.stderr
        assert target.install(name="large.sh").changed_nothing
        assert target.sh("ls /usr/local/cuda/lib64/libcurand.so")
        assert target.install("--rollback", name="large.sh").exit_code == 0
        assert without_notes(target.tree()) == without_notes(small)
        assert target.install("--rollback", name="small.sh").exit_code == 0
        assert target.tree() == before


def test_use_finds_a_toolkit_of_parts_by_its_release() -> None:
    uses = "toolkit\t/usr/local/cuda-12.4\t12.4.1 cccl cudart nvcc\nlink\t/usr/local/cuda\t-\n"
    notes = Written("/state/cuda-12.4.1-parts-a", {"uses": uses, "journal": "d\tall\tdone\n"})
    plans = installed_plans([notes], lambda _: True)
    for word in ("12", "12.4", "12.4.1", "/usr/local/cuda-12.4"):
        assert toolkit_user(word, plans).name == "cuda-12.4.1-parts-a"
    with pytest.raises(RequestError, match=r"It has installed 12\.4\.1 cccl cudart nvcc in"):
        toolkit_user("12.4.0", plans)
