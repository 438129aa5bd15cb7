"""From the bytes of a body to an object of the kind: parsed, of the right type, without unknown fields, with defaults.

Mistakes come in layers, and each has its own words: bytes that are no JSON or YAML, a kind or version that is not the
address's, values of the wrong type, and fields that do not exist. The last are warned of, refused or passed over as
``fieldValidation`` says.
"""

from __future__ import annotations

from typing import Any, Final

from kubesim import go_words, schema_decode, status, yaml
from kubesim.kind import Kind
from kubesim.server import forms, gojson
from kubesim.server.call import Call

Body = dict[str, Any]

_SCHEME: Final = "k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30"
_RETIRED: Final = frozenset(
    {
        "admissionregistration.k8s.io/v1beta1",
        "apps/v1beta1",
        "apps/v1beta2",
        "authentication.k8s.io/v1beta1",
        "authorization.k8s.io/v1beta1",
        "autoscaling/v2beta1",
        "autoscaling/v2beta2",
        "batch/v1beta1",
        "certificates.k8s.io/v1beta1",
        "coordination.k8s.io/v1beta1",
        "discovery.k8s.io/v1beta1",
        "events.k8s.io/v1beta1",
        "extensions/v1beta1",
        "networking.k8s.io/v1beta1",
        "policy/v1beta1",
        "rbac.authorization.k8s.io/v1alpha1",
        "rbac.authorization.k8s.io/v1beta1",
        "scheduling.k8s.io/v1beta1",
        "storage.k8s.io/v1beta1",
    }
)
"""Versions the server still knows by name but no longer serves: told apart from those it never heard of."""


def media(content_type: str) -> str:
    """The media type of a body; 415 if the server cannot read it. None given means JSON."""
    found = content_type.partition(";")[0].strip() or "application/json"
    if found not in forms.MEDIA:
        raise status.unsupported_media_type(forms.MEDIA)
    return found


def sent(call: Call, data: bytes, media_type: str, kind: Kind | None = None) -> Body:
    """An object of ``kind`` (the call's, unless a subresource has a type of its own), decoded and defaulted."""
    kind = kind or call.kind
    value, repeated = _parse(kind, data, media_type)
    body = _typed(call, kind, value, data)
    if media_type == "application/yaml":
        return finished(call, kind, body, repeated, "yaml: unmarshal errors:\n  ")
    return finished(call, kind, body, schema_decode.duplicate_fields(data))


def _parse(kind: Kind, data: bytes, media_type: str) -> tuple[Body, list[str]]:
    """The value, and complaints about keys that YAML gives twice."""
    repeated: list[str] = []
    unrecognized = f"the object provided is unrecognized (must be of type {kind.kind})"
    unread = f"{unrecognized}: couldn't get version/kind"
    if media_type == forms.MEDIA[2]:
        why = "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"
        raise status.bad_request(f"{unrecognized}: {why} ({_summary(data)})")
    if media_type == "application/yaml":
        try:
            value, repeated = yaml.load(data)
        except yaml.YamlError as error:
            raise status.bad_request(f"{unrecognized}: {error} ({_summary(data)})") from None
    else:
        try:
            value = gojson.loads(data)
        except gojson.JsonError as error:
            raise status.bad_request(f"{unread}; json parse error: {error} ({_summary(data)})") from None
    if value is None:
        return {}, repeated
    if not isinstance(value, dict):
        text = f"json: cannot unmarshal {go_words.json_type(value)} into Go value of type {gojson.TYPE_META}"
        raise status.bad_request(f"{unread}; json parse error: {text} ({_summary(data)})")
    return value, repeated


def _summary(data: bytes) -> str:
    """The beginning of a body in a message (Kubernetes: summarizeData)."""
    if not data:
        return "<empty>"
    text = data[:30].decode("utf-8", "replace") if data.startswith(b"{") else data[:30].hex()
    return f"{text} ..." if len(data) > 30 else text


def _typed(call: Call, kind: Kind, value: Body, data: bytes) -> Body:
    """With kind and apiVersion, which must be the address's where they are given."""
    said_kind, said_version = value.get("kind"), value.get("apiVersion")
    if kind.custom:
        return _typed_custom(kind, value, data)
    _check_type_meta(kind, value, data)
    said_kind, said_version = said_kind or kind.kind, said_version or kind.api_version
    if (said_kind, said_version) == (kind.kind, kind.api_version):
        if value.get("kind") and value.get("apiVersion"):
            return value
        return {**value, "kind": kind.kind, "apiVersion": kind.api_version}
    if said_version.count("/") > 1:
        why = f"unexpected GroupVersion string: {said_version}"
        text = f"the object provided is unrecognized (must be of type {kind.kind}): {why} ({_summary(data)})"
        raise status.bad_request(text)
    complaint = mismatch(call, kind, said_kind, said_version)
    if complaint is None:
        _tell(call, kind, said_version.rpartition("/")[2], read(kind, value)[2])
        expected = kind.api_version
        text = f"the API version in the data ({said_version}) does not match the expected API version ({expected})"
        raise status.bad_request(text)
    short = said_version.rpartition("/")[2]
    text = f"{said_kind} in version {status.quote(short)} cannot be handled as a {kind.kind}: {complaint}"
    raise status.bad_request(text)


def _check_type_meta(kind: Kind, value: Body, data: bytes) -> None:
    for name in ("apiVersion", "kind"):
        said = value.get(name)
        if said is not None and not isinstance(said, str):
            text = f"json: cannot unmarshal {go_words.json_type(said)} into Go struct field .{name} of type string"
            unread = f"the object provided is unrecognized (must be of type {kind.kind}): couldn't get version/kind"
            raise status.bad_request(f"{unread}; json parse error: {text} ({_summary(data)})")


def mismatch(call: Call, kind: Kind, said_kind: str, said_version: str) -> str | None:
    """Why an object of another kind or version cannot be taken; ``None`` if only its version is not the address's."""
    group, _, short = said_version.rpartition("/")
    registry = call.world.registry
    other = registry.named(said_version, said_kind) or registry.named(said_version, said_kind.removesuffix("List"))
    known = other is not None or (said_version in _RETIRED and said_kind == kind.kind)
    if not known or (other is not None and other.custom):
        return f'no kind {status.quote(said_kind)} is registered for version "{said_version}" in scheme "{_SCHEME}"'
    if said_kind == kind.kind and group == kind.group:
        return None
    package = kind.group.partition(".")[0] or "core"
    return f"converting ({short}.{said_kind}) to ({package}.{kind.kind}): unknown conversion"


def _typed_custom(kind: Kind, value: Body, data: bytes) -> Body:
    _check_type_meta(kind, value, data)
    if not value.get("kind"):
        missing = f"Object 'Kind' is missing in '{data.decode('utf-8', 'replace')}'"
        text = f"the object provided is unrecognized (must be of type {kind.kind}): {missing} ({_summary(data)})"
        raise status.bad_request(text)
    if value.get("apiVersion") != kind.api_version:
        said, expected = value.get("apiVersion") or "", kind.api_version
        text = f"the API version in the data ({said}) does not match the expected API version ({expected})"
        raise status.bad_request(text)
    return value


def finished(call: Call, kind: Kind, body: Body, repeated: list[str], lead: str = "") -> Body:
    """Converted and defaulted. 400 for wrong types; unknown and repeated fields as the call wants them told."""
    body, wrong, unknown = read(kind, body)
    if wrong:
        text = f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: {wrong[0]}'
        raise status.bad_request(text)
    # A YAML reader tells repeated keys first, a JSON reader last.
    complaints = [*repeated, *unknown] if lead else [*unknown, *repeated]
    _tell(call, kind, kind.version, complaints, lead if repeated else "")
    return kind.default(body)


def _tell(call: Call, kind: Kind, version: str, complaints: list[str], lead: str = "") -> None:
    """Of fields that are passed over: refuses (400), warns or keeps quiet."""
    if complaints and call.options.validation == "Strict":
        text = f"strict decoding error: {lead}{', '.join(complaints)}"
        raise status.bad_request(f'{kind.kind} in version "{version}" cannot be handled as a {kind.kind}: {text}')
    if complaints and call.options.validation == "Warn":
        call.warnings.extend(complaints)


def read(kind: Kind, body: Body) -> tuple[Body, list[str], list[str]]:
    """(converted body, type errors, complaints about unknown fields)."""
    if body.get("metadata") is None:
        body = {**body, "metadata": {}}
    wrong: list[str] = []
    unknown: list[str] = []
    if kind.schema is not None:
        body, findings = kind.schema.decode(body)
        wrong, unknown = list(findings.type_errors), list(findings.unknown)
        if wrong:
            return body, wrong, unknown
    if kind.decode is not None:
        body, paths = kind.decode(body)
        unknown = [text for text in unknown if text.startswith('unknown field "metadata.')]
        unknown += [f"unknown field {status.quote(path)}" for path in paths]
    if not isinstance(body.get("metadata"), dict):
        body = {**body, "metadata": {}}
    return body, wrong, unknown
