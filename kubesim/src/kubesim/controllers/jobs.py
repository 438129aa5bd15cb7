"""Jobs: pods that come to an end, until enough of them ended well."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

from kubesim.controllers import objects
from kubesim.controllers.work import Loop
from kubesim.store import Record

Body = dict[str, Any]
JOBS: Final = "jobs.batch"
_INDEX: Final = "batch.kubernetes.io/job-completion-index"


class Jobs:
    def __init__(self, loop: Loop, owned: objects.Owned) -> None:
        self._loop, self._owned, self._client = loop, owned, loop.client()
        loop.add(self, JOBS, "pods")

    def keys(self, collection: str, record: Record) -> Iterable[str]:
        if collection == JOBS:
            yield record.key
            return
        owner = objects.controller_of(record.body)
        if owner is not None and owner["kind"] == "Job":
            yield f"{record.namespace}/{owner['name']}"

    def reconcile(self, key: str) -> None:
        record = self._loop.world.store.get(JOBS, key)
        if record is None or objects.meta(record.body).get("deletionTimestamp"):
            return
        body = record.body
        if _finished(body):
            self._expire(body)
            return
        pods = self._owned.of("pods", body)
        active = [pod for pod in pods if objects.is_active(pod)]
        done = [pod for pod in pods if objects.state(pod).get("phase") == "Succeeded"]
        failed = [pod for pod in pods if objects.state(pod).get("phase") == "Failed"]
        spec = objects.spec(body)
        if spec.get("suspend"):
            for pod in active:
                self._delete(pod)
            self._report(body, 0, len(done), len(failed))
            return
        completions, parallelism = spec.get("completions"), spec.get("parallelism", 1)
        complete = len(done) >= completions if completions is not None else bool(done) and not active
        broken = len(failed) > spec.get("backoffLimit", 6) or _overdue(body, self._loop.world.clock.now())
        if complete or broken:
            for pod in active:
                self._delete(pod)
            self._finish(body, len(done), len(failed), complete=complete)
            return
        due = parallelism if completions is None else min(parallelism, completions - len(done))
        if completions is None and done:
            due = len(active)  # a work queue whose first worker is through gets no new ones
        for _ in range(due - len(active)):
            self._create(body, [*active, *done])
            active = [pod for pod in self._owned.of("pods", body) if objects.is_active(pod)]
        for pod in objects.victims(active, len(active) - due) if len(active) > due else ():
            self._delete(pod)
        self._report(
            body, len([pod for pod in self._owned.of("pods", body) if objects.is_active(pod)]), len(done), len(failed)
        )
        self._watch_deadline(body)

    def _create(self, body: Body, taken: list[Body]) -> None:
        name = objects.meta(body)["name"]
        pod = objects.new_pod(objects.spec(body)["template"], body, "batch/v1", "Job")
        pod["metadata"]["generateName"] = f"{name}-"
        if objects.spec(body).get("completionMode") == "Indexed":
            used = {(objects.meta(one).get("annotations") or {}).get(_INDEX) for one in taken}
            number = next(str(at) for at in range(len(taken) + 1) if str(at) not in used)
            pod["metadata"]["annotations"] = {**(pod["metadata"].get("annotations") or {}), _INDEX: number}
            pod["metadata"]["labels"][_INDEX] = number
            pod["metadata"]["generateName"] = f"{name}-{number}-"
        self._client.create("pods", pod)

    def _delete(self, pod: Body) -> None:
        if not objects.meta(pod).get("deletionTimestamp"):
            self._client.delete("pods", objects.meta(pod)["namespace"], objects.meta(pod)["name"])

    def _store(self, body: Body, fresh: Body) -> None:
        record = self._loop.world.store.get(JOBS, objects.key(body))
        if record is not None and objects.state(record.body) != fresh:
            self._client.update(JOBS, {**record.body, "status": fresh}, subresource="status")

    def _report(self, body: Body, active: int, succeeded: int, failed: int) -> None:
        before = objects.state(body)
        pods = [pod for pod in self._owned.of("pods", body) if objects.is_active(pod)]
        counts = {"active": active, "succeeded": succeeded, "failed": failed}
        suspended = bool(objects.spec(body).get("suspend"))
        fresh: Body = {name: count for name, count in counts.items() if count}
        if before.get("conditions"):
            fresh["conditions"] = before["conditions"]
        if not suspended:
            fresh["startTime"] = before.get("startTime") or self._loop.world.now()
        fresh["terminating"] = 0
        fresh["uncountedTerminatedPods"] = {}
        fresh["ready"] = sum(objects.is_ready(pod) for pod in pods)
        self._store(body, fresh)

    def _finish(self, body: Body, succeeded: int, failed: int, *, complete: bool) -> None:
        now = self._loop.world.now()
        if complete:
            reason, message = "CompletionsReached", "Reached expected number of succeeded pods"
            kinds = ("SuccessCriteriaMet", "Complete")
        else:
            reason, message = "BackoffLimitExceeded", "Job has reached the specified backoff limit"
            if failed <= objects.spec(body).get("backoffLimit", 6):
                reason, message = "DeadlineExceeded", "Job was active longer than specified deadline"
            kinds = ("FailureTarget", "Failed")
        conditions = list(objects.state(body).get("conditions") or ())
        for kind in kinds:
            times = {"lastProbeTime": now, "lastTransitionTime": now}
            conditions.append({"type": kind, "status": "True", **times, "reason": reason, "message": message})
        fresh: Body = {"conditions": conditions, "startTime": objects.state(body).get("startTime") or now}
        if complete:
            fresh["completionTime"] = now
        fresh |= {name: count for name, count in (("succeeded", succeeded), ("failed", failed)) if count}
        self._store(body, {**fresh, "terminating": 0, "uncountedTerminatedPods": {}, "ready": 0})

    def _expire(self, body: Body) -> None:
        """Finished jobs with a time to live go by themselves."""
        seconds = objects.spec(body).get("ttlSecondsAfterFinished")
        if seconds is None:
            return
        ended = next(
            one["lastTransitionTime"]
            for one in objects.state(body)["conditions"]
            if one["type"] in ("Complete", "Failed")
        )
        left = seconds - (self._loop.world.clock.now() - datetime.fromisoformat(ended)).total_seconds()
        if left > 0:
            self._loop.enqueue(self, objects.key(body), left)
        else:
            meta = objects.meta(body)
            self._client.delete(JOBS, meta["namespace"], meta["name"])

    def _watch_deadline(self, body: Body) -> None:
        seconds = objects.spec(body).get("activeDeadlineSeconds")
        if seconds is not None and not objects.state(body).get("startTime"):
            self._loop.enqueue(self, objects.key(body), seconds + 1)


def _finished(body: Body) -> bool:
    return any(
        one["type"] in ("Complete", "Failed") and one["status"] == "True"
        for one in objects.state(body).get("conditions") or ()
    )


def _overdue(body: Body, now: datetime) -> bool:
    seconds, since = objects.spec(body).get("activeDeadlineSeconds"), objects.state(body).get("startTime")
    return bool(seconds is not None and since and (now - datetime.fromisoformat(since)).total_seconds() >= seconds)
