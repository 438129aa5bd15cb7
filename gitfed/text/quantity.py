"""Kubernetes quantities: `500m`, `1.5Gi`, `129e6`, read exactly.

A quantity is a number with at most nine digits after the point and a habit of how it wants to be printed. Amounts are
kept as whole billionths, so that sums and comparisons are exact and no float is ever involved; finer amounts are
rounded away from zero, as Kubernetes does. Two quantities are equal when their amounts are (`1Gi` = `1024Mi`).

Which resources print in powers of 1024 is decided by the caller, who knows what the number means.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import field
from enum import Enum
from functools import lru_cache
from typing import TypeAlias

from gitfed.text.values import dataclass

NANO = 10**9

Scalar: TypeAlias = str | int | float
"""What JSON may hold where a quantity is meant: text or a bare number."""


class Format(Enum):
    DECIMAL = "decimal"
    BINARY = "binary"
    EXPONENT = "exponent"


class QuantityError(ValueError):
    """The text is no quantity."""


_SHAPE = re.compile(r"([+-]?)(\d+\.?\d*|\.\d+)(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]|[eE][+-]?\d+)?", re.ASCII)
_BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_DECIMAL_SUFFIX = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY_SUFFIX = {power: suffix for suffix, power in _BINARY.items()}
_LARGEST_EXPONENT = 64
"""Beyond any amount that exists; keeps a hostile `1e999999999` from filling the memory."""
_MOST_DIGITS = 1000
"""The same for digits, of which Python reads and prints only so many."""
_TOO_MUCH = 10**_MOST_DIGITS
_WHOLE = {suffix: (1024**power * NANO, Format.BINARY) for suffix, power in _BINARY.items()} | {
    suffix: (10 ** (exponent + 9), Format.DECIMAL) for suffix, exponent in _DECIMAL.items()
}
"""(billionths, format) of one of each unit."""


@dataclass(frozen=True, slots=True, order=True)
class Quantity:
    nano: int
    """Billionths."""
    format: Format = field(default=Format.DECIMAL, compare=False)

    def __add__(self, other: Quantity) -> Quantity:
        """The sum keeps the format of the left side; zero has no opinion."""
        return Quantity(self.nano + other.nano, self.format if self.nano else other.format)

    def __sub__(self, other: Quantity) -> Quantity:
        return Quantity(self.nano - other.nano, self.format if self.nano else other.format)

    def __mul__(self, times: int) -> Quantity:
        return Quantity(self.nano * times, self.format)

    def __bool__(self) -> bool:
        return self.nano != 0

    def __str__(self) -> str:
        return text(self)

    @property
    def milli(self) -> int:
        """Thousandths, rounded up."""
        return -(-self.nano // 10**6)

    @property
    def ceil(self) -> int:
        """Whole units, rounded up."""
        return -(-self.nano // NANO)


ZERO = Quantity(0)


def parse(value: Scalar) -> Quantity:
    """Reads text or a JSON number. Raises QuantityError with the text in the message."""
    if isinstance(value, bool):
        raise QuantityError(f"{value!r} is no quantity")
    if isinstance(value, int) and abs(value) >= _TOO_MUCH:
        raise QuantityError("a number of so many digits is out of range")
    return _parse(value if isinstance(value, str) else repr(value))


@lru_cache(maxsize=4096)
def _parse(text_: str) -> Quantity:
    number = text_.rstrip("numkMGTPEi")
    unit = _WHOLE.get(text_[len(number) :])
    if unit is not None and number.isascii() and number.isdigit() and len(number) <= _MOST_DIGITS:
        # What nearly all are: a whole number of a unit that is a whole number of billionths.
        return Quantity(int(number) * unit[0], unit[1])
    match = _SHAPE.fullmatch(text_)
    if match is None:
        raise QuantityError(f"{_shown(text_)} is no quantity (examples: 500m, 2, 1.5Gi)")
    if len(text_) > _MOST_DIGITS:
        raise QuantityError(f"{_shown(text_)} is out of range")
    sign, number, suffix = match.group(1), match.group(2), match.group(3) or ""
    whole, _, fraction = number.partition(".")
    mantissa = int((whole + fraction) or "0")
    # numerator / denominator = the amount in billionths
    numerator, denominator, format_ = mantissa * NANO, 10 ** len(fraction), Format.DECIMAL
    if suffix in _BINARY:
        numerator *= 1024 ** _BINARY[suffix]
        format_ = Format.BINARY
    else:
        if suffix in _DECIMAL:
            exponent = _DECIMAL[suffix]
        else:
            exponent, format_ = int(suffix[1:]), Format.EXPONENT
            if abs(exponent) > _LARGEST_EXPONENT:
                raise QuantityError(f"{_shown(text_)} is out of range")
        if exponent >= 0:
            numerator *= 10**exponent
        else:
            denominator *= 10**-exponent
    nano = -(-numerator // denominator)
    return Quantity(-nano if sign == "-" else nano, format_)


def _shown(text_: str) -> str:
    return repr(text_) if len(text_) <= 100 else f"{text_[:100]!r}…"


def total(quantities: Iterable[Quantity]) -> Quantity:
    result = ZERO
    for quantity in quantities:
        result += quantity
    return result


def text(quantity: Quantity) -> str:
    """The canonical spelling: no fraction, the largest suffix that divides the amount.

    A binary quantity below 1024, or with a fraction of a unit, is printed in the decimal form.
    """
    nano = quantity.nano
    if nano == 0:
        return "0"
    if quantity.format is Format.BINARY and abs(nano) >= 1024 * NANO and nano % NANO == 0:
        return _binary_text(nano // NANO)
    sign, rest, exponent = ("-" if nano < 0 else ""), abs(nano), -9
    largest = 18 if quantity.format is not Format.EXPONENT else _LARGEST_EXPONENT
    while rest % 1000 == 0 and exponent < largest:
        rest, exponent = rest // 1000, exponent + 3
    if quantity.format is Format.EXPONENT:
        return f"{sign}{rest}" + (f"e{exponent}" if exponent else "")
    return f"{sign}{rest}{_DECIMAL_SUFFIX[exponent]}"


def _binary_text(units: int) -> str:
    power = 0
    while units % 1024 == 0 and power < 6:
        units, power = units // 1024, power + 1
    return f"{units}{_BINARY_SUFFIX.get(power, '')}"


def readable(quantity: Quantity, *, binary: bool) -> str:
    """As people write it: at most four digits, and at most two of them after the point; rounded where it has more.

    `binary`: it counts bytes, in powers of 1024. Who needs the exact amount asks for `text`.
    """
    exact = text(quantity)
    number = exact.rstrip("numkMGTPEi")
    if len(number.lstrip("-")) <= _FEW_DIGITS:
        return exact
    nano, suffixes = abs(quantity.nano), _BINARY_SUFFIX if binary else _THOUSANDS_SUFFIX
    unit, base = NANO, 1024 if binary else 1000
    power = 0
    while nano >= unit * base and power + 1 in suffixes:
        unit, power = unit * base, power + 1
    whole, part = divmod(-(-nano * 100 // unit), 100)
    digits = f"{whole}.{part:02}".rstrip("0").rstrip(".")
    return f"{'-' if quantity.nano < 0 else ''}{digits}{suffixes.get(power, '')}"


_FEW_DIGITS = 4
_THOUSANDS_SUFFIX = {exponent // 3: suffix for suffix, exponent in _DECIMAL.items() if exponent > 0}
