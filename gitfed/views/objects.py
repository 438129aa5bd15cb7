"""One object: where it goes, what each cluster gets, and what differs: `gitfed.io/object/v1`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from gitfed.model.base import ClusterName, ObjectKey
from gitfed.model.plan import Plan
from gitfed.planning.objects import redact
from gitfed.views import bindings, plans
from gitfed.views.value import View

SCHEMA: Literal["gitfed.io/object/v1"] = "gitfed.io/object/v1"


class LineOrigin(View):
    """Who changed a manifest on its way to these clusters."""

    by: str
    what: str
    origin: str


class ManifestView(View):
    """One body, and the clusters that get exactly it."""

    clusters: list[str]
    replicas: int | None
    digest: str
    origin: str
    """`FILE:LINE:COLUMN` of the template."""
    edits: list[LineOrigin]
    body: Any
    """The manifest; what a Secret holds is masked."""


class ObjectView(View):
    """Where an object is, how it is in each cluster, and what each cluster gets."""

    schema: Literal["gitfed.io/object/v1"]
    commit: str
    binding: bindings.PlacedBinding
    manifests: list[ManifestView]
    changes: list[plans.ChangeView]


def document(
    key: ObjectKey,
    plan: Plan,
    status: bindings.StatusView | None,
    shown: Callable[[ClusterName], bool] = lambda name: True,
) -> ObjectView:
    return {
        "schema": SCHEMA,
        "commit": plan.commit,
        "binding": bindings.item(plan.bindings[key], status, plan.held_decisions.get(key)),
        "manifests": [
            {
                "clusters": clusters,
                "replicas": rendered.replicas,
                "digest": rendered.digest,
                "origin": str(rendered.origin),
                "edits": [{"by": edit.by, "what": edit.what, "origin": str(edit.origin)} for edit in rendered.edits],
                "body": redact.masked(rendered.body),
            }
            for rendered in plan.rendered.get(key, ())
            if (clusters := [name for name in rendered.clusters if shown(name)])
        ],
        "changes": [
            plans.change(change) for change in plan.changes or () if change.key == key and shown(change.cluster)
        ],
    }
