"""One look at a cluster's health: is it there, which version, which kinds.

Conditions carry Karmada's types, reasons and texts (Karmada: cluster status collection). `reach` is what decisions
read from them:

    answered 200                         Ready      ClusterReady
    answered another 2xx                 NotReady   ClusterNotReady
    answered, but with an error          NotReady   ClusterNotReachable
    no answer; no usable credentials     Unknown    ClusterNotReachable; StatusCollectionFailed

When to believe a change (thresholds) and what follows from it (taints, evictions) is decided above. A cluster that is
not ready keeps its last version and kinds.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from gitfed import errors
from gitfed.edges.kube import translate
from gitfed.edges.kube.discovery import Discovery
from gitfed.edges.kube.session import Session
from gitfed.model.fleet import ApiEnablements, ClusterFacts, Condition, Reach

_HEALTHY = "cluster is healthy and ready to accept workloads"
_UNHEALTHY = "cluster is reachable but health endpoint responded without ok"
_PROBE = 10.0
"""Seconds. Shorter than other requests: this answer is about being able to answer."""


async def probe(
    session: Session, discovery: Discovery, *, now: datetime, previous: ClusterFacts | None = None
) -> ClusterFacts:
    """The cluster's facts at `now`. A failure of the cluster is a fact; that nobody could ask it is none.

    Raises CredentialsError, and nothing else.
    """
    known = previous or ClusterFacts(name=session.cluster)
    reach, ready = await _ready(session)
    if reach is not Reach.READY:
        return _with_ready(known, reach, ready, now)

    version = await _version(session, known.kubernetes_version)
    apis, complete = await _apis(discovery, known.apis)
    return replace(
        known,
        reach=reach,
        conditions=dated([ready, complete, *_others(known, ready, complete)], known, now),
        kubernetes_version=version,
        apis=apis,
        assumed=False,
    )


def _with_ready(known: ClusterFacts, reach: Reach, ready: Condition, now: datetime) -> ClusterFacts:
    conditions = dated([ready, *_others(known, ready)], known, now)
    return replace(known, reach=reach, conditions=conditions, assumed=False)


def _others(known: ClusterFacts, *found: Condition) -> list[Condition]:
    """Conditions that somebody else looks after."""
    types = {condition.type for condition in found}
    return [condition for condition in known.conditions if condition.type not in types]


async def _ready(session: Session) -> tuple[Reach, Condition]:
    try:
        answer = await session.request("GET", "/readyz", timeout=_PROBE, allow={404}, accept="*/*")
        if answer.status == 404:
            # Karmada: only a server that has no /readyz at all is asked for /healthz.
            answer = await session.request("GET", "/healthz", timeout=_PROBE, accept="*/*")
    except errors.CredentialsError:
        raise
    except errors.ClusterError as error:
        answered = error.status > 0 or isinstance(error, errors.ObjectConflict)
        reach = Reach.NOT_READY if answered else Reach.UNKNOWN
        return reach, Condition("Ready", "False", "ClusterNotReachable", translate.said(error))
    if answer.status == 200:
        return Reach.READY, Condition("Ready", "True", "ClusterReady", _HEALTHY)
    return Reach.NOT_READY, Condition("Ready", "False", "ClusterNotReady", _UNHEALTHY)


async def _version(session: Session, known: str) -> str:
    try:
        return str((await session.json("GET", "/version", timeout=_PROBE)).get("gitVersion") or "")
    except errors.ClusterError:
        return known


async def _apis(discovery: Discovery, known: ApiEnablements | None) -> tuple[ApiEnablements | None, Condition]:
    try:
        apis = await discovery.enablements()
    except errors.ClusterError as error:
        # Before the first success nothing is known, which must not read as "every kind": an empty, incomplete set.
        kept = ApiEnablements(known.kinds if known else frozenset(), complete=False)
        return kept, Condition("CompleteAPIEnablements", "False", "Empty", translate.said(error))
    if apis.complete:
        return apis, Condition("CompleteAPIEnablements", "True", "Complete", "")
    return apis, Condition("CompleteAPIEnablements", "False", "Partial", "a group did not answer")


def dated(found: list[Condition], known: ClusterFacts, now: datetime) -> tuple[Condition, ...]:
    """Sorted by type. A condition's time is that of its last change of status, not of its last look."""
    before = {condition.type: condition for condition in known.conditions}
    dated = []
    for condition in found:
        last = before.get(condition.type)
        same = last is not None and last.status == condition.status and last.last_transition is not None
        dated.append(replace(condition, last_transition=last.last_transition if same and last else now))
    return tuple(sorted(dated, key=lambda condition: condition.type))
