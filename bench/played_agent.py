"""An agent that is played: the protocol is the real one, the cluster is not. What it is told to do is done at once.

It stands where `agent.dial.Dial` expects a keeper. What several of them hear of one body is held once, so that a
thousand have room in one process.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

from gitfed.agent_protocol import replica, values
from gitfed.agent_protocol.socket import WebSocket
from gitfed.errors import LinkError
from gitfed.model.base import BindingId, ClusterName, Digest, ObjectKey
from gitfed.model.fleet import ApplyResult, ClusterFacts, ClusterLive, Health, InventoryEntry, LiveObject
from gitfed.model.plan import Action

_STATUS = {"availableReplicas": 2, "readyReplicas": 2, "replicas": 2, "updatedReplicas": 2, "observedGeneration": 1}
_BODIES: dict[str, Any] = {}


class Agent:
    def __init__(self, cluster: ClusterName) -> None:
        self.cluster = cluster
        self.heard = replica.Heard()
        self.reporter = SimpleNamespace(told=replica.Told())
        self.poke: Callable[[], None] = lambda: None
        self.connected = False
        self.objects: dict[ObjectKey, LiveObject] = {}
        self.carried_out = 0
        self._done: dict[ObjectKey, int] = {}
        self._number = 0
        self._state = values.AgentState(
            ClusterLive(cluster, inventory_read=True), id=f"uid-{cluster}", asked=True, looked=True, ready=True,
            owner="", measured=True,
        )  # fmt: skip
        self._say(values.FACTS, values.FACTS_OF.json(ClusterFacts(cluster, kubernetes_version="v1.34.0")))
        self._say(values.STATE, values.STATES.json(self._state))

    @property
    def is_at_rest(self) -> bool:
        told: replica.Told = self.reporter.told
        return self.connected and told.settled

    @property
    def term(self) -> int:
        """In which it was led last."""
        return self._state.term

    def digest(self, name: str) -> str:
        return next(str(one.matches) for key, one in self.objects.items() if key.name == name)

    def taken(self, change: replica.ValueChange) -> None:
        """What `agent.keeper.Keeper.taken` does, with a cluster that obeys."""
        known = self.heard.values
        for name, value in change.set.items():
            if name.startswith(values.BODY):
                known[name] = _BODIES.setdefault(name, value)
        setup = values.SETUPS.read(known.get(values.SETUP))
        if setup.lead is not None and setup.lead.term > self._state.term:
            live = replace(self._state.live, repository_id=setup.lead.repository_id, term=setup.lead.term)
            self._state = replace(
                self._state, live=live, owner=setup.lead.repository_id, term=setup.lead.term, leader=setup.lead.name,
                led=setup.lead.term,
            )  # fmt: skip
        if setup.list != self._state.list:
            tasks = {name: value for name, value in known.items() if name.startswith(values.CHANGE)}
            for key in self._done.keys() - {values.key_in(name) for name in tasks}:
                del self._done[key]
                self.reporter.told.drop(values.of(values.OVER, key))
            for value in tasks.values():
                self._carry_out(values.TASKS.read(value))
            self._state = replace(self._state, list=setup.list)
        self._say(values.STATE, values.STATES.json(self._state))
        self.poke()

    def _carry_out(self, task: values.Task) -> None:
        if self._done.get(task.key) == task.id:
            return
        self._done[task.key] = task.id
        self._number += 1
        seen = self.objects.get(task.key)
        if seen is not None and _is_from_before(task, seen):
            # A plan from before this write was seen, as a real one drops it.
            over = values.Over(task.id, self._number, task.action)
            self._say(values.of(values.OVER, task.key), values.OVERS.json(over))
            return
        self.carried_out += 1
        if task.action is Action.DELETE:
            self.objects.pop(task.key, None)
            self.reporter.told.drop(values.of(values.OBJECT, task.key))
        elif task.manifest is not None:
            digest = Digest(task.manifest.digest)
            version = str(1 + int(seen.resource_version)) if seen is not None else "1"
            uid = f"{self.cluster}-{task.key.kind}-{task.key.name}"
            status = _STATUS if task.key.kind == "Deployment" else None
            entry = InventoryEntry(task.key, uid, BindingId(task.manifest.binding))
            live = LiveObject(
                task.key, self.cluster, uid, version, ours=True, matches=digest, health=Health.CURRENT, entry=entry,
                healthy=True, status=status,
            )  # fmt: skip
            self.objects[task.key] = live
            self._say(values.of(values.OBJECT, task.key), values.OBJECTS.json(live))
        result = ApplyResult(self.cluster, task.key, "configured", health=Health.CURRENT)
        over = values.Over(task.id, self._number, task.action, drift=task.drift, result=result)
        self._say(values.of(values.OVER, task.key), values.OVERS.json(over))

    def _say(self, key: str, value: Any) -> None:
        self.reporter.told.put(key, value)

    async def asked(self, what: str, about: Any) -> Any:
        if what in ("hold", "release", "retry", "look", "look-anew"):
            return None
        raise LinkError(f"this agent does not know the question {what}")


def _is_from_before(task: values.Task, seen: LiveObject) -> bool:
    """Whether the plan did not know of our own last write, as `daemon.fleet.worker` finds it: with many clusters, the
    next plan is made before the results of the last one have come from all of them."""
    if task.manifest is None or seen.matches != task.manifest.digest:
        return False
    if task.seen is None or not task.seen.uid:
        return task.action is Action.CREATE
    return int(task.seen.resource_version) < int(seen.resource_version)


@dataclass(slots=True)
class Traffic:
    messages: int = 0
    pings: int = 0
    """That were answered."""
    down: int = 0
    up: int = 0

    @property
    def bytes(self) -> int:
        return self.down + self.up


class Counted:
    """Counts what goes through WebSockets, payloads alone, as long as it is open."""

    def __init__(self) -> None:
        self.traffic = Traffic()
        self._send, self._receive = WebSocket.send, WebSocket.receive

    def __enter__(self) -> Counted:
        traffic, send, receive = self.traffic, self._send, self._receive

        async def sent(socket: WebSocket, data: bytes) -> None:
            traffic.messages += 1
            traffic.up += len(data)
            await send(socket, data)

        async def received(socket: WebSocket) -> bytes | None:
            data = await receive(socket)
            if data is None:
                traffic.pings += 1
            else:
                traffic.messages += 1
                traffic.down += len(data)
            return data

        WebSocket.send, WebSocket.receive = sent, received  # type: ignore[method-assign, assignment]
        return self

    def __exit__(self, *exc: object) -> None:
        WebSocket.send, WebSocket.receive = self._send, self._receive  # type: ignore[method-assign]

    def snapshot(self) -> Traffic:
        return replace(self.traffic)

    def since(self, before: Traffic) -> Traffic:
        now = self.traffic
        return Traffic(
            now.messages - before.messages, now.pings - before.pings, now.down - before.down, now.up - before.up
        )
