"""The GCC of a machine, which nvcc and the driver's module are built with."""

from __future__ import annotations

from envkit.model import Environment, HostCompiler


def default_gcc(environment: Environment) -> HostCompiler | None:
    """The GCC that builds call where nobody names one; None where there is none or it is not known."""
    compilers = environment.host_compilers.get() if environment.host_compilers.known else ()
    return next((item for item in compilers if item.name == "gcc" and item.default), None)
