"""envkit provisions and diagnoses GPU deep-learning environments.

`diagnose`, `facts`, `resolve` and `check`, and the records that they give, are loaded when they are first used.
docs/library.md shows them.
"""

TYPE_CHECKING = False  # a type checker takes it for typing's, whose import costs more than this whole module
if TYPE_CHECKING:
    from envkit.api.front import check, diagnose, facts, resolve
    from envkit.api.report import FileReport, Report
    from envkit.base.errors import EnvkitError, LimitError, RequestError, SourceError
    from envkit.checks.engine.findings import Finding, Status
    from envkit.documents.verdict import Verdict
    from envkit.model import Environment
    from envkit.solver.model import NoPlan, Plan

__version__ = "0.1.0"

__all__ = [
    "Environment",
    "EnvkitError",
    "FileReport",
    "Finding",
    "LimitError",
    "NoPlan",
    "Plan",
    "Report",
    "RequestError",
    "SourceError",
    "Status",
    "Verdict",
    "__version__",
    "check",
    "diagnose",
    "facts",
    "resolve",
]

if not TYPE_CHECKING:  # a type checker would take every name for one that this gives
    _HOMES = {
        "envkit.api.front": ("check", "diagnose", "facts", "resolve"),
        "envkit.api.report": ("FileReport", "Report"),
        "envkit.base.errors": ("EnvkitError", "LimitError", "RequestError", "SourceError"),
        "envkit.checks.engine.findings": ("Finding", "Status"),
        "envkit.documents.verdict": ("Verdict",),
        "envkit.model": ("Environment",),
        "envkit.solver.model": ("NoPlan", "Plan"),
    }

    def __getattr__(name: str) -> object:
        from importlib import import_module

        for home, names in _HOMES.items():
            if name in names:
                value = globals()[name] = getattr(import_module(home), name)
                return value
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
