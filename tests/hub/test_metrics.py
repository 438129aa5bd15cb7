"""What Prometheus is told: the names, the values, and that its own tools find nothing wrong with them."""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import threading
from pathlib import Path

import yaml

from gitfed.daemon.telemetry import Histogram, Telemetry
from gitfed.hub.metrics import exposition
from gitfed.hub.running import Running
from gitfed.model.base import ObjectKey
from gitfed.model.decisions import Decision, EvictionTask, FailoverState, Scheduled, ScheduledCondition
from gitfed.model.fleet import ApplyResult, ClusterFacts, Reach
from gitfed.model.plan import Action, Change, Gate
from tests.cli.values import plan
from tests.hub.stage import Recorded, cluster, get, policy, snapshot, staged, user
from tests.support import needs

ROOT = Path(__file__).parents[2]
TOOL = ROOT / "tools" / "metrics_reference.py"
ALERTS = ROOT / "deploy" / "prometheus" / "alerts.yaml"
DASHBOARD = ROOT / "deploy" / "grafana" / "gitfed.json"
VIEWER = policy("viewer", subjects=[user("ann")], allow=["view"])
WEB = ObjectKey("apps", "Deployment", "shop", "web")
NAME = re.compile(r"\bgitfed_[a-z0-9_]+")


def _samples(text: str) -> dict[str, float]:
    lines = (line.rpartition(" ") for line in text.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, _, value in lines}


def _full() -> Running:
    """A fleet with something of everything."""
    telemetry = Telemetry()
    for table in (telemetry.phases, telemetry.waits, telemetry.git):
        table["m1"].observe(0.3)
    telemetry.requests["m1", "GET", "200"] += 2
    change = Change("m1", WEB, "apps/v1", Action.UPDATE, drift=True)
    telemetry.finished(change, ApplyResult("m1", WEB, "configured"))
    telemetry.finished(change, ApplyResult("m1", WEB, "failed"))
    task = EvictionTask("m1", {"fromCluster": "m1", "reason": "TaintUntolerated"})
    decided = Decision(
        WEB,
        "apps/v1",
        Scheduled((), condition=ScheduledCondition(True, "Success", "")),
        failover=FailoverState(evictions=(task,)),
    )
    telemetry.decided({}, {WEB: decided}, [WEB])
    amounts = {"cpu": "1500m", "memory": "1Gi", "pods": "110"}
    summary = {"allocatable": amounts, "allocated": {"cpu": "x"}}
    facts = {"m1": ClusterFacts("m1", resource_summary=summary), "m2": ClusterFacts("m2", reach=Reach.UNKNOWN)}
    gates = (Gate("deletion percent", "25%", "51%", held=51), Gate("quota shop/a cpu", "1", "2", held=2),
             Gate("quota shop/b cpu", "1", "2", held=3))  # fmt: skip
    recorded = Recorded(snapshot(VIEWER, cluster("m1"), cluster("m2")), plan([], gates=gates), facts=facts)
    return Running(recorded, telemetry)


async def test_values_are_those_of_the_fleet(tmp_path: Path) -> None:
    async with staged(tmp_path, running=_full()) as hub:
        status, text = await get(hub, "/metrics", token="ann")
    found = _samples(text)
    assert status == 200
    expected = {
        'gitfed_cluster_ready{cluster="m1"}': 1, 'gitfed_cluster_ready{cluster="m2"}': 0,
        'gitfed_cluster_allocatable_cpu_cores{cluster="m1"}': 1.5,
        'gitfed_cluster_allocatable_memory_bytes{cluster="m1"}': 2**30,
        'gitfed_gate_held{gate="deletion percent"}': 51, 'gitfed_gate_held{gate="quota"}': 5,
        'gitfed_changes_total{action="update",cluster="m1",outcome="configured"}': 1,
        'gitfed_changes_total{action="update",cluster="m1",outcome="failed"}': 1,
        'gitfed_drift_repairs_total{cluster="m1"}': 1,
        'gitfed_evictions_total{cluster="m1",reason="TaintUntolerated"}': 1,
        'gitfed_scheduling_attempts_total{result="scheduled"}': 1,
        'gitfed_scheduling_attempts_total{result="unschedulable"}': 0,
        'gitfed_cluster_requests_total{cluster="m1",code="200",verb="GET"}': 2,
        'gitfed_queue_wait_seconds_bucket{cluster="m1",le="0.1"}': 0,
        'gitfed_queue_wait_seconds_bucket{cluster="m1",le="0.5"}': 1,
        'gitfed_queue_wait_seconds_count{cluster="m1"}': 1,
        'gitfed_queue_wait_seconds_sum{cluster="m1"}': 0.3,
        "gitfed_leader": 0,
    }  # fmt: skip
    assert {name: found.get(name) for name in expected} == expected
    assert 'gitfed_cluster_allocated_cpu_cores{cluster="m1"}' not in found, "no cluster makes us believe nonsense"


def _complaints(text: str) -> str:
    done = subprocess.run(["promtool", "check", "metrics"], input=text, text=True, capture_output=True, check=False)
    assert (done.returncode == 0) is (done.stdout + done.stderr == "")
    return done.stdout + done.stderr


@needs.program("promtool")
async def test_promtool_finds_nothing_wrong_with_any_metric(tmp_path: Path) -> None:
    async with staged(tmp_path, running=_full()) as hub:
        text = (await get(hub, "/metrics", token="ann"))[1]
    assert _complaints(text) == ""


def test_every_metric_is_exposed_under_the_name_that_the_page_gives() -> None:
    for metric in runpy.run_path(str(TOOL))["metrics"]():
        value = Histogram() if metric.kind == "histogram" else 1
        text = exposition.text([(metric, [(tuple("x" for _ in metric.labels), value)])]).decode()
        assert f"# TYPE {metric.name} {metric.kind}\n" in text


def test_the_page_of_metrics_is_up_to_date() -> None:
    tool = runpy.run_path(str(TOOL))
    assert tool["PAGE"].read_text(encoding="utf-8") == tool["page"](), "run: python tools/metrics_reference.py"


# -- alerts and dashboard ---------------------------------------------------------------------------------------


def _known() -> set[str]:
    metrics = runpy.run_path(str(TOOL))["metrics"]()
    parts = {f"{one.name}_{part}" for one in metrics if one.kind == "histogram" for part in ("bucket", "sum", "count")}
    return {one.name for one in metrics if one.kind != "histogram"} | parts


def test_every_alert_asks_for_metrics_that_exist() -> None:
    rules = [rule for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]]
    asked = [set(NAME.findall(rule["expr"])) for rule in rules]
    assert all(asked)
    assert set().union(*asked) - _known() == set()


def test_every_query_of_the_dashboard_names_a_metric_that_exists() -> None:
    dashboard = json.loads(DASHBOARD.read_text())
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    queries += [one["query"]["query"] for one in dashboard["templating"]["list"] if one["type"] == "query"]
    for query in queries:
        names = set(NAME.findall(query))
        assert names, query
        assert names - _known() == set(), query
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])


@needs.program("promtool")
def test_every_query_of_the_dashboard_is_one(tmp_path: Path) -> None:
    dashboard = json.loads(DASHBOARD.read_text())
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    rules = [
        {"record": f"q:{number}", "expr": query.replace("$__rate_interval", "5m").replace("$cluster", "x")}
        for number, query in enumerate(queries)
    ]
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": [{"name": "g", "rules": rules}]}))
    done = subprocess.run(
        ["promtool", "check", "rules", str(tmp_path / "rules.yaml")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@needs.program("promtool")
def test_alerts_fire_when_and_only_when_they_should() -> None:
    done = subprocess.run(
        ["promtool", "test", "rules", "alerts.test.yaml"],
        cwd=ALERTS.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_alert_has_a_test() -> None:
    names = [rule["alert"] for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]]
    tests = yaml.safe_load((ALERTS.parent / "alerts.test.yaml").read_text())["tests"]
    fired = {one["alertname"] for test in tests for one in test["alert_rule_test"] if one["exp_alerts"]}
    assert set(names) == fired


# -- counting ---------------------------------------------------------------------------------------------------


def test_a_histogram_counts_at_most_and_above() -> None:
    histogram = Histogram((1.0, 2.0))
    for value in (0.5, 1.0, 1.5, 9.0):
        histogram.observe(value)
    assert histogram.cumulative() == [("1.0", 2), ("2.0", 3), ("+Inf", 4)]
    assert (histogram.count, histogram.total) == (4, 12.0)


def test_an_eviction_is_counted_when_it_is_decided_and_not_again() -> None:
    telemetry = Telemetry()
    task = EvictionTask("m1", {"fromCluster": "m1", "reason": "somebody's own words"})
    before, after = (
        Decision(WEB, "apps/v1", Scheduled(())),
        Decision(WEB, "apps/v1", Scheduled(()), failover=FailoverState(evictions=(task,))),
    )
    telemetry.decided({WEB: before}, {WEB: after}, [WEB])
    telemetry.decided({WEB: after}, {WEB: after}, [WEB])
    assert telemetry.evictions == {("m1", "other"): 1}


def test_git_commands_are_counted_from_any_thread() -> None:
    telemetry = Telemetry()

    def fetch() -> None:
        for _ in range(200):
            with telemetry.remote("fetch"):
                pass

    threads = [threading.Thread(target=fetch) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    try:
        with telemetry.remote("fetch"):
            raise OSError
    except OSError:
        pass
    assert (telemetry.git["fetch"].count, telemetry.git_failures["fetch"]) == (801, 1)
