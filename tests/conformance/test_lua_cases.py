"""The recorded cases of scripts, of users and of the catalogue, as tests."""

from __future__ import annotations

from types import ModuleType

import pytest

from tests.conformance import bundled, lua
from tests.conformance.recorded import cases, failing


@pytest.mark.parametrize(("name", "module", "count"), [("lua", lua, 265), ("bundled", bundled, 441)])
def test_every_recorded_case_is_reproduced(name: str, module: ModuleType, count: int) -> None:
    assert sum(1 for _ in cases(name)) == count
    assert failing(name, module) == {}


DIFFERENT_ON_PURPOSE = {
    "a table that is referenced twice is refused",
    "an empty list becomes an empty map when the same path holds an empty map elsewhere",
    "getPodDependencies returns nil when there is nothing",
    "a quantity without digits is zero",
    "Lua implementations differ here",
    "no dependencies at all is an error",
    "a secret volume is read by name instead of secretName",
    "the script fails on data it did not expect",
    "observedGeneration is read from a variable that does not exist",
    "an absent serviceAccountName is an error",
}
"""The oddities of the reference that are not copied: one entry of the page on differences for each."""


@pytest.mark.parametrize(("name", "module"), [("lua-quirks", lua), ("bundled-quirks", bundled)])
def test_odd_cases_differ_only_for_the_reasons_that_are_written_down(name: str, module: ModuleType) -> None:
    reasons = {case["id"]: case["quirk"] for case in cases(name)}
    assert {reasons[identity] for identity in failing(name, module)} <= DIFFERENT_ON_PURPOSE
