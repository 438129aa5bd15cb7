"""What a manifest drops from a value that servers keep as one goes from the clusters, and what they fill in stays."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest

from gitfed.model.plan import FieldChange
from gitfed.planning.objects import diff
from tests.e2e import worlds
from tests.e2e.world import World, cluster, policy, settings

pytestmark = pytest.mark.e2e
Body = dict[str, Any]

PODS = {
    "containers": [{
        "name": "app", "image": "r.io/app:1",
        "env": [{"name": "ME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                {"name": "CPU", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}}],
        "envFrom": [{"prefix": "A_", "configMapRef": {"name": "a", "optional": True}}],
    }],
    "tolerations": [{"key": "drain", "value": "now", "effect": "NoExecute", "tolerationSeconds": 60},
                    {"key": "spot", "operator": "Exists"}],
    "affinity": {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": "a", "operator": "Exists"}],
             "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]}},
        "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "zone", "namespaces": ["shop"],
             "labelSelector": {"matchLabels": {"app": "web", "tier": "front"}}}]},
    },
    "nodeSelector": {"disk": "ssd", "zone": "a"},
    "volumes": [{"name": "all", "projected": {"sources": [
        {"serviceAccountToken": {"path": "token"}},
        {"downwardAPI": {"items": [{"path": "me", "fieldRef": {"fieldPath": "metadata.name"}}]}},
        {"secret": {"name": "s", "optional": True, "items": [{"key": "k", "path": "k", "mode": 256}]}}]}}],
}  # fmt: skip
_POD = "/spec/template/spec"
_AWAY = f"{_POD}/affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution/0"
_TERM = f"{_POD}/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms/0"


def _made(api_version: str, kind: str, **members: Any) -> Body:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "one", "namespace": "shop"}, **members}


def _template(labels: dict[str, str], spec: Body) -> Body:
    return {"metadata": {"labels": labels}, "spec": spec}


APP = {"app": "web"}
OBJECTS: dict[str, tuple[str, Body, list[str]]] = {
    "the selector of a service": (
        "/api/v1/namespaces/shop/services",
        _made("v1", "Service", spec={"selector": {"app": "web", "tier": "front"}, "ports": [{"port": 80}]}),
        ["/spec/selector/tier"],
    ),
    "the peers of a network policy": (
        "/apis/networking.k8s.io/v1/namespaces/shop/networkpolicies",
        _made("networking.k8s.io/v1", "NetworkPolicy", spec={
            "podSelector": {"matchLabels": {"app": "web", "tier": "front"}},
            "ingress": [{"ports": [{"port": 80, "endPort": 90}, {"port": 53, "protocol": "UDP"}],
                         "from": [{"podSelector": {"matchLabels": {"app": "lb", "tier": "edge"}},
                                   "namespaceSelector": {}}]}]}),
        ["/spec/podSelector/matchLabels/tier", "/spec/ingress/0/from/0/podSelector/matchLabels/tier",
         "/spec/ingress/0/from/0/namespaceSelector", "/spec/ingress/0/ports/1/protocol",
         "/spec/ingress/0/ports/0/endPort"],
    ),
    "the rules of a role": (
        "/apis/rbac.authorization.k8s.io/v1/namespaces/shop/roles",
        _made("rbac.authorization.k8s.io/v1", "Role", rules=[
            {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"], "resourceNames": ["mine"]}]),
        ["/rules/0/resourceNames"],
    ),
    "the subjects of a binding": (
        "/apis/rbac.authorization.k8s.io/v1/namespaces/shop/rolebindings",
        _made("rbac.authorization.k8s.io/v1", "RoleBinding", roleRef={"kind": "Role", "name": "one"}, subjects=[
            {"kind": "User", "name": "me"}, {"kind": "ServiceAccount", "name": "robot", "namespace": "shop"}]),
        [],
    ),
    "the rules of an ingress": (
        "/apis/networking.k8s.io/v1/namespaces/shop/ingresses",
        _made("networking.k8s.io/v1", "Ingress", spec={"rules": [{"host": "a.example", "http": {"paths": [
            {"path": "/a", "pathType": "Prefix", "backend": {"service": {"name": "a", "port": {"number": 80}}}}]}}],
            "tls": [{"hosts": ["a.example"], "secretName": "tls"}]}),
        ["/spec/rules/0/host", "/spec/tls/0/hosts", "/spec/tls/0/secretName"],
    ),
    "the pods of a deployment": (
        "/apis/apps/v1/namespaces/shop/deployments",
        _made("apps/v1", "Deployment", spec={"selector": {"matchLabels": APP}, "template": _template(APP, PODS)}),
        [f"{_POD}/tolerations/0/tolerationSeconds", f"{_POD}/tolerations/0/value", f"{_POD}/nodeSelector/zone",
         f"{_AWAY}/namespaces", f"{_AWAY}/labelSelector/matchLabels/tier", f"{_TERM}/matchFields",
         f"{_POD}/containers/0/envFrom/0/prefix", f"{_POD}/containers/0/envFrom/0/configMapRef/optional",
         f"{_POD}/volumes/0/projected/sources/2/secret/optional",
         f"{_POD}/volumes/0/projected/sources/2/secret/items/0/mode"],
    ),
    "the claims of a stateful set": (
        "/apis/apps/v1/namespaces/shop/statefulsets",
        _made("apps/v1", "StatefulSet", spec={
            "selector": {"matchLabels": APP}, "serviceName": "one",
            "template": _template(APP, {"containers": [{"name": "app", "image": "r.io/app:1"}]}),
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {
                "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}]}),
        [],
    ),
    "the rules of a job": (
        "/apis/batch/v1/namespaces/shop/jobs",
        _made("batch/v1", "Job", spec={
            "podFailurePolicy": {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]},
            "template": {"spec": {**PODS, "restartPolicy": "Never"}}}),
        [],
    ),
    "the items of a limit range": (
        "/api/v1/namespaces/shop/limitranges",
        _made("v1", "LimitRange", spec={"limits": [
            {"type": "Container", "max": {"cpu": "2", "memory": "1Gi"}, "min": {"cpu": "100m"}}]}),
        ["/spec/limits/0/min"],
    ),
    "the metrics of an autoscaler": (
        "/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers",
        _made("autoscaling/v2", "HorizontalPodAutoscaler", spec={
            "maxReplicas": 3, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "one"},
            "behavior": {"scaleDown": {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}]}},
            "metrics": [{"type": "Resource", "resource": {
                "name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}]}),
        [],
    ),
}  # fmt: skip


def without(body: Body, pointer: str) -> Body:
    body = copy.deepcopy(body)
    *way, last = pointer.strip("/").split("/")
    place: Any = body
    for name in way:
        place = place[int(name)] if isinstance(place, list) else place[name]
    del place[last]
    return body


def compared(desired: Body, live: Body) -> tuple[FieldChange, ...]:
    return diff.diff(desired, live, owned=diff.owned_fields(live, "gitfed"))


@pytest.fixture(scope="module", params=worlds.BOTH)
def fleet(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with request.param(["m1"], tmp_path_factory.mktemp("world")) as made:
        made.ask("m1", "POST", "/api/v1/namespaces", {"metadata": {"name": "shop"}})
        yield made


@pytest.mark.parametrize("what", OBJECTS)
def test_a_server_fills_in_what_is_known_and_the_rest_goes(fleet: World, what: str) -> None:
    path, body, dropped = OBJECTS[what]

    def apply(desired: Body) -> Body:
        address = f"{path}/one?fieldManager=gitfed&force=true"
        return dict(fleet.ask("m1", "PATCH", address, desired, "application/apply-patch+yaml"))

    live = apply(body)
    assert compared(body, live) == ()
    for pointer in dropped:
        fewer = without(body, pointer)
        assert [one.pointer for one in compared(fewer, live) if one.absent_after] == [pointer]
        after = apply(fewer)
        assert compared(fewer, after) == ()
        assert "port" in pointer or after != live
        live = apply(body)


def test_what_a_commit_drops_from_such_a_value_goes_from_the_cluster(fleet: World) -> None:
    kinds = {"the selector of a service": "Service", "the peers of a network policy": "NetworkPolicy",
             "the rules of a role": "Role"}  # fmt: skip
    selected = tuple((OBJECTS[what][1]["apiVersion"], kind) for what, kind in kinds.items())
    files = {f"{kind}.json": json.dumps(_called(OBJECTS[what][1])) for what, kind in kinds.items()}
    fleet.push({"gitfed.json": settings(), "clusters/m1.json": cluster("m1"), "p.json": policy("p", ["m1"], selected),
                **files})  # fmt: skip
    fleet.apply()
    fleet.push({f"{kind}.json": json.dumps(_called(without(OBJECTS[what][1], OBJECTS[what][2][0])))
                for what, kind in kinds.items()})  # fmt: skip
    told = json.loads(fleet.gitfed("diff", "main~1..main", "--repo", str(fleet.bare), "-o", "json", check=False).stdout)
    assert sorted((one["kind"], one["action"]) for one in told["changes"]) == [
        ("NetworkPolicy", "update"), ("Role", "update"), ("Service", "update"),
    ]  # fmt: skip
    fleet.apply()
    for what in kinds:
        live = fleet.ask("m1", "GET", f"{OBJECTS[what][0]}/two")
        with pytest.raises(KeyError):
            without(live, OBJECTS[what][2][0])


def _called(body: Body, name: str = "two") -> Body:
    return {**body, "metadata": {**body["metadata"], "name": name}}
