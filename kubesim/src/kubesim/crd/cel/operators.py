"""CEL's operators and conversions: ``+`` of everything that adds, ``[]``, ``in``, ``int()``, ``string()``.

Each takes values of any type and raises ``CelError`` ("no such overload") for those it is not made for. Integers
overflow at 64 bits instead of growing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from kubesim.crd.cel import values
from kubesim.crd.cel.values import ABSENT, CelError, Cidr, Duration, Ip, Optional, Timestamp, Uint, Url


def no_overload() -> CelError:
    return CelError("no such overload")


def _int(value: Any) -> bool:
    return type(value) is int


def add(left: Any, right: Any) -> Any:
    if _int(left) and _int(right):
        return values.checked(left + right)
    if type(left) is type(right):
        if isinstance(left, Uint):
            return values.checked_uint(int(left) + int(right))
        if isinstance(left, float | str | bytes):
            return left + right
        if isinstance(left, Duration):
            return Duration(left.ns + right.ns)
    if isinstance(left, list) and isinstance(right, list):
        return values.join(left, right)
    if isinstance(left, Timestamp) and isinstance(right, Duration):
        return _shift(left, right.ns)
    if isinstance(left, Duration) and isinstance(right, Timestamp):
        return _shift(right, left.ns)
    raise no_overload()


def _shift(moment: Timestamp, ns: int) -> Timestamp:
    try:
        return Timestamp(moment.at + timedelta(microseconds=ns / 1000))
    except OverflowError as problem:
        raise CelError("timestamp overflow") from problem


def subtract(left: Any, right: Any) -> Any:
    if _int(left) and _int(right):
        return values.checked(left - right)
    if isinstance(left, Uint) and isinstance(right, Uint):
        return values.checked_uint(int(left) - int(right))
    if isinstance(left, float) and isinstance(right, float):
        return left - right
    if isinstance(left, Timestamp):
        if isinstance(right, Timestamp):
            return Duration(round((left.at - right.at) / timedelta(microseconds=1)) * 1000)
        if isinstance(right, Duration):
            return _shift(left, -right.ns)
    if isinstance(left, Duration) and isinstance(right, Duration):
        return Duration(left.ns - right.ns)
    raise no_overload()


def multiply(left: Any, right: Any) -> Any:
    if _int(left) and _int(right):
        return values.checked(left * right)
    if isinstance(left, Uint) and isinstance(right, Uint):
        return values.checked_uint(int(left) * int(right))
    if isinstance(left, float) and isinstance(right, float):
        return left * right
    raise no_overload()


def divide(left: Any, right: Any) -> Any:
    if isinstance(left, float) and isinstance(right, float):
        if right == 0:
            return float("nan") if left == 0 else float("inf") * (1 if left > 0 else -1)
        return left / right
    if type(left) is not type(right) or not isinstance(left, int) or isinstance(left, bool):
        raise no_overload()
    if right == 0:
        raise CelError("division by zero")
    quotient = abs(left) // abs(right)
    if isinstance(left, Uint):
        return Uint(quotient)
    return values.checked(quotient if (left < 0) == (right < 0) else -quotient)


def modulo(left: Any, right: Any) -> Any:
    if type(left) is not type(right) or not isinstance(left, int) or isinstance(left, bool):
        raise no_overload()
    if right == 0:
        raise CelError("modulus by zero")
    rest = abs(left) % abs(right)
    return Uint(rest) if isinstance(left, Uint) else (-rest if left < 0 else rest)


def negate(value: Any) -> Any:
    if _int(value):
        return values.checked(-value)
    if isinstance(value, float):
        return -value
    raise no_overload()


def invert(value: Any) -> bool:
    if not isinstance(value, bool):
        raise no_overload()
    return not value


def comparable(left: Any, right: Any) -> bool:
    if values.is_number(left) and values.is_number(right):
        return True
    return type(left) is type(right) and isinstance(left, str | bytes | bool | Timestamp | Duration)


def _compare(test: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def run(left: Any, right: Any) -> bool:
        if not comparable(left, right):
            raise no_overload()
        return test(left, right)

    return run


def contained(item: Any, holder: Any) -> bool:
    if isinstance(holder, list):
        return any(values.equal(item, other) for other in holder)
    if isinstance(holder, dict):
        return any(values.equal(item, key) for key in holder)
    raise no_overload()


def index(holder: Any, key: Any) -> Any:
    if isinstance(holder, Optional):
        return optional_index(holder, key)
    if isinstance(holder, list):
        if isinstance(key, bool) or not values.is_number(key) or (isinstance(key, float) and not key.is_integer()):
            raise no_overload()
        if not 0 <= key < len(holder):
            raise CelError(f"index out of bounds: {int(key)}")
        return holder[int(key)]
    if isinstance(holder, dict):
        for known, value in holder.items() if not isinstance(key, str) else ():
            if values.equal(known, key):
                return value
        if isinstance(key, str) and key in holder:
            return holder[key]
        raise CelError(f"no such key: {to_string(key)}")
    raise no_overload()


def optional_index(holder: Any, key: Any) -> Optional:
    inner = holder if isinstance(holder, Optional) else Optional(True, holder)
    if not inner.present:
        return ABSENT
    try:
        return Optional(True, index(inner.value, key))
    except CelError as problem:
        if str(problem).startswith(("no such key", "index out")):
            return ABSENT
        raise


def size(value: Any) -> int:
    if isinstance(value, str | bytes | list | dict):
        return len(value)
    raise no_overload()


def to_int(value: Any) -> int:
    if isinstance(value, bool):
        raise no_overload()
    if isinstance(value, int):
        return values.checked(int(value))
    if isinstance(value, float):
        if value != value or not -(2.0**63) < value < 2.0**63:
            raise CelError("integer overflow")
        return int(value)
    if isinstance(value, str):
        if re.fullmatch(r"[+-]?\d+", value) and values.MIN_INT <= int(value) <= values.MAX_INT:
            return int(value)
        raise CelError("type conversion error from 'string' to 'int'")
    if isinstance(value, Timestamp):
        return int(value.at.timestamp())
    if isinstance(value, Duration):
        return value.ns
    raise no_overload()


def to_uint(value: Any) -> Uint:
    if isinstance(value, bool):
        raise no_overload()
    if isinstance(value, int | float):
        return values.checked_uint(int(value))
    if isinstance(value, str) and value.isdigit():
        return values.checked_uint(int(value))
    raise CelError(f"type conversion error from '{values.type_name(value)}' to 'uint'")


def to_double(value: Any) -> float:
    if values.is_number(value):
        return float(value)
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError as problem:
            raise CelError("type conversion error from 'string' to 'double'") from problem
    raise no_overload()


def to_string(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        return values.print_double(value)
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError as problem:
            raise CelError("invalid UTF-8 in bytes, cannot convert to string") from problem
    if isinstance(value, Timestamp):
        return values.print_time(value)
    if isinstance(value, Duration):
        return values.print_duration(value)
    if isinstance(value, Ip):
        return str(value.address)
    if isinstance(value, Cidr):
        return str(value.interface)
    if isinstance(value, Url):
        return value.text
    raise no_overload()


def to_bool(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if value in ("1", "t", "T", "true", "TRUE", "True"):
        return True
    if value in ("0", "f", "F", "false", "FALSE", "False"):
        return False
    raise CelError(f"type conversion error from '{values.type_name(value)}' to 'bool'")


def to_bytes(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode()
    raise no_overload()


def to_timestamp(value: Any) -> Timestamp:
    if isinstance(value, Timestamp):
        return value
    if _int(value):
        return Timestamp(datetime.fromtimestamp(value, UTC))
    if isinstance(value, str) and (moment := values.parse_time(value)) is not None:
        return moment
    raise CelError(f"type conversion error from '{values.type_name(value)}' to 'google.protobuf.Timestamp'")


def to_duration(value: Any) -> Duration:
    if isinstance(value, Duration):
        return value
    if _int(value):
        return Duration(value)
    if isinstance(value, str) and (length := values.parse_duration(value)) is not None:
        return length
    raise CelError(f"type conversion error from '{values.type_name(value)}' to 'google.protobuf.Duration'")


less = _compare(lambda left, right: left < right)
less_equal = _compare(lambda left, right: left <= right)
greater = _compare(lambda left, right: left > right)
greater_equal = _compare(lambda left, right: left >= right)
