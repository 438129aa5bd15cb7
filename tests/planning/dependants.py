"""Workloads with what they need, through several commits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from gitfed.documents import bindings
from gitfed.model.decisions import Decisions
from gitfed.model.fleet import Health
from gitfed.model.plan import Binding, Plan
from gitfed.planning import build
from tests.e2e.world import config_map, policy
from tests.planning.tree import carried_out, decided, empty, plan_of, read


def workload(name: str, *maps: str, replicas: int = 1) -> str:
    volumes = [{"name": f"v{n}", "configMap": {"name": one}} for n, one in enumerate(maps)]
    return orjson.dumps({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "shop"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}},
                 "template": {"metadata": {"labels": {"app": name}},
                              "spec": {"volumes": volumes, "containers": [{"name": "main", "image": "nginx"}]}}},
    }).decode()  # fmt: skip


def taking(name: str, clusters: list[str], **spec: Any) -> str:
    """A policy for the Deployment of that name, which takes its dependencies along."""
    made = orjson.loads(policy(name, clusters, propagateDeps=True, **spec))
    made["spec"]["resourceSelectors"][0]["name"] = name
    return orjson.dumps(made).decode()


BASE = {
    "web.json": workload("web", "conf"), "conf.json": config_map("conf", {"a": "1"}),
    "p-web.json": taking("web", ["a", "b"]),
}  # fmt: skip


MAPS = (("v1", "ConfigMap"),)


def of(plan: Plan, name: str) -> Binding:
    return next(binding for key, binding in plan.bindings.items() if key.name == name)


def where(plan: Plan, name: str) -> list[str]:
    return [share.cluster for share in of(plan, name).scheduled.shares]


class Story:
    """A fleet that follows commits: what is planned is carried out and recorded."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self.files = dict(files)
        self.live = empty()
        self.decisions = Decisions(repository_id="r")
        self.commit = 0
        self.memo = build.Memo()
        self.turn()

    def plan(self) -> Plan:
        repo = read(self.files, "123456789abcdef"[self.commit])
        plan = plan_of(repo, self.live, self.decisions, memo=self.memo)
        assert plan == plan_of(repo, self.live, self.decisions), "incremental equals full"
        return plan

    def turn(self, health: Health = Health.CURRENT) -> Plan:
        plan = self.plan()
        self.live = carried_out(plan, self.live, health=health)
        self.decisions = decided(plan, self.decisions)
        # What is recorded is read again, as after a restart.
        again = {key: bindings.from_document(bindings.to_document(one)) for key, one in self.decisions.bindings.items()}
        assert {key: one.ownership.required_by for key, one in again.items()} == {
            key: one.ownership.required_by for key, one in self.decisions.bindings.items()
        }
        return plan

    def push(self, **files: str | None) -> None:
        self.commit += 1
        for name, text in files.items():
            path = name.replace("_", "-") + ".json"
            if text is None:
                del self.files[path]
            else:
                self.files[path] = text


def kept(plan: Plan, name: str) -> list[tuple[str, str]]:
    return [
        (one.cluster, str(one.reason))
        for one in plan.changes or ()
        if one.key.name == name and one.action.value == "keep"
    ]
