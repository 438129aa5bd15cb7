"""`gitfed.io/plan/v1`: exactly the members that scripts rely on."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from gitfed.cli import plan_file
from gitfed.cli.output import structured
from gitfed.errors import InputError
from gitfed.model.base import Origin, Problem, Severity
from gitfed.model.plan import Action, FieldChange, HeldDecision
from gitfed.model.reason import Reason, ReasonCode
from gitfed.views import plans
from tests.cli import values


def test_the_document_has_the_contracts_members() -> None:
    document = plans.document(values.contract_example().plan)
    assert {"schema", "commit", "base", "facts", "digest", "bindings", "changes", "gates", "problems", "totals"} <= set(
        document
    )
    assert document["schema"] == "gitfed.io/plan/v1"
    assert {"source", "commit", "takenAt"} <= set(document["facts"])
    assert document["facts"]["takenAt"] == "2026-08-22T10:04:00Z"
    assert set(document["totals"]) == {"create", "update", "move", "delete", "keep", "skip", "clusters"}
    assert document["gates"] == [
        {"name": "deletions", "limit": "5", "value": "0", "held": 0},
        {"name": "moved replicas", "limit": "20", "value": "4", "held": 0},
    ]


def test_a_binding() -> None:
    web = plans.document(values.contract_example().plan)["bindings"][1]
    assert web["resource"] == {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": "web"}
    assert web["policy"] == {"kind": "PropagationPolicy", "namespace": "shop", "name": "web"}
    assert web["clusters"] == [
        {"name": "eu-1", "replicas": 2, "components": []},
        {"name": "eu-2", "replicas": 4, "components": []},
        {"name": "us-1", "replicas": 4, "components": []},
    ]
    assert web["condition"] == {
        "type": "Scheduled", "status": "True", "reason": "Success",
        "message": "Binding has been scheduled successfully.",
    }  # fmt: skip
    assert web["rejected"] == {"us-2": "cluster(s) did not match the placement cluster affinity constraint"}
    assert web["affinityName"] == ""
    assert web["requirements"] is None
    assert web["components"] == []


def test_a_binding_says_what_a_gate_holds_beside_what_is_in_force() -> None:
    held = HeldDecision(values.binding(values.WEB, {"eu-2": 3}, "every matching cluster"), "moved replicas")
    made = values.plan([values.binding(values.WEB, {"eu-1": 2})], held_decisions={values.WEB: held})
    (web,) = plans.document(made)["bindings"]
    assert [one["name"] for one in web["clusters"]] == ["eu-1"]
    assert (web["held"]["gate"], web["held"]["why"]) == ("moved replicas", "every matching cluster")
    assert web["held"]["clusters"] == [{"name": "eu-2", "replicas": 3, "components": []}]


def test_a_kind_without_replicas_has_null() -> None:
    made = values.plan([values.binding(values.SPACE, {"eu-1": None}, policy=None)])
    (only,) = plans.document(made)["bindings"]
    assert only["clusters"] == [{"name": "eu-1", "replicas": None, "components": []}]
    assert only["policy"] is None


def test_a_change_says_before_and_after_and_what_is_missing_is_no_null() -> None:
    changes = plans.document(values.contract_example().plan)["changes"]
    assert [change["action"] for change in changes] == ["create", "update", "update", "delete", "keep"]
    assert changes[1]["diff"] == [{"path": "/spec/replicas", "before": 6, "after": 2}]
    assert changes[2]["diff"] == [{"path": "/spec/paused", "after": True}]
    assert {"cluster", "apiVersion", "kind", "namespace", "name", "action", "reason", "diff"} <= set(changes[0])


def test_a_problem() -> None:
    problem = Problem(Origin("a.yaml", 3, 4), "wrong", "right it", Severity.WARNING)
    assert plans.problem(problem) == {
        "path": "a.yaml", "line": 3, "column": 4, "severity": "warning", "message": "wrong", "hint": "right it",
    }  # fmt: skip


def test_clusters_that_were_not_read_are_told_from_clusters_without_changes() -> None:
    assert plans.document(values.plan([], None))["observed"] is False
    assert plans.document(values.plan([], []))["observed"] is True


def test_a_file_name_that_is_no_text_can_be_printed(capsys: pytest.CaptureFixture[str]) -> None:
    structured.echo({"path": b"caf\xe9.yaml".decode("utf-8", "surrogateescape")}, "json")
    assert orjson.loads(capsys.readouterr().out) == {"path": "caf\ufffd.yaml"}


# -- plan files -------------------------------------------------------------------------------------------------


def test_a_saved_plan_is_read_back_and_is_the_same(tmp_path: Path) -> None:
    plan = values.contract_example().plan
    plan_file.write(tmp_path / "plan.json", plan)
    saved = plan_file.read(tmp_path / "plan.json")
    assert (saved.commit, saved.digest) == (plan.commit, plan.digest)
    assert plan_file.differences(saved, plan) == []
    assert (tmp_path / "plan.json").stat().st_mode & 0o077 == 0


def test_a_plan_that_is_not_the_reviewed_one_says_what_is_different(tmp_path: Path) -> None:
    plan_file.write(tmp_path / "plan.json", values.contract_example().plan)
    other = values.plan(
        [values.binding(values.WEB, {"eu-1": 3})],
        [values.change(values.WEB, "eu-1", Action.UPDATE, Reason(ReasonCode.CHANGED_BY_OTHERS, "kubectl"))],
    )
    from dataclasses import replace

    from gitfed.model.base import Digest

    assert plan_file.differences(plan_file.read(tmp_path / "plan.json"), replace(other, digest=Digest("e" * 64))) == [
        "decision Deployment.apps/shop/cache: eu-1=2 eu-2=2 → nothing",
        "decision Deployment.apps/shop/web: eu-1=2 eu-2=4 us-1=4 → eu-1=3",
        "change eu-1 Deployment.apps/shop/web: update → update: changed by kubectl",
        "change eu-2 Deployment.apps/shop/web: update → nothing",
        "change us-1 Deployment.apps/shop/web: create → nothing",
        "change us-2 Deployment.apps/shop/cache: keep: orphaned: no policy selects its template any more → nothing",
        "change us-2 Deployment.apps/shop/web: delete: moved → nothing",
    ]


def test_a_plan_file_holds_no_values_of_fields(tmp_path: Path) -> None:
    made = values.plan(
        [], [values.change(values.WEB, "eu-1", Action.UPDATE, diff=(FieldChange("/data/x", "old", "new"),))]
    )
    plan_file.write(tmp_path / "plan.json", made)
    assert "new" not in (tmp_path / "plan.json").read_text()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "this is not a plan file: "),
        ("[]", "this is not a plan file (made by: gitfed plan --out FILE)"),
        (
            '{"schema": "gitfed.io/planfile/v1", "schemaVersion": 2}',
            "schemaVersion 2 is newer than this gitfed (it reads up to 1)",
        ),
        ('{"schema": "gitfed.io/planfile/v1", "schemaVersion": 1}', "commit is missing"),
    ],
    ids=["no JSON", "something else", "a newer format", "cut"],
)
def test_a_file_that_is_no_plan_is_refused(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "plan.json").write_text(content)
    with pytest.raises(InputError) as caught:
        plan_file.read(tmp_path / "plan.json")
    assert str(caught.value).startswith(f"{tmp_path / 'plan.json'}: {message}")
