"""What one look at a workload makes of its load: proposals, limits, conditions, and what is written down."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitfed.autoscaling import federated
from gitfed.autoscaling.federated import ScalingObservation
from gitfed.documents import autoscalers
from gitfed.model.base import ClusterName
from gitfed.model.declared.federated_hpa import FederatedHPA
from gitfed.model.load import ClusterLoad, Load, PodLoad, Reading, Sample
from gitfed.model.scaling import AutoscalerRecord, Scale
from tests.autoscaling.metrics import CPU, QUEUE, declared
from tests.autoscaling.recorded import NOW


def pods(count: int, **more: Any) -> tuple[PodLoad, ...]:
    old = NOW - timedelta(hours=1)
    return tuple(PodLoad(f"web-{i}", **{"phase": "Running", "leaving": False, "ready": "True", **more},
                         ready_since=old, started=old) for i in range(count))  # fmt: skip


def cluster(count: int, used: int, *, at: datetime = NOW, value: int | None = None, **more: Any) -> ClusterLoad:
    """`count` pods, each of which requests 100 thousandths of a core and uses `used`."""
    samples = {f"web-{i}": Sample(used, at, 15) for i in range(count)}
    requests = {f"web-{i}": 100 for i in range(count)}
    reading = Reading(samples, requests, value, at)
    return replace(ClusterLoad(count, count, pods(count), (reading, reading)), **more)


def load(now: datetime = NOW, **clusters: ClusterLoad) -> Load:
    return Load({ClusterName(name): one for name, one in clusters.items()}, now)


def look(
    one: FederatedHPA, present: int, seen: Load, past: AutoscalerRecord | None = None, proposed: Any = ()
) -> ScalingObservation:
    return federated.look(one, federated.bounds(one, None), present, seen, past, proposed)


def told(found: ScalingObservation) -> list[str]:
    return [f"{one.type} {one.holds} {one.reason}" + (f": {one.message}" if one.message else "")
            for one in found.status.conditions]  # fmt: skip


def test_what_pods_of_all_clusters_use_counts_together() -> None:
    found = look(declared(), 4, load(m1=cluster(2, 100), m2=cluster(2, 50)))
    assert (found.desired, found.why) == (6, "cpu is 75%, 50% is wanted")
    assert told(found) == [
        "AbleToScale True ReadyForNewScale",
        "ScalingActive True ValidMetricFound: cpu",
        "ScalingLimited False DesiredWithinRange",
    ]


def test_pods_of_a_duplicated_workload_count_as_one_replica_each() -> None:
    """Three clusters with four each, twice what is wanted: eight in each of them, not twenty-four."""
    found = look(declared(), 4, load(m1=cluster(4, 100), m2=cluster(4, 100), m3=cluster(4, 100)))
    assert found.desired == 8


def test_pods_of_two_clusters_with_the_same_name_are_two_pods() -> None:
    """Those of a StatefulSet are called web-0 everywhere: both count, and neither takes the other's place."""
    found = look(declared(), 2, load(m1=cluster(1, 100), m2=cluster(1, 0)))
    assert (found.desired, found.status.metrics[0].current) == (2, "50%")


def test_a_small_difference_changes_nothing() -> None:
    assert look(declared(), 4, load(m1=cluster(4, 54))).desired == 4


def test_a_cluster_that_cannot_be_read_is_taken_to_be_as_the_others() -> None:
    found = look(declared(), 4, load(m1=cluster(2, 100), m2=ClusterLoad(unread="connection refused")))
    assert found.desired == 8


def test_when_no_cluster_can_be_read_the_number_stays() -> None:
    found = look(declared(), 4, load(m1=ClusterLoad(unread="connection refused")))
    assert found.desired == 4
    assert told(found) == ["AbleToScale False FailedGetScale: no cluster has replicas of it; m1: connection refused"]


def test_pods_of_a_cluster_without_metrics_count_against_either_direction() -> None:
    """Up: as if they used nothing. Down: as if they used all that they request."""
    silent = cluster(2, 0, readings=(Reading(requests={"web-0": 100, "web-1": 100}, unread="no metrics.k8s.io"),))
    assert look(declared(), 4, load(m1=cluster(2, 150), m2=silent)).desired == 6
    assert look(declared(), 4, load(m1=cluster(2, 10), m2=silent)).desired == 4


@pytest.mark.parametrize(
    "sample",
    [Sample(-500, NOW, 15), Sample(500, NOW - timedelta(minutes=6), 15)],
    ids=["is negative", "is older than five minutes"],
)
def test_a_sample_that_can_mean_nothing_is_missing(sample: Sample) -> None:
    samples = {"web-0": Sample(100, NOW, 15), "web-1": sample}
    reading = Reading(samples, {"web-0": 100, "web-1": 100})
    found = look(declared(), 2, load(m1=cluster(2, 0, readings=(reading,))))
    assert (found.desired, found.status.metrics[0].current) == (2, "100%")


def test_a_metric_that_nobody_tells_leaves_the_number_as_it_is() -> None:
    nothing = cluster(2, 0, readings=(Reading(unread="the server has no metrics.k8s.io"),))
    found = look(declared(), 2, load(m1=nothing))
    assert (found.desired, found.status.metrics[0].current) == (2, "")
    assert told(found) == [
        "ScalingActive False FailedGetMetrics: cpu: no values were received of any ready pod or object: "
        "the server has no metrics.k8s.io"
    ]


def test_a_container_without_a_request_makes_a_utilization_unknown() -> None:
    why = "container app of pod web-0 requests no cpu"
    found = look(declared(), 2, load(m1=cluster(2, 0, readings=(Reading(invalid=why),))))
    assert told(found) == [f"ScalingActive False FailedGetMetrics: cpu: {why}"]


def test_the_highest_of_all_metrics_counts() -> None:
    found = look(declared(CPU, QUEUE), 4, load(m1=cluster(4, 50, value=300_000)))
    assert (found.desired, found.why) == (8, "external jobs is 300, 100 is wanted"), "doubled at most at once"
    assert told(found)[2] == "ScalingLimited True ScaleUpLimit"


@pytest.mark.parametrize(
    ("value", "message"),
    [(-5000, "a cluster tells a negative value, -5"), (None, "no values were received of any ready pod or object")],
    ids=["is negative", "is missing"],
)
def test_one_unknown_metric_keeps_the_others_from_going_down_only(value: int | None, message: str) -> None:
    one = declared(CPU, QUEUE)
    assert look(one, 4, load(m1=cluster(4, 100, value=value))).desired == 8
    found = look(one, 4, load(m1=cluster(4, 10, value=value)))
    assert (found.desired, told(found)) == (4, [f"ScalingActive False FailedGetMetrics: external jobs: {message}"])


def test_values_of_several_clusters_are_added() -> None:
    found = look(declared(QUEUE), 4, load(m1=cluster(2, 0, value=100_000), m2=cluster(2, 0, value=50_000)))
    assert (found.desired, found.status.metrics[0].current) == (6, "150")


def test_a_value_for_each_pod_is_divided_by_what_the_clusters_have() -> None:
    per_pod = {"type": "External", "external": {"metric": {"name": "jobs"},
               "target": {"type": "AverageValue", "averageValue": "10"}}}  # fmt: skip
    both = load(m1=cluster(4, 0, value=80_000), m2=cluster(4, 0, value=80_000))
    found = look(declared(per_pod), 4, both)
    assert found.desired == 8, "160 / 10 are sixteen pods, eight in each of two clusters that have all of it"


@pytest.mark.parametrize(("present", "desired"), [(2, 3), (12, 10)])
def test_a_number_beyond_its_bounds_is_put_there_whatever_is_used(present: int, desired: int) -> None:
    found = look(declared(least=3, most=10), present, load(m1=cluster(present, 50)))
    assert found.desired == desired


def test_bounds_by_the_clock_replace_those_of_the_file() -> None:
    one = declared(least=2, most=10)
    assert federated.bounds(one, Scale(min_replicas=5)) == federated.Bounds(5, 10)
    assert federated.bounds(one, Scale(max_replicas=1)) == federated.Bounds(1, 1), "never more than the upper one"


def test_a_workload_with_no_replicas_is_not_scaled() -> None:
    found = look(declared(), 0, load(m1=cluster(0, 0)))
    assert (found.desired, told(found)[0].partition(":")[0]) == (0, "ScalingActive False ScalingDisabled")


def test_a_cluster_that_got_no_replicas_changes_nothing() -> None:
    alone, beside = load(m1=cluster(4, 100)), load(m1=cluster(4, 100), m2=cluster(0, 0))
    assert look(declared(), 4, beside).desired == look(declared(), 4, alone).desired == 8


def test_an_autoscaler_inside_of_a_cluster_stops_this_one() -> None:
    found = look(declared(), 4, load(m1=cluster(2, 100), m2=cluster(2, 100, scaled_by="inner")))
    assert (found.desired, told(found)) == (
        4,
        [
            "AbleToScale False ScaledInCluster: Deployment.apps/shop/web is scaled by HorizontalPodAutoscaler inner "
            "in m2 too"
        ],
    )


def test_it_goes_down_only_after_the_highest_proposal_is_five_minutes_old() -> None:
    one, proposed, present = declared(), (), 4
    numbers = {}
    for second in range(0, 340, 20):
        now = NOW + timedelta(seconds=second)
        used = 100 if second == 0 else 10
        found = look(one, present, load(now, m1=cluster(present, used, at=now)), None, proposed)
        present, proposed, numbers[second] = found.desired, found.proposed, found.desired
    assert {numbers[second] for second in range(0, 301, 20)} == {8}
    assert numbers[320] == 2, "a fifth of eight, rounded up"


def test_a_policy_of_its_behavior_counts_changes_that_are_recorded() -> None:
    slow = {"scaleUp": {"policies": [{"type": "Pods", "value": 2, "periodSeconds": 60}]}}
    one, record, proposed, present = declared(behavior=slow), None, (), 4
    numbers = []
    for second in range(0, 121, 15):
        now = NOW + timedelta(seconds=second)
        found = look(one, present, load(now, m1=cluster(present, 200, at=now)), record, proposed)
        record = federated.record(one, record, found, now)
        record = autoscalers.record_of(autoscalers.document(record))  # as another leader reads it
        present, proposed = found.desired, ()
        numbers.append(present)
    assert numbers == [6, 6, 6, 6, 8, 8, 8, 8, 10]


def test_only_a_new_number_is_written_at_once() -> None:
    one = declared()
    first = look(one, 4, load(m1=cluster(4, 50)))
    record = federated.record(one, None, first, NOW)
    assert (record.decided, record.status is not None) == (None, True), "that it was looked at is told once"
    soon, later = NOW + timedelta(seconds=15), NOW + timedelta(minutes=5)
    lost = look(one, 4, load(soon, m1=cluster(4, 0, readings=())), record)
    assert federated.record(one, record, lost, soon) is record, "other conditions wait for five minutes"
    assert federated.record(one, record, replace(lost, status=replace(lost.status, at=later)), later) is not record
    grown = look(one, 4, load(soon, m1=cluster(4, 100, at=soon)), record)
    written = federated.record(one, record, grown, soon)
    assert written.decided == Scale(8, at=soon, why="cpu is 100%, 50% is wanted")
    again = look(one, 8, load(soon, m1=cluster(8, 50, at=soon)), written)
    assert federated.record(one, written, again, soon) is written


_CLUSTERS = st.dictionaries(
    st.sampled_from(["m1", "m2", "m3"]), st.tuples(st.integers(0, 9), st.integers(-5, 400)), min_size=1
)


@given(_CLUSTERS, st.integers(0, 30), st.integers(1, 5), st.integers(0, 30))
def test_whatever_is_observed_the_number_is_within_its_bounds(
    clusters: dict[str, tuple[int, int]], present: int, least: int, room: int
) -> None:
    one = declared(CPU, QUEUE, least=least, most=least + room)
    seen = load(**{name: cluster(count, used, value=used * 1000) for name, (count, used) in clusters.items()})
    found = look(one, present, seen)
    assert found.desired == present or least <= found.desired <= least + room
    assert look(one, present, load(**dict(reversed(list(seen.clusters.items()))))) == found, "in any order"
    record = federated.record(one, None, found, NOW)
    assert autoscalers.record_of(autoscalers.document(record)) == record
