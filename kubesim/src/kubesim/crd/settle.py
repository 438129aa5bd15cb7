"""What the server's own controllers do to definitions: accept names, establish, judge, delete.

Names of one group are given out once: the first definition to have a name keeps it, a later one is not served until
the name is free. These functions are pure passes over one definition; the cluster calls them after each change and
stores what they return.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from kubesim import status
from kubesim.crd import approval, definition, structural
from kubesim.kinds import preparation

Body = dict[str, Any]
FINALIZER: Final = "customresourcecleanup.apiextensions.k8s.io"
_PENDING: Final = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"


def settle(body: Body, others: Iterable[Body], now: str) -> Body | None:
    """The definition with its status brought up to date, or ``None`` if it is. ``others`` may hold the definition
    itself; ``now`` as RFC 3339."""
    after = _names(body, others, now)
    if definition.condition(after, "NamesAccepted") == "True" and definition.condition(after, "Established") != "True":
        text = "the initial names have been accepted"
        after = with_condition(after, "Established", "True", "InitialNamesAccepted", text, now)
    after = _structural(after, now)
    after = _approval(after, now)
    return after if after is not body else None


def with_condition(body: Body, kind: str, value: str, reason: str, message: str, now: str) -> Body:
    """The condition set; its time moves only with its value. The same body if nothing changes."""
    conditions = list((body.get("status") or {}).get("conditions") or [])
    fresh = {"type": kind, "status": value, "lastTransitionTime": now, "reason": reason, "message": message}
    for at, one in enumerate(conditions):
        if one.get("type") == kind:
            if one.get("status") == value:
                fresh["lastTransitionTime"] = one.get("lastTransitionTime") or now
            if fresh == one:
                return body
            conditions[at] = fresh
            break
    else:
        conditions.append(fresh)
    return _with_status(body, conditions=conditions)


def _with_status(body: Body, **changes: Any) -> Body:
    return {**body, "status": {**(body.get("status") or {}), **changes}}


def _names(body: Body, others: Iterable[Body], now: str) -> Body:
    spec = body.get("spec") or {}
    wanted: Mapping[str, Any] = spec.get("names") or {}
    accepted: Mapping[str, Any] = (body.get("status") or {}).get("acceptedNames") or {}
    if _equal(wanted, accepted):
        return body
    own = body["metadata"].get("name")
    resources, kinds = _taken([*(one for one in others if one["metadata"].get("name") != own), body], spec.get("group"))
    given = dict(accepted)
    reason, message = "NoConflicts", "no conflicts found"
    for name, taken, complaint in (
        ("plural", resources, "PluralConflict"),
        ("singular", resources, "SingularConflict"),
        ("shortNames", resources, "ShortNamesConflict"),
        ("kind", kinds, "KindConflict"),
        ("listKind", kinds, "ListKindConflict"),
    ):
        refused = _refused(name, wanted, accepted, taken)
        if refused:
            reason, message = complaint, refused
        elif wanted.get(name):
            given[name] = wanted[name]
        else:
            given.pop(name, None)
    if wanted.get("categories"):
        given["categories"] = wanted["categories"]
    given = {"plural": "", "kind": "", **given}
    fine = reason == "NoConflicts"
    after = with_condition(body, "NamesAccepted", "True" if fine else "False", reason, message, now)
    if not definition.condition(after, "Established"):
        after = with_condition(after, "Established", "False", "NotAccepted", "not all names are accepted", now)
    return after if _equal(given, accepted) and after is body else _with_status(after, acceptedNames=given)


def _equal(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return {key: value for key, value in one.items() if value} == {key: value for key, value in other.items() if value}


def _taken(definitions: Iterable[Body], group: Any) -> tuple[set[str], set[str]]:
    resources: set[str] = set()
    kinds: set[str] = set()
    for one in definitions:
        if (one.get("spec") or {}).get("group") != group:
            continue
        names = (one.get("status") or {}).get("acceptedNames") or {}
        resources |= {names.get("plural") or "", names.get("singular") or "", *(names.get("shortNames") or ())}
        kinds |= {names.get("kind") or "", names.get("listKind") or ""}
    return resources - {""}, kinds - {""}


def _refused(name: str, wanted: Mapping[str, Any], accepted: Mapping[str, Any], taken: set[str]) -> str:
    if name == "shortNames":
        fresh = [one for one in wanted.get(name) or () if one not in (accepted.get(name) or ())]
        texts = list(dict.fromkeys(f"{status.quote(one)} is already in use" for one in fresh if one in taken))
        return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]" if texts else ""
    value = wanted.get(name) or ""
    return f"{status.quote(value)} is already in use" if value != (accepted.get(name) or "") and value in taken else ""


def _structural(body: Body, now: str) -> Body:
    errors = []
    for at, version in enumerate((body.get("spec") or {}).get("versions") or ()):
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        if schema is not None:
            errors += structural.check(schema, f"spec.versions[{at}].schema.openAPIV3Schema")
    if errors:
        return with_condition(body, "NonStructuralSchema", "True", "Violations", status.aggregate(errors), now)
    conditions = (body.get("status") or {}).get("conditions") or []
    kept = [one for one in conditions if one.get("type") != "NonStructuralSchema"]
    return body if len(kept) == len(conditions) else _with_status(body, conditions=kept)


_APPROVALS: Final = {
    "missing": ("False", "MissingAnnotation"),
    "invalid": ("False", "InvalidAnnotation"),
    "bypassed": ("False", "UnapprovedAnnotation"),
    "approved": ("True", "ApprovedAnnotation"),
}


def _approval(body: Body, now: str) -> Body:
    state, why = approval.state(body)
    if not state:
        return body
    value, reason = _APPROVALS[state]
    return with_condition(body, "KubernetesAPIApprovalPolicyConformant", value, reason, why, now)


def is_terminating(body: Body) -> bool:
    return bool(body["metadata"].get("deletionTimestamp"))


def begin_deletion(body: Body, now: str) -> Body:
    """The definition marked: it stays until its objects are gone. The caller sets the deletion time."""
    body = preparation.held(body, FINALIZER)
    return with_condition(body, "Terminating", "True", "InstanceDeletionPending", _PENDING, now)


def progress_deletion(body: Body, now: str) -> Body:
    """While its objects are being deleted."""
    return with_condition(
        body, "Terminating", "True", "InstanceDeletionInProgress", "CustomResource deletion is in progress", now
    )


def finish_deletion(body: Body, now: str = "") -> Body:
    """The definition without its finalizer: no object is left (or none was ever served)."""
    kept = [one for one in body["metadata"].get("finalizers") or [] if one != FINALIZER]
    meta = {key: value for key, value in body["metadata"].items() if key != "finalizers"}
    if kept:
        meta["finalizers"] = kept
    after = {**body, "metadata": meta}
    if definition.condition(body, "Established") == "True":
        return with_condition(after, "Terminating", "False", "InstanceDeletionCompleted", "removed all instances", now)
    return with_condition(after, "Terminating", "False", "NeverEstablished", "resource was never established", now)
