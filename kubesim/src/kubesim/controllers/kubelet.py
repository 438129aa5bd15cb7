"""The pretended kubelet: pods on a node start after a moment, stop when asked, and images that do not exist never
come.

Nothing runs. An image whose name holds one of ``Settings.missing_images`` stays in ImagePullBackOff, one of
``Settings.failing_images`` ends with an error, one of ``Settings.crashing_images`` does so as soon as it starts and
is started again (CrashLoopBackOff), one of ``Settings.unready_images`` runs and never becomes ready, so that roll-outs
that do not work out can be shown.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from kubesim.controllers import nodes, objects
from kubesim.controllers.pod_addresses import PodAddresses
from kubesim.controllers.settings import Settings
from kubesim.controllers.work import RETRY_SECONDS, Loop
from kubesim.store import Record

Body = dict[str, Any]
_MANAGER: Final = "kubelet"
_BACK_OFF, _LONGEST_BACK_OFF = 10, 300
"""Seconds between the tries of what crashes: twice as many each time."""


class Kubelet:
    def __init__(self, loop: Loop, settings: Settings) -> None:
        self._loop, self._settings = loop, settings
        self._client = loop.client(_MANAGER)
        self._started: set[str] = set()
        """uids of pods whose start, end or removal is on its way."""
        self._addresses = PodAddresses(loop.world)
        loop.add(self, "pods")

    def keys(self, collection: str, record: Record) -> Iterable[str]:
        if objects.spec(record.body).get("nodeName"):
            yield record.key

    def reconcile(self, key: str) -> None:
        body = self._read(key)
        if body is None:
            return
        meta, phase = objects.meta(body), objects.state(body).get("phase", "Pending")
        if meta.get("deletionTimestamp"):
            self._once(f"stop {meta['uid']}", self._settings.stop_seconds, lambda: self._remove(key, meta["uid"]))
        elif phase == "Pending" and not objects.state(body).get("containerStatuses"):
            self._once(f"start {meta['uid']}", self._settings.start_seconds, lambda: self._start(key, meta["uid"]))

    def _read(self, key: str, uid: str = "") -> Body | None:
        record = self._loop.world.store.get("pods", key)
        if record is None or (uid and objects.meta(record.body)["uid"] != uid):
            return None
        return record.body

    def _once(self, mark: str, seconds: float, job: Any) -> None:
        if mark in self._started:
            return
        self._started.add(mark)

        def run() -> None:
            self._started.discard(mark)
            job()

        self._loop.after(seconds, run)

    def _remove(self, key: str, uid: str) -> None:
        body = self._read(key, uid)
        if body is not None:
            self._client.delete("pods", objects.meta(body)["namespace"], objects.meta(body)["name"], grace=0, uid=uid)

    def _start(self, key: str, uid: str) -> None:
        body = self._read(key, uid)
        if body is None or objects.meta(body).get("deletionTimestamp"):
            return
        address = objects.state(body).get("podIP") or self._addresses.of(body)
        if not address:
            self._once(f"start {uid}", RETRY_SECONDS, lambda: self._start(key, uid))
            return
        images = [container.get("image", "") for container in objects.spec(body).get("containers") or ()]
        missing = any(_among(image, self._settings.missing_images) for image in images)
        crashing = any(_among(image, self._settings.crashing_images) for image in images)
        unready = crashing or any(_among(image, self._settings.unready_images) for image in images)
        self._report(body, "Pending" if missing else "Running", ready=not missing and not unready, address=address)
        policy = objects.spec(body).get("restartPolicy", "Always")
        if crashing and not missing and policy != "Never":
            self._once(f"restart {uid}", _BACK_OFF, lambda: self._restart(key, uid, 1))
        elif policy != "Always" and not missing and (crashing or not unready):
            failed = crashing or any(_among(image, self._settings.failing_images) for image in images)
            self._once(f"end {uid}", self._settings.job_seconds, lambda: self._end(key, uid, failed=failed))

    def _restart(self, key: str, uid: str, count: int) -> None:
        """The next try of what crashes; each one waits twice as long for the one after."""
        body = self._read(key, uid)
        if body is not None and not objects.meta(body).get("deletionTimestamp"):
            self._report(body, "Running", ready=False, restarts=count)
            seconds = min(_LONGEST_BACK_OFF, _BACK_OFF * 2**count)
            self._once(f"restart {uid}", seconds, lambda: self._restart(key, uid, count + 1))

    def _end(self, key: str, uid: str, *, failed: bool) -> None:
        body = self._read(key, uid)
        if body is not None and not objects.meta(body).get("deletionTimestamp"):
            self._report(body, "Failed" if failed else "Succeeded", ready=False)

    def _report(self, body: Body, phase: str, *, ready: bool, address: str = "", restarts: int = 0) -> None:
        now, before = self._loop.world.now(), objects.state(body)
        fresh = {**before, "phase": phase, "startTime": before.get("startTime") or now}
        fresh["containerStatuses"] = [
            self._container(body, one, phase, ready, now, restarts) for one in objects.spec(body)["containers"]
        ]
        if phase != "Pending" and address:
            fresh |= {"podIP": address, "podIPs": [{"ip": address}]}
        if host := nodes.address(self._loop.world.lookup.get("nodes", "", objects.spec(body)["nodeName"])):
            fresh |= {"hostIP": host, "hostIPs": [{"ip": host}]}
        fresh["conditions"] = _conditions(before.get("conditions") or [], phase, ready, now, body)
        self._client.update("pods", {**body, "status": fresh}, subresource="status")

    def _container(self, pod: Body, container: Body, phase: str, ready: bool, now: str, restarts: int) -> Body:
        image = container.get("image", "")
        last: Body = {}
        crashes = _among(image, self._settings.crashing_images)
        error = {"exitCode": 1, "reason": "Error", "startedAt": now, "finishedAt": now}
        if phase == "Pending" and _among(image, self._settings.missing_images):
            message = f'Back-off pulling image "{image}": ErrImagePull: not found'
            state: Body = {"waiting": {"reason": "ImagePullBackOff", "message": message}}
        elif phase == "Pending":
            state = {"waiting": {"reason": "ContainerCreating"}}
        elif phase == "Running" and crashes and objects.spec(pod).get("restartPolicy") != "Never":
            seconds, meta = min(_LONGEST_BACK_OFF, _BACK_OFF * 2**restarts), objects.meta(pod)
            whose = f"{container['name']} pod={meta['name']}_{meta['namespace']}({meta['uid']})"
            message = f"back-off {seconds}s restarting failed container={whose}"
            state = {"waiting": {"reason": "CrashLoopBackOff", "message": message}}
            last = {"terminated": error}
        elif phase == "Running":
            state = {"running": {"startedAt": now}}
        else:
            done = {"exitCode": 0, "reason": "Completed"} if phase == "Succeeded" else {}
            state = {"terminated": {**error, "startedAt": _started(pod, container["name"]) or now, **done}}
        status = {
            "name": container["name"],
            "state": state,
            "lastState": last,
            "ready": ready,
            "restartCount": restarts if crashes else 0,
            "image": image,
            "imageID": "",
        }
        return {**status, "started": "running" in state}


def _started(pod: Body, container: str) -> str:
    """When a container that runs was started; "" if it does not."""
    for one in objects.state(pod).get("containerStatuses") or ():
        if one["name"] == container:
            return str((one["state"].get("running") or {}).get("startedAt", ""))
    return ""


def _among(image: str, marks: Iterable[str]) -> bool:
    return any(mark in image for mark in marks)


def _conditions(before: list[Body], phase: str, ready: bool, now: str, body: Body) -> list[Body]:
    generation = objects.meta(body).get("generation")
    names = [one.get("name", "") for one in objects.spec(body).get("containers") or ()]
    lacking: Body = {}
    if not ready:
        done = phase == "Succeeded"
        lacking = (
            {"reason": "PodCompleted"}
            if done
            else {
                "reason": "ContainersNotReady",
                "message": f"containers with unready status: [{' '.join(names)}]",
            }
        )
    conditions = before
    for kind, holds, extra in (
        ("PodReadyToStartContainers", phase == "Running", {}),
        ("Initialized", True, {"reason": "PodCompleted"} if phase == "Succeeded" else {}),
        ("Ready", ready, lacking),
        ("ContainersReady", ready, lacking),
    ):
        fresh = {"type": kind, "status": "True" if holds else "False", "lastProbeTime": None, **extra}
        if generation is not None:
            fresh["observedGeneration"] = generation
        conditions = objects.with_condition(conditions, fresh, now)
    return conditions
