"""A project's file, checked: read, judged, and with the change that would make it fit."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from envkit.api.report import FileReport, as_told
from envkit.base.errors import RequestError, SourceError, did_you_mean
from envkit.base.names import normalized

if TYPE_CHECKING:
    from envkit.dockerfile.change import DockerfileChange
    from envkit.project.change import Change
    from envkit.project.judge import Judged
    from envkit.project.model import Manifest
    from envkit.solver.request import Request
    from envkit.tables import Matrix

_LIMIT = 10_000_000  # of a lock file


def project_report(
    path: str,
    request: Request,
    matrix: Matrix,
    extras: Iterable[str] = (),
    kind: str = "",
    *,
    gpu_meant: bool = False,
) -> FileReport:
    """What the file installs on the target of the request, and what is wrong with that, with its fix.

    `kind` says what the file is where its name does not. With `gpu_meant` whether anything runs is unknown where the
    target has neither GPU nor driver. Raises SourceError for a file that cannot be read.
    """
    kind = kind or _kind_of(path)
    if kind == "Dockerfile":
        from envkit.api.report import file_report

        return file_report(path, request, matrix, "check")
    _, judged, change = _examined(path, kind, request, matrix, extras)
    return _report(path, judged, change, request, gpu_meant=gpu_meant)


def project_change(
    path: str, request: Request, matrix: Matrix, extras: Iterable[str] = (), *, gpu_meant: bool = False
) -> tuple[str, Change | DockerfileChange | None, FileReport]:
    """The file's text, the smallest change that makes it fit, and the file's report.

    The change is None where the file fits, or none is found; that of a Dockerfile may leave errors. Raises SourceError
    for a file that cannot be read, and for a kind that its own tool has to write.
    """
    from envkit.project.change import BY_HAND, CHANGEABLE

    kind = _kind_of(path)
    if kind == "Dockerfile":
        from envkit.api.report import file_change

        return file_change(path, request, matrix, "check")
    if kind not in CHANGEABLE:
        if kind in BY_HAND:
            raise SourceError(f"check: {path}: --fix does not change {kind}.", "Change it as its findings say.")
        raise SourceError(
            f"check: {path}: --fix changes files that people write, not {kind}.",
            "Fix the file that it is generated from, and lock again.",
        )
    text, judged, change = _examined(path, kind, request, matrix, extras)
    return text, change, _report(path, judged, change, request, gpu_meant=gpu_meant)


def _report(path: str, judged: Judged, change: Change | None, request: Request, *, gpu_meant: bool) -> FileReport:
    from envkit.project.change import with_change
    from envkit.project.companions import with_ways
    from envkit.project.judge import without_gpu
    from envkit.render.check_report import file_verdict, target_text

    findings = with_ways(with_change(judged.findings, change), judged.chosen, judged.query)
    if gpu_meant and not (request.gpus or request.driver):
        findings = without_gpu(findings)
    findings = as_told(findings)
    return FileReport(path, findings, file_verdict(findings), target_text(request))


def _examined(
    path: str, kind: str, request: Request, matrix: Matrix, extras: Iterable[str]
) -> tuple[str, Judged, Change | None]:
    """The text of a file, what is found in it, and the change that takes the faults away."""
    from envkit.project.change import change_for

    text = project_text(path)

    def judge(changed: str) -> Judged:
        return judged_text(path, kind, changed, request, matrix, extras)

    judged = judge(text)
    return text, judged, change_for(kind, text, judged, judge)


def _kind_of(path: str) -> str:
    """The kind that a file's name tells; of one that is not there that is said first. Raises SourceError."""
    from envkit.project.read import kind_of

    try:
        return kind_of(path)
    except SourceError:
        project_text(path)
        raise


def project_text(path: str) -> str:
    """The text of a project's file. Raises SourceError."""
    from envkit.host.user_file import read_user_file

    return read_user_file("check", path, _LIMIT)


def judged_text(path: str, kind: str, text: str, request: Request, matrix: Matrix, extras: Iterable[str]) -> Judged:
    """A text judged as the file at `path`, whose folder holds what it includes.

    Raises SourceError for a text that is not what its name says, and RequestError for an extra that it does not have.
    """
    from envkit.host.user_file import read_beside
    from envkit.project.judge import judge
    from envkit.project.read import read_manifest

    platform = "windows" if request.platform == "windows" else "linux"
    try:
        manifest = read_manifest(kind, text, lambda name: read_beside(path, name), request.architecture, platform)
    except SourceError as error:
        raise SourceError(f"check: {path}: {error.message}", error.hint) from None
    _refuse_unknown(extras, manifest, path)
    return judge(manifest, request, extras, matrix)


def _refuse_unknown(extras: Iterable[str], manifest: Manifest, path: str) -> None:
    """Raises RequestError for an extra that a file does not have; a lock has the packages of all of them."""
    if manifest.extras is None or manifest.locked:
        return
    known = [normalized(one) for one in manifest.extras]
    for name in extras:
        if normalized(name) not in known:
            has = f"It has {', '.join(manifest.extras)}." if known else "It has none."
            raise RequestError(f"--extra: {path} has no extra {name!r}.", f"{did_you_mean(name, known)} {has}".strip())
