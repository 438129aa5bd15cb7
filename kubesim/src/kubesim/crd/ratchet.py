"""Which value of the old object a value of the new one stands for.

An update may keep what an earlier, laxer schema let in: complaints about values that did not change are dropped, and
CEL's ``oldSelf`` needs its counterpart (Kubernetes: CRDValidationRatcheting). Fields correspond by name, items of
keyed lists by their keys; items of other lists do not correspond to anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson


@dataclass(frozen=True, slots=True)
class Old:
    """The counterpart. Its value may be ``None`` (null)."""

    value: Any


NONE: Final[Old | None] = None


def of_field(old: Old | None, name: str) -> Old | None:
    if old is None or not isinstance(old.value, Mapping) or name not in old.value:
        return None
    return Old(old.value[name])


def of_item(old: Old | None, item: Any, keys: tuple[str, ...], defaults: Mapping[str, Any]) -> Old | None:
    """Only items of keyed lists have one; ``keys`` is empty for other lists."""
    if old is None or not keys or not isinstance(old.value, list) or not isinstance(item, Mapping):
        return None
    wanted = [item.get(key, defaults.get(key)) for key in keys]
    for other in old.value:
        if isinstance(other, Mapping) and [other.get(key, defaults.get(key)) for key in keys] == wanted:
            return Old(other)
    return None


def unchanged(value: Any, old: Old | None) -> bool:
    """As JSON: true is not 1."""
    return old is not None and orjson.dumps(value, option=orjson.OPT_SORT_KEYS) == orjson.dumps(
        old.value, option=orjson.OPT_SORT_KEYS
    )
