"""For which cluster an agent connects: its own, or the one that a member of a pool says it holds.

A member names the cluster, itself, and how often the cluster's Lease had changed hands when it got it:
`?cluster=NAME&member=NAME&holding=NUMBER`. None of that is proven: a holder of a pool's certificate may speak for
any cluster of that pool, and for no other.
"""

from __future__ import annotations

from collections.abc import Mapping

from gitfed.model import agent_identity
from gitfed.model.agent_identity import AgentName
from gitfed.model.agent_presence import BY_ITSELF, Holding
from gitfed.model.base import ClusterName
from gitfed.model.declared import names
from gitfed.model.declared.cluster import LONGEST_NAME
from gitfed.text.values import dataclass

_LONGEST_MEMBER = 253
_MOST_DIGITS = 9


@dataclass(frozen=True, slots=True)
class Calling:
    cluster: ClusterName
    pool: str = ""
    """ "": it is the cluster's own agent."""
    holding: Holding = BY_ITSELF


def of(agent: AgentName, query: Mapping[str, str]) -> Calling | str:
    """What `agent` (as its certificate has it) asks for with this query; else what is wrong with the query."""
    pool = agent_identity.pool_in(agent)
    if not pool:
        return Calling(ClusterName(agent))
    cluster, member, number = (query.get(name, "") for name in ("cluster", "member", "holding"))
    if why := names.why_not_dns_label(cluster, LONGEST_NAME):
        return f"a member of a pool names the cluster that it holds: the name {why}"
    if not 0 < len(member) <= _LONGEST_MEMBER or not member.isascii() or not member.isprintable():
        return "a member of a pool names itself"
    if not 0 < len(number) <= _MOST_DIGITS or not (number.isascii() and number.isdigit()):
        return "a member of a pool says how often the Lease changed hands"
    return Calling(ClusterName(cluster), pool, Holding(member, int(number)))
