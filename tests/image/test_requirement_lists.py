"""Lines of requirements files, which Dockerfiles copy and projects keep: one reader for both."""

from __future__ import annotations

from envkit.dockerfile.requirement_lists import ListLine, list_lines, list_words


def test_lines_are_those_that_pip_reads() -> None:
    text = "\ufeff# GPU\n--pre\ntorch==2.6.0 \\\r\n  --hash=sha256:00  # why\r\n\n-r 'more.txt'\nnumpy \\"
    assert list(list_lines(text)) == [
        ListLine(2, "--pre", ""),
        ListLine(3, "", "torch==2.6.0"),
        ListLine(6, "-r", "more.txt"),
        ListLine(7, "", "numpy"),
    ]


def test_files_that_a_list_names_are_those_next_to_it() -> None:
    assert list(list_words("-c bounds.txt\n--index-url=https://x.org\ntorch", "docker/gpu.txt")) == [
        *("-c", "docker/bounds.txt", "--index-url", "https://x.org", "torch")
    ]
