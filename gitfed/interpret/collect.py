"""What is collected from the object of one cluster: whether it is healthy, and the part of its status that matters.

Karmada keeps both on the Work object of a cluster. Its native rules also ask which generation of the template a copy
was made from, and read that from an annotation which Karmada stamps on every object. gitfed stamps nothing volatile:
the template as it is now counts as generation 1, and only copies that are as rendered from it are ever collected, so
the number is filled in here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gitfed.interpret import bundled, conditions, native
from gitfed.interpret.registry import DEFAULT, Interpretation, Interpreter, Operation, OperationInputs, Unknown
from gitfed.model.base import Body
from gitfed.model.fleet import Health
from gitfed.model.keys import GENERATION

_QUICK = (native.NAME, conditions.NAME, DEFAULT)
_CALLED = {bundled.NAME: "catalogue"}


class Collected(NamedTuple):
    healthy: bool | None
    """None: the rule failed."""
    status: Body | None
    """None: there is none, or the rule failed."""
    message: str = ""
    """Why it is not healthy, or not known, where a rule from outside says so."""


def is_scripted(body: Body, interpreter: Interpreter) -> bool:
    """Whether a rule from outside answers, which may take its time."""
    return any(interpreter.source(body, asked) not in _QUICK for asked in (Operation.HEALTH, Operation.STATUS))


def has_health_script(body: Body, interpreter: Interpreter) -> bool:
    """Whether a rule from outside says how healthy objects of this kind are."""
    return interpreter.source(body, Operation.HEALTH) not in _QUICK


def judged(collected: Collected) -> tuple[Health, str]:
    """What a rule said of an object that is otherwise as far as it can come, in kstatus's words."""
    if collected.healthy is None:
        return Health.UNKNOWN, collected.message
    return (Health.CURRENT, "healthy") if collected.healthy else (Health.IN_PROGRESS, collected.message)


def collect(interpreter: Interpreter, observed: Body) -> Collected:
    """Health and status of a copy by the rules of its kind. Never fails."""
    return _collect(interpreter, observed, _stamped(observed) if _asks_status(interpreter, observed) else None)


def health_of(interpreter: Interpreter, observed: Body) -> Collected:
    """Only whether a copy is healthy. Never fails."""
    health = interpreter.health(observed)
    healthy = health.value if isinstance(health, Interpretation) else None
    message = health.reason if isinstance(health, Unknown) else ""
    if healthy is False and has_health_script(observed, interpreter):
        message = f"not healthy, says the {_CALLED.get(health.source, health.source)}"
    return Collected(healthy, None, message)


def collect_all(interpreter: Interpreter, observed: Sequence[Body]) -> list[Collected]:
    """The same of many copies."""
    stamped = [_stamped(body) if _asks_status(interpreter, body) else None for body in observed]
    questions = [(Operation.HEALTH, OperationInputs(body)) for body in observed]
    questions += [(Operation.STATUS, OperationInputs(body)) for body in stamped if body is not None]
    interpreter.prepare(questions)
    return [_collect(interpreter, *pair) for pair in zip(observed, stamped, strict=True)]


def _asks_status(interpreter: Interpreter, observed: Body) -> bool:
    return observed.get("status") is not None or interpreter.handles(observed, Operation.STATUS)


def _collect(interpreter: Interpreter, observed: Body, stamped: Body | None) -> Collected:
    healthy = health_of(interpreter, observed)
    if stamped is None:
        return healthy
    status = interpreter.status(stamped)
    return healthy._replace(status=status.value if isinstance(status, Interpretation) else None)


def as_template(body: Body) -> Body:
    """A template as the rules for aggregation see it: of generation 1, without a status of its own."""
    rest = {name: value for name, value in body.items() if name != "status"}
    return {**rest, "metadata": {**body["metadata"], "generation": 1}}


def _stamped(body: Body) -> Body:
    metadata = body["metadata"]
    annotations = {**(metadata.get("annotations") or {}), GENERATION: "1"}
    return {**body, "metadata": {**metadata, "annotations": annotations}}
