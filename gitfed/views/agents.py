"""The agents of pulled clusters: `gitfed.io/agents/v1`."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Literal, NotRequired

from gitfed.documents.bindings import time_text
from gitfed.model import agent_identity
from gitfed.model.agent_presence import AgentPresence
from gitfed.model.base import ClusterName
from gitfed.model.repo import RepoSnapshot
from gitfed.views.value import Time, View

SCHEMA: Literal["gitfed.io/agents/v1"] = "gitfed.io/agents/v1"


class SliceView(View):
    """What an agent is to know, counted by its changes since the hub began."""

    wanted: int
    """How many there were."""
    held: int
    """Up to which of them the agent has all, as it acknowledged."""


class AgentView(View):
    """The agent of one pulled cluster."""

    cluster: str
    name: str
    """The common name of its certificate."""
    state: Literal["Connected", "Disconnected", "NeverConnected", "NotDeclared", "Unknown"]
    """NeverConnected: not since the hub began. NotDeclared: registered, and no file declares the cluster as pulled.
    Unknown: the hub that answers does not lead, so no agent connects to it."""
    connectedSince: Time | None
    lastHeard: Time | None
    """Agents say something every ten seconds or so; null: nothing was heard since the hub began."""
    connections: int
    """That there were since the hub began."""
    instance: str
    """The process of the agent that is connected, or was last; "" while none was."""
    program: str
    """What that says that it is: `gitfed` and its version."""
    protocol: int | None
    """The version of the protocol that both sides speak."""
    slice: SliceView | None
    """null: the hub that answers does not lead."""
    certificateEnds: Time | None
    """null: no certificate counts for this cluster, so that its agent cannot connect; or nobody could find out."""


class AgentList(View):
    """Agents, by cluster."""

    schema: Literal["gitfed.io/agents/v1"]
    items: list[AgentView]
    total: int
    next: NotRequired[str]
    """What `continue` gives the next page; missing on the last one."""


def clusters(repo: RepoSnapshot, certificates: Mapping[ClusterName, datetime]) -> list[ClusterName]:
    """Those that have an agent, or are to have one."""
    pulled = {name for name, one in repo.clusters.items() if one.spec.sync_mode == "Pull"}
    return sorted(pulled | certificates.keys())


def item(
    cluster: ClusterName, repo: RepoSnapshot, presence: AgentPresence | None, ends: datetime | None, *, leads: bool
) -> AgentView:
    """`leads`: whether agents connect to the process that asks."""
    declared = repo.clusters.get(cluster)
    pulled = declared is not None and declared.spec.sync_mode == "Pull"
    known = presence or AgentPresence()
    state: Literal["Connected", "Disconnected", "NeverConnected", "NotDeclared", "Unknown"]
    if not pulled:
        state = "NotDeclared"
    elif not leads:
        state = "Unknown"
    elif known.connected is not None:
        state = "Connected"
    else:
        state = "Disconnected" if known.heard is not None else "NeverConnected"
    return {
        "cluster": cluster,
        "name": agent_identity.common_name(cluster),
        "state": state,
        "connectedSince": _time(known.connected),
        "lastHeard": _time(known.heard),
        "connections": known.connections,
        "instance": known.instance,
        "program": known.program,
        "protocol": known.protocol,
        "slice": {"wanted": known.wanted, "held": known.held} if presence is not None else None,
        "certificateEnds": _time(ends),
    }


def _time(when: datetime | None) -> str | None:
    return time_text(when) if when is not None else None
