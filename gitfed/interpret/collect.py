"""What is brought back from one copy: whether it is healthy, and the part of its status that is worth knowing.

Karmada keeps both on the Work object of a cluster. Its native rules also ask which generation of the template a copy
was made from, and read that from an annotation which Karmada stamps on every object. gitfed stamps nothing volatile:
the template as it is now counts as generation 1, and only copies that are as rendered from it are ever collected, so
the number is filled in here.
"""

from __future__ import annotations

from typing import NamedTuple

from gitfed.interpret import conditions, native
from gitfed.interpret.native.reflect import GENERATION
from gitfed.interpret.registry import DEFAULT, Answer, Interpreter, Operation
from gitfed.model.base import Body

_QUICK = (native.NAME, conditions.NAME, DEFAULT)


class Collected(NamedTuple):
    healthy: bool | None
    """None: the rule failed."""
    status: Body | None
    """None: there is none, or the rule failed."""


def is_scripted(body: Body, interpreter: Interpreter) -> bool:
    """Whether a rule from outside answers, which may take its time."""
    return any(interpreter.source(body, asked) not in _QUICK for asked in (Operation.HEALTH, Operation.STATUS))


def collect(interpreter: Interpreter, observed: Body) -> Collected:
    """Health and status of a copy by the rules of its kind. Never fails."""
    health = interpreter.health(observed)
    healthy = health.value if isinstance(health, Answer) else None
    if observed.get("status") is None and not interpreter.handles(observed, Operation.STATUS):
        return Collected(healthy, None)
    status = interpreter.status(_stamped(observed))
    return Collected(healthy, status.value if isinstance(status, Answer) else None)


def as_template(body: Body) -> Body:
    """A template as the rules for aggregation see it: of generation 1, without a status of its own."""
    rest = {name: value for name, value in body.items() if name != "status"}
    return {**rest, "metadata": {**body["metadata"], "generation": 1}}


def _stamped(body: Body) -> Body:
    metadata = body["metadata"]
    annotations = {**(metadata.get("annotations") or {}), GENERATION: "1"}
    return {**body, "metadata": {**metadata, "annotations": annotations}}
