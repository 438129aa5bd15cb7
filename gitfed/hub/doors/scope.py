"""Which clusters a question to the fleet is about: those that the caller may enter and that can be asked now.

The others are left out, and the answer says so (`Warning`, which kubectl prints). Clusters that the caller may not
enter are none for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field

from gitfed.edges.kube.connection.session import Session
from gitfed.errors import CredentialsError, NotThere
from gitfed.fleet_api.request import RequestInfo
from gitfed.hub.access.rights import Rights
from gitfed.hub.doors import entry
from gitfed.hub.doors.member_sessions import MemberSessions
from gitfed.hub.server import Hub
from gitfed.model.fleet import Reach as Health
from gitfed.text.values import dataclass


@dataclass(slots=True)
class Scope:
    sessions: list[Session] = field(default_factory=list)
    """In the order of their names."""
    away: list[str] = field(default_factory=list)
    """Clusters that are left out."""
    warnings: list[str] = field(default_factory=list)
    """Why clusters are left out."""

    @property
    def names(self) -> list[str]:
        return [session.cluster for session in self.sessions]

    def headers(self) -> Iterator[tuple[str, str]]:
        for text in dict.fromkeys(self.warnings):
            quoted = text.replace("\\", "\\\\").replace('"', '\\"')
            yield "Warning", f'299 gitfed "{"".join(letter if letter.isprintable() else " " for letter in quoted)}"'


def of(hub: Hub, reach: MemberSessions, rights: Rights, about: RequestInfo) -> Scope | None:
    """None: there is no cluster that the caller may enter for this."""
    made, any_of_them = Scope(), False
    facts = hub.running.facts
    for name in reach.declared():
        if not entry.may(rights, name, about):
            continue
        any_of_them = True
        believed = facts.get(name)
        if believed is not None and believed.reach is not Health.READY:
            made.away.append(name)
            made.warnings.append(f"cluster {name} is not ready: what it has is left out")
            continue
        try:
            made.sessions.append(reach.session(name))
        except (NotThere, CredentialsError) as error:
            made.away.append(name)
            made.warnings.append(f"{error.message}: what it has is left out")
    return made if any_of_them else None


def still(about: RequestInfo, clusters: list[str]) -> Callable[[Rights], bool]:
    """Whether a caller may still see what they see of these."""
    return lambda rights: all(entry.may(rights, name, about) for name in clusters)
