"""The validations of a schema as ``Rule`` nodes: read once, patterns compiled, defaults of list keys looked up.

``validate`` holds values against them. Rules in CEL are not among them (``rules``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from kubesim.crd import formats, regex

Schema = Mapping[str, Any]
_LIMITS: Final = (
    "maximum",
    "minimum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "multipleOf",
    "maxLength",
    "minLength",
    "maxItems",
    "minItems",
    "maxProperties",
    "minProperties",
    "uniqueItems",
)


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    types: tuple[str, ...] = ()
    nullable: bool = False
    format: str = ""
    enum: tuple[Any, ...] = ()
    limits: Mapping[str, Any] = field(default_factory=dict)
    """maximum, minimum, maxLength… as written."""
    pattern: re.Pattern[str] | None = None
    pattern_text: str = ""
    items: Rule | None = None
    properties: Mapping[str, Rule] = field(default_factory=dict)
    additional: Rule | None = None
    closed: bool = False
    """``additionalProperties: false``."""
    required: tuple[str, ...] = ()
    all_of: tuple[Rule, ...] = ()
    any_of: tuple[Rule, ...] = ()
    one_of: tuple[Rule, ...] = ()
    negated: Rule | None = None
    list_keys: tuple[str, ...] = ()
    key_defaults: Mapping[str, Any] = field(default_factory=dict)


def read(schema: Schema) -> Rule:
    """The schema must have passed ``structural.check``; patterns compile."""
    types: tuple[str, ...] = (schema["type"],) if schema.get("type") else ()
    if schema.get("x-kubernetes-int-or-string"):
        types = ("integer", "string")
    pattern = schema.get("pattern") or ""
    rest = schema.get("additionalProperties")
    items = schema.get("items")
    of_items = read(items) if isinstance(items, Mapping) else None
    keys = (
        tuple(schema.get("x-kubernetes-list-map-keys") or ()) if schema.get("x-kubernetes-list-type") == "map" else ()
    )
    item_properties = (items.get("properties") or {}) if isinstance(items, Mapping) else {}
    return Rule(
        types=types,
        nullable=bool(schema.get("nullable")),
        format=formats.effective(types, schema.get("format") or ""),
        enum=tuple(schema.get("enum") or ()),
        limits={name: schema[name] for name in _LIMITS if schema.get(name) is not None},
        pattern=_pattern(pattern),
        pattern_text=pattern,
        items=of_items,
        properties={name: read(inner) for name, inner in (schema.get("properties") or {}).items()},
        additional=read(rest) if isinstance(rest, Mapping) else None,
        closed=rest is False,
        required=tuple(schema.get("required") or ()),
        all_of=tuple(map(read, schema.get("allOf") or ())),
        any_of=tuple(map(read, schema.get("anyOf") or ())),
        one_of=tuple(map(read, schema.get("oneOf") or ())),
        negated=read(schema["not"]) if schema.get("not") is not None else None,
        list_keys=keys,
        key_defaults={
            key: item_properties[key]["default"] for key in keys if "default" in item_properties.get(key, {})
        },
    )


def _pattern(text: str) -> re.Pattern[str] | None:
    try:
        return regex.compile_pattern(text) if text else None
    except regex.RegexError:
        return None
