"""Lists, filters and sorts the rows of any table by any column, for people who browse the matrix."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from envkit._startup.records import record, types_of
from envkit._startup.regex import regex
from envkit.base.errors import RequestError
from envkit.base.versions import ComputeCapability, Version, VersionSpec
from envkit.tables import Matrix

UNKNOWN = "unknown"
NONE = "none"  # a version that certainly is not there
_OTHER_WORDS = {
    "arch": ("architectures", "architecture"),
    "os": ("os_ids", "os_id"),
    "cc": ("compute_capability", "min_compute_capability"),
    "memory": ("memory_gb",),
    "bandwidth": ("memory_bandwidth_gbs",),
    "fp32": ("fp32_tflops",),
    "tdp": ("tdp_w",),
}
HEADERS = {
    "compute_capability": "CC", "memory_gb": "GB", "memory_bandwidth_gbs": "GB/s", "fp32_tflops": "TFLOPS",
    "tdp_w": "W", "pcie_generation": "PCIe", "pcie_lanes": "lanes", "tensor_cores": "Tensor Cores",
    "last_driver_branch": "last driver", "last_cuda": "CUDA", "newest_pytorch": "PyTorch",
    "newest_tensorflow": "TensorFlow", "archived_since": "ended",
    "min_compute_capability": "CC min", "max_compute_capability": "CC max",
    "minimum_driver": "driver", "minor_compatibility_driver": "driver (minor)",
    "minimum_windows_driver": "Windows driver",
    "release_date": "released",
    "driver_cuda_version": "CUDA", "os_id": "os", "os_ids": "os", "min_glibc": "glibc",
    "gpus_per_board": "GPUs", "nvlink_gbs": "NVLink", "tensor_fp16_tflops": "fp16", "tensor_tf32_tflops": "tf32",
    "newest_cuda": "newest CUDA", "oldest_gpu": "lowest CC", "multi_gpu": "multi-GPU", "pythons": "Python",
    "tensor_fp8_tflops": "fp8", "tensor_int8_tops": "int8", "sass": "binary code for", "ptx": "PTX for",
    "visual_studio": "VS", "frameworks.title": "framework", "last_release": "latest release",
}  # fmt: skip
_NUMBER = regex(r"(==|>=|<=|>|<|=)?\s*(\d+(?:\.\d+)?)")
_COMPARE: dict[str | None, Callable[[float, float], bool]] = {
    None: operator.eq, "=": operator.eq, "==": operator.eq,
    ">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt,
}  # fmt: skip


@record
class Listing:
    """One table to browse: `default` are the columns shown when none are chosen."""

    name: str
    title: str
    default: tuple[str, ...]
    rows: tuple[Any, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column of the table."""
        return tuple(types_of(type(self.rows[0]))) if self.rows else self.default


_LISTINGS: dict[str, tuple[str, tuple[str, ...]]] = {
    "toolkits": (
        "CUDA toolkits",
        ("version", "minimum_driver", "minimum_windows_driver", "gcc_max", "min_compute_capability",
         "max_compute_capability", "minor_compatibility_driver", "release_date"),
    ),
    "runfiles": ("CUDA installers", ("cuda", "architecture", "kind", "order", "name", "sha256")),
    "driver_branches": (
        "Driver branches",
        ("branch", "last_version", "driver_cuda_version", "families", "end_of_life", "kind", "first_version"),
    ),
    "gpus": (
        "GPUs",
        ("name", "compute_capability", "memory_gb", "memory_bandwidth_gbs", "fp32_tflops", "tdp_w", "pcie_generation",
         "pcie_lanes", "tensor_cores", "last_driver_branch", "variant"),
    ),
    "gpu_boards": (
        "GPU boards: form factors, links, rates",
        ("name", "variant", "form", "gpus_per_board", "ecc", "nvlink_gbs", "tensor_fp16_tflops", "tensor_tf32_tflops",
         "tensor_fp8_tflops", "tensor_int8_tops"),
    ),
    "cudnns": (
        "cuDNN builds",
        ("version", "cuda", "architecture", "supported_cuda", "minimum_driver", "pip_package", "archive"),
    ),
    "image_tags": ("nvidia/cuda image tags", ("tag", "state", "date", "cuda", "cudnn", "flavor", "os_id")),
    "framework_images": ("Framework images", ("repository", "tag", "version", "cuda", "cudnn", "python", "state")),
    "jetpacks": (
        "JetPack releases",
        ("l4t", "jetpack", "cuda", "cudnn", "tensorrt", "os_id", "compute_capabilities", "released"),
    ),
    "frameworks": ("Frameworks", ("name", "title", "packages", "archived", "note")),
    "package_requirements": (
        "CUDA library packages required by builds", ("package", "place", "architectures", "requires"),
    ),
    "package_files": ("Files owned by more than one package", ("file", "package", "versions")),
    "operating_systems": (
        "Distributions",
        ("os_id", "glibc", "default_gcc", "default_python", "other_pythons", "end_of_support", "base_image"),
    ),
    "python_sources": ("Sources of Python", ("way", "python", "exact", "os_ids", "min_glibc")),
    "sources": ("Sources", ("key", "title", "url")),
}  # fmt: skip
_MEMBERS = {"runfiles": "all_runfiles"}
_BUILD_COLUMNS = ("version", "cuda", "cudnn", "pythons", "sass", "ptx", "package", "min_glibc", "note")
_ALIASES = {
    "cuda": "toolkits", "toolkit": "toolkits", "drivers": "driver_branches", "driver": "driver_branches",
    "gpu": "gpus", "boards": "gpu_boards",
    "cudnn": "cudnns", "images": "image_tags", "jetson": "jetpacks", "tags": "image_tags", "os": "operating_systems",
    "python": "python_sources", "pythons": "python_sources",
}  # fmt: skip


def table_names(matrix: Matrix) -> tuple[str, ...]:
    """Every table that can be listed: the general ones, then the builds of each framework."""
    return (*_LISTINGS, *(framework.name for framework in matrix.frameworks))


def listing(name: str, matrix: Matrix) -> Listing:
    """The table of this name, alias or framework. Raises RequestError for another word, nearest names first."""
    word = name.lower().replace("-", "_")
    word = _ALIASES.get(word, word)
    if word in _LISTINGS:
        title, default = _LISTINGS[word]
        return Listing(word, title, default, getattr(matrix, _MEMBERS.get(word, word)))
    framework = matrix.framework(name)
    if framework is None:
        raise RequestError.unknown_value("TABLE", name, table_names(matrix), "envkit matrix")
    return Listing(framework.name, f"{framework.title} builds", _BUILD_COLUMNS, matrix.builds(framework.name))


def header_of(column: str, table: str = "") -> str:
    """The word that is above a column for people; some are another one in one table."""
    return HEADERS.get(f"{table}.{column}") or HEADERS.get(column, column.replace("_", " "))


def column_of(table: Listing, word: str) -> str:
    """The column that `word` names: its name, its singular, a shorter word, or the one above it when it is printed.

    Raises RequestError for another.
    """
    name = _plain(word)
    printed = (column for column in (*table.default, *table.columns) if _plain(header_of(column, table.name)) == name)
    for candidate in (name, f"{name}s", *_OTHER_WORDS.get(name, ()), *printed):
        if candidate in table.columns:
            return candidate
    valid = [column.replace("_", "-") for column in table.columns]
    listing = f"envkit matrix {table.name} --columns all"
    raise RequestError.unknown_value(table.name, word, valid, listing, kind="column")


def _plain(word: str) -> str:
    return word.strip().lower().replace("-", "_").replace(" ", "_")


def selected(
    table: Listing,
    filters: Iterable[tuple[str, str]],
    words: Iterable[str],
    means: Callable[[str, Any], bool] = lambda word, row: False,
) -> tuple[Any, ...]:
    """The rows for which every (column, value) filter holds and in which every word occurs, or which it `means`.

    Raises RequestError for a column or a value that cannot be.
    """
    kept = table.rows
    for word, value in filters:
        column = column_of(table, word)
        holds = _condition(table, column, value)
        kept = tuple(row for row in kept if holds(getattr(row, column)))
    for word in words:
        wanted = word.lower()
        kept = tuple(
            row for row in kept if any(wanted in text.lower() for text in texts(row, table.columns)) or means(word, row)
        )
    return kept


def cells(row: Any, columns: Sequence[str]) -> list[Any]:  # noqa: ANN401 - a row of any table
    """The values of the row in these columns."""
    return [getattr(row, name) for name in columns]


def texts(row: Any, columns: Sequence[str]) -> list[str]:  # noqa: ANN401 - a row of any table
    """The values of the row as they are in the table's file: unknown is empty, certainly none is `-`."""
    kinds = types_of(type(row))
    return [
        "-" if value == () and kinds[name].endswith("None") else cell_text(value)
        for name, value in zip(columns, cells(row, columns), strict=True)
    ]


def ordered(rows: tuple[Any, ...], column: str, descending: bool) -> tuple[Any, ...]:
    """The rows by the value of `column`; those whose value is unknown are last either way."""
    known = [row for row in rows if getattr(row, column) is not None]
    unknown = [row for row in rows if getattr(row, column) is None]
    return (*sorted(known, key=lambda row: getattr(row, column), reverse=descending), *unknown)


def cell_text(cell: object) -> str:
    """A value in a table's file: parts joined by `;`, y or n, unknown empty."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "y" if cell else "n"
    if isinstance(cell, float):
        return f"{cell:g}"
    if isinstance(cell, tuple):
        return ";".join(map(str, cell))
    return str(cell)


def _condition(table: Listing, column: str, value: str) -> Callable[[Any], bool]:
    kind = types_of(type(table.rows[0]))[column] if table.rows else "str"
    if value.lower() == UNKNOWN:
        return lambda cell: cell is None or cell == () or cell == ""
    if value.lower() == NONE and "Version" in kind:
        return lambda cell: str(cell) == NONE
    try:
        holds = _value_condition(kind, value)
    except ValueError as error:
        raise RequestError(f"--{column.replace('_', '-')}: {error}.", "See: envkit matrix --help") from error
    if kind.startswith("tuple"):
        return lambda cell: any(holds(part) for part in cell or ())
    return lambda cell: cell is not None and holds(cell)


def _value_condition(kind: str, value: str) -> Callable[[Any], bool]:
    if "Version" in kind:
        return _version_condition(VersionSpec.parse(value))
    if "ComputeCapability" in kind:
        return _capability_condition(value)
    if "bool" in kind:
        if value.lower() not in ("y", "yes", "true", "n", "no", "false"):
            raise ValueError(f"not yes or no: {value!r}")
        wanted = value.lower()[0] in "yt"
        return lambda cell: cell is wanted
    if "int" in kind or "float" in kind:
        match = _NUMBER.fullmatch(value.strip())
        if not match:
            raise ValueError(f"not a number or a bound such as >=24: {value!r}")
        compare, bound = _COMPARE[match[1]], float(match[2])
        return lambda cell: compare(float(cell), bound)
    return lambda cell: value.lower() in cell.lower()


def _version_condition(spec: VersionSpec) -> Callable[[Version], bool]:
    exact = spec.exact
    # a row for a whole line (CUDA 12) also answers the question for one release of it (12.4)
    line = exact or Version(())
    return lambda cell: str(cell) != NONE and (spec.holds(cell) or (len(cell.parts) == 1 and line.starts_with(cell)))


def _capability_condition(value: str) -> Callable[[ComputeCapability], bool]:
    if value.strip()[0] in "<>=!~":
        spec = VersionSpec.parse(value)
        return lambda cell: spec.holds(Version.of(cell.major, cell.minor))
    wanted = ComputeCapability.parse(value)
    return lambda cell: cell == wanted
