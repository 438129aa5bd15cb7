"""Writes docs/reference/api.md: every path of /api/v1, from the description that the hub gives of itself.

python tools/api_reference.py          write the page
python tools/api_reference.py --check  exit with 1 if it is not up to date
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gitfed.hub.api import openapi

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "api.md"
_HEAD = """\
# API

What [the hub](../how-to/hub.md) answers at `/api/v1`. This page is made from the code (`tools/api_reference.py`);
`/api/v1/openapi.json` says the same to programs (OpenAPI 3.1).

```
curl --cacert ca.crt --cert ann.crt --key ann.key https://hub.example:8443/api/v1/bindings?namespace=shop
```

**Who sees what.** An answer holds what the caller's `AccessPolicy`s let them view, and nothing else: what they may not
see is not counted either. An object that they may see in some of its clusters only is shown with these; sentences that
name or count others are left out. What is not there and what one may not see answer alike.

**Pages.** Lists have `limit` items (500, at most 1000) and, when there is more, `next`: ask for it as `continue`.

**Again.** Answers have an `ETag`; with `If-None-Match` an answer that did not change is 304. They may be a second old.
Answers are packed for clients that take gzip.

**Refusals** are problem details (RFC 9457), `application/problem+json`: `status`, `title`, `detail`, and sometimes a
`hint`. Unknown parameters are refused.

**Orders** stand on [the state branch](state-branch.md) with the caller's name, signed by the daemon, and the daemon
follows at once. An order needs the right `operate` wherever it has effect: for an object in every cluster where it is,
for a cluster in all of its namespaces. `approve` needs it for the whole fleet, by the policies of the commit in force
and by those of the commit before it; where `spec.guards.approvers` names keys, only `gitfed approve` consents. Only the
daemon that leads takes orders; others answer 503.

**Values** have the forms of `-o json`: members are added, never changed or removed.
"""


def page() -> str:
    document = openapi.document()
    lines = [_HEAD]
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            lines += _operation(path, method, operation)
    lines.append("\n## Values\n")
    for name, schema in document["components"]["schemas"].items():
        lines += _schema(name, schema)
    return "\n".join(lines) + "\n"


def _operation(path: str, method: str, operation: dict[str, Any]) -> Iterator[str]:
    yield f"\n## `{method.upper()} {path}`\n"
    yield operation["description"]
    if operation["parameters"]:
        yield "\n| Parameter | In | Meaning |\n|---|---|---|"
        for one in operation["parameters"]:
            choices = one["schema"].get("enum", ())
            listed = f" One of {', '.join(f'`{choice}`' for choice in choices)}." if choices else ""
            yield f"| `{one['name']}` | {one['in']} | {one['description']}{listed} |"
    if "requestBody" in operation:
        yield f"\nBody: {_type(operation['requestBody']['content']['application/json']['schema'])}."
    for status in ("200", "202"):
        for content in operation["responses"].get(status, {}).get("content", {}).values():
            yield f"\n{status}: {_type(content['schema'])}."


def _schema(name: str, schema: dict[str, Any]) -> Iterator[str]:
    yield f"\n### {name}\n"
    yield schema.get("description", "")
    yield "\n| Member | Type | Meaning |\n|---|---|---|"
    for member, one in schema.get("properties", {}).items():
        optional = "" if member in schema.get("required", ()) else " (may be missing)"
        text = " ".join(str(one.get("description", "")).split()).replace("|", "\\|")
        yield f"| `{member}` | {_type(one)}{optional} | {text} |"


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(_type(one) for one in schema["anyOf"])
    if "const" in schema:
        return f"`{schema['const']}`"
    if schema.get("type") == "array":
        return f"list of {_type(schema['items'])}"
    if schema.get("type") == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"{_type(schema['additionalProperties'])} by name"
    return str(schema.get("type", "any"))


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(PAGE.read_text(encoding="utf-8") != page())
    PAGE.write_text(page(), encoding="utf-8")
