"""One look at a cluster's health: is it there, which version, which kinds.

Conditions carry Karmada's types, reasons and texts (Karmada: cluster status collection). `reach` is what decisions
read from them:

    answered 200                         Ready      ClusterReady
    answered another 2xx                 NotReady   ClusterNotReady
    answered, but with an error          NotReady   ClusterNotReachable
    no answer; no usable credentials     Unknown    ClusterNotReachable; StatusCollectionFailed

Through the door of a hub the last two are no fact about the cluster: perhaps the hub does not let us pass.

What a cluster serves takes longer to tell than that it is there, and a network may be cut in between. So a long reading
is no look of its own: beside it `/readyz` is asked again and again, and its last answer is the verdict. A cluster that
merely takes its time answers that, and is waited for.

When to believe a change (thresholds) and what follows from it (taints, evictions) is decided above. A cluster that is
not ready keeps its last version and kinds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Container
from dataclasses import replace
from datetime import datetime

from gitfed import errors
from gitfed.edges.kube.connection import translate
from gitfed.edges.kube.connection.session import ServerAnswer, Session
from gitfed.edges.kube.discovery import Discovery
from gitfed.model.fleet import ApiEnablements, ClusterCondition, ClusterFacts, Reach

_HEALTHY = "cluster is healthy and ready to accept workloads"
_UNHEALTHY = "cluster is reachable but health endpoint responded without ok"
LONGEST = 10.0
"""Seconds. Shorter than other requests: this answer is about being able to answer."""
_PULSE = 1.0
"""Seconds of reading after which is asked again whether the cluster is still there."""


async def probe(
    session: Session, discovery: Discovery, *, now: datetime, previous: ClusterFacts | None = None
) -> ClusterFacts:
    """The cluster's facts at `now`. A failure of the cluster is a fact; that it could not be asked is none.

    That it does not answer is noticed within `LONGEST` and a second, whenever it stops. Raises CredentialsError, and
    nothing else.
    """
    before = previous or ClusterFacts(name=session.cluster)
    reach, ready = await _ready(session)
    if reach is not Reach.READY:
        return _with_ready(before, reach, ready, now)
    reading = asyncio.ensure_future(_read(session, discovery, before))
    try:
        while not (await asyncio.wait({reading}, timeout=_PULSE))[0]:
            reach, ready = await _ready(session)
            if reach is not Reach.READY:
                return _with_ready(before, reach, ready, now)
        version, apis, complete = reading.result()
        if complete.status != "True":
            # Something did not answer: one thing, or by now nothing?
            reach, ready = await _ready(session)
            if reach is not Reach.READY:
                return _with_ready(before, reach, ready, now)
    finally:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
    return replace(
        before,
        reach=reach,
        conditions=dated([ready, complete, *_others(before, ready, complete)], before, now),
        kubernetes_version=version,
        apis=apis,
        assumed=False,
    )


def _with_ready(before: ClusterFacts, reach: Reach, ready: ClusterCondition, now: datetime) -> ClusterFacts:
    conditions = dated([ready, *_others(before, ready)], before, now)
    return replace(before, reach=reach, conditions=conditions, assumed=False)


def _others(before: ClusterFacts, *replaced: ClusterCondition) -> list[ClusterCondition]:
    """Conditions that other code looks after."""
    types = {condition.type for condition in replaced}
    return [condition for condition in before.conditions if condition.type not in types]


async def _ready(session: Session) -> tuple[Reach, ClusterCondition]:
    try:
        answer = await _ask(session, "/readyz", {404})
        if answer.status == 404:
            # Karmada: only a server that has no /readyz at all is asked for /healthz.
            answer = await _ask(session, "/healthz")
    except errors.CredentialsError:
        raise
    except errors.ClusterError as error:
        if session.connection.is_door:
            said = translate.said(error).removeprefix(f"cluster {session.cluster}: ")  # the hub names it, too
            raise errors.CredentialsError(f"cluster {session.cluster}: {said}", cluster=session.cluster) from error
        answered = error.status > 0 or isinstance(error, errors.ObjectConflict)
        reach = Reach.NOT_READY if answered else Reach.UNKNOWN
        return reach, ClusterCondition("Ready", "False", "ClusterNotReachable", translate.said(error))
    if answer.status == 200:
        return Reach.READY, ClusterCondition("Ready", "True", "ClusterReady", _HEALTHY)
    return Reach.NOT_READY, ClusterCondition("Ready", "False", "ClusterNotReady", _UNHEALTHY)


async def _ask(session: Session, path: str, allow: Container[int] = ()) -> ServerAnswer:
    # Behind requests without an answer it would be known far too late that none comes.
    return await session.request("GET", path, timeout=LONGEST, allow=allow, accept="*/*", at_once=True)


async def _read(
    session: Session, discovery: Discovery, before: ClusterFacts
) -> tuple[str, ApiEnablements | None, ClusterCondition]:
    version = await _version(session, before.kubernetes_version)
    return version, *await _apis(discovery, before.apis)


async def _version(session: Session, before: str) -> str:
    try:
        return str((await session.json("GET", "/version", timeout=LONGEST)).get("gitVersion") or "")
    except errors.ClusterError:
        return before


async def _apis(discovery: Discovery, before: ApiEnablements | None) -> tuple[ApiEnablements | None, ClusterCondition]:
    try:
        apis = await discovery.enablements()
    except errors.ClusterError as error:
        # Before the first success nothing is known, which must not read as "every kind": an empty, incomplete set.
        kept = ApiEnablements(before.kinds if before else frozenset(), complete=False)
        return kept, ClusterCondition("CompleteAPIEnablements", "False", "Empty", translate.said(error))
    if apis.complete:
        return apis, ClusterCondition("CompleteAPIEnablements", "True", "Complete", "")
    return apis, ClusterCondition("CompleteAPIEnablements", "False", "Partial", "a group did not answer")


def dated(conditions: list[ClusterCondition], before: ClusterFacts, now: datetime) -> tuple[ClusterCondition, ...]:
    """Sorted by type. A condition's time is that of its last change of status, not of its last look."""
    by_type = {condition.type: condition for condition in before.conditions}
    stamped = []
    for condition in conditions:
        last = by_type.get(condition.type)
        same = last is not None and last.status == condition.status and last.last_transition is not None
        stamped.append(replace(condition, last_transition=last.last_transition if same and last else now))
    return tuple(sorted(stamped, key=lambda condition: condition.type))
