"""Writing by difference: JSON patch, merge patch, strategic merge patch, and apply.

The result of a patch is decoded like a body and then takes the same steps as a replacement (``write``); an apply
computes ownership first, and creates what does not exist.
"""

from __future__ import annotations

from typing import Any, Final

import orjson

from kubesim import go_words, managed, patch, schema, schema_decode, status, yaml
from kubesim.kind import Kind
from kubesim.server import decode, forms, gojson, options, reflected, write
from kubesim.server.call import Call, Outcome

Body = dict[str, Any]
_AFTER: Final = " after mutating admission happens"

JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC_PATCH: Final = "application/strategic-merge-patch+json"
PATCHES: Final = (JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, options.APPLY)
CUSTOM_PATCHES: Final = (JSON_PATCH, MERGE_PATCH, options.APPLY)


def patched(call: Call, data: bytes, content_type: str) -> Outcome:
    """Any patch but apply."""
    record = call.world.record(call.kind, call.namespace, call.name)
    if record is None:
        raise write.missing(call)
    live = forms.view(record, call.kind)
    body = patch_result(call, call.kind, live, data, content_type)
    body = write.with_namespace(call, body)
    write.check_name(call, body)
    return write.finish_update(call, record, live, write.owned(call, live, write.deduplicated(call, body, _AFTER)))


def applied(call: Call, data: bytes) -> Outcome:
    """Server-side apply."""
    config = parse_config(call, data)
    record = call.world.record(call.kind, call.namespace, call.name)
    live = forms.view(record, call.kind) if record else None
    if record is None and call.subresource:
        raise write.missing(call)
    force, reset, convert = call.options.force, call.reset(), call.convert()
    merged = managed.apply(live, config, call.writer(), call.schema(), force=force, reset=reset, convert=convert)
    body = write.with_namespace(call, call.kind.default(reflected.read(call.kind, merged, config)))
    write.check_name(call, body)
    body = write.deduplicated(call, body, _AFTER)
    if record is None or live is None:
        uid = body["metadata"].get("uid")
        if uid:
            text = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
            raise status.conflict(call.kind.group, call.kind.plural, call.name, text)
        version = options.version(body["metadata"].get("resourceVersion") or "")
        if isinstance(version, str):
            raise status.untyped(version)
        return write.finish_create(call, write.without(body, "resourceVersion"))
    return write.finish_update(call, record, live, body)


# the parts of both --------------------------------------------------------------------------------------------------


def parse_config(call: Call, data: bytes) -> Body:
    """The configuration of an apply: YAML, of which JSON is the usual case. Keys given twice are warned of or
    refused."""
    try:
        value = gojson.loads(data)
    except gojson.JsonError:
        value = _yaml_config(call, data)
    if value is None:
        return {}
    if not isinstance(value, dict):
        text = f"json: cannot unmarshal {go_words.json_type(value)} into Go value of type map[string]interface {{}}"
        raise status.bad_request(f"error decoding YAML: error unmarshaling JSON: while decoding JSON: {text}")
    return value


def _yaml_config(call: Call, data: bytes) -> Any:
    try:
        value, repeated = yaml.load(data)
    except yaml.YamlError as error:
        raise status.bad_request(f"error decoding YAML: error converting YAML to JSON: {error}") from None
    if repeated and call.options.validation == "Strict":
        listed = "\n  ".join(repeated)
        why = f"error converting YAML to JSON: yaml: unmarshal errors:\n  {listed}"
        raise status.bad_request(f"error strict decoding YAML: {why}")
    if repeated and call.options.validation == "Warn":
        call.warnings.extend(repeated)
    return value


def patch_value(data: bytes, content_type: str) -> Any:
    """The patch itself; 400 if it is no JSON of the right sort."""
    prefix = "" if content_type == STRATEGIC_PATCH else "error decoding patch: "
    try:
        value = gojson.loads(data)
    except gojson.JsonError as error:
        raise status.bad_request(f"{prefix}{error}") from None
    if value is None:
        # Go reads null as nothing: no operations, no changes. Only a merge patch minds.
        if content_type == MERGE_PATCH:
            raise status.bad_request("Invalid JSON Patch")
        return [] if content_type == JSON_PATCH else {}
    if content_type != JSON_PATCH and not isinstance(value, dict):
        text = f"json: cannot unmarshal {go_words.json_type(value)} into Go value of type map[string]interface {{}}"
        raise status.bad_request(f"{prefix}{text}")
    return value


def patch_result(call: Call, kind: Kind, live: Body, data: bytes, content_type: str) -> Body:
    """The patched object, decoded and defaulted. ``kind``: the call's, or a subresource's own."""
    value = patch_value(data, content_type)
    body = apply_patch(kind, live, value, content_type)
    asked = patch.unknown_fields(value) if content_type == JSON_PATCH else schema_decode.duplicate_fields(data)
    said = (body.get("kind"), body.get("apiVersion"))
    if not kind.custom and said[1] and not said[0]:
        # A version alone is enough: the address tells which of its kinds is meant.
        body = {**body, "kind": kind.kind}
        said = (kind.kind, said[1])
    if not kind.custom and not said[1]:
        # Decoded as no kind in particular, such a body has no fields that anybody knows.
        if call.options.validation == "Warn":
            call.warnings.extend(f"unknown field {status.quote(key)}" for key in sorted(body) if body[key] is not None)
        raise status.bad_request(f"the name of the object ({call.name} based on URL) {write.NAME_MISSING}")
    if not kind.custom and said != (kind.kind, kind.api_version):
        complaint = decode.mismatch(call, kind, str(said[0]), str(said[1])) or "unknown conversion"
        raise _bad_result(value, body, content_type, complaint)
    result = body
    body, wrong, unknown = decode.read(kind, result)
    if wrong:
        raise _bad_result(value, result, content_type, wrong[0])
    if len(unknown) > 1 and content_type == STRATEGIC_PATCH:
        unknown = sorted(unknown)  # this patch alone is read field by field, and its complaints are put in order
    elif len(unknown) > 1:
        unknown = decode.read(kind, _in_order(result))[2]  # what other patches made was written with sorted keys
    # What is wrong with a JSON patch itself is told before, repeated keys of another patch after the object's own.
    complaints = asked + unknown if content_type == JSON_PATCH else unknown + asked
    if complaints and call.options.validation == "Strict":
        raise _bad_result(value, result, content_type, f"strict decoding error: {', '.join(complaints)}")
    if complaints and call.options.validation == "Warn":
        call.warnings.extend(complaints)
    return kind.default(body)


def apply_patch(kind: Kind, live: Body, value: Any, content_type: str) -> Body:
    """``live`` with the patch carried out, not yet decoded."""
    try:
        if content_type == JSON_PATCH:
            result: Any = patch.json_patch(live, value)
        elif content_type == MERGE_PATCH:
            result = patch.merge_patch(live, value)
        else:
            node = kind.schema or schema.OPEN
            result = patch.strategic_merge(live, value, node)
            misfit = patch.misfit(node, result)
            if misfit:
                raise _bad_result(value, result, content_type, misfit)
    except patch.PatchError as error:
        raise _patch_refusal(error, value) from None
    if not isinstance(result, dict):
        raise _bad_result(
            value, result, content_type, f"json: cannot unmarshal {go_words.json_type(result)} into Go value"
        )
    return result


def _in_order(value: Any) -> Any:
    """The same with the keys of all objects sorted."""
    if isinstance(value, dict):
        return {key: _in_order(value[key]) for key in sorted(value)}
    return [_in_order(item) for item in value] if isinstance(value, list) else value


def _patch_refusal(error: patch.PatchError, value: Any) -> status.ApiError:
    if error.kind == "bad_request":
        return status.bad_request(error.message)
    if error.kind == "internal":
        return status.untyped(error.message)
    if error.kind == "invalid":
        return _bad_result(value, None, STRATEGIC_PATCH, error.message)
    return status.ApiError(422, "Invalid", "the server rejected our request due to an error in our request", {})


def _bad_result(value: Any, result: Any, content_type: str, why: str) -> status.ApiError:
    """422 about the field ``patch``: its value is the whole result, or of a strategic patch the patch itself, as Go
    prints it."""
    shown = go_words.printed(value) if content_type == STRATEGIC_PATCH else orjson.dumps(result).decode()
    return status.invalid("", "", "", [status.invalid_value("patch", shown, why)])
