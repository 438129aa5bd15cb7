"""What a delivery says: which refs of which repository moved. Nothing of it is believed but that it is time to look.

Forges write more than is read here, and more with each version: whatever is not needed is not looked at. What is
needed, and is not there or is of another type, makes the delivery malformed.
"""

from __future__ import annotations

import urllib.parse
from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from gitfed.text.values import dataclass

BRANCHES = "refs/heads/"
_MOST_REFS = 1000
_LONGEST_ID = 200


@dataclass(frozen=True, slots=True)
class Delivery:
    """What one says, as far as it matters."""

    event: str
    """As the forge calls it."""
    refs: tuple[str, ...] = ()
    """Full names of refs that moved; nothing for other events."""
    repository: str = ""
    """`owner/name`; "" when it does not say."""
    ids: tuple[str, ...] = ()
    """How this delivery is told from others, beside its bytes."""
    ping: bool = False
    """Only asks whether there is an answer."""


class _Forge:
    """Where a forge writes what."""

    def __init__(self, event: tuple[str, ...], ids: tuple[str, ...], *, form: bool = False) -> None:
        self.event = event
        self.ids = ids
        self.form = form
        """Whether it may send the payload as a field of a form."""


_FORGES = {
    "github": _Forge(("X-GitHub-Event",), ("X-GitHub-Delivery",), form=True),
    "gitlab": _Forge(("X-Gitlab-Event",), ("webhook-id", "Idempotency-Key", "X-Gitlab-Event-UUID")),
    "gitea": _Forge(("X-Gitea-Event",), ("X-Gitea-Delivery",), form=True),
    "forgejo": _Forge(("X-Forgejo-Event", "X-Gitea-Event"), ("X-Forgejo-Delivery", "X-Gitea-Delivery"), form=True),
    "bitbucket": _Forge(("X-Event-Key",), ("X-Request-UUID", "X-Request-Id")),
    "generic": _Forge((), ()),
}
FORGES = tuple(_FORGES)


def headers_of(forge: str) -> tuple[str, ...]:
    """What may stand in a delivery's head once at most."""
    return (*_FORGES[forge].event, *_FORGES[forge].ids)


def read(forge: str, headers: Mapping[str, str], content_type: str, body: bytes) -> Delivery | str:
    """What is wrong with it, if it cannot be read. The signature was checked before."""
    form = _FORGES[forge].form
    if content_type == "application/x-www-form-urlencoded" and form:
        text = _field(body)
        if text is None:
            return "a form needs exactly one field payload"
        body = text.encode()
    elif content_type != "application/json":
        return f"the content type must be application/json{', or a form with the field payload' * form}"
    try:
        document = orjson.loads(body)
    except ValueError:
        return "the body is not JSON"
    if not isinstance(document, dict):
        return "the body is not a JSON object"
    where = _FORGES[forge]
    event = next((headers[name] for name in where.event if name in headers), "")
    if where.event and not event:
        return f"the header {where.event[0]} is missing"
    try:
        return _READERS[forge](event[:_LONGEST_ID], document, _ids(headers, where.ids))
    except _Malformed as error:
        return str(error)


def _field(form: bytes) -> str | None:
    """The payload of a form."""
    try:
        fields = urllib.parse.parse_qs(form.decode("utf-8", "replace"), max_num_fields=4, keep_blank_values=True)
    except ValueError:
        return None
    texts = fields.get("payload", [])
    return texts[0] if len(texts) == 1 else None


def _ids(headers: Mapping[str, str], names: tuple[str, ...]) -> tuple[str, ...]:
    # Of two headers the first names this delivery; others may name what made it, which is the same for several.
    return tuple(headers[name][:_LONGEST_ID] for name in names if headers.get(name))[:1]


class _Malformed(ValueError):
    """Stays in this module: `read` tells it as a value."""


def _of_github(event: str, document: Mapping[str, Any], ids: tuple[str, ...]) -> Delivery:
    """Gitea and Forgejo write the same."""
    if event != "push":
        return Delivery(event, ids=ids, ping=event == "ping")
    return Delivery(event, (_text(document, "ref"),), _text(_object(document, "repository"), "full_name"), ids)


def _of_gitlab(event: str, document: Mapping[str, Any], ids: tuple[str, ...]) -> Delivery:
    """Of a project, a group, or the whole instance (a system hook)."""
    kind = document.get("object_kind") or document.get("event_name")
    if kind not in ("push", "tag_push"):
        return Delivery(event, ids=ids)
    return Delivery(event, (_text(document, "ref"),), _text(_object(document, "project"), "path_with_namespace"), ids)


def _of_bitbucket(event: str, document: Mapping[str, Any], ids: tuple[str, ...]) -> Delivery:
    if event == "repo:push":
        refs = tuple(_cloud_refs(_list(_object(document, "push"), "changes")))
        return Delivery(event, refs, _text(_object(document, "repository"), "full_name"), ids)
    if event in ("repo:refs_changed", "mirror:repo_synchronized"):
        repository = _object(document, "repository")
        name = f"{_text(_object(repository, 'project'), 'key')}/{_text(repository, 'slug')}"
        return Delivery(event, tuple(_text(change, "refId") for change in _list(document, "changes")), name, ids)
    return Delivery(event, ids=ids, ping=event == "diagnostics:ping")


def _cloud_refs(changes: list[Mapping[str, Any]]) -> Iterator[str]:
    """Cloud names a branch where others name a ref; of one that is gone only the old state is there."""
    for change in changes:
        state = change.get("new") or change.get("old")
        if not isinstance(state, Mapping):
            raise _Malformed("push.changes[] needs new or old")
        folder = BRANCHES if state.get("type") in ("branch", "named_branch") else "refs/tags/"
        yield folder + _text(state, "name")


def _of_anything(event: str, document: Mapping[str, Any], ids: tuple[str, ...]) -> Delivery:
    """Our own format: `{"id": …, "ref": …}`. The id stands in what is signed, so that a second one is another one."""
    ref = _text(document, "ref") if "ref" in document else ""
    name = _text(document, "repository") if "repository" in document else ""
    refs = (ref if ref.startswith("refs/") else BRANCHES + ref,) if ref else ()
    return Delivery("push" if ref else "ping", refs, name, (_text(document, "id")[:_LONGEST_ID],), ping=not ref)


_READERS = {
    "github": _of_github,
    "gitlab": _of_gitlab,
    "gitea": _of_github,
    "forgejo": _of_github,
    "bitbucket": _of_bitbucket,
    "generic": _of_anything,
}


def _object(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = document.get(name)
    if not isinstance(value, Mapping):
        raise _Malformed(f"{name} must be an object")
    return value


def _list(document: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    value = document.get(name)
    if not isinstance(value, list) or not all(isinstance(item, Mapping) for item in value):
        raise _Malformed(f"{name} must be a list of objects")
    return value[:_MOST_REFS]


def _text(document: Mapping[str, Any], name: str) -> str:
    value = document.get(name)
    if not isinstance(value, str) or not value:
        raise _Malformed(f"{name} must be a text")
    return value
