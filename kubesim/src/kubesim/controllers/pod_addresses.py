"""Addresses of pods, from the range of their node. Whoever is gone or done has given his back."""

from __future__ import annotations

from ipaddress import ip_network
from typing import Any, Final

from kubesim.controllers import nodes, objects
from kubesim.server.world import World

Body = dict[str, Any]
_ANYWHERE: Final = "10.255.0.0/16"
"""Of nodes that have no range of their own."""


class PodAddresses:
    def __init__(self, world: World) -> None:
        self._world = world
        self._holders: dict[str, dict[str, str]] = {}
        """Range → address → key of the pod that has it, or had."""
        self._last: dict[str, int] = {}
        """Range → the number given last: an address rests as long as there are others."""

    def of(self, pod: Body) -> str:
        """An address for a pod on a node, "" if all are taken. On the node's own network it is the node's."""
        node = self._world.lookup.get("nodes", "", objects.spec(pod)["nodeName"])
        if objects.spec(pod).get("hostNetwork") and (own := nodes.address(node)):
            return own
        told = (objects.spec(node).get("podCIDR") if node is not None else "") or _ANYWHERE
        network = ip_network(told)
        size = network.num_addresses - 2
        holders, last = self._holders.setdefault(told, {}), self._last.get(told, 0)
        for step in range(size):
            number = (last + step) % size + 1
            address = str(network[number])
            if not self._has(holders.get(address), address):
                holders[address], self._last[told] = objects.key(pod), number
                return address
        return ""

    def _has(self, key: str | None, address: str) -> bool:
        body = self._world.lookup.get("pods", *key.split("/", 1)) if key is not None else None
        if body is None or objects.state(body).get("phase") in ("Succeeded", "Failed"):
            return False
        return bool(objects.state(body).get("podIP") == address)
