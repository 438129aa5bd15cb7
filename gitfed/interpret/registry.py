"""★ One question about an object, one answer: eight operations, asked of several sources in order.

Precedence per exact apiVersion, kind and operation: a user's customization, a webhook, the bundled third-party rules,
the native rules (Karmada: interpreters §1). The first source that handles the question decides; if it fails, no other
source is asked. A kind may take its operations from different sources.

An answer is an `Answer` with the source's name. `Unknown` means that there is none: the rule failed (`permanent`: the
same inputs fail again until a person repairs the rule) or could not be asked. Unknown is never turned into a
default: the last decision stays. If no source handles the question, that is not Unknown: the default applies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from typing import Any, Generic, NamedTuple, Protocol, TypeAlias, TypeVar, runtime_checkable

from gitfed.interpret.schema.kubernetes import Kubernetes
from gitfed.model.base import Body, Problem
from gitfed.model.script import Script
from gitfed.text.values import dataclass

T = TypeVar("T")

DEFAULT = "default"
"""The `source` of an answer that no source gave."""


class Operation(StrEnum):
    REPLICA = "InterpretReplica"
    COMPONENT = "InterpretComponent"
    REVISE = "ReviseReplica"
    RETAIN = "Retain"
    AGGREGATE = "AggregateStatus"
    STATUS = "InterpretStatus"
    HEALTH = "InterpretHealth"
    DEPENDENCY = "InterpretDependency"


@dataclass(frozen=True, slots=True)
class Interpretation(Generic[T]):
    value: T
    source: str


@dataclass(frozen=True, slots=True)
class Unknown:
    reason: str
    source: str = ""
    permanent: bool = True
    cause: str = ""
    """Why other questions have no answer either (`model.base.Problem.cause`)."""


Result: TypeAlias = Interpretation[T] | Unknown


class InterpretError(ValueError):
    """A rule ran and failed: the object or the rule is wrong, and asking again gives the same."""


class NoAnswer(Exception):
    """A source could not be asked (a webhook is down, a script had to be killed): asking again may help."""

    def __init__(self, message: str, *, cause: str = "") -> None:
        super().__init__(message)
        self.cause = cause


class Replicas(NamedTuple):
    replicas: int
    requirements: Body | None
    """Karmada's ReplicaRequirements `{nodeClaim?, resourceRequest?, …}`; None: one replica asks for nothing."""


class OperationInputs(NamedTuple):
    """Arguments of one operation, made for every question; which are set follows from the operation."""

    object: Body
    observed: Body | None = None
    """Retain: the object as it is in the cluster."""
    replicas: int = 0
    """ReviseReplica."""
    items: Sequence[Body] | None = None
    """AggregateStatus: Karmada's AggregatedStatusItems."""
    now: str = ""
    """AggregateStatus: RFC 3339, UTC, whole seconds."""


Question: TypeAlias = tuple[Operation, OperationInputs]


class RuleSource(Protocol):
    """One place where rules come from."""

    @property
    def name(self) -> str: ...

    def handles(self, api_version: str, kind: str, operation: Operation) -> bool:
        """The same at any time: it is asked once for each kind."""

    def answer(self, operation: Operation, inputs: OperationInputs) -> Any:
        """The value of that operation. Raises InterpretError or NoAnswer."""


@runtime_checkable
class Batching(RuleSource, Protocol):
    """A source to which many questions at once are less work than one after another."""

    def prepare(self, questions: Sequence[Question]) -> None:
        """Finds the answers, which are going to be asked for; what is left of earlier ones is forgotten."""


@runtime_checkable
class Written(RuleSource, Protocol):
    """A source whose rules are texts, which another process can run as well."""

    def scripts(self, api_version: str, kind: str, operation: Operation) -> Sequence[Script]:
        """What answers, if it handles that."""


class Interpreter:
    """The sources of one commit, best first. Pure if they are."""

    def __init__(
        self,
        sources: Sequence[RuleSource],
        problems: Callable[[], tuple[Problem, ...]] = tuple,
        kubernetes: Kubernetes | None = None,
    ) -> None:
        """`problems`: what is wrong with the rules, as far as it is known by now. `kubernetes`: the types of its own
        kinds; without them objects are not checked."""
        self.kubernetes = kubernetes
        self._sources = tuple(sources)
        self._batching = {id(source): source for source in sources if isinstance(source, Batching)}
        self._deciding: dict[tuple[str, str, Operation], RuleSource | None] = {}
        self._problems = problems

    def problems(self) -> tuple[Problem, ...]:
        """Mistakes in the rules themselves: of those that cannot run at once, of others once they have run."""
        return self._problems()

    def handles(self, body: Body, operation: Operation) -> bool:
        """Whether any source has a rule, so that the answer will not be a default."""
        return self._source(body, operation) is not None

    def source(self, body: Body, operation: Operation) -> str:
        """The name of the source that decides; DEFAULT when there is none. Nothing is asked."""
        source = self._source(body, operation)
        return DEFAULT if source is None else source.name

    def scripts(self, body: Body, operation: Operation) -> Sequence[Script]:
        """What answers, where that is a script, or several for dependencies. Nothing is asked."""
        source = self._source(body, operation)
        return source.scripts(body["apiVersion"], body["kind"], operation) if isinstance(source, Written) else ()

    def replicas(self, body: Body) -> Result[Replicas]:
        """Default: no replicas, which is to say no workload."""
        return self._ask(Operation.REPLICA, OperationInputs(body), lambda: Replicas(0, None))

    def components(self, body: Body) -> Result[tuple[Body, ...]]:
        """`{name, replicas, replicaRequirements?}`. Default: none, then `replicas` counts."""
        return self._ask(Operation.COMPONENT, OperationInputs(body), tuple)

    def revise_replica(self, body: Body, replicas: int) -> Result[Body]:
        """The workload with that many replicas. Default: as it is."""
        return self._ask(Operation.REVISE, OperationInputs(body, replicas=replicas), lambda: body)

    def retain(self, desired: Body, observed: Body) -> Result[Body]:
        """`desired` with what belongs to the cluster. Default: as desired."""
        return self._ask(Operation.RETAIN, OperationInputs(desired, observed=observed), lambda: desired)

    def aggregate_status(self, body: Body, items: Sequence[Body] | None, now: str) -> Result[Body]:
        """The template with the status of all its copies taken together. Default: untouched."""
        return self._ask(Operation.AGGREGATE, OperationInputs(body, items=items, now=now), lambda: body)

    def status(self, observed: Body) -> Result[Body | None]:
        """What of a copy's status is worth collecting. Default: all of it."""
        return self._ask(Operation.STATUS, OperationInputs(observed), lambda: observed.get("status"))

    def health(self, observed: Body) -> Result[bool]:
        """Default: healthy."""
        return self._ask(Operation.HEALTH, OperationInputs(observed), lambda: True)

    def dependencies(self, body: Body) -> Result[tuple[Body, ...]]:
        """`{apiVersion, kind, namespace?, name? | labelSelector?}`, sorted. Default: none."""
        return self._ask(Operation.DEPENDENCY, OperationInputs(body), tuple)

    def gains(self, body: Body, operation: Operation) -> bool:
        """Whether preparing this question saves time."""
        return id(self._source(body, operation)) in self._batching

    def prepare(self, questions: Iterable[Question]) -> None:
        """Announces questions that the caller is going to ask: some sources answer many at once far sooner.

        Nothing else depends on it; a question that is never asked was prepared in vain.
        """
        by_source: dict[int, list[Question]] = {}
        for question in questions:
            operation, inputs = question
            if self.gains(inputs.object, operation):
                by_source.setdefault(id(self._source(inputs.object, operation)), []).append(question)
        for which, asked in by_source.items():
            self._batching[which].prepare(asked)

    def _source(self, body: Body, operation: Operation) -> RuleSource | None:
        question = (body["apiVersion"], body["kind"], operation)
        try:
            return self._deciding[question]
        except KeyError:
            source = next((candidate for candidate in self._sources if candidate.handles(*question)), None)
            self._deciding[question] = source
            return source

    def _ask(self, operation: Operation, inputs: OperationInputs, default: Callable[[], T]) -> Result[T]:
        source = self._source(inputs.object, operation)
        if source is None:
            return Interpretation(default(), DEFAULT)
        try:
            return Interpretation(source.answer(operation, inputs), source.name)
        except InterpretError as error:
            return Unknown(str(error), source.name)
        except NoAnswer as error:
            return Unknown(str(error), source.name, permanent=False, cause=error.cause)
