"""Approvals: what a person let through of a plan that gates hold, from where they come, and until when they count."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Iterable, Iterator

from gitfed import errors
from gitfed.model.base import Commit
from gitfed.model.operator_orders import Approval, HeldPlan
from gitfed.model.plan import Plan
from gitfed.planning.ordering import consent
from gitfed.reading.reader import Reader

log = logging.getLogger("gitfed.cycle")


class Approvals:
    """Those that count now; `standing` is what a plan is told."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._approvals: list[Approval] = []
        self._trailers: Commit | None = None
        """The commit whose trailers were read."""

    @property
    def standing(self) -> tuple[Approval, ...]:
        return tuple(self._approvals)

    def read(self, recorded: Iterable[Approval]) -> None:
        """Those of the state branch, and no others."""
        self._approvals = list(recorded)

    def add(self, approval: Approval) -> None:
        self._approvals.append(approval)

    def take_up(self, plan: Plan) -> bool:
        """Whether a person approved exactly this plan: what that lets through counts from the next one on."""
        taken = list(consent.taken_up(self._approvals, plan))
        for order, approval in zip(self._approvals, taken, strict=True):
            if order is not approval:
                allowed = ", ".join(f"{name}={count}" for name, count in approval.allowed)
                log.info("approved", extra={"by": approval.by, "commit": approval.commit[:12], "allowed": allowed})
        news = taken != self._approvals
        self._approvals = taken
        return news

    async def read_trailers(self, commit: Commit, *, applied: Commit | None, limits: Commit | None) -> None:
        """Those that a commit brings along in its trailers, once. `limits`: the commit whose guards are in force."""
        if self._trailers == commit:
            return
        self._trailers = commit
        if applied == commit:
            return
        try:  # who may approve is a limit like the others
            granted, why_not = await asyncio.to_thread(self._reader.trust.approvals, commit, limits or applied)
        except errors.SourceError as error:
            granted, why_not = (), str(error)
        if why_not:
            log.warning("approval by trailer does not count", extra={"commit": commit[:12], "reason": why_not})
        self._approvals += [approval for approval in granted if approval not in self._approvals]

    def drop_void(self, recorded: tuple[Approval, ...], held: HeldPlan | None) -> tuple[Approval, ...]:
        """What is `recorded` without approvals of another plan than the one that is held now."""
        void = [approval for approval in consent.void(recorded) if approval in self._approvals]
        for approval in void:
            waits = held.digest[:12] if held is not None else "nothing"
            log.warning(
                "an approval is void: what is held is another plan",
                extra={"by": approval.by, "approved": approval.digest[:12], "held": waits},
            )
        self._approvals = [approval for approval in self._approvals if approval not in void]
        return tuple(approval for approval in recorded if approval not in void)


def let_through(approvals: Collection[Approval], before: Collection[Approval]) -> Iterator[str]:
    """What was let through since the last record, and by whom."""
    for approval in approvals:
        if approval not in before and not approval.pending:
            gates = ", ".join(f"{name} ({count})" for name, count in approval.allowed)
            yield f"approved by {approval.by or 'an approver'}: {gates}"
