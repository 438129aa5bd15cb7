"""What happens, as it happens: the data of server-sent events."""

from __future__ import annotations

from gitfed.model.fleet import ApplyResult
from gitfed.model.plan import Change
from gitfed.views.value import View


class PlanEvent(View):
    """There is another plan, or another picture of the fleet: what was read before may have changed."""

    commit: str
    digest: str


class ResultEvent(View):
    """One change was carried out, or failed."""

    cluster: str
    apiVersion: str
    kind: str
    namespace: str
    name: str
    action: str
    outcome: str
    """created, configured, unchanged, deleted, skipped or failed."""
    message: str


class ClusterEvent(View):
    """A cluster has become ready, stopped being ready, or come or gone."""

    name: str
    state: str
    """Ready, NotReady, Unknown, or Gone."""


class SourceEvent(View):
    """The repository cannot be read, or a commit is refused; "" when all is well again."""

    error: str


class EndEvent(View):
    """The last event of a stream that the hub ends."""

    reason: str
    """`expired`: the credential; `denied`: the right to view; `slow`: the client; `stopping`: the hub."""


def result(change: Change, outcome: ApplyResult) -> ResultEvent:
    return {
        "cluster": change.cluster,
        "apiVersion": change.api_version,
        "kind": change.key.kind,
        "namespace": change.key.namespace,
        "name": change.key.name,
        "action": change.action.value,
        "outcome": outcome.outcome,
        "message": outcome.message,
    }
