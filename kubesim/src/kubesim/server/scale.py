"""The scale subresource: an object's replicas seen as an ``autoscaling/v1`` Scale, to read and to write.

Ownership follows: a Scale's managedFields are those of the object's replicas, entries it makes are written back as
the object's own with ``subresource: scale``. What the Scale does not show cannot be touched through it.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from kubesim import managed, schema, status
from kubesim.kind import Column, Kind, Scale
from kubesim.kinds import table
from kubesim.server import decode, forms, options, patching, write
from kubesim.server.call import Call, Outcome
from kubesim.store import Record

Body = dict[str, Any]


def _row(body: Body, now: datetime) -> list[Any]:
    counts = (body["spec"].get("replicas") or 0, body["status"]["replicas"])
    return [body["metadata"]["name"], *counts, table.created(body, now)]


KIND: Final = Kind(
    group="autoscaling",
    version="v1",
    kind="Scale",
    plural="scales",
    schema=schema.for_kind("autoscaling", "v1", "Scale"),
    columns=(Column("Name"), Column("Desired", "integer"), Column("Available", "integer"), Column("Age")),
    row=_row,
)


def face(kind: Kind, body: Body) -> Body:
    """The Scale of an object, without managedFields."""
    scale = _scale(kind)
    meta = body["metadata"]
    shown = {
        key: meta[key] for key in ("name", "namespace", "uid", "resourceVersion", "creationTimestamp") if key in meta
    }
    replicas = _at(body, scale.replicas)
    if replicas is None and kind.custom:
        raise status.internal(f'the spec replicas field ".{".".join(scale.replicas)}" does not exist')
    told: Body = {"replicas": _at(body, scale.status_replicas) or 0}
    selector = _selector_text(_at(body, scale.selector), scale) if scale.selector else ""
    if selector:
        told["selector"] = selector
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": shown,
        "spec": {"replicas": replicas} if replicas else {},
        "status": told,
    }


def _scale(kind: Kind) -> Scale:
    assert kind.scale is not None
    return kind.scale


def _at(body: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        if not isinstance(body, dict):
            return None
        body = body.get(key)
    return body


def _put(body: Body, path: tuple[str, ...], value: Any) -> Body:
    key, rest = path[0], path[1:]
    return {**body, key: _put(body.get(key) or {}, rest, value) if rest else value}


def _selector_text(selector: Any, scale: Scale) -> str:
    if scale.selector_text or not isinstance(selector, dict):
        return selector if isinstance(selector, str) else ""
    if "matchLabels" not in selector and "matchExpressions" not in selector:
        return ",".join(f"{key}={selector[key]}" for key in sorted(selector))
    terms = [(key, f"{key}={value}") for key, value in (selector.get("matchLabels") or {}).items()]
    for entry in selector.get("matchExpressions") or ():
        key, values = entry["key"], ",".join(sorted(entry.get("values") or ()))
        text = {"In": f"{key} in ({values})", "NotIn": f"{key} notin ({values})", "Exists": key}.get(
            entry["operator"], f"!{key}"
        )
        terms.append((key, text))
    return ",".join(text for _, text in sorted(terms))


def replace(call: Call, data: bytes, media_type: str) -> Outcome:
    new = decode.sent(call, data, media_type, KIND)
    new = write.with_namespace(call, new)
    write.check_name(call, new)
    record, live = _live(call)
    write.check_uid(call, new, record)
    return _store(call, record, live, new, update=True)


def patched(call: Call, data: bytes, content_type: str) -> Outcome:
    record, live = _live(call)
    old = _owned_face(call.kind, live)
    new = patching.patch_result(call, KIND, old, data, content_type)
    new = write.with_namespace(call, new)
    write.check_name(call, new)
    return _store(call, record, live, new, update=True)


def applied(call: Call, data: bytes) -> Outcome:
    record, live = _live(call)
    config = patching.parse_config(call, data)
    if call.kind.custom:
        # The API server cannot do this either (Kubernetes: a Scale has no place among a definition's versions).
        where = f"{call.namespace}/{call.name}; {KIND.api_version}, Kind={KIND.kind}"
        why = f"request to convert CR to an invalid group/version: {KIND.api_version}"
        raise status.untyped(f"failed to convert new object ({where}) to proper version: {why}")
    old = _owned_face(call.kind, live)
    assert KIND.schema is not None
    writer = managed.Writer(call.options.manager, KIND.api_version, call.world.clock.now(), "scale", "Scale")
    new = managed.apply(old, config, writer, KIND.schema, force=call.options.force)
    new = write.with_namespace(call, KIND.schema.convert(new))
    write.check_name(call, new)
    return _store(call, record, live, new, update=False)


def _live(call: Call) -> tuple[Record, Body]:
    record = call.world.record(call.kind, call.namespace, call.name)
    if record is None:
        raise write.missing(call)
    return record, forms.view(record, call.kind)


def _owned_face(kind: Kind, live: Body) -> Body:
    """The Scale with the managedFields that concern it."""
    shown = face(kind, live)
    entries = managed.scale_fields(live["metadata"].get("managedFields") or [], kind.api_version, _scale(kind).replicas)
    return {**shown, "metadata": {**shown["metadata"], "managedFields": entries}} if entries else shown


def _store(call: Call, record: Record, live: Body, new: Body, *, update: bool) -> Outcome:
    kind, scale = call.kind, _scale(call.kind)
    old = _owned_face(kind, live)
    if update:
        assert KIND.schema is not None
        writer = managed.Writer(call.options.manager, KIND.api_version, call.world.clock.now(), "scale", "Scale")
        new = managed.update(old, new, writer, KIND.schema)
    _check(call, new, record)
    replicas = (new.get("spec") or {}).get("replicas") or 0
    body = _put(live, scale.replicas, replicas)
    entries = managed.parent_fields(
        live["metadata"].get("managedFields") or [],
        new["metadata"].get("managedFields") or [],
        kind.api_version,
        scale.replicas,
    )
    meta = {k: v for k, v in body["metadata"].items() if k != "managedFields"}
    if entries:
        meta["managedFields"] = entries
    body = {**body, "metadata": meta}
    if kind.has_generation and kind.generation_moves(body, live):
        generation = (live["metadata"].get("generation") or 0) + 1
        body = {**body, "metadata": {**body["metadata"], "generation": generation}}
    body = managed.settle(live, body)
    if write.same(body, live):
        return Outcome(face(kind, live))
    errors = [] if kind.validates_update_alone else kind.validate(body)
    write.refuse_invalid(call, body, errors + kind.validate_update(body, live))
    stored = write.store_update(call, record, body)
    return Outcome(face(kind, stored.body))


def _check(call: Call, new: Body, record: Record) -> None:
    replicas = (new.get("spec") or {}).get("replicas") or 0
    if replicas < 0 and not call.kind.custom:
        complaint = status.invalid_value("spec.replicas", replicas, "must be greater than or equal to 0")
        raise status.invalid("autoscaling", "Scale", call.name, [complaint])
    text = new["metadata"].get("resourceVersion") or ""
    version = options.version(text)
    if isinstance(version, str):
        raise status.untyped(version)
    if version and version != record.version:
        raise status.conflict(call.kind.group, call.kind.plural, call.name, status.MODIFIED)
