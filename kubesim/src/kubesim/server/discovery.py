"""What the server says it has: groups, versions, resources; in the old forms and in the aggregated one.

The aggregated form answers everything at once and carries an entity tag, so that clients ask again for little.
"""

from __future__ import annotations

import base64
import hashlib
from typing import Any, Final

import orjson

from kubesim.kind import Kind, Subresource
from kubesim.registry import Registry
from kubesim.server.request import Response

Body = dict[str, Any]

AGGREGATED: Final = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_CUSTOM_VERBS: Final = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")


def legacy_versions(host: str) -> Body:
    return {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": host}],
    }


def group(name: str, versions: dict[str, list[Kind]]) -> Body:
    told = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": told, "preferredVersion": told[0]}


def group_list(registry: Registry) -> Body:
    found = [group(name, versions) for name, versions in registry.groups().items() if name]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": found}


def one_group(registry: Registry, name: str) -> Body | None:
    versions = registry.groups().get(name) if name else None
    return {"kind": "APIGroup", "apiVersion": "v1", **group(name, versions)} if versions else None


def resource_list(registry: Registry, name: str, version: str) -> Body | None:
    kinds = registry.groups().get(name, {}).get(version)
    if kinds is None:
        return None
    group_version = f"{name}/{version}" if name else version
    resources = [entry for kind in kinds for entry in _resources(kind)]
    head: Body = {"kind": "APIResourceList"}
    if name:
        head["apiVersion"] = "v1"
    return {**head, "groupVersion": group_version, "resources": resources}


def _resources(kind: Kind) -> list[Body]:
    entry: Body = {
        "name": kind.plural,
        "singularName": kind.singular or kind.kind.lower(),
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": list(_verbs(kind)),
    }
    if kind.short_names:
        entry["shortNames"] = list(kind.short_names)
    if kind.categories:
        entry["categories"] = list(kind.categories)
    if "list" in kind.verbs:
        entry["storageVersionHash"] = _storage_hash(kind)
    found = [entry]
    for sub in kind.subresources:
        shown: Body = {"name": f"{kind.plural}/{sub.name}", "singularName": "", "namespaced": kind.namespaced}
        if sub.group:
            shown["group"] = sub.group
        if sub.version:
            shown["version"] = sub.version
        found.append({**shown, "kind": sub.kind or kind.kind, "verbs": list(sub.verbs)})
    return found


def _verbs(kind: Kind) -> tuple[str, ...]:
    return _CUSTOM_VERBS if kind.custom else kind.verbs


def _storage_hash(kind: Kind) -> str:
    """Tells clients when the stored version changes. Opaque to them (Kubernetes: discovery.StorageVersionHash)."""
    version = kind.storage_version or kind.api_version
    if kind.group == "apiextensions.k8s.io":
        # Definitions are the one kind that is still kept in a version no longer served.
        version = f"{kind.group}/v1beta1"
    stored = version if "/" in version else f"/{version}"
    return base64.b64encode(hashlib.sha256(f"{stored}/{kind.kind}".encode()).digest()[:8]).decode()


# aggregated ---------------------------------------------------------------------------------------------------------


class Aggregated:
    """The aggregated answers of both roots, made again only when the kinds changed."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._generation = -1
        self._answers: dict[str, tuple[bytes, str]] = {}

    def answer(self, root: str, known_tag: str) -> Response:
        """``root`` is api or apis; 304 if the client's tag still holds."""
        if self._generation != self._registry.generation:
            self._answers.clear()
            self._generation = self._registry.generation
        if root not in self._answers:
            self._answers[root] = self._make(root)
        data, tag = self._answers[root]
        headers = [("Etag", tag), ("Vary", "Accept")]
        if known_tag == tag:
            return Response(304, b"", "", headers)
        return Response(200, data, AGGREGATED, headers)

    def _make(self, root: str) -> tuple[bytes, str]:
        items = []
        for name, versions in self._registry.groups().items():
            if (name == "") is not (root == "api"):
                continue
            told = [
                {"version": version, "resources": [_discovered(kind) for kind in kinds], "freshness": "Current"}
                for version, kinds in versions.items()
            ]
            items.append({"metadata": {"name": name} if name else {}, "versions": told})
        head = {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}}
        data = orjson.dumps({**head, "items": items})
        return data, f'"{hashlib.sha512(data).hexdigest().upper()}"'


def _discovered(kind: Kind) -> Body:
    own = {"group": kind.group, "version": kind.version} if kind.custom else {"group": "", "version": ""}
    entry: Body = {
        "resource": kind.plural,
        "responseKind": {**own, "kind": kind.kind},
        "scope": "Namespaced" if kind.namespaced else "Cluster",
        "singularResource": kind.singular or kind.kind.lower(),
        "verbs": list(_verbs(kind)),
    }
    if kind.short_names:
        entry["shortNames"] = list(kind.short_names)
    if kind.categories:
        entry["categories"] = list(kind.categories)
    if kind.subresources:
        entry["subresources"] = [_discovered_sub(kind, sub, own) for sub in kind.subresources]
    return entry


def _discovered_sub(kind: Kind, sub: Subresource, own: dict[str, str]) -> Body:
    where = {"group": sub.group, "version": sub.version} if sub.version else own
    return {
        "subresource": sub.name,
        "responseKind": {**where, "kind": sub.kind or kind.kind},
        "verbs": list(sub.verbs),
    }
