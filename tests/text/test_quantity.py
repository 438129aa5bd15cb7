"""Quantities: exact amounts, canonical spelling."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitfed.text import quantity
from gitfed.text.quantity import NANO, Format, Quantity


@pytest.mark.parametrize(
    ("text", "nano", "canonical"),
    [
        ("0", 0, "0"),
        ("500m", NANO // 2, "500m"),
        ("0.5", NANO // 2, "500m"),
        (".5", NANO // 2, "500m"),
        ("5.", 5 * NANO, "5"),
        ("+3", 3 * NANO, "3"),
        ("-1500m", -3 * NANO // 2, "-1500m"),
        ("1.5Gi", 1536 * 2**20 * NANO, "1536Mi"),
        ("1000Ki", 1000 * 1024 * NANO, "1000Ki"),
        ("1Ki", 1024 * NANO, "1Ki"),
        ("512Ki", 2**19 * NANO, "512Ki"),
        ("0.5Ki", 512 * NANO, "512"),
        ("0.1Gi", 107_374_182_400_000_000, "107374182400m"),
        ("129e6", 129 * 10**6 * NANO, "129e6"),
        ("12E3", 12 * 10**3 * NANO, "12e3"),
        ("12e-3", 12 * 10**6, "12e-3"),
        ("250000k", 250 * 10**6 * NANO, "250M"),
        ("1E", 10**18 * NANO, "1E"),
        ("100n", 100, "100n"),
        ("1u", 1000, "1u"),
        ("0.0000000001", 1, "1n"),
        ("-0.0000000001", -1, "-1n"),
    ],
)
def test_a_quantity_is_read_exactly_and_printed_canonically(text: str, nano: int, canonical: str) -> None:
    parsed = quantity.parse(text)
    assert parsed.nano == nano
    assert str(parsed) == canonical


@pytest.mark.parametrize("value", [2, 0.5, 1048576])
def test_a_bare_number_is_a_quantity(value: int | float) -> None:
    assert quantity.parse(value).nano == int(value * NANO)


@pytest.mark.parametrize("text", ["", "lots", "1 Gi", "1ki", "1.5.2", "--1", "1e", "Gi", "1K", "٣"])
def test_other_text_is_refused_with_the_text_in_the_message(text: str) -> None:
    with pytest.raises(quantity.QuantityError, match="no quantity"):
        quantity.parse(text)


def test_a_boolean_is_no_quantity() -> None:
    with pytest.raises(quantity.QuantityError, match="True is no quantity"):
        quantity.parse(True)


def test_an_exponent_that_would_fill_the_memory_is_refused() -> None:
    with pytest.raises(quantity.QuantityError, match="'1e999999999' is out of range"):
        quantity.parse("1e999999999")


@pytest.mark.parametrize("value", ["9" * 5000, "9" * 5000 + "Mi", "0." + "1" * 5000, "9" * 5000 + "e1"])
def test_more_digits_than_python_reads_are_refused_and_not_all_shown(value: str) -> None:
    with pytest.raises(quantity.QuantityError) as caught:
        quantity.parse(value)
    assert str(caught.value) == f"{value[:100]!r}… is out of range"


def test_a_number_of_more_digits_than_python_prints_is_refused() -> None:
    with pytest.raises(quantity.QuantityError, match="a number of so many digits is out of range"):
        quantity.parse(10**5000)


@given(st.integers(0, 10**30), st.sampled_from(["", "n", "u", "m", "k", "M", "E", "Ki", "Mi", "Ei"]))
def test_a_whole_number_of_a_unit_is_the_same_with_and_without_a_point(amount: int, unit: str) -> None:
    plain, pointed = quantity.parse(f"{amount}{unit}"), quantity.parse(f"{amount}.{unit}")
    assert (plain.nano, plain.format) == (pointed.nano, pointed.format)


def test_equality_is_of_amounts() -> None:
    assert quantity.parse("1Gi") == quantity.parse("1024Mi")
    assert quantity.parse("1") == quantity.parse("1000m")
    assert quantity.parse("999m") < quantity.parse("1")


def test_milli_and_whole_units_are_rounded_up() -> None:
    assert quantity.parse("0.0001").milli == 1
    assert quantity.parse("1500m").ceil == 2
    assert quantity.parse("-1500m").ceil == -1


def test_a_sum_keeps_the_format_of_the_first_amount_that_is_not_zero() -> None:
    assert str(quantity.total([quantity.ZERO, quantity.parse("1Gi"), quantity.parse("1024")])) == "1048577Ki"


quantities = st.builds(Quantity, st.integers(-(10**24), 10**24), st.sampled_from(Format))


@given(quantities)
def test_printing_and_parsing_gives_the_same_amount(value: Quantity) -> None:
    assert quantity.parse(str(value)) == value


@given(quantities)
def test_the_canonical_spelling_is_a_fixed_point(value: Quantity) -> None:
    once = str(value)
    assert str(quantity.parse(once)) == once


@given(quantities, quantities)
def test_addition_and_subtraction_are_exact(left: Quantity, right: Quantity) -> None:
    assert (left + right) - right == left
    assert left + right == right + left
