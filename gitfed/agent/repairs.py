"""What an agent may put right by itself while the hub is away: what was as the last plan wants it, and is not any more.

Nothing else. What that plan left alone, held, suspended or let wait stays as it is; nothing is adopted, moved or
deleted; an object that the plan does not know is left alone. So the worst that an old slice can do is to keep
things as they were.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from gitfed.agent_protocol.values import Wanted
from gitfed.interpret.registry import Interpreter
from gitfed.model.base import ClusterName, ObjectKey
from gitfed.model.decisions import Scheduled
from gitfed.model.fleet import ClusterLive, LiveObject
from gitfed.model.plan import Action, Binding, Change, PropagationTerms, RenderedManifest
from gitfed.model.repo import Manifest
from gitfed.planning.objects import compare, retain
from gitfed.planning.ordering import order


class Suspect(NamedTuple):
    """An object that is not known to be as it should be."""

    wanted: Wanted
    rendered: RenderedManifest
    live: LiveObject | None


def find(
    suspects: Mapping[ObjectKey, Suspect], cluster: ClusterLive, interpreter: Interpreter
) -> dict[ObjectKey, Change]:
    """The repairs of these. Scripts may be asked."""
    repairs = {
        key: _of(suspect.rendered, suspect.wanted, suspect.live, cluster, interpreter)
        for key, suspect in suspects.items()
    }
    return {key: change for key, change in repairs.items() if change is not None}


def _of(
    rendered: RenderedManifest, wanted: Wanted, live: LiveObject | None, cluster: ClusterLive, interpreter: Interpreter
) -> Change | None:
    """The repair of one object; None: there is none, or it is not the agent's to do."""
    name: ClusterName = cluster.name
    if live is None or live.entry is None or not live.entry.uid:
        return None  # it was never written here, as far as the inventory tells
    api_version = str(rendered.body.get("apiVersion") or "")
    manifest = Manifest(rendered.key, api_version, rendered.body, rendered.origin, rendered.digest)
    context = compare.Context(
        manifest=manifest,
        binding=Binding(
            rendered.binding,
            rendered.key,
            api_version,
            rendered.origin,
            Scheduled(replicas=rendered.replicas),
            PropagationTerms(overwrite=wanted.overwrite),
        ),
        clusters={name: cluster},
        position=order.position(manifest),
        depends_on=order.dependencies(manifest),
        interpreter=interpreter,
        repaired=None,
        prune=False,
        unsettled=frozenset(),
    )
    try:
        change = compare.wanted(context, rendered, name, live)
    except retain.RetainError:
        return None
    if change is None or not change.drift or (change.write.adopt and live.uid) or change.write.replaces:
        return None
    return change if change.action in (Action.CREATE, Action.UPDATE) else None
