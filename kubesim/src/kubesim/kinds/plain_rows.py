"""What `kubectl get` shows of the kinds that are stored as they come. Kubernetes: pkg/printers/internalversion."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Final

from kubesim.kind import Body, Column
from kubesim.kinds import fields, selectors, table

Row = Callable[[Body, datetime], list[Any]]
_UNSET: Final = "<unset>"


def _spec(body: Body) -> Body:
    return fields.obj(body, "spec")


def _listed(*cells: Callable[[Body], Any], age: int = -1) -> Row:
    """A row of the name, these cells and the age, which stands last unless told."""

    def row(body: Body, now: datetime) -> list[Any]:
        shown = [table.name(body), *(cell(body) for cell in cells)]
        shown.insert(len(shown) if age < 0 else age, table.created(body, now))
        return shown

    return row


def _service(body: Body) -> str:
    found = fields.obj(body, "spec", "service")
    return f"{fields.text(found, 'namespace')}/{fields.text(found, 'name')}" if found else "Local"


def _available(body: Body) -> str:
    for one in fields.items(body, "status", "conditions"):
        if one.get("type") == "Available":
            good, reason = one.get("status") == "True", fields.text(one, "reason")
            return "True" if good else f"{fields.text(one, 'status')} ({reason})"
    return "Unknown"


def _asked_for(body: Body) -> str:
    seconds = _spec(body).get("expirationSeconds")
    return table.NONE if seconds is None else table.duration(timedelta(seconds=seconds))


def _signing(body: Body) -> str:
    kinds = {one.get("type") for one in fields.items(body, "status", "conditions")}
    words = ["Denied" if "Denied" in kinds else "Approved" if "Approved" in kinds else "Pending"]
    words += ["Failed"] if "Failed" in kinds else []
    words += ["Issued"] if fields.obj(body, "status").get("certificate") else []
    return ",".join(words)


def _parent(body: Body) -> str:
    found = _spec(body).get("parentRef")
    if found is None:
        return table.NONE
    group, namespace = fields.text(found, "group"), fields.text(found, "namespace")
    resource = fields.text(found, "resource") + (f".{group}" if group else "")
    return "/".join(part for part in (resource.lower(), namespace, fields.text(found, "name")) if part)


def _audiences(body: Body) -> str:
    found = _spec(body).get("tokenRequests")
    return _UNSET if found is None else ",".join(fields.text(one, "audience") for one in found)


def _parameter_kind(body: Body) -> str:
    found = _spec(body).get("paramKind")
    return f"{fields.text(found, 'apiVersion')}/{fields.text(found, 'kind')}" if found else _UNSET


def _parameter(body: Body) -> str:
    found = fields.obj(body, "spec", "paramRef")
    if name := fields.text(found, "name"):
        return f"{fields.text(found, 'namespace') or '*'}/{name}"
    return selectors.text(found["selector"]) if found.get("selector") is not None else _UNSET


def _claim_state(body: Body) -> str:
    deleted, found = fields.obj(body, "metadata").get("deletionTimestamp"), fields.obj(body, "status")
    words = ["deleted"] if deleted else []
    if found.get("allocation") is None:
        words += [] if deleted else ["pending"]
    else:
        words += ["allocated", "reserved"] if found.get("reservedFor") else ["allocated"]
    return ",".join(words)


def _dangling(body: Body) -> str:
    conditions = fields.items(body, "status", "conditions")
    return next((fields.text(one, "status") for one in conditions if one.get("type") == "Dangling"), "?")


def _limited(*path: str) -> Callable[[Body], Any]:
    def cell(body: Body) -> Any:
        found = fields.obj(body, "spec", "limited", *path[:-1])
        return found.get(path[-1], 0) if found else table.NONE

    return cell


def _text(*path: str) -> Callable[[Body], str]:
    return lambda body: fields.text(fields.obj(body, *path[:-1]), path[-1])


def _flag(key: str, otherwise: bool = False) -> Callable[[Body], bool]:
    def cell(body: Body) -> bool:
        value = _spec(body).get(key)
        return otherwise if value is None else bool(value)

    return cell


def _count(key: str) -> Callable[[Body], int]:
    return lambda body: len(fields.items(body, "spec", key))


def _policy(key: str) -> tuple[tuple[Column, ...], Row]:
    title = f"{key.capitalize()}:integer"
    return table.columns("Name", title, "ParamKind", "Age"), _listed(_count(key), _parameter_kind)


_BINDING: Final = (
    table.columns("Name", "PolicyName", "ParamRef", "Age"),
    _listed(_text("spec", "policyName"), _parameter),
)
_NAME_AGE: Final = (table.columns("Name", "Age"), _listed())
_BY_KIND: Final[dict[str, tuple[tuple[Column, ...], Row | None]]] = {
    "APIService": (table.columns("Name", "Service", "Available", "Age"), _listed(_service, _available)),
    "CSIDriver": (
        table.columns(
            "Name",
            "AttachRequired:boolean",
            "PodInfoOnMount:boolean",
            "StorageCapacity:boolean",
            "TokenRequests",
            "RequiresRepublish:boolean",
            "Modes",
            "Age",
        ),
        _listed(
            _flag("attachRequired", otherwise=True),
            _flag("podInfoOnMount"),
            _flag("storageCapacity"),
            _audiences,
            _flag("requiresRepublish"),
            lambda body: ",".join(fields.items(body, "spec", "volumeLifecycleModes")) or table.NONE,
        ),
    ),
    "CSINode": (table.columns("Name", "Drivers:integer", "Age"), _listed(_count("drivers"))),
    # Not known to the printers of a real server either: name and time of creation.
    "CSIStorageCapacity": ((), None),
    "CertificateSigningRequest": (
        table.columns("Name", "Age", "SignerName", "Requestor", "RequestedDuration", "Condition"),
        _listed(
            lambda body: fields.text(_spec(body), "signerName") or table.NONE,
            _text("spec", "username"),
            _asked_for,
            _signing,
            age=1,
        ),
    ),
    "FlowSchema": (
        table.columns("Name", "PriorityLevel", "MatchingPrecedence", "DistinguisherMethod", "Age", "MissingPL"),
        _listed(
            _text("spec", "priorityLevelConfiguration", "name"),
            lambda body: _spec(body).get("matchingPrecedence") or 0,
            lambda body: fields.text(fields.obj(body, "spec", "distinguisherMethod"), "type") or table.NONE,
            _dangling,
            age=4,
        ),
    ),
    "IPAddress": (table.columns("Name", "ParentRef", "Age"), _listed(_parent)),
    "MutatingAdmissionPolicy": _policy("mutations"),
    "MutatingAdmissionPolicyBinding": _BINDING,
    "PriorityLevelConfiguration": (
        table.columns("Name", "Type", "NominalConcurrencyShares", "Queues", "HandSize", "QueueLengthLimit", "Age"),
        _listed(
            _text("spec", "type"),
            _limited("nominalConcurrencyShares"),
            *(_limited("limitResponse", "queuing", key) for key in ("queues", "handSize", "queueLengthLimit")),
        ),
    ),
    "ResourceClaim": (table.columns("Name", "State", "Age"), _listed(_claim_state)),
    "ResourceSlice": (
        table.columns("Name", "Node", "Driver", "Pool", "Age"),
        _listed(_text("spec", "nodeName"), _text("spec", "driver"), _text("spec", "pool", "name")),
    ),
    "ServiceCIDR": (
        table.columns("Name", "CIDRs", "Age"),
        _listed(lambda body: ",".join(fields.items(body, "spec", "cidrs"))),
    ),
    "ValidatingAdmissionPolicy": _policy("validations"),
    "ValidatingAdmissionPolicyBinding": _BINDING,
    "VolumeAttachment": (
        table.columns("Name", "Attacher:string:name", "PV", "Node", "Attached:boolean", "Age"),
        _listed(
            _text("spec", "attacher"),
            _text("spec", "source", "persistentVolumeName"),
            _text("spec", "nodeName"),
            lambda body: bool(fields.obj(body, "status").get("attached")),
        ),
    ),
    "VolumeAttributesClass": (table.columns("Name", "DriverName", "Age"), _listed(_text("driverName"))),
}


def of(kind: str) -> tuple[tuple[Column, ...], Row | None]:
    """The columns of a kind and what fills them; name and age where there is nothing to say."""
    return _BY_KIND.get(kind, _NAME_AGE)
