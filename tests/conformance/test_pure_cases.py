"""The recorded cases of the pure packages, as tests. What differs on purpose is in docs/differences-from-karmada.md."""

from __future__ import annotations

from types import ModuleType

import pytest

from gitfed.text import jsonpath as language
from tests.conformance import jsonpath, matching, native, overrides, prune_retain, scheduling
from tests.conformance.recorded import cases, failing


@pytest.mark.parametrize(
    ("name", "module", "count"),
    [
        ("matching", matching, 104),
        ("overrides", overrides, 429),
        ("prune-retain", prune_retain, 113),
        ("native", native, 349),
        ("scheduling", scheduling, 600),
        ("jsonpath", jsonpath, 131),
    ],
)
def test_every_recorded_case_is_reproduced(name: str, module: ModuleType, count: int) -> None:
    assert sum(1 for _ in cases(name)) == count
    assert failing(name, module) == {}


SAME_REASON = {
    "an image with tag and digest loses the digest",
    "a list index with leading zeros is accepted",
    "a list index with a plus sign is accepted",
    "a list inside a list in a predicate crashes the original",
    "~1 and ~0 are not unescaped when a predicate is read",
    "add at -1 appends after the last element",
    "the identity of an object can be overridden",
    "an object may lose apiVersion and metadata, but not kind",
    "an invalid escape is taken literally",
    "text details: < > & are written as escapes, other escapes stay as they were",
    "text details: a repeated key stays repeated, with the last value",
    "after a change of namespace the policies of the new one apply",
    "amounts above 2^63-1 are cut to it",
    "an empty nodeSelector makes an empty nodeClaim",
    "the token secret after a removed one is skipped",
    "not a legal label value: handed on as it is",
    "a whole number in a filter never compares with a number of the status (write 1.0)",
    "a filter on a missing member is an error, not a mismatch",
    "a dot inside a bracketed name still separates",
    "names in brackets need single quotes",
    "a tab inside braces",
}
"""The oddities of the reference that are not copied: one entry of the page on differences for each."""


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("matching-quirks", matching),
        ("overrides-quirks", overrides),
        ("prune-retain-quirks", prune_retain),
        ("native-quirks", native),
        ("jsonpath-quirks", jsonpath),
    ],
)
def test_odd_cases_differ_only_for_the_reasons_that_are_written_down(name: str, module: ModuleType) -> None:
    reasons = {case["id"]: case["quirk"] for case in cases(name)}
    differing = {reasons[identity] for identity in failing(name, module)}
    assert differing <= SAME_REASON


def test_odd_scheduling_cases_differ_only_where_that_is_written_down() -> None:
    on_purpose = ("max-omitted", "spread-by-label", "region-capacity", "terminating", "list-order", "unstable-order")
    tags = {case["id"]: case["tags"][0] for case in cases("scheduling-quirks")}
    assert {tags[identity] for identity in failing("scheduling-quirks", scheduling)} <= set(on_purpose)


def test_what_is_no_label_value_reads_the_same_but_for_large_numbers() -> None:
    for case in cases("jsonpath-quirks"):
        if case["quirk"].startswith("not a legal label value") and "value" in case["expect"]:
            found = language.find(case["jsonPath"], case["status"])
            wanted = case["expect"]["value"].replace("2.097152e+07", "20971520").replace("1e-7", "1e-07")
            wanted = (
                wanted.replace("1e+21", "1" + "0" * 21)
                .encode()
                .decode("unicode_escape" if "u003c" in wanted else "utf-8")
            )
            assert found == wanted, case["id"]
