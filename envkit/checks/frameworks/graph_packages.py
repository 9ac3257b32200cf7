"""The compiled packages of PyTorch Geometric, from the page of wheels for the torch that is installed."""

from __future__ import annotations

from envkit.base.sentences import series
from envkit.base.versions import Version
from envkit.checks.engine.command import NAME, URL, fixed
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.messages import named, said, seen
from envkit.checks.frameworks.installs import (
    distribution,
    first_python,
    installs,
    local_tag,
    named_python,
    pip,
    release,
)
from envkit.model import Environment

_ID = "extension-abi-mismatch"
_NAMES = ("pyg-lib", "torch-scatter", "torch-sparse", "torch-cluster", "torch-spline-conv")
_PAGE = "https://data.pyg.org/whl/torch-{}+{}.html"
_ANEW = ("--no-cache-dir", "--no-deps", "--no-index")  # not the wheel that pip compiled before, nor a source


def of_pyg(environment: Environment) -> Remedy | None:
    """Those that the messages name; None where the release of torch or its CUDA is not known."""
    text = said(environment, _ID).lower().replace("_", "-")
    names = [name for name in _NAMES if name in text]
    own, tag = _torch(environment)
    if not names or own is None or not tag:
        return None
    if "torch-sparse" in names and "torch-scatter" not in names:
        names.insert(0, "torch-scatter")  # it loads that one
    python = named_python(environment)
    other = named(seen(environment, _ID, "other-cuda"), "theirs")
    compiled = (
        f" pip compiled them with the nvcc that it found, of CUDA {other}, and takes that result from its cache again."
        if other
        else ""
    )
    return Remedy(
        f"What is installed of {series(names)} is not for torch {own}+{tag}.{compiled} Remove "
        "what is there, and install the wheels of the page for this torch, without the cache and without sources; keep "
        "torch itself. If the last command shows another torch (of a second installation, or conda's beside pip's), "
        "write its release and CUDA into the address. If the page has no wheel for this Python, compile with nvcc of "
        "torch's CUDA, or use a torch that has one. Correct the address in notebooks and requirements files, too.",
        (
            pip(python, "uninstall", "-y", *map(NAME, names)),
            pip(python, "install", *_ANEW, *map(NAME, names), "-f", URL(_PAGE.format(own, tag))),
            fixed("python -c 'import torch; print(torch.__file__, torch.__version__, torch.version.cuda)'"),
        ),
    )


def _torch(environment: Environment) -> tuple[Version | None, str]:
    """The installed release of torch, and the tag of its CUDA: its own, or the one that the text tells."""
    python = first_python(environment)
    torch = distribution(python, "torch")
    own = release(torch.version) if torch is not None else None
    tag = local_tag(torch.version) if torch is not None else ""
    if own is None or tag.startswith("cu"):
        return own, tag
    page = next(iter(seen(environment, _ID, "detail-pyg-page")), None)
    if page is not None and Version.find(page.values.get("torch") or page.values.get("release") or "") == own:
        return own, page.values.get("tag") or page.values.get("build") or ""
    built = next((item.framework.cuda for item in installs(environment, "pytorch") if item.framework.cuda), None)
    cuda = built or Version.find(named(seen(environment, _ID, "other-cuda"), "torchs") or "")
    return own, f"cu{str(cuda.release(2)).replace('.', '')}" if cuda is not None else ""
