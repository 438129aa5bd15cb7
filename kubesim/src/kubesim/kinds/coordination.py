"""Leases, PriorityClasses and ServiceAccounts: small kinds whose rules fit on a page."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from kubesim import status
from kubesim.kind import Body, Context, Kind, Subresource
from kubesim.kinds import (
    fields,
    pod_defaults,
    table,
)
from kubesim.kinds.fields import Errors

_HIGHEST: Final = 1000000000
_MOUNTABLE: Final = "kubernetes.io/enforce-mountable-secrets"
_SYSTEM: Final = {"system-node-critical": 2000001000, "system-cluster-critical": 2000000000}


def _validate_lease(body: Body) -> Errors:
    spec = fields.obj(body, "spec")
    errors = fields.positive("spec.leaseDurationSeconds", spec.get("leaseDurationSeconds"))
    errors += fields.non_negative("spec.leaseTransitions", spec.get("leaseTransitions"))
    return errors


def _uncoordinated(body: Body) -> Body:
    """Coordinated elections are a gate that is shut: what belongs to them is not stored."""
    return pod_defaults.within(body, "spec", lambda spec: fields.without(spec, "strategy", "preferredHolder"))


LEASE: Final = Kind(
    group="coordination.k8s.io",
    version="v1",
    kind="Lease",
    plural="leases",
    allow_create_on_update=True,
    allow_unconditional_update=False,
    prepare_create=lambda body, ctx: _uncoordinated(body),
    prepare_update=lambda new, old, ctx: _uncoordinated(new),
    validate=_validate_lease,
    columns=table.columns("Name", "Holder", "Age"),
    row=lambda body, now: [
        table.name(body),
        fields.text(fields.obj(body, "spec"), "holderIdentity"),
        table.created(body, now),
    ],
)


def _validate_priority(body: Body) -> Errors:
    name, value = table.name(body), body.get("value") or 0
    errors: Errors = []
    if name.startswith("system-"):
        if _SYSTEM.get(name) != value or body.get("globalDefault"):
            errors += fields.forbidden(
                "metadata.name",
                "priority class names with 'system-' prefix are reserved for system use only. error:"
                f" {_system_error(body, name, value)}",
            )
    elif value > _HIGHEST:
        text = f"maximum allowed value of a user defined priority is {_HIGHEST}"
        errors += fields.forbidden("value", text)
    policy = body.get("preemptionPolicy")
    if policy is not None:
        errors += fields.one_of("preemptionPolicy", policy, "PreemptLowerPriority", "Never")
    return errors


def _system_error(body: Body, name: str, value: int) -> str:
    if name not in _SYSTEM:
        return f"{name} is not a known system priority class"
    if _SYSTEM[name] != value:
        return f"value of {name} PriorityClass must be {_SYSTEM[name]}"
    return f"globalDefault of {name} PriorityClass must be false"


def _validate_priority_update(new: Body, old: Body) -> Errors:
    errors: Errors = []
    if (new.get("value") or 0) != (old.get("value") or 0):
        errors += fields.forbidden("value", "may not be changed in an update.")
    return errors + fields.unchanged("preemptionPolicy", new.get("preemptionPolicy"), old.get("preemptionPolicy"))


def _one_default(body: Body, old: Body | None, ctx: Context) -> Body:
    if not body.get("globalDefault"):
        return body
    for one in ctx.lookup.list("priorityclasses.scheduling.k8s.io"):
        if one.get("globalDefault") and table.name(one) != table.name(body):
            text = f"PriorityClass {table.name(one)} is already marked as default. Only one default can exist"
            raise status.forbidden("scheduling.k8s.io", "priorityclasses", table.name(body), text)
    return body


def _priority_row(body: Body, now: datetime) -> list[Any]:
    return [
        table.name(body),
        body.get("value") or 0,
        bool(body.get("globalDefault")),
        table.created(body, now),
        fields.text(body, "preemptionPolicy"),
    ]


PRIORITY_CLASS: Final = Kind(
    group="scheduling.k8s.io",
    version="v1",
    kind="PriorityClass",
    plural="priorityclasses",
    short_names=("pc",),
    namespaced=False,
    has_generation=True,
    generation_moves=lambda new, old: False,
    default=lambda body: pod_defaults.fill(body, preemptionPolicy="PreemptLowerPriority"),
    allocate=_one_default,
    validate=_validate_priority,
    validates_update_alone=True,
    validate_update=_validate_priority_update,
    columns=table.columns("Name", "Value:integer", "Global-Default:boolean", "Age", "PreemptionPolicy"),
    row=_priority_row,
)


def _account_warnings(body: Body, old: Body | None) -> list[str]:
    if _MOUNTABLE not in fields.obj(body, "metadata", "annotations"):
        return []
    if old is not None and _MOUNTABLE in fields.obj(old, "metadata", "annotations"):
        return []
    why = "deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"
    return [f"metadata.annotations[{_MOUNTABLE}]: {why}"]


def _account_secrets(body: Body) -> Body:
    """Of the secrets of an account nothing but their names is kept (Kubernetes: serviceaccount strategy)."""
    held = body.get("secrets")
    if not held or all(one.keys() <= {"name"} for one in held):
        return body
    return {**body, "secrets": [{key: one[key] for key in ("name",) if key in one} for one in held]}


SERVICE_ACCOUNT: Final = Kind(
    group="",
    version="v1",
    kind="ServiceAccount",
    plural="serviceaccounts",
    short_names=("sa",),
    subresources=(
        Subresource(name="token", verbs=("create",), kind="TokenRequest", group="authentication.k8s.io", version="v1"),
    ),
    prepare_create=lambda body, ctx: _account_secrets(body),
    prepare_update=lambda new, old, ctx: _account_secrets(new),
    warnings=_account_warnings,
    delete_returns_object=True,
    columns=table.columns("Name", "Age"),
    row=lambda body, now: [table.name(body), table.created(body, now)],
)
