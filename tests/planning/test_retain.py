"""What is sent when an object is updated (Karmada: policies §5.6)."""

from __future__ import annotations

from typing import Any

import pytest

from gitfed.edges.kube import adopt
from gitfed.interpret.native import Native
from gitfed.interpret.registry import Interpreter, InterpretError, Operation, OperationInputs
from gitfed.model.base import Body
from gitfed.planning.objects import diff, retain

NATIVE = Interpreter([Native()])
RETAIN = {"resourcetemplate.karmada.io/retain-replicas": "true"}


def deployment(replicas: int | None = 3, labels: dict[str, str] | None = None, **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "labels": RETAIN if labels is None else labels, **metadata},
        "spec": {} if replicas is None else {"replicas": replicas},
    }


def manager(name: str, fields: dict[str, Any], operation: str = "Apply") -> dict[str, Any]:
    return {"manager": name, "operation": operation, "fieldsV1": fields}


def taken_over(live: Body) -> Body:
    entries = [{**entry, "apiVersion": live["apiVersion"]} for entry in live["metadata"]["managedFields"]]
    seen = {**live, "metadata": {**live["metadata"], "managedFields": entries}}
    return adopt.migrated(seen, adopt.patch(seen, manager="gitfed"))


REPLICAS: dict[str, Any] = {"f:spec": {"f:replicas": {}}}


def test_without_the_label_the_manifest_is_sent() -> None:
    assert retain.for_apply(deployment(labels={}), deployment(7, {}, resourceVersion="5"), NATIVE) is None


def test_a_field_that_another_manager_owns_is_left_out() -> None:
    live = deployment(
        7, resourceVersion="5", managedFields=[manager("gitfed", REPLICAS), manager("hpa", REPLICAS, "Update")]
    )
    sent = retain.for_apply(deployment(), live, NATIVE)
    assert sent is not None
    assert sent["spec"] == {}
    assert "resourceVersion" not in sent["metadata"]


@pytest.mark.parametrize("observed", [7, 3])
def test_a_field_that_is_ours_alone_is_sent_as_observed_with_its_version(observed: int) -> None:
    """Also when it is equal: an autoscaler that scales between look and write must win."""
    live = deployment(observed, resourceVersion="5", managedFields=[manager("gitfed", REPLICAS)])
    sent = retain.for_apply(deployment(), live, NATIVE)
    assert sent is not None
    assert sent["spec"] == {"replicas": observed}
    assert sent["metadata"]["resourceVersion"] == "5"


def test_what_the_cluster_gave_and_nobody_asked_for_is_not_sent() -> None:
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": []}}
    live = {**service, "metadata": {"name": "s", "resourceVersion": "5"}, "spec": {"clusterIP": "10.0.0.1"}}
    assert retain.for_apply(service, live, NATIVE) is None


def test_a_headless_service_keeps_the_address_it_has() -> None:
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"clusterIP": "None"}}
    live = {**service, "metadata": {"name": "s", "resourceVersion": "5"}, "spec": {"clusterIP": "10.0.0.1"}}
    sent = retain.for_apply(service, live, NATIVE)
    assert sent is not None
    assert sent["spec"] == {"clusterIP": "10.0.0.1"}
    assert sent["metadata"]["resourceVersion"] == "5"


def test_pull_secrets_of_others_are_sent_with_ours() -> None:
    account = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": "a"},
        "imagePullSecrets": [{"name": "x"}],
    }
    live = {**account, "metadata": {"name": "a", "resourceVersion": "5"}, "imagePullSecrets": [{"name": "y"}]}
    sent = retain.for_apply(account, live, NATIVE)
    assert sent is not None
    assert sent["imagePullSecrets"] == [{"name": "x"}, {"name": "y"}]
    assert retain.for_apply(account, {**live, "imagePullSecrets": [{"name": "x"}]}, NATIVE) is None


class Custom:
    """A rule that keeps `spec.size`, or fails."""

    name = "custom"

    def __init__(self, *, fails: bool = False) -> None:
        self.fails = fails

    def handles(self, api_version: str, kind: str, operation: Operation) -> bool:
        return kind == "Widget" and operation is Operation.RETAIN

    def answer(self, operation: Operation, inputs: OperationInputs) -> Any:
        if self.fails:
            raise InterpretError("the script failed")
        return {**inputs.object, "spec": {**inputs.object["spec"], "size": (inputs.observed or {})["spec"]["size"]}}


def widget(size: int, **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "e.com/v1", "kind": "Widget", "metadata": {"name": "w", **metadata}, "spec": {"size": size}}


def test_a_rule_of_its_own_is_asked() -> None:
    interpreter = Interpreter([Custom(), Native()])
    live = widget(9, resourceVersion="5")
    sent = retain.for_apply(widget(1), live, interpreter)
    assert sent == widget(9, resourceVersion="5")
    taken = widget(9, resourceVersion="5", managedFields=[manager("scaler", {"f:spec": {"f:size": {}}}, "Update")])
    without = retain.for_apply(widget(1), taken, interpreter)
    assert without is not None
    assert without["spec"] == {}


class Takes:
    """A rule that answers with the observed object, `over` put upon it."""

    name = "custom"

    def __init__(self, **over: Any) -> None:
        self.over = over

    def handles(self, api_version: str, kind: str, operation: Operation) -> bool:
        return operation is Operation.RETAIN

    def answer(self, operation: Operation, inputs: OperationInputs) -> Any:
        assert inputs.observed is not None
        return {**inputs.observed, **self.over}


def test_a_rule_may_take_over_all_metadata_and_only_what_is_meant_is_sent() -> None:
    interpreter = Interpreter([Takes()])
    desired = widget(1, labels={"gitfed.io/federation": "acme", "app": "w"})
    system = {"uid": "u", "generation": 3, "managedFields": [], "finalizers": ["f"]}
    live = widget(9, resourceVersion="5", labels={"app": "x"}, **system)
    live["status"] = {"phase": "on"}
    assert retain.wanted(desired, live, interpreter) == widget(9, labels={"gitfed.io/federation": "acme", "app": "x"})
    sent = retain.for_apply(desired, live, interpreter)
    assert sent == widget(9, resourceVersion="5", labels={"gitfed.io/federation": "acme", "app": "x"})


@pytest.mark.parametrize(
    ("over", "message"),
    [
        ({"kind": "Gadget"}, 'Widget Retain: kind was "Widget" and must stay so, not become "Gadget"'),
        ({"apiVersion": "e.com/v2"},
         'Widget Retain: apiVersion was "e.com/v1" and must stay so, not become "e.com/v2"'),
        ({"metadata": {"name": "x"}}, 'Widget Retain: metadata.name was "w" and must stay so, not become "x"'),
        ({"metadata": {"name": "w", "namespace": "n"}},
         'Widget Retain: metadata.namespace was null and must stay so, not become "n"'),
    ],
)  # fmt: skip
def test_a_rule_must_not_make_another_object_of_it(over: dict[str, Any], message: str) -> None:
    with pytest.raises(retain.RetainError) as caught:
        retain.wanted(widget(1), widget(9), Interpreter([Takes(**over)]))
    assert str(caught.value) == message


def test_of_a_list_that_others_own_in_part_the_whole_answer_is_sent() -> None:
    """Leaving the list out would take our own items away."""
    owner = manager("other", {"f:spec": {"f:items": {'k:{"name":"b"}': {"f:name": {}}}}})
    whole = manager("other", {"f:spec": {"f:items": {}}})
    desired, live = widget(1), widget(1, resourceVersion="5", managedFields=[owner])
    desired["spec"] = {"items": [{"name": "a"}]}
    live["spec"] = {"items": [{"name": "a"}, {"name": "b"}]}
    sent = retain.for_apply(desired, live, Interpreter([Takes()]))
    assert sent is not None
    assert sent["spec"] == live["spec"]
    live["metadata"]["managedFields"] = [whole]
    sent = retain.for_apply(desired, live, Interpreter([Takes()]))
    assert sent is not None
    assert sent["spec"] == {}


def test_what_a_rule_made_of_both_is_sent_whoever_owns_the_field() -> None:
    live = widget(9, resourceVersion="5", managedFields=[manager("scaler", {"f:spec": {"f:size": {}}}, "Update")])
    sent = retain.for_apply(widget(1), live, Interpreter([Takes(spec={"size": 5})]))
    assert sent is not None
    assert sent["spec"] == {"size": 5}


def test_when_an_object_is_adopted_nothing_is_left_to_its_earlier_writers() -> None:
    """Their fields become ours: what we then leave out would go."""
    live = widget(9, resourceVersion="5", managedFields=[manager("kubectl", {"f:spec": {"f:size": {}}}, "Update")])
    sent = retain.for_apply(widget(1), taken_over(live), Interpreter([Custom()]))
    assert sent == widget(9, resourceVersion="5")
    scaled = deployment(7, resourceVersion="5", managedFields=[manager("kubectl", REPLICAS, "Update")])
    sent = retain.for_apply(deployment(), taken_over(scaled), NATIVE)
    assert sent is not None
    assert sent["spec"] == {"replicas": 7}


def test_a_field_of_an_earlier_writer_is_kept_though_the_manifest_lacks_it() -> None:
    """Karmada creates a Job with an empty selector, and so owns the one that the server generates."""
    job: Body = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "once"}, "spec": {"parallelism": 1}}
    selector = {"matchLabels": {"batch.kubernetes.io/controller-uid": "6f"}}
    theirs = manager("karmada-controller-manager", {"f:spec": {"f:selector": {}}}, "Update")
    live: Body = {
        **job,
        "metadata": {"name": "once", "resourceVersion": "5", "managedFields": [theirs]},
        "spec": {"parallelism": 1, "selector": selector},
    }
    sent = retain.for_apply(job, taken_over(live), NATIVE)
    assert sent is not None
    assert sent["spec"] == {"parallelism": 1, "selector": selector}
    left = manager("job-operator", {"f:spec": {"f:selector": {}}}, "Update")
    live["metadata"]["managedFields"] = [left]
    assert retain.for_apply(job, taken_over(live), NATIVE) is None


def test_a_rule_of_its_own_replaces_the_native_one() -> None:
    """Karmada: interpreters, precedence: the first source that handles a kind decides alone."""

    class Nothing(Takes):
        def answer(self, operation: Operation, inputs: OperationInputs) -> Any:
            return inputs.object

    interpreter = Interpreter([Nothing(), Native()])
    live = deployment(7, resourceVersion="5", managedFields=[manager("gitfed", REPLICAS)])
    sent = retain.for_apply(deployment(), live, interpreter)
    assert sent is not None
    assert sent["spec"] == {"replicas": 3}


def test_a_rule_that_fails_stops_the_write() -> None:
    with pytest.raises(retain.RetainError, match="the script failed") as caught:
        retain.for_apply(widget(1), widget(9), Interpreter([Custom(fails=True)]))
    assert caught.value.permanent


def test_only_an_object_with_fields_of_the_cluster_must_be_read_before_it_is_written() -> None:
    assert retain.reads_live(deployment(), NATIVE)
    assert not retain.reads_live(deployment(labels={}), NATIVE)
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a"}}
    assert retain.reads_live({**account, "imagePullSecrets": [{"name": "x"}]}, NATIVE)
    assert not retain.reads_live(account, NATIVE)
    assert retain.reads_live(widget(1), Interpreter([Custom(), Native()]))
    assert not retain.reads_live(widget(1), NATIVE)


def test_a_field_inside_a_value_that_somebody_owns_as_a_whole_is_theirs() -> None:
    annotated = deployment(3, {}, annotations={"gitfed.io/ignore-differences": "/spec/selector/app"})
    desired = {**annotated, "spec": {"selector": {"app": "web"}}}
    live = {
        **desired,
        "metadata": {**desired["metadata"], "managedFields": [manager("other", {"f:spec": {"f:selector": {}}})]},
    }
    sent = retain.for_apply(desired, live, NATIVE)
    assert sent is not None
    assert sent["spec"] == {"selector": {}}


def test_the_generated_selector_of_an_adopted_job_is_no_difference() -> None:
    """It was sent along, so the server records it as ours: to take it away was tried for ever."""
    template = {"spec": {"containers": [{"name": "c", "image": "busybox"}], "restartPolicy": "Never"}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": {"template": template}}
    generated = {"batch.kubernetes.io/controller-uid": "u", "batch.kubernetes.io/job-name": "j"}
    fields: dict[str, Any] = {
        "f:spec": {"f:selector": {}, "f:template": {"f:metadata": {"f:labels": {}}, "f:spec": {"f:restartPolicy": {}}}}
    }
    live = {
        **job,
        "metadata": {"name": "j", "resourceVersion": "5", "managedFields": [manager("gitfed", fields)]},
        "spec": {"selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": "u"}},
                 "template": {**template, "metadata": {"labels": generated}}},
    }  # fmt: skip

    def found(live: dict[str, Any]) -> list[str]:
        ignored = diff.ignored_pointers(job, live)
        return [one.pointer for one in diff.diff(job, live, owned=diff.owned_fields(live, "gitfed"), ignore=ignored)]

    assert found(live) == []
    sent = retain.for_apply(job, live, NATIVE)
    assert sent is not None
    assert sent["spec"]["selector"] == live["spec"]["selector"]
    more = {**live["spec"]["selector"], "matchExpressions": [{"key": "a", "operator": "Exists"}]}
    assert found({**live, "spec": {**live["spec"], "selector": more}}) == ["/spec/selector"], "that one was ours"
