"""Who is asked what, what is never sent, and which answers are believed."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitfed.interpret import responses, webhooks
from gitfed.interpret.registry import (
    Interpretation,
    Interpreter,
    InterpretError,
    Operation,
    OperationInputs,
    Replicas,
    Unknown,
)
from gitfed.model.base import Body
from gitfed.model.declared.interpreter import ResourceInterpreterWebhookConfiguration
from gitfed.model.webhook import NoReply, ServiceAddress, WebhookQuestion

WORKLOAD: Body = {
    "apiVersion": "workload.example.io/v1alpha1",
    "kind": "Workload",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {"replicas": 3, "paused": False},
}
EVERYTHING = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "kinds": ["*"]}


def hook(name: str = "w.example.com", rules: list[dict[str, Any]] | None = None, **members: Any) -> dict[str, Any]:
    return {
        "name": name,
        "clientConfig": {"url": "https://hooks.example.com/interpret"},
        "rules": [EVERYTHING] if rules is None else rules,
        "interpreterContextVersions": ["v1alpha1"],
        **members,
    }


def configuration(*hooks: dict[str, Any], name: str = "hooks") -> ResourceInterpreterWebhookConfiguration:
    return ResourceInterpreterWebhookConfiguration.model_validate(
        {
            "apiVersion": "config.karmada.io/v1alpha1",
            "kind": "ResourceInterpreterWebhookConfiguration",
            "metadata": {"name": name},
            "webhooks": list(hooks),
        }
    )


class Asked:
    """Answers every question alike and remembers them."""

    def __init__(self, response: Body | None = None) -> None:
        self.response = NoReply("is not there") if response is None else response
        self.questions: list[WebhookQuestion] = []

    def __call__(self, question: WebhookQuestion) -> Body | NoReply:
        self.questions.append(question)
        return self.response


def asking(*configurations: ResourceInterpreterWebhookConfiguration, response: Any = None) -> tuple[Interpreter, Asked]:
    asked = Asked(response)
    return Interpreter([webhooks.Webhooks(configurations or (configuration(hook()),), asked)]), asked


def question(
    operation: Operation, inputs: OperationInputs, *configurations: ResourceInterpreterWebhookConfiguration
) -> WebhookQuestion:
    asked = Asked()
    source = webhooks.Webhooks(configurations or (configuration(hook()),), asked)
    with pytest.raises(Exception, match="is not there"):
        source.answer(operation, inputs)
    return asked.questions[0]


def patching(*operations: Any) -> dict[str, Any]:
    encoded = base64.b64encode(json.dumps(operations).encode()).decode()
    return {"successful": True, "patchType": "JSONPatch", "patch": encoded}


# -- who is asked -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "matches"),
    [
        pytest.param({}, True, id="all by wildcards"),
        pytest.param({"operations": ["InterpretReplica", "Retain"]}, True, id="the operation is among them"),
        pytest.param({"operations": ["Retain"]}, False, id="the operation is not among them"),
        pytest.param({"apiGroups": ["workload.example.io"]}, True, id="the group"),
        pytest.param({"apiGroups": [""]}, False, id="the core group only"),
        pytest.param({"apiGroups": ["example.io"]}, False, id="a group that only ends alike"),
        pytest.param({"apiVersions": ["v1alpha1"]}, True, id="the version"),
        pytest.param({"apiVersions": ["v1"]}, False, id="another version"),
        pytest.param({"kinds": ["Workload"]}, True, id="the kind"),
        pytest.param({"kinds": ["workload"]}, False, id="the kind in other letters"),
    ],
)
def test_a_rule_matches_when_all_four_parts_do(rule: dict[str, Any], matches: bool) -> None:
    source = webhooks.Webhooks([configuration(hook(rules=[EVERYTHING | rule]))], Asked())
    assert source.handles("workload.example.io/v1alpha1", "Workload", Operation.REPLICA) is matches


def test_a_webhook_without_rules_is_never_asked() -> None:
    source = webhooks.Webhooks([configuration(hook(rules=[]))], Asked())
    assert not source.handles("v1", "Pod", Operation.HEALTH)


def test_one_matching_rule_of_several_is_enough() -> None:
    rules = [EVERYTHING | {"kinds": ["A"]}, EVERYTHING | {"kinds": ["B"]}]
    source = webhooks.Webhooks([configuration(hook(rules=rules))], Asked())
    assert [source.handles("x/v1", kind, Operation.HEALTH) for kind in "ABC"] == [True, True, False]


def test_only_the_first_by_configuration_and_name_is_asked() -> None:
    interpreter, asked = asking(
        configuration(hook("a.example.com"), name="b"),
        configuration(hook("z.example.com"), hook("m.example.com"), name="a"),
    )
    interpreter.replicas(WORKLOAD)
    assert [one.webhook.name for one in asked.questions] == ["a/m.example.com"]


def test_the_first_version_that_is_spoken_is_used() -> None:
    one = question(
        Operation.HEALTH, OperationInputs(WORKLOAD), configuration(hook(interpreterContextVersions=["v2", "v1alpha1"]))
    )
    assert one.webhook.version == "v1alpha1"


def test_a_service_has_a_port_and_a_path() -> None:
    service = {"service": {"namespace": "tools", "name": "interpreter", "path": "/x"}}
    one = question(Operation.HEALTH, OperationInputs(WORKLOAD), configuration(hook(clientConfig=service)))
    assert (one.webhook.url, one.webhook.service) == ("", ServiceAddress("tools", "interpreter", 443, "/x"))
    assert one.webhook.timeout == 10


# -- what is sent -------------------------------------------------------------------------------------------------


def test_a_request_says_kind_name_namespace_operation_and_object() -> None:
    assert question(Operation.REPLICA, OperationInputs(WORKLOAD)).request == {
        "kind": {"group": "workload.example.io", "version": "v1alpha1", "kind": "Workload"},
        "name": "web",
        "namespace": "shop",
        "operation": "InterpretReplica",
        "object": WORKLOAD,
    }


def test_operations_that_need_more_get_it() -> None:
    observed = {**WORKLOAD, "spec": {"replicas": 9}}
    items = [{"clusterName": "m1", "applied": False, "status": {"a": 1}}]
    assert question(Operation.REVISE, OperationInputs(WORKLOAD, replicas=0)).request["replicas"] == 0
    assert question(Operation.RETAIN, OperationInputs(WORKLOAD, observed)).request["observedObject"] == observed
    sent = question(Operation.AGGREGATE, OperationInputs(WORKLOAD, items=items)).request["aggregatedStatus"]
    assert sent == [{"clusterName": "m1", "status": {"a": 1}}]


def test_a_secret_is_never_sent_whatever_the_rules_say() -> None:
    source = webhooks.Webhooks([configuration(hook(rules=[EVERYTHING, EVERYTHING | {"kinds": ["Secret"]}]))], Asked())
    assert not any(source.handles("v1", "Secret", operation) for operation in Operation)
    assert source.handles("example.com/v1", "Secret", Operation.HEALTH)


def test_a_secret_inside_of_another_object_is_sent_without_its_values() -> None:
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s", "annotations": {"copy": "aHVudGVyMg=="}},
        "data": {"password": "aHVudGVyMg=="},
        "stringData": {"plain": "hunter2"},
    }
    work = {**WORKLOAD, "spec": {"manifests": [{"deeper": [secret]}]}}
    for sent in (
        question(Operation.REPLICA, OperationInputs(work)).request,
        question(Operation.RETAIN, OperationInputs(WORKLOAD, work)).request,
    ):
        text = json.dumps(sent)
        assert "hunter2" not in text
        assert "aHVudGVyMg" not in text
        assert '"password": "***"' in text
    assert work["spec"]["manifests"][0]["deeper"][0] is secret  # type: ignore[index]


def test_what_the_server_keeps_for_itself_and_kubectls_copy_are_not_sent() -> None:
    copy = "kubectl.kubernetes.io/last-applied-configuration"
    observed = {
        **WORKLOAD,
        "metadata": {
            **WORKLOAD["metadata"],
            "resourceVersion": "7",
            "managedFields": [{"manager": "x"}],
            "annotations": {copy: "{}", "mine": "stays"},
        },
    }
    sent = question(Operation.RETAIN, OperationInputs(WORKLOAD, observed)).request["observedObject"]
    assert sent["metadata"] == {**WORKLOAD["metadata"], "annotations": {"mine": "stays"}}


def test_an_object_with_nothing_to_hide_is_sent_as_it_is_and_not_copied() -> None:
    assert webhooks.sendable(WORKLOAD) is WORKLOAD


# -- when two questions are one ------------------------------------------------------------------------------------


def test_certificate_timeout_and_object_version_do_not_change_a_questions_digest() -> None:
    renewed = configuration(
        hook(clientConfig={"url": "https://hooks.example.com/interpret", "caBundle": "bmV3"}, timeoutSeconds=30)
    )
    touched = {**WORKLOAD, "metadata": {**WORKLOAD["metadata"], "resourceVersion": "8"}}
    one = question(Operation.REPLICA, OperationInputs(WORKLOAD))
    assert question(Operation.REPLICA, OperationInputs(WORKLOAD), renewed).digest == one.digest
    assert question(Operation.REPLICA, OperationInputs(touched)).digest == one.digest


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(question(Operation.COMPONENT, OperationInputs(WORKLOAD)), id="operation"),
        pytest.param(question(Operation.REPLICA, OperationInputs({**WORKLOAD, "spec": {}})), id="object"),
        pytest.param(
            question(
                Operation.REPLICA, OperationInputs(WORKLOAD), configuration(hook(clientConfig={"url": "https://b/c"}))
            ),
            id="address",
        ),
        pytest.param(
            question(Operation.REPLICA, OperationInputs(WORKLOAD), configuration(hook("x.example.com"))), id="webhook"
        ),
    ],
)
def test_what_makes_it_another_question(other: WebhookQuestion) -> None:
    assert question(Operation.REPLICA, OperationInputs(WORKLOAD)).digest != other.digest


def test_each_number_of_replicas_is_a_question_of_its_own_about_one_subject() -> None:
    two, three = (question(Operation.REVISE, OperationInputs(WORKLOAD, replicas=n)) for n in (2, 3))
    assert two.digest != three.digest
    assert two.subject == three.subject


# -- what comes back ----------------------------------------------------------------------------------------------


def kept(operation: Operation, response: Any, **inputs: Any) -> Body:
    return responses.kept(operation, OperationInputs(WORKLOAD, **inputs), response)


def meaning(operation: Operation, response: Any, **inputs: Any) -> Any:
    given = OperationInputs(WORKLOAD, **inputs)
    return responses.value(operation, given, responses.kept(operation, given, response))


def test_every_operation_has_its_members() -> None:
    ok = {"successful": True}
    request = {"resourceRequest": {"cpu": 0.5}}
    assert meaning(Operation.REPLICA, {**ok, "replicas": 3}) == Replicas(3, None)
    assert meaning(Operation.REPLICA, {**ok, "replicas": 3, "replicaRequirements": request}) == Replicas(
        3, {"resourceRequest": {"cpu": "500m"}}
    )
    assert meaning(Operation.COMPONENT, {**ok, "components": [{"name": "a", "replicas": 2}]}) == (
        {"name": "a", "replicas": 2},
    )
    assert meaning(Operation.COMPONENT, ok) == ()
    assert meaning(Operation.STATUS, {**ok, "rawStatus": {"a": [1]}}) == {"a": [1]}
    assert meaning(Operation.HEALTH, {**ok, "healthy": False}) is False
    assert meaning(Operation.DEPENDENCY, ok) == ()
    maps = [{"apiVersion": "v1", "kind": "ConfigMap", "name": name} for name in ("b", "a")]
    assert [one["name"] for one in meaning(Operation.DEPENDENCY, {**ok, "dependencies": maps})] == ["a", "b"]


def test_a_patch_changes_the_whole_object_even_if_a_part_was_not_sent() -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "data": {"a": "MQ=="}}
    work = {**WORKLOAD, "spec": {"replicas": 3, "secret": secret}}
    answer = responses.kept(
        Operation.REVISE, OperationInputs(work), patching({"op": "replace", "path": "/spec/replicas", "value": 2})
    )
    assert answer == {"patch": [{"op": "replace", "path": "/spec/replicas", "value": 2}]}
    revised = responses.value(Operation.REVISE, OperationInputs(work), answer)
    assert revised == {**WORKLOAD, "spec": {"replicas": 2, "secret": secret}}
    assert work["spec"]["replicas"] == 3


def test_no_patch_means_unchanged() -> None:
    for operation in (Operation.REVISE, Operation.RETAIN):
        assert meaning(operation, {"successful": True}) is WORKLOAD


def test_only_the_status_of_an_aggregation_counts() -> None:
    answer = patching(
        {"op": "add", "path": "/status", "value": {"ready": 3}}, {"op": "replace", "path": "/spec", "value": {}}
    )
    assert meaning(Operation.AGGREGATE, answer, items=[]) == {**WORKLOAD, "status": {"ready": 3}}


@pytest.mark.parametrize(
    ("operation", "response", "said"),
    [
        (Operation.HEALTH, {}, "the response must say whether it is successful"),
        (Operation.HEALTH, {"successful": "yes", "healthy": True}, "the response must say whether it is successful"),
        (Operation.HEALTH, {"successful": False}, "the response is unsuccessful and has no status"),
        (Operation.HEALTH, {"successful": False, "status": {"code": 500, "message": "no\nidea"}},
         "it failed (500): no idea"),
        (Operation.HEALTH, {"successful": False, "status": {}}, "it failed: no reason given"),
        (Operation.HEALTH, {"successful": True}, "the response has no healthy"),
        (Operation.HEALTH, {"successful": True, "healthy": 1}, "healthy must be true or false, not 1"),
        (Operation.STATUS, {"successful": True}, "the response has no rawStatus"),
        (Operation.REPLICA, {"successful": True}, "the response has no replicas"),
        (Operation.REPLICA, {"successful": True, "replicas": "3"}, 'replicas must be a whole number, not "3"'),
        (Operation.REPLICA, {"successful": True, "replicas": True}, "replicas must be a whole number, not true"),
        (Operation.REPLICA, {"successful": True, "replicas": 2**31}, "replicas is out of range: 2147483648"),
        (Operation.REPLICA, {"successful": True, "replicas": 1, "replicaRequirements": [1]},
         "requirements must be an object, not [1]"),
        (Operation.REPLICA,
         {"successful": True, "replicas": 1, "replicaRequirements": {"resourceRequest": {"cpu": "much"}}},
         "requirements.resourceRequest.cpu: 'much' is no quantity (examples: 500m, 2, 1.5Gi)"),
        (Operation.COMPONENT, {"successful": True, "components": {"a": 1}}, 'components must be a list, not {"a": 1}'),
        (Operation.DEPENDENCY, {"successful": True, "dependencies": [{"apiVersion": "v1", "kind": "Pod"}]},
         "dependencies[0] has neither name nor labelSelector"),
        (Operation.REVISE, {"successful": True, "patch": "W10="}, "patch and patchType must stand together"),
        (Operation.REVISE, {"successful": True, "patchType": "JSONPatch"}, "patch and patchType must stand together"),
        (Operation.REVISE, {"successful": True, "patchType": "MergePatch", "patch": "W10="},
         "the patchType 'MergePatch' is unknown: JSONPatch is wanted"),
        (Operation.REVISE, {"successful": True, "patchType": "JSONPatch", "patch": []},
         "the patch must be the base64 of a JSON patch"),
        (Operation.REVISE, {"successful": True, "patchType": "JSONPatch", "patch": "not base64"},
         "the patch is not the base64 of a JSON patch"),
        (Operation.REVISE, {"successful": True, "patchType": "JSONPatch", "patch": "eA=="},
         "the patch is not the base64 of a JSON patch"),
        (Operation.REVISE, {"successful": True, "patchType": "JSONPatch", "patch": "e30="},
         "the patch must be a list of operations with op and path"),
        (Operation.REVISE, patching({"path": "/a"}), "the patch must be a list of operations with op and path"),
        (Operation.REVISE, patching({"op": "remove", "path": "/spec/none"}),
         "the patch does not apply: operation 1: cannot remove /spec/none: /spec/none does not exist"),
        (Operation.REVISE, patching({"op": "test", "path": "/kind", "value": "Pod"}),
         "the patch does not apply: operation 1: cannot test /kind: the value differs"),
        (Operation.RETAIN, patching({"op": "replace", "path": "/metadata/name", "value": "other"}),
         "the patch makes another object of it: apiVersion, kind, name and namespace must stay"),
        (Operation.RETAIN, patching({"op": "replace", "path": "", "value": []}),
         "the patch makes another object of it: apiVersion, kind, name and namespace must stay"),
    ],
)  # fmt: skip
def test_an_answer_that_cannot_be_used_says_why(operation: Operation, response: Any, said: str) -> None:
    with pytest.raises(InterpretError) as error:
        kept(operation, response, observed=WORKLOAD)
    assert str(error.value) == said


def test_a_patch_of_ten_thousand_operations_is_the_longest() -> None:
    steps = [{"op": "test", "path": "/kind", "value": WORKLOAD["kind"]}] * 10_000
    assert kept(Operation.REVISE, patching(*steps))["patch"] == steps
    with pytest.raises(InterpretError, match=r"^the patch has more than 10000 operations$"):
        kept(Operation.REVISE, patching(*steps, steps[0]))


def test_a_patch_that_copies_what_it_copied_is_stopped() -> None:
    doubling = [{"op": "add", "path": "/a", "value": ["x" * 100]}]
    doubling += [{"op": "copy", "from": "/a", "path": f"/a/{i % 2}"} for i in range(64)]
    with pytest.raises(InterpretError, match=r"too large|nested more than 200 deep"):
        kept(Operation.REVISE, patching(*doubling))


def test_an_answer_nested_without_end_is_stopped() -> None:
    deep: Any = 1
    for _ in range(900):
        deep = [deep]
    with pytest.raises(InterpretError, match=r"^the answer is nested more than 200 deep$"):
        kept(Operation.STATUS, {"successful": True, "rawStatus": deep})


def test_a_long_message_is_cut() -> None:
    with pytest.raises(InterpretError) as error:
        kept(Operation.HEALTH, {"successful": False, "status": {"message": "x" * 5000}})
    assert len(str(error.value)) < 400


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
OPERATIONS = st.fixed_dictionaries(
    {"op": st.sampled_from(["add", "remove", "replace", "test", "move", "copy", "grow", ""])},
    optional={
        "path": st.sampled_from(["", "/", "/spec", "/spec/replicas", "/metadata/name", "/spec/-", "x", "/~2"]) | JSON,
        "from": st.sampled_from(["", "/spec", "/none"]) | JSON,
        "value": JSON,
    },
)


@given(
    st.sampled_from(list(Operation)),
    st.fixed_dictionaries(
        {"successful": st.just(True) | JSON},
        optional={
            "replicas": JSON, "replicaRequirements": JSON, "components": JSON, "dependencies": JSON,
            "rawStatus": JSON, "healthy": JSON, "status": JSON, "patchType": st.just("JSONPatch") | JSON,
            "patch": st.lists(OPERATIONS | JSON, max_size=3).map(
                lambda operations: base64.b64encode(json.dumps(operations).encode()).decode()
            ) | JSON,
        },
    ),
)  # fmt: skip
def test_whatever_a_webhook_answers_is_used_or_refused(operation: Operation, response: dict[str, Any]) -> None:
    inputs = OperationInputs(WORKLOAD, observed=WORKLOAD, replicas=2, items=[])
    try:
        answer = responses.kept(operation, inputs, response)
    except InterpretError:
        return
    assert responses.kept(operation, inputs, response) == answer
    responses.value(operation, inputs, answer)


# -- what the registry hears --------------------------------------------------------------------------------------


def test_an_answer_names_its_source() -> None:
    interpreter, _ = asking(response={"replicas": 3})
    assert interpreter.replicas(WORKLOAD) == Interpretation(Replicas(3, None), "webhook")


def test_no_answer_is_unknown_and_names_operation_kind_and_webhook() -> None:
    interpreter, _ = asking()
    assert interpreter.replicas(WORKLOAD) == Unknown(
        "InterpretReplica of Workload: the webhook hooks/w.example.com is not there", "webhook", permanent=False
    )


def test_an_answer_that_somebody_edited_into_nonsense_is_unknown() -> None:
    interpreter, _ = asking(response={"replicas": "many"})
    answer = interpreter.replicas(WORKLOAD)
    assert isinstance(answer, Unknown)
    assert not answer.permanent
    assert answer.reason.endswith('is unusable: replicas must be a whole number, not "many"')
