"""The line that `kubectl get pods` shows: one word for the state of many containers. Kubernetes: printPod."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kubesim.kinds import fields, table
from kubesim.kinds.fields import Body


@dataclass(slots=True)
class _Tally:
    ready: int = 0
    restarts: int = 0
    last_restart: str = ""

    def add(self, container: Body) -> None:
        self.restarts += container.get("restartCount") or 0
        ended = fields.text(fields.obj(container, "lastState", "terminated"), "finishedAt")
        self.last_restart = max(self.last_restart, ended)


def row(body: Body, now: datetime) -> list[Any]:
    """The cells of a Pod, narrow and wide."""
    spec, found = fields.obj(body, "spec"), fields.obj(body, "status")
    sidecars = {
        fields.text(one, "name") for one in fields.items(spec, "initContainers") if one.get("restartPolicy") == "Always"
    }
    reason = fields.text(found, "reason") or fields.text(found, "phase")
    if _condition(found, "PodScheduled").get("reason") == "SchedulingGated":
        reason = "SchedulingGated"
    starting, beside = _Tally(), _Tally()
    waiting = _starting(spec, found, sidecars, starting, beside)
    total = starting
    total.ready = beside.ready
    if waiting is None or _condition(found, "Initialized").get("status") == "True":
        total = beside
        reason = _running(found, total, waiting or reason)
    else:
        reason = waiting
    if fields.obj(body, "metadata").get("deletionTimestamp"):
        if found.get("reason") == "NodeLost":
            reason = "Unknown"
        elif found.get("phase") not in ("Succeeded", "Failed"):
            reason = "Terminating"
    restarts = str(total.restarts)
    if total.restarts and total.last_restart:
        restarts = f"{restarts} ({table.age(total.last_restart, now)} ago)"
    count = len(fields.items(spec, "containers")) + len(sidecars)
    return [
        table.name(body),
        f"{total.ready}/{count}",
        reason,
        restarts,
        table.created(body, now),
        *_wide(spec, found),
    ]


def _condition(found: Body, kind: str) -> Body:
    return next((one for one in fields.items(found, "conditions") if one.get("type") == kind), {})


def _starting(spec: Body, found: Body, sidecars: set[str], all_: _Tally, beside: _Tally) -> str | None:
    """What holds up the init containers; `None` when nothing does."""
    for at, container in enumerate(fields.items(found, "initContainerStatuses")):
        sidecar = fields.text(container, "name") in sidecars
        all_.add(container)
        if sidecar:
            beside.add(container)
        ended = fields.obj(container, "state").get("terminated")
        waiting = fields.text(fields.obj(container, "state", "waiting"), "reason")
        if ended is not None and not ended.get("exitCode"):
            continue
        if sidecar and container.get("started"):
            beside.ready += bool(container.get("ready"))
            continue
        if ended is not None:
            return "Init:" + _ended(ended)
        if waiting and waiting != "PodInitializing":
            return f"Init:{waiting}"
        return f"Init:{at}/{len(fields.items(spec, 'initContainers'))}"
    return None


def _ended(state: Body) -> str:
    if state.get("reason"):
        return str(state["reason"])
    return f"Signal:{state['signal']}" if state.get("signal") else f"ExitCode:{state.get('exitCode') or 0}"


def _running(found: Body, total: _Tally, reason: str) -> str:
    has_running = False
    failed = ""
    for container in reversed(fields.items(found, "containerStatuses")):
        total.add(container)
        state = fields.obj(container, "state")
        ended = state.get("terminated")
        if waiting := fields.text(fields.obj(state, "waiting"), "reason"):
            reason = waiting
        elif ended is not None:
            reason = _ended(ended)
            failed = reason if ended.get("exitCode") else failed
        elif container.get("ready") and state.get("running") is not None:
            has_running = True
            total.ready += 1
    if reason != "Completed":
        return reason
    if has_running:
        ready = _condition(found, "Ready").get("status") == "True"
        return "Running" if ready else failed or "NotReady"
    return failed or reason


def _wide(spec: Body, found: Body) -> list[str]:
    addresses = fields.items(found, "podIPs")
    gates = [fields.text(one, "conditionType") for one in fields.items(spec, "readinessGates")]
    open_ = sum(_condition(found, gate).get("status") == "True" for gate in gates)
    return [
        fields.text(addresses[0], "ip") or table.NONE if addresses else table.NONE,
        fields.text(spec, "nodeName") or table.NONE,
        fields.text(found, "nominatedNodeName") or table.NONE,
        f"{open_}/{len(gates)}" if gates else table.NONE,
    ]
