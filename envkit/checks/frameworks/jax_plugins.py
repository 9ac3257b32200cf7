"""JAX's plug-in for CUDA in the release of the jaxlib that is installed."""

from __future__ import annotations

from envkit.checks.engine.command import NAME, REQUIREMENT
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.messages import named, seen
from envkit.checks.frameworks.installs import distribution, named_python, pip
from envkit.model import Distribution, Environment, PythonEnvironment


def of_the_jaxlib(environment: Environment) -> Remedy | None:
    """What the warning asks for, whose releases it names; None where there is no such warning."""
    messages = seen(environment, "jax-no-cuda-plugin", "incompatible")
    plugin, jaxlib = named(messages, "plugin"), named(messages, "jaxlib")
    if plugin is None or jaxlib is None:
        return None
    name = plugin.replace("_", "-").rpartition("-")[0]
    return Remedy(
        f"The plug-in {named(messages, 'version')} is from a different release than jaxlib {jaxlib}: install the "
        "plug-in and its pjrt package in exactly that release, and pin both alongside jax, which does not pin them. "
        "Do not change jax.",
        (
            pip(
                named_python(environment),
                "install",
                REQUIREMENT(f"{name}-plugin=={jaxlib}"),
                REQUIREMENT(f"{name}-pjrt=={jaxlib}"),
            ),
        ),
    )


def of_one_release(python: PythonEnvironment, plugin: Distribution, jaxlib: Distribution) -> Remedy:
    """The plug-in and its pjrt in jaxlib's release; without both, where jaxlib itself was built with CUDA."""
    public, _, local = jaxlib.version.partition("+")
    pjrt = f"{plugin.name.removesuffix('-plugin')}-pjrt"
    if local.startswith("cuda"):
        beside = (NAME(pjrt),) if distribution(python, pjrt) is not None else ()
        return Remedy(
            f"jaxlib {jaxlib.version} includes CUDA itself and needs no plug-in: remove the one that is left over from "
            "another release, then start the program again.",
            (pip(python, "uninstall", "-y", NAME(plugin.name), *beside),),
        )
    return Remedy(
        "Install the same release of both, and of the plug-in's pjrt.",
        (pip(python, "install", REQUIREMENT(f"{plugin.name}=={public}"), REQUIREMENT(f"{pjrt}=={public}")),),
    )
