"""One change in one cluster, against real answers."""

from __future__ import annotations

from typing import Any

import pytest

from gitfed import errors
from gitfed.edges.kube import apply
from gitfed.model.base import Body
from gitfed.model.fleet import ApplyResult, Health
from tests.edges.kube.conftest import Place, create, delete, update


def managers(body: Body) -> list[tuple[str, str]]:
    return [(entry["manager"], entry["operation"]) for entry in body["metadata"].get("managedFields", [])]


def outcome(result: ApplyResult) -> tuple[str, str, bool]:
    return result.outcome, result.message, result.retry


def deployment(place: Place, **spec: Any) -> Body:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": place.namespace, "labels": {"gitfed.io/federation": "acme"}},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "web", "image": "nginx:1.27"}]},
            },
            **spec,
        },
    }


async def test_a_new_object_is_created_by_one_apply(place: Place) -> None:
    body = place.config_map("a", {"k": "1"})
    told = []
    result = await apply.carry_out(
        place.target(observed=lambda key, uid, body: told.append((key.name, uid, body))), create(body)
    )
    live = await place.get(body)
    assert outcome(result) == ("created", "", False)
    assert result.details == {"uid": live["metadata"]["uid"], "resourceVersion": live["metadata"]["resourceVersion"]}
    assert managers(live) == [("gitfed", "Apply")]
    assert told == [("a", live["metadata"]["uid"], live)]


async def test_a_foreign_object_is_left_alone_and_the_message_says_what_to_do(place: Place) -> None:
    body = place.config_map("a", {"k": "ours"})
    before = await place.post({**body, "metadata": {"name": "a", "namespace": place.namespace}, "data": {"k": "x"}})
    result = await apply.carry_out(place.target(), create(body))
    assert outcome(result) == (
        "failed",
        f"ConfigMap/{place.namespace}/a exists in cluster m1 and is not managed by this federation; to take it over, "
        "annotate its template with work.karmada.io/conflict-resolution: overwrite "
        "(or conflictResolution: Overwrite in the policy)",
        False,
    )
    assert await place.get(body) == before


async def test_a_foreign_object_with_no_field_in_common_is_left_alone_too(place: Place) -> None:
    body = place.config_map("a", {"k": "ours"})
    bare = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": place.namespace}}
    before = await place.post(bare)
    result = await apply.carry_out(place.target(), create(body))
    assert result.outcome == "failed"
    assert await place.get(body) == before


async def test_a_foreign_object_that_bears_a_copy_of_our_label_is_foreign(place: Place) -> None:
    body = place.config_map("a", {"k": "ours"})
    before = await place.post(body)
    result = await apply.carry_out(place.target(), create(body))
    assert (result.outcome, result.details["reason"]) == ("failed", "Exists")
    assert await place.get(body) == before


@pytest.mark.parametrize("how", ["the template's annotation", "the policy"])
async def test_overwrite_takes_over_and_what_we_do_not_render_goes(place: Place, how: str) -> None:
    annotations = {"work.karmada.io/conflict-resolution": "overwrite"} if how == "the template's annotation" else {}
    body = place.config_map("a", {"k": "ours"}, annotations=annotations)
    theirs = place.config_map("a", {"k": "theirs", "old": "1"}, labels={"team": "x"})
    await place.post(theirs, manager="kubectl-create")
    result = await apply.carry_out(place.target(), create(body, adopt=how == "the policy"))
    assert outcome(result) == ("configured", "", False)
    live = await place.get(body)
    assert live["data"] == {"k": "ours"}
    assert live["metadata"]["labels"] == {"gitfed.io/federation": "acme"}
    assert managers(live) == [("gitfed", "Apply")]


async def test_what_a_rule_keeps_survives_the_take_over_of_its_field(place: Place) -> None:
    """The field was kubectl's and becomes ours; what is sent names the version that the take-over itself made."""
    theirs = await place.post(place.config_map("a", {"k": "theirs", "kept": "1"}), manager="kubectl-create")

    async def retained(desired: Body, observed: Body) -> Body:
        assert managers(observed) == [("gitfed", "Apply")]
        assert observed["metadata"]["uid"] == theirs["metadata"]["uid"]
        version = observed["metadata"]["resourceVersion"]
        kept = {**desired["data"], "kept": observed["data"]["kept"]}
        return {**desired, "data": kept, "metadata": {**desired["metadata"], "resourceVersion": version}}

    body = place.config_map("a", {"k": "ours", "kept": "0"})
    result = await apply.carry_out(place.target(retained=retained), create(body, adopt=True))
    assert outcome(result) == ("configured", "", False)
    live = await place.get(body)
    assert live["data"] == {"k": "ours", "kept": "1"}
    assert managers(live) == [("gitfed", "Apply")]


async def test_where_nobody_can_say_what_stays_nothing_is_written(place: Place) -> None:
    before = await place.post(place.config_map("a", {"k": "theirs"}), manager="kubectl-create")

    async def retained(desired: Body, observed: Body) -> Body:
        raise errors.NotRetained("not written: what the cluster keeps is unknown: line 2")

    body = place.config_map("a", {"k": "ours"})
    result = await apply.carry_out(place.target(retained=retained), create(body, adopt=True))
    assert outcome(result) == ("failed", "not written: what the cluster keeps is unknown: line 2", True)
    assert await place.get(body) == before


async def test_taking_over_leaves_fields_of_controllers_alone(place: Place) -> None:
    body = place.config_map("a", {"k": "ours"})
    await place.post(place.config_map("a", {"k": "theirs"}), manager="kubectl-create")
    await place.merge(body, {"data": {"live": "1"}}, manager="some-operator")
    result = await apply.carry_out(place.target(), create(body, adopt=True))
    assert result.outcome == "configured"
    assert (await place.get(body))["data"] == {"k": "ours", "live": "1"}


async def test_our_own_object_found_at_creation_asks_for_another_look(place: Place) -> None:
    body = place.config_map("a", {"k": "1"})
    told = []
    target = place.target(observed=lambda key, uid, body: told.append(uid))
    first = await apply.carry_out(target, create(body))
    again = await apply.carry_out(target, create(body))
    assert outcome(again) == ("failed", "exists already with our label; looking again", True)
    assert told == [first.details["uid"]] * 2


async def test_an_update_removes_what_is_no_longer_rendered(place: Place) -> None:
    body = place.config_map("a", {"k": "1", "old": "1"})
    await apply.carry_out(place.target(), create(body))
    live = await place.get(body)
    result = await apply.carry_out(place.target(), update({**body, "data": {"k": "2"}}, live))
    assert outcome(result) == ("configured", "", False)
    assert (await place.get(body))["data"] == {"k": "2"}


async def test_an_update_that_changes_nothing_is_unchanged(place: Place) -> None:
    body = place.config_map("a", {"k": "1"})
    await apply.carry_out(place.target(), create(body))
    result = await apply.carry_out(place.target(), update(body, await place.get(body)))
    assert outcome(result) == ("unchanged", "", False)


async def test_an_update_takes_back_a_field_that_somebody_changed(place: Place) -> None:
    body = place.config_map("a", {"k": "1"})
    await apply.carry_out(place.target(), create(body))
    live = await place.merge(body, {"data": {"k": "hacked", "theirs": "1"}})
    result = await apply.carry_out(place.target(), update(body, live))
    assert result.outcome == "configured"
    assert (await place.get(body))["data"] == {"k": "1", "theirs": "1"}


async def test_an_update_of_an_object_that_was_deleted_does_not_bring_it_back(place: Place) -> None:
    body = place.config_map("a", {"k": "1"})
    await apply.carry_out(place.target(), create(body))
    live = await place.get(body)
    await apply.carry_out(place.target(), delete(live))
    result = await apply.carry_out(place.target(), update(body, live))
    assert (result.outcome, result.retry) == ("failed", True)
    assert "no existing object was found" in result.message


async def test_an_update_does_not_hit_another_object_of_that_name(place: Place) -> None:
    body = place.config_map("a", {"k": "1"})
    await apply.carry_out(place.target(), create(body))
    live = await place.get(body)
    await apply.carry_out(place.target(), delete(live))
    theirs = await place.post(place.config_map("a", {"k": "theirs"}))
    result = await apply.carry_out(place.target(), update(body, live))
    assert outcome(result) == ("failed", "another object has its name now", True)
    assert await place.get(body) == theirs


async def test_a_foreign_live_object_is_not_updated(place: Place) -> None:
    body = place.config_map("a", {"k": "1"})
    theirs = await place.post(place.config_map("a", {"k": "theirs"}))
    result = await apply.carry_out(place.target(), update(body, theirs, ours=False))
    assert (result.outcome, result.details["reason"]) == ("failed", "Exists")
    assert await place.get(body) == theirs


async def test_an_autoscaler_that_scales_between_look_and_write_wins(place: Place) -> None:
    body = deployment(place, replicas=2)
    await apply.carry_out(place.target(), create(body))
    live = await place.get(body)
    await place.session.json(
        "PATCH",
        f"/apis/apps/v1/namespaces/{place.namespace}/deployments/web/scale",
        body={"spec": {"replicas": 7}},
        content_type="application/merge-patch+json",
    )
    # What `change` sends when replicas are retained: the value it saw, and the version it saw it at.
    retained = {
        **body,
        "metadata": {**body["metadata"], "resourceVersion": live["metadata"]["resourceVersion"]},
        "spec": {**body["spec"], "minReadySeconds": 5},
    }
    result = await apply.carry_out(place.target(), update(body, live, body=retained))
    assert (result.outcome, result.retry) == ("failed", True)
    assert (await place.get(body))["spec"]["replicas"] == 7


async def test_a_deletion_names_the_uid_and_says_whether_it_is_finished(place: Place) -> None:
    body = place.config_map("a", {"k": "1"}, finalizers=["example.com/hold"])
    told: list[tuple[str, bool]] = []
    target = place.target(observed=lambda key, uid, body: told.append((uid, body is None)))
    made = await apply.carry_out(target, create(body))
    uid = made.details["uid"]
    live = await place.get(body)
    held = await apply.carry_out(target, delete(live))
    assert outcome(held) == ("deleted", "waits for example.com/hold", False)
    assert held.health is Health.TERMINATING
    await place.merge(body, {"metadata": {"finalizers": None}})
    gone = await apply.carry_out(target, delete(live))
    assert outcome(gone) == ("deleted", "was gone already", False)
    assert gone.health is Health.NOT_FOUND
    assert told == [(uid, False), (uid, False), (uid, True)]


async def test_a_deployment_is_deleted(place: Place) -> None:
    body = deployment(place)
    await apply.carry_out(place.target(), create(body))
    live = await place.get(body)
    result = await apply.carry_out(place.target(), delete(live))
    assert outcome(result) == ("deleted", "", False)


async def test_a_deletion_spares_another_object_of_that_name(place: Place) -> None:
    body = place.config_map("a", {"k": "1"})
    await apply.carry_out(place.target(), create(body))
    live = await place.get(body)
    await apply.carry_out(place.target(), delete(live))
    theirs = await place.post(place.config_map("a", {"k": "theirs"}))
    result = await apply.carry_out(place.target(), delete(live))
    assert outcome(result) == ("deleted", "was gone already; another object has its name now", False)
    assert await place.get(body) == theirs


async def test_nothing_is_deleted_that_is_not_known_to_be_ours(place: Place) -> None:
    theirs = await place.post(place.config_map("a", {"k": "theirs"}))
    result = await apply.carry_out(place.target(), delete(theirs, ours=False))
    assert outcome(result) == (
        "failed",
        "not deleted: inventory and label do not both say that it is ours",
        False,
    )
    assert await place.get(theirs) == theirs


async def test_a_dry_run_answers_and_stores_nothing(place: Place) -> None:
    body = place.config_map("a", {"k": "1"})
    told: list[object] = []
    dry = place.target(dry_run=True, observed=lambda *seen: told.append(seen))
    assert (await apply.carry_out(dry, create(body))).outcome == "created"
    assert (await apply.carry_out(place.target(), create(body))).outcome == "created"
    live = await place.get(body)
    assert (await apply.carry_out(dry, update({**body, "data": {"k": "2"}}, live))).outcome == "configured"
    assert (await apply.carry_out(dry, delete(live))).outcome == "deleted"
    assert await place.get(body) == live
    assert told == []


async def test_an_immutable_field_fails_with_the_servers_reason(place: Place) -> None:
    body = deployment(place)
    await apply.carry_out(place.target(), create(body))
    other = deployment(
        place,
        selector={"matchLabels": {"app": "other"}},
        template={
            "metadata": {"labels": {"app": "other"}},
            "spec": {"containers": [{"name": "web", "image": "nginx:1.27"}]},
        },
    )
    result = await apply.carry_out(place.target(), update(other, await place.get(body)))
    assert (result.outcome, result.retry, result.details) == ("failed", False, {"reason": "Immutable"})
    assert result.message.startswith('Deployment.apps "web" is invalid: spec.selector: Invalid value: ')
    assert result.message.endswith("field is immutable")


async def test_an_immutable_field_is_replaced_where_the_template_allows_it(place: Place) -> None:
    body = place.config_map("a", {"k": "1"})
    await apply.carry_out(place.target(), create({**body, "immutable": True}))
    live = await place.get(body)
    changed = {**body, "immutable": True, "data": {"k": "2"}}
    result = await apply.carry_out(place.target(), update(changed, live, replaces=True))
    after = await place.get(body)
    assert outcome(result) == ("configured", "deleted and created again", False)
    assert after["data"] == {"k": "2"}
    assert result.details["uid"] == after["metadata"]["uid"] != live["metadata"]["uid"]


async def test_an_object_that_is_invalid_as_well_is_not_deleted_for_replacing(place: Place) -> None:
    body = deployment(place)
    await apply.carry_out(place.target(), create(body))
    live = await place.get(body)
    invalid = deployment(place, selector={"matchLabels": {"app": "other"}}, minReadySeconds=-1)
    result = await apply.carry_out(place.target(), update(invalid, live, replaces=True))
    assert result.outcome == "failed"
    assert (await place.get(body))["metadata"]["uid"] == live["metadata"]["uid"]


async def test_a_replacement_waits_for_finalizers_and_says_when_it_gives_up(place: Place) -> None:
    body = place.config_map("a", {"k": "1"}, finalizers=["example.com/hold"])
    await apply.carry_out(place.target(), create({**body, "immutable": True}))
    changed = {**body, "immutable": True, "data": {"k": "2"}}
    target = place.target(gone_after=(0.0, 0.0))
    result = await apply.carry_out(target, update(changed, await place.get(body), replaces=True))
    assert outcome(result) == ("failed", "its deletion, to create it again, is not finished", True)


async def test_a_missing_namespace_is_worth_another_try(place: Place) -> None:
    body = place.config_map("a", {"k": "1"})
    lost = {**body, "metadata": {**body["metadata"], "namespace": "nowhere"}}
    result = await apply.carry_out(place.target(), create(lost))
    assert outcome(result) == ("failed", 'namespaces "nowhere" not found', True)


async def test_an_unknown_field_is_the_objects_fault(place: Place) -> None:
    body = {**place.config_map("a", {"k": "1"}), "dta": {}}
    result = await apply.carry_out(place.target(), create(body))
    assert (result.outcome, result.retry) == ("failed", False)
    assert ".dta: field not declared in schema" in result.message


async def test_a_kind_that_is_not_served_fails_with_a_hint(place: Place) -> None:
    body = {"apiVersion": "nope.example.com/v1", "kind": "Nope", "metadata": {"name": "a", "namespace": "x"}}
    result = await apply.carry_out(place.target(served_after=(0.0,)), create(body))
    assert outcome(result) == (
        "failed",
        "Nope of nope.example.com/v1 is not served (install its CustomResourceDefinition, or propagate that too)",
        False,
    )


async def test_a_definition_is_served_before_its_objects_are_written(place: Place) -> None:
    group = f"{place.namespace}.example.com"
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"widgets.{group}", "labels": {"gitfed.io/federation": "acme"}},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}},
                        }
                    },
                }
            ],
        },
    }
    widget = {
        "apiVersion": f"{group}/v1",
        "kind": "Widget",
        "metadata": {"name": "a", "namespace": place.namespace, "labels": {"gitfed.io/federation": "acme"}},
        "spec": {"size": 3},
    }
    assert outcome(await apply.carry_out(place.target(), create(definition))) == ("created", "", False)
    assert outcome(await apply.carry_out(place.target(), create(widget))) == ("created", "", False)
    assert (await place.get(widget))["spec"] == {"size": 3}


async def test_a_refused_secret_is_not_quoted(place: Place) -> None:
    body = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s", "namespace": place.namespace},
        "stringData": {"bad key!": "hunter2-planted"},
    }
    result = await apply.carry_out(place.target(), create(body))
    assert result.outcome == "failed"
    assert "hunter2" not in result.message
    assert result.message.startswith("the server refused the Secret")
    redacted = await apply.carry_out(
        place.target(redact=lambda body, text: text.replace("bad key!", "•••")), create(body)
    )
    assert "•••" in redacted.message
