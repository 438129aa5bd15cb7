"""Admission: what stands between a request and its object beside the kind's own rules.

Namespaces must exist and take new content, custom kinds must not be going away, Pods get the resources of LimitRanges
and must keep within them, and creations count against ResourceQuotas. (Kubernetes: NamespaceLifecycle, LimitRanger,
ResourceQuota.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kubesim import managed, schema, status
from kubesim.kind import Context, Kind
from kubesim.kinds import limit_ranges, quotas

if TYPE_CHECKING:
    from kubesim.server.call import Call

Body = dict[str, Any]

_IMMORTAL: Final = frozenset({"default", "kube-system", "kube-public"})
_LIMITED: Final = frozenset({"pods", "persistentvolumeclaims"})
_CRDS: Final = "customresourcedefinitions.apiextensions.k8s.io"


def mutate_create(call: Call, body: Body, ctx: Context) -> Body:
    """404 or 403 where nothing may be created; otherwise the body with what admission fills in."""
    kind = call.kind
    if kind.custom:
        _check_definition(call, body)
    if kind.namespaced:
        _check_namespace(call, body, creating=True)
    if kind.admit is not None:
        body = kind.admit(body, None, ctx)
    for mutate in call.world.mutators:
        body = mutate(kind.storage_key, body)
    if kind.storage_key == "pods":
        ranges = _all(call, "limitranges")
        if ranges:
            body = limit_ranges.apply(body, ranges)
    return body


def mutate_update(call: Call, body: Body, live: Body, ctx: Context) -> Body:
    kind = call.kind
    if kind.namespaced:
        _check_namespace(call, body, creating=False)
    if kind.admit is not None and not call.subresource:
        body = kind.admit(body, live, ctx)
    return body


def validate(call: Call, body: Body, live: Body | None) -> list[Body]:
    """403 outside a LimitRange or beyond a quota; answers the quotas that count this write, to be stored with it."""
    kind = call.kind
    if not kind.namespaced or call.subresource:
        return []
    if kind.storage_key in _LIMITED and (live is None or kind.storage_key != "pods"):
        ranges = _all(call, "limitranges")
        found = limit_ranges.complaints(kind.plural, body, ranges) if ranges else []
        if found:
            text = found[0] if len(found) == 1 else f"[{', '.join(found)}]"
            raise status.forbidden(kind.group, kind.plural, body["metadata"]["name"], text)
    if kind.storage_key == "resourcequotas":
        return []
    limits = _all(call, "resourcequotas")
    return quotas.charge(limits, kind.group, kind.plural, body, live) if limits else []


def charge(call: Call, counted: list[Body]) -> None:
    """Stores what ``validate`` counted, as a status that the server itself has written."""
    world = call.world
    kind = world.registry.stored("resourcequotas")
    for quota in counted:
        assert kind is not None
        key = f"{call.namespace}/{quota['metadata']['name']}"
        record = world.store.get(kind.storage_key, key)
        writer = managed.Writer("kube-apiserver", kind.api_version, world.clock.now(), "status", kind.kind)
        owned = managed.update(record.body if record else None, quota, writer, kind.schema or schema.OPEN)
        world.store.put(kind.storage_key, key, owned)


def _all(call: Call, resource: str) -> list[Body]:
    return list(call.world.lookup.list(resource, call.namespace))


def check_deletion(kind: Kind, name: str) -> None:
    if kind.group == "" and kind.kind == "Namespace" and name in _IMMORTAL:
        raise status.forbidden("", "namespaces", name, "this namespace may not be deleted")


def check_namespace(call: Call) -> Body:
    """The namespace of a write; 404 if there is none."""
    namespace = call.world.lookup.get("namespaces", "", call.namespace)
    if namespace is None:
        raise status.not_found("", "namespaces", call.namespace)
    return namespace


def _check_namespace(call: Call, body: Body, *, creating: bool) -> None:
    namespace = check_namespace(call)
    if not creating or (namespace.get("status") or {}).get("phase") != "Terminating":
        return
    name = body["metadata"].get("name", "")
    why = f"unable to create new content in namespace {call.namespace} because it is being terminated"
    cause = {
        "reason": "NamespaceTerminating",
        "message": f"namespace {call.namespace} is being terminated",
        "field": "metadata.namespace",
    }
    raise status.forbidden(call.kind.group, call.kind.plural, name, why, [cause])


def _check_definition(call: Call, body: Body) -> None:
    from kubesim import crd

    kind = call.kind
    definition = call.world.lookup.get(_CRDS, "", kind.resource)
    if definition is not None and crd.is_terminating(definition):
        name = body["metadata"].get("name", "")
        why = "create not allowed while custom resource definition is terminating"
        raise status.forbidden(kind.group, kind.plural, name, why)
