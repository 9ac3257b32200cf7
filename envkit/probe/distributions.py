"""Installed Python distributions, read from their metadata folders; only those that matter here are read in depth."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from envkit._startup.records import record
from envkit.base.metadata_fields import metadata_fields
from envkit.base.names import normalized
from envkit.base.versions import whole_number
from envkit.host.base import Host
from envkit.model import Distribution

RELEVANT = (  # how the names of distributions begin that are read in depth
    "torch", "tensorflow", "tf-", "nvidia-", "jax", "mxnet", "paddle", "cupy", "onnxruntime", "triton", "flash-attn",
    "xformers", "bitsandbytes", "numpy", "keras", "ctranslate2", "vllm", "deepspeed", "cuda-", "mindspore", "chainer",
    "tensorrt", "sgl-kernel", "flashinfer", "cudnn", "pytorch",
)  # fmt: skip
METADATA_BYTES = 60_000  # the header; a README may follow it
_RECORD_BYTES = 4_000_000
_MOST = 10_000  # distributions of one folder; the largest environments have some hundreds
_MOST_IN_DEPTH = 2000
_CLASHES_SHOWN = 3  # of each pair of distributions


def distributions_in(host: Host, folder: str, *, user_site: bool = False) -> Iterator[Distribution]:
    """The distributions of one site-packages folder, sorted by file name, and conda's own records next to it."""
    read = 0
    for entry, name, version in islice(_named(host.list_dir(folder).value or ()), _MOST):
        in_depth = read < _MOST_IN_DEPTH and name.startswith(RELEVANT)
        read += in_depth
        yield _distribution(host, f"{folder}/{entry}", name, version, user_site, in_depth)
    prefix = posixpath.dirname(posixpath.dirname(posixpath.dirname(folder)))
    yield from _conda_records(host, prefix)


def _named(entries: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    """The metadata folders among the entries of a folder, each with the name and version that it is named after."""
    for entry in entries:
        stem, extension = posixpath.splitext(entry)
        if extension in (".dist-info", ".egg-info") and "-" in stem:
            name, _, version = stem.partition("-")
            yield entry, normalized(name), version.split("-py")[0] if extension == ".egg-info" else version


@record
class Owner:
    """A distribution's claim on one file: the release of the distribution and the size it recorded, in bytes."""

    name: str
    version: str
    size: int | None


def file_owners(host: Host, installed: Iterable[Distribution]) -> Mapping[str, tuple[Owner, ...]]:
    """Who claims each file that NVIDIA's wheels installed, from their RECORD files; by full path."""
    owners: dict[str, list[Owner]] = {}
    named = (each for each in installed if each.installer != "conda" and each.name.startswith("nvidia-"))
    for distribution in islice(named, _MOST_IN_DEPTH):
        folder = posixpath.dirname(distribution.path)
        text = host.read_text(f"{distribution.path}/RECORD", _RECORD_BYTES).value or ""
        for line in text.splitlines():
            path, _, rest = line.partition(",")
            size = rest.rpartition(",")[2]
            claim = Owner(distribution.name, distribution.version, whole_number(size))
            owners.setdefault(f"{folder}/{path}", []).append(claim)
    return {path: tuple(claims) for path, claims in owners.items()}


def owners_clash(owners: Mapping[str, tuple[Owner, ...]]) -> tuple[str, ...]:
    """The files that two distributions claim, as `path: first, second`, without the package markers that they share.

    Of each pair of distributions the first few, libraries before headers.
    """
    pairs: dict[str, list[str]] = {}
    for path, claims in sorted(owners.items(), key=lambda item: (".so" not in item[0], item[0])):
        if len(claims) > 1 and not path.endswith((".py", ".pyc")):
            pairs.setdefault(", ".join(sorted(claim.name for claim in claims)), []).append(path)
    return tuple(f"{path}: {names}" for names, paths in pairs.items() for path in paths[:_CLASHES_SHOWN])


def _distribution(host: Host, path: str, name: str, version: str, user_site: bool, in_depth: bool) -> Distribution:
    if not in_depth:
        return Distribution(name, version, path, user_site=user_site)
    headers = _headers(host, path)
    return Distribution(
        name,
        (headers.get("version") or [version])[0],
        path,
        requires=tuple(headers.get("requires-dist", ())),
        wheel_tags=tuple(_wheel_tags(host, path)),
        installer=(host.read_text(f"{path}/INSTALLER", 100).value or "").strip(),
        user_site=user_site,
    )


def _headers(host: Host, path: str) -> Mapping[str, list[str]]:
    file_name = "METADATA" if path.endswith(".dist-info") else "PKG-INFO"
    return metadata_fields(host.read_text(f"{path}/{file_name}", METADATA_BYTES).value or "")


def _wheel_tags(host: Host, path: str) -> Iterator[str]:
    for line in (host.read_text(f"{path}/WHEEL", 4000).value or "").splitlines():
        key, _, value = line.partition(":")
        if key.strip().lower() == "tag":
            yield value.strip()


def _conda_records(host: Host, prefix: str) -> Iterator[Distribution]:
    """Conda's own records of packages that matter here; `installer` is conda and the build string is in the tags."""
    for entry in host.list_dir(f"{prefix}/conda-meta").value or ():
        stem = entry.removesuffix(".json")
        if stem == entry or stem.count("-") < 2:
            continue
        name, version, build = stem.rsplit("-", 2)
        if normalized(name).startswith(RELEVANT):
            yield Distribution(
                normalized(name), version, f"{prefix}/conda-meta/{entry}", wheel_tags=(build,), installer="conda"
            )
