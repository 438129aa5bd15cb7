"""What kinds the fleet has: those of its clusters together, in each form in which an API server tells them.

A kind that only one cluster has is there; of what several clusters have, the first says how it is, and verbs add up.
Versions of a group come in Kubernetes' own order (v2 before v1, v1 before v1beta1) where clusters do not agree.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

Body = dict[str, Any]

_VERSION = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?")
_STABILITY = {None: 2, "beta": 1, "alpha": 0}


def union(answers: Sequence[Mapping[str, Any]]) -> Body | None:
    """Of at least one answer, all of the same kind; None when they are not, or of a kind that is no discovery."""
    kinds = {(answer.get("apiVersion"), answer.get("kind")) for answer in answers}
    if len(kinds) != 1:
        return None
    merge = _KINDS.get(str(answers[0].get("kind") or ""))
    return merge(answers) if merge is not None else None


def _versions(answers: Sequence[Mapping[str, Any]]) -> Body:
    named = dict.fromkeys(version for answer in answers for version in answer.get("versions") or ())
    return {**answers[0], "versions": list(named), "serverAddressByClientCIDRs": []}


def _groups(answers: Sequence[Mapping[str, Any]]) -> Body:
    return {**answers[0], "groups": _joined((answer.get("groups") or () for answer in answers), _name, _group)}


def _group(parts: Sequence[Mapping[str, Any]]) -> Body:
    made: Body = {**parts[0], "versions": _in_order([part.get("versions") or () for part in parts], "version")}
    if made["versions"] != parts[0].get("versions") and made["versions"]:
        made["preferredVersion"] = made["versions"][0]
    made.pop("serverAddressByClientCIDRs", None)
    return made


def _resources(answers: Sequence[Mapping[str, Any]]) -> Body:
    resources = _joined((answer.get("resources") or () for answer in answers), _name, _with_all_verbs)
    return {**answers[0], "resources": resources}


def _aggregated(answers: Sequence[Mapping[str, Any]]) -> Body:
    listed = (answer.get("items") or () for answer in answers)
    items = _joined(listed, lambda item: _name(item.get("metadata") or {}), _aggregated_group)
    return {**answers[0], "metadata": {}, "items": items}


def _aggregated_group(parts: Sequence[Mapping[str, Any]]) -> Body:
    lists = [part.get("versions") or () for part in parts]
    return {**parts[0], "versions": _in_order(lists, "version", _aggregated_version)}


def _aggregated_version(parts: Sequence[Mapping[str, Any]]) -> Body:
    listed = (part.get("resources") or () for part in parts)
    resources = _joined(listed, lambda resource: str(resource.get("resource")), _aggregated_one)
    return {**parts[0], "resources": resources}


def _aggregated_one(parts: Sequence[Mapping[str, Any]]) -> Body:
    made = _with_all_verbs(parts)
    subresources = _joined(
        (part.get("subresources") or () for part in parts),
        lambda subresource: str(subresource.get("subresource")),
        _with_all_verbs,
    )
    if subresources:
        made["subresources"] = subresources
    return made


def _documents(answers: Sequence[Mapping[str, Any]]) -> Body:
    """Of `/openapi/v3`: each document is the first cluster's that has it."""
    paths: Body = {}
    for answer in answers:
        for path, document in (answer.get("paths") or {}).items():
            paths.setdefault(path, document)
    return {"paths": paths}


_KINDS: dict[str, Callable[[Sequence[Mapping[str, Any]]], Body]] = {
    "APIVersions": _versions,
    "APIGroupList": _groups,
    "APIGroup": _group,
    "APIResourceList": _resources,
    "APIGroupDiscoveryList": _aggregated,
    "": _documents,
}


def _name(described: Mapping[str, Any]) -> str:
    return str(described.get("name"))


def _with_all_verbs(parts: Sequence[Mapping[str, Any]]) -> Body:
    verbs = dict.fromkeys(verb for part in parts for verb in part.get("verbs") or ())
    return {**parts[0], "verbs": list(verbs)}


def _joined(
    lists: Iterable[Iterable[Mapping[str, Any]]],
    key: Callable[[Mapping[str, Any]], str],
    merge: Callable[[Sequence[Mapping[str, Any]]], Body],
) -> list[Body]:
    """By key, in the order of first appearance."""
    by_key: dict[str, list[Mapping[str, Any]]] = {}
    for listed in lists:
        for item in listed:
            by_key.setdefault(key(item), []).append(item)
    return [merge(parts) for parts in by_key.values()]


def _in_order(
    lists: Sequence[Sequence[Mapping[str, Any]]],
    field: str,
    merge: Callable[[Sequence[Mapping[str, Any]]], Body] = lambda parts: dict(parts[0]),
) -> list[Body]:
    joined = _joined(lists, lambda version: str(version.get(field)), merge)
    if len(joined) == len(lists[0]):
        return joined
    return sorted(joined, key=lambda version: _rank(str(version.get(field))), reverse=True)


def _rank(version: str) -> tuple[int, int, int, str]:
    """Kubernetes: general availability before beta before alpha, then higher numbers; other words come last."""
    match = _VERSION.fullmatch(version)
    if match is None:
        return -1, 0, 0, version
    return _STABILITY[match[2]], int(match[1]), int(match[3] or 0), ""
