"""Whose limits are in force: a commit must not loosen the guards that would hold it.

They are those of the last commit that was rolled out with nothing held. So a push that raises a limit and uses it in
one is held by the limit before it, for as long as it waits; by itself, or after a person's consent, the new limit
counts from the next push on. A review says the same: it goes by the limits of its base. A first commit has only its
own.

The commit is named on the state branch where it is not the applied one (`limitsCommit`). If it cannot be read any more,
its successor's own limits count: a history that was rewritten is held by a gate of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gitfed.errors import SourceError
from gitfed.model.base import ClusterName, Commit
from gitfed.model.decisions import Decisions
from gitfed.model.declared.federation import Guards
from gitfed.model.plan import Plan


def in_force(past: Decisions, commit: Commit, guards_of: Callable[[Commit], Guards]) -> Guards | None:
    """The guards by which a commit is to be planned; None: its own. `guards_of` may raise SourceError."""
    source = past.limits or past.applied_commit
    if source is None or not commit or source == commit:
        return None
    try:
        return guards_of(source)
    except SourceError:
        return None


def after(
    past: Decisions, plan: Plan, applied: Commit | None, results: Mapping[ClusterName, Mapping[str, Any]]
) -> Commit | None:
    """Whose limits are in force once `applied` was rolled out as far as possible; None: its own.

    What a cluster that could not be read would lose is not counted yet: while one holds objects of an older commit, the
    limits before stay. `results`: by cluster (`daemon.results`).
    """
    held = any(gate.held for gate in plan.gates if gate.consent)
    recorded = (results.get(name, {}) for name in plan.clusters)
    behind = any(result.get("objects") and result.get("commit") != str(applied) for result in recorded)
    if applied is not None and not held and not behind:
        return None
    source = past.limits or past.applied_commit
    return None if source == applied else source
