"""Events: what happened to pods and to those who own them, as ``kubectl describe`` and ``kubectl get events`` tell it.

They are read off the changes themselves, so that no controller has to speak of what it does. An event that repeats
counts up; only the newest are kept.
"""

from __future__ import annotations

import functools
import itertools
import uuid
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from kubesim.controllers import objects
from kubesim.controllers.settings import Settings
from kubesim.controllers.work import MANAGER, Loop
from kubesim.store import Event as Change

Body = dict[str, Any]
_SCHEDULER: Final = "default-scheduler"
_SPACE: Final = uuid.UUID("c1c1b1a0-6b1e-5e0f-8f2b-6b7562657369")
_WARNINGS: Final = frozenset({"FailedScheduling", "Failed", "Unhealthy", "BackOff"})


class Told(NamedTuple):
    about: Body
    """An object, or a reference to one."""
    component: str
    reason: str
    message: str
    path: str = ""


class Events:
    def __init__(self, loop: Loop, settings: Settings) -> None:
        self._world, self._limit = loop.world, settings.events_kept
        self._numbers = itertools.count(1)
        self._names: dict[tuple[str, str, str, str], str] = {}
        """(uid, part, reason, message) → key of the event, the oldest first."""
        self._world.store.observers.append(self._observe)

    def stop(self) -> None:
        if self._observe in self._world.store.observers:
            self._world.store.observers.remove(self._observe)

    def _observe(self, collection: str, change: Change) -> None:
        old, new = (record.body if record is not None else None for record in (change.old, change.new))
        if new is None or not self._limit:
            return
        if collection == "pods":
            found = [*_of_pod(old, new)]
        elif collection == "replicasets.apps":
            found = [*_of_replica_set(old, new)]
        else:
            return
        for told in found:
            self._world.later(functools.partial(self._note, told, objects.meta(new)["namespace"]))

    def _note(self, told: Told, namespace: str) -> None:
        home = self._world.lookup.get("namespaces", "", namespace)
        if home is None or objects.meta(home).get("deletionTimestamp"):
            return  # nothing new is let into a namespace that goes
        about = _reference(told)
        mark = (about["uid"], told.path, told.reason, told.message)
        now, key = self._world.now(), self._names.get(mark, "")
        known = self._world.store.get("events", key) if key else None
        if known is not None:
            again = {**known.body, "count": known.body["count"] + 1, "lastTimestamp": now}
            self._world.store.put("events", key, again)
            return
        name = f"{about['name']}.{next(self._numbers):016x}"
        key = self._names[mark] = f"{namespace}/{name}"
        self._world.store.put("events", key, _event(told, about, namespace, name, now))
        while len(self._names) > self._limit:
            oldest = self._names.pop(next(iter(self._names)))
            if self._world.store.get("events", oldest) is not None:
                self._world.store.delete("events", oldest)


def _event(told: Told, about: Body, namespace: str, name: str, now: str) -> Body:
    meta = {
        "name": name,
        "namespace": namespace,
        "uid": str(uuid.uuid5(_SPACE, f"{about['uid']} {name}")),
        "creationTimestamp": now,
    }
    return {
        "kind": "Event",
        "apiVersion": "v1",
        "metadata": meta,
        "involvedObject": about,
        "reason": told.reason,
        "message": told.message,
        "source": {"component": told.component},
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
        "type": "Warning" if told.reason in _WARNINGS else "Normal",
        "eventTime": None,
        "reportingComponent": told.component,
        "reportingInstance": "",
    }


def _reference(told: Told) -> Body:
    about, meta = told.about, told.about.get("metadata") or {}
    found = {
        "kind": about.get("kind") or "Pod",
        "namespace": meta.get("namespace"),
        "name": meta.get("name") or about.get("name"),
        "uid": meta.get("uid") or about.get("uid"),
        "apiVersion": about.get("apiVersion") or "v1",
        "resourceVersion": meta.get("resourceVersion"),
        "fieldPath": told.path,
    }
    return {name: value for name, value in found.items() if value}


def _owner(body: Body) -> Body | None:
    """Its controller, as far as the reference tells."""
    owner = objects.controller_of(body)
    if owner is None:
        return None
    meta = {"name": owner["name"], "uid": owner["uid"], "namespace": objects.meta(body)["namespace"]}
    return {"kind": owner["kind"], "apiVersion": owner["apiVersion"], "metadata": meta}


def _of_replica_set(old: Body | None, new: Body) -> Iterator[Told]:
    owner = _owner(new)
    was, now = (objects.spec(body).get("replicas", 0) if body is not None else 0 for body in (old, new))
    if owner is not None and was != now:
        verb, name = "up" if now > was else "down", objects.meta(new)["name"]
        text = f"Scaled {verb} replica set {name} from {was} to {now}"
        yield Told(owner, "deployment-controller", "ScalingReplicaSet", text)


def _of_pod(old: Body | None, new: Body) -> Iterator[Told]:
    meta, owner = objects.meta(new), _owner(new)
    where, before = objects.spec(new).get("nodeName"), objects.spec(old).get("nodeName") if old is not None else None
    if old is None and owner is not None:
        component = {"Job": "job-controller"}.get(owner["kind"], f"{owner['kind'].lower()}-controller")
        yield Told(owner, component or MANAGER, "SuccessfulCreate", f"Created pod: {meta['name']}")
    if where and not before:
        text = f"Successfully assigned {meta['namespace']}/{meta['name']} to {where}"
        yield Told(new, _SCHEDULER, "Scheduled", text)
    placed, was = objects.condition(new, "PodScheduled"), objects.condition(old, "PodScheduled") if old else None
    if placed is not None and placed.get("status") == "False" and placed != was:
        yield Told(new, _SCHEDULER, "FailedScheduling", placed.get("message", ""))
    if meta.get("deletionTimestamp") and old is not None and not objects.meta(old).get("deletionTimestamp"):
        for container in objects.state(new).get("containerStatuses") or ():
            if "running" in container["state"]:
                yield _container(new, container, "Killing", f"Stopping container {container['name']}")
    yield from _of_containers(old, new)


def _of_containers(old: Body | None, new: Body) -> Iterator[Told]:
    known = {one["name"]: one for one in objects.state(old).get("containerStatuses") or ()} if old is not None else {}
    for one in objects.state(new).get("containerStatuses") or ():
        was, now = (known.get(one["name"]) or {}).get("state") or {}, one["state"]
        if "running" in now and "running" not in was:
            yield _container(new, one, "Pulled", f'Container image "{one["image"]}" already present on machine')
            yield _container(new, one, "Created", f"Created container: {one['name']}")
            yield _container(new, one, "Started", f"Started container {one['name']}")
        waiting = now.get("waiting") or {}
        if waiting.get("reason") == "ImagePullBackOff" and now != was:
            yield _container(new, one, "Failed", f'Failed to pull image "{one["image"]}": not found')
            yield _container(new, one, "BackOff", f'Back-off pulling image "{one["image"]}"')
        if waiting.get("reason") == "CrashLoopBackOff" and one.get("restartCount") != known.get(one["name"], {}).get(
            "restartCount"
        ):
            whose = f"{objects.meta(new)['name']}_{objects.meta(new)['namespace']}({objects.meta(new)['uid']})"
            yield _container(new, one, "BackOff", f"Back-off restarting failed container {one['name']} in pod {whose}")


def _container(pod: Body, container: Body, reason: str, message: str) -> Told:
    return Told(pod, "kubelet", reason, message, f"spec.containers{{{container['name']}}}")
