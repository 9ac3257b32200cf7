"""Packages of nixpkgs, which are built without CUDA by default: pip cannot change what is in the store."""

from __future__ import annotations

from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.messages import said, seen
from envkit.checks.frameworks.installs import named_python
from envkit.model import Environment

_STORE = "/nix/store/"
WITH_CUDA = (
    "nixpkgs builds most packages without CUDA. Use the CUDA variant if there is one (ollama-cuda, "
    "python3Packages.torchWithCuda); override other packages (PACKAGE.override { cudaSupport = true; }), in a service "
    "through its package option (for Sunshine: services.sunshine.package = pkgs.sunshine.override { cudaSupport = "
    "true; }). For all packages at once: nixpkgs.config = { allowUnfree = true; cudaSupport = true; }, which compiles "
    "for hours unless a binary cache for CUDA has them (the wiki's CUDA page lists one). CUDA is unfree, so "
    "allowUnfree is needed either way. Then rebuild, and start the program or the service again."
)


def of_nixpkgs(environment: Environment) -> Remedy | None:
    """How nixpkgs provides CUDA, where the CPU build is in its store; None where it is elsewhere."""
    python = named_python(environment).executable
    stored = python.startswith(_STORE) or _STORE in said(environment, "cpu-only-wheel")
    return Remedy(WITH_CUDA) if stored or seen(environment, "nix-package-without-cuda") else None
