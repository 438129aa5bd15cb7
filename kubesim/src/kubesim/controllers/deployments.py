"""Deployments: from one template to the next without losing too many pods on the way.

A roll-out is a sequence of small steps, each decided from what exists now: make the new replica set, let it grow as
far as maxSurge allows, shrink the old ones as far as maxUnavailable allows, say how far it got. Kubernetes: the
deployment controller; the words of conditions are its own, because people and health checks read them.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

from kubesim.controllers import objects
from kubesim.controllers.replicasets import SETS
from kubesim.controllers.work import Loop
from kubesim.store import Record

Body = dict[str, Any]
DEPLOYMENTS: Final = "deployments.apps"
REVISION: Final = "deployment.kubernetes.io/revision"
_DESIRED: Final = "deployment.kubernetes.io/desired-replicas"
_MAXIMUM: Final = "deployment.kubernetes.io/max-replicas"
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"


class Deployments:
    def __init__(self, loop: Loop, owned: objects.Owned) -> None:
        self._loop, self._owned, self._client = loop, owned, loop.client()
        loop.add(self, DEPLOYMENTS, SETS, "pods")

    def keys(self, collection: str, record: Record) -> Iterable[str]:
        if collection == DEPLOYMENTS:
            yield record.key
            return
        owner = objects.controller_of(record.body)
        if collection == "pods":
            yield from self._waiting(record, owner)
        elif owner is not None and owner["kind"] == "Deployment":
            yield f"{record.namespace}/{owner['name']}"

    def _waiting(self, pod: Record, owner: Body | None) -> Iterable[str]:
        """A strategy of Recreate waits for the last old pod to be gone, which no replica set tells."""
        if owner is None or not objects.meta(pod.body).get("deletionTimestamp"):
            return
        held = self._loop.world.store.get(SETS, f"{pod.namespace}/{owner['name']}")
        above = objects.controller_of(held.body) if held is not None else None
        key = f"{pod.namespace}/{above['name']}" if above is not None else ""
        body = self._read(key)
        if body is not None and (objects.spec(body).get("strategy") or {}).get("type") == "Recreate":
            yield key

    def reconcile(self, key: str) -> None:
        body = self._read(key)
        if body is None or objects.meta(body).get("deletionTimestamp"):
            return
        fresh, _ = self._sets(body)
        note = ""
        if fresh is None and not objects.spec(body).get("paused"):
            created = self._create_set(body)
            note = f'Created new replica set "{objects.meta(created)["name"]}"'
        body = self._mark(key)
        if body is None:
            return
        self._scale(body)
        self._clean_up(body)
        self._report(body, note)

    def _read(self, key: str) -> Body | None:
        record = self._loop.world.store.get(DEPLOYMENTS, key)
        return record.body if record is not None else None

    def _sets(self, body: Body) -> tuple[Body | None, list[Body]]:
        """The replica set of the present template, and all others, oldest first."""
        found = [one for one in self._owned.of(SETS, body) if not objects.meta(one).get("deletionTimestamp")]
        found.sort(key=lambda one: (objects.meta(one).get("creationTimestamp") or "", _revision(one)))
        wanted = objects.spec(body)["template"]
        fresh = next((one for one in found if _same_template(objects.spec(one)["template"], wanted)), None)
        return fresh, [one for one in found if one is not fresh]

    def _create_set(self, body: Body) -> Body:
        spec, meta = objects.spec(body), objects.meta(body)
        collisions = objects.state(body).get("collisionCount") or 0
        mark = objects.template_hash(spec["template"], collisions)
        template = _labelled(spec["template"], mark)
        selector = spec["selector"]
        made = {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {
                "name": f"{meta['name']}-{mark}",
                "namespace": meta["namespace"],
                "labels": objects.meta(template)["labels"],
                "annotations": self._annotations(body),
                "ownerReferences": [objects.owner_reference(body, "apps/v1", "Deployment")],
            },
            "spec": {
                "replicas": 0,
                "selector": {
                    **selector,
                    "matchLabels": {**(selector.get("matchLabels") or {}), objects.HASH_LABEL: mark},
                },
                "template": template,
                **({"minReadySeconds": spec["minReadySeconds"]} if spec.get("minReadySeconds") else {}),
            },
        }
        return self._client.create(SETS, made)

    def _annotations(self, body: Body) -> Body:
        kept = {
            name: text
            for name, text in (objects.meta(body).get("annotations") or {}).items()
            if name not in (_LAST_APPLIED, REVISION)
        }
        wanted = objects.spec(body).get("replicas", 1)
        latest = max((_revision(one) for one in self._owned.of(SETS, body)), default=0)
        return {**kept, REVISION: str(latest + 1), _DESIRED: str(wanted), _MAXIMUM: str(wanted + _surge(body))}

    def _mark(self, key: str) -> Body | None:
        """The revision of the present template, on the replica set (a return to an old template makes it the newest)
        and the Deployment."""
        body = self._read(key)
        if body is None:
            return None
        fresh, old = self._sets(body)
        if fresh is None:
            return body
        latest = max((_revision(one) for one in old), default=0)
        revision = _revision(fresh)
        if revision <= latest:
            revision = latest + 1
            self._patch_set(fresh, {"metadata": {"annotations": {REVISION: str(revision)}}})
        if (objects.meta(body).get("annotations") or {}).get(REVISION) != str(revision):
            meta = objects.meta(body)
            patch = {"metadata": {"annotations": {REVISION: str(revision)}}}
            self._client.patch(DEPLOYMENTS, meta["namespace"], meta["name"], patch)
            return self._read(key)
        return body

    def _patch_set(self, one: Body, patch: Body) -> None:
        self._client.patch(SETS, objects.meta(one)["namespace"], objects.meta(one)["name"], patch)

    def _resize(self, one: Body, replicas: int, body: Body) -> None:
        if objects.spec(one).get("replicas") == replicas:
            return
        wanted = objects.spec(body).get("replicas", 1)
        marks = {_DESIRED: str(wanted), _MAXIMUM: str(wanted + _surge(body))}
        self._patch_set(one, {"metadata": {"annotations": marks}, "spec": {"replicas": replicas}})

    def _scale(self, body: Body) -> None:
        wanted = objects.spec(body).get("replicas", 1)
        fresh, old = self._sets(body)
        if objects.spec(body).get("paused"):
            # A paused roll-out still follows the number of replicas, in its newest set.
            active = fresh or (old[-1] if old else None)
            if active is not None and not [
                one for one in old if one is not active and objects.spec(one).get("replicas")
            ]:
                self._resize(active, wanted, body)
            return
        if fresh is None:
            return
        if (objects.spec(body).get("strategy") or {}).get("type") == "Recreate":
            for one in old:
                self._resize(one, 0, body)
            if not any(self._owned.of("pods", one) for one in old):
                self._resize(fresh, wanted, body)
            return
        self._roll(body, fresh, old, wanted)

    def _roll(self, body: Body, fresh: Body, old: list[Body], wanted: int) -> None:
        total = sum(objects.spec(one).get("replicas", 0) for one in (fresh, *old))
        size = objects.spec(fresh).get("replicas", 0)
        if size > wanted:
            self._resize(fresh, wanted, body)
        elif size < wanted:
            room = wanted + _surge(body) - total
            self._resize(fresh, min(wanted, size + max(0, room)), body)
        fresh, old = self._sets(body)  # type: ignore[assignment]
        old = [one for one in old if objects.spec(one).get("replicas", 0) > 0]
        if fresh is None or not old:
            return
        least = wanted - _unavailable(body)
        total = sum(objects.spec(one).get("replicas", 0) for one in (fresh, *old))
        unavailable = objects.spec(fresh).get("replicas", 0) - objects.state(fresh).get("availableReplicas", 0)
        spare = total - least - unavailable
        if spare <= 0:
            return  # counted by what is asked for: an old set may not have followed the last step yet
        # First those that do not work anyway, then healthy ones as far as enough stay available.
        for one in old:
            broken = objects.spec(one)["replicas"] - objects.state(one).get("availableReplicas", 0)
            cut = min(broken, spare)
            if cut > 0:
                self._resize(one, objects.spec(one)["replicas"] - cut, body)
                spare -= cut
        available = sum(objects.state(one).get("availableReplicas", 0) for one in (fresh, *old))
        spare = available - least
        for one in self._sets(body)[1]:
            replicas = objects.spec(one).get("replicas", 0)
            cut = min(replicas, spare)
            if cut > 0:
                self._resize(one, replicas - cut, body)
                spare -= cut

    def _clean_up(self, body: Body) -> None:
        """Old replica sets beyond the history limit."""
        _, old = self._sets(body)
        limit = objects.spec(body).get("revisionHistoryLimit", 10)
        empty = [one for one in old if not objects.spec(one).get("replicas") and not objects.state(one).get("replicas")]
        empty.sort(key=_revision)
        for one in empty[: max(0, len(old) - limit)]:
            self._client.delete(SETS, objects.meta(one)["namespace"], objects.meta(one)["name"])

    def _report(self, body: Body, note: str) -> None:
        current = self._read(objects.key(body))
        if current is None:
            return
        fresh, old = self._sets(current)
        now = self._loop.world.clock.now()
        status = _status(current, fresh, old)
        status["conditions"] = self._conditions(current, fresh, status, note, now)
        before = objects.state(current)
        if before.get("collisionCount") is not None:
            status["collisionCount"] = before["collisionCount"]
        if status != before:
            self._client.update(DEPLOYMENTS, {**current, "status": status}, subresource="status")
        self._watch_deadline(current, status, now)

    def _conditions(self, body: Body, fresh: Body | None, status: Body, note: str, now: datetime) -> list[Body]:
        stamp = self._loop.world.now()
        conditions = objects.state(body).get("conditions") or []
        wanted = objects.spec(body).get("replicas", 1)
        enough = status.get("availableReplicas", 0) >= wanted - _unavailable(body)
        conditions = objects.with_condition(conditions, _AVAILABLE if enough else _UNAVAILABLE, stamp, updates=True)
        conditions = [one for one in conditions if one.get("type") != "ReplicaFailure"]
        failure = objects.condition(fresh, "ReplicaFailure") if fresh is not None else None
        if failure is not None:
            before = objects.condition(body, "ReplicaFailure")
            since = {"lastUpdateTime": (before or {}).get("lastUpdateTime") or stamp}
            conditions = [*conditions, {**failure, **since}]
        if objects.spec(body).get("paused"):
            if (objects.condition(body, "Progressing") or {}).get("reason") != "DeploymentPaused":
                paused = {
                    "type": "Progressing",
                    "status": "Unknown",
                    "reason": "DeploymentPaused",
                    "message": "Deployment is paused",
                }
                conditions = objects.with_condition(conditions, paused, stamp, updates=True)
            return conditions
        progress = self._progress(body, fresh, status, note, now)
        if progress is None:
            return conditions
        if progress["reason"] == "ReplicaSetUpdated":
            # Every step forward moves the time from which the deadline counts, though the words stay the same.
            before = objects.condition(body, "Progressing") or {}
            rest = [one for one in conditions if one.get("type") != "Progressing"]
            began = before.get("lastTransitionTime") if before.get("status") == "True" else stamp
            return [*rest, {**progress, "lastUpdateTime": stamp, "lastTransitionTime": began}]
        return objects.with_condition(conditions, progress, stamp, updates=True)

    def _progress(self, body: Body, fresh: Body | None, status: Body, note: str, now: datetime) -> Body | None:
        """What the Progressing condition should become; ``None`` leaves it."""
        what = (
            f'ReplicaSet "{objects.meta(fresh)["name"]}"'
            if fresh is not None
            else f'Deployment "{objects.meta(body)["name"]}"'
        )
        before = objects.condition(body, "Progressing")
        if note:
            return _progressing("True", "NewReplicaSetCreated", note)
        if _is_complete(body, status):
            return _progressing("True", "NewReplicaSetAvailable", f"{what} has successfully progressed.")
        if before is not None and before.get("reason") == "NewReplicaSetAvailable" and fresh is not None:
            if objects.meta(body).get("generation") == objects.state(body).get("observedGeneration"):
                return None  # pods that die after a finished roll-out are no roll-out
            return _progressing("True", "FoundNewReplicaSet", f'Found new replica set "{objects.meta(fresh)["name"]}"')
        if before is None or _moved(objects.state(body), status):
            return _progressing("True", "ReplicaSetUpdated", f"{what} is progressing.")
        if before.get("reason") != "ProgressDeadlineExceeded" and _deadline(body, before, now) <= 0:
            return _progressing("False", "ProgressDeadlineExceeded", f"{what} has timed out progressing.")
        return None

    def _watch_deadline(self, body: Body, status: Body, now: datetime) -> None:
        progress = objects.condition({"status": status}, "Progressing")
        if progress is None or progress.get("status") != "True" or _is_complete(body, status):
            return
        left = _deadline(body, progress, now)
        if 0 < left < float("inf"):
            self._loop.enqueue(self, objects.key(body), left + 1)


_AVAILABLE: Final = {
    "type": "Available",
    "status": "True",
    "reason": "MinimumReplicasAvailable",
    "message": "Deployment has minimum availability.",
}
_UNAVAILABLE: Final = {
    "type": "Available",
    "status": "False",
    "reason": "MinimumReplicasUnavailable",
    "message": "Deployment does not have minimum availability.",
}


def _progressing(value: str, reason: str, message: str) -> Body:
    return {"type": "Progressing", "status": value, "reason": reason, "message": message}


def _deadline(body: Body, progress: Body, now: datetime) -> float:
    """Seconds left before a roll-out that does not move is called failed."""
    seconds = objects.spec(body).get("progressDeadlineSeconds")
    since = progress.get("lastUpdateTime")
    if seconds is None or since is None or seconds >= 2**31 - 1:
        return float("inf")
    return float(seconds) - (now - datetime.fromisoformat(since)).total_seconds()


def _revision(one: Body) -> int:
    text = (objects.meta(one).get("annotations") or {}).get(REVISION) or "0"
    return int(text) if text.isdigit() else 0


def _same_template(one: Body, other: Body) -> bool:
    return _without_hash(one) == _without_hash(other)


def _without_hash(template: Body) -> Body:
    meta = template.get("metadata") or {}
    labels = {name: value for name, value in (meta.get("labels") or {}).items() if name != objects.HASH_LABEL}
    kept = {name: value for name, value in meta.items() if name != "creationTimestamp" or value}
    return {**template, "metadata": {**kept, "labels": labels}}


def _labelled(template: Body, mark: str) -> Body:
    meta = template.get("metadata") or {}
    return {**template, "metadata": {**meta, "labels": {**(meta.get("labels") or {}), objects.HASH_LABEL: mark}}}


def _rolling(body: Body) -> Body:
    return (objects.spec(body).get("strategy") or {}).get("rollingUpdate") or {}


def _surge(body: Body) -> int:
    if (objects.spec(body).get("strategy") or {}).get("type") == "Recreate":
        return 0
    return objects.rounded(_rolling(body).get("maxSurge", "25%"), objects.spec(body).get("replicas", 1), up=True)


def _unavailable(body: Body) -> int:
    """How many may be missing: never more than there are, and one if nothing may be added either."""
    wanted = objects.spec(body).get("replicas", 1)
    if (objects.spec(body).get("strategy") or {}).get("type") == "Recreate" or not wanted:
        return 0
    count = objects.rounded(_rolling(body).get("maxUnavailable", "25%"), wanted, up=False)
    if not count and not _surge(body):
        count = 1
    return min(count, int(wanted))


def _status(body: Body, fresh: Body | None, old: list[Body]) -> Body:
    sets = [one for one in (fresh, *old) if one is not None]
    total, ready, available = (
        sum(objects.state(one).get(name, 0) for one in sets)
        for name in ("replicas", "readyReplicas", "availableReplicas")
    )
    missing = max(0, sum(objects.spec(one).get("replicas", 0) for one in sets) - available)
    counts = {
        "replicas": total,
        "updatedReplicas": objects.state(fresh).get("replicas", 0) if fresh is not None else 0,
        "readyReplicas": ready,
        "availableReplicas": available,
        "unavailableReplicas": missing,
    }
    return {
        "observedGeneration": objects.meta(body).get("generation", 1),
        **{name: count for name, count in counts.items() if count},
    }


def _is_complete(body: Body, status: Body) -> bool:
    wanted = objects.spec(body).get("replicas", 1)
    names = ("updatedReplicas", "replicas", "availableReplicas")
    return all(status.get(name, 0) == wanted for name in names) and status["observedGeneration"] >= objects.meta(
        body
    ).get("generation", 1)


def _moved(before: Body, after: Body) -> bool:
    """More new, ready or available pods, or fewer old ones."""
    old, new = (state.get("replicas", 0) - state.get("updatedReplicas", 0) for state in (before, after))
    grown = any(
        after.get(name, 0) > before.get(name, 0) for name in ("updatedReplicas", "readyReplicas", "availableReplicas")
    )
    return grown or new < old
