"""What a CustomResourceDefinition says about its kind, whatever shape it has.

It is a template like any other: a commit may hold one that no API server accepts. The cluster then refuses it; here it
must not fail. Invalid parts are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gitfed.model.base import Body, Kind
from gitfed.text.values import dataclass


@dataclass(frozen=True, slots=True)
class Definition:
    kind: Kind
    namespaced: bool | None
    """None: it says neither."""
    served: frozenset[tuple[str, str]]
    """apiVersion and kind of each version that is served."""


def read(body: Body) -> Definition | None:
    """None if it does not name a kind."""
    spec = _map(body.get("spec"))
    group, kind = spec.get("group"), _map(spec.get("names")).get("kind")
    if not isinstance(group, str) or not isinstance(kind, str) or not group or not kind:
        return None
    versions = spec.get("versions")
    served = frozenset(
        (f"{group}/{name}", kind)
        for version in (versions if isinstance(versions, list) else ())
        if _map(version).get("served") and isinstance(name := _map(version).get("name"), str)
    )
    scope = spec.get("scope")
    namespaced = scope == "Namespaced" if scope in ("Namespaced", "Cluster") else None
    return Definition(Kind(group, kind), namespaced, served)


def _map(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
