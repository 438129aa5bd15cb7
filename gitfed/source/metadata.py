"""An object's metadata: names, labels and annotations as an API server will check them.

A wrong name is found here, with its line, and not in forty clusters one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gitfed.model.base import Kind, Problem
from gitfed.model.declared import names
from gitfed.source.declare import Path, Place

_RBAC = "rbac.authorization.k8s.io"
_DNS_LABELS = frozenset({Kind("", "Namespace"), Kind("", "Service")})


def problems(metadata: Mapping[str, Any], kind: Kind, place: Place) -> list[Problem]:
    """Everything that is wrong; `place` takes paths of the object, not of its metadata."""
    errors = [*_name(metadata, kind), *_namespace(metadata), *_uid(metadata), *_maps(metadata)]
    return [Problem(place(("metadata", *path)), message, hint) for path, message, hint in errors]


def _name(metadata: Mapping[str, Any], kind: Kind) -> Iterator[tuple[Path, str, str]]:
    name = metadata.get("name")
    if name in (None, ""):
        hint = "generateName would make a new object every time" if metadata.get("generateName") else ""
        yield ("name",), "metadata.name is required", hint
    elif not isinstance(name, str):
        yield ("name",), "metadata.name must be text", f'write "{shown(name)}"'
    elif why := _why_not_name(name, kind):
        yield ("name",), f"the name {shown(name)} {why}", ""


def _why_not_name(name: str, kind: Kind) -> str:
    if kind.group == _RBAC:
        return names.why_not_path_segment(name)
    if kind in _DNS_LABELS:
        return names.why_not_dns_label(name)
    return names.why_not_dns_subdomain(name)


def _namespace(metadata: Mapping[str, Any]) -> Iterator[tuple[Path, str, str]]:
    namespace = metadata.get("namespace")
    if namespace is not None and not isinstance(namespace, str):
        yield ("namespace",), "metadata.namespace must be text", f'write "{shown(namespace)}"'
    elif namespace and (why := names.why_not_dns_label(namespace)):
        yield ("namespace",), f"the namespace {shown(namespace)} {why}", ""


def _uid(metadata: Mapping[str, Any]) -> Iterator[tuple[Path, str, str]]:
    """It decides ties between clusters, whatever it says."""
    uid = metadata.get("uid")
    if uid is not None and not isinstance(uid, str):
        yield ("uid",), "metadata.uid must be text", "leave it out"


def _maps(metadata: Mapping[str, Any]) -> Iterator[tuple[Path, str, str]]:
    """Labels and annotations: text keys of the right form, text values."""
    for member, word in (("labels", "label"), ("annotations", "annotation")):
        entries = metadata.get(member)
        if entries is None:
            continue
        if not isinstance(entries, dict):
            yield (member,), f"metadata.{member} must be a mapping", ""
            continue
        for key, value in entries.items():
            # Kubernetes lowers annotation keys before it looks at them.
            if why := names.why_not_label_key(key if word == "label" else key.lower()):
                yield (member, key), f"the {word} key {shown(key)} {why}", ""
            if not isinstance(value, str):
                hint = f'write "{shown(value)}"' if value is not None and not isinstance(value, dict | list) else ""
                yield (member, key), f"the value of the {word} {shown(key)} must be text", hint
            elif word == "label" and (why := names.why_not_label_value(value)):
                yield (member, key), f"the value of the label {shown(key)} {why}", ""


def shown(value: Any) -> str:
    """A value as a message may show it."""
    text = ("true" if value else "false") if isinstance(value, bool) else str(value)
    text = text if text.isprintable() else text.encode("unicode_escape").decode()
    return text if len(text) <= 80 else text[:79] + "…"
