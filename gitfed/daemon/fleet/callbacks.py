"""What a member of the fleet tells and asks the daemon: all that one cluster knows of the rest.

`fleet` fills it in for the daemon, `look` for commands that only look. A member asks for nothing else, so that a
cluster that misbehaves can misbehave in these few places only.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import field
from datetime import datetime

from gitfed.edges.kube.observe import Assessment
from gitfed.interpret import collect
from gitfed.interpret.registry import Interpreter
from gitfed.model.base import Body, ClusterName, ObjectKey
from gitfed.model.fleet import ApplyResult
from gitfed.model.plan import Change
from gitfed.text.values import dataclass

log = logging.getLogger("gitfed.member")


def _log_trouble(cluster: ClusterName, error: str) -> None:
    if error:
        log.warning("cluster cannot be used", extra={"cluster": cluster, "error": error})
    else:
        log.info("cluster can be used again", extra={"cluster": cluster})


@dataclass(frozen=True, slots=True)
class FleetCallbacks:
    """What a member tells and asks the daemon."""

    assess: Callable[[ClusterName, ObjectKey, Body], Assessment]
    changed: Callable[[ClusterName, ObjectKey], None]
    relisted: Callable[[ClusterName], None]
    """Everything in the cluster was read anew."""
    facts_changed: Callable[[ClusterName], None]
    finished: Callable[[Change, ApplyResult], None]
    now: Callable[[], datetime]
    redact: Callable[[Body, str], str]
    judge: Callable[[ClusterName, ObjectKey, Body, collect.Collected], bool] = lambda *_: False
    """What the script of its kind said of a copy; whether that is news to `assess`."""
    interpreter: Callable[[], Interpreter] = lambda: Interpreter(())
    """The one of the newest plan; only a member that writes needs it."""
    endpoints_changed: Callable[[ClusterName, ObjectKey | None], None] = lambda cluster, service: None
    """The cluster's own EndpointSlices of a Service changed; None: what may be believed of all of them."""
    rush: set[ClusterName] = field(default_factory=set)
    """Clusters where changes wait for their turn (`Worker`)."""
    waited: Callable[[ClusterName, float], None] = lambda cluster, seconds: None
    """A change was begun, so many seconds after it came into the cluster's list."""
    troubled: Callable[[ClusterName, str], None] = _log_trouble
    """The cluster cannot be used, for a new reason; "" when it can again. A command that only looks tells it in the
    result."""
