"""GET of one object and of a list: at which version, which page, which items.

What a version means depends on who asks (Kubernetes: "Resource versions" of the API concepts): without one a list is
of now; with one it is not older than that, or exactly that if ``resourceVersionMatch=Exact`` or a ``limit`` says so;
a continue token goes on at the version of the first page. A version that history no longer holds is 410, one that is
not reached yet 504 after a wait (which is the HTTP side's).
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import orjson

from kubesim import go_words, status
from kubesim.kind import Kind
from kubesim.server import field_selectors, forms, gojson, options, selectors
from kubesim.server.world import World, key_of
from kubesim.store import Collection, Event, Record, VersionGone

Body = dict[str, Any]

_TOO_OLD: Final = "The resourceVersion for the provided list is too old."
_TOKEN_TOO_OLD: Final = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list "
    "without the continue parameter, or use the continue token in this response to retrieve the remainder of "
    "the results. Continuing with the provided token results in an inconsistent list - objects that were "
    "created, modified, or deleted between the time the first chunk was returned and now may show up in the "
    "list."
)


class NotReached(status.ApiError):
    """504: a version of the future. Worth another try after a moment."""


def check_reached(world: World, version: int) -> None:
    if version > world.store.version:
        text = f"Too large resource version: {version}, current: {world.store.version}"
        cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
        refusal = status.timeout(text, 1, [cause])
        raise NotReached(refusal.code, refusal.reason, refusal.message, refusal.details)


def bad_version(text: str, complaint: str) -> str:
    return f"resourceVersion: Invalid value: {status.quote(text)}: {complaint}"


def get(world: World, kind: Kind, namespace: str, name: str, resource_version: str = "") -> Record:
    """404 if it is not there."""
    version = options.version(resource_version)
    if isinstance(version, str):
        raise status.untyped(bad_version(resource_version, version))
    check_reached(world, version)
    record = _collection(world, kind).records.get(key_of(kind, namespace, name))
    if record is None:
        raise status.not_found(kind.group, kind.plural, name)
    return record


def _collection(world: World, kind: Kind) -> Collection:
    if kind.computed is None:
        return world.store.collection(kind.storage_key)
    made = Collection()
    for body in kind.computed(world.lookup, world.clock.now()):
        meta = body["metadata"]
        key = key_of(kind, meta.get("namespace", ""), meta["name"])
        made.append(Event(world.store.version, None, Record(key, world.store.version, body)))
    return made


@dataclass(frozen=True, slots=True)
class Filter:
    """Both selectors of a request. ``name`` is the one object the field selector pins, if it does."""

    labels: selectors.Selector
    fields: field_selectors.FieldSelector
    name: str | None

    @property
    def empty(self) -> bool:
        return not self.labels and not self.fields

    def matcher(self, kind: Kind) -> Callable[[Record], bool]:
        """Over records; a field selector reads the body in the kind's own version."""
        if self.empty:
            return _everything
        labels, wanted = self.labels, self.fields

        def match(record: Record) -> bool:
            if not selectors.matches(labels, record.body["metadata"].get("labels")):
                return False
            return not wanted or field_selectors.matches(wanted, forms.view(record, kind))

        return match


def _everything(record: Record) -> bool:
    return True


def filter_of(kind: Kind, found: options.ListOptions) -> Filter:
    """400 for selectors that do not parse or name unknown fields."""
    labels = selectors.parse_labels(found.labels)
    wanted, pinned = field_selectors.parse(found.fields, kind)
    return Filter(labels, wanted, pinned.get("metadata.name"))


@dataclass(frozen=True, slots=True)
class Page:
    """``metadata`` is the list's: resourceVersion, continue, remainingItemCount."""

    records: list[Record]
    metadata: Body


@dataclass(frozen=True, slots=True)
class _Start:
    """Where a list begins. ``version`` 0 is now."""

    version: int
    after: str
    exact: bool
    continued: bool


def listing(world: World, kind: Kind, namespace: str, found: options.ListOptions) -> Page:
    chosen = filter_of(kind, found)
    start = _start(world, found)
    prefix = f"{namespace}/" if kind.namespaced and namespace else ""
    collection = _collection(world, kind)
    if start.version and start.exact:
        check_reached(world, start.version)
        try:
            records = collection.at(start.version, prefix, prefix + start.after if start.after else "")
        except VersionGone:
            raise _gone(start) from None
        version = start.version
    else:
        check_reached(world, start.version)
        version = world.store.version
        if chosen.name is not None and (prefix or not kind.namespaced) and not start.after:
            single = collection.records.get(prefix + chosen.name)
            records = [single] if single else []
        else:
            records = collection.between(prefix, prefix + start.after if start.after else "")
    match = chosen.matcher(kind)
    # Version 0 is answered from memory, whole: there a limit means nothing.
    if found.limit <= 0 or (found.resource_version == "0" and not found.token):
        return Page([record for record in records if match(record)], {"resourceVersion": str(version)})
    return _page(records, match, found.limit, version, prefix, counted=chosen.empty)


def _page(
    records: list[Record], match: Callable[[Record], bool], limit: int, version: int, prefix: str, *, counted: bool
) -> Page:
    metadata: Body = {"resourceVersion": str(version)}
    chosen: list[Record] = []
    for index, record in enumerate(records):
        if not match(record):
            continue
        chosen.append(record)
        if len(chosen) == limit:
            remaining = len(records) - index - 1
            if remaining:
                metadata["continue"] = _token(version, record.key.removeprefix(prefix))
                if counted:
                    metadata["remainingItemCount"] = remaining
            break
    return Page(chosen, metadata)


def _start(world: World, found: options.ListOptions) -> _Start:
    if found.token:
        # A version beside a token is refused even if it is the token's own; 0 means "any" and is let through.
        if found.resource_version not in ("", "0"):
            raise status.bad_request("specifying resource version is not allowed when using continue")
        version, after = _read_token(found.token)
        return _Start(max(version, 0), after, version > 0, True)
    parsed = options.version(found.resource_version)
    if isinstance(parsed, str):
        raise status.bad_request(f"invalid resource version: {bad_version(found.resource_version, parsed)}")
    exact = found.match == "Exact" or (found.limit > 0 and parsed > 0 and not found.match)
    return _Start(parsed, "", exact, False)


def _gone(start: _Start) -> status.ApiError:
    if not start.continued:
        return status.gone(_TOO_OLD)
    return status.gone(_TOKEN_TOO_OLD, {"continue": _token(-1, start.after)})


def _token(version: int, after: str) -> str:
    """Kubernetes: storage.EncodeContinue. ``start`` is the first key not yet told; -1 stands for whatever version is
    current."""
    text = orjson.dumps({"v": "meta.k8s.io/v1", "rv": version, "start": after + "\0"})
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()


def _read_token(token: str) -> tuple[int, str]:
    """(version, last key told). 400 with the decoder's text."""

    def refuse(why: str) -> status.ApiError:
        return status.bad_request(f"invalid continue token: continue key is not valid: {why}")

    bad = next((i for i, char in enumerate(token) if not (char.isascii() and (char.isalnum() or char in "-_"))), None)
    try:
        if bad is not None:
            raise ValueError
        data = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        bad = len(token) if bad is None else bad
        raise refuse(f"illegal base64 data at input byte {bad}") from None
    try:
        # Bytes stand for characters of the same number, as in the decoder's own messages.
        body = gojson.loads(data.decode("latin-1").encode() if not data.isascii() else data)
    except gojson.JsonError as error:
        raise refuse(str(error)) from None
    if not isinstance(body, dict):
        raise refuse(f"json: cannot unmarshal {go_words.json_type(body)} into Go value of type storage.continueToken")
    if body.get("v") != "meta.k8s.io/v1":
        raise refuse(f"server does not recognize this encoded version {body.get('v', '')}")
    version, start = body.get("rv", 0), body.get("start", "")
    if not isinstance(version, int) or version == 0:
        raise refuse("incorrect encoded start resourceVersion (version meta.k8s.io/v1)")
    if not isinstance(start, str) or not start:
        raise refuse("encoded start key empty (version meta.k8s.io/v1)")
    return version, start.removesuffix("\0")
