"""The types of CEL, as the checker reasons about them and messages print them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final


@dataclass(frozen=True, slots=True)
class CelType:
    """``name`` as messages print it; ``params`` of lists, maps and optionals; ``fields`` of objects."""

    name: str
    params: tuple[CelType, ...] = ()
    fields: Mapping[str, CelType] = field(default_factory=dict, hash=False, compare=False)

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.params))})" if self.params else self.name


DYN: Final = CelType("dyn")
BOOL: Final = CelType("bool")
INT: Final = CelType("int")
UINT: Final = CelType("uint")
DOUBLE: Final = CelType("double")
STRING: Final = CelType("string")
BYTES: Final = CelType("bytes")
NULL: Final = CelType("null")
TIMESTAMP: Final = CelType("timestamp")
DURATION: Final = CelType("duration")
TYPE: Final = CelType("type")


def list_of(item: CelType) -> CelType:
    return CelType("list", (item,))


def map_of(value: CelType) -> CelType:
    return CelType("map", (STRING, value))


def object_of(name: str, fields: Mapping[str, CelType]) -> CelType:
    return CelType(name, (), fields)


def optional_of(inner: CelType) -> CelType:
    return CelType("optional_type", (inner,))
