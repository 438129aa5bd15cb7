"""Events, which two groups show under different names of fields: the core group and events.k8s.io, stored as the
former.

Kubernetes: ValidateEventCreate, conversion functions of events/v1.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from kubesim.kind import Body, Kind
from kubesim.kinds import fields, formats, table
from kubesim.kinds.fields import Errors

# Name in the core group, name in events.k8s.io.
_NAMES: Final = (
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
)
_CORE_ALWAYS: Final[Body] = {
    "involvedObject": {},
    "source": {},
    "firstTimestamp": None,
    "lastTimestamp": None,
    "eventTime": None,
    "reportingComponent": "",
    "reportingInstance": "",
}
_NEW_ALWAYS: Final[Body] = {
    "eventTime": None,
    "regarding": {},
    "deprecatedSource": {},
    "deprecatedFirstTimestamp": None,
    "deprecatedLastTimestamp": None,
}
_TOO_LONG: Final = "can have at most {} characters"


def _renamed(body: Body, names: dict[str, str], version: str, always: Body) -> Body:
    found = {names.get(key, key): value for key, value in body.items()}
    kept = {key: value for key, value in found.items() if value not in (None, "", 0) or key in always}
    return {**always, **kept, "apiVersion": version, "kind": "Event"}


def to_core(body: Body) -> Body:
    """An Event of events.k8s.io as it is stored."""
    return _renamed(body, {new: core for core, new in _NAMES}, "v1", _CORE_ALWAYS)


def from_core(body: Body) -> Body:
    """A stored Event as events.k8s.io shows it."""
    return _renamed(body, dict(_NAMES), "events.k8s.io/v1", _NEW_ALWAYS)


def _validate(body: Body, reporter: str = "reportingComponent") -> Errors:
    """The rules of both groups, over the stored form; `reporter` is the name of the field in the request's group."""
    namespace = fields.text(fields.obj(body, "metadata"), "namespace")
    about = fields.text(fields.obj(body, "involvedObject"), "namespace")
    mismatch = fields.invalid("involvedObject.namespace", about, "does not match event.namespace")
    errors: Errors = []
    if body.get("eventTime") is None:
        matches = about == namespace if about else namespace in ("", "default")
        return (
            errors
            + ([] if matches else mismatch)
            + fields.invalid("namespace", namespace, *formats.dns_subdomain(namespace))
        )
    if not about and namespace not in ("default", "kube-system"):
        errors += mismatch
    controller = fields.text(body, "reportingComponent")
    errors += [] if controller else fields.required(reporter)
    errors += fields.invalid(reporter, controller, *formats.qualified_name(controller))
    for key, limit in (("reportingInstance", 128), ("action", 128), ("reason", 128)):
        value = fields.text(body, key)
        errors += [] if value else fields.required(key)
        errors += fields.invalid(key, "", _TOO_LONG.format(limit)) if len(value) > limit else []
    if len(fields.text(body, "message")) > 1024:
        errors += fields.invalid("message", "", _TOO_LONG.format(1024))
    return errors + fields.invalid("namespace", namespace, *formats.dns_subdomain(namespace))


def _validate_new(body: Body) -> Errors:
    core = to_core(body)
    return _validate(core, "reportingController")


def _validate_create(body: Body) -> Errors:
    """What events.k8s.io asks of new Events: a time, and none of the fields of the past."""
    core = to_core(body)
    errors = _series(core)
    errors += [] if core.get("eventTime") is not None else fields.required("eventTime")
    kind = fields.text(core, "type")
    if kind not in ("Normal", "Warning"):
        errors += fields.invalid("type", "", f"has invalid value: {kind}")
    for key in ("firstTimestamp", "lastTimestamp", "count"):
        errors += fields.invalid(key, "", "needs to be unset") if core.get(key) else []
    source = fields.obj(core, "source")
    return errors + (fields.invalid("source", "", "needs to be unset") if any(source.values()) else [])


def _series(core: Body) -> Errors:
    series = core.get("series")
    if series is None:
        return []
    errors = fields.invalid("series.count", "", "should be at least 2") if (series.get("count") or 0) < 2 else []
    return errors + ([] if series.get("lastObservedTime") else fields.required("series.lastObservedTime"))


def _validate_update(new: Body, old: Body) -> Errors:
    after, before = to_core(new), to_core(old)
    errors = _series(after) if after.get("series") != before.get("series") else []
    keys = (
        "involvedObject",
        "reason",
        "message",
        "source",
        "firstTimestamp",
        "lastTimestamp",
        "count",
        "reason",
        "type",
        "eventTime",
        "action",
        "related",
        "reportingComponent",
        "reportingInstance",
    )
    for key in keys:
        shown = "reportingController" if key == "reportingComponent" else key
        errors += fields.unchanged(shown, after.get(key), before.get(key))
    return errors


def _row(body: Body, now: datetime) -> list[Any]:
    first, last = body.get("firstTimestamp"), body.get("lastTimestamp")
    about, source = fields.obj(body, "involvedObject"), fields.obj(body, "source")
    series = body.get("series")
    first_seen = table.age(first or body.get("eventTime"), now)
    last_seen = table.age(last, now) if last else first_seen
    count = body.get("count") or 1
    if series is not None:
        last_seen, count = table.age(series.get("lastObservedTime"), now), series.get("count") or 0
    kind, name = fields.text(about, "kind").lower(), fields.text(about, "name")
    component = fields.text(source, "component") or fields.text(body, "reportingComponent")
    instance = fields.text(source, "host") or fields.text(body, "reportingInstance")
    return [
        last_seen,
        fields.text(body, "type"),
        fields.text(body, "reason"),
        f"{kind}/{name}" if name else kind,
        fields.text(about, "fieldPath"),
        f"{component}, {instance}" if instance else component,
        fields.text(body, "message").strip(),
        first_seen,
        count,
        table.name(body),
    ]


def _label(*path: str) -> Callable[[Body], str]:
    def read(body: Body) -> str:
        return fields.text(fields.obj(body, *path[:-1]), path[-1])

    return read


_ABOUT: Final = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_CORE_LABELS: Final = {
    **{f"involvedObject.{key}": _label("involvedObject", key) for key in _ABOUT},
    "reason": _label("reason"),
    "reportingComponent": _label("reportingComponent"),
    "source": lambda body: _label("source", "component")(body) or _label("reportingComponent")(body),
    "type": _label("type"),
}
_NEW_LABELS: Final = {
    **{f"regarding.{key}": _label("regarding", key) for key in _ABOUT},
    "reason": _label("reason"),
    "reportingController": _label("reportingController"),
    "type": _label("type"),
}
_COLUMNS: Final = table.columns(
    "Last Seen", "Type", "Reason", "Object", "Subobject*", "Source*", "Message", "First Seen*", "Count*", "Name*"
)

EVENT: Final = Kind(
    group="",
    version="v1",
    kind="Event",
    plural="events",
    short_names=("ev",),
    allow_create_on_update=True,
    validate=_validate,
    field_labels=_CORE_LABELS,
    columns=_COLUMNS,
    row=_row,
)

NEW_EVENT: Final = Kind(
    group="events.k8s.io",
    version="v1",
    kind="Event",
    plural="events",
    short_names=("ev",),
    storage="events",
    storage_version="v1",
    to_storage=to_core,
    from_storage=from_core,
    allow_create_on_update=True,
    validate=_validate_new,
    validate_create=_validate_create,
    validate_update=_validate_update,
    field_labels=_NEW_LABELS,
    columns=_COLUMNS,
    row=lambda body, now: _row(to_core(body), now),
)
