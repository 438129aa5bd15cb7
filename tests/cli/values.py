"""Plans made by hand, for printers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from gitfed.cli.output import plan_text
from gitfed.model.base import BindingId, Commit, Digest, ObjectKey, Origin
from gitfed.model.decisions import Decision, PolicyRef, Rejection, Scheduled, ScheduledCondition, Share
from gitfed.model.fleet import FactsRef
from gitfed.model.plan import Action, Binding, Change, FieldChange, Gate, PlacementReasons, Plan, Totals, Turn, Write
from gitfed.model.reason import NO_REASON, Reason, ReasonCode

NOW = datetime(2026, 8, 22, 10, 4, tzinfo=UTC)
WEB = ObjectKey("apps", "Deployment", "shop", "web")
CACHE = ObjectKey("apps", "Deployment", "shop", "cache")
SPACE = ObjectKey("", "Namespace", "", "shop")
WEB_POLICY = PolicyRef("PropagationPolicy", "shop", "web")
SUCCESS = ScheduledCondition(True, "Success", "Binding has been scheduled successfully.")


def binding(
    key: ObjectKey,
    shares: Mapping[str, int | None],
    why: str = "",
    condition: ScheduledCondition = SUCCESS,
    rejections: tuple[Rejection, ...] = (),
    policy: PolicyRef | None = WEB_POLICY,
) -> Binding:
    made = tuple(Share(name, number) for name, number in sorted(shares.items()))
    numbers = [number for number in shares.values() if number is not None]
    return Binding(
        id=BindingId("abcdefgh23456789"),
        key=key,
        api_version="apps/v1" if key.group else "v1",
        origin=Origin("apps/web.yaml", 1, 1),
        scheduled=Scheduled(made, policy, replicas=sum(numbers) if numbers else None, condition=condition),
        reasons=PlacementReasons(why, rejections=rejections),
        decision=Decision(key, "apps/v1", Scheduled(made)),
    )


def change(
    key: ObjectKey,
    cluster: str,
    action: Action,
    reason: Reason = NO_REASON,
    diff: tuple[FieldChange, ...] = (),
    waits: str = "",
    **more: Any,
) -> Change:
    write, turn = Write(diff=diff), Turn(waits=waits)
    return Change(cluster, key, "apps/v1", action, reason, write=write, turn=turn, **more)


def plan(
    bindings: Sequence[Binding], changes: Sequence[Change] | None = None, gates: Sequence[Gate] = (), **more: Any
) -> Plan:
    settings: dict[str, Any] = {"totals": Totals(of_clusters=4), "problems": (), **more}
    return Plan(
        commit=Commit("3f2c1a9" + "0" * 33), base=Commit("9d0e771" + "0" * 33),
        facts=FactsRef("facts branch", taken_at=NOW, digest="51c0" + "0" * 60), now=NOW, federation="acme",
        bindings={item.key: item for item in bindings}, rendered={},
        changes=None if changes is None else tuple(changes), gates=tuple(gates),
        digest=Digest("d" * 64), clusters=("eu-1", "eu-2", "us-1", "us-2"), **settings,
    )  # fmt: skip


def view(made: Plan, before: Mapping[ObjectKey, Mapping[str, int | None]] | None = None) -> plan_text.PlanComparison:
    return plan_text.PlanComparison(made, before or {})


def contract_example() -> plan_text.PlanComparison:
    """The plan that the reference shows: web moves away from a drained cluster, cache stays."""
    rejected = (Rejection("us-2", "cluster(s) did not match the placement cluster affinity constraint"),)
    made = plan(
        [
            binding(CACHE, {"eu-1": 2, "eu-2": 2}),
            binding(WEB, {"eu-1": 2, "eu-2": 4, "us-1": 4}, "taint eu-1:drain", rejections=rejected),
        ],
        [
            change(WEB, "us-1", Action.CREATE),
            change(WEB, "eu-1", Action.UPDATE, diff=(FieldChange("/spec/replicas", 6, 2),)),
            change(WEB, "eu-2", Action.UPDATE, diff=(FieldChange("/spec/paused", absent_before=True, after=True),)),
            change(WEB, "us-2", Action.DELETE, Reason(ReasonCode.MOVED), move=True),
            change(CACHE, "us-2", Action.KEEP, Reason(ReasonCode.ORPHANED)),
        ],
        [Gate("deletions", "5", "0"), Gate("moved replicas", "20", "4")],
        totals=Totals(create=1, update=2, move=1, keep=1, clusters=4, of_clusters=4),
    )
    return view(made, {WEB: {"eu-1": 6, "eu-2": 4}, CACHE: {"eu-1": 2, "eu-2": 2}})


QUOTA = Gate(
    "quota shop/all cpu", "6", "8", 1,
    ("FederatedResourceQuota(shop/all) exceeded for resource cpu: requested sum 8, limit 6.",), consent=False,
)  # fmt: skip
"""A federated quota that refuses one workload."""
