"""Canonical spellings of quantities, times and bytes."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubesim import schema_values


@pytest.mark.parametrize(
    ("given_", "written"),
    [
        ("1000m", "1"),
        ("0.5", "500m"),
        (0.5, "500m"),
        (1, "1"),
        ("1024Mi", "1Gi"),
        ("1.5Gi", "1536Mi"),
        ("1e3", "1e3"),
        ("1E3", "1e3"),
        ("1M", "1M"),
        ("1000000", "1M"),
        ("100000", "100k"),
        (1073741824, "1073741824"),
        ("100u", "100u"),
        ("0.1n", "1n"),
        ("0", "0"),
        ("0Gi", "0"),
        ("Gi", "0"),  # a suffix alone is nothing of it
        ("-1", "-1"),
        ("-1500m", "-1500m"),
        ("+2", "2"),
        (".5", "500m"),
        ("5.", "5"),
        ("0.5Ki", "512"),
        ("1Ki", "1Ki"),
        ("1536", "1536"),
        ("1.7Ki", "1741"),
        ("12e6", "12e6"),
        ("1e4", "10e3"),
        ("1500000000n", "1500m"),
        (" 1 ", "1"),
    ],
)
def test_a_quantity_has_one_spelling(given_: Any, written: str) -> None:
    assert schema_values.quantity(given_) == written


def test_resource_lists_round_up_to_thousandths() -> None:
    assert schema_values.quantity("100u", finest=-3) == "1m"
    assert schema_values.quantity("1001u", finest=-3) == "2m"


@pytest.mark.parametrize("bad", ["", "x", "1X", "1.2.3", "1 Gi", "١", True, None, [], "--1", "1ki"])
def test_what_is_no_quantity_is_refused(bad: Any) -> None:
    with pytest.raises(ValueError):
        schema_values.quantity(bad)


_UNITS = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12}
_BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4}


def _worth(text: str) -> Fraction:
    for suffix, power in _BINARY.items():
        if text.endswith(suffix):
            return Fraction(text[:-2]) * 1024**power
    if "e" in text:
        return Fraction(text)
    number = text.rstrip("numkMGTPE")
    return Fraction(number) * Fraction(10) ** {**_UNITS, "P": 15, "E": 18}[text[len(number) :]]


@given(st.integers(-(10**6), 10**6), st.sampled_from([*_UNITS, *_BINARY]))
def test_the_spelling_keeps_the_value_and_is_its_own_canonical_form(number: int, suffix: str) -> None:
    text = schema_values.quantity(f"{number}{suffix}")
    assert _worth(text) == _worth(f"{number}{suffix}")
    assert schema_values.quantity(text) == text


@pytest.mark.parametrize(
    ("given_", "written"),
    [
        ("2020-01-01T00:00:00Z", "2020-01-01T00:00:00Z"),
        ("2020-01-01T01:00:00.5+01:00", "2020-01-01T00:00:00Z"),
        ("2020-01-01T00:00:00-05:30", "2020-01-01T05:30:00Z"),
    ],
)
def test_a_time_is_written_in_whole_seconds_utc(given_: str, written: str) -> None:
    assert schema_values.time(given_) == written


def test_a_micro_time_has_exactly_six_decimals() -> None:
    assert schema_values.micro_time("2020-01-01T01:00:00.123456+01:00") == "2020-01-01T00:00:00.123456Z"
    with pytest.raises(ValueError) as caught:
        schema_values.micro_time("2020-01-01T00:00:10.5Z")
    assert str(caught.value) == (
        'parsing time "2020-01-01T00:00:10.5Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse ".5Z" as ".000000"'
    )


@pytest.mark.parametrize(
    ("bad", "rest", "part"),
    [("yesterday", "yesterday", "2006"), ("2020-13-01", "", "T"), ("2020-01-01 00:00:00Z", " 00:00:00Z", "T")],
)
def test_a_bad_time_is_told_with_the_part_that_does_not_fit(bad: str, rest: str, part: str) -> None:
    with pytest.raises(ValueError) as caught:
        schema_values.time(bad)
    assert (
        str(caught.value) == f'parsing time "{bad}" as "2006-01-02T15:04:05Z07:00": cannot parse "{rest}" as "{part}"'
    )


def test_text_after_a_time_is_told() -> None:
    with pytest.raises(ValueError, match=r'^parsing time "2020-01-01T00:00:00Zx": extra text: "x"$'):
        schema_values.time("2020-01-01T00:00:00Zx")


def test_a_time_that_does_not_exist_is_out_of_range() -> None:
    with pytest.raises(ValueError, match=r'^parsing time "2020-02-30T00:00:00Z": value out of range$'):
        schema_values.time("2020-02-30T00:00:00Z")


def test_bytes_lose_their_line_breaks() -> None:
    assert schema_values.base64_bytes("MQ=\n=") == "MQ=="


@pytest.mark.parametrize(("bad", "position"), [("!", 0), ("MQ!=", 2), ("abc", 0), ("abcde", 4)])
def test_bad_bytes_are_told_with_their_place(bad: str, position: int) -> None:
    with pytest.raises(ValueError, match=f"^illegal base64 data at input byte {position}$"):
        schema_values.base64_bytes(bad)
