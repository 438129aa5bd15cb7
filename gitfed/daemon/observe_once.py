"""Look at the clusters once, write nothing: the live half of `plan`, `diff --live` and `get`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from dataclasses import replace
from datetime import datetime

from gitfed.daemon.fleet.callbacks import FleetCallbacks
from gitfed.daemon.fleet.look_for import look_for
from gitfed.daemon.fleet.member import Member
from gitfed.daemon.fleet.member_context import MemberContext
from gitfed.edges.kube import deletion_check
from gitfed.edges.kube.connection.session import Session
from gitfed.edges.kube.discovery import Discovery
from gitfed.edges.kube.observe import Assessment
from gitfed.errors import ClusterError
from gitfed.interpret import collect, readiness
from gitfed.interpret.registry import Interpreter
from gitfed.model import definition
from gitfed.model.base import Body, ClusterName, Kind, ObjectKey
from gitfed.model.counting import Count, unheard
from gitfed.model.declared.cluster import Cluster
from gitfed.model.fleet import ClusterFacts, FactsRef, FleetSnapshot, Health, LiveObject, LiveState
from gitfed.model.keys import PRUNE_ANNOTATION
from gitfed.model.plan import Action, Change, Plan
from gitfed.model.repo import RepoSnapshot
from gitfed.placement import recorded_facts
from gitfed.planning import retained_objects, sent_keys
from gitfed.planning.objects import compare, prune, redact

_PATIENCE = 20.0
"""Seconds that clusters have to be read in."""


async def look(
    repo: RepoSnapshot,
    open_session: Callable[[Cluster], Session],
    interpreter: Interpreter,
    *,
    now: Callable[[], datetime],
    capacity: bool | None = None,
    count: Count = unheard,
) -> FleetSnapshot:
    """Facts and objects of every declared cluster. One that cannot be read is in the result, marked so.

    `capacity`: whether to read nodes and pods too; None: if a policy of the repository asks how much room there is.
    """
    measure = recorded_facts.reads_capacity(repo) if capacity is None else capacity
    keys = sent_keys.of(repo)
    kinds = frozenset(Kind(key.group, key.kind) for key in keys) | {Kind("", "Namespace")}
    upward = FleetCallbacks(
        assess=_assess,
        changed=lambda *_: None,
        relisted=lambda *_: None,
        facts_changed=lambda *_: None,
        finished=lambda *_: None,
        now=now,
        redact=redact.text_of,
        troubled=lambda *_: None,
    )
    members = [
        Member(cluster, open_session, upward, MemberContext(federation=repo.settings.metadata.name))
        for cluster in repo.clusters.values()
    ]
    tasks = []
    for member in members:
        member.view.want(kinds)
        member.want_capacity(measure, quotas=repo.settings.gate("ResourceQuotaEstimate"))
        tasks.append(asyncio.create_task(member.run()))
    try:
        looks = [asyncio.create_task(member.looked.wait()) for member in members]
        for looking in looks:
            looking.add_done_callback(lambda _: count("clusters read", sum(map(asyncio.Task.done, looks)), len(looks)))
        if looks:
            await asyncio.wait(looks, timeout=_PATIENCE)
        await look_for(members, keys)
        # Scripts may be asked: not in the loop.
        return await asyncio.to_thread(_snapshot, members, now(), interpreter)
    finally:
        for task in [*looks, *tasks]:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def in_use(repo: RepoSnapshot, open_session: Callable[[Cluster], Session], plan: Plan) -> retained_objects.InUse:
    """What this plan would delete and an apply will not, for objects of others would go with it. Each cluster is asked
    as the apply asks it; one that does not answer has nothing to say here."""
    deletions: dict[ClusterName, list[Change]] = {}
    for change in plan.changes or ():
        if (
            retained_objects.may_be_in_use(change)
            and change.cluster in repo.clusters
            and not _goes_first(change, plan.changes or ())
        ):
            deletions.setdefault(change.cluster, []).append(change)

    async def ask(name: ClusterName, changes: Collection[Change]) -> retained_objects.InUse:
        kept = {}
        try:
            async with open_session(repo.clusters[name]) as session:
                discovery = Discovery(session)
                for change in changes:
                    resource = await discovery.resource(Kind(*change.key[:2]), change.api_version)
                    if left := await deletion_check.goes_with(session, discovery, resource, change.key):
                        kept[name, change.key] = left
        except ClusterError:
            pass  # whatever keeps it from answering is told where it was read
        return kept

    answers = await asyncio.gather(*(ask(name, changes) for name, changes in deletions.items()))
    return {place: left for answer in answers for place, left in answer.items()}


def _goes_first(deletion: Change, changes: Collection[Change]) -> bool:
    """Whether objects of the kind that a definition defines go with the same plan: they hold it only so long."""
    body = deletion.live.body if deletion.live is not None else None
    defined = definition.read(body) if body is not None else None
    return defined is not None and any(
        change.action is Action.DELETE and change.cluster == deletion.cluster and change.key[:2] == defined.kind
        for change in changes
    )


def _snapshot(members: list[Member], now: datetime, interpreter: Interpreter) -> FleetSnapshot:
    objects: dict[ObjectKey, dict[ClusterName, LiveObject]] = {}
    for member in members:
        for key, live in member.view.objects().items():
            objects.setdefault(key, {})[member.name] = _judged(live, interpreter)
    return FleetSnapshot(
        FactsRef("live", taken_at=now),
        {member.name: member.facts if member.asked else _unasked(member.name) for member in members},
        LiveState({member.name: member.seen() for member in members}, objects),
    )


def _unasked(name: ClusterName) -> ClusterFacts:
    """What is taken for true of a cluster that there are no credentials for: that is no fact about it."""
    return ClusterFacts(name, assumed=True)


def _judged(live: LiveObject, interpreter: Interpreter) -> LiveObject:
    """With what the script of its kind says, where one has a say."""
    if live.body is None or live.health is not Health.CURRENT:
        return live
    if not collect.has_health_script(live.body, interpreter):
        return live
    health, message = collect.judged(collect.collect(interpreter, live.body))
    return replace(live, health=health, health_message=message)


def _assess(cluster: ClusterName, key: ObjectKey, body: Body) -> Assessment:
    health, message = readiness.readiness(body)
    protected = compare.annotation(body, PRUNE_ANNOTATION) == "disabled"
    return Assessment(
        None,
        health,
        message,
        keep_body=True,
        protected=protected,
        deletion_protected=prune.is_protected(body),
        deletion_held=readiness.is_held(body),
    )
