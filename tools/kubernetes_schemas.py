"""Writes schemas/kubernetes: the types of Kubernetes' own kinds, of several minor versions, from OpenAPI documents.

    python tools/kubernetes_schemas.py 1.37=swagger.json
    python tools/kubernetes_schemas.py 1.37=api/openapi-spec/v3 --drop 1.25

A document is Kubernetes' `swagger.json` (`kubectl get --raw /openapi/v2` of a cluster with every API on), a folder of
OpenAPI 3 documents (`api/openapi-spec/v3` of Kubernetes' repository), or JSON schemas made from them
(`_definitions.json`). Versions that are there already stay, so a new one is added by naming it alone.

The form is told in `gitfed/interpret/schema/kubernetes.py`. Descriptions are left out: they are nine tenths.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from gitfed.interpret.schema import notation

TARGET = Path(__file__).parents[1] / "schemas" / "kubernetes"
REQUIRED = {
    words[0]: frozenset(words[1:])
    for line in Path(__file__).with_name("kubernetes_required.txt").read_text().splitlines()
    if (words := line.split()) and words[0] != "#"
}
INDEX = "index.json"

Types = dict[str, dict[str, str]]
"""`apps_v1#Deployment` → field → type."""
Kinds = dict[str, dict[str, str]]
"""apiVersion → kind → type."""

_SCALARS = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": "quantity",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "intstr",
    "io.k8s.apimachinery.pkg.apis.meta.v1.Time": "time",
    "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": "microtime",
}
_ANYTHING = {
    "io.k8s.apimachinery.pkg.runtime.RawExtension",
    "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1",
}
_FORMATS = {"int32": "int32", "int64": "int64", "byte": "bytes", "date-time": "time"}
_DEFAULTS = {"protocol": "TCP"}
"""Of keys of lists; OpenAPI 2 does not tell them."""
_BARE = {"string": "string", "integer": "int64", "boolean": "bool", "number": "number"}


def definitions(path: Path) -> dict[str, Any]:
    """Name → schema, of a document or of a folder of documents."""
    if path.is_dir():
        return {name: one for part in sorted(path.glob("*.json")) for name, one in definitions(part).items()}
    document = json.loads(path.read_text())
    found = document.get("definitions") or document.get("$defs") or document.get("components", {}).get("schemas")
    return found or {}


def read(found: Mapping[str, Any]) -> tuple[Kinds, Types]:
    """The kinds that a file of a repository may hold, and the types that they are made of."""
    kinds: Kinds = {}
    types: Types = {}
    for name, schema in found.items():
        if "metadata" not in schema.get("properties", {}) or "ListMeta" in json.dumps(schema["properties"]["metadata"]):
            continue
        for known in schema.get("x-kubernetes-group-version-kind", ()):
            api_version = f"{known['group']}/{known['version']}" if known["group"] else known["version"]
            kinds.setdefault(api_version, {})[known["kind"]] = _reached(name, found, types)
    return kinds, types


def _reached(name: str, found: Mapping[str, Any], types: Types) -> str:
    """The word for a definition; what it is made of is put into `types`."""
    schema = found[name]
    if name in _SCALARS:
        return _SCALARS[name]
    if "properties" not in schema:
        return "any" if name in _ANYTHING or not schema.get("type") else "object"
    *_, package, version, bare = name.split(".")
    word = f"{package}_{version}#{bare}"
    if word not in types:
        fields = types[word] = {}
        required = REQUIRED.get(word, frozenset()) & set(schema.get("required", ()))
        for field, member in sorted(schema["properties"].items()):
            mark = notation.REQUIRED if field in required else ""
            fields[field] = mark + _word(member, found, types)
    return word


def _word(schema: Any, found: Mapping[str, Any], types: Types) -> str:
    reference = schema.get("$ref") or next((part["$ref"] for part in schema.get("allOf", ()) if "$ref" in part), "")
    if reference:
        return _reached(reference.rpartition("/")[2], found, types)
    kind = schema.get("type")
    kind = next((one for one in kind if one != "null"), None) if isinstance(kind, list) else kind
    if kind == "array":
        return _list(schema) + _word(schema["items"], found, types)
    if kind == "object":
        inner = schema.get("additionalProperties")
        return notation.MAP + _word(inner, found, types) if isinstance(inner, dict) else "object"
    return _FORMATS.get(schema.get("format", ""), "") or _BARE.get(kind or "", "any")


def _list(schema: Any) -> str:
    match schema.get("x-kubernetes-list-type"):
        case "map":
            keys = schema["x-kubernetes-list-map-keys"]
            return notation.keyed([f"{key}={_DEFAULTS[key]}" if key in _DEFAULTS else key for key in keys])
        case "set":
            return notation.SET
    return notation.LIST


# -- several versions in one form ---------------------------------------------------------------------------------


def load(folder: Path) -> dict[int, tuple[Kinds, Types]]:
    """Minor version → what `read` made of it, from the files."""
    if not (folder / INDEX).exists():
        return {}
    index = json.loads((folder / INDEX).read_text())
    files = {path.stem: json.loads(path.read_text()) for path in folder.glob("*.json") if path.name != INDEX}
    versions = {}
    for minor in range(index["minors"][0], index["minors"][1] + 1):
        kinds: Kinds = {}
        types: Types = {}
        for api_version, members in index["kinds"].items():
            for kind, text in members.items():
                if (word := notation.at(text, minor)) is not None:
                    kinds.setdefault(api_version, {})[kind] = word
        todo = [word for members in kinds.values() for word in members.values()]
        while todo:
            word = notation.marks(todo.pop())[1]
            if "#" in word and word not in types:
                file, _, bare = word.partition("#")
                present = {field: notation.at(text, minor) for field, text in files[file][bare].items()}
                types[word] = {field: notation.absolute(one, file) for field, one in present.items() if one is not None}
                todo += types[word].values()
        versions[minor] = kinds, types
    return versions


def merged(of: Iterable[tuple[int, Mapping[str, Mapping[str, str]]]]) -> dict[str, dict[str, str]]:
    """Outer → inner → the words of all versions; a word that holds for as long as the outer one bears no version."""
    versions = dict(of)
    found: dict[str, dict[str, str]] = {}
    for outer in sorted({name for one in versions.values() for name in one}):
        lives = [minor for minor, one in versions.items() if outer in one]
        for inner in sorted({name for minor in lives for name in versions[minor][outer]}):
            words = {minor: versions[minor][outer].get(inner) for minor in lives}
            found.setdefault(outer, {})[inner] = notation.join(words, max(versions))
    return found


def write(versions: Mapping[int, tuple[Kinds, Types]], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    minors = sorted(versions)
    if minors != list(range(minors[0], minors[-1] + 1)):
        raise SystemExit(f"versions are missing between 1.{minors[0]} and 1.{minors[-1]}: have {minors}")
    every_minor = {minor: {"": {f"{api} {kind}": word for api, kinds in one[0].items() for kind, word in kinds.items()}}
                   for minor, one in versions.items()}  # fmt: skip
    kinds: dict[str, dict[str, str]] = {}
    for name, text in merged(every_minor.items())[""].items():
        api_version, kind = name.split(" ")
        kinds.setdefault(api_version, {})[kind] = text
    files: dict[str, dict[str, dict[str, str]]] = {}
    for word, fields in merged((minor, one[1]) for minor, one in versions.items()).items():
        file, _, bare = word.partition("#")
        files.setdefault(file, {})[bare] = {name: notation.relative(text, file) for name, text in fields.items()}
    for path in folder.glob("*.json"):
        if path.stem not in files:
            path.unlink()
    (folder / INDEX).write_text(f'{{"minors":[{minors[0]},{minors[-1]}],"kinds":{"".join(_lines(kinds))}}}\n')
    for file, types in files.items():
        (folder / f"{file}.json").write_text("".join(_lines(types)) + "\n")


def _lines(members: Mapping[str, Any]) -> Iterator[str]:
    """A JSON object, one member a line: a new version then shows as lines that changed."""
    yield "{\n"
    yield ",\n".join(f"{json.dumps(name)}:{json.dumps(one, separators=(',', ':'))}" for name, one in members.items())
    yield "\n}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("documents", nargs="*", metavar="VERSION=PATH")
    parser.add_argument(
        "--drop", action="append", default=[], metavar="VERSION", help="leave this version out from now on"
    )
    given = parser.parse_args()
    versions = load(TARGET)
    for entry in given.documents:
        version, _, path = entry.partition("=")
        versions[int(version.removeprefix("1."))] = read(definitions(Path(path)))
    for version in given.drop:
        versions.pop(int(version.removeprefix("1.")), None)
    write(versions, TARGET)


if __name__ == "__main__":
    main()
