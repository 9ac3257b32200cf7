"""Which Pythons matter and what they hold: virtual environments, conda, pyenv, Debian, the home folder."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from envkit.capture.recorded import Entry
from envkit.checks.frameworks.unchecked import unchecked_environments
from envkit.host.local import LocalHost
from envkit.model import Environment, Problem, PythonEnvironment
from envkit.model import found as observed
from envkit.probe.pythons import pythons
from tests.fakes.memory_host import MemoryHost, link, program

BIN = "/usr/bin"
SYSTEM: dict[str, str | bytes | Entry] = {
    f"{BIN}/python3": link("python3.11"),
    f"{BIN}/python3.11": program(),
    "/usr/lib/python3/dist-packages/numpy-1.24.2.egg-info/PKG-INFO": "Name: numpy\nVersion: 1.24.2\n",
    "/usr/lib/python3.11/os.py": "",
}


def metadata(name: str, version: str, *lines: str) -> str:
    return "\n".join([f"Name: {name}", f"Version: {version}", *lines, "", "text"])


def environments(
    files: dict[str, str | bytes | Entry], variables: dict[str, str] | None = None, **identity: str
) -> list[PythonEnvironment]:
    host = MemoryHost(files, variables={"PATH": BIN, **(variables or {})}, identity={"home": "/home/user", **identity})
    return list(pythons(host).value or ())


def names(environment: PythonEnvironment) -> dict[str, str]:
    return {item.name: item.version for item in environment.distributions}


def test_debians_python_has_dist_packages() -> None:
    (system,) = environments(SYSTEM)
    assert (system.prefix, str(system.version), system.kind, system.active) == ("/usr", "3.11", "system", True)
    assert names(system) == {"numpy": "1.24.2"}


def test_the_active_environment_comes_first() -> None:
    site = "/venv/lib/python3.10/site-packages"
    files = {
        **SYSTEM,
        "/venv/pyvenv.cfg": "home = /usr/bin\ninclude-system-site-packages = false\nversion = 3.10.12\n",
        "/venv/bin/python": link("/usr/bin/python3.10"),
        f"{BIN}/python3.10": program(),
        f"{site}/torch-2.6.0.dist-info/METADATA": metadata("torch", "2.6.0", "Requires-Dist: numpy"),
        f"{site}/torch-2.6.0.dist-info/INSTALLER": "pip\n",
        f"{site}/torch-2.6.0.dist-info/WHEEL": "Wheel-Version: 1.0\nTag: cp310-cp310-manylinux1_x86_64\n",
        f"{site}/some_tool-1.0.dist-info/METADATA": metadata("some-tool", "1.0"),
    }
    first, second = environments(files, {"VIRTUAL_ENV": "/venv"})
    assert (first.prefix, str(first.version), first.kind, first.active) == ("/venv", "3.10.12", "venv", True)
    assert (second.prefix, second.active) == ("/usr", False)
    torch = next(item for item in first.distributions if item.name == "torch")
    assert (torch.requires, torch.installer, torch.wheel_tags) == (
        ("numpy",),
        "pip",
        ("cp310-cp310-manylinux1_x86_64",),
    )
    assert names(first)["some-tool"] == "1.0"


def test_an_environment_may_share_the_systems_packages() -> None:
    files = {
        **SYSTEM,
        "/venv/pyvenv.cfg": "home = /usr/bin\ninclude-system-site-packages = true\nversion = 3.11.2\n",
        "/venv/bin/python": link("/usr/bin/python3.11"),
        "/venv/lib/python3.11/site-packages/click-8.1.dist-info/METADATA": metadata("click", "8.1"),
    }
    assert names(environments(files, {"VIRTUAL_ENV": "/venv"})[0]) == {"click": "8.1", "numpy": "1.24.2"}


def test_conda_has_records_of_its_own() -> None:
    files: dict[str, str | bytes | Entry] = {
        "/opt/conda/bin/python": program(),
        "/opt/conda/lib/python3.12/os.py": "",
        "/opt/conda/conda-meta/pytorch-2.1.0-py3.12_cuda12.1_cudnn8.9.2_0.json": "{}",
        "/opt/conda/conda-meta/history": "",
        "/opt/conda/lib/python3.12/site-packages/torch-2.4.0.dist-info/METADATA": metadata("torch", "2.4.0"),
    }
    (conda,) = environments(files, {"CONDA_PREFIX": "/opt/conda"})
    assert (conda.kind, str(conda.version)) == ("conda", "3.12")
    record = next(item for item in conda.distributions if item.installer == "conda")
    assert (record.name, record.version, record.wheel_tags) == ("pytorch", "2.1.0", ("py3.12_cuda12.1_cudnn8.9.2_0",))


def test_pyenvs_shims_lead_to_the_chosen_version() -> None:
    root = "/home/user/.pyenv"
    files: dict[str, str | bytes | Entry] = {
        f"{root}/shims/python3": program(),
        f"{root}/shims/pip": program(),
        f"{root}/version": "3.12.1\n",
        f"{root}/versions/3.12.1/bin/python3": program(),
        f"{root}/versions/3.12.1/lib/python3.12/site-packages/pip-24.0.dist-info/METADATA": metadata("pip", "24.0"),
        f"{root}/versions/3.10.4/bin/python3": program(),
        f"{root}/versions/3.10.4/lib/python3.10/os.py": "",
        "/home/user/work/.python-version": "3.10.4\n",
    }
    path = {"PATH": f"{root}/shims"}
    (by_default,) = environments(files, path)
    assert (by_default.prefix, str(by_default.version)) == (f"{root}/versions/3.12.1", "3.12")
    assert by_default.pip_python == f"{root}/versions/3.12.1/bin/python3"
    (by_folder,) = environments(files, path, cwd="/home/user/work/deep")
    assert str(by_folder.version) == "3.10"
    (by_variable,) = environments(files, {**path, "PYENV_VERSION": "3.10.4"})
    assert by_variable.kind == "pyenv"


def test_the_home_folder_comes_first_unless_it_is_switched_off() -> None:
    site = "/home/user/.local/lib/python3.11/site-packages"
    files = {**SYSTEM, f"{site}/torch-1.13.1.dist-info/METADATA": metadata("torch", "1.13.1")}
    (system,) = environments(files)
    assert [item.user_site for item in system.distributions if item.name == "torch"] == [True]
    (without,) = environments(files, {"PYTHONNOUSERSITE": "1"})
    assert "torch" not in names(without)


def test_the_pip_of_path_may_belong_to_another_python() -> None:
    (system,) = environments({**SYSTEM, f"{BIN}/pip": "#!/opt/other/bin/python3.9\nimport sys\n"})
    assert system.pip_python == "/opt/other/bin/python3.9"


def test_files_in_the_working_folder_hide_modules() -> None:
    work = "/home/user/work"
    files = {
        **SYSTEM,
        f"{work}/torch.py": "",
        f"{work}/random.py": "",
        f"{work}/numpy/__init__.py": "",
        f"{work}/tensorflow/notes.txt": "",
        f"{work}/test.py": "",
        f"{work}/train.py": "",
    }
    (system,) = environments(files, cwd=work)
    assert system.shadowing_modules == (f"{work}/numpy/", f"{work}/random.py", f"{work}/torch.py")
    (safe,) = environments(files, {"PYTHONSAFEPATH": "1"}, cwd=work)
    assert safe.shadowing_modules == ()
    (listed,) = environments(files, {"PYTHONPATH": work}, cwd="/")
    assert f"{work}/torch.py" in listed.shadowing_modules


def test_a_library_folder_hides_nothing() -> None:
    files = {**SYSTEM, "/usr/lib/python3.11/random.py": ""}
    (system,) = environments(files, cwd="/usr/lib/python3.11")
    assert system.shadowing_modules == ()


def test_no_python_at_all_is_absent() -> None:
    assert pythons(MemoryHost({}, variables={"PATH": BIN})).problem is Problem.ABSENT


def test_an_image_is_searched_in_the_usual_places() -> None:
    files: dict[str, str | bytes | Entry] = {
        "/opt/venv/bin/python": program(),
        "/opt/venv/pyvenv.cfg": "version = 3.12.3\n",
    }
    (image,) = list(pythons(MemoryHost(files)).value or ())
    assert image.prefix == "/opt/venv"


@pytest.mark.parametrize("record", ["", "garbage", "a,b\nc\n,,,\n\n"])
def test_damaged_metadata_is_no_crash(record: str) -> None:
    site = "/usr/local/lib/python3.11/dist-packages"
    files = {
        **SYSTEM,
        f"{site}/nvidia_cublas-1.dist-info/RECORD": record,
        f"{site}/nvidia_cublas-1.dist-info/METADATA": b"\xff\xfe\x00broken",
        f"{site}/nodash.dist-info/METADATA": "",
    }
    (system,) = environments(files)
    assert names(system)["nvidia-cublas"] == "1"


def test_a_real_virtual_environment(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", "venv"], cwd=tmp_path, check=True)
    host = LocalHost({"VIRTUAL_ENV": str(tmp_path / "venv"), "PATH": "/usr/bin"})
    first = pythons(host).get()[0]
    assert first.prefix == str(tmp_path / "venv")
    assert first.version is not None
    assert first.version.parts[:2] == sys.version_info[:2]
    assert names(first) == {}


def environment_files(prefix: str, version: str = "3.10", torch: str = "2.6.0") -> dict[str, str | bytes | Entry]:
    site = f"{prefix}/lib/python{version}/site-packages"
    return {
        f"{prefix}/pyvenv.cfg": f"home = /usr/bin\nversion = {version}.1\n",
        f"{prefix}/bin/python": program(),
        f"{site}/torch-{torch}.dist-info/METADATA": metadata("torch", torch),
    }


def active_prefixes(found: list[PythonEnvironment]) -> list[str]:
    return [environment.prefix for environment in found if environment.active]


@pytest.mark.parametrize("place", [".venv", "venv", ".pixi/envs/default"])
def test_the_environment_of_the_working_folder_is_checked_next_to_the_one_of_path(place: str) -> None:
    found = environments({**SYSTEM, **environment_files(f"/work/{place}")}, cwd="/work")
    assert active_prefixes(found) == [f"/work/{place}", "/usr"]


def test_poetrys_environment_of_the_folder_is_found_by_its_hash() -> None:
    # Poetry 1.8 makes demo-Y5dKUTAw-py3.10 for a project demo in /work/demo: sha256 of the folder, base64
    from base64 import urlsafe_b64encode
    from hashlib import sha256

    name = urlsafe_b64encode(sha256(b"/work/demo").digest()).decode()[:8]
    prefix = f"/home/user/.cache/pypoetry/virtualenvs/demo-{name}-py3.10"
    files = {**SYSTEM, **environment_files(prefix), "/work/demo/poetry.lock": ""}
    assert active_prefixes(environments(files, cwd="/work/demo")) == [prefix, "/usr"]
    assert active_prefixes(environments(files, cwd="/work")) == ["/usr"]


def test_an_activated_environment_outweighs_the_folder_and_home_is_no_project() -> None:
    files = {**SYSTEM, **environment_files("/work/.venv"), **environment_files("/home/user/.venv")}
    files |= environment_files("/other")
    assert active_prefixes(environments(files, {"VIRTUAL_ENV": "/other"}, cwd="/work")) == ["/other"]
    assert active_prefixes(environments(files, cwd="/home/user")) == ["/usr"]


def test_named_pythons_are_the_only_ones() -> None:
    files = {**SYSTEM, **environment_files("/one"), **environment_files("/two"), **environment_files("/work/.venv")}
    found = environments(files, {"VIRTUAL_ENV": "/other"}, cwd="/work", pythons="/two/bin/python:/one/bin/python")
    assert active_prefixes(found) == [environment.prefix for environment in found] == ["/two", "/one"]


def test_envkits_own_environment_is_not_checked() -> None:
    own = "/home/user/.local/share/pipx/venvs/envkit"
    files = {**SYSTEM, **environment_files(own), "/usr/bin/python3": program()}
    assert own not in [environment.prefix for environment in environments(files, python=f"{own}/bin/python")]


def test_condas_environments_are_named_where_nothing_is_checked() -> None:
    files = {**SYSTEM, **environment_files("/opt/miniconda3/envs/train")}
    files["/home/user/.conda/environments.txt"] = "/opt/miniconda3/envs/train\n/gone\nrubbish\n"
    found = environments(files)
    assert [(one.prefix, one.active) for one in found] == [("/usr", True), ("/opt/miniconda3/envs/train", False)]
    told = list(unchecked_environments(Environment(pythons=observed(tuple(found), "files"))))
    assert told == [
        "Not checked: pytorch 2.6.0 in /opt/miniconda3/envs/train. "
        "To check it: envkit doctor --python /opt/miniconda3/envs/train"
    ]
    files |= environment_files("/work/.venv")
    assert len(environments(files, cwd="/work")) == 2
