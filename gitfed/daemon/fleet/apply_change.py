"""Carrying out one change in one cluster: what a write depends on is read first.

Bodies of objects that were as they should be are not held, and an update of one that keeps something of the cluster's
own (`planning.objects.retain`) must know what that is at the moment of writing. The write itself, and what its refusal
means, is `edges.kube.apply`; when it is this change's turn is the worker's business.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

from gitfed import errors
from gitfed.edges.kube import apply
from gitfed.edges.kube.connection.error_text import RedactText
from gitfed.edges.kube.connection.session import Session
from gitfed.edges.kube.discovery import Discovery
from gitfed.edges.kube.observe import Observer
from gitfed.interpret.registry import Interpreter
from gitfed.model.base import Body
from gitfed.model.fleet import ApplyResult
from gitfed.model.plan import Action, Change
from gitfed.planning.objects import retain


class ClusterWriter:
    """All writes of users' objects to one cluster, as long as one connection to it lives."""

    def __init__(
        self,
        session: Session,
        discovery: Discovery,
        observer: Observer,
        *,
        federation: str,
        redact: RedactText,
        interpreter: Callable[[], Interpreter],
    ) -> None:
        """`interpreter` gives the one of the newest plan."""
        self._cluster = session.cluster
        self._observer = observer
        self._interpreter = interpreter
        self._target = apply.ApplyTarget(
            session=session,
            discovery=discovery,
            federation=federation,
            redact=redact,
            observed=observer.observed,
            retained=self._retained,
        )

    async def carry_out(self, change: Change) -> ApplyResult:
        """Raises what `apply.carry_out` raises, and the session's errors when the object cannot be read."""
        live, rendered = change.live, change.write.rendered
        if (
            change.action is Action.UPDATE
            and rendered is not None
            and live is not None
            and live.body is None
            and not change.write.adopt  # then the object is read anyway
            and retain.reads_live(rendered.body, self._interpreter())
        ):
            live_now = await self._observer.look(change.key)
            if live_now is None or live_now.body is None:
                return ApplyResult(change.cluster, change.key, "failed", "was deleted meanwhile", retry=True)
            try:
                body = await self._retained(rendered.body, live_now.body)
            except errors.NotRetained as error:
                return ApplyResult(change.cluster, change.key, "failed", error.message, retry=True)
            change = replace(change, live=live_now, write=replace(change.write, body=body))
        return await apply.carry_out(self._target, change)

    async def _retained(self, desired: Body, observed: Body) -> Body:
        """What to send of an object that was only just read. A script may take its time: not in the event loop."""
        interpreter = self._interpreter()
        try:
            if retain.has_rule(desired, interpreter):
                kept = await asyncio.to_thread(retain.for_apply, desired, observed, interpreter)
            else:
                kept = retain.for_apply(desired, observed, interpreter)
        except retain.RetainError as error:
            message = f"not written: what the cluster keeps is unknown: {error}"
            raise errors.NotRetained(message, cluster=self._cluster) from error
        return desired if kept is None else kept
