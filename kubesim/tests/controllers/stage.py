"""A cluster with controllers whose time stands still until a test moves it."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from kubesim.cluster import Cluster
from kubesim.controllers import Controllers, Settings, nodes

Body = dict[str, Any]


class Stage:
    """No event loop: what is put off is done by ``settle``, what takes time happens in ``pass_time``."""

    def __init__(
        self, count: int = 3, *, cpu: str = "4", memory: str = "8Gi", pods: int = 110, **settings: Any
    ) -> None:
        settings.setdefault("lease_seconds", 0)  # nothing is written but what a test is about
        self._now = datetime(2026, 1, 1, tzinfo=UTC)
        self._order = itertools.count()
        self._timers: list[tuple[datetime, int, Callable[[], None]]] = []
        self.cluster = Cluster("stage", clock=self, controllers=True, seed=1)
        self.api = self.cluster.api
        for number in range(count):
            self.add_node(number, cpu=cpu, memory=memory, pods=pods)
        self.controllers = Controllers(self.cluster.world, Settings(**settings), self._schedule)
        self.settle()

    def now(self) -> datetime:
        return self._now

    def _schedule(self, seconds: float, job: Callable[[], None]) -> None:
        heapq.heappush(self._timers, (self._now + timedelta(seconds=seconds), next(self._order), job))

    def add_node(self, number: int, *, cpu: str, memory: str, pods: int, **labels: str) -> None:
        name = f"node-{number}"
        body = self.api.create("nodes", nodes.new(name, number, labels=labels))
        status = nodes.status(name, number, self.cluster.world.now(), cpu=cpu, memory=memory, pods=pods)
        self.api.update("nodes", {**body, "status": status}, subresource="status")

    def settle(self) -> None:
        self.cluster.world.settle()

    def pass_time(self, seconds: float = 5.0) -> None:
        """Everything that is due until then, in order."""
        self.settle()
        end = self._now + timedelta(seconds=seconds)
        while self._timers and self._timers[0][0] <= end:
            due, _, job = heapq.heappop(self._timers)
            self._now = max(self._now, due)
            job()
            self.settle()
        self._now = end

    def pods(self, **labels: str) -> list[Body]:
        selector = ",".join(f"{key}={value}" for key, value in labels.items())
        return self.api.list("pods", "default", labels=selector)

    def conditions(self, resource: str, name: str) -> dict[str, tuple[str, str]]:
        found = self.api.get(resource, "default", name)["status"].get("conditions") or []
        return {one["type"]: (one["status"], one.get("reason", "")) for one in found}

    def set_image(self, resource: str, name: str, image: str) -> None:
        containers = [{"name": "main", "image": image}]
        patch = {"spec": {"template": {"spec": {"containers": containers}}}}
        self.api.patch(resource, "default", name, patch, type="strategic")


def workload(kind: str, name: str = "web", *, image: str = "nginx:1", cpu: str = "100m", **spec: Any) -> Body:
    container = {"name": "main", "image": image, "resources": {"requests": {"cpu": cpu, "memory": "64Mi"}}}
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": name}}, "template": template, **spec},
    }
