"""Writes src/kubesim/schema_data.json: the types of the built-in kinds, from the client library's models and facts.

    python tools/schema_data.py

Run it after raising the ``kubernetes`` that is installed. The server reads only the result, so starting it does not
import the client library (about a second). The format is told in ``src/kubesim/schema.py``.
"""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path
from typing import Any

import kubernetes.client.models as models
import orjson
from pydantic import BaseModel

sys.path.insert(0, str(Path(__file__).parent))
import schema_facts as facts

TARGET = Path(__file__).parents[1] / "src" / "kubesim" / "schema_data.json"
MODELS = {n: c for n, c in inspect.getmembers(models, inspect.isclass) if issubclass(c, BaseModel)}


def short(name: str) -> str:
    """``V1PodSpec`` → ``PodSpec``; other versions keep their name."""
    return name[2:] if re.match(r"V1[A-Z]", name) else name


def pairs(text: str) -> dict[str, list[str]]:
    """``Type.field key key; …`` as a mapping."""
    parts = [part.split() for part in re.split(r"[;\n]", text) if part.strip()]
    return {part[0]: part[1:] for part in parts}


KEYED = {place: keys for place, keys in pairs(facts.KEYED_LISTS).items() if keys != ["-"]}
MERGED = pairs(facts.MERGE_KEYS)


def named(table: str, type_name: str, field: str) -> bool:
    """Whether a table names the field: alone, with its type, or with a part of its type's name."""
    for entry in table.split():
        bare, _, part = entry.partition("@")
        if entry in (field, f"{type_name}.{field}") or (part and bare == field and part in type_name):
            return True
    return False


def scalar(type_name: str, field: str, text: str, annotation: Any) -> str:
    """The scalar word of a field whose model type is ``text``."""
    place = f"{type_name}.{field}"
    if text == "int":
        return "int64" if named(facts.INT64, type_name, field) and place not in facts.INT32.split() else "int32"
    if text == "datetime":
        return "microtime" if place in facts.MICRO_TIMES.split() else "time"
    if text == "object":
        return object_type(place, annotation)
    if place in facts.QUANTITIES.split():
        return "quantity"
    return {"str": "string", "bool": "bool", "float": "float", "bytes": "bytes"}[text]


def object_type(place: str, annotation: Any) -> str:
    if place in facts.SCHEMA_OR_BOOL.split():
        return "schema"
    if place in facts.ANYTHING.split():
        return "any"
    words = {word for word in ("int", "str") if word in str(annotation)}
    return "intstr" if words == {"int", "str"} and "Dict" not in str(annotation) else "any"


def type_of(type_name: str, field: str, text: str, annotation: Any) -> str:
    """The field's type in the data's small language: a scalar word, ``#Type``, ``[]type``, ``{}type``."""
    if match := re.fullmatch(r"List\[(.*)\]", text):
        return "[]" + type_of(type_name, field, match[1], annotation)
    if match := re.fullmatch(r"Dict\[str, (.*)\]", text):
        inner = match[1]
        if inner == "str" and named(facts.QUANTITY_MAPS, type_name, field) and not quantity_exception(type_name, field):
            return "{}quantity"
        return "{}" + type_of(type_name, field, inner, annotation)
    return f"#{short(text)}" if text in MODELS else scalar(type_name, field, text, annotation)


def quantity_exception(type_name: str, field: str) -> bool:
    return field in ("limits",) and "Limited" in type_name


def presence(type_name: str, field: str, kind: str, required: bool) -> str:
    """What the server writes for an empty value: ``!`` its zero, ``?`` null, ``*`` nothing if it is null, ``-``
    nothing if it is zero."""
    place = f"{type_name}.{field}"
    if place in facts.NULL_WHEN_UNSET.split():
        return "?"
    if place in facts.NOT_ALWAYS.split():
        return "-"
    if place in facts.NULLABLE.split():
        return "*"
    if required or place in facts.ALWAYS.split():
        return "!"
    if kind.startswith("#"):
        value = named(facts.VALUE_STRUCTS, type_name, field) and place not in facts.POINTER_STRUCTS.split()
        return "!" if value else "*"
    if kind in ("time", "microtime"):
        return "*" if place in facts.POINTER_TIMES.split() else "!"
    if kind in ("quantity", "intstr", "any", "schema") or named(facts.POINTERS, type_name, field):
        return "*"
    return "-"


def describe(name: str) -> dict[str, Any]:
    """One struct: ``{field: [type, presence, extras…]}``."""
    model = MODELS[name]
    type_name = short(name)
    by_alias = {f.serialization_alias or n: f for n, f in model.model_fields.items()}
    fields: dict[str, Any] = {}
    for attribute, text in model.openapi_types.items():
        field = model.attribute_map[attribute]
        info = by_alias[field]
        place = f"{type_name}.{field}"
        if place in facts.NEWER.split():
            continue
        kind = type_of(type_name, field, text, info.annotation)
        entry: list[Any] = [kind, presence(type_name, field, kind, info.is_required())]
        extras: dict[str, Any] = {}
        if place in KEYED:
            extras["keys"] = KEYED[place]
        elif place in facts.SET_LISTS.split():
            extras["set"] = 1
        if place in facts.ATOMIC_MAPS.split():
            extras["atomic"] = 1
        if place in facts.GRANULAR_FIELDS.split():
            extras["granular"] = 1
        if place in MERGED:
            extras["merge"] = "" if MERGED[place] == ["-"] else MERGED[place][0]
        if place in facts.RETAIN_KEYS.split():
            extras["retain"] = 1
        if place in facts.REPLACED.split():
            extras["replace"] = 1
        if extras:
            entry.append(extras)
        fields[field] = entry
    for place, entry in facts.MISSING.items():
        owner, _, field = place.partition(".")
        if owner == type_name:
            fields[field] = entry
    return fields


def main() -> None:
    """Collect every type a served kind reaches, and write them."""
    kinds: dict[str, str] = {}
    for api_version, words in facts.GROUPS.items():
        for word in words.split():
            model, _, kind = word.partition("=")
            kinds[f"{api_version.lstrip('/')}/{kind or model}"] = model
    types: dict[str, Any] = {}
    todo = list(kinds.values())
    while todo:
        name = todo.pop()
        if name in types:
            continue
        full = name if name in MODELS else f"V1{name}"
        types[name] = describe(full)
        todo += [t for entry in types[name].values() for t in re.findall(r"#(\w+)", entry[0])]
    places = {f"{name}.{field}" for name, fields in types.items() for field in fields}
    told = [*KEYED, *MERGED, *facts.SET_LISTS.split(), *facts.ATOMIC_MAPS.split(), *facts.ALWAYS.split()]
    told += [*facts.QUANTITIES.split(), *facts.POINTER_TIMES.split(), *facts.MICRO_TIMES.split()]
    told += [*facts.NOT_ALWAYS.split(), *facts.NULLABLE.split(), *facts.NULL_WHEN_UNSET.split()]
    for place in sorted(set(told) - places):
        sys.stderr.write(f"no such field: {place}\n")
    for name in sorted(set(facts.ATOMIC_STRUCTS.split()) - set(types)):
        sys.stderr.write(f"no such type: {name}\n")
    atomic = sorted(set(facts.ATOMIC_STRUCTS.split()) & set(types))
    data = {"kinds": kinds, "atomic": atomic, "types": dict(sorted(types.items()))}
    TARGET.write_bytes(orjson.dumps(data) + b"\n")
    sys.stdout.write(f"{len(kinds)} kinds, {len(types)} types, {TARGET.stat().st_size} bytes\n")


if __name__ == "__main__":
    main()
