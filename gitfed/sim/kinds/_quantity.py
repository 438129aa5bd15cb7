"""Amounts such as `250m`, `1536Mi` or `1e3`: parse, compare, add, print as Kubernetes does.

Stands in for the shared quantity module until that one exists.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

_PATTERN = re.compile(r"([+-]?)([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]?|[eE][+-]?[0-9]+)")
_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BY_POWER = {power: suffix for suffix, power in _DECIMAL.items()}


@dataclass(frozen=True, slots=True)
class Quantity:
    """A value and the family of suffixes it is printed with: `binary`, `decimal` or `exponent`."""

    value: Fraction
    family: str

    def __str__(self) -> str:
        value, family = self.value, self.family
        if family == "binary" and (-1024 < value < 1024 or value.denominator != 1):
            family = "decimal"
        if not value:
            return "0"
        if family == "binary":
            number, step = int(value), 0
            while number % 1024 == 0 and step < 6:
                number, step = number // 1024, step + 1
            return f"{number}{_BINARY[step]}"
        power = -9
        number = -(-value * 10**9 // 1) if value > 0 else -(-(-value) * 10**9 // 1)
        number = int(number)
        while number % 1000 == 0 and power < 18:
            number, power = number // 1000, power + 3
        if family == "exponent":
            return f"{number}e{power}" if power else str(number)
        return f"{number}{_BY_POWER[power]}"


def parse(text: str | int | float) -> Quantity:
    """The quantity that the text writes. Raises `ValueError`."""
    found = _PATTERN.fullmatch(str(text))
    if found is None:
        raise ValueError("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")
    sign, digits, suffix = found.groups()
    value = Fraction(digits) * (-1 if sign == "-" else 1)
    if suffix in _BINARY[1:]:
        return Quantity(value * 1024 ** _BINARY.index(suffix), "binary")
    if suffix in _DECIMAL:
        return Quantity(value * Fraction(10) ** _DECIMAL[suffix], "decimal")
    return Quantity(value * Fraction(10) ** int(suffix[1:]), "exponent")
