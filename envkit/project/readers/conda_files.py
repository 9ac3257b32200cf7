"""What conda reads and writes: environment.yml, conda-lock.yml, pixi.toml, pixi.lock, and its lists of packages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from envkit._startup.records import replace
from envkit._startup.regex import regex
from envkit.base.errors import SourceError
from envkit.base.versions import Version
from envkit.base.yaml_subset import Text, parse
from envkit.dockerfile.packages import Places
from envkit.project.model import Beside, Item, Manifest, Unread
from envkit.project.places import Lines, at_index, entries, item, mapping, of_channels, sorted_out
from envkit.project.readers import requirements_txt

_CUDA_BUILD = regex(r"cuda_?(\d{1,2}\.\d{1,2}|\d{2,3})")
_CPU_BUILD = regex(r"(?:^|_)cpu(?:_|$)")
_FILE = regex(r"(?P<name>.+)-(?P<version>[^-]+)-(?P<build>[^-]+?)(?:\.conda|\.tar\.bz2)")
_PLATFORMS = {"x86_64": "linux-64", "aarch64": "linux-aarch64", "windows": "win-64"}
_LINUX = ("linux", "linux-64", "unix")
_GPU_PACKAGES = ("pytorch-gpu", "tensorflow-gpu")  # of conda-forge, which require a build for CUDA
_FRAMEWORKS = ("pytorch", "pytorch-gpu", "libtorch", "tensorflow", "tensorflow-gpu", "jaxlib", "cupy")
_WITH_CUDA = ("cudnn", "nccl", "faiss", "faiss-gpu", "libfaiss", "torchvision", "torchaudio", "onnxruntime")


def _of_specs(kind: str, specs: Iterable[tuple[str, int]], channels: Sequence[str], **more: Any) -> Manifest:  # noqa: ANN401
    """The manifest of conda's specs, each with its line."""
    places = of_channels(*channels)
    found = [one for text, line in specs for one in _of_spec(text, line, places)]
    items, unread = sorted_out(found)
    return _with_python(Manifest(kind, items, unread, **more))


def _of_spec(text: str, line: int, places: Places) -> Iterator[Item | Unread | None]:
    """A spec, and the CUDA or the lack of it that the name of its build tells."""
    spec = text.replace(" ", "=", 1) if "=" not in text and "<" not in text and ">" not in text else text
    name = spec.partition("::")[2] or spec
    one = item(spec.rstrip("=* ").removesuffix("."), line, places, index="conda")
    yield one
    build = name.split("=")[-1] if name.count("=") > 1 else ""
    if isinstance(one, Item) and build:
        yield from _of_build(one.package.name, build, line, places, text)


def _of_build(name: str, build: str, line: int, places: Places, text: str) -> Iterator[Item | Unread | None]:
    cuda = _CUDA_BUILD.search(build) if name in (*_FRAMEWORKS, *_WITH_CUDA) else None
    if cuda is not None:
        yield item(f"cuda-version={_cuda(cuda[1])}", line, places, index="conda", written=text)
    elif name in _FRAMEWORKS and _CPU_BUILD.search(build):
        yield item("cpuonly", line, places, index="conda", written=text)


def _cuda(digits: str) -> str:
    """The CUDA that the name of a build tells: 118 is 11.8, 12 is a major alone, 92 is 9.2."""
    if "." in digits or (len(digits) == 2 and digits.startswith("1")):
        return digits
    return f"{digits[:-1]}.{digits[-1]}"


def _with_python(manifest: Manifest) -> Manifest:
    """The manifest with the Python that conda installs, where it says one."""
    for one in manifest.items:
        if one.package.name == "python" and one.package.tool == "conda":
            version = Version.find(one.package.spec)
            if version is not None and not set(one.package.spec) & set("<>!~,"):
                return replace(manifest, python=version.release(2))
    return manifest


# ---- conda list --export


def read_list(text: str) -> Manifest:
    """The lists that `conda list` writes: `name=version=build` on each line (--export), or addresses (--explicit)."""
    lines = [
        (line.strip(), number)
        for number, line in enumerate(text.splitlines(), 1)
        if line.strip() and not line.startswith(("#", "@"))
    ]
    if not any("://" in line for line, _ in lines):
        return _of_specs("conda list", lines, channels=())
    found = [one for line, number in lines for one in _of_file(line.partition("#")[0], number)]
    items, unread = sorted_out(found)
    return _with_python(Manifest("conda list", items, unread, locked=True))


# ---- environment.yml


def read_environment(text: str, beside: Beside, kind: str = "environment.yml") -> Manifest:
    """What `conda env create -f` installs, with its section for pip."""
    document = parse(text)
    listed = document.get("dependencies") if isinstance(document, dict) else None
    if not isinstance(listed, list):
        raise SourceError("it has no list of dependencies.", "Pass a conda environment.yml.")
    channels = [str(one) for one in entries(document.get("channels"))]
    specs = [(str(one), getattr(one, "line", 0)) for one in listed if isinstance(one, Text)]
    manifest = _of_specs(kind, specs, channels)
    for one in listed:
        if isinstance(one, dict):
            manifest = _with_pip(manifest, entries(one.get("pip")), beside)
    return manifest


def _with_pip(manifest: Manifest, words: Sequence[Any], beside: Beside) -> Manifest:
    """The manifest with what its section for pip names, which is written as requirements are."""
    lines = [one for one in words if isinstance(one, Text)]
    found = requirements_txt.read("\n".join(lines), beside)
    numbers = [one.line for one in lines]

    def placed(one: Item) -> Item:
        if one.file:
            return one
        line = numbers[one.package.line - 1]
        index_line = numbers[one.index_line - 1] if one.index_line else 0
        return replace(one, package=replace(one.package, line=line), index_line=index_line)

    unread = [one if one.file else replace(one, line=numbers[one.line - 1]) for one in found.unread]
    return replace(manifest, items=(*manifest.items, *map(placed, found.items)), unread=(*manifest.unread, *unread))


# ---- locks


def read_conda_lock(text: str, architecture: str, platform: str) -> Manifest:
    """The packages that conda-lock pinned for a platform."""
    document = parse(text)
    wanted = _PLATFORMS["windows" if platform == "windows" else architecture]
    found: list[Item | Unread | None] = []
    for one in entries(document.get("package") if isinstance(document, dict) else None):
        if not isinstance(one, dict) or one.get("platform") != wanted:
            continue
        name, version, line = str(one.get("name", "")), str(one.get("version", "")), getattr(one.get("name"), "line", 0)
        if one.get("manager") == "pip":
            found.append(item(f"{name}=={version}", line, _place_of(str(one.get("url", "")))))
        else:
            found += _of_file(str(one.get("url", "")), line) or _of_spec(f"{name}={version}", line, _channel(""))
    items, unread = sorted_out(found)
    return _with_python(Manifest("conda-lock.yml", items, unread, locked=True))


def read_pixi_lock(text: str, architecture: str, platform: str) -> Manifest:
    """The packages of the environment `default` in a pixi.lock."""
    environments = mapping(mapping(parse(_without_details(text))).get("environments"))
    packages = mapping(mapping(environments.get("default")).get("packages"))
    found: list[Item | Unread | None] = []
    for one in entries(packages.get(_PLATFORMS["windows" if platform == "windows" else architecture])):
        for manager, url in mapping(one).items():
            line = getattr(url, "line", 0)
            if manager == "conda":
                found += _of_file(str(url), line)
            elif manager == "pypi" and ".whl" in url:
                found.append(item(str(url), line, _place_of(str(url))))
    items, unread = sorted_out(found)
    return _with_python(Manifest("pixi.lock", items, unread, locked=True))


def _without_details(text: str) -> str:
    """A pixi.lock without its second half, which tells each package's sums and licenses."""
    end = text.find("\npackages:\n")
    return text if end < 0 else text[:end]


def _of_file(url: str, line: int) -> list[Item | Unread | None]:
    """What the name of a package file of conda says."""
    folder, _, name = unquote(url).rpartition("/")
    match = _FILE.fullmatch(name)
    if match is None:
        return []
    places = _channel(folder)
    one = item(f"{match['name']}=={match['version']}", line, places, index="conda", written=url)
    return [one, *_of_build(match["name"], match["build"], line, places, url)]


def _channel(folder: str) -> Places:
    return of_channels(*folder.split("/")[-2:-1])


def _place_of(url: str) -> Places:
    return at_index(url.rpartition("/")[0]) if "pytorch.org" in url else at_index("")


# ---- pixi.toml, and tool.pixi of a pyproject.toml


def read_pixi(document: Mapping[str, Any], lines: Lines, kind: str = "pixi.toml") -> Manifest:
    """What pixi installs for Linux, features as groups."""
    head = mapping(document.get("workspace") or document.get("project"))
    channels = [str(one.get("channel", "") if isinstance(one, dict) else one) for one in entries(head.get("channels"))]
    found: list[Item | Unread | None] = []
    tables = {"": document, **{name: mapping(one) for name, one in mapping(document.get("feature")).items()}}
    always = _of_default(document)
    for name, table in tables.items():
        group = "" if name in always else name
        targets = mapping(table.get("target"))
        for part in (table, *(mapping(targets.get(name)) for name in _LINUX)):
            found += _conda_table(mapping(part.get("dependencies")), channels, lines, group)
            found += _pypi_table(mapping(part.get("pypi-dependencies")), document, lines, group)
    items, unread = sorted_out(found)
    floor = Version.find(str(_cuda_of(document)))
    extras = tuple(name for name in tables if name and name not in always)
    apart = () if floor else tuple(one for table in tables.values() for one in _undeclared(table, lines))
    return _with_python(Manifest(kind, items, unread, driver_cuda=floor, undeclared=apart, extras=extras))


def _of_default(document: Mapping[str, Any]) -> set[str]:
    """The features of the environment that pixi takes where none is named."""
    default = mapping(document.get("environments")).get("default")
    given = mapping(default)
    return {str(name) for name in entries(given.get("features") if given else default)}


def _undeclared(table: Mapping[str, Any], lines: Lines) -> Iterator[Unread]:
    """The packages that pixi takes only on a system with CUDA, where a feature does not say that it has one."""
    targets = mapping(table.get("target"))
    for part in (table, *(mapping(targets.get(name)) for name in _LINUX)) if not _cuda_of(table) else ():
        for name, value in mapping(part.get("dependencies")).items():
            if "cuda" in str(mapping(value).get("build", "")) or name in _GPU_PACKAGES:
                yield Unread(lines.key(name), name)


def _cuda_of(document: Mapping[str, Any]) -> object:
    return mapping(document.get("system-requirements")).get("cuda", "")


def _conda_table(
    table: Mapping[str, Any], channels: Sequence[str], lines: Lines, group: str
) -> Iterator[Item | Unread | None]:
    for name, value in table.items():
        given = mapping(value)
        version = str(given.get("version", "") if given else value if isinstance(value, str) else "")
        build, channel = str(given.get("build", "")), str(given.get("channel", ""))
        operator = "" if not version or version[0] in "<>=!~" else "="
        spec = f"{name}{operator}{version}".replace(" ", "").rstrip("=*").removesuffix(".")
        line = lines.key(name)
        places = of_channels(channel) if channel else of_channels(*channels)
        found = item(spec, line, places, index="conda", group=group)
        yield found
        if build and isinstance(found, Item):
            yield from _of_build(name, build, line, places, spec)


def _pypi_table(
    table: Mapping[str, Any], document: Mapping[str, Any], lines: Lines, group: str
) -> Iterator[Item | Unread | None]:
    options = mapping(document.get("pypi-options"))
    more = " ".join(str(one) for one in entries(options.get("extra-index-urls")))
    for name, value in table.items():
        given = mapping(value)
        if "path" in given or "git" in given or "url" in given:
            continue
        version = str(given.get("version", "") if given else value).strip("* ")
        extras = "".join(f"[{','.join(map(str, given['extras']))}]" if isinstance(given.get("extras"), list) else "")
        index = str(given.get("index", "") or options.get("index-url", ""))
        places = Places(index, more, (), "", False)
        line = lines.quoted(index) if index else 0
        spec = version if not version or version[0] in "<>=!~" else f"=={version}"
        yield item(f"{name}{extras}{spec}", lines.key(name), places, group=group, index_line=line)
