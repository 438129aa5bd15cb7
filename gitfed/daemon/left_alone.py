"""Where people stopped the daemon from writing, and where drift is left as it is."""

from __future__ import annotations

from gitfed.daemon.fleet.member_protocol import Repairs
from gitfed.daemon.services.exchange import UntouchedIn
from gitfed.model.base import ClusterName, ObjectKey
from gitfed.model.decisions import Decisions
from gitfed.model.operator_orders import Suspension
from gitfed.model.repo import RepoSnapshot
from gitfed.text.values import dataclass


@dataclass(frozen=True, slots=True)
class _Repairs:
    """Where drift is undone without an order."""

    self_heal: bool
    orders: tuple[Suspension, ...]

    def __call__(self, cluster: ClusterName, key: ObjectKey) -> bool:
        return self.self_heal and not any(order.covers(cluster, key) for order in self.orders)


def repairs(repo: RepoSnapshot, decisions: Decisions) -> Repairs:
    orders = tuple(order for order in decisions.suspensions if not order.scheduling)
    return _Repairs(repo.settings.spec.sync.self_heal, orders)


def by_order(decisions: Decisions) -> UntouchedIn:
    """Where a person stopped the daemon from writing."""
    orders = [order for order in decisions.suspensions if not order.scheduling]
    return lambda cluster, key: any(order.covers(cluster, key) for order in orders)
