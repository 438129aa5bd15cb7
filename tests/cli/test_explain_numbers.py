"""How the numbers behind a placement are shown, and what validation says of odd placements."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

from gitfed.cli.commands.look import validate
from gitfed.cli.output import explain_numbers, plain
from gitfed.placement.capacity.estimate import Estimate
from gitfed.placement.explain import explain
from gitfed.views import explanations
from tests.placement.make import policy
from tests.placement.reference import spread

ONE = explain.ClusterExplanation(
    cluster="eu-1", rejected=(), filters=(), score=100, tier=0, before=2, estimates=(Estimate("nodes", 5, "cpu"),),
    room=5, weight=5, exact=3.4, share=3, chosen=True, changes=(),
)  # fmt: skip
TWO = explain.ClusterExplanation(
    cluster="eu-2", rejected=("no",), filters=("TaintToleration",), score=0, tier=None, before=None,
    estimates=(), room=None, weight=None, exact=None, share=None, chosen=False, changes=("tolerate gpu:NoSchedule",),
)  # fmt: skip
STORY = explain.PlacementExplanation("divided by dynamic weights", "", 3, 5, (ONE, TWO), ("room for 1 more replicas",))


def test_numbers_and_advice_are_shown() -> None:
    assert list(explain_numbers.lines(explanations.numbers(STORY), plain.Paint(on=False))) == [
        "Numbers  divided by dynamic weights, 3 wanted, room for 5",
        "  CLUSTER   ROOM   LIMITED BY   WEIGHT   PART       SCORE",
        "  eu-1      5      nodes: cpu   5        3.40 → 3   100",
        "What would change the answer",
        "  workload   room for 1 more replicas",
        "  eu-2       tolerate gpu:NoSchedule",
    ]


def test_nothing_is_shown_where_nothing_counts() -> None:
    assert (
        list(
            explain_numbers.lines(
                explanations.numbers(explain.PlacementExplanation("", "", 0, None, (), ())), plain.Paint(on=False)
            )
        )
        == []
    )


def test_a_document_holds_all_of_it() -> None:
    told = explanations.numbers(STORY)
    assert (told["room"], told["wouldChange"]) == (5, ["room for 1 more replicas"])
    assert told["clusters"][0]["estimates"] == [{"estimator": "nodes", "replicas": 5, "limitedBy": "cpu"}]
    assert (told["clusters"][1]["rejected"], told["clusters"][1]["filters"]) == (["no"], ["TaintToleration"])


def test_each_estimator_is_shown_where_there_are_several() -> None:
    two = replace(ONE, estimates=(Estimate("node grades", 7, "cpu"), Estimate("nodes", 5, "cpu")), exact=None, before=3)
    assert list(
        explain_numbers.lines(explanations.numbers(replace(STORY, clusters=(two,), changes=())), plain.Paint(on=False))
    )[1:] == [
        "  CLUSTER   ROOM   LIMITED BY   ESTIMATES                WEIGHT   PART     SCORE",
        "  eu-1      5      nodes: cpu   node grades 7, nodes 5   5        3 kept   100",
    ]


def test_validation_tells_what_a_policy_relies_on() -> None:
    odd = policy("p", placement={"spreadConstraints": spread("cluster 1")})
    found = list(validate.oddities(SimpleNamespace(propagation=[odd])))  # type: ignore[arg-type]
    assert [problem.message for problem in found] == [
        "PropagationPolicy/shop/p: spreading by cluster without maxGroups has no upper limit; "
        "Karmada would select nothing"
    ]
