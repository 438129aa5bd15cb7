"""What commands say of autoscalers: when rules run, what was decided, and where the template's number stands."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import yaml

from gitfed.autoscaling import federated
from gitfed.documents import bindings
from gitfed.documents.state_commits import Message
from gitfed.edges import git
from gitfed.edges.state.state import BranchState, StateBranch
from gitfed.model.decisions import Decisions
from gitfed.model.scaling import AutoscalerRecord
from tests.autoscaling import test_cron_rules, test_federated
from tests.cli.world import commit, gitfed

HOURS = """\
apiVersion: autoscaling.karmada.io/v1alpha1
kind: CronFederatedHPA
metadata: {name: hours, namespace: shop}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  rules:
  - {name: morning, schedule: 0 8 * * *, timeZone: Europe/Berlin, targetReplicas: 12}
  - {name: night, schedule: 0 22 * * *, targetReplicas: 2, suspend: true}
"""
NOW = ("--now", "2026-08-22T10:04:00Z")
MORNING = datetime(2026, 8, 22, 6, tzinfo=UTC)
BY = "CronFederatedHPA.autoscaling.karmada.io/shop/hours"


def decide(fleet: Path) -> None:
    """What a daemon would have recorded this morning."""
    rules = yaml.safe_load(HOURS)["spec"]["rules"]
    remember(fleet, test_cron_rules.after(test_cron_rules.declared(*rules), None, MORNING.replace(hour=5), MORNING))


def remember(fleet: Path, record: AutoscalerRecord) -> None:
    branch = StateBranch(git.Repository.open(fleet), bindings)
    empty = BranchState(None, Decisions(known=False))
    decisions = replace(empty.decisions, repository_id="r", autoscalers={record.key: record})
    branch.write(empty, replace(empty, decisions=decisions), message=Message("Decide"), now=MORNING)


def test_get_autoscalers_tells_what_was_decided_and_what_comes(fleet: Path) -> None:
    commit(fleet, {"hours.yaml": HOURS})
    decide(fleet)
    shown = gitfed("get", "autoscalers", *NOW)
    assert (
        shown.out
        == """\
NAME         TARGET            RULE      SCHEDULE                  REPLICAS   NEXT                   DECIDED
shop/hours   shop/Deploy/web   morning   0 8 * * * Europe/Berlin   12         2026-08-23T06:00:00Z   12 since \
2026-08-22T06:00:00Z
shop/hours   shop/Deploy/web   night     0 22 * * *                2          suspended              –
"""
    )
    [one] = json.loads(gitfed("get", "cronfhpa", "hours", "-o", "json", *NOW).out)["items"]
    assert (one["declared"], one["decided"]["replicas"]) == (6, 12)
    assert [rule["last"] for rule in one["rules"]] == [
        {"scheduleTime": "2026-08-22T06:00:00Z", "executionTime": "2026-08-22T06:00:00Z", "message": ""}, None,
    ]  # fmt: skip
    assert gitfed("get", "autoscalers", "-n", "other", *NOW).err == "No autoscalers found.\n"


def test_plan_explain_and_validate_say_whose_number_counts(fleet: Path) -> None:
    commit(fleet, {"hours.yaml": HOURS})
    decide(fleet)
    start = "its template's 6 is its starting point"
    note = f"note: Deployment.apps/shop/web has 12 replicas by {BY} (rule morning); {start}."
    assert note in gitfed("plan", *NOW).out.splitlines()
    told = "to 12 by CronFederatedHPA/shop/hours, rule morning, since 2026-08-22T06:00:00Z; its template's 6 is where"
    explained = gitfed("explain", "deploy/shop/web", *NOW).out
    assert f"  Scaled      {told} it starts from" in explained.splitlines()
    assert "  Replicas    12" in explained.splitlines()
    validated = gitfed("validate")
    assert f"the 6 replicas of Deployment.apps/shop/web are its starting point: {BY} decides how many" in validated.err


def test_simulate_needs_no_event_where_the_clock_decides(fleet: Path) -> None:
    refused = gitfed("simulate", "--until", "24h", *NOW)
    assert (refused.code, refused.err.splitlines()[0]) == (2, "error: nothing happens")
    commit(fleet, {"hours.yaml": HOURS})
    told = gitfed("simulate", "--until", "24h", *NOW)
    assert f"{BY} ran morning: Deployment.apps/shop/web gets replicas 12" in told.out


def test_a_target_that_is_not_there_is_an_error_at_its_line(fleet: Path) -> None:
    commit(fleet, {"hours.yaml": HOURS.replace("kind: Deployment", "kind: StatefulSet")})
    result = gitfed("validate")
    assert result.code == 3
    assert result.out.splitlines()[0] == (
        f"hours.yaml:5:60: {BY}: there is no StatefulSet.apps/shop/web (did you mean Deployment.apps/shop/web?)"
    )


def test_a_plan_of_one_changed_file_knows_the_target_in_another(fleet: Path) -> None:
    """What is planned of a small change is what all files together would give."""
    commit(fleet, {"hours.yaml": HOURS, "apps/other.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: o}}"})
    gitfed("diff", *NOW)  # remembers what stands where
    commit(fleet, {"apps/other.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: o}, data: {a: b}}"})
    again = gitfed("diff", *NOW)
    assert "there is no" not in again.out + again.err


LOAD = """\
apiVersion: autoscaling.karmada.io/v1alpha1
kind: FederatedHPA
metadata: {name: web, namespace: shop}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  maxReplicas: 100
  metrics:
  - {type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}
"""


def test_an_autoscaler_by_load_shows_its_metrics_and_what_follows(fleet: Path) -> None:
    commit(fleet, {"load.yaml": LOAD})
    [row] = gitfed("get", "fhpa", *NOW).out.splitlines()[1:]
    assert row.split() == ["shop/web", "shop/Deploy/web", "by", "cpu", "unknown", "of", "50%", "1…100", "–", "–"]
    seen = test_federated.load(MORNING, eu=test_federated.cluster(6, 90, at=MORNING))
    declared = test_federated.declared()
    record = federated.record(declared, None, test_federated.look(declared, 6, seen), MORNING)
    remember(fleet, record)
    [row] = gitfed("get", "autoscalers", *NOW).out.splitlines()[1:]
    decided = "11 since 2026-08-22T06:00:00Z"
    assert row.split() == f"shop/web shop/Deploy/web by cpu 90% of 50% 1…100 – {decided}".split()
    [one] = json.loads(gitfed("get", "autoscalers", "-o", "json", *NOW).out)["items"]
    assert [(each["type"], each["status"]) for each in one["conditions"]] == [
        ("AbleToScale", "True"), ("ScalingActive", "True"), ("ScalingLimited", "False"),
    ]  # fmt: skip
    told = "to 11 by FederatedHPA/shop/web (cpu is 90%, 50% is wanted), since 2026-08-22T06:00:00Z; its template's 6 is"
    explained = gitfed("explain", "deploy/shop/web", *NOW).out.splitlines()
    assert f"  Scaled      {told} where it starts from" in explained
    rights = gitfed("rbac", "--cluster", "eu-1").out
    assert "deployments/scale" in rights
    assert "metrics.k8s.io" in rights
