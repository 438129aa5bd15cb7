"""Reviews: questions asked by creating an object that is never stored. May I, may they, who am I, whose token is
this."""

from __future__ import annotations

from typing import Any, Final

from kubesim import managed, status
from kubesim.server import decode, rbac, write
from kubesim.server.auth import Authenticator
from kubesim.server.call import Call, Outcome
from kubesim.server.rbac import Attributes
from kubesim.server.request import User
from kubesim.server.tokens import ISSUER

Body = dict[str, Any]


def answer(call: Call, data: bytes, media_type: str, authenticator: Authenticator) -> Outcome:
    """The object with its status filled in."""
    kind = call.kind
    body = decode.sent(call, data, media_type)
    if kind.namespaced:
        body = write.with_namespace(call, body)
    match kind.kind:
        case "SelfSubjectReview":
            meta = {**body["metadata"], "creationTimestamp": call.world.now()}
            return Outcome({**body, "metadata": meta, "status": {"userInfo": _user_info(call.user)}}, None, True)
        case "TokenReview":
            told = _token_status(body, authenticator)
        case "SelfSubjectRulesReview":
            return Outcome({**body, "spec": {}, "status": _rules_status(call, body)}, None, True)
        case "SelfSubjectAccessReview":
            told = _access_status(call, body, call.user)
        case _:
            told = _access_status(call, body, _subject(body))
    body = managed.update(None, body, call.writer(), call.schema(), reset=call.reset())
    _check_metadata(call, body)
    return Outcome({**body, "status": told}, None, True)


def _sorted(value: Any) -> Any:
    return {key: _sorted(value[key]) for key in sorted(value)} if isinstance(value, dict) else value


_META_ORDER: Final = ("name", "generateName", "namespace", "labels", "annotations", "ownerReferences", "finalizers")


def _check_metadata(call: Call, body: Body) -> None:
    """Access reviews have no metadata of their own, but for the namespace of a local one."""
    meta = body["metadata"]
    allowed = {"managedFields", "namespace"} if call.kind.namespaced else {"managedFields"}
    if call.kind.kind == "TokenReview" or not set(meta) - allowed:
        return
    shown = {key: meta[key] for key in _META_ORDER if key in meta}
    # Sets of fields are printed sorted.
    entries = [{**entry, "fieldsV1": _sorted(entry["fieldsV1"])} for entry in meta.get("managedFields") or ()]
    shown |= {"managedFields": entries} if entries else {}
    text = "must be empty except for namespace" if call.kind.namespaced else "must be empty"
    raise status.invalid(call.kind.group, "", "", [status.invalid_value("metadata", shown, text)])


def _user_info(user: User) -> Body:
    told: Body = {"username": user.name}
    if user.uid:
        told["uid"] = user.uid
    if user.groups:
        told["groups"] = list(user.groups)
    if user.extra:
        told["extra"] = {key: list(values) for key, values in user.extra.items()}
    return told


def _token_status(body: Body, authenticator: Authenticator) -> Body:
    spec = body.get("spec") or {}
    if not spec.get("token"):
        raise status.bad_request("token is required for TokenReview in authentication")
    audiences = spec.get("audiences") or [ISSUER]
    found, heard = authenticator.whose(spec["token"], audiences)
    if found is None:
        return {"user": {}, "error": "invalid bearer token"}
    return {"authenticated": True, "user": _user_info(found), "audiences": heard}


def _subject(body: Body) -> User:
    spec = body.get("spec") or {}
    extra = {key: tuple(values) for key, values in (spec.get("extra") or {}).items()}
    return User(spec.get("user") or "", spec.get("uid") or "", tuple(spec.get("groups") or ()), extra)


def _access_status(call: Call, body: Body, user: User) -> Body:
    spec = body.get("spec") or {}
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    errors = _local_errors(call, resource, path) if call.kind.namespaced else []
    if (resource is None) is (path is None):
        text = "cannot be specified in combination with resourceAttributes"
        if resource is None:
            text = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
            errors.append(status.invalid_value("spec.resourceAttributes", None, text))
        else:
            errors.append(status.invalid_value("spec.nonResourceAttributes", _go_path(path), text))
    if not call.kind.kind.startswith("Self") and not user.name and not user.groups:
        text = "at least one of user or group must be specified"
        errors.append(status.invalid_value("spec.user", spec.get("user") or "", text))
    if errors:
        raise status.invalid(call.kind.group, "", "", errors)
    verdict = rbac.decide(call.world, user, _attributes(resource, path))
    return {"allowed": verdict.allowed, **({"reason": verdict.reason} if verdict.reason else {})}


def _local_errors(call: Call, resource: Body | None, path: Body | None) -> list[status.FieldError]:
    errors: list[status.FieldError] = []
    if resource is not None and (resource.get("namespace") or "") != call.namespace:
        said = resource.get("namespace") or ""
        text = "must match metadata.namespace"
        errors.append(status.invalid_value("spec.resourceAttributes.namespace", said, text))
    if path is not None:
        text = "disallowed on this kind of request"
        errors.append(status.invalid_value("spec.nonResourceAttributes", _go_path(path), text))
    return errors


def _go_path(path: Body | None) -> Body:
    """Attributes of a path as the server's own type prints them."""
    found = path or {}
    return {"Path": found.get("path") or "", "Verb": found.get("verb") or ""}


def _attributes(resource: Body | None, path: Body | None) -> Attributes:
    if resource is not None:
        get = resource.get
        return Attributes(
            get("verb") or "",
            get("group") or "",
            get("version") or "",
            get("resource") or "",
            get("subresource") or "",
            get("namespace") or "",
            get("name") or "",
        )
    found = path or {}
    return Attributes(found.get("verb") or "", path=found.get("path") or "/")


def _rules_status(call: Call, body: Body) -> Body:
    namespace = (body.get("spec") or {}).get("namespace") or ""
    if not namespace:
        raise status.bad_request("no namespace on request")
    rules: list[Body]
    if rbac.MASTERS in call.user.groups:
        everything: Body = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
        rules = [everything, {"verbs": ["*"], "nonResourceURLs": ["*"]}]
    else:
        rules = []
    rules += [rule for rule, _ in rbac.rules_for(call.world, call.user, namespace)]
    missing = rbac.missing_roles(call.world, call.user, namespace)
    return {
        **({"evaluationError": missing} if missing else {}),
        "resourceRules": [rule for rule in rules if rule.get("resources")],
        "nonResourceRules": [rule for rule in rules if rule.get("nonResourceURLs")],
        "incomplete": False,
    }
