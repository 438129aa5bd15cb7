"""Objects that are deleted because a person named them one by one."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from gitfed.model.base import ObjectKey
from gitfed.model.fleet import LiveObject
from gitfed.model.operator_orders import Removal
from gitfed.model.plan import Action, Change
from gitfed.model.reason import Reason, ReasonCode
from gitfed.planning.ordering import operator_orders

KEY = ObjectKey("", "ConfigMap", "shop", "web")
LIVE = LiveObject(KEY, "c1", "u1", "1", True)
KEPT = Change("c1", KEY, "v1", Action.KEEP, Reason(ReasonCode.ORPHANED), live=LIVE)
ORDER = Removal("c1", str(KEY), "u1", "ann", datetime(2026, 1, 1, tzinfo=UTC))


def test_a_kept_object_that_an_order_names_is_deleted() -> None:
    (change,) = operator_orders.remove([KEPT], [ORDER])
    assert change == replace(KEPT, action=Action.DELETE, reason=Reason(ReasonCode.REMOVED_BY_ORDER, "ann"))


@pytest.mark.parametrize(
    "change",
    [
        replace(KEPT, action=Action.UPDATE),
        replace(KEPT, move=True),
        replace(KEPT, live=None),
        replace(KEPT, live=replace(LIVE, ours=False)),
        replace(KEPT, live=replace(LIVE, uid="u2")),
        replace(KEPT, reason=Reason(ReasonCode.NOT_OBSERVED)),
        replace(KEPT, cluster="c2"),
    ],
    ids=["written", "moves", "not there", "not ours", "another one", "not observed", "elsewhere"],
)
def test_no_other_object_is(change: Change) -> None:
    assert operator_orders.remove([change], [ORDER]) == [change]
