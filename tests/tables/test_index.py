"""The comparison with the package index, against index pages as pip would read them."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from envkit.base.versions import Version
from envkit.tables import Matrix
from envkit.tables.rows import CudnnRelease, FrameworkBuild
from tools.data.index import Index, IndexFile, IndexUnreachable, fetch, pip_index_url
from tools.data.refresh import Change, changes, manifest_changes, package_changes
from tools.data.verify import build_problems, check, cudnn_problems, pinned

HTML = """<!DOCTYPE html><html><body>
<a href="https://files.example.org/demo-1.0-cp39-cp39-manylinux2014_x86_64.whl#sha256=00"
   data-requires-python="&gt;=3.9" data-upload-time="2024-01-02T03:04:05Z">demo</a>
<a href="../files/demo-1.0-cp310-cp310-manylinux_2_28_x86_64.whl">demo</a>
<a href="../files/demo-1.0-cp310-cp310-win_amd64.whl">demo</a>
<a href="../files/demo-1.1-py3-none-any.whl" data-yanked="broken">demo</a>
<a href="../files/demo-2.0-cp311-cp311-manylinux_2_28_x86_64.whl" data-upload-time="2025-05-06T00:00:00Z">demo</a>
<a href="../files/demo-2.1rc1.tar.gz">demo</a>
<a href="../files/demo-extra.zip.unreadable">demo</a>
</body></html>"""

JSON = json.dumps(
    {
        "files": [
            {
                "filename": "demo-1.0-cp312-abi3-manylinux2014_aarch64.whl",
                "url": "demo.whl",
                "requires-python": ">=3.12",
                "yanked": "why",
                "upload-time": "2024-05-06T00:00:00.000Z",
            },
            {"filename": "demo-1.0.tar.gz", "url": "demo.tar.gz", "requires-python": None, "yanked": False},
        ]
    }
)


class Pages:
    """A network that holds these pages, and remembers what was asked of it."""

    def __init__(self, pages: Mapping[str, tuple[str, str]]) -> None:
        self._pages = pages
        self.asked: list[str] = []

    def __call__(self, url: str) -> tuple[str, bytes]:
        self.asked.append(url)
        kind, text = self._pages.get(url, ("", ""))
        return kind, text.encode()


@pytest.fixture
def pages() -> Pages:
    return Pages(
        {
            "https://index.example.org/simple/demo/": ("text/html", HTML),
            "https://index.example.org/simple/demo-json/": ("application/vnd.pypi.simple.v1+json", JSON),
            "https://index.example.org/simple/files/demo-2.0-cp311-cp311-manylinux_2_28_x86_64.whl.metadata": (
                "text/plain",
                "Metadata-Version: 2.1\nName: demo\nRequires-Dist: nvidia-cuda-runtime-cu12==12.4.127; "
                'platform_system == "Linux"\nRequires-Dist: nvidia-cudnn-cu12==9.1.0.70\nRequires-Dist: broken ==\n'
                'Requires-Dist: nvidia-cudnn-cu12==8.0; extra == "old"\n',
            ),
        }
    )


@pytest.fixture
def index(pages: Pages) -> Index:
    return Index("https://index.example.org/simple/", pages)


def made(version: str = "1.0", pythons: str = "3.9 3.10", **changed: object) -> FrameworkBuild:
    values: dict[str, object] = {
        "framework": "demo", "version": Version.parse(version), "release_date": None,
        "pythons": tuple(map(Version.parse, pythons.split())), "cuda": Version.parse("12.4"),
        "cudnn": Version.parse("9.1"), "package": f"demo=={version}", "on_pypi": True, "index_url": None,
        "find_links": None, "companions": (), "sass": None, "ptx": None, "min_compute_capability": None,
        "bundles_cuda": None, "cpu_only": False, "architectures": ("x86_64",), "platforms": ("linux",),
        "min_glibc": None, "numpy": None, "archived": False, "yanked": False, "sources": ("x",),
    }  # fmt: skip
    return FrameworkBuild(**{**values, **changed})  # type: ignore[arg-type]


# ---- reading an index


def test_an_html_page_is_read_as_pip_reads_it(index: Index) -> None:
    files = index.files("demo")
    assert [str(file.version) for file in files] == ["1.0", "1.0", "1.0", "1.1", "2.0", "2.1rc1"]
    assert files[0].uploaded == "2024-01-02"
    assert files[0].pythons() == {"3.9"}
    assert not files[0].serves("3.8")
    assert files[1].url == "https://index.example.org/simple/files/demo-1.0-cp310-cp310-manylinux_2_28_x86_64.whl"
    assert [file.yanked for file in files] == [False, False, False, True, False, False]


def test_a_json_page_is_read_too(index: Index) -> None:
    wheel, archive = index.files("demo-json")
    assert wheel.yanked
    assert wheel.uploaded == "2024-05-06"
    assert wheel.serves("3.13")  # abi3
    assert not wheel.serves("3.11")
    assert wheel.runs_on("linux", "aarch64")
    assert not wheel.runs_on("linux", "x86_64")
    assert not archive.is_wheel
    assert archive.runs_on("windows", "x86_64")


def test_a_package_is_asked_for_once(index: Index, pages: Pages) -> None:
    index.files("demo")
    index.files("Demo")
    assert index.release("demo", "9.9") == ()
    assert pages.asked == ["https://index.example.org/simple/demo/"]
    assert index.requests == 1


def test_a_package_that_is_not_there_has_no_files(index: Index) -> None:
    assert index.files("nothing") == ()


@pytest.mark.parametrize(
    ("name", "glibc"),
    [("manylinux1_x86_64", "2.5"), ("manylinux2014_x86_64", "2.17"), ("manylinux_2_28_x86_64", "2.28"),
     ("manylinux_2_17_x86_64.manylinux2014_x86_64", "2.17"), ("win_amd64", None), ("linux_x86_64", None)],
)  # fmt: skip
def test_the_glibc_that_a_tag_promises(name: str, glibc: str | None) -> None:
    page = f'<a href="/demo-1.0-cp39-cp39-{name}.whl">x</a>'
    (file,) = Index("https://x.example.org", Pages({"https://x.example.org/demo/": ("text/html", page)})).files("demo")
    assert file.glibc() == glibc


@pytest.mark.parametrize(
    ("tags", "python", "served"),
    [("py3-none", "3.14", True), ("py2.py3-none", "2.7", True), ("py3-none", "2.7", False),
     ("cp313-cp313t", "3.13", False),
     ("cp313-cp313", "3.13", True), ("cp38-abi3", "3.7", False), ("py2-none", "3.9", False)],
)  # fmt: skip
def test_which_python_a_wheel_serves(tags: str, python: str, served: bool) -> None:
    page = f'<a href="/demo-1.0-{tags}-any.whl">x</a>'
    (file,) = Index("https://x.example.org", Pages({"https://x.example.org/demo/": ("text/html", page)})).files("demo")
    assert file.serves(python) is served


def test_an_index_that_does_not_answer_is_no_empty_index() -> None:
    with pytest.raises(IndexUnreachable):
        fetch("http://127.0.0.1:9/simple/demo/")


# ---- verify


@pytest.mark.parametrize(
    ("requirement", "pin"),
    [("torch==2.0.1", ("torch", "2.0.1")), ("jax[cuda12]==0.4.30", ("jax", "0.4.30")), ("tensorflow==2.10.*", None),
     ("numpy<2", None), ("not a requirement", None), ("torch==2.0.1+cu118", ("torch", "2.0.1+cu118"))],
)  # fmt: skip
def test_what_pins_a_version(requirement: str, pin: tuple[str, str] | None) -> None:
    assert pinned(requirement) == pin


def told(build: FrameworkBuild, index: Index) -> list[str]:
    return [problem.told for problem in build_problems(build, index)]


def test_a_row_that_is_right_has_no_problem(index: Index) -> None:
    assert told(made(), index) == []
    assert told(made(platforms=("linux", "windows")), index) == []


@pytest.mark.parametrize(
    ("build", "problem"),
    [
        (made("3.0"), "is not on the index"),
        (made(pythons="3.9 3.11"), "has no file for Python 3.11 on linux x86_64"),
        (made(architectures=("aarch64",)), "has no file for linux aarch64"),
        (made("2.0", "3.11", platforms=("windows",)), "has no file for windows x86_64"),
        (made("1.1", "3.9"), "yanked is True on the index"),
        (made(yanked=True), "yanked is False on the index"),
        (made(package="demo>=1.0"), "is said to be on the index but pins no version"),
        (made(companions=("demo==7.0", "demo<9")), "companion demo==7.0 is not on the index"),
    ],
)
def test_a_row_that_is_wrong_is_reported(index: Index, build: FrameworkBuild, problem: str) -> None:
    assert told(build, index) == [problem]


def test_a_cudnn_package_that_is_not_there_is_reported(index: Index, matrix: Matrix) -> None:
    from dataclasses import replace

    right: CudnnRelease = replace(matrix.cudnns[-1], pip_package="demo==1.0", architecture="x86_64")
    wrong = {
        "is not on the index": replace(right, pip_package="demo==5.0"),
        "is yanked on the index": replace(right, pip_package="demo==1.1"),
        "has no file for it": replace(right, architecture="aarch64"),
    }
    assert list(cudnn_problems(right, index)) == []
    for told, release in wrong.items():
        (problem,) = cudnn_problems(release, index)
        assert problem.told.endswith(told)


def test_an_empty_index_fails_every_row(matrix: Matrix) -> None:
    checked, problems = check(matrix, Index("https://empty.example.org", Pages({})))
    assert checked > 1000
    missing = [problem for problem in problems if problem.told.endswith("is not on the index")]
    assert sum("companion" not in problem.told for problem in missing) == checked


@pytest.mark.network
def test_every_row_that_says_so_is_on_the_index(matrix: Matrix) -> None:
    checked, problems = check(matrix, Index(pip_index_url()))
    assert problems == []
    assert checked > 1000


# ---- refresh


def news(index: Index, *builds: FrameworkBuild) -> list[Change]:
    return list(package_changes("demo", builds, set(), index, "frameworks/demo.csv"))


def test_a_newer_release_is_added_but_no_candidate_and_no_yanked_one(index: Index) -> None:
    assert [str(change) for change in news(index, made())] == [
        "+ frameworks/demo.csv: demo==2.0: uploaded 2025-05-06, Python 3.11, 1 files"
    ]


def test_a_release_of_another_package_of_the_framework_is_no_news(index: Index) -> None:
    from packaging.version import Version as PackageVersion

    assert list(package_changes("demo", [made()], {PackageVersion("2.0")}, index, "t")) == []


def test_a_release_that_vanished_is_gone(index: Index) -> None:
    kinds = [(change.kind, change.row) for change in news(index, made(), made("0.9"), made("2.0", "3.11"))]
    assert kinds == [("gone", "demo==0.9")]


def test_other_pythons_and_other_pins_are_changed(index: Index) -> None:
    found = news(index, made(), made("2.0", "3.11 3.12", cuda=Version.parse("12.1"), cudnn=Version.parse("9.2")))
    assert [change.told for change in found] == [
        "Python 3.11;3.12 here, 3.11 on the index",
        "CUDA 12.1 here, nvidia-cuda-runtime-cu12 12.4.127 required",
        "cuDNN 9.2 here, nvidia-cudnn-cu12 9.1.0.70 required",
    ]


def test_an_upload_before_the_release_date_is_changed(index: Index) -> None:
    (change,) = news(index, made(release_date="2024-02"), made("2.0", "3.11"))
    assert change.told == "released 2024-02 here, uploaded 2024-01-02"


def test_a_manifest_that_the_table_lacks_is_added() -> None:
    listing = '<a href="redistrib_12.4.1.json">x</a> <a href="redistrib_99.0.0.json">x</a> redistrib_9.1.0.json'
    held = [Version.parse("12.4.1"), Version.parse("9.1.0.70")]
    assert [str(change) for change in manifest_changes("toolkits.csv", listing, held)] == [
        "+ toolkits.csv: 99.0.0: in NVIDIA's manifests"
    ]


def test_an_empty_index_shows_every_package_as_gone(matrix: Matrix) -> None:
    found = list(changes(matrix, Index("https://empty.example.org", Pages({}))))
    assert {change.kind for change in found} == {"gone"}
    assert any(change.row == "torch==2.5.1" for change in found)


def test_a_file_is_a_value() -> None:
    (file,) = Index(
        "https://x.example.org",
        Pages({"https://x.example.org/demo/": ("text/html", '<a href="/demo-1.0.tar.gz">x</a>')}),
    ).files("demo")
    assert isinstance(file, IndexFile)
    assert file.tags == frozenset()
    assert file.glibc() is None
