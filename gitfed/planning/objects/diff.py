"""★ What has to be written: desired fields against live ones, by meaning.

One engine for the plan, for drift detection and for the question whether an apply is needed. A live object is full of
fields that nobody here asked for: defaults, what controllers and other people manage. So only these count:

- a field that the manifest has and the live object has not, or has with another value;
- a field that the server recorded as *ours* (managed fields of our server-side apply) and that the manifest does not
  have any more: it will be removed. Of a value that is recorded as one, `atomic_fields` tells its members from
  defaults.

Values are compared as a server reads them: quantities by amount, lists that are maps by key (`lists`), a Secret's
`stringData` as `data`. A server drops empty values; once it has recorded that we sent one, its absence is no
difference, so nothing is written over and over again.

Secrets are masked here, where the difference is made (`redact`).
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from gitfed.model.base import Body
from gitfed.model.keys import IGNORE_ANNOTATION, RETAIN_REPLICAS, TOKEN_TYPE
from gitfed.model.plan import FieldChange as FieldChange
from gitfed.planning.objects import atomic_fields, list_types, redact
from gitfed.planning.objects.list_types import Owned
from gitfed.text import pointer, quantity
from gitfed.text.pointer import Pointer

_ABSENT: Any = object()
_Extra: TypeAlias = Literal["left", "sealed", "removed"]
"""What becomes of a live member that the manifest does not have and no record names: it is left alone; it is inside a
value that is ours as a whole (`atomic_fields`); or inside one that somebody else took over, and goes in any case."""
_NOTHING_OWNED: Owned = {"": {}}
"""In the place of a record that says nothing of us; an empty one would say that the value as a whole is ours."""
_QUANTITIES_IN = frozenset(
    {"requests", "limits", "capacity", "hard", "overhead", "default", "defaultRequest", "max", "min", "podFixed"}
)
_QUANTITIES = frozenset({"sizeLimit", "averageValue", "divisor"})
_ATOMIC_MAPS = frozenset({"selector", "nodeSelector", "matchLabels"})
_GRANULAR_MAPS = frozenset({"labels", "annotations", "data", "binaryData"})
_IDENTITY = frozenset({"apiVersion", "kind", "status"})


def diff(desired: Body, live: Body, *, owned: Owned | None, ignore: Iterable[Pointer] = ()) -> tuple[FieldChange, ...]:
    """The differences, in the manifest's order, removals last; empty: nothing to write.

    `owned` is `owned_fields(live, …)`; None when it is not known, then nothing is ever taken for removed.
    """
    if redact.is_secret(desired):
        desired, live, owned = _one_form(desired), _one_form(live), _owned_in_one_form(owned)
    run = _Run(desired, owned, frozenset(ignore))
    body = {name: value for name, value in desired.items() if name not in _IDENTITY}
    run.maps(body, live, (), owned)
    return tuple(run.changes)


def surely_differs(before: Any, after: Any) -> bool:
    """Whether `diff` would find a difference, where that is plain to see: another text, in a place where a text means
    nothing else than its words. False says nothing.

    Not for Secrets, nor for objects of which something is ignored.
    """
    plain = {name: value for name, value in after.items() if name not in _IDENTITY}
    return _surely(before, plain, ("", ""))


def _surely(have: Any, want: Any, place: Pointer) -> bool:
    """`place`: its last two names."""
    if want is have:
        return False
    if isinstance(want, str) and isinstance(have, str):
        return want != have and not _is_amount(place)
    if isinstance(want, dict) and isinstance(have, dict):
        return any(_surely(have.get(name), value, (place[1], name)) for name, value in want.items())
    if isinstance(want, list) and isinstance(have, list) and len(want) == len(have):
        # Where one item differs, it is compared with that in its place, or is no longer there by its key.
        pairs = [(a, b) for a, b in zip(have, want, strict=True) if a is not b and a != b]
        return len(pairs) == 1 and _surely(*pairs[0], (place[1], ""))
    return False


def owned_fields(live: Body, manager: str) -> Owned | None:
    """What `manager` applied, as one FieldsV1; None when the object has no record of ownership at all."""
    entries = (live.get("metadata") or {}).get("managedFields")
    if entries is None:
        return None
    owned: Owned = {}
    for entry in entries:
        if entry.get("manager") == manager and entry.get("operation") == "Apply" and not entry.get("subresource"):
            fields = entry.get("fieldsV1") or {}
            owned = _united(owned, fields) if owned else fields
    return owned


def ignored_pointers(desired: Body, live: Body, *, native: bool = True) -> tuple[Pointer, ...]:
    """Fields that belong to the cluster: named by annotation, or kept by the native rules of retention.

    `native` False: a rule of the user's own has the word about this kind in place of the native ones (`retain`). A
    pointer that cannot be read is left out here; validation reports it.
    """
    pointers: list[Pointer] = []
    text = ((desired.get("metadata") or {}).get("annotations") or {}).get(IGNORE_ANNOTATION)
    for item in text.split(",") if isinstance(text, str) else ():
        try:
            pointers.append(pointer.parse(item.strip()))
        except pointer.PointerError:
            continue
    rule = _RETAINED.get((desired.get("apiVersion", ""), desired.get("kind", "")))
    if native and rule is not None:
        pointers.extend(place for place in rule(desired) if pointer.has(live, place))
    return tuple(place for place in pointers if place)


class _Run:
    """One comparison: what does not change while walking down, and what was found."""

    __slots__ = ("api_version", "changes", "desired", "ignore", "kind", "known", "secret")

    def __init__(self, desired: Body, owned: Owned | None, ignore: frozenset[Pointer]) -> None:
        self.changes: list[FieldChange] = []
        self.desired = desired
        self.kind = str(desired.get("kind", ""))
        self.api_version = str(desired.get("apiVersion", ""))
        self.ignore = ignore
        self.known = bool(owned)
        """Whether we have applied this object before: then what we do not own was taken from us."""
        self.secret = redact.is_secret(desired)

    def value(self, want: Any, have: Any, place: Pointer, owned: Owned | None, extra: _Extra = "left") -> None:
        if want is have or (self.ignore and place in self.ignore):
            return
        if isinstance(want, dict) and isinstance(have, dict):
            self.maps(want, have, place, owned, extra)
        elif isinstance(want, list) and isinstance(have, list):
            self.lists(want, have, place, owned, extra)
        elif type(want) is type(have) and want == have:
            return
        elif not _means_the_same(want, have, place):
            self.record(place, have, want)

    def maps(
        self,
        want: Mapping[str, Any],
        have: Mapping[str, Any],
        place: Pointer,
        owned: Owned | None,
        extra: _Extra = "left",
    ) -> None:
        inside = owned if owned or place == () else None
        if inside is None and owned is not None and not _is_nothing(want):
            extra = self.whole(place, extra)  # an empty record: the map is one value, and ours
        shared = 0
        for name, value in want.items():
            if value is None:
                continue
            present = have.get(name)
            shared += present is not None
            if (
                present is not None
                and value == present
                and type(value) is type(present)
                and not isinstance(value, dict | list)
            ):
                continue
            here = (*place, name)
            child = None if inside is None else inside.get(f"f:{name}", _ABSENT)
            if present is None:
                self.missing(value, here, child)
            elif child is _ABSENT:
                taken = self.known and (isinstance(value, list) or name in _ATOMIC_MAPS)
                self.value(
                    value,
                    present,
                    here,
                    None if taken and name in _ATOMIC_MAPS else _NOTHING_OWNED,
                    "removed" if taken else extra,
                )
            else:
                self.value(value, present, here, child, extra)
        if extra != "left":
            for name in sorted(have.keys() - want.keys()):
                if extra == "removed" or atomic_fields.drops(name, have[name], place):
                    self.record((*place, name), have[name], _ABSENT)
        elif inside and len(have) > shared:
            self.removed_members(want, have, place, inside)

    def missing(self, value: Any, place: Pointer, child: Any) -> None:
        """What means nothing is dropped by servers; it counts only until they have recorded that we sent it."""
        if place in self.ignore:
            return
        if is_dropped_when_empty(value, place[-1]):
            return  # an empty one is never found in the record
        if child is _ABSENT or not _is_nothing(value):
            self.record(place, _ABSENT, value)

    def removed_members(self, want: Mapping[str, Any], have: Mapping[str, Any], place: Pointer, owned: Owned) -> None:
        for witness, inside in owned.items():
            name = witness[2:]
            if not witness.startswith("f:") or want.get(name) is not None or have.get(name) is None:
                continue
            here = (*place, name)
            if here in self.ignore or (place == () and name in _IDENTITY):
                continue
            if isinstance(have[name], dict) and inside and (name in _GRANULAR_MAPS or place == ()):
                self.removed_members({}, have[name], here, inside)
            elif not (self.ignore and self.belongs_to_cluster(have[name], here)):
                self.record(here, have[name], _ABSENT)

    def belongs_to_cluster(self, value: Any, place: Pointer) -> bool:
        """Whether all that is in it stays with the cluster: the selector of a Job has nothing but generated labels, and
        is recorded as ours since they were sent along (`retain.for_apply`)."""
        return (
            isinstance(value, dict)
            and bool(value)
            and all(
                (*place, name) in self.ignore or self.belongs_to_cluster(inside, (*place, name))
                for name, inside in value.items()
            )
        )

    def whole(self, place: Pointer, extra: _Extra) -> _Extra:
        """Inside a value that is ours as one."""
        return "sealed" if extra == "left" and atomic_fields.is_known(self.api_version, place) else extra

    def lists(self, want: list[Any], have: list[Any], place: Pointer, owned: Owned | None, extra: _Extra) -> None:
        if extra == "sealed":
            self.atomic(want, have, place, extra)
            return
        shape = list_types.shape(self.kind, place, owned if want else None)
        if shape.is_set:
            self.sets(want, have, place, owned)
            return
        wanted = list_types.by_key(want, shape.keys) if shape.keys else None
        present = list_types.by_key(have, shape.keys) if shape.keys else None
        if wanted is None or present is None:
            ours_as_one = owned is not None and not owned
            self.atomic(want, have, place, self.whole(place, extra) if ours_as_one else extra)
            return
        ours = list_types.owned_items(owned, shape.keys)
        for key, (index, item) in wanted.items():
            here = (*place, str(index))
            if key in present:
                if item != present[key][1]:  # most items are equal, and this is much faster than walking them
                    self.value(item, present[key][1], here, ours.get(key, None if owned is None else _NOTHING_OWNED))
            else:
                self.record(here, _ABSENT, item)
        for key in ours:
            if key not in wanted and key in present:
                index, item = present[key]
                self.record((*place, str(index)), item, _ABSENT)
        if place[-1] in list_types.ORDERED:
            both = [key for key in wanted if key in present]
            if both != [key for key in present if key in wanted]:
                self.record(place, have, want)

    def sets(self, want: list[Any], have: list[Any], place: Pointer, owned: Owned | None) -> None:
        ours = {witness[2:].strip('"') for witness in owned or () if witness.startswith("v:")}
        if any(item not in have for item in want) or any(str(item) in ours for item in have if item not in want):
            self.record(place, have, want)

    def atomic(self, want: list[Any], have: list[Any], place: Pointer, extra: _Extra) -> None:
        """One value: shown as a whole when its length differs, else item by item."""
        if len(want) != len(have):
            self.record(place, have, want)
            return
        for index, item in enumerate(want):
            self.value(item, have[index], (*place, str(index)), None, extra)

    def record(self, place: Pointer, before: Any, after: Any) -> None:
        if any(place[: len(ignored)] == ignored for ignored in self.ignore):
            return
        absent_before, absent_after = before is _ABSENT, after is _ABSENT
        if self.secret and redact.hides(self.desired, place):
            before, after = redact.BEFORE, redact.AFTER
        self.changes.append(
            FieldChange(
                pointer.text(place),
                None if absent_before else before,
                None if absent_after else after,
                absent_before,
                absent_after,
            )
        )


def _means_the_same(want: Any, have: Any, place: Pointer) -> bool:
    if isinstance(want, bool) or isinstance(have, bool):
        return want is have
    if isinstance(want, int | float) and isinstance(have, int | float):
        return want == have
    if not _is_amount(place):
        return False
    try:
        left, right = quantity.parse(want), quantity.parse(have)
    except (quantity.QuantityError, TypeError):
        return False
    # Servers round lists of resources up to thousandths.
    return left.milli == right.milli if _is_listed(place) else left == right


def _is_amount(place: Pointer) -> bool:
    return _is_listed(place) or place[-1] in _QUANTITIES


def _is_listed(place: Pointer) -> bool:
    return len(place) > 1 and place[-2] in _QUANTITIES_IN


def is_dropped_when_empty(value: Any, name: str) -> bool:
    """Of lists and of some maps the record of ownership names the items only."""
    return value == [] or (value == {} and name in _GRANULAR_MAPS)


def _is_nothing(value: Any) -> bool:
    """What Kubernetes' encoding may leave out."""
    if isinstance(value, dict):
        return all(map(_is_nothing, value.values()))
    return not value


def _united(left: Owned, right: Owned) -> Owned:
    return {
        name: _united(left.get(name, {}), right.get(name, {}))
        if name in left and name in right
        else left.get(name, right.get(name, {}))
        for name in [*left, *(name for name in right if name not in left)]
    }


def _one_form(secret: Body) -> Body:
    """`stringData` folded into `data`, and base64 in one spelling."""
    data = {name: _same_base64(value) for name, value in (secret.get("data") or {}).items()}
    for name, value in (secret.get("stringData") or {}).items():
        data[name] = base64.b64encode(str(value).encode()).decode()
    result = {name: value for name, value in secret.items() if name not in ("data", "stringData")}
    return {**result, "data": data} if data else result


def _same_base64(value: Any) -> Any:
    try:
        return base64.b64encode(base64.b64decode(value)).decode()
    except (ValueError, TypeError):
        return value


def _owned_in_one_form(owned: Owned | None) -> Owned | None:
    if not owned or "f:stringData" not in owned:
        return owned
    rest = {name: inside for name, inside in owned.items() if name != "f:stringData"}
    return _united(rest, {"f:data": owned["f:stringData"]})


def _replicas(desired: Body) -> Sequence[Pointer]:
    labels = (desired.get("metadata") or {}).get("labels") or {}
    return (("spec", "replicas"),) if labels.get(RETAIN_REPLICAS) == "true" else ()


def _token(desired: Body) -> Sequence[Pointer]:
    return (("data",),) if desired.get("type") == TOKEN_TYPE else ()


def _pod(desired: Body) -> Sequence[Pointer]:
    spec = desired.get("spec") or {}
    mounts = [
        ("spec", member, str(index), "volumeMounts")
        for member in ("containers", "initContainers")
        for index, _ in enumerate(spec.get(member) or ())
    ]
    return (("spec", "nodeName"), ("spec", "serviceAccountName"), ("spec", "volumes"), *mounts)


_RETAINED: Mapping[tuple[str, str], Callable[[Body], Sequence[Pointer]]] = {
    ("apps/v1", "Deployment"): _replicas,
    ("v1", "Pod"): _pod,
    ("v1", "Service"): lambda desired: (("spec", "healthCheckNodePort"), ("spec", "clusterIP")),
    ("v1", "PersistentVolumeClaim"): lambda desired: (("spec", "volumeName"),),
    ("v1", "PersistentVolume"): lambda desired: (("spec", "claimRef"),),
    ("batch/v1", "Job"): lambda desired: (
        ("spec", "selector", "matchLabels"),
        ("spec", "template", "metadata", "labels"),
    ),
    ("v1", "Secret"): _token,
}
"""What `interpret.native.retain` keeps, as places."""
