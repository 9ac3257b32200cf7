"""What envkit has installed on this machine, for people, in lines of the terminal's width."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from envkit.base.sentences import series
from envkit.base.wrap import hang
from envkit.install.registry import LINK, InstalledPlan, Use

_LABELS = {
    "toolkit": "CUDA",
    "cudnn": "cuDNN",
    "link": "Link",
    "environment": "Python",
    "framework": "Framework",
    "driver": "Driver",
    "module": "Module",
}


def installed_text(
    plans: Sequence[InstalledPlan], link: str | None, others: Sequence[str], width: int, *, verbose: bool
) -> str:
    """The plans, oldest first, then where the link leads and what others have installed."""
    lines = [line for plan in plans for line in (*_plan(plan, width, verbose=verbose), "")]
    if not plans:
        lines = ["envkit has not installed anything here.", ""]
    if link is not None:
        lines += hang("", f"{LINK} points to {link}.", width)
    if others:
        lines += hang("", f"Not installed by envkit: {', '.join(others)}", width)
    return "\n".join(lines).rstrip("\n")


def _plan(plan: InstalledPlan, width: int, *, verbose: bool) -> Iterator[str]:
    state = "" if plan.state == "complete" else f", {plan.state.replace('-', ' ')}"
    owner = "" if plan.for_all else ", for this user"
    yield from hang("", f"{plan.name}  ({plan.since[:10]}{owner}{state})", width)
    for use in plan.uses:
        if use.kind in _LABELS:
            yield from hang(f"  {_LABELS[use.kind]:<10} ", _use(use, plan.name), width)
    for label, words in (("Packages", plan.packages), ("Files", plan.files)) if verbose else ():
        if words:
            yield from hang(f"  {label:<10} ", ", ".join(words), width)


def _use(use: Use, plan: str) -> str:
    place = f" in {use.what}" if use.kind in ("toolkit", "cudnn", "environment", "framework") else ""
    words = f"{use.detail.removeprefix('Python ')}{place}"
    if use.kind == "link":
        words = use.what
    if use.here is False:
        words += ", which does not exist"
    elif use.installed_by is None and use.kind in ("toolkit", "environment"):
        words += ", which was already here"
    elif use.installed_by not in (None, plan):
        words += f", installed by {use.installed_by}"
    return words + (f"; also used by {', '.join(use.used_by)}" if use.used_by and use.kind != "link" else "")


def removal_text(plans: Sequence[InstalledPlan], width: int) -> str:
    """What removing these plans takes away, and what stays for others."""
    going = {plan.name for plan in plans}
    lines: list[str] = []
    for plan in plans:
        lines += hang("", plan.name, width)
        shared = ((use.what, [user for user in use.used_by if user not in going]) for use in plan.shared)
        stays = {what: users for what, users in shared if users}
        own = [use.what for use in plan.of("toolkit", "environment") if use.installed_by == plan.name]
        for label, words in (
            ("Removes", [what for what in own if what not in stays]),
            ("Packages", plan.packages),
            ("Files", plan.files),
            ("Keeps", [f"{what} (used by {series(users)})" for what, users in stays.items()]),
        ):
            if words:
                lines += hang(f"  {label:<9} ", ", ".join(words), width)
    lines += hang("", "Files in these directories that envkit did not create are kept and listed.", width)
    return "\n".join(lines)
