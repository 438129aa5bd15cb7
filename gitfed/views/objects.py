"""One object with everything that is known of it: `gitfed.io/object/v1`."""

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
    """Where an object is, how its copies are, and what each cluster gets."""

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
                "replicas": one.replicas,
                "digest": one.digest,
                "origin": str(one.origin),
                "edits": [{"by": edit.by, "what": edit.what, "origin": str(edit.origin)} for edit in one.edits],
                "body": redact.masked(one.body),
            }
            for one in plan.rendered.get(key, ())
            if (clusters := [name for name in one.clusters if shown(name)])
        ],
        "changes": [plans.change(one) for one in plan.changes or () if one.key == key and shown(one.cluster)],
    }
