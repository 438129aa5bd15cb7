"""Small readings and makings that several controllers need: owners, pods from templates, readiness, conditions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final

import orjson

from kubesim.server.world import NAME_ALPHABET, World
from kubesim.store import Event

Body = dict[str, Any]
HASH_LABEL: Final = "pod-template-hash"


def meta(body: Body) -> Body:
    found: Body = body["metadata"]
    return found


def spec(body: Body) -> Body:
    return body.get("spec") or {}


def state(body: Body) -> Body:
    """The status."""
    return body.get("status") or {}


def key(body: Body) -> str:
    return f"{meta(body)['namespace']}/{meta(body)['name']}"


def controller_of(body: Body) -> Body | None:
    """The owner reference of the object's controller."""
    return next((ref for ref in meta(body).get("ownerReferences") or () if ref.get("controller")), None)


def owner_reference(owner: Body, api_version: str, kind: str) -> Body:
    return {
        "apiVersion": api_version,
        "kind": kind,
        "name": meta(owner)["name"],
        "uid": meta(owner)["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


class Owned:
    """Objects by the uid of their controller, kept up to date by watching the store."""

    def __init__(self, world: World, *collections: str) -> None:
        self._world = world
        self._collections = frozenset(collections)
        self._keys: dict[tuple[str, str], dict[str, None]] = {}
        for collection in collections:
            for record in world.store.collection(collection).between(""):
                self._change(collection, None, record.body)
        world.store.observers.insert(0, self._observe)  # before those that act on what they see here

    def _observe(self, collection: str, event: Event) -> None:
        if collection in self._collections:
            old, new = (record.body if record else None for record in (event.old, event.new))
            self._change(collection, old, new)

    def _change(self, collection: str, old: Body | None, new: Body | None) -> None:
        before, after = (controller_of(body) if body is not None else None for body in (old, new))
        if before is not None and (after is None or before["uid"] != after["uid"]):
            self._keys.get((collection, before["uid"]), {}).pop(_key(old), None)
        if after is not None:
            self._keys.setdefault((collection, after["uid"]), {})[_key(new)] = None

    def of(self, collection: str, owner: Body) -> list[Body]:
        """What it controls, by name."""
        keys = self._keys.get((collection, meta(owner)["uid"]), {})
        records = (self._world.store.get(collection, one) for one in sorted(keys))
        return [record.body for record in records if record is not None]


def _key(body: Body | None) -> str:
    return key(body) if body is not None else ""


# pods


def new_pod(template: Body, owner: Body, api_version: str, kind: str, labels: Mapping[str, str] | None = None) -> Body:
    """A pod from the template of its controller, without a name."""
    kept = template.get("metadata") or {}
    made: Body = {
        "namespace": meta(owner)["namespace"],
        "labels": {**(kept.get("labels") or {}), **(labels or {})},
        "ownerReferences": [owner_reference(owner, api_version, kind)],
    }
    if kept.get("annotations"):
        made["annotations"] = kept["annotations"]
    if kept.get("finalizers"):
        made["finalizers"] = kept["finalizers"]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": made, "spec": template.get("spec") or {}}


def is_ready(pod: Body) -> bool:
    return any(one.get("type") == "Ready" and one.get("status") == "True" for one in state(pod).get("conditions") or ())


def is_active(pod: Body) -> bool:
    """Neither finished nor on its way out."""
    return state(pod).get("phase") not in ("Succeeded", "Failed") and not meta(pod).get("deletionTimestamp")


def available_in(pod: Body, min_ready_seconds: int, now: datetime) -> float | None:
    """Seconds until the pod counts as available, 0 if it does, ``None`` if it is not even ready."""
    if not is_ready(pod):
        return None
    if not min_ready_seconds:
        return 0.0
    since = next(one.get("lastTransitionTime") for one in state(pod)["conditions"] if one.get("type") == "Ready")
    age = (now - datetime.fromisoformat(since)).total_seconds()
    return max(0.0, min_ready_seconds - age)


def victims(pods: Iterable[Body], count: int) -> list[Body]:
    """The pods to remove first: not placed, not running, not ready, youngest (Kubernetes: ActivePods ranking)."""

    def rank(pod: Body) -> tuple[bool, int, bool, str]:
        phases = {"Pending": 0, "Unknown": 1, "Running": 2}
        placed = bool(spec(pod).get("nodeName"))
        return (
            placed,
            phases.get(state(pod).get("phase", ""), 0),
            is_ready(pod),
            meta(pod).get("creationTimestamp") or "",
        )

    ordered = sorted(pods, key=lambda pod: (rank(pod)[:3], _Reversed(rank(pod)[3])))
    return ordered[:count]


class _Reversed(str):
    """Text that sorts the other way round."""

    __slots__ = ()

    def __lt__(self, other: str) -> bool:
        return str.__gt__(self, other)


def template_hash(template: Body, collisions: int = 0) -> str:
    """A short name for a pod template. Stable for equal templates; not the hash a real controller computes."""
    value = 2166136261
    for byte in orjson.dumps([template, collisions], option=orjson.OPT_SORT_KEYS):
        value = ((value ^ byte) * 16777619) & 0xFFFFFFFF
    return "".join(NAME_ALPHABET[int(digit) + 3] for digit in str(value))


# conditions


def condition(body: Body, kind: str) -> Body | None:
    return next((one for one in state(body).get("conditions") or () if one.get("type") == kind), None)


def with_condition(conditions: Iterable[Body], fresh: Body, now: str, *, updates: bool = False) -> list[Body]:
    """The conditions with this one set. Its transition time moves with its status, with ``updates`` its update time
    with its reason."""
    result, found = [], False
    for one in conditions:
        if one.get("type") != fresh["type"]:
            result.append(one)
            continue
        found = True
        same_status = one.get("status") == fresh["status"]
        if same_status and one.get("reason") == fresh.get("reason") and one.get("message") == fresh.get("message"):
            result.append(one)
            continue
        times = {"lastTransitionTime": one.get("lastTransitionTime") if same_status else now}
        result.append({**fresh, **({"lastUpdateTime": now} if updates else {}), **times})
    if not found:
        result.append({**fresh, **({"lastUpdateTime": now} if updates else {}), "lastTransitionTime": now})
    return result


def rounded(value: Any, total: int, *, up: bool) -> int:
    """A number or percentage of ``total`` (maxSurge rounds up, maxUnavailable down)."""
    if isinstance(value, str) and value.endswith("%"):
        share = int(value[:-1]) * total
        return -(-share // 100) if up else share // 100
    return int(value or 0)
