"""Notification: who is told when the fleet needs a person. Git says what is told, but not to which address.

The address of a chat or a pager is a secret, or holds one. It is in a folder of the daemon (`--notify-dir`), and a
commit only names that folder: people who can commit neither learn the address nor redirect the secret to their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BeforeValidator, Field

from gitfed.model.declared import names
from gitfed.model.declared.placement import ClusterAffinity
from gitfed.model.declared.shape import Declared, Duration, Finding, Flag, Part, Required

_Event: TypeAlias = Literal["held", "rejected", "failed", "problems", "unreachable", "evicted", "applied"]
_Severity: TypeAlias = Literal["error", "warning", "info"]
_USUAL: tuple[_Event, ...] = ("held", "rejected", "failed", "problems", "unreachable", "evicted")
_ALL: tuple[_Severity, ...] = ("error", "warning", "info")
_LONGEST = 63


def _known_provider(value: Any) -> Any:
    if value not in ("Apprise", "CloudEvents"):
        raise ValueError("must be Apprise or CloudEvents")  # what stands there may be an address: it is not repeated
    return value


class NotificationSpec(Part):
    provider: Annotated[Literal["Apprise", "CloudEvents"], BeforeValidator(_known_provider)]
    """CloudEvents: JSON by HTTP. Apprise: Slack, Teams, e-mail, PagerDuty and others (gitfed[notify])."""
    target: Required
    """Name of the folder of --notify-dir that holds the address and its secrets."""
    events: Annotated[tuple[_Event, ...], Field(min_length=1)] = _USUAL
    """What is told. Omitted: all but applied."""
    severities: Annotated[tuple[_Severity, ...], Field(min_length=1)] = _ALL
    """How bad it has to be."""
    clusters: ClusterAffinity | None = None
    """Omitted: every cluster. What concerns no cluster in particular is always told."""
    group_wait: Duration = timedelta(seconds=10)
    """How long the first news waits for others to be told together with it."""
    group_interval: Duration = timedelta(minutes=1)
    """The least time between two messages."""
    repeat_interval: Duration = timedelta(0)
    """After so long what still is so is told again; 0: never."""
    send_resolved: Flag = True
    """Whether it is told when something is over."""


class Notification(Declared):
    kind: Literal["Notification"]
    spec: NotificationSpec

    def findings(self) -> Iterator[Finding]:
        target = self.spec.target
        if "/" in target or ":" in target or "@" in target:
            yield Finding(
                ("spec", "target"),
                "target is the name of a folder of the daemon, not an address",
                "take the address out of the repository and replace its secrets; it belongs into NAME/url below "
                "--notify-dir",
            )
        elif why := names.why_not_dns_label(target, _LONGEST):
            yield Finding(("spec", "target"), f"target {why}")
        if self.spec.clusters is not None:
            yield from self.spec.clusters.findings(("spec", "clusters"))
