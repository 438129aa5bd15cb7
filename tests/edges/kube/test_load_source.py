"""Lists for several workloads answer what asking for each of them alone answers, in fewer requests."""

from __future__ import annotations

import random
from collections.abc import Mapping
from types import SimpleNamespace
from typing import cast

import pytest

from gitfed import errors
from gitfed.edges.kube import load, load_source
from gitfed.edges.kube.connection.session import Session
from gitfed.edges.kube.discovery import Discovery, Resource
from gitfed.model.base import Body, Kind, ObjectKey
from gitfed.model.load import ClusterLoad, LoadQuestion
from gitfed.text import selector

AT = "2026-03-02T12:00:00Z"
CPU: Body = {"type": "Resource", "resource": {"name": "cpu", "target": {"averageUtilization": 60}}}
SIDE: Body = {"type": "ContainerResource", "containerResource": {"name": "cpu", "container": "side", "target": {}}}
QUEUE: Body = {"type": "Pods", "pods": {"metric": {"name": "queue"}}}
PLURALS = {"Deployment": "deployments", "StatefulSet": "statefulsets", "Foot": "feet"}
Refused = Mapping[str, int]


class Cluster:
    """Answers as an API server does: lists with selectors and pages, and scales."""

    cluster = "m1"

    def __init__(self, *, remaining: bool = True) -> None:
        self.objects: dict[str, list[Body]] = {}
        self.refused: Refused = {}
        """Path → status."""
        self.asked: list[str] = []
        self._remaining = remaining

    async def json(self, method: str, path: str, query: Mapping[str, str] | None = None) -> Body:
        self.asked.append(path)
        if status := self.refused.get(path):
            kinds = {403: errors.Unauthorized, 404: errors.ObjectNotFound}
            raise kinds.get(status, errors.ClusterFailed)(f"{status}", cluster="m1", status=status)
        parts = path.split("/")
        namespace = parts[parts.index("namespaces") + 1] if "namespaces" in parts else ""
        if parts[-1] == "scale":
            return self._scale(parts[-3], namespace, parts[-2])
        kind = f"{parts[-1]}.metrics" if "metrics.k8s.io" in parts else parts[-1]
        if kind not in self.objects:
            raise errors.ObjectNotFound("404 page not found", cluster="m1", status=404)
        return self._list(self._in(kind, namespace), query or {})

    def _in(self, kind: str, namespace: str) -> list[Body]:
        return [one for one in self.objects.get(kind, []) if namespace in ("", one["metadata"]["namespace"])]

    def _list(self, found: list[Body], query: Mapping[str, str]) -> Body:
        chosen = selector.from_text(query.get("labelSelector") or "")
        found = [one for one in found if chosen(one["metadata"].get("labels") or {})]
        begin, limit = int(query.get("continue", 0)), int(query.get("limit", len(found)))
        metadata: Body = {"resourceVersion": "1"}
        if begin + limit < len(found):
            metadata["continue"] = str(begin + limit)
            if self._remaining and not query.get("labelSelector"):
                metadata["remainingItemCount"] = len(found) - begin - limit
        return {"kind": "List", "apiVersion": "v1", "metadata": metadata, "items": found[begin : begin + limit]}

    def _scale(self, plural: str, namespace: str, name: str) -> Body:
        for one in self._in(plural, namespace):
            if one["metadata"]["name"] == name:
                text = load_source.selector_text(one["spec"]["selector"])
                status = {"replicas": one["status"].get("replicas", 0), "selector": text}
                return {"spec": {"replicas": one["spec"]["replicas"]}, "status": status}
        raise errors.ObjectNotFound("not found", cluster="m1", status=404, reason="NotFound")

    async def resource(self, kind: Kind) -> Resource:
        return Resource(f"{kind.group}/v1", kind.kind, PLURALS[kind.kind], True)


async def look(cluster: Cluster, questions: list[LoadQuestion]) -> dict[ObjectKey, ClusterLoad]:
    return await load.look(cast("Session", cluster), cast("Discovery", cluster), questions)


async def one_by_one(cluster: Cluster, questions: list[LoadQuestion]) -> dict[ObjectKey, ClusterLoad]:
    """A single workload is never worth a list."""
    found: dict[ObjectKey, ClusterLoad] = {}
    for one in questions:
        found |= await look(cluster, [one])
    return found


def workload(target: ObjectKey, chosen: Body, replicas: int) -> Body:
    metadata = {"name": target.name, "namespace": target.namespace}
    status = {"replicas": replicas} if replicas else {}
    return {"metadata": metadata, "spec": {"replicas": replicas, "selector": chosen}, "status": status}


def pod(namespace: str, name: str, labels: Body, chance: random.Random) -> Body:
    containers: list[Body] = [{"name": "app", "resources": {"requests": {"cpu": "100m"}}}, {"name": "side"}]
    metadata: Body = {"name": name, "namespace": namespace, "labels": labels}
    if chance.random() < 0.1:
        metadata["deletionTimestamp"] = AT
    ready = {"type": "Ready", "status": chance.choice(["True", "False"]), "lastTransitionTime": AT}
    status = {"phase": chance.choice(["Running", "Pending"]), "startTime": AT, "conditions": [ready]}
    return {"metadata": metadata, "spec": {"containers": containers[: chance.randint(1, 2)]}, "status": status}


def used(body: Body, chance: random.Random) -> Body:
    containers = [{"name": one["name"], "usage": {"cpu": f"{chance.randint(1, 99)}m"}}
                  for one in body["spec"]["containers"]]  # fmt: skip
    metadata = {"name": body["metadata"]["name"], "namespace": body["metadata"]["namespace"],
                "labels": body["metadata"]["labels"]}  # fmt: skip
    return {"metadata": metadata, "timestamp": AT, "window": "15s", "containers": containers}


def staged(chance: random.Random) -> tuple[Cluster, list[LoadQuestion]]:
    cluster = Cluster(remaining=chance.random() < 0.8)
    objects: dict[str, list[Body]] = {one: [] for one in (*PLURALS.values(), "pods", "horizontalpodautoscalers")}
    questions = []
    for space in [f"s{i}" for i in range(chance.randint(1, 5))]:
        for i in range(chance.choice([1, 2, 6])):
            kind = chance.choice(["Deployment", "Deployment", "StatefulSet", "Foot"])
            target = ObjectKey("x.io" if kind == "Foot" else "apps", kind, space, f"w{i}")
            asked = tuple(chance.sample([CPU, SIDE, QUEUE], chance.randint(0, 3)))
            questions.append(LoadQuestion(target, asked))
            if chance.random() < 0.1:
                continue  # it is not there
            expressions = chance.choice([[], [{"key": "tier", "operator": "In", "values": ["a", "b"]}],
                                         [{"key": "tier", "operator": "NotIn", "values": ["a"]}],
                                         [{"key": "old", "operator": "DoesNotExist"}]])  # fmt: skip
            chosen = {"matchLabels": {"app": f"w{i}"}, "matchExpressions": expressions}
            if chance.random() < 0.2:
                del chosen["matchLabels"]
            objects[PLURALS[kind]].append(workload(target, chosen, chance.randint(0, 3)))
            if chance.random() < 0.3:
                ref = {"apiVersion": "apps/v1", "kind": kind, "name": target.name}
                inner = {"metadata": {"name": f"hpa{i}", "namespace": space}, "spec": {"scaleTargetRef": ref}}
                objects["horizontalpodautoscalers"].append(inner)
        for i in range(chance.choice([0, 3, 30])):
            labels: Body = {"app": f"w{chance.randint(0, 6)}", "tier": chance.choice(["a", "b", "c"])}
            if chance.random() < 0.2:
                labels["old"] = ""
            objects["pods"].append(pod(space, f"p{i}", labels, chance))
    if chance.random() < 0.9:
        objects["pods.metrics"] = [used(one, chance) for one in objects["pods"] if chance.random() < 0.9]
    cluster.objects = objects
    chance.shuffle(questions)
    return cluster, questions


LISTS = ["/api/v1/pods", "/apis/apps/v1/deployments", "/apis/autoscaling/v2/horizontalpodautoscalers",
         "/apis/metrics.k8s.io/v1beta1/pods", "/apis/apps/v1/statefulsets"]  # fmt: skip


@pytest.mark.parametrize("seed", range(150))
async def test_lists_answer_what_asking_one_by_one_answers(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(seed)
    monkeypatch.setattr(load_source, "_PAGE", 7)
    cluster, questions = staged(chance)
    cluster.refused = {path: 403 for path in LISTS if chance.random() < 0.2}
    expected = await one_by_one(cluster, questions)
    assert await look(cluster, questions) == expected


def many(spaces: int, each: int) -> tuple[Cluster, list[LoadQuestion]]:
    cluster, chance, questions = Cluster(), random.Random(0), []
    pods, workloads = [], []
    for space in range(spaces):
        for i in range(each):
            target = ObjectKey("apps", "Deployment", f"s{space}", f"w{i}")
            questions.append(LoadQuestion(target, (CPU,)))
            workloads.append(workload(target, {"matchLabels": {"app": target.name}}, 1))
            pods.append(pod(target.namespace, f"{target.name}-0", {"app": target.name}, chance))
    cluster.objects = {"deployments": workloads, "pods": pods, "horizontalpodautoscalers": [],
                       "pods.metrics": [used(one, chance) for one in pods]}  # fmt: skip
    return cluster, questions


@pytest.mark.parametrize(
    ("spaces", "each", "requests"),
    [(10, 100, 2 + 2 + 1 + 1), (1, 100, 4), (20, 1, 4), (1, 1, 4), (3, 400, 2 + 1 + 3 + 3 + 3)],
    ids=["a large cluster", "one namespace", "one in each namespace", "a single one", "namespaces of a page each"],
)
async def test_many_workloads_cost_few_requests(spaces: int, each: int, requests: int) -> None:
    cluster, questions = many(spaces, each)
    found = await look(cluster, questions)
    assert len(cluster.asked) == requests
    assert all(len(one.pods) == 1 and len(one.readings[0].samples) == 1 for one in found.values())
    assert len(found) == spaces * each


async def test_a_list_that_is_refused_is_asked_for_once() -> None:
    cluster, questions = many(1, 5)
    listed = "/api/v1/namespaces/s0/pods"
    plain = cluster.json

    async def only_with_selector(method: str, path: str, query: Mapping[str, str] | None = None) -> Body:
        if path == listed and not (query or {}).get("labelSelector"):
            cluster.asked.append(f"refused {path}")
            raise errors.Unauthorized("forbidden", cluster="m1", status=403)
        return await plain(method, path, query)

    session = SimpleNamespace(cluster="m1", json=only_with_selector)
    found = await load.look(cast("Session", session), cast("Discovery", cluster), questions)
    assert cluster.asked.count(f"refused {listed}") == 1
    assert cluster.asked.count(listed) == len(questions)
    assert all(one.readings[0].samples for one in found.values())


async def test_a_server_that_fails_is_asked_once_for_all() -> None:
    cluster, questions = many(1, 5)
    cluster.refused = {"/api/v1/namespaces/s0/pods": 500}
    found = await look(cluster, questions)
    assert {one.unread for one in found.values()} == {"500"}
    assert cluster.asked.count("/api/v1/namespaces/s0/pods") == 1
