"""★ What an agent does with its slice: it keeps one member equal to it, and goes on while the hub is away.

The hub's word comes in whole changes of a mapping (`taken`); what follows from one is done at once and in this order:
how the cluster is kept, what should be there, the list of changes. The member does the rest, as it does in the daemon.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from pydantic import ValidationError

from gitfed import errors
from gitfed.agent import questions, repairs, rules
from gitfed.agent.cancellation import ended
from gitfed.agent.reporter import Reporter, state_of
from gitfed.agent.script_verdicts import ScriptVerdicts
from gitfed.agent.work_list import WorkList
from gitfed.agent_protocol import replica, values
from gitfed.agent_protocol.values import Setup, Wanted
from gitfed.daemon.fleet.callbacks import FleetCallbacks
from gitfed.daemon.fleet.cluster_health import Timing
from gitfed.daemon.fleet.drift import Assessor
from gitfed.daemon.fleet.leadership import GivenLead
from gitfed.daemon.fleet.member import Member
from gitfed.daemon.fleet.member_context import MemberContext
from gitfed.edges import free_memory
from gitfed.edges.kube.connection import credentials
from gitfed.edges.kube.connection.session import Session
from gitfed.edges.kube.observe import Assessment
from gitfed.interpret import collect
from gitfed.model.base import Body, ClusterName, ObjectKey
from gitfed.model.declared.cluster import Cluster
from gitfed.model.fleet import ApplyResult
from gitfed.model.plan import Change, RenderedManifest
from gitfed.planning.objects import redact, retain, secret_leaks

log = logging.getLogger("gitfed.agent")

_SOON = 0.02
"""Seconds in which what happens is told together."""
_TOGETHER = 0.1
"""The same while more is to be done than can be under way: each telling costs both sides some work."""
_LOOK = 1.0
"""Seconds between two looks at what no event tells of."""
_CENSUS = 10.0
"""Seconds between two looks at every object, for what moved and can wait."""
_MANY = 100
"""Changes after which the memory is given back that they took on their way."""
_CALM = 1.0
"""Seconds between two looks for something to repair while the hub is away."""


class Keeper:
    """One for the life of the process. `poke` is called when there is something to tell."""

    def __init__(
        self,
        cluster: ClusterName,
        open_session: Callable[[Cluster], Session],
        *,
        timing: Timing | None = None,
        concurrency: int = 16,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.cluster = cluster
        self.heard = replica.Heard()
        self.reporter = Reporter(cluster)
        self.poke: Callable[[], None] = lambda: None
        self.member: Member | None = None
        """None: the hub was not heard yet."""
        self.connected = False
        self._open_session = open_session
        self._timing = timing
        self._concurrency = concurrency
        self._now = now
        self._setup: Setup | None = None
        self._given = GivenLead()
        self._assessor = Assessor()
        self._rules: tuple[values.Rule, ...] = ()
        self._interpreter = rules.interpreter((), {})
        self._hidden = redact.Hidden(())
        self._wanted: dict[ObjectKey, tuple[Wanted, RenderedManifest]] = {}
        self._begun_anew = False
        """Its member is new, and was told nothing of endpoints."""
        self._list = WorkList(cluster, self.reporter)
        self._since_given_back = 0
        """Changes that were carried out."""
        self._right: dict[ObjectKey, tuple[RenderedManifest, str]] = {}
        """Where a script found nothing to repair, and in which version."""
        self._verdicts = ScriptVerdicts(self._judged)
        self._life: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()

    # -- the slice ----------------------------------------------------------------------------------------------

    def taken(self, change: replica.ValueChange) -> None:
        """The hub said something. Raises LinkError for what makes no sense, or is of an earlier term."""
        setup = values.SETUPS.read(self.heard.values.get(values.SETUP))
        before, self._setup = self._setup, setup
        if setup.lead is not None:
            try:
                self._given.give(setup.lead)
            except errors.StaleTerm as error:
                raise errors.LinkError(error.message, final=True) from error
        if self.member is None or before is None or before.federation != setup.federation:
            self._begin(setup)
        elif _way_to(before, self.cluster) != _way_to(setup, self.cluster):
            self._begin(setup)  # its Cluster file says another address, or another credential
        assert self.member is not None
        self._set_up(setup)
        ours = [name for name in (*change.set, *change.gone) if name.startswith(values.OBJECT)]
        if ours or before is None or before.rules != setup.rules or before.kinds != setup.kinds:
            self._follow(setup, ours)
        shared = (name.startswith((values.SHARING, values.ARRIVING)) for name in (*change.set, *change.gone))
        if values.SHARING in self.heard.values and (self._begun_anew or any(shared)):
            self._share(self.member)
        self._begun_anew = False
        for name, value in change.set.items():
            if name.startswith(values.VERDICT):
                self._judge(values.key_in(name), values.VERDICTS.read(value))
        self._take_list(setup)
        self._wake.set()

    def _begin(self, setup: Setup) -> None:
        """A member for this federation."""
        if self._life is not None:
            self._life.cancel()
        self.reporter.begin_anew()
        upward = FleetCallbacks(
            assess=self._assess,
            changed=self._changed,
            relisted=lambda name: self._wake.set(),
            facts_changed=lambda name: self._wake.set(),
            finished=self._finished,
            now=self._now,
            redact=lambda body, text: self._hidden.text(redact.text_of(body, text)),
            judge=self._assessor.judge,
            interpreter=lambda: self._assessor.interpreter,
            endpoints_changed=lambda name, service: self._wake.set(),
        )
        self.member = Member(
            declared_in(setup, self.cluster),
            self._open_session,
            upward,
            MemberContext(
                federation=setup.federation,
                expected=lambda: self._setup.expected if self._setup is not None else 0,
                recorded_id=lambda: self._setup.recorded_id if self._setup is not None else "",
                lead=self._given,
            ),
            timing=self._timing,
            concurrency=self._concurrency,
        )
        self._life = asyncio.create_task(self.member.run(), name=f"member-{self.cluster}")
        self._list.begin_anew()
        self._begun_anew = True

    def _set_up(self, setup: Setup) -> None:
        assert self.member is not None
        self.member.cluster = declared_in(setup, self.cluster)
        self.member.want_capacity(setup.capacity, quotas=setup.quotas)

    def _body(self, digest: str) -> Body:
        body = self.heard.values.get(f"{values.BODY}{digest}")
        if not isinstance(body, dict) or not isinstance(body.get("metadata"), dict):
            raise errors.LinkError(f"the body {digest[:12]} is missing, or none")
        return body

    def _follow(self, setup: Setup, changed: list[str]) -> None:
        """What should be there is another thing now."""
        assert self.member is not None
        for name in changed:
            key = values.key_in(name)
            value = self.heard.values.get(name)
            if value is None:
                self._wanted.pop(key, None)
                continue
            wanted = values.WANTED.read(value)
            before = self._wanted.get(key)
            if before is not None and before[0].digest == wanted.digest and before[0].binding == wanted.binding:
                self._wanted[key] = (wanted, before[1])
            else:
                self._wanted[key] = (wanted, wanted.manifest(key, self.cluster, self._body(wanted.digest)))
        rendered = {key: (manifest,) for key, (_, manifest) in self._wanted.items()}
        stateful = {key for key, (wanted, _) in self._wanted.items() if wanted.stateful}
        again = False
        if self._rules != setup.rules:
            self._interpreter = rules.interpreter(setup.rules, self.heard.values)
            self._rules = setup.rules
            self._verdicts.follow(self._interpreter)
            self._right.clear()
            again = True
        news = self._assessor.follow(rendered, stateful, self._interpreter)
        if again:  # another rule may find the same copy healthy, or as wanted
            news = list(self._wanted)
        secrets = [manifest.body for key, (_, manifest) in self._wanted.items() if secret_leaks.is_secret_key(key)]
        self._hidden = redact.Hidden(secrets)
        self.member.view.compare_again(news)
        self.member.view.want(frozenset(setup.kinds))

    def _share(self, member: Member) -> None:
        """What is to be done about endpoints is another thing now. A hub that says nothing of it changes nothing."""
        sharing = values.SHARINGS.read(self.heard.values[values.SHARING])
        decided = frozenset(sharing.decided)
        member.station.provide(frozenset(sharing.names))
        member.station.want(
            sharing.goal(v for name, v in self.heard.values.items() if name.startswith(values.ARRIVING)),
            lambda key: key not in decided,
        )

    def _judge(self, key: ObjectKey, verdict: values.ScriptVerdict) -> None:
        live = self.member.view.get(key) if self.member is not None else None
        if live is None or live.body is None or self.member is None:
            return
        if self._verdicts.answers(live.body):
            return  # it was asked here, and of a newer version perhaps
        if (live.uid, live.body["metadata"].get("generation")) == (verdict.uid, verdict.generation):
            self.member.judge(key, verdict.said)

    # -- the list -----------------------------------------------------------------------------------------------

    @property
    def repaired(self) -> int:
        """Repairs that the hub did not order."""
        return self._list.repaired

    def _take_list(self, setup: Setup) -> None:
        member = self.member
        if setup.list == self._list.number or member is None or member.worker is None or not member.ready.is_set():
            return  # the hub hands over to an agent that can write; it is taken when that is so
        self._list.take(setup.list, self.heard.values, member, self._wanted, self._body)

    def _finished(self, change: Change, result: ApplyResult) -> None:
        worker = self.member.worker if self.member is not None else None
        self._since_given_back += 1
        self._list.finished(change, result, left=worker is not None and worker.has(change.key))
        level = logging.WARNING if result.outcome == "failed" else logging.INFO
        log.log(
            level,
            "object written" if level == logging.INFO else "change failed",
            extra={
                "cluster": self.cluster,
                "object": str(change.key),
                "outcome": result.outcome,
                "error" if level == logging.WARNING else "reason": result.message or str(change.reason),
            },
        )
        self._wake.set()

    # -- what happens in the cluster ----------------------------------------------------------------------------

    def _assess(self, cluster: ClusterName, key: ObjectKey, body: Body) -> Assessment:
        if self._assessor.wants(cluster, key):
            self._verdicts.note(key, body)
        return self._assessor.assess(cluster, key, body)

    def _judged(self, key: ObjectKey, body: Body, verdict: collect.Collected) -> None:
        """A script that runs here said of this body how healthy the copy is."""
        if self.member is not None and self._assessor.judge(self.cluster, key, body, verdict):
            self.member.view.compare_again([key])

    def _changed(self, cluster: ClusterName, key: ObjectKey) -> None:
        self.reporter.changed(key)
        self._wake.set()
        if self.member is not None:
            self.member.station.touch(key)
        if self.member is not None and self.member.worker is not None:
            self.member.worker.nudge(key)

    # -- life ---------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Tell, and repair while the hub is away, until cancelled; what is under way is finished first."""
        loop = asyncio.get_running_loop()
        judging = asyncio.create_task(self._verdicts.run(), name="script-verdicts")
        census = repaired = loop.time()
        try:
            while True:
                await self._pause()
                await asyncio.sleep(_TOGETHER if len(self._list.open) > self._concurrency else _SOON)
                now = loop.time()
                everything = now - census >= _CENSUS
                if everything:
                    census = now
                self._tell(everything=everything)
                if everything and self._since_given_back > _MANY and not self._list.open:
                    self._since_given_back = 0
                    await asyncio.to_thread(free_memory.give_back)
                if not self.connected and now - repaired >= _CALM:
                    repaired = now
                    await self._repair()
        finally:
            await ended(judging)
            if self._life is not None:
                await ended(self._life)
                self._life = None  # it is not begun again
                self._tell(everything=True)

    async def _pause(self) -> None:
        """Until something happens, or it is time to look."""
        waking = asyncio.create_task(self._wake.wait())
        try:
            await asyncio.wait((waking,), timeout=_LOOK)
        finally:
            waking.cancel()
        self._wake.clear()

    def _tell(self, *, everything: bool = False) -> None:
        member, setup = self.member, self._setup
        if member is None or setup is None:
            return
        self._take_list(setup)  # it may not have been ready when the list came
        if self._life is not None and self._life.done():
            errors_of = self._life.exception() if not self._life.cancelled() else None
            log.error("the member ended", extra={"cluster": self.cluster, "error": str(errors_of)})
            self._begin(setup)
            return
        state = state_of(member, list_number=self._list.number, led=self._given.term)
        sharing = values.SHARING in self.heard.values
        begins = self._list.begins
        if self.reporter.tell(member, state, begins=begins, everything=everything, endpoints=sharing):
            self.poke()
        if state.behind:
            self._wake.set()

    async def _repair(self) -> None:
        """The hub is away: what was as it should be, and is not, is put right."""
        member, interpreter = self.member, self._assessor.interpreter
        if member is None or member.worker is None or not member.ready.is_set():
            return
        live = member.live()
        if not live.inventory_read:
            return
        suspects: dict[ObjectKey, repairs.Suspect] = {}
        for key, (wanted, manifest) in self._wanted.items():
            if key in self._list.open or not self._may_repair(key, wanted):
                continue
            seen = member.view.get(key)
            version = seen.resource_version if seen is not None else ""
            if (seen is not None and seen.matches == manifest.digest) or self._right.get(key) == (manifest, version):
                continue
            suspects[key] = repairs.Suspect(wanted, manifest, seen)
        if any(retain.has_rule(suspect.rendered.body, interpreter) for suspect in suspects.values()):
            needed = await asyncio.to_thread(repairs.find, suspects, live, interpreter)
        else:
            needed = repairs.find(suspects, live, interpreter)
        if self.connected or member is not self.member or member.worker is None:
            return
        for key in suspects.keys() - needed.keys():
            if (seen := suspects[key].live) is not None:
                self._right[key] = (suspects[key].rendered, seen.resource_version)
        self._list.repair(needed, member.worker)

    def _may_repair(self, key: ObjectKey, wanted: Wanted) -> bool:
        if wanted.repair:
            return True
        # The hub went away before its next plan could say so: this very version was written.
        return wanted.once_written and self._list.has_written(key, wanted.digest)

    # -- questions ----------------------------------------------------------------------------------------------

    async def asked(self, what: str, about: Any) -> Any:
        """Raises LinkError."""
        answer = await questions.answer(self.member, what, about)
        self._tell(everything=what == questions.LOOK_ANEW)
        return answer


def declared_in(setup: Setup, name: ClusterName) -> Cluster:
    """The cluster as this agent is to know it: of a pool's it is told how to reach it. Raises LinkError."""
    if setup.declared is None:
        return declared(name, setup.models)
    try:
        cluster = Cluster.model_validate(setup.declared)
    except ValidationError as error:
        raise errors.LinkError(f"the Cluster file of {name} is of a form that this agent does not know") from error
    if cluster.metadata.name != name:
        raise errors.LinkError(f"the Cluster file of {cluster.metadata.name} in place of that of {name}", final=True)
    return cluster


def _way_to(setup: Setup, name: ClusterName) -> object:
    """To be compared: a cluster's own agent has one way, whatever is told."""
    return None if setup.declared is None else credentials.way_to(declared_in(setup, name))


def declared(name: ClusterName, models: Any) -> Cluster:
    spec: dict[str, Any] = {"syncMode": "Pull"}
    if models:
        spec["resourceModels"] = list(models)
    return Cluster.model_validate(
        {"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": name}, "spec": spec}
    )
