"""The in-memory machine behaves like a file system with links, nodes and refusals."""

from __future__ import annotations

from envkit.capture.recorded import Answers, Entry, RecordedHost
from envkit.model import Problem, found
from tests.fakes.memory_host import MemoryHost, folder, link, node, program, refused


def _host() -> MemoryHost:
    return MemoryHost(
        {
            "/usr/local/cuda": link("cuda-12.4"),
            "/usr/local/cuda-12.4/bin/nvcc": program(),
            "/usr/local/cuda-12.4/version.json": "{}",
            "/usr/local/cuda-11": link("/nowhere"),
            "/usr/bin/nvcc": link("/etc/alternatives/nvcc"),
            "/etc/alternatives/nvcc": link("/usr/local/cuda/bin/nvcc"),
            "/loop/a": link("b"),
            "/loop/b": link("a"),
            "/dev/nvidia0": node("195:0", mode="0660", group="video", accessible=False),
            "/dev/kmsg": refused(),
            "/sys/kernel/iommu_groups": folder(),
        },
        commands={"nvcc --version": "release 12.4", "nvidia-smi -L": Problem.TIMED_OUT},
        queries={"nvml": {"count": 0}, "cuda": Problem.TIMED_OUT},
        variables={"PATH": "/bin:/usr/bin"},
    )


def test_links_resolve_through_folders() -> None:
    host = _host()
    assert host.real_path("/usr/bin/nvcc").get() == "/usr/local/cuda-12.4/bin/nvcc"
    assert host.read_text("/usr/local/cuda/version.json").get() == "{}"
    assert host.status("/usr/local/cuda", follow=False).get().kind == "link"
    assert host.status("/usr/local/cuda").get().kind == "dir"


def test_dangling_and_circular_links_are_absent() -> None:
    host = _host()
    assert host.real_path("/usr/local/cuda-11").problem is Problem.ABSENT
    assert host.real_path("/loop/a").problem is Problem.ABSENT
    assert host.read_bytes("/loop/a").problem in (Problem.ABSENT, Problem.NOT_LOOKED)


def test_glob_follows_links_and_skips_dangling_ones() -> None:
    host = _host()
    assert host.glob("/usr/local/cuda*/version.json") == (
        "/usr/local/cuda-12.4/version.json",
        "/usr/local/cuda/version.json",
    )
    assert host.glob("/usr/local/*") == ("/usr/local/cuda", "/usr/local/cuda-12.4")
    assert host.glob("/nothing/*") == ()


def test_folders_list_their_names() -> None:
    host = _host()
    assert host.list_dir("/usr/local").get() == ("cuda", "cuda-11", "cuda-12.4")
    assert host.list_dir("/sys/kernel/iommu_groups").get() == ()
    assert host.list_dir("/proc").problem is Problem.ABSENT


def test_refusals_and_nodes() -> None:
    host = _host()
    assert host.read_text("/dev/kmsg").problem is Problem.DENIED
    status = host.status("/dev/nvidia0").get()
    assert (status.kind, status.mode, status.group, status.accessible, status.device) == (
        "char",
        "0660",
        "video",
        False,
        "195:0",
    )


def test_commands_queries_and_programs() -> None:
    host = _host()
    assert host.run(["nvcc", "--version"]).get().stdout == "release 12.4"
    assert host.run(["nvidia-smi", "-L"]).problem is Problem.TIMED_OUT
    assert host.run(["rpm", "-qa"]).problem is Problem.ABSENT
    assert host.query("nvml").get() == {"count": 0}
    assert host.query("cuda").problem is Problem.TIMED_OUT
    assert host.query("docker").problem is Problem.NOT_LOOKED
    assert host.which("nvcc").get() == "/usr/bin/nvcc"
    assert host.which("gcc").problem is Problem.ABSENT


def test_an_incomplete_recording_never_says_absent() -> None:
    host = RecordedHost({"/etc/os-release": Entry(content=b"ID=x")}, complete=False)
    assert host.read_text("/proc/driver/nvidia/version").problem is Problem.NOT_LOOKED
    assert host.run(["rpm", "-qa"]).problem is Problem.NOT_LOOKED
    assert host.which("gcc").problem is Problem.NOT_LOOKED
    assert host.list_dir("/dev").problem is Problem.NOT_LOOKED


def test_a_recorded_path_that_does_not_answer_its_question_is_passed_over() -> None:
    """A recording may be a stranger's: no path of his making reaches a probe."""
    out = (
        "/../../etc/passwd",
        "/etc/../root/x-release",
        "etc/x-release",
        "/root/x-release",
        "/etc/x/y-release",
        "/etc/x",
    )
    answers = Answers(
        globs={"/etc/*-release": (*out, "/etc/x-release"), "/opt//a*/lib": ("/opt//ab/lib",)},
        lists={"/etc": found(("..", ".", "", "a/b", "good"), "/etc")},
        real_paths={"/a": found("/b/../../c", "/a"), "/b": found("/usr/b", "/b")},
        programs={
            "nvcc": found("/tmp/evil", "PATH"),
            "gcc": found("bin/gcc", "PATH"),
            "cc": found("/usr/bin/cc", "PATH"),
        },
    )
    entries = {"/../up": Entry(content=b"x"), "relative": Entry(content=b"x"), "/opt//a/file": Entry(content=b"a")}
    host = RecordedHost(entries, answers=answers)
    assert host.glob("/etc/*-release") == ("/etc/x-release",)
    assert host.glob("/opt//a*/lib") == ("/opt//ab/lib",)
    assert host.list_dir("/etc").get() == ("good",)
    assert host.real_path("/a").problem is Problem.UNPARSABLE
    assert host.real_path("/b").get() == "/usr/b"
    assert [host.which(name).known for name in ("nvcc", "gcc", "cc")] == [False, False, True]
    assert host.list_dir("/").get() == ("opt",)
    assert host.read_text("/opt/a/file").get() == "a"
