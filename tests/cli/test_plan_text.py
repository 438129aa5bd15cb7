"""A plan as text: golden, checked by eye."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitfed.cli.output import matrix, plain, plan_text, reasons, table
from gitfed.model.base import BindingId, ObjectKey, Origin
from gitfed.model.decisions import Rejection, Scheduled, ScheduledCondition, Share
from gitfed.model.plan import Action, Binding, FieldChange, Gate, HeldDecision, PlacementReasons, Totals, Turn
from gitfed.model.reason import Reason, ReasonCode
from gitfed.views import names
from tests.cli import values
from tests.cli.world import golden

OFF, ON = plain.Paint(False), plain.Paint(True)


def text(view: plan_text.PlanComparison, **more: Any) -> str:
    return "\n".join(plan_text.lines(view, more.pop("paint", OFF), more.pop("width", 120), **more)) + "\n"


def test_the_references_example() -> None:
    golden("plan.txt", text(values.contract_example()))


def test_wide_shows_fields_too() -> None:
    golden("plan-wide.txt", text(values.contract_example(), wide=True))


def test_quiet_is_the_total_alone() -> None:
    assert text(values.contract_example(), quiet=True) == (
        "Total:  1 create, 2 update, 1 move, 0 delete, 1 keep in 4 of 4 clusters.\n"
    )


def test_every_colour_is_repeated_by_a_word_or_a_symbol() -> None:
    coloured = text(values.contract_example(), paint=ON)
    assert "\x1b[" in coloured
    assert re.sub("\x1b\\[[0-9;]*m", "", coloured) == text(values.contract_example())


def test_nothing_to_do_is_one_sentence() -> None:
    made = values.plan([values.binding(values.CACHE, {"eu-1": 2})], [])
    assert text(values.view(made, {values.CACHE: {"eu-1": 2}})).splitlines() == [
        "Nothing to do: 1 object in 4 clusters are as they should be."
    ]


def test_without_a_look_at_the_clusters_changes_are_not_observed() -> None:
    made = values.plan([values.binding(values.WEB, {"eu-1": 2}, "new")], None, notes=("Clusters not observed.",))
    shown = text(values.view(made))
    assert "note: Clusters not observed.\n" in shown
    assert "Changes   not observed\n" in shown
    assert shown.endswith("Total:  1 object placed in 1 of 4 clusters; changes not observed.\n")


def test_a_held_gate_says_so() -> None:
    made = values.plan(
        [values.binding(values.WEB, {"eu-1": 2})],
        [values.change(values.WEB, "eu-2", Action.SKIP, Reason(ReasonCode.GATE, "deletions", detail="7 of at most 5"))],
        [Gate("deletions", "5", "7", 7), Gate("moved replicas", "20", "4")],
        totals=Totals(skip=7, of_clusters=4),
    )
    shown = text(values.view(made, {values.WEB: {"eu-1": 2}}))
    assert "Gates   deletions 7/5 HELD 7 changes · moved replicas 4/20 ok\n" in shown
    assert "  skip   shop/Deploy/web   eu-2   gate deletions: 7 of at most 5\n" in shown


def test_what_a_gate_holds_is_shown_as_it_would_go() -> None:
    made = values.plan(
        [values.binding(values.WEB, {"eu-1": 2}, "as before")],
        [values.change(values.WEB, "eu-2", Action.SKIP, Reason(ReasonCode.GATE, "moved replicas", detail="100%"))],
        [Gate("moved replicas", "25%", "100%", 1)],
        held_decisions={
            values.WEB: HeldDecision(
                values.binding(values.WEB, {"eu-2": 2}, "every matching cluster"), "moved replicas"
            )
        },
    )
    shown = text(values.view(made, {values.WEB: {"eu-1": 2}}))
    assert "2 → 0   0 → 2   –      –      2       held by gate moved replicas: every matching cluster\n" in shown


def test_a_quota_that_holds_says_what_it_does_not_allow() -> None:
    shown = text(values.view(values.plan([values.binding(values.WEB, {"eu-1": 2})], [], [values.QUOTA])))
    assert (
        "Gates   quota shop/all cpu 8/6 HELD 1 workload\n"
        "  FederatedResourceQuota(shop/all) exceeded for resource cpu: requested sum 8, limit 6.\n"
    ) in shown


def test_what_fits_nowhere_is_shown_with_the_reason() -> None:
    condition = ScheduledCondition(False, "NoClusterFit", "0/4 clusters are available: 4 no.")
    made = values.plan([values.binding(values.WEB, {"eu-1": 2}, condition=condition)])
    assert "NoClusterFit: 0/4 clusters are available: 4 no." in text(values.view(made, {values.WEB: {"eu-1": 2}}))


def test_a_template_that_was_removed_is_shown_leaving() -> None:
    shown = text(values.view(values.plan([]), {values.WEB: {"eu-1": 2}}))
    assert "shop/Deploy/web   2 → 0   –      –      –      –       removed from the repository\n" in shown


def test_many_unchanged_rows_are_counted() -> None:
    keys = [ObjectKey("", "ConfigMap", "shop", f"c{number:03}") for number in range(60)]
    bindings = [values.binding(key, {"eu-1": None}) for key in keys] + [values.binding(values.WEB, {"eu-1": 3}, "more")]
    view = values.view(values.plan(bindings), {**{key: {"eu-1": None} for key in keys}, values.WEB: {"eu-1": 2}})
    shown = text(view)
    assert "  and 60 unchanged (-o wide shows them)\n" in shown
    assert "shop/CM/c000" not in shown
    assert "shop/CM/c059" in text(view, wide=True)


# -- the placement table ----------------------------------------------------------------------------------------


def rows(clusters: int) -> list[matrix.MatrixRow]:
    many = {f"c{number:03}": 1 for number in range(clusters)}
    return [
        matrix.MatrixRow("shop/Deploy/web", {**many, "c000": 5}, {**many, "c000": 2, "new": 3}, "drained"),
        matrix.MatrixRow("shop/CM/settings", None, dict.fromkeys(many), "every matching cluster"),
    ]


def test_clusters_with_the_same_column_are_folded_when_the_terminal_is_narrow() -> None:
    found = matrix.lines(rows(40), [*(f"c{number:03}" for number in range(40)), "idle-1", "idle-2"], OFF, 100)
    golden("matrix-folded.txt", "\n".join(found) + "\n")


def test_a_very_narrow_terminal_gets_blocks() -> None:
    found = matrix.lines(rows(40), [*(f"c{number:03}" for number in range(40)), "idle-1"], OFF, 40)
    golden("matrix-blocks.txt", "\n".join(found) + "\n")


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        (None, {"a": 4}, "4"),
        ({"a": 4}, {"a": 4}, "4"),
        ({"a": 6}, {"a": 2}, "6 → 2"),
        ({}, {"a": 4}, "0 → 4"),
        ({"a": 4}, {}, "4 → 0"),
        ({}, {"a": None}, "– → ✓"),
        ({"a": None}, {}, "✓ → –"),
        ({"a": None}, {"a": None}, "✓"),
        ({"a": None}, {"a": 3}, "✓ → 3"),
        ({}, {}, "–"),
        (None, {}, "–"),
    ],
    ids=str,
)
def test_a_cell(before: dict[str, int | None] | None, after: dict[str, int | None], shown: str) -> None:
    assert matrix.cell(matrix.MatrixRow("x", before, after, ""), "a", OFF).text == shown


@given(
    st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 99)),
    st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 99)),
    st.integers(10, 200),
)
def test_every_form_of_the_table_shows_every_change(before: dict[str, int], after: dict[str, int], width: int) -> None:
    found = "\n".join(matrix.lines([matrix.MatrixRow("web", before, after, "why")], list("abcdefgh"), OFF, width))
    for cluster in before.keys() | after.keys():
        one, other = before.get(cluster, 0), after.get(cluster, 0)
        if one != other:
            assert f"{one} → {other}" in found


HOSTILE = ObjectKey("apps", "Deployment", "a-namespace-with-a-name-of-just-under-63", "x" * 63)
WIDE = ObjectKey("", "ConfigMap", "商店", "設定" * 9)
LONG = "leaves 東京-1: cluster(s) had untolerated taint {maintenance=until-the-end-of-the-week:NoExecute}, \x1b[2J"


def crowded() -> plan_text.PlanComparison:
    """Everything that a plan can print, with names that no terminal has room for."""
    clusters = ("c" * 40, "東京-1", *(f"edge-{number:02}" for number in range(20)))
    every = dict.fromkeys(clusters, 2)
    bindings = [
        values.binding(HOSTILE, every, LONG),
        values.binding(WIDE, dict.fromkeys(clusters), "every matching cluster"),
        values.binding(values.WEB, {"東京-1": 3}, condition=ScheduledCondition(False, "NoClusterFit", LONG * 2)),
    ]
    diff = (FieldChange("/spec/template/metadata/annotations/a", "one two " * 12, "商 店 " * 20),)
    wave_1 = Turn(wave=1, waits=LONG)
    changes = [
        values.change(HOSTILE, clusters[1], Action.UPDATE, diff=diff),
        *(replace(values.change(HOSTILE, name, Action.UPDATE), turn=wave_1) for name in clusters[2:]),
        *(values.change(WIDE, name, Action.SKIP, Reason(ReasonCode.GATE, "moved", detail=LONG)) for name in clusters),
    ]
    gates = [Gate("deletions", "5", "7", 7, messages=(LONG * 2,)), Gate(f"quota {'q' * 50}/all cpu", "6", "8")]
    made = values.plan(bindings, changes, gates, notes=(LONG * 2,), totals=Totals(update=21, skip=22, of_clusters=22))
    return values.view(replace(made, clusters=clusters), {values.WEB: {clusters[0]: 3}})


@pytest.mark.parametrize("wide", [False, True], ids=["text", "wide"])
@pytest.mark.parametrize("columns", [40, 80, 120])
def test_no_line_of_a_plan_is_longer_than_the_terminal_but_one_word(columns: int, wide: bool) -> None:
    shown = plan_text.lines(crowded(), OFF, 10_000 if wide else columns, wide=wide, fold=columns)
    assert [line for line in shown if plain.width(line) > columns and " " in line.strip()] == []
    assert not any("\x1b" in line for line in shown)
    coloured = plan_text.lines(crowded(), ON, 10_000 if wide else columns, wide=wide, fold=columns)
    assert [re.sub("\x1b\\[[0-9;]*m", "", line) for line in coloured] == shown


def test_a_plan_on_a_terminal() -> None:
    golden("plan-80.txt", "\n".join(plan_text.lines(crowded(), OFF, 80, wide=True, fold=80)) + "\n")


def test_a_plan_on_a_terminal_says_what_it_says_in_a_pipe() -> None:
    words = "".join(text(crowded(), width=10_000, wide=True)).split()
    assert sorted("".join(plan_text.lines(crowded(), OFF, 10_000, wide=True, fold=80)).replace(" ", "")) == sorted(
        "".join(words)
    )


def test_a_long_reason_takes_no_cluster_its_column() -> None:
    row = matrix.MatrixRow("shop/Deploy/web", {"a": 1}, {"b": 1}, "leaves a: had untolerated taint {drain:NoExecute}")
    assert matrix.lines([row], ["a", "b"], OFF, 66, fold=66) == [
        "  WORKLOAD         a      b      TOTAL  WHY",
        "  shop/Deploy/web  1 → 0  0 → 1  1      leaves a: had untolerated",
        "                                        taint {drain:NoExecute}",
    ]


# -- small things -----------------------------------------------------------------------------------------------


@given(st.text())
def test_cleaned_text_has_nothing_that_acts_on_a_terminal(hostile: str) -> None:
    cleaned = plain.clean(hostile)
    assert all(character.isprintable() or character in "\u3000\xa0" or not character.isascii() for character in cleaned)
    assert "\x1b" not in cleaned
    assert "\n" not in cleaned
    assert "\u202e" not in cleaned


def test_columns_line_up_by_what_a_terminal_shows() -> None:
    assert table.lines([["名前", "x"], ["ab", table.Cell("y", ON.added)]]) == ["名前   x", "ab     \x1b[32my\x1b[0m"]


@pytest.mark.parametrize(
    ("key", "shown"),
    [
        (values.WEB, "shop/Deploy/web"),
        (values.SPACE, "NS/shop"),
        (ObjectKey("argoproj.io", "Rollout", "shop", "web"), "shop/Rollout.argoproj.io/web"),
        (ObjectKey("rbac.authorization.k8s.io", "ClusterRole", "", "view"), "ClusterRole/view"),
        (ObjectKey("example.com", "Deployment", "shop", "web"), "shop/Deployment.example.com/web"),
    ],
    ids=str,
)
def test_objects_are_called(key: ObjectKey, shown: str) -> None:
    assert names.shown(key) == shown


@pytest.mark.parametrize(
    "spelling",
    [
        "deploy/shop/web",
        "Deployment/shop/web",
        "deployments/web",
        "DEPLOYMENT.apps/shop/web",
        "deploy/web",
        "deployments.apps/web",
    ],
)
def test_every_spelling_of_kubectl_finds_the_object(spelling: str) -> None:
    assert names.find(spelling, [values.WEB, values.CACHE, values.SPACE]) == values.WEB


@pytest.mark.parametrize(
    ("spelling", "message"),
    [
        ("deploy/shop/wbe", "no object 'deploy/shop/wbe' in the repository (did you mean deploy/shop/web?)"),
        ("web", "'web' does not name an object (KIND/NAME or KIND/NAMESPACE/NAME, e.g. deploy/shop/web)"),
        (
            "deploy//web",
            "'deploy//web' does not name an object (KIND/NAME or KIND/NAMESPACE/NAME, e.g. deploy/shop/web)",
        ),
        ("zzz/qqq", "no object 'zzz/qqq' in the repository (gitfed get bindings lists them)"),
        ("deploy/twin", "'deploy/twin' may be Deployment.apps/a/twin or Deployment.apps/b/twin (say which)"),
    ],
)
def test_a_spelling_that_finds_nothing_says_what_was_meant(spelling: str, message: str) -> None:
    twins = [ObjectKey("apps", "Deployment", space, "twin") for space in "ab"]
    from gitfed.errors import UsageError

    with pytest.raises(UsageError) as caught:
        names.find(spelling, [values.WEB, values.SPACE, *twins])
    assert str(caught.value) == message


def test_why_a_cluster_was_left_is_said_once_whatever_the_words() -> None:
    key = ObjectKey("apps", "Deployment", "shop", "web")
    rejections = (Rejection("a", "cluster(s) had untolerated taint {drain:NoExecute}"),)
    binding = Binding(
        BindingId("b"),
        key,
        "apps/v1",
        Origin("web.yaml"),
        Scheduled((Share("b", 1),), replicas=1),
        reasons=PlacementReasons("leaves nothing to wish for", rejections=rejections),
    )
    assert reasons.chosen(binding, {"a": 1}) == "leaves a: had untolerated taint {drain:NoExecute}"
    leaving = replace(binding, reasons=replace(binding.reasons, leaves=True))
    assert reasons.chosen(leaving, {"a": 1}) == "leaves nothing to wish for"
