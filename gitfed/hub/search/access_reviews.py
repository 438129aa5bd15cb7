"""What a caller may read in a member, as the member's own RBAC says it.

gitfed reads a collection with its own rights, so each caller is asked about: a SelfSubjectAccessReview in their name
(impersonation, as the doors act). A yes holds for a minute, a no and a silence for ten seconds, so that a right that
was just given is soon seen. Questions that are alike and under way are one.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import field

import orjson

from gitfed.edges.kube.connection import translate
from gitfed.edges.kube.connection.session import Session, end
from gitfed.errors import ClusterError
from gitfed.fleet_api import headers
from gitfed.fleet_api.request import RequestInfo
from gitfed.hub.access.caller import Caller
from gitfed.text.values import dataclass

YES_HOLDS = 60.0
NO_HOLDS = 10.0
ANSWER = 5.0
"""Seconds that a member has: what is searched for is at hand, and others wait for it."""
_PATH = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_MOST = 20_000
_LARGEST = 1 << 20


@dataclass(frozen=True, slots=True)
class AccessReview:
    allowed: bool
    why_unknown: str = ""
    """The member did not say; then it counts as no."""


@dataclass(slots=True)
class AccessReviews:
    clock: Callable[[], float] = time.monotonic
    _known: dict[tuple[object, ...], tuple[float, AccessReview]] = field(default_factory=dict)
    _asked: dict[tuple[object, ...], asyncio.Task[AccessReview]] = field(default_factory=dict)

    async def of(self, session: Session, caller: Caller, about: RequestInfo, verb: str) -> AccessReview:
        groups = tuple(sorted(caller.groups))
        key = (session.cluster, caller.name, groups, verb, about.group, about.resource, about.namespace, about.name)
        remembered = self._known.get(key)
        if remembered is not None and self.clock() < remembered[0]:
            return remembered[1]
        task = self._asked.get(key)
        if task is None:
            task = self._asked[key] = asyncio.create_task(_ask(session, caller, about, verb))
            task.add_done_callback(lambda done: self._asked.pop(key, None))
        verdict = await asyncio.shield(task)
        if len(self._known) >= _MOST:
            now = self.clock()
            self._known = {question: remembered for question, remembered in self._known.items() if remembered[0] > now}
        if len(self._known) < _MOST:
            self._known[key] = self.clock() + (YES_HOLDS if verdict.allowed else NO_HOLDS), verdict
        return verdict


async def _ask(session: Session, caller: Caller, about: RequestInfo, verb: str) -> AccessReview:
    named = {
        "verb": verb,
        "group": about.group,
        "version": about.version,
        "resource": about.resource,
        "namespace": about.namespace,
        "name": about.name,
    }
    body = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {name: value for name, value in named.items() if value}},
    }
    sent = [
        ("Accept", "application/json"),
        ("Content-Type", "application/json"),
        *headers.impersonation(caller.name, caller.groups),
    ]
    try:
        answer = await session.begin("POST", _PATH, sent, orjson.dumps(body), seconds=ANSWER, idle=ANSWER)
    except ClusterError as error:
        return AccessReview(False, error.message)
    try:
        data = await answer.content.read(_LARGEST)
        review = orjson.loads(data)
        if answer.status not in (200, 201):
            message = review.get("message") if isinstance(review, dict) else ""
            return AccessReview(
                False, f"cluster {session.cluster}: {translate.shorten(str(message or f'HTTP {answer.status}'))}"
            )
        return AccessReview(review["status"].get("allowed") is True)
    except translate.NO_ANSWER as error:
        told = translate.unreachable(session.cluster, error, server=session.connection.server)
        return AccessReview(False, told.message)
    except (ValueError, KeyError, TypeError, AttributeError):
        return AccessReview(False, f"cluster {session.cluster}: its answer is no access review")
    finally:
        end(answer)
