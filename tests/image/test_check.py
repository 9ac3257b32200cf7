"""`--check` on Dockerfiles written for it; next to each is what must be found, and nothing else may be."""

from __future__ import annotations

from pathlib import Path

import pytest

from envkit.base.errors import SourceError
from envkit.base.versions import ComputeCapability, Version
from envkit.checks.engine.findings import Status
from envkit.dockerfile.check import check_dockerfile
from envkit.dockerfile.reader import read_instructions
from envkit.dockerfile.stages import BuildStage, read_stages, substitute
from envkit.render.check_report import report_text
from envkit.solver.request import Request, TargetGpu
from envkit.tables import Matrix
from tests.image.making import parsed

FOLDER = Path(__file__).with_name("dockerfiles")
NAMES = sorted(path.stem for path in FOLDER.glob("*.Dockerfile"))
SHOWN = (Status.FAIL, Status.WARN, Status.UNKNOWN)


def asked(options: str) -> Request:
    gpus, driver = [], None
    for option in options.split():
        key, _, value = option.partition("=")
        if key == "gpu":
            gpus.append(TargetGpu(ComputeCapability.parse(value)))
        else:
            driver = Version.parse(value)
    return Request(gpus=tuple(gpus), driver=driver, container=True)


def beside(name: str, file: str) -> str | None:
    """The file of that name next to the Dockerfile, kept under the Dockerfile's own."""
    place = FOLDER / f"{name}.{file}"
    return place.read_text() if place.is_file() else None


@pytest.mark.parametrize("name", NAMES)
def test_verdict(name: str, matrix: Matrix) -> None:
    text = (FOLDER / f"{name}.Dockerfile").read_text()
    first, *expected = (FOLDER / f"{name}.expected").read_text().splitlines()
    findings = check_dockerfile(text, asked(first.removeprefix("options:")), matrix, lambda file: beside(name, file))
    told = [f"{finding.status.value} {finding.id}" for finding in findings if finding.status in SHOWN]
    assert sorted(told) == sorted(expected), report_text(findings, name)
    assert all(finding.remedy for finding in findings if finding.status in (Status.FAIL, Status.WARN))


@pytest.mark.parametrize("name", NAMES)
def test_report_fits_80_columns(name: str, matrix: Matrix) -> None:
    findings = check_dockerfile((FOLDER / f"{name}.Dockerfile").read_text(), Request(container=True), matrix)
    lines = [line for line in report_text(findings, name).splitlines() if not line.startswith(" " * 10)]  # commands
    assert all(len(line) <= 80 or " " not in line.strip() for line in lines)


def test_there_are_at_least_thirty() -> None:
    assert len(NAMES) >= 30


@pytest.mark.parametrize("name", NAMES)
def test_reads_the_same_instructions_as_buildkit(name: str) -> None:
    text = (FOLDER / f"{name}.Dockerfile").read_text()
    ours = [(part.keyword, part.line) for part in read_instructions(text)]
    assert ours == [(part.cmd.upper(), part.start_line) for part in parsed(text)]


@pytest.mark.parametrize(
    "text",
    [
        'RUN python -c "print(1<<20)"',
        "RUN echo $((1<<4))",
        "RUN echo $(( 1 << 4 ))",
        "RUN grep a <<<abc",
        "RUN bash -c 'cat > /etc/foo <<EOF \\n\\\nhello \\n\\\nEOF'",
        "RUN echo ${A:-<<EOF}",
        "RUN echo \\<<EOF",
        "RUN echo 'never closed <<EOF",
        "RUN cat <<EOF\nRUN no instruction\nEOF",
        "RUN cat <<-'EOF' > /a\n\tx\n\tEOF",
        'RUN cat 3<<"EOF"\nx\nEOF',
        "RUN cat <<A <<B\na\nA\nb\nB",
        "COPY <<EOF /a\n$x\nEOF",
        "CMD cat <<EOF",
        "ONBUILD RUN cat <<EOF\nx\nEOF",
        "\ufeffRUN echo",
    ],
)
def test_a_heredoc_opens_where_buildkit_opens_one(text: str) -> None:
    start = "FROM a\n"
    whole = f"\ufeff{start}{text[1:]}" if text.startswith("\ufeff") else start + text
    whole += "\nLABEL last=1\n"
    ours = [(part.keyword, part.line) for part in read_instructions(whole)]
    assert ours == [(part.cmd.upper(), part.start_line) for part in parsed(whole)]


@pytest.mark.parametrize(
    "text",
    [
        "RU\\\nN echo tor\\\nch",
        "RUN echo a \\\nb",
        "RUN echo a\\\n  b\\\n\\\n# c\n\n   d",
        "RUN echo a \\  \n  b",
        "RUN echo a\\\\\nLABEL b=1",
    ],
)
def test_lines_are_put_together_as_buildkit_does(text: str) -> None:
    ours = [(part.keyword, part.text.split()) for part in read_instructions(f"FROM a\n{text}\n")[1:]]
    theirs = [(part.cmd.upper(), part.original.split()[1:]) for part in parsed(f"FROM a\n{text}\n")[1:]]
    assert ours == theirs


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("$A", "1"),
        ("${A}x", "1x"),
        ("${B:-2}", "2"),
        ("${B-2}", "2"),
        ("${A:+yes}", "yes"),
        ("${B:+yes}", ""),
        ("${B}", "${B}"),
        (r"\$A", r"\$A"),
    ],
)
def test_variables(text: str, value: str) -> None:
    assert substitute(text, {"A": "1"}) == value


def words(stage: BuildStage) -> list[list[str]]:
    """The words of each command that a stage runs."""
    return [list(command.words) for part in stage.instructions for command in part.commands]


def test_an_argument_before_from_counts_in_a_stage_only_when_named_again() -> None:
    text = "ARG V=1\nFROM a:$V AS one\nARG V\nRUN echo $V\nFROM one\nRUN echo $V\n"
    one, two = read_stages(text)
    assert one.image == "a:1"
    assert words(one) == [["echo", "1"]]
    assert two.parent == 0
    assert words(two) == [["echo", "$V"]]


def test_a_stage_has_the_environment_of_the_stage_that_it_starts_from() -> None:
    text = "FROM a AS one\nENV V=1 W=2\nARG A=3\nFROM one AS two\nARG V=9\nENV W=4\nFROM two\nRUN echo $V $W $A\n"
    assert words(read_stages(text)[2]) == [["echo", "1", "4", "$A"]]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "no FROM"),
        ("hello world\n", "line 1"),
        ("FROM a\nRUN <<END\necho\n", "never closed"),
    ],
)
def test_what_is_no_dockerfile_is_named(text: str, told: str) -> None:
    with pytest.raises(SourceError, match=told):
        read_stages(text)
