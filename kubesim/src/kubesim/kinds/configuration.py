"""ConfigMaps and Secrets: data for pods, which may be made immutable.

Kubernetes: ValidateConfigMap, ValidateSecret, secret strategy.
"""

from __future__ import annotations

import base64
from datetime import datetime
from typing import Any, Final

from kubesim.kind import Body, Context, Kind
from kubesim.kinds import fields, formats, go_json, pod_defaults, table
from kubesim.kinds.fields import Errors

_LIMIT: Final = 1024 * 1024
_FIXED: Final = "field is immutable when `immutable` is set"
_REDACTED: Final = "<secret contents redacted>"
_ACCOUNT: Final = "kubernetes.io/service-account.name"


def _decoded(value: str | None) -> bytes:
    return base64.b64decode(value or "")


def _immutable(new: Body, old: Body, *keys: str) -> Errors:
    if not old.get("immutable"):
        return []
    errors = [] if new.get("immutable") else fields.forbidden("immutable", _FIXED)
    return errors + fields.joined(
        fields.forbidden(key, _FIXED) for key in keys if (new.get(key) or {}) != (old.get(key) or {})
    )


def _validate_config_map(body: Body) -> Errors:
    data, binary = fields.obj(body, "data"), fields.obj(body, "binaryData")
    errors: Errors = []
    size = 0
    for key, value in sorted(data.items()):
        errors += fields.invalid(f"data[{key}]", key, *formats.config_key(key))
        if key in binary:
            errors += fields.invalid(f"data[{key}]", key, "duplicate of key present in binaryData")
        size += len((value or "").encode())
    for key, value in sorted(binary.items()):
        errors += fields.invalid(f"binaryData[{key}]", key, *formats.config_key(key))
        size += len(_decoded(value))
    # The limit is that of the whole, which has no name: this is how an empty path is printed.
    return errors + (fields.too_long("[]", _LIMIT) if size > _LIMIT else [])


def _config_map_row(body: Body, now: datetime) -> list[Any]:
    count = len(fields.obj(body, "data")) + len(fields.obj(body, "binaryData"))
    return [table.name(body), count, table.created(body, now)]


CONFIG_MAP: Final = Kind(
    group="",
    version="v1",
    kind="ConfigMap",
    plural="configmaps",
    short_names=("cm",),
    default=lambda body: _no_nulls(_no_nulls(body, "data"), "binaryData"),
    validate=_validate_config_map,
    validate_update=lambda new, old: _immutable(new, old, "data", "binaryData"),
    update_first=True,
    columns=table.columns("Name", "Data", "Age"),
    row=_config_map_row,
)


def _no_nulls(body: Body, key: str) -> Body:
    """Bytes that are null are no bytes."""
    data = fields.obj(body, key)
    if None not in data.values():
        return body
    return {**body, key: {name: "" if value is None else value for name, value in data.items()}}


def _default_secret(body: Body) -> Body:
    body, plain = _no_nulls(body, "data"), body.get("stringData")
    if plain:
        encoded = {key: base64.b64encode((value or "").encode()).decode() for key, value in plain.items()}
        body = {**body, "data": {**fields.obj(body, "data"), **encoded}}
    return pod_defaults.fill(fields.without(body, "stringData"), type="Opaque")


def _update_secret(new: Body, old: Body, ctx: Context) -> Body:
    # Who leaves the type out does not mean to change it; the default has put Opaque in its place.
    return new if new.get("type") else fields.carry(new, old, "type")


def _validate_secret(body: Body) -> Errors:
    data = fields.obj(body, "data")
    errors: Errors = []
    for key in sorted(data):
        errors += fields.invalid(f"data[{key}]", key, *formats.config_key(key))
    if sum(len(_decoded(value)) for value in data.values()) > _LIMIT:
        errors += fields.too_long("data", _LIMIT)
    return errors + _secret_type(body, data, fields.text(body, "type"))


def _secret_type(body: Body, data: Body, kind: str) -> Errors:
    missing = _missing(data)
    if kind == "kubernetes.io/service-account-token":
        if fields.obj(body, "metadata", "annotations").get(_ACCOUNT):
            return []
        return fields.required(f"metadata.annotations[{_ACCOUNT}]")
    if kind == "kubernetes.io/dockercfg":
        return missing(".dockercfg") or _json(data, ".dockercfg")
    if kind == "kubernetes.io/dockerconfigjson":
        return missing(".dockerconfigjson") or _json(data, ".dockerconfigjson")
    if kind == "kubernetes.io/basic-auth":
        both = missing("username", "password")
        return both if len(both) == 2 else []
    if kind == "kubernetes.io/ssh-auth":
        return [] if data.get("ssh-privatekey") else fields.required("data[ssh-privatekey]")
    return missing("tls.crt", "tls.key") if kind == "kubernetes.io/tls" else []


def _secret_warnings(body: Body, old: Body | None) -> list[str]:
    """A pair of certificate and key is looked into, but only warned of (Kubernetes: warningsForSecret). Whether two
    that look right belong together is not asked here."""
    if body.get("type") != "kubernetes.io/tls":
        return []
    data = fields.obj(body, "data")
    for key, word in (("tls.crt", "certificate"), ("tls.key", "key")):
        if b"-----BEGIN " not in _decoded(fields.text(data, key)):
            return [f"tls: failed to find any PEM data in {word} input"]
    return []


def _missing(data: Body) -> Any:
    def check(*keys: str) -> Errors:
        return fields.joined(fields.required(f"data[{key}]") for key in keys if key not in data)

    return check


def _json(data: Body, key: str) -> Errors:
    complaint = go_json.object_error(_decoded(data[key]).decode(errors="replace"))
    return fields.invalid(f"data[{key}]", _REDACTED, complaint) if complaint else []


def _validate_secret_update(new: Body, old: Body) -> Errors:
    return fields.unchanged("type", new.get("type"), old.get("type")) + _immutable(new, old, "data")


def _secret_row(body: Body, now: datetime) -> list[Any]:
    return [table.name(body), fields.text(body, "type"), len(fields.obj(body, "data")), table.created(body, now)]


SECRET: Final = Kind(
    group="",
    version="v1",
    kind="Secret",
    plural="secrets",
    default=_default_secret,
    prepare_update=_update_secret,
    validate=_validate_secret,
    validate_update=_validate_secret_update,
    update_first=True,
    warnings=_secret_warnings,
    field_labels={"type": lambda body: fields.text(body, "type")},
    columns=table.columns("Name", "Type", "Data", "Age"),
    row=_secret_row,
)
