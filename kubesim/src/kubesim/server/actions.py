"""Subresources that do something of their own: binding a Pod to a node, evicting it, making a service account's
token."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from kubesim import admission, managed, schema, status
from kubesim.client import Client
from kubesim.kind import Kind, Subresource
from kubesim.kinds import pod_actions
from kubesim.server import decode, delete, options, write
from kubesim.server.auth import Authenticator
from kubesim.server.call import Call, Outcome
from kubesim.server.tokens import ISSUER
from kubesim.server.world import timestamp

Body = dict[str, Any]

_DONE: Final[Body] = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
_SHORTEST, _LONGEST = 600, 2**32


def _kind(group: str, version: str, kind: str, plural: str) -> Kind:
    return Kind(group=group, version=version, kind=kind, plural=plural, schema=schema.for_kind(group, version, kind))


_BINDING: Final = _kind("", "v1", "Binding", "bindings")
_EVICTION: Final = _kind("policy", "v1", "Eviction", "evictions")
_TOKEN: Final = _kind("authentication.k8s.io", "v1", "TokenRequest", "tokenrequests")


def perform(
    call: Call, subresource: Subresource, data: bytes, media_type: str, authenticator: Authenticator
) -> Outcome:
    admission.check_namespace(call)
    match subresource.name:
        case "binding":
            return _bind(call, _named(call, decode.sent(call, data, media_type, _BINDING)))
        case "eviction":
            return _evict(call, _named(call, decode.sent(call, data, media_type, _EVICTION)))
        case "token":
            return _token(call, decode.sent(call, data, media_type, _TOKEN), authenticator)
    raise no_machine(subresource.name)


def _named(call: Call, body: Body) -> Body:
    """What is done to a Pod has to name it."""
    if (body["metadata"].get("name") or "") != call.name:
        raise status.bad_request(f"name in URL does not match name in {body['kind']} object")
    return body


def no_machine(name: str) -> status.ApiError:
    return status.ApiError(501, "NotImplemented", f"{name} needs a machine, and this cluster has none")


def bind_by_body(call: Call, data: bytes, media_type: str) -> Outcome:
    """The old address of bindings, where the body names the Pod."""
    binding = decode.sent(call, data, media_type, _BINDING)
    pods = call.world.registry.at("", "v1", "pods")
    assert pods is not None
    call.kind, call.name = pods, binding["metadata"].get("name") or ""
    return _bind(call, binding)


def _pod(call: Call) -> Body:
    record = call.world.record(call.kind, call.namespace, call.name)
    if record is None:
        raise write.missing(call)
    return record.body


def _save(call: Call, pod: Body) -> None:
    if not call.options.dry_run:
        meta = pod["metadata"]
        call.world.store.put("pods", f"{meta['namespace']}/{meta['name']}", pod)


def _bind(call: Call, binding: Body) -> Outcome:
    pod_actions.check_target(binding)
    _save(call, pod_actions.bind(_pod(call), binding, call.world.now()))
    return Outcome(_DONE, None, True)


def _evict(call: Call, eviction: Body) -> Outcome:
    """A deletion that budgets may refuse (429)."""
    pod = _pod(call)
    wanted = options.from_body(eviction.get("deleteOptions") or {})
    budgets = list(call.world.lookup.list("poddisruptionbudgets.policy", call.namespace))
    evicted, charged = pod_actions.evict(pod, budgets, call.world.now())
    if wanted.dry_run or call.options.dry_run:
        return Outcome(_DONE, None, True)
    if charged is not None:
        Client(call.world, "kube-apiserver").update("poddisruptionbudgets.policy", charged, subresource="status")
    if evicted is not pod:
        _save(call, evicted)
    delete.delete(call.world, call.kind, call.namespace, call.name, wanted, call.user, call.warnings)
    return Outcome(_DONE, None, True)


def _check_bound(call: Call, ref: Body | None) -> None:
    """What a token is bound to has to exist (404), and to be that very object (409)."""
    if ref is None:
        return
    resource = {"Pod": "pods", "Secret": "secrets", "Node": "nodes"}.get(ref.get("kind") or "")
    name = ref.get("name") or ""
    if resource is None:
        said = f"{ref.get('apiVersion') or ''}, Kind={ref.get('kind') or ''}"
        raise status.bad_request(f"cannot bind token to object of type {said}")
    found = call.world.lookup.get(resource, "" if resource == "nodes" else call.namespace, name)
    if found is None:
        raise status.not_found("", resource, name)
    uid = ref.get("uid") or ""
    if uid and uid != found["metadata"]["uid"]:
        why = (
            f"the UID in the bound object reference ({uid}) does not match the UID in record. "
            "The object might have been deleted and then recreated"
        )
        raise status.conflict("", resource, name, why)


def _token(call: Call, wanted: Body, authenticator: Authenticator) -> Outcome:
    account = _pod(call)
    wanted = write.with_namespace(call, wanted)
    name = wanted["metadata"].get("name") or ""
    if name and name != call.name:
        errors = [status.invalid_value("metadata.name", name, "must match the service account name if specified")]
        raise status.invalid(_TOKEN.group, _TOKEN.kind, call.name, errors)
    spec = wanted.get("spec") or {}
    seconds = spec.get("expirationSeconds") or 3600
    wanted = {**wanted, "spec": {**spec, "expirationSeconds": seconds}}
    complaint = ""
    if seconds < _SHORTEST:
        complaint = "may not specify a duration less than 10 minutes"
    elif seconds > _LONGEST:
        complaint = "may not specify a duration larger than 2^32 seconds"
    if complaint:
        errors = [status.invalid_value("spec.expirationSeconds", seconds, complaint)]
        raise status.invalid(_TOKEN.group, _TOKEN.kind, "", errors)
    _check_bound(call, spec.get("boundObjectRef"))
    audiences = spec.get("audiences") or [ISSUER]
    now = call.world.clock.now()
    assert _TOKEN.schema is not None
    writer = managed.Writer(call.options.manager, _TOKEN.api_version, now, "token", _TOKEN.kind)
    owned = managed.update(None, wanted, writer, _TOKEN.schema)
    meta = {
        "name": account["metadata"]["name"],
        "namespace": account["metadata"]["namespace"],
        "uid": account["metadata"]["uid"],
        "creationTimestamp": timestamp(now),
        **{k: v for k, v in owned["metadata"].items() if k == "managedFields"},
    }
    shown = {
        "kind": _TOKEN.kind,
        "apiVersion": _TOKEN.api_version,
        "metadata": meta,
        "spec": {"audiences": audiences, "expirationSeconds": seconds, "boundObjectRef": spec.get("boundObjectRef")},
        "status": {
            "token": authenticator.token(account, audiences, seconds),
            "expirationTimestamp": timestamp(now + timedelta(seconds=seconds)),
        },
    }
    return Outcome(shown, None, True)
