"""What the server knows about a kind: names, verbs, and the pure functions that give it its meaning.

One ``Kind`` is one group, version and resource as discovery shows it. The pipeline (``server/``) is the same for all
of them and calls the hooks below in a fixed order, Kubernetes' own:

    create   decode → schema.check/convert → default → managedFields → admit → prepare_create → validate → allocate →
    store update   decode → schema.check/convert → default → managedFields → admit → prepare_update → validate +
    validate_update → allocate → store status   like update, with prepare_status and validate_status; other
    subresources through their own ``Subresource``

Hooks take and return plain JSON dicts. They never change what they are given (stored bodies are shared): they return
the same object, or a new one that shares what did not change. ``body`` always has kind, apiVersion and metadata.
Validations return all complaints; only ``admit`` and ``allocate`` may raise an ``ApiError``.

The pipeline itself does, for every kind: names, namespaces and object metadata (labels, annotations, owners,
finalizers), uid, creation and deletion times, resourceVersion, generation, managedFields, preconditions, finalizers
and garbage. Hooks need not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Protocol

from kubesim import status

if TYPE_CHECKING:
    from kubesim.schema import Schema

Body = dict[str, Any]

READ_WRITE: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
"""The verbs of an ordinary resource, in the order discovery shows them."""
GET_UPDATE: Final = ("get", "patch", "update")
"""The verbs of status and scale."""


class Clock(Protocol):
    """The time of a cluster. Aware, UTC."""

    def now(self) -> datetime: ...


class Lookup(Protocol):
    """Reads other stored objects, in their storage version. ``resource`` is ``plural`` or ``plural.group``."""

    def get(self, resource: str, namespace: str, name: str) -> Body | None: ...

    def list(self, resource: str, namespace: str = "") -> Iterable[Body]:
        """All of a namespace; with "" all of the cluster."""
        ...


@dataclass(frozen=True, slots=True)
class Context:
    """What a write may look at beside the object: the time, the rest of the cluster, who asks, and on what terms."""

    now: datetime
    lookup: Lookup
    user: str = ""
    groups: Sequence[str] = ()
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a Table. ``type`` is string, integer, date, boolean or number; ``format`` is ``name`` for the first
    one."""

    name: str
    type: str = "string"
    format: str = ""
    description: str = ""
    priority: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Where the scale subresource finds its values, as paths of keys. ``selector_text`` tells that the selector is
    already a string (custom resources); otherwise it is a label selector, or a plain map of labels, that is
    printed."""

    replicas: tuple[str, ...] = ("spec", "replicas")
    status_replicas: tuple[str, ...] = ("status", "replicas")
    selector: tuple[str, ...] = ("spec", "selector")
    selector_text: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Subresource:
    """A subresource as discovery shows it, and what it does if it edits the object itself.

    ``kind``, ``group``, ``version`` name its own type where that is not the parent's (Scale, Eviction, Binding,
    TokenRequest). With ``prepare`` a PUT or PATCH of it stores ``prepare(new, old, ctx)`` after ``validate(new,
    old)``. Those that do something else altogether (binding, eviction, token) have no ``prepare``: the server knows
    them by name.
    """

    name: str
    verbs: tuple[str, ...] = GET_UPDATE
    kind: str = ""
    group: str = ""
    version: str = ""
    prepare: Callable[[Body, Body, Context], Body] | None = None
    validate: Callable[[Body, Body], list[status.FieldError]] | None = None


def _same(body: Body) -> Body:
    return body


def _create_as_is(body: Body, ctx: Context) -> Body:
    return body


def _update_as_is(new: Body, old: Body, ctx: Context) -> Body:
    return new


def _drop_nothing(new: Body, old: Body) -> Body:
    return new


def _no_errors(body: Body) -> list[status.FieldError]:
    return []


def _no_update_errors(new: Body, old: Body) -> list[status.FieldError]:
    return []


def _no_warnings(body: Body, old: Body | None) -> list[str]:
    return []


def _spec_differs(new: Body, old: Body) -> bool:
    return bool(new.get("spec") != old.get("spec"))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Kind:
    """One resource of one group and version. Compared by identity: definitions may replace a custom kind at any
    time."""

    group: str
    version: str
    kind: str
    plural: str
    singular: str = ""
    """Empty: the kind in lower case."""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    namespaced: bool = True
    verbs: tuple[str, ...] = READ_WRITE
    """In discovery's order. A resource with ``create`` alone stores nothing (access reviews)."""
    subresources: tuple[Subresource, ...] = ()
    scale: Scale | None = None
    """Set together with a ``Subresource`` of that name."""
    schema: Schema | None = None
    """``None``: anything goes, objects are granular maps and lists atomic."""
    custom: bool = False
    """Made by a definition: no strategic patches, list items keep their kind, a PUT needs a resourceVersion…"""
    list_kind: str = ""
    """Empty: the kind and ``List``."""
    deprecated: str = ""
    """Text of the Warning header of every request to this version."""

    # storage: several versions, or two groups (events), may be faces of the same stored objects
    storage: str = ""
    """Key of the stored objects. Empty: ``plural.group``."""
    storage_version: str = ""
    """apiVersion of stored bodies. Empty: this one's."""
    to_storage: Callable[[Body], Body] = _same
    from_storage: Callable[[Body], Body] = _same
    """Between this version and the stored one; both write apiVersion and kind themselves."""

    computed: Callable[[Lookup, datetime], Iterable[Body]] | None = None
    """Objects that are not stored but made when somebody asks."""

    # names and rules of writing
    name_rule: str = "dns-subdomain"
    """dns-subdomain, dns-label, dns-1035, path-segment (anything but ``/``, ``%``, ``.``, ``..``)."""
    allow_create_on_update: bool = False
    """PUT of what does not exist creates it (Leases, Services, RBAC…)."""
    allow_unconditional_update: bool = True
    """PUT without resourceVersion overwrites."""
    has_generation: bool = False
    generation_moves: Callable[[Body, Body], bool] = _spec_differs
    """(new, old) of a write; asked only with ``has_generation``, and never for the status address."""
    reset_fields: Mapping[str, tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    """Subresource ("" for the main address) → paths that a write there can never own, e.g. ``{"": (("status",),),
    "status": (("spec",),)}``."""

    # meaning, in order of the pipeline
    decode: Callable[[Body], tuple[Body, list[str]]] | None = None
    """Custom kinds: instead of ``schema.check`` and ``schema.convert``. Gives the pruned body and the paths of
    unknown fields in the order they are told (``spec.items[0].junk``)."""
    default: Callable[[Body], Body] = _same
    """Fills in defaults after decoding; must be quick on a body that has them."""
    admit: Callable[[Body, Body | None, Context], Body] | None = None
    """What admission plugins do to this kind alone (priority of Pods, storage class of claims). ``old`` is ``None``
    at creation."""
    prepare_create: Callable[[Body, Context], Body] = _create_as_is
    """Drops what only the server or a status writer may set; sets first values."""
    prepare_update: Callable[[Body, Body, Context], Body] = _update_as_is
    """(new, old): puts back status and whatever else the main address may not change."""
    prepare_status: Callable[[Body, Body], Body] = _drop_nothing
    """(new, old): puts back everything but status."""
    validate: Callable[[Body], list[status.FieldError]] = _no_errors
    validate_update: Callable[[Body, Body], list[status.FieldError]] = _no_update_errors
    """What a change alone may break; ``validate`` runs as well, before it (but see the two flags)."""
    validate_create: Callable[[Body], list[status.FieldError]] = _no_errors
    """What only a creation may not do; after ``validate``."""
    update_first: bool = False
    """At an update the complaints of ``validate_update`` come before those of ``validate``."""
    validates_update_alone: bool = False
    """An update asks ``validate_update`` only (custom kinds: what was invalid before and did not change may stay)."""
    validate_status: Callable[[Body, Body], list[status.FieldError]] = _no_update_errors
    allocate: Callable[[Body, Body | None, Context], Body] | None = None
    """Last step before the store: addresses and ports of Services. ``old`` is ``None`` at creation. May raise
    ``ApiError``."""
    warnings: Callable[[Body, Body | None], list[str]] = _no_warnings
    """Texts of Warning headers of a successful write."""

    # deletion
    grace: Callable[[Body, int | None], int] | None = None
    """(body, requested seconds or None) → seconds the object stays marked; 0 removes at once. ``None``: no graceful
    deletion."""
    delete_returns_object: bool = False
    """A DELETE that removes answers the object rather than a Status."""
    orphans_by_default: str = ""
    """Text of the warning given when a deletion without a policy leaves dependents behind (Jobs). Empty: background."""
    orphans_silently: bool = False
    """A deletion without a policy leaves dependents behind and says nothing (ReplicationControllers)."""

    # reading
    field_labels: Mapping[str, Callable[[Body], str]] = field(default_factory=dict)
    """Field selectors beside metadata.name and metadata.namespace. Over the body of this version."""
    columns: tuple[Column, ...] = ()
    """Empty: name and creation time, as for a custom resource without columns."""
    row: Callable[[Body, datetime], list[Any]] | None = None
    """Cells of one object, one for each column, ages already printed. Over the body of this version."""

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def resource(self) -> str:
        """``deployments.apps``; plain plural in the core group."""
        return status.resource_name(self.group, self.plural)

    @property
    def storage_key(self) -> str:
        return self.storage or self.resource

    def subresource(self, name: str) -> Subresource | None:
        return next((sub for sub in self.subresources if sub.name == name), None)
