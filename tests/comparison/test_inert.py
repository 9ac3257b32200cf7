"""What `envkit diff` prints steers nothing, whatever the machines' names are, and costs what its input is long."""

from __future__ import annotations

import pytest

from envkit.api.report import judged
from envkit.base.shown import inert
from envkit.checks.engine.registry import all_checks
from envkit.comparison.changes import compared
from envkit.comparison.culprits import difference
from envkit.documents.difference import difference_json
from envkit.model import Environment, SystemPackage, found
from envkit.model.paths import with_facts
from envkit.render.difference_text import difference_text
from tests.checks.software import matrix
from tests.hostile.payloads import MARKUP, SHELL, STEERING
from tests.hostile.places import known, put
from tests.hostile.rules import plain, valid_json
from tests.processor_time import seconds

PLACES = [
    (".pythons.value[].prefix", "cpu-only-conda.txt"),
    (".pythons.value[].distributions[].name", "cudnn-mixed-sublibraries.txt"),
    (".gpus.value[].name", "ubuntu22.04-rtx3090-x4"),
    (".system.os.value.os_id", "ubuntu22.04-rtx3090-x4"),
]


@pytest.mark.parametrize(("place", "name"), PLACES)
@pytest.mark.parametrize("payloads", [SHELL, MARKUP, STEERING], ids=["shell", "markup", "steering"])
def test_what_is_shown_does_nothing(place: str, name: str, payloads: tuple[str, ...]) -> None:
    environments = (known(name), put(known(name), place, lambda text: text + "x".join(payloads)))
    checks = all_checks()
    reports = [judged(one, list(checks.values()), matrix(), mask=False) for one in environments]
    old, new = [(report.environment, report.findings) for report in reports]
    found_ = difference(old, new, checks)
    assert found_.culprits or found_.others or found_.new or found_.gone or found_.not_judged
    plain(difference_text(*inert((old, new, found_)), verbose=True), ())
    valid_json(difference_json(old, new, found_), ())


@pytest.mark.thorough
def test_many_packages_of_one_name_take_no_longer_than_others() -> None:
    def machine(version: str) -> Environment:
        packages = tuple(SystemPackage("libcuda1", f"{version}.{number}", "dpkg") for number in range(20_000))
        return with_facts(Environment(), {"packages": found(packages, "dpkg")})

    old, new = machine("1"), machine("2")
    assert seconds(lambda: compared(old, new)) < 5
    assert len(compared(old, new).changes) == 20_000
