"""Namespaces go before their content (Karmada: policies §2.7).

A Namespace in the repository goes to every cluster, unless it is reserved, skipped by a pattern of the settings, or
labelled `namespace.karmada.io/skip-auto-propagation`; then it is a template like any other. A namespace that objects
need but no file declares is made where they go: a Git repository, unlike a control plane, does not force its author to
create it first.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import TYPE_CHECKING

from gitfed.model.base import Digest, ObjectKey, Origin
from gitfed.model.keys import SKIP_LABEL
from gitfed.model.repo import Manifest
from gitfed.text import canonical

if TYPE_CHECKING:
    from gitfed.model.declared.federation import Federation

_RESERVED = re.compile(r"default|kube-.*|karmada-system|karmada-cluster|karmada-es-.*|gitfed-system")


def is_namespace(key: ObjectKey) -> bool:
    return key.kind == "Namespace" and not key.group


def propagates(manifest: Manifest, settings: Federation) -> bool:
    """Whether this template is a Namespace that goes to every cluster by itself."""
    if not is_namespace(manifest.key) or not settings.spec.namespaces.auto_propagate:
        return False
    labels = (manifest.body.get("metadata") or {}).get("labels") or {}
    if str(labels.get(SKIP_LABEL, "")).lower() == "true":
        return False
    return not is_reserved(manifest.key.name, settings)


def is_reserved(name: str, settings: Federation) -> bool:
    """Whether gitfed leaves a namespace to the clusters: theirs, or skipped by a pattern of the settings."""
    return bool(_RESERVED.fullmatch(name)) or settings.spec.namespaces.skips(name)


def with_implied(keys: Collection[ObjectKey]) -> list[ObjectKey]:
    """The objects, and the Namespaces that they need and no file declares."""
    spaces = dict.fromkeys(ObjectKey("", "Namespace", "", key.namespace) for key in keys if key.namespace)
    return [*keys, *(space for space in spaces if space not in keys)]


def implied(name: str, origin: Origin) -> Manifest:
    """The Namespace that an object at `origin` needs."""
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    return Manifest(ObjectKey("", "Namespace", "", name), "v1", body, origin, Digest(canonical.digest(body)))
