"""Embedded clusters with fault switches, beside a test: `with Faulty(tmp_path) as faulty`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from kubesim.faults import Faults
from kubesim.fleet import ClusterSpec, Fleet, Member
from tests.clusters import beside

NAMES = ("m1", "m2")


class Faulty:
    def __init__(self, directory: Path, *, controllers: bool = False) -> None:
        self.fleet = Fleet([ClusterSpec(name=name, nodes=1, controllers=controllers) for name in NAMES])
        self._beside = beside.Loop()
        self._beside.call(self.fleet.start())
        self.kubeconfig = self.fleet.write_kubeconfig(directory / "kubeconfig")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *ignored: object) -> None:
        self._beside.call(self.fleet.stop())
        self._beside.close()

    def tell(self, cluster: str, change: Callable[[Faults], Any]) -> Any:
        """Change the faults of a cluster, in the thread that reads them."""

        async def act() -> Any:
            result = change(self.fleet[cluster].faults)
            return await result if asyncio.iscoroutine(result) else result

        return self._beside.call(act())

    def inside(self, cluster: str, act: Callable[[Member], Any]) -> Any:
        """Seen from within: faults do not disturb who looks."""

        async def call() -> Any:
            return act(self.fleet[cluster])

        return self._beside.call(call())

    def names(self, cluster: str, resource: str = "deployments.apps", namespace: str | None = None) -> list[str]:
        found = self.inside(cluster, lambda m: m.api.list(resource, *([namespace] if namespace else [])))
        return sorted(body["metadata"]["name"] for body in found)
