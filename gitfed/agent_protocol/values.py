"""What stands in the two mappings, and how it becomes JSON and back.

Down, the *slice* of one cluster: how it is set up, what should be there, and the list of changes. Up, its *reports*:
how the cluster is, what is in it, and what became of changes. Keys are `<what>/<of which object>`.

What an agent sends is believed of its own cluster and of nothing else: a value says nothing about which cluster it is
of (that is the connection's), and one that has not this form ends the connection.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from typing import Any, Generic, TypeVar

from pydantic import TypeAdapter, ValidationError

from gitfed.errors import LinkError
from gitfed.interpret.collect import Collected
from gitfed.model.base import BindingId, Body, ClusterName, Digest, Kind, ObjectKey, Origin
from gitfed.model.fleet import ApplyResult, ClusterFacts, ClusterLive, InventoryEntry, LiveObject, Stuck
from gitfed.model.leader import Term
from gitfed.model.load import ClusterLoad, LoadQuestion
from gitfed.model.plan import Action, Change, FieldChange, RenderedManifest, Turn, Write
from gitfed.model.reason import NO_REASON, Reason
from gitfed.model.script import Script
from gitfed.services import exchange
from gitfed.services.exchange import Endpoints
from gitfed.services.slices import ServiceSlice
from gitfed.text import canonical
from gitfed.text.values import dataclass

T = TypeVar("T")

_NOWHERE = Origin("")
_MOST_SHARED = 1 << 16
"""Keys that are held once, however many clusters have an object of this key."""

SETUP = "setup"
STATE = "state"
FACTS = "facts"
OBJECT, BODY, CHANGE, ENTRY, FORGET, VERDICT = "object/", "body/", "change/", "entry/", "forget/", "verdict/"
SCRIPT = "script/"
"""The text of a script, by its digest."""
OVER = "over/"
SHARING, ARRIVING = "sharing", "arriving/"
"""What is to be done about endpoints, and each slice of another cluster that should be there."""
SHARED, OWN_SLICE, ARRIVED = "shared", "slice/", "arrived/"
"""How far the cluster's own slices are known, each of them, and of each Service what came from other clusters."""


class _As(Generic[T]):
    """One type, to and from JSON values."""

    def __init__(self, of: Any) -> None:
        self._of = of
        self._made: TypeAdapter[T] | None = None

    @property
    def _adapter(self) -> TypeAdapter[T]:
        if self._made is None:
            self._made = TypeAdapter(self._of)
        return self._made

    def json(self, value: T) -> Any:
        return self._adapter.dump_python(value, mode="json", exclude_defaults=True, warnings=False)

    def read(self, value: Any) -> T:
        """Raises LinkError."""
        try:
            return self._adapter.validate_python(value)
        except ValidationError as error:
            fault = error.errors(include_url=False, include_input=False, include_context=False)[0]
            where = ".".join(map(str, fault["loc"]))
            raise LinkError(f"{self._of.__name__}: {where}: {fault['msg']}") from error


# -- down ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ScriptAt:
    """A script; its text is `script/<digest>`. The rest says what its messages say (`model.script.Script`)."""

    digest: str
    name: str
    path: str = ""
    line: int = 0
    column: int = 0
    begins: int = 0

    @classmethod
    def of(cls, script: Script) -> ScriptAt:
        digest = canonical.digest(script.text)
        return cls(digest, script.name, script.path, script.line, script.column, script.begins)

    def script(self, text: str) -> Script:
        return Script(self.name, text, self.path, self.line, self.column, self.begins)


@dataclass(frozen=True, slots=True)
class Rule:
    """A question that no native rule answers: scripts do, or, without any, something that only the hub can ask."""

    api_version: str
    kind: str
    operation: str
    source: str = ""
    scripts: tuple[ScriptAt, ...] = ()


@dataclass(frozen=True, slots=True)
class Setup:
    """How the agent keeps its cluster."""

    federation: str
    lead: Term | None = None
    """None: it looks, and writes nothing."""
    list: int = 0
    """The number of the list of changes that stands beside this."""
    kinds: tuple[Kind, ...] = ()
    rules: tuple[Rule, ...] = ()
    models: tuple[Any, ...] = ()
    """`spec.resourceModels`."""
    capacity: bool = False
    quotas: bool = True
    expected: int = 0
    """Entries that the inventory has at least."""
    recorded_id: str = ""
    """Which cluster it was, by the uid of its kube-system."""
    declared: Any = None
    """Of a pool's cluster: its Cluster file, which says how it is reached."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """One object that should be there; its body is `body/<digest>`."""

    digest: str
    binding: str
    replicas: int | None = None
    origin: Origin = _NOWHERE
    stateful: bool = False
    overwrite: bool = False
    repair: bool = False
    """Whether the agent may put it right by itself while the hub is away."""
    once_written: bool = False
    """The same as soon as the list that stands beside this has written it."""

    @classmethod
    def of(cls, rendered: RenderedManifest) -> Wanted:
        return cls(rendered.digest, rendered.binding, rendered.replicas, rendered.origin)

    def manifest(self, key: ObjectKey, cluster: ClusterName, body: Body) -> RenderedManifest:
        binding = BindingId(self.binding)
        return RenderedManifest(key, binding, body, Digest(self.digest), (cluster,), self.replicas, self.origin)


@dataclass(frozen=True, slots=True)
class Seen:
    """The object that a change was decided for."""

    uid: str
    resource_version: str
    ours: bool
    matches: str | None = None
    entry: InventoryEntry | None = None


@dataclass(frozen=True, slots=True)
class Task:
    """One change. `id`: asked for anew, it is another one."""

    id: int
    key: ObjectKey
    api_version: str
    action: Action
    urgent: bool = False
    reason: Reason = NO_REASON
    manifest: Wanted | None = None
    body: str = ""
    """The digest of what to send instead of the manifest's body."""
    seen: Seen | None = None
    diff: tuple[FieldChange, ...] = ()
    move: bool = False
    replaces: bool = False
    wave: int = 0
    order: int = 0
    waits_for: tuple[ObjectKey, ...] = ()
    adopt: bool = False
    first: bool = False
    drift: bool = False

    @classmethod
    def of(cls, change: Change, *, number: int, urgent: bool) -> Task:
        live, rendered = change.live, change.write.rendered
        return cls(
            id=number,
            key=change.key,
            api_version=change.api_version,
            action=change.action,
            urgent=urgent,
            reason=change.reason,
            manifest=Wanted.of(rendered) if rendered is not None else None,
            body=canonical.digest(change.write.body) if change.write.body is not None else "",
            seen=Seen(live.uid, live.resource_version, live.ours, live.matches, live.entry) if live else None,
            diff=tuple(replace(difference, before=None, after=None) for difference in change.write.diff[:3]),
            move=change.move,
            replaces=change.write.replaces,
            wave=change.turn.wave,
            order=change.turn.order,
            waits_for=change.turn.waits_for,
            adopt=change.write.adopt,
            first=change.turn.first,
            drift=change.drift,
        )

    @property
    def bodies(self) -> tuple[str, ...]:
        """Digests of what it takes to carry it out."""
        wanted = self.manifest.digest if self.manifest is not None else ""
        return tuple(filter(None, (wanted, self.body)))

    def change(self, cluster: ClusterName, bodies: dict[str, Body], live: LiveObject | None) -> Change:
        """`live`: the object as it is known there now; its body is taken when it is still the same version. Raises
        LinkError when a body is missing."""
        seen = None
        if self.seen is not None:
            same = live is not None and (live.uid, live.resource_version) == (self.seen.uid, self.seen.resource_version)
            seen = LiveObject(
                self.key,
                cluster,
                self.seen.uid,
                self.seen.resource_version,
                self.seen.ours,
                body=live.body if live is not None and same else None,
                matches=Digest(self.seen.matches) if self.seen.matches is not None else None,
                entry=self.seen.entry,
            )
        try:
            rendered = None
            if self.manifest is not None:
                rendered = self.manifest.manifest(self.key, cluster, bodies[self.manifest.digest])
            body = bodies[self.body] if self.body else None
        except KeyError:
            raise LinkError(f"the body of {self.key} is missing") from None
        return Change(
            cluster,
            self.key,
            self.api_version,
            self.action,
            self.reason,
            seen,
            Write(rendered, body, self.diff, self.adopt, self.replaces),
            Turn(self.wave, self.order, self.waits_for, first=self.first),
            self.move,
            self.drift,
        )


@dataclass(frozen=True, slots=True)
class Sharing:
    """What is to be done about EndpointSlices; an agent that is told nothing of it says nothing of it."""

    names: tuple[str, ...] = ()
    """Services whose own slices others want, in every namespace."""
    kept: tuple[tuple[ObjectKey, ClusterName], ...] = ()
    """(Service, provider): what is there of these stays as it is."""
    decided: tuple[ObjectKey, ...] = ()
    """Services of which the hub says what should be there; of others nothing is changed."""

    def goal(self, arriving: Iterable[Any]) -> exchange.WantedSlices:
        """`arriving`: the values of this name. Raises LinkError."""
        arriving_slices = [SLICES.read(value) for value in arriving]
        return exchange.WantedSlices(
            {(endpoint_slice.namespace, endpoint_slice.name): endpoint_slice for endpoint_slice in arriving_slices},
            frozenset(self.kept),
        )


@dataclass(frozen=True, slots=True)
class ScriptVerdict:
    """What the script of its kind says of the object in this generation."""

    uid: str
    generation: int | None
    said: Collected


# -- up ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AgentState:
    """How the agent's side is."""

    live: ClusterLive
    id: str = ""
    """The uid of its kube-system."""
    asked: bool = False
    looked: bool = False
    ready: bool = False
    error: str = ""
    owner: str | None = None
    term: int = 0
    """As the inventory says."""
    leader: str = ""
    led: int | None = None
    """The term in which the agent writes."""
    stopped: str = ""
    list: int = 0
    """The list that it works on."""
    idle: bool = True
    flying: int = 0
    behind: bool = False
    measured: bool = False


@dataclass(frozen=True, slots=True)
class Over:
    """What became of a change. `id` 0: one that the agent decided itself. `left`: it is tried again."""

    id: int
    number: int
    """Of all results of this agent's process."""
    action: Action
    left: bool = False
    drift: bool = False
    result: ApplyResult | None = None
    """None: there was nothing to do any more."""


@dataclass(frozen=True, slots=True)
class Shared:
    """Whether the cluster's own slices of Services of these names are known as they are now."""

    names: tuple[str, ...] = ()
    fresh: bool = False


SETUPS: _As[Setup] = _As(Setup)
WANTED: _As[Wanted] = _As(Wanted)
TASKS: _As[Task] = _As(Task)
ENTRIES: _As[InventoryEntry] = _As(InventoryEntry)
VERDICTS: _As[ScriptVerdict] = _As(ScriptVerdict)
STATES: _As[AgentState] = _As(AgentState)
OVERS: _As[Over] = _As(Over)
FACTS_OF: _As[ClusterFacts] = _As(ClusterFacts)
OBJECTS: _As[LiveObject] = _As(LiveObject)
LOAD_QUESTIONS: _As[list[LoadQuestion]] = _As(list[LoadQuestion])
LOADS: _As[list[tuple[ObjectKey, ClusterLoad]]] = _As(list[tuple[ObjectKey, ClusterLoad]])
SHARINGS: _As[Sharing] = _As(Sharing)
SHAREDS: _As[Shared] = _As(Shared)
SLICES: _As[ServiceSlice] = _As(ServiceSlice)
ARRIVALS: _As[Endpoints] = _As(Endpoints)
STUCK: _As[list[tuple[ObjectKey, int, Stuck]]] = _As(list[tuple[ObjectKey, int, Stuck]])


@lru_cache(_MOST_SHARED)
def of(what: str, key: ObjectKey) -> str:
    """The key of a value about one object."""
    return what + "/".join((key.group, key.kind, key.namespace, key.name))


@lru_cache(_MOST_SHARED)
def key_in(text: str) -> ObjectKey:
    """The object that a key is about. Raises LinkError."""
    parts = text.split("/")
    if len(parts) != 5:
        raise LinkError(f"{text[:100]!r} names no object")
    return ObjectKey(*parts[1:])
