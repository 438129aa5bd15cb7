"""★ Writing: create, replace, patch and apply, step by step as the API server takes them.

    decode → default → own the fields → admit → prepare → validate → allocate → store

The steps of a kind are its hooks; those of every object (names, uid, times, generation, finalizers, optimistic locks,
no-ops) are here. A write that changes nothing is not stored; one that takes the last finalizer off an object being
deleted deletes it.
"""

from __future__ import annotations

from typing import Any, Final

import orjson

from kubesim import admission, managed, status
from kubesim.kind import Kind
from kubesim.kinds import metadata as rules
from kubesim.server import decode, forms, options, rbac
from kubesim.server.call import Call, Outcome
from kubesim.server.world import key_of
from kubesim.store import Record

Body = dict[str, Any]

STORAGE_PREFIX: Final = "/rec"
"""What keys in messages of the storage begin with."""
_PREFIX_LIMIT: Final = 58
"""Of a generated name: 63 characters less the five added (Kubernetes: maxGeneratedNameLength)."""
NAME_MISSING: Final = "was undeterminable: name must be provided"
_WRONG_NAMESPACE: Final = "the namespace of the provided object does not match the namespace sent on the request"


# by whole bodies ---------------------------------------------------------------------------------------------


def create(call: Call, data: bytes, media_type: str) -> Outcome:
    body = decode.sent(call, data, media_type)
    body = with_namespace(call, body)
    _check_given_name(call, body)
    body = _without_system_fields(_named(call, body))
    return finish_create(call, owned(call, None, deduplicated(call, body)))


def replace(call: Call, data: bytes, media_type: str) -> Outcome:
    body = with_namespace(call, decode.sent(call, data, media_type))
    check_name(call, body)
    record = call.world.record(call.kind, call.namespace, call.name)
    if record is None:
        if not call.kind.allow_create_on_update or call.subresource:
            raise missing(call)
        check_uid(call, body, None)
        return finish_create(call, owned(call, None, without(body, "resourceVersion")))
    check_uid(call, body, record)
    live = forms.view(record, call.kind)
    return finish_update(call, record, live, owned(call, live, deduplicated(call, body)))


# what all creations have in common ----------------------------------------------------------------------------------


def finish_create(call: Call, body: Body) -> Outcome:
    kind, world, ctx = call.kind, call.world, call.context()
    body = admission.mutate_create(call, body, ctx)
    rbac.check_grants(call, body)
    meta = {key: value for key, value in body["metadata"].items() if key != "selfLink"}
    meta["uid"], meta["creationTimestamp"] = world.uid(), world.now()
    if kind.has_generation:
        meta["generation"] = 1
    body = kind.prepare_create({**body, "metadata": meta}, ctx)
    refuse_invalid(call, body, _creation_errors(kind, body))
    call.warnings.extend(kind.warnings(body, None))
    if kind.allocate is not None:
        body = kind.allocate(body, None, ctx)
    counted = admission.validate(call, body, None)
    version = options.version(body["metadata"].get("resourceVersion") or "")
    if isinstance(version, int) and version:
        raise status.untyped("resourceVersion should not be set on objects to be created")
    name = body["metadata"]["name"]
    existing = world.record(kind, call.namespace, name)
    if existing is not None:
        raise _exists(kind, name, existing)
    if call.options.dry_run:
        return Outcome(body, None, True)
    admission.charge(call, counted)
    record = world.store.put(kind.storage_key, key_of(kind, call.namespace, name), kind.to_storage(body))
    return Outcome(forms.view(record, kind), record, True)


def _creation_errors(kind: Kind, body: Body) -> list[status.FieldError]:
    errors = rules.validate(body, namespaced=kind.namespaced, name_rule=kind.name_rule, builtin=is_builtin(kind))
    errors = errors + managed.invalid(body["metadata"].get("managedFields") or [])
    return errors + kind.validate(body) + kind.validate_create(body)


def _exists(kind: Kind, name: str, existing: Record) -> status.ApiError:
    error = status.already_exists(kind.group, kind.plural, name)
    if existing.body["metadata"].get("deletionTimestamp"):
        error.message = f"object is being deleted: {error.message}"
    return error


# what all updates have in common ------------------------------------------------------------------------------------


def finish_update(call: Call, record: Record, live: Body, body: Body) -> Outcome:
    kind, ctx = call.kind, call.context()
    body = admission.mutate_update(call, body, live, ctx)
    body = _check_version(call, body, record)
    rbac.check_grants(call, body, live)
    body = _with_server_fields(body, live)
    if call.subresource == "status":
        body = kind.prepare_status(body, live)
    elif call.subresource:
        sub = kind.subresource(call.subresource)
        assert sub is not None
        assert sub.prepare is not None
        body = sub.prepare(body, live, ctx)
    else:
        body = kind.prepare_update(body, live, ctx)
    if call.subresource != "status":
        body = _with_generation(kind, body, live)
    refuse_invalid(call, body, _update_errors(call, body, live))
    if not call.subresource:
        call.warnings.extend(kind.warnings(body, live))
        if kind.allocate is not None:
            body = kind.allocate(body, live, ctx)
    # Last of all: a write that comes to nothing must not even move an owner's time.
    body = managed.settle(live, body)
    if same(body, live):
        return Outcome(live, record)
    counted = admission.validate(call, body, live)
    if not call.options.dry_run:
        admission.charge(call, counted)
    return store_update(call, record, body)


def store_update(call: Call, record: Record, body: Body) -> Outcome:
    """Stores a finished update, or deletes the object if nothing holds it any longer."""
    kind, world = call.kind, call.world
    gone = _nothing_holds(kind, body, record.body)
    if call.options.dry_run:
        return Outcome(body)
    if gone:
        world.store.delete(kind.storage_key, record.key)
        return Outcome(body)
    stored = world.store.put(kind.storage_key, record.key, kind.to_storage(body))
    return Outcome(forms.view(stored, kind), stored)


def _nothing_holds(kind: Kind, body: Body, before: Body) -> bool:
    """Whether an update ends a deletion (Kubernetes: ShouldDeleteDuringUpdate; namespaces count their own finalizers
    too)."""
    if body["metadata"].get("finalizers") or not before["metadata"].get("deletionTimestamp"):
        return False
    if before["metadata"].get("deletionGracePeriodSeconds"):
        return False
    return not (kind.group == "" and kind.kind == "Namespace" and (body.get("spec") or {}).get("finalizers"))


def _check_version(call: Call, body: Body, record: Record) -> Body:
    """The optimistic lock. A body without a version overwrites, where the kind allows that."""
    kind = call.kind
    text = body["metadata"].get("resourceVersion") or ""
    version = options.version(text)
    if isinstance(version, str):
        raise status.untyped(version)
    if version == 0:
        if not kind.allow_unconditional_update:
            complaint = status.invalid_value("metadata.resourceVersion", 0, "must be specified for an update")
            raise status.invalid(kind.group, kind.plural, call.name, [complaint])
        return {**body, "metadata": {**body["metadata"], "resourceVersion": str(record.version)}}
    if version != record.version:
        raise status.conflict(kind.group, kind.plural, call.name, status.MODIFIED)
    return body


def _with_server_fields(body: Body, live: Body) -> Body:
    """What an update may leave out and cannot change: uid, creation and deletion times, generation."""
    meta, before = {k: v for k, v in body["metadata"].items() if k != "selfLink"}, live["metadata"]
    if not meta.get("uid"):
        meta["uid"] = before["uid"]
    meta["creationTimestamp"] = before["creationTimestamp"]
    meta.pop("generation", None)
    if "generation" in before:
        meta["generation"] = before["generation"]
    if "deletionTimestamp" in before:
        meta["deletionTimestamp"] = before["deletionTimestamp"]
    if "deletionGracePeriodSeconds" in before and meta.get("deletionGracePeriodSeconds") is None:
        meta["deletionGracePeriodSeconds"] = before["deletionGracePeriodSeconds"]
    return {**body, "metadata": meta}


def _with_generation(kind: Kind, body: Body, live: Body) -> Body:
    if not kind.has_generation or not kind.generation_moves(body, live):
        return body
    generation = (live["metadata"].get("generation") or 0) + 1
    return {**body, "metadata": {**body["metadata"], "generation": generation}}


def _update_errors(call: Call, body: Body, live: Body) -> list[status.FieldError]:
    kind = call.kind
    errors = rules.validate_update(body, live, builtin=is_builtin(kind))
    if body["metadata"].get("managedFields") != live["metadata"].get("managedFields"):
        errors = errors + managed.invalid(body["metadata"].get("managedFields") or [])
    if call.subresource == "status":
        return errors + kind.validate_status(body, live)
    if call.subresource:
        sub = kind.subresource(call.subresource)
        return errors + (sub.validate(body, live) if sub is not None and sub.validate is not None else [])
    if kind.validates_update_alone:
        return errors + kind.validate_update(body, live)
    if kind.update_first:
        return errors + kind.validate_update(body, live) + kind.validate(body)
    return errors + kind.validate(body) + kind.validate_update(body, live)


# pieces -------------------------------------------------------------------------------------------------------------


_FREE_FINALIZERS: Final = frozenset({"apiextensions.k8s.io", "coordination.k8s.io", "policy"})
"""Groups whose finalizers need no domain, like those of custom resources."""


def is_builtin(kind: Kind) -> bool:
    """Whether the stricter rules of the core kinds hold for an object's metadata."""
    return not kind.custom and kind.group not in _FREE_FINALIZERS


def missing(call: Call) -> status.ApiError:
    return status.not_found(call.kind.group, call.kind.plural, call.name)


def same(one: Body, other: Body) -> bool:
    """Equality of JSON: unlike Python's it tells 1, 1.0 and true apart."""
    return one == other and (
        one is other
        or orjson.dumps(one, option=orjson.OPT_SORT_KEYS) == orjson.dumps(other, option=orjson.OPT_SORT_KEYS)
    )


def owned(call: Call, live: Body | None, body: Body) -> Body:
    return managed.update(live, body, call.writer(), call.schema(), reset=call.reset(), convert=call.convert())


_SYSTEM_FIELDS: Final = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink")


def _without_system_fields(body: Body) -> Body:
    """A POST may bring what only the server sets; nobody comes to own it. Other ways to create are not cleaned so."""
    return without(body, *_SYSTEM_FIELDS)


def without(body: Body, *keys: str) -> Body:
    if not any(key in body["metadata"] for key in keys):
        return body
    return {**body, "metadata": {k: v for k, v in body["metadata"].items() if k not in keys}}


def with_namespace(call: Call, body: Body) -> Body:
    """The namespace of the address, which the body may leave out but not contradict."""
    said = body["metadata"].get("namespace") or ""
    wanted = call.namespace if call.kind.namespaced else ""
    if said == wanted:
        return body
    if said and wanted:
        raise status.bad_request(_WRONG_NAMESPACE)
    meta = {k: v for k, v in body["metadata"].items() if k != "namespace"}
    if wanted:
        meta["namespace"] = wanted
    return {**body, "metadata": meta}


def check_name(call: Call, body: Body) -> None:
    said = body["metadata"].get("name") or ""
    if not said:
        raise status.bad_request(f"the name of the object ({call.name} based on URL) {NAME_MISSING}")
    if said != call.name:
        text = f"the name of the object ({said}) does not match the name on the URL ({call.name})"
        raise status.bad_request(text)


def _check_given_name(call: Call, body: Body) -> None:
    if call.name:
        check_name(call, body)


def _named(call: Call, body: Body) -> Body:
    meta = body["metadata"]
    prefix = meta.get("generateName")
    if meta.get("name") or not prefix:
        return body
    name = prefix[:_PREFIX_LIMIT] + call.world.suffix()
    while call.world.record(call.kind, call.namespace, name) is not None:
        name = prefix[:_PREFIX_LIMIT] + call.world.suffix()
    return {**body, "metadata": {**meta, "name": name}}


def check_uid(call: Call, body: Body, record: Record | None) -> None:
    """409 for a body that names another object than the stored one, or any where there is none."""
    said, live = body["metadata"].get("uid"), record.body["metadata"]["uid"] if record else ""
    if said and said != live:
        kind = call.kind
        # A dry run asks what lies before the storage, and that does not know its prefix.
        prefix = "" if call.options.dry_run else STORAGE_PREFIX
        key = f"{prefix}/{_storage_place(kind)}/{key_of(kind, call.namespace, call.name)}"
        text = (
            f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: "
            f"Precondition failed: UID in precondition: {said}, UID in object meta: {live}"
        )
        raise status.conflict(kind.group, kind.plural, call.name, text)


_PLACES: Final = {
    "endpoints": "services/endpoints",
    "ingresses.networking.k8s.io": "ingress",
    "nodes": "minions",
    "replicationcontrollers": "controllers",
    "services": "services/specs",
}
"""Where the storage keeps kinds that are not under their own name."""


def _storage_place(kind: Kind) -> str:
    if kind.custom or kind.group in ("apiextensions.k8s.io", "apiregistration.k8s.io"):
        return f"{kind.group}/{kind.plural}"
    return _PLACES.get(kind.storage_key, kind.plural)


def deduplicated(call: Call, body: Body, when: str = "") -> Body:
    """Each owner once, by uid, with a warning; ``when`` says at which moment they were found twice."""
    owners = body["metadata"].get("ownerReferences")
    if not owners or len(owners) < 2:
        return body
    kept: dict[str, Body] = {}
    repeated: list[str] = []
    for owner in owners:
        if kept.setdefault(orjson.dumps(owner).decode(), owner) is not owner:
            repeated.append(str(owner.get("uid")))
    if not repeated:
        return body
    call.warnings.append(
        f".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references in 1.20+, "
        "and may reject such requests as early as 1.24; please fix your requests; "
        f"duplicate UID(s) observed: {', '.join(repeated)}"
    )
    return {**body, "metadata": {**body["metadata"], "ownerReferences": list(kept.values())}}


def refuse_invalid(call: Call, body: Body, errors: list[status.FieldError]) -> None:
    kind = call.kind
    if kind.custom:
        # What a custom object calls itself is a matter of validation, and a refusal calls it so too.
        said = {"apiVersion": kind.api_version, "kind": kind.kind}
        wrong = [
            status.invalid_value(key, body.get(key), f"must be {wanted}")
            for key, wanted in said.items()
            if body.get(key) != wanted
        ]
        if wrong:
            raise status.invalid(kind.group, body["kind"], body["metadata"].get("name", ""), wrong)
    if errors:
        # The group is that of the stored object, which may have a face in another one (events).
        group = kind.storage_version.rpartition("/")[0] if kind.storage_version else kind.group
        raise status.invalid(group, kind.kind, body["metadata"].get("name", ""), errors)
