"""JAX's plug-in for CUDA in the release of the jaxlib that is installed."""

from __future__ import annotations

from envkit.checks.engine.command import REQUIREMENT
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.messages import named, seen
from envkit.checks.frameworks.installs import named_python, pip
from envkit.model import Environment


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
