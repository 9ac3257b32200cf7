"""What people ask for that the tables do not hold: other vendors' GPUs and other software, answered by name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from envkit._startup.regex import regex
from envkit.base.errors import RequestError, UnknownFramework
from envkit.base.sentences import series

_EXAMPLE = regex(r"torch-\d\.\d\.\d\+cu\d{3}")

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from envkit.base.versions import ComputeCapability
    from envkit.solver.request import RequestWords
    from envkit.tables import Matrix
    from envkit.tables.names import NotCovered


def unknown_framework(name: str, words: RequestWords, matrix: Matrix, facts: Iterable[str]) -> UnknownFramework:
    """The error for a framework of this name, which has no table, with what is known of it."""
    row = next(_rows("framework", name), None)
    if row is None:
        names = [framework.name for framework in matrix.frameworks]
        unknown = RequestError.unknown_value("--framework", name, names, "envkit matrix frameworks")
        return UnknownFramework(unknown.message, unknown.hint)
    from envkit.solver.not_covered_facts import named_in

    broken = tuple(_broken(row, name, words))
    if broken:
        return UnknownFramework(f"--framework: envkit has no versions of {name} ({row.title}).", " ".join(broken))
    look = _for_request(row.look, words)
    there = any(matrix.framework(named_in(text)[0]) for text in words.frameworks)
    hint = f"Request the framework that it runs on: --framework {row.instead}" if row.instead and not there else ""
    if row.instead and row.compiled:
        it = "that framework" if hint else row.instead
        hint = f"{hint}; to compile it, nvcc must have the same CUDA major version as {it}".removeprefix("; ")
        hint = f"{hint[0].upper()}{hint[1:]}"
    hint = f"{hint}. {look[0].upper()}{look[1:]}".removeprefix(". ") if look else hint
    known = "; ".join(facts)
    told = f"{known[:1].upper()}{known[1:]}. " if known else ""
    unknown = UnknownFramework(f"--framework: envkit has no versions of {name} ({row.title}).", told + hint)
    unknown.runs_on = row.instead
    return unknown


def _broken(row: NotCovered, name: str, words: RequestWords) -> Iterator[str]:
    """Why no release of it works with the CUDA of a request, so that no plan helps, and what does."""
    from envkit.compat.package_breaks import package_breaks
    from envkit.solver.not_covered_facts import named_in
    from envkit.solver.software_notes import cuda_of

    cuda = cuda_of(words)
    for verdict, instead in package_breaks(*named_in(name), {"cuda": (f"CUDA {cuda}", cuda)}) if cuda else ():
        yield f"{verdict.detail.replace(named_in(name)[0], row.title, 1)}. {instead}"


def _for_request(look: str, words: RequestWords) -> str:
    """Where to look, with the PyTorch and the CUDA of the request in place of those of an example."""
    from envkit.solver.not_covered_facts import torch_of
    from envkit.solver.software_notes import cuda_of

    torch, cuda = torch_of(words), cuda_of(words)
    if torch is None or cuda is None or len(torch.parts) < 3 or len(cuda.parts) < 2:
        return look
    return _EXAMPLE.sub(f"torch-{torch}+cu{cuda.major}{cuda.minor}", look)


def unknown_gpu(name: str, names: Iterable[str], option: str = "--gpu") -> RequestError:
    """The error for a GPU of this name, which is none of NVIDIA's or none of the known `names`."""
    if next(_rows("old-gpu", name), None) is not None:
        return _too_old(name, option)
    row = next(_rows("gpu", name), None)
    if row is None:
        return RequestError.unknown_value(option, name, dict.fromkeys(names), "envkit matrix gpus")
    look = f"; for this one, see {row.instead}" if row.instead else "."
    look += f" ({row.look})" if row.look else ""
    return RequestError(
        f"{option}: {name!r} is not an NVIDIA GPU ({row.title}).", f"envkit supports NVIDIA GPUs only{look}"
    )


def refuse_old(capability: ComputeCapability, name: str) -> None:
    """Raises RequestError for a GPU of the Tesla generation."""
    if capability.before_fermi:
        raise _too_old(name)


def _too_old(name: str, option: str = "--gpu") -> RequestError:
    """The error for a GPU that no build of a framework supports any more."""
    from envkit.tables.loader import read
    from envkit.tables.names import NotCovered

    old = next(row for row in read(NotCovered) if row.kind == "old-gpu")
    return RequestError(f"{option}: {name!r} is a GPU of {old.title}.", old.look)


def refuse_cuda(spec: str) -> None:
    """Raises RequestError for a CUDA that is older than those of the tables, with what is known of it."""
    row = next(_rows("cuda", spec.removeprefix("==")), None)
    if row is not None:
        raise RequestError(f"--cuda: envkit does not plan for {row.title}.", row.look)


def refuse_architecture(name: str, known: Iterable[str]) -> None:
    """Raises RequestError for a processor that is known to have no packages."""
    row = next(_rows("architecture", name), None)
    if row is None:
        return
    raise RequestError(
        f"--arch: envkit plans for {series(known)}, not for {name} ({row.title}).",
        f"{row.look[0].upper()}{row.look[1:]}: {row.instead}",
    )


def refuse_system(text: str) -> None:
    """Raises RequestError for a system that is known not to be covered: `alpine3.20`."""
    from envkit.tables.images import ForeignSystem
    from envkit.tables.loader import read

    if text.lower().startswith("jetson"):
        raise RequestError(f"--os: {text!r} is not an operating system.", "Pass the board: --gpu 'Jetson AGX Orin'.")
    row = next((row for row in read(ForeignSystem) if re.match(rf"{row.word}(?![a-z])", text.lower())), None)
    if row is not None:
        raise RequestError(f"--os: envkit does not plan for {row.title}: {row.reason}.", "Example: --os ubuntu24.04")


def is_compiled(name: str) -> bool:
    """True for software that is not covered, and holds code for GPUs of its own."""
    return any(row.compiled for row in _rows("framework", name))


def where_to_look(name: str) -> str:
    """What is known of such software, as a sentence that names it; '' for nothing."""
    row = next((row for row in _rows("framework", name) if row.look), None)
    return f"{row.title[0].upper()}{row.title[1:]}: {row.look}." if row is not None else ""


def _rows(kind: str, name: str) -> Iterator[NotCovered]:
    from envkit.tables.loader import read
    from envkit.tables.names import NotCovered

    return (row for row in read(NotCovered) if row.kind == kind and re.fullmatch(row.pattern, name.strip().lower()))
