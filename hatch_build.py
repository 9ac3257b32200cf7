"""Wheel builds compile the templates ahead of time; an editable install or a checkout uses them as they are."""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDERS = ("scripts", "dockerfiles")
_HEAD = '''"""The templates, compiled when this wheel was built."""

from envkit._startup.ahead import AheadEnvironment, Loop as LoopContext, Macro, Undefined, missing, str_join

environment = AheadEnvironment()
'''
_USED = re.compile(r"environment\.(filters|tests)\['(\w+)'\]")
# What jinja2 writes around the code of a template that its own loader wants and ours does not.
_EDGES = re.compile(r"^(?:from jinja2\.runtime import .*|name = .*|blocks = .*|debug_info = .*)$", re.MULTILINE)


def compiled_source(root: Path, folder: str) -> str:
    """The module that holds every template of a folder. Raises ValueError for a filter or test that `ahead` lacks."""
    sys.path.insert(0, str(root))
    from envkit._startup.ahead import FILTERS, TESTS
    from envkit.render.templating import jinja_environment

    known = {"filters": FILTERS, "tests": TESTS}
    parts = [_HEAD]
    environment = jinja_environment(folder)
    for number, path in enumerate(sorted((root / "templates" / folder).rglob("*.*"))):
        name = path.relative_to(root / "templates" / folder).as_posix()
        code = environment.compile(path.read_text(encoding="utf-8"), name=name, filename=name, raw=True)
        for kind, used in _USED.findall(code):
            if used not in known[kind]:
                raise ValueError(f"{folder}/{name}: envkit._startup.ahead has no {kind[:-1]} {used!r}; add it there")
        if "cond_expr_undefined(" in code:
            raise ValueError(
                f"{folder}/{name}: an inline `if` has no `else`, which jinja2 prints as nothing; write it out"
            )
        code = _EDGES.sub("", code).replace("def root(", f"def {folder}_{number}(", 1)
        parts.append(f"{code.strip()}\n\nenvironment.add({name!r}, {folder}_{number})\n")
    return "\n".join(parts)


class CompileTemplates(BuildHookInterface):
    """Adds `envkit/compiled_scripts.py` and its like to a wheel."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile into temporary files and have them included."""
        if self.target_name != "wheel" or version == "editable":
            return
        made = Path(tempfile.mkdtemp())
        for folder in FOLDERS:
            (made / f"compiled_{folder}.py").write_text(compiled_source(Path(self.root), folder), encoding="utf-8")
            build_data["force_include"][str(made / f"compiled_{folder}.py")] = f"envkit/compiled_{folder}.py"
