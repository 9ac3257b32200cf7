"""Container engines: Docker through its SDK, the NVIDIA container toolkit's files, CDI specifications, Podman."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from envkit._startup.regex import regex
from envkit.base.json_text import loads
from envkit.base.versions import Version
from envkit.host.base import Host
from envkit.model import DockerEngine, MachineKind, Observed, Problem, found, missing
from envkit.probe.machine import machine_kind
from envkit.probe.relevant import engine_settings, toolkit_settings
from envkit.probe.text import Facts, derived, first_known, texts_of

PATHS = (
    "containers.docker_client",
    "containers.buildx",
    "containers.container_toolkit",
    "containers.daemon_json",
    "containers.cdi_specs",
    "containers.cdi_missing_paths",
    "containers.toolkit_config",
    "containers.podman",
    "containers.injected",
    "containers.device_links",
)
DAEMON_FILES = ("/etc/docker/daemon.json", "/var/snap/docker/current/config/daemon.json")
CDI_FOLDERS = ("/etc/cdi", "/var/run/cdi")
_CDI_KIND = regex(r"""["']?kind["']?\s*:\s*["']?nvidia\.com/(?:gpu|mig)""")
_CDI_PATH = regex(r"""^[ \t-]*["']?(?:hostPath|path)["']?[ \t]*:[ \t]*["']?(/[^"'\s,]+)""", re.MULTILINE)
TOOLKIT_CONFIG = "/etc/nvidia-container-runtime/config.toml"
_SPEC_BYTES = 4_000_000  # of one CDI specification
_CONFIG_BYTES = 65_536  # the one that is shipped has two thousand
TOOLKIT_PROGRAMS = ("nvidia-ctk", "nvidia-container-runtime", "nvidia-container-runtime-hook")
PLUGIN_FOLDERS = (
    "/usr/local/lib/docker/cli-plugins",
    "/usr/local/libexec/docker/cli-plugins",
    "/usr/lib/docker/cli-plugins",
    "/usr/libexec/docker/cli-plugins",
)
_COMMAND_LIMIT_S = 3.0


def probe(host: Host) -> Facts:
    """Every fact of `containers` but the engine's own answer."""
    specs = _cdi_specs(host)
    return {
        "containers.docker_client": _version_of(host, "docker"),
        "containers.buildx": _buildx(host),
        "containers.container_toolkit": _toolkit(host),
        "containers.daemon_json": _daemon_json(host),
        "containers.cdi_specs": specs,
        "containers.cdi_missing_paths": derived(specs, lambda paths: _missing_paths(host, paths)),
        "containers.toolkit_config": derived(host.read_text(TOOLKIT_CONFIG, _CONFIG_BYTES), _settings),
        "containers.podman": _version_of(host, "podman"),
        "containers.injected": _injected(host),
        "containers.device_links": _device_links(host),
    }


def engine(host: Host, limit_s: float) -> Facts:
    """`containers.docker`, what the engine answers about itself."""
    return {"containers.docker": _engine(host, limit_s)}


def _engine(host: Host, limit_s: float) -> Observed[DockerEngine]:
    answer = host.query("docker", limit_s)
    if answer.value is None:
        return derived(answer, lambda value: None)
    url = str(answer.value.get("url", "docker"))
    version, info = answer.value.get("version"), answer.value.get("info")
    if not isinstance(version, Mapping) or not isinstance(info, Mapping):
        return _no_answer(url, str(answer.value.get("error", "no answer")))
    client = host.which("docker").value or ""
    return found(
        _described(version, info, "/snap/" in (host.real_path(client).value or "") + str(info.get("DockerRootDir"))),
        url,
    )


def _no_answer(url: str, error: str) -> Observed[DockerEngine]:
    words = error.lower()
    if "permission denied" in words:
        return missing(Problem.DENIED, url, error)
    if "timed out" in words or "timeout" in words:
        return missing(Problem.TIMED_OUT, url, error)
    return missing(Problem.ABSENT, url, error)


def _described(version: Mapping[str, Any], info: Mapping[str, Any], snap: bool) -> DockerEngine:
    folders = info.get("CDISpecDirs")
    return DockerEngine(
        Version.find(str(version.get("Version", ""))),
        Version.find(str(version.get("ApiVersion", ""))),
        _words(info.get("Runtimes")),
        str(info.get("DefaultRuntime", "")),
        None if folders is None else _words(folders),
        any("name=rootless" in option for option in _words(info.get("SecurityOptions"))),
        str(info.get("OperatingSystem", "")),
        str(info.get("CgroupDriver", "")),
        str(info.get("DockerRootDir", "")),
        snap,
    )


def _words(value: object) -> tuple[str, ...]:
    """The words of a list; an engine of another kind may give anything else."""
    return tuple(str(item) for item in value) if isinstance(value, list) else ()


def _version_of(host: Host, program: str) -> Observed[Version]:
    """What `PROGRAM --version` says."""
    path = host.which(program)
    if path.value is None:
        return derived(path, lambda value: None)
    return derived(host.run([path.value, "--version"], _COMMAND_LIMIT_S), lambda result: Version.find(result.stdout))


def _buildx(host: Host) -> Observed[str]:
    """The path of the buildx plugin that the docker client would start."""
    home = host.identity().get("home")
    folders = [f"{home}/.docker/cli-plugins", *PLUGIN_FOLDERS] if home else list(PLUGIN_FOLDERS)
    answers = [host.real_path(f"{folder}/docker-buildx") for folder in folders]
    return first_known(answers)


def _toolkit(host: Host) -> Observed[Version]:
    """The version of the NVIDIA container toolkit's programs; ABSENT when none of them is on PATH."""
    for program in TOOLKIT_PROGRAMS:
        path = host.which(program)
        if path.value is not None:
            result = host.run([path.value, "--version"], _COMMAND_LIMIT_S)
            return derived(result, lambda result: Version.find(result.stdout))
    return derived(host.which(TOOLKIT_PROGRAMS[0]), lambda path: None)


def _daemon_json(host: Host) -> Observed[Mapping[str, object]]:
    home = host.identity().get("home")
    paths = (*DAEMON_FILES, f"{home}/.config/docker/daemon.json") if home else DAEMON_FILES
    settings = derived(first_known([host.read_text(path) for path in paths]), json_object, "not a JSON object")
    return derived(settings, engine_settings)


def json_object(text: str) -> Mapping[str, object] | None:
    """The object that a JSON text holds, None for other text."""
    try:
        data = loads(text)
    except ValueError:
        return None
    return data if isinstance(data, dict) else None


def _cdi_specs(host: Host) -> Observed[tuple[str, ...]]:
    """Specification files whose kind is an NVIDIA device; ABSENT when no folder holds one."""
    folders = [host.list_dir(folder) for folder in CDI_FOLDERS]
    paths = [
        f"{folder}/{name}" for folder, names in zip(CDI_FOLDERS, folders, strict=True) for name in names.value or ()
    ]
    specs = [path for path, text in texts_of(host, paths, _SPEC_BYTES) if _CDI_KIND.search(text)]
    if specs:
        return found(tuple(specs), ", ".join(CDI_FOLDERS))
    if any(folder.known for folder in folders):
        return missing(Problem.ABSENT, ", ".join(CDI_FOLDERS), "no specification for NVIDIA GPUs")
    return derived(first_known(folders), lambda names: None)


def _missing_paths(host: Host, specs: tuple[str, ...]) -> tuple[str, ...]:
    paths = (path for _, text in texts_of(host, specs, _SPEC_BYTES) for path in _CDI_PATH.findall(text))
    return tuple(path for path in dict.fromkeys(paths) if host.status(path).absent)


def kept_specification(text: str) -> str:
    """The kind of a CDI specification and the paths that it names, for a recording."""
    kind = "kind: nvidia.com/gpu\n" if _CDI_KIND.search(text) else ""
    return kind + "".join(f"hostPath: {path}\n" for path in _CDI_PATH.findall(text))


def kept_settings(text: str) -> str:
    """The settings of config.toml that matter, for a recording; text of another shape stays unreadable."""
    settings = _settings(text)
    return "=" if settings is None else "".join(f"{name} = {json.dumps(value)}\n" for name, value in settings.items())


def _settings(text: str) -> dict[str, str] | None:
    """The settings of config.toml that matter, by dotted key, as text."""
    from envkit.base.toml_text import toml_table

    try:
        return toolkit_settings(dict(_flat("", toml_table(text))))
    except (ValueError, RecursionError):  # a key with thousands of dots is a table as deep as that
        return None


def _flat(prefix: str, table: Mapping[str, Any]) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    for key, value in table.items():
        if isinstance(value, Mapping):
            pairs += _flat(f"{prefix}{key}.", value)
        else:
            pairs.append((prefix + key, str(value).lower() if isinstance(value, bool) else str(value)))
    return pairs


def _injected(host: Host) -> Observed[bool]:
    """Inside a container: whether the driver's nodes or libraries were put in; ABSENT elsewhere."""
    kind = machine_kind(host)
    if kind.value is None:
        return derived(kind, lambda value: None)
    if kind.value is not MachineKind.CONTAINER:
        return missing(Problem.ABSENT, kind.source, "not a container")
    mounts = host.read_text("/proc/self/mountinfo", 16_000_000).value or ""
    mounted = bool(re.search(r"/libcuda\.so|/libnvidia-ml\.so|/nvidia-smi", mounts))
    return found(mounted or host.status("/dev/nvidiactl").known, "/proc/self/mountinfo")


def _device_links(host: Host) -> Observed[bool]:
    """Whether /dev/char links to the driver's nodes: without them systemd takes the GPU from running containers."""
    names = host.list_dir("/dev/char")
    return derived(names, lambda names: any(name.startswith("195:") for name in names))
