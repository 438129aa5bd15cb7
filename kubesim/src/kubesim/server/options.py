"""Options of a request, read from its query (or a deletion's body) and refused with the field at fault.

Kubernetes: metav1 ListOptions, CreateOptions, UpdateOptions, PatchOptions, DeleteOptions and their validations.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from kubesim import go_words, schema, status, yaml
from kubesim.server import forms, gojson, request
from kubesim.server.request import Request

Body = dict[str, Any]

APPLY: Final = "application/apply-patch+yaml"
_POLICIES: Final = ("Foreground", "Background", "Orphan", "nil")
_VALIDATIONS: Final = ("", "Ignore", "Strict", "Warn")


def _refuse(kind: str, errors: list[status.FieldError]) -> None:
    if errors:
        raise status.invalid("meta.k8s.io", kind, "", errors)


def integer(text: str) -> int:
    """As strconv.ParseInt; 400 with its text."""
    if not re.fullmatch(r"[+-]?[0-9]+", text):
        raise status.bad_request(f"strconv.ParseInt: parsing {status.quote(text)}: invalid syntax")
    value = int(text)
    if not -(2**63) <= value < 2**63:
        raise status.bad_request(f"strconv.ParseInt: parsing {status.quote(text)}: value out of range")
    return value


def version(text: str) -> int | str:
    """A resourceVersion as a number, or the complaint of strconv.ParseUint. Empty is 0."""
    if text == "":
        return 0
    if not re.fullmatch(r"[0-9]+", text):
        return f"strconv.ParseUint: parsing {status.quote(text)}: invalid syntax"
    value = int(text)
    return value if value < 2**64 else f"strconv.ParseUint: parsing {status.quote(text)}: value out of range"


@dataclass(frozen=True, slots=True)
class ListOptions:
    """``send_initial`` is ``None`` when the parameter was not given."""

    labels: str = ""
    fields: str = ""
    resource_version: str = ""
    match: str = ""
    limit: int = 0
    token: str = ""
    timeout: int | None = None
    bookmarks: bool = False
    send_initial: bool | None = None


def listing(req: Request, *, watch: bool) -> ListOptions:
    query = req.query
    found = ListOptions(
        labels=req.first("labelSelector"),
        fields=req.first("fieldSelector"),
        resource_version=req.first("resourceVersion"),
        match=req.first("resourceVersionMatch"),
        limit=integer(query["limit"][0]) if "limit" in query else 0,
        token=req.first("continue"),
        timeout=integer(query["timeoutSeconds"][0]) if "timeoutSeconds" in query else None,
        bookmarks=request.truth(query.get("allowWatchBookmarks")),
        send_initial=request.truth(query["sendInitialEvents"]) if "sendInitialEvents" in query else None,
    )
    _refuse("ListOptions", _watch_errors(found) if watch else _list_errors(found))
    return found


def _list_errors(found: ListOptions) -> list[status.FieldError]:
    where = "resourceVersionMatch"
    errors: list[status.FieldError] = []
    if found.match:
        if not found.resource_version:
            errors.append(status.forbidden_field(where, f"{where} is forbidden unless resourceVersion is provided"))
        if found.token:
            errors.append(status.forbidden_field(where, f"{where} is forbidden when continue is provided"))
        if found.match not in ("Exact", "NotOlderThan"):
            errors.append(status.not_supported(where, found.match, ("Exact", "NotOlderThan", "")))
        if found.match == "Exact" and found.resource_version == "0":
            errors.append(status.forbidden_field(where, f'{where} "exact" is forbidden for resourceVersion "0"'))
    if found.send_initial is not None:
        errors.append(status.forbidden_field("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    return errors


def _watch_errors(found: ListOptions) -> list[status.FieldError]:
    where = "resourceVersionMatch"
    errors: list[status.FieldError] = []
    if found.send_initial is not None and found.match != "NotOlderThan":
        errors.append(status.forbidden_field(where, f"sendInitialEvents requires setting {where} to NotOlderThan"))
    if found.match:
        if found.send_initial is None:
            text = f"{where} is forbidden for watch unless sendInitialEvents is provided"
            errors.append(status.forbidden_field(where, text))
        if found.match != "NotOlderThan":
            errors.append(status.not_supported(where, found.match, ("NotOlderThan",)))
    # A watch from no version, or from 0, is one with initial events in all but name.
    implied = found.send_initial is None and not found.match and found.resource_version in ("", "0")
    if found.token and (found.match or implied):
        errors.append(status.forbidden_field(where, f"{where} is forbidden when continue is provided"))
    return errors


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """``validation`` is Ignore, Warn or Strict; ``manager`` who will own the fields."""

    dry_run: bool = False
    manager: str = ""
    validation: str = "Warn"
    force: bool = False


def writing(req: Request, kind: str, *, patch: str = "") -> WriteOptions:
    """``kind`` is CreateOptions, UpdateOptions or PatchOptions; ``patch`` the content type of a patch."""
    query = req.query
    manager, validation = req.first("fieldManager"), req.first("fieldValidation")
    errors: list[status.FieldError] = []
    if patch == APPLY:
        if not manager:
            errors.append(status.required("fieldManager", "is required for apply patch"))
    elif patch and "force" in query:
        errors.append(status.forbidden_field("force", "may not be specified for non-apply patch"))
    errors += _manager_errors(manager) + _dry_run_errors(query.get("dryRun"))
    if validation not in _VALIDATIONS:
        errors.append(status.not_supported("fieldValidation", validation, _VALIDATIONS))
    _refuse(kind, errors)
    agent = str(req.headers.get("User-Agent", "")).partition("/")[0][:128]
    return WriteOptions(
        "dryRun" in query, manager or agent or "unknown", validation or "Warn", request.truth(query.get("force"))
    )


def _manager_errors(manager: str) -> list[status.FieldError]:
    errors: list[status.FieldError] = []
    if len(manager) > 128:
        errors.append(status.too_long("fieldManager", 128))
    for index, char in enumerate(manager):
        if not char.isprintable():
            text = f"invalid character U+{ord(char):04X} (at position {index})"
            errors.append(status.invalid_value("fieldManager", manager, text))
    return errors


def _dry_run_errors(values: list[str] | None) -> list[status.FieldError]:
    if values and any(value != "All" for value in values):
        return [status.not_supported("dryRun", values, ("All",))]
    return []


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    dry_run: bool = False
    grace: int | None = None
    policy: str = ""
    orphan: bool | None = None
    uid: str | None = None
    resource_version: str | None = None


_DELETE_SCHEME: Final = "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27"


def deleting(req: Request) -> DeleteOptions:
    """From the body if there is one, and then from nothing else; from the query otherwise."""
    return from_body(_delete_body(req)) if req.body else _from_query(req)


def _delete_body(req: Request) -> Body:
    media = req.content_type() or forms.MEDIA[0]
    if media not in forms.MEDIA[:2]:
        raise status.unsupported_media_type(forms.MEDIA)
    try:
        if media == forms.MEDIA[1]:
            body, _ = yaml.load(req.body)
        else:
            body = gojson.loads(req.body)
    except yaml.YamlError as error:
        raise status.bad_request(str(error)) from None
    except gojson.JsonError as error:
        raise status.bad_request(f"couldn't get version/kind; json parse error: {error}") from None
    if body is None:
        return {}
    if not isinstance(body, dict):
        why = f"json: cannot unmarshal {go_words.json_type(body)} into Go value of type {gojson.TYPE_META}"
        raise status.bad_request(f"couldn't get version/kind; json parse error: {why}")
    for name in ("apiVersion", "kind"):
        said = body.get(name)
        if said is not None and not isinstance(said, str):
            why = f"json: cannot unmarshal {go_words.json_type(said)} into Go struct field .{name} of type string"
            raise status.bad_request(f"couldn't get version/kind; json parse error: {why}")
    kind, api_version = body.get("kind") or "DeleteOptions", body.get("apiVersion") or "v1"
    if kind != "DeleteOptions":
        text = f'no kind {status.quote(kind)} is registered for version "{api_version}" in scheme "{_DELETE_SCHEME}"'
        raise status.bad_request(text)
    return body


def _from_query(req: Request) -> DeleteOptions:
    query = req.query
    body: Body = {}
    if "gracePeriodSeconds" in query:
        body["gracePeriodSeconds"] = integer(query["gracePeriodSeconds"][0])
    if "orphanDependents" in query:
        body["orphanDependents"] = request.truth(query["orphanDependents"])
    if "propagationPolicy" in query:
        body["propagationPolicy"] = query["propagationPolicy"][0]
    if "dryRun" in query:
        body["dryRun"] = query["dryRun"]
    preconditions = {name: query[name][0] for name in ("uid", "resourceVersion") if query.get(name)}
    if preconditions:
        body["preconditions"] = preconditions
    return from_body(body)


def from_body(body: Mapping[str, Any]) -> DeleteOptions:
    """Of a DeleteOptions body; 400 for wrong types, 422 for values that make no sense."""
    wrong = _schema().check(dict(body)).type_errors
    if wrong:
        raise status.bad_request(_named_types(wrong[0]))
    orphan, policy = body.get("orphanDependents"), body.get("propagationPolicy")
    grace, dry_run = body.get("gracePeriodSeconds"), body.get("dryRun") or []
    errors: list[status.FieldError] = []
    if orphan is not None and policy is not None:
        text = "orphanDependents and deletionPropagation cannot be both set"
        errors.append(status.invalid_value("propagationPolicy", policy, text))
    if policy is not None and policy not in _POLICIES[:3]:
        errors.append(status.not_supported("propagationPolicy", policy, _POLICIES))
    errors += _dry_run_errors(dry_run)
    _refuse("DeleteOptions", errors)
    wanted = body.get("preconditions") or {}
    return DeleteOptions(bool(dry_run), grace, policy or "", orphan, wanted.get("uid"), wanted.get("resourceVersion"))


@functools.cache
def _schema() -> schema.Schema:
    return schema.for_kind("meta.k8s.io", "v1", "DeleteOptions")


def _named_types(complaint: str) -> str:
    """Two of the fields have types of their own names, which the message tells."""
    for field, named in ((".propagationPolicy", "v1.DeletionPropagation"), (".preconditions.uid", "types.UID")):
        complaint = complaint.replace(f"{field} of type string", f"{field} of type {named}")
    return complaint
