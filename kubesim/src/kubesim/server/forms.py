"""In what form an answer goes out: plain, as metadata only, or as a table; as JSON or YAML; for one object, a list,
or a watch.

``negotiate`` reads the Accept header the way the server does: the first clause that it can serve wins, clauses with
unknown forms are passed over, and if none is left the answer is 406. The same objects are asked for again and again
in the same form, so what is made here is kept with the record it was made from.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

import orjson

from kubesim import status, yaml
from kubesim.kind import Kind
from kubesim.server.tables import META, Form, partial, table
from kubesim.store import Record

Body = dict[str, Any]

MEDIA: Final = ("application/json", "application/yaml", "application/vnd.kubernetes.protobuf")
STREAMS: Final = ("application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch")
_SHAPES: Final = ("Table", "PartialObjectMetadata", "PartialObjectMetadataList")


def negotiate(accept: str, *, builtin: bool, listing: bool, include: str = "", pretty: bool = False) -> Form:
    """406 if nothing fits. ``builtin`` addresses refuse unknown media types in the words of their router."""
    asked = clauses(accept)
    if builtin and asked and not any(offered(media) for media, _ in asked):
        raise unacceptable(listing)
    for media, params in asked or [("*/*", {})]:
        if media not in ("*/*", "application/*", *MEDIA[:2]):
            continue
        shape = params.get("as", "")
        if shape and (shape not in _SHAPES or params.get("g") != META or params.get("v") not in ("v1", "v1beta1")):
            continue
        return Form(shape, params.get("v", "v1"), media == MEDIA[1], include or "Metadata", pretty)
    raise status.not_acceptable(MEDIA)


def clauses(accept: str) -> list[tuple[str, dict[str, str]]]:
    """Media types with their parameters, the most wanted first."""
    found: list[tuple[float, str, dict[str, str]]] = []
    for clause in accept.split(","):
        media, *rest = (part.strip() for part in clause.split(";"))
        params = dict(part.split("=", 1) for part in rest if "=" in part)
        if media:
            quality = params.pop("q", "1")
            found.append((float(quality) if re.fullmatch(r"[0-9.]+", quality) else 1.0, media, params))
    found.sort(key=lambda entry: -entry[0])
    return [(media, params) for _, media, params in found]


def offered(media: str) -> bool:
    """As the router of built-in addresses sees it: no wildcard but the widest."""
    return media in ("*/*", *MEDIA)


def unacceptable(listing: bool = False) -> status.ApiError:
    """The router's own 406."""
    offers = ", ".join(MEDIA + (STREAMS if listing else ()))
    return status.ApiError(406, "NotAcceptable", f"406: Not Acceptable\n\nAvailable representations: {offers}", {})


def wants_yaml(accept: str) -> bool:
    """Whether an error goes out as YAML: its form is never anything else."""
    return next((media == MEDIA[1] for media, _ in clauses(accept) if media in ("*/*", *MEDIA[:2])), False)


# one object ---------------------------------------------------------------------------------------------------------


def view(record: Record, kind: Kind) -> Body:
    """The record's body in the version of ``kind``."""
    if kind.from_storage is _IDENTITY:
        return record.body
    found: Body | None = record.views.get(kind)
    if found is None:
        found = record.views[kind] = kind.from_storage(record.body)
    return found


_IDENTITY: Final = Kind.__dataclass_fields__["from_storage"].default


def encoded(record: Record, kind: Kind) -> bytes:
    """JSON of ``view``."""
    key = (kind, "json")
    found: bytes | None = record.views.get(key)
    if found is None:
        found = record.views[key] = orjson.dumps(view(record, kind))
    return found


def encoded_item(record: Record, kind: Kind) -> bytes:
    """JSON as an item of a list: items of built-in kinds do not say what they are."""
    if kind.custom:
        return encoded(record, kind)
    key = (kind, "item")
    found: bytes | None = record.views.get(key)
    if found is None:
        found = record.views[key] = _nameless(record, kind)
    return found


def _nameless(record: Record, kind: Kind) -> bytes:
    """Without kind and apiVersion. Where these come first, as they do, what is encoded already is cut rather than
    made again."""
    whole = encoded(record, kind)
    name, version = orjson.dumps(kind.kind), orjson.dumps(kind.api_version)
    for lead in (b'{"kind":%b,"apiVersion":%b,' % (name, version), b'{"apiVersion":%b,"kind":%b,' % (version, name)):
        if whole.startswith(lead):
            return b"{" + whole[len(lead) :]
    body = view(record, kind)
    return orjson.dumps({key: body[key] for key in body if key not in ("kind", "apiVersion")})


def encoded_partial(record: Record, version: str) -> bytes:
    key = ("partial", version)
    found: bytes | None = record.views.get(key)
    if found is None:
        found = record.views[key] = orjson.dumps(partial(record.body, version))
    return found


def shaped(body: Body, kind: Kind, form: Form, now: datetime) -> Body:
    """One object in any form. 406 for a form that is for lists. A Status has no other form than its own."""
    if body.get("kind") == "Status" and form.shape:
        if form.shape == "Table":
            raise status.not_acceptable(MEDIA)
        return body
    if form.shape == "PartialObjectMetadata":
        return partial(body, form.version)
    if form.shape == "PartialObjectMetadataList":
        text = f"you requested {form.shape}, but the requested object is not a list ({_go_type(kind)})"
        raise status.ApiError(406, "NotAcceptable", text)
    if form.shape == "Table":
        version = body["metadata"].get("resourceVersion")
        metadata = {"resourceVersion": version} if version else {}
        return table([body], kind, form, now, metadata)
    return body


def _go_type(kind: Kind, suffix: str = "") -> str:
    """How messages call a kind's type: *core.ConfigMap, *unstructured.Unstructured."""
    if kind.custom:
        return f"*unstructured.Unstructured{suffix}"
    return f"*{kind.group.partition('.')[0] or 'core'}.{kind.kind}{suffix}"


# lists --------------------------------------------------------------------------------------------------------------


def check_list_form(kind: Kind, form: Form) -> None:
    if form.shape == "PartialObjectMetadata":
        text = f"you requested {form.shape}, but the requested object is a list ({_go_type(kind, 'List')})"
        raise status.ApiError(406, "NotAcceptable", text)


def encoded_list(records: Sequence[Record], kind: Kind, form: Form, metadata: Body, now: datetime) -> bytes:
    """JSON of a whole list, from the JSON of its items."""
    check_list_form(kind, form)
    if form.shape == "Table":
        return dumps(table([view(record, kind) for record in records], kind, form, now, metadata), form)
    if form.shape == "PartialObjectMetadataList":
        head = {"kind": form.shape, "apiVersion": f"{META}/{form.version}", "metadata": metadata}
        return _joined(head, [encoded_partial(record, form.version) for record in records], "null")
    name = kind.list_kind or f"{kind.kind}List"
    if kind.custom:
        metadata = {"continue": "", **metadata}
    head = {"kind": name, "apiVersion": kind.api_version, "metadata": metadata}
    return _joined(head, [encoded_item(record, kind) for record in records], "[]")


def _joined(head: Body, items: list[bytes], empty: str) -> bytes:
    rows = b"[" + b",".join(items) + b"]" if items else empty.encode()
    return orjson.dumps(head)[:-1] + b',"items":' + rows + b"}"


def dumps(body: Any, form: Form) -> bytes:
    if form.yaml:
        return yaml.dump(body).encode()
    return orjson.dumps(body, option=orjson.OPT_INDENT_2 if form.pretty else 0)
