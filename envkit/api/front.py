"""The four functions that `import envkit` gives. Each composes what a command of the program uses, and no more."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike, fspath, path
from typing import TYPE_CHECKING

from envkit.api.report import FileReport, Report, file_report, judged
from envkit.base.errors import RequestError, SourceError
from envkit.model import PASTED, Environment

if TYPE_CHECKING:
    from envkit.solver.model import NoPlan, Plan
    from envkit.solver.request import Request, RequestWords
    from envkit.tables import Matrix

Source = Environment | str | PathLike[str] | None


def diagnose(source: Source = None, *, mask: bool = False) -> Report:
    """What is wrong with this machine, or with the one that `source` describes (see `facts`), and how to fix it.

    `mask` hides host, user, addresses and serial numbers. Raises SourceError.
    """
    from envkit.checks.engine.registry import all_checks
    from envkit.tables import Matrix

    return judged(facts(source), list(all_checks().values()), Matrix.load(), mask=mask)


def facts(source: Source = None, *, mask: bool = False) -> Environment:
    """What is known of this machine (None), or of the one that `source` describes.

    `source` is the path of a capture, a facts JSON or a text, or a pasted text itself. A string with a blank or a
    brace is a text unless a file has that name; any other is a path. Facts are taken as they are. Raises SourceError.
    """
    environment = _environment(source)
    if mask:
        from envkit.privacy.masker import mask_environment

        return mask_environment(environment)
    return environment


def _environment(source: Source) -> Environment:
    if isinstance(source, Environment):
        return source
    if source is None:
        from envkit.host.local import LocalHost
        from envkit.probe.collect import collect

        return collect(LocalHost())
    from envkit.ingest.sources import all_recorded, from_text

    if isinstance(source, str) and _is_text(source):
        return from_text(source, PASTED, "source")
    return all_recorded([_path(source, "source")], "source")[0]


def _is_text(source: str) -> bool:
    return not source or any(sign in source for sign in " \t\n{") and not path.exists(source)


def _path(place: str | PathLike[str], argument: str) -> str:
    """The path as a command takes it; `-` is a file here, not the input of the program that calls."""
    name = fspath(place)
    if "\0" in name:
        raise SourceError(f"{argument}: {name!r} is not a path.", "Pass a file that exists.")
    return path.join(path.curdir, name) if name == "-" else name


def resolve(
    *frameworks: str,
    gpu: str | Sequence[str] = (),
    driver: str | None = None,
    cuda: str | None = None,
    cudnn: str | None = None,
    python: str | None = None,
    os: str | None = None,
    arch: str | None = None,
    target: Environment | None = None,
    container: bool = False,
) -> Plan | NoPlan:
    """Versions that work together, or why none do: `resolve("pytorch==2.6", gpu="GeForce RTX 5090")`.

    The words are those of the options of `envkit resolve`. What is left open is taken from `target`, the facts of a
    machine; without it nothing is. `container` decides for an image. Raises RequestError for a word that is not known.
    """
    from envkit.solver.having import resolve_having as solve
    from envkit.solver.request import RequestWords
    from envkit.tables import Matrix

    matrix = Matrix.load()
    words = RequestWords(frameworks, cuda, cudnn, python, os, arch, _names(gpu), driver)
    return solve(_request(words, target, matrix, container=container), matrix)


def check(
    file: str | PathLike[str],
    *,
    gpu: str | Sequence[str] = (),
    driver: str | None = None,
    target: Environment | None = None,
) -> FileReport:
    """What is wrong with a Dockerfile, for the GPUs and the driver given or those of `target`; otherwise for any
    machine.

    Raises SourceError for a file that cannot be read or is not a Dockerfile, RequestError for a word that is not known.
    """
    from envkit.solver.request import RequestWords
    from envkit.tables import Matrix

    matrix = Matrix.load()
    request = _request(RequestWords(gpus=_names(gpu), driver=driver), target, matrix, container=True)
    return file_report(_path(file, "file"), request, matrix, "file")


def _names(gpu: str | Sequence[str]) -> tuple[str, ...]:
    return (gpu,) if isinstance(gpu, str) else tuple(gpu)


def _request(words: RequestWords, target: Environment | None, matrix: Matrix, *, container: bool) -> Request:
    from envkit.solver.parse import parse_request
    from envkit.solver.target import for_environment

    single = (words.cuda, words.cudnn, words.python, words.os_id, words.arch, words.driver)
    for value in (*words.frameworks, *words.gpus, *single):
        if not isinstance(value, str | None):
            raise RequestError(f"{value!r} is not text.", "Write versions and names as text, such as '3.10'.")
    request = parse_request(words, matrix, container=container)
    return request if target is None else for_environment(request, target, matrix)
