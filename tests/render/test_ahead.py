"""Templates compiled ahead give the same bytes as jinja2 itself."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import jinja2
import pytest

from envkit._startup.ahead import AheadEnvironment, Undefined, UndefinedError
from envkit.render.templating import jinja_environment

ROOT = Path(__file__).resolve().parents[2]
CASES = {
    "loops": "{% for x in xs %}{{ loop.index }}/{{ loop.length }}{{ x.a }}{% if not loop.last %}, {% endif %}{%"
    " endfor %}",
    "macros": "{% macro m(a, b=2) %}{{ a }}-{{ b }}{% endmacro %}{{ m(1) }} {{ m(1, b=3) }}{% set y = 4 %}{{ y }}",
    "filters": "{{ words|join(', ') }} {{ words|length }} {{ word|upper }} {{ word|bash }}",
    "tests": "{% if nothing is none %}none{% else %}some{% endif %}{{ 'a' if flag else 'b' }}",
    "items": "{{ table['k'] }} {{ table.k }} {{ 'x'.join(words) }} {{ 'a' ~ 1 ~ word }}",
    "outer": "{% for x in xs %}{% include 'inner' %}{% endfor %}",
    "inner": "<{{ x.a }}{{ word }}>",
}
GIVEN = {
    "xs": [{"a": 1}, {"a": 2}], "words": ["p", "q"], "word": "it's", "nothing": None, "flag": True, "table": {"k": "v"},
}  # fmt: skip


def _module(path: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def build_hook(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """`hatch_build.py`, with a stand-in for the build tool that calls it."""
    for name in ("hatchling", "hatchling.builders", "hatchling.builders.hooks", "hatchling.builders.hooks.plugin"):
        sys.modules.setdefault(name, ModuleType(name))
    interface = ModuleType("hatchling.builders.hooks.plugin.interface")
    interface.BuildHookInterface = object  # type: ignore[attr-defined]
    sys.modules[interface.__name__] = interface
    return _module(ROOT / "hatch_build.py", "hatch_build")


def _compiled(build_hook: ModuleType, root: Path, folder: str, place: Path) -> AheadEnvironment:
    made = place / "compiled.py"
    made.write_text(build_hook.compiled_source(root, folder))
    environment: AheadEnvironment = _module(made, f"compiled_{folder}").environment
    return environment


@pytest.fixture(scope="module")
def ahead(build_hook: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> AheadEnvironment:
    """The cases above, compiled as the build does it."""
    root = tmp_path_factory.mktemp("root")
    for folder in build_hook.FOLDERS:
        (root / "templates" / folder).mkdir(parents=True)
    for name, text in CASES.items():
        (root / "templates" / "scripts" / f"{name}.j2").write_text(text.replace("'inner'", "'inner.j2'"))
    return _compiled(build_hook, root, "scripts", root)


@pytest.mark.parametrize("name", CASES)
def test_same_text_as_jinja(ahead: AheadEnvironment, name: str) -> None:
    given = {**GIVEN, "x": {"a": 7}} if name == "inner" else GIVEN
    real = jinja_environment("scripts").overlay()
    texts = {f"{key}.j2": text.replace("'inner'", "'inner.j2'") for key, text in CASES.items()}
    real.loader = jinja2.DictLoader(texts)
    assert ahead.get_template(f"{name}.j2").render(**given) == real.get_template(f"{name}.j2").render(**given)


def test_a_missing_name_is_refused(ahead: AheadEnvironment) -> None:
    with pytest.raises(UndefinedError):
        ahead.get_template("filters.j2").render(words=[])
    with pytest.raises(UndefinedError):
        str(Undefined(name="x"))


def test_our_templates_all_compile(build_hook: ModuleType, tmp_path: Path) -> None:
    assert _compiled(build_hook, ROOT, "scripts", tmp_path).get_template("install.sh.j2")
    assert _compiled(build_hook, ROOT, "dockerfiles", tmp_path).get_template("Dockerfile.j2")


def test_an_unknown_filter_stops_the_build(build_hook: ModuleType, tmp_path: Path) -> None:
    for folder in build_hook.FOLDERS:
        (tmp_path / "templates" / folder).mkdir(parents=True)
    (tmp_path / "templates" / "scripts" / "a.j2").write_text("{{ x|title }}")
    with pytest.raises(ValueError, match="no filter 'title'"):
        build_hook.compiled_source(tmp_path, "scripts")


def test_an_if_without_else_stops_the_build(build_hook: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "templates" / "scripts").mkdir(parents=True)
    (tmp_path / "templates" / "scripts" / "a.j2").write_text("{{ 'x' if y }}")
    with pytest.raises(ValueError, match="has no `else`"):
        build_hook.compiled_source(tmp_path, "scripts")
