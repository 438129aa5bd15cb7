"""The small languages: names, schedules, selectors, amounts, ages."""

from __future__ import annotations

from datetime import timedelta
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubesim.kinds import cron, formats, go_diff, go_json, qos, resources, selectors, table

LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with"
    " an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is"
    " '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)


@pytest.mark.parametrize(
    ("check", "value", "complaints"),
    [
        (formats.dns_label, "web-1", []),
        (formats.dns_label, "Web", [LABEL]),
        (formats.dns_label, "web-", [LABEL]),
        (formats.dns_label, "w" * 64, ["must be no more than 63 characters"]),
        (formats.dns_subdomain, "a.b-c.d", []),
        (formats.qualified_name, "example.com/name", []),
        (formats.label_value, "", []),
        (formats.config_key, "..", ["must not be '..'"]),
        (formats.config_key, "..a", ["must not start with '..'"]),
        (formats.config_key, "a.b_c-D", []),
        (formats.port_number, 0, ["must be between 1 and 65535, inclusive"]),
        (formats.port_number, 65535, []),
        (formats.port_name, "http", []),
        (formats.port_name, "1", ["must contain at least one letter (a-z)"]),
        (formats.path_segment, ".", ["may not be '.'"]),
        (formats.path_segment, "a/b", ["may not contain '/'"]),
    ],
)
def test_a_name_is_judged_in_the_servers_words(check: formats.Check, value: str, complaints: list[str]) -> None:
    assert check(value) == complaints


@pytest.mark.parametrize(
    ("schedule", "complaint"),
    [
        ("*/5 * * * *", ""),
        ("0 0 1 jan sun", ""),
        ("TZ=Europe/Berlin 0 0 * * *", ""),
        ("@hourly", ""),
        ("@every 1h30m", ""),
        ("", "empty spec string"),
        ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
        ("60 * * * *", "end of range (60) above maximum (59): 60"),
        ("@sometimes", "unrecognized descriptor: @sometimes"),
        ("5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"),
    ],
)
def test_a_schedule_is_read_or_refused(schedule: str, complaint: str) -> None:
    assert cron.error(schedule) == complaint


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{}", ""),
        ("null", ""),
        ("", "unexpected end of JSON input"),
        ('{"a":', "unexpected end of JSON input"),
        ("[]", "json: cannot unmarshal array into Go value of type map[string]interface {}"),
        ("1", "json: cannot unmarshal number into Go value of type map[string]interface {}"),
        ("{a}", "invalid character 'a' looking for beginning of object key string"),
        ("tru", "invalid character ' ' in literal true (expecting 'e')"),
        ("{} d", "invalid character 'd' after top-level value"),
    ],
)
def test_what_is_no_json_object_is_refused_as_go_refuses_it(text: str, complaint: str) -> None:
    assert go_json.object_error(text) == complaint


@pytest.mark.parametrize(
    ("selector", "labels", "text", "selected"),
    [
        (None, {"a": "b"}, "<none>", False),
        ({}, {"a": "b"}, "<none>", True),
        ({"matchLabels": {"a": "b"}}, {"a": "b", "c": "d"}, "a=b", True),
        ({"matchLabels": {"a": "b"}}, {"a": "c"}, "a=b", False),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": ["y", "x"]}]}, {"a": "x"}, "a in (x,y)", True),
        ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["x"]}]}, {}, "a notin (x)", True),
        ({"matchExpressions": [{"key": "a", "operator": "Exists"}]}, {}, "a", False),
        ({"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}, {}, "!a", True),
    ],
)
def test_selectors_select_and_print(
    selector: dict[str, object] | None, labels: dict[str, str], text: str, selected: bool
) -> None:
    assert (selectors.text(selector), selectors.matches(selector, labels)) == (text, selected)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (599, "9m59s"),
        (3600, "60m"),
        (10800, "3h"),
        (90000, "25h"),
        (864000, "10d"),
    ],
)
def test_an_age_is_short(seconds: int, text: str) -> None:
    assert table.duration(timedelta(seconds=seconds)) == text


def test_amounts_finer_than_a_thousandth_are_rounded_up() -> None:
    assert resources.rounded({"cpu": "100u", "memory": "1Gi"}) == {"cpu": "1m", "memory": "1Gi"}


def test_amounts_that_are_coarse_enough_stay_the_same_map() -> None:
    amounts = {"cpu": "250m"}
    assert resources.rounded(amounts) is amounts


@given(
    st.dictionaries(st.sampled_from("abc"), st.integers(0, 10**6)),
    st.dictionaries(st.sampled_from("abc"), st.integers(0, 10**6)),
)
def test_sums_of_amounts_are_sums_of_numbers(left: dict[str, int], right: dict[str, int]) -> None:
    total = resources.add({key: f"{n}m" for key, n in left.items()}, {key: f"{n}m" for key, n in right.items()})
    assert {key: resources.value(text) for key, text in total.items()} == {
        key: Fraction(left.get(key, 0) + right.get(key, 0), 1000) for key in left | right
    }


FULL = {"cpu": "1", "memory": "1Gi"}


@pytest.mark.parametrize(
    ("containers", "quality"),
    [
        ([{}], "BestEffort"),
        ([{"requests": {"cpu": "0"}}], "BestEffort"),
        ([{"requests": {"cpu": "1m"}}], "Burstable"),
        ([{"requests": FULL, "limits": FULL}], "Guaranteed"),
        ([{"requests": FULL, "limits": {**FULL, "cpu": "1000m"}}], "Guaranteed"),
        ([{"requests": FULL, "limits": FULL}, {}], "Burstable"),
        ([{"limits": {"example.com/gpu": "1"}}], "BestEffort"),
    ],
)
def test_the_quality_of_a_pod_follows_from_its_resources(containers: list[dict[str, object]], quality: str) -> None:
    assert qos.of({"containers": [{"name": "c", "resources": found} for found in containers]}) == quality


def test_a_difference_shows_three_lines_around_it() -> None:
    text = go_diff.diff(
        {"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6}, {"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 7}
    )
    assert text == '@@ -4,5 +4,5 @@\n  "c": 3,\n  "d": 4,\n  "e": 5,\n- "f": 6\n+ "f": 7\n }\n'
