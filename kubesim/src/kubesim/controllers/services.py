"""What the network of a cluster answers: addresses for load balancers and ingresses, endpoints behind services."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from kubesim.controllers import objects
from kubesim.controllers.work import Loop
from kubesim.kinds import selectors
from kubesim.store import Record

Body = dict[str, Any]
INGRESSES: Final = "ingresses.networking.k8s.io"
SLICES: Final = "endpointslices.discovery.k8s.io"


class LoadBalancers:
    """Services of type LoadBalancer and Ingresses get an address of their own, and keep it."""

    def __init__(self, loop: Loop, network: str = "203.0.113") -> None:
        self._loop, self._network = loop, network
        self._client = loop.client("cloud-controller-manager")
        self._next = 0
        loop.add(self, "services", INGRESSES)

    def keys(self, collection: str, record: Record) -> Iterable[str]:
        if collection == INGRESSES or objects.spec(record.body).get("type") == "LoadBalancer":
            yield f"{collection} {record.key}"

    def reconcile(self, key: str) -> None:
        collection, _, place = key.partition(" ")
        record = self._loop.world.store.get(collection, place)
        if record is None or objects.meta(record.body).get("deletionTimestamp"):
            return
        body = record.body
        if collection == "services" and objects.spec(body).get("type") != "LoadBalancer":
            return
        if (objects.state(body).get("loadBalancer") or {}).get("ingress"):
            return
        self._next += 1
        address: Body = {"ip": f"{self._network}.{self._next % 254 + 1}"}
        if collection == "services":
            address["ipMode"] = "VIP"
        fresh = {**objects.state(body), "loadBalancer": {"ingress": [address]}}
        self._client.update(collection, {**body, "status": fresh}, subresource="status")


class Endpoints:
    """One EndpointSlice for each service with a selector, holding the pods it selects."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._client = loop.client()
        loop.add(self, "services", "pods")

    def keys(self, collection: str, record: Record) -> Iterable[str]:
        if collection == "services":
            yield record.key
            return
        labels = objects.meta(record.body).get("labels") or {}
        for service in self._loop.world.lookup.list("services", record.namespace):
            selector = objects.spec(service).get("selector")
            if selector and selectors.matches({"matchLabels": selector}, labels):
                yield objects.key(service)

    def reconcile(self, key: str) -> None:
        record = self._loop.world.store.get("services", key)
        if record is None or objects.meta(record.body).get("deletionTimestamp"):
            return
        service = record.body
        selector = objects.spec(service).get("selector")
        if not selector or objects.spec(service).get("type") == "ExternalName":
            return
        namespace, name = objects.meta(service)["namespace"], objects.meta(service)["name"]
        pods = [
            pod
            for pod in self._loop.world.lookup.list("pods", namespace)
            if objects.state(pod).get("podIP")
            and selectors.matches({"matchLabels": selector}, objects.meta(pod).get("labels") or {})
        ]
        wanted = {"endpoints": [_endpoint(pod) for pod in pods], "ports": _ports(service, pods)}
        known = next(
            (
                one
                for one in self._loop.world.lookup.list(SLICES, namespace)
                if (labels := objects.meta(one).get("labels") or {}).get(_SERVICE) == name
                and labels.get(_MANAGED_BY) == _MANAGER
            ),
            None,
        )
        if known is None:
            made = {
                "apiVersion": "discovery.k8s.io/v1",
                "kind": "EndpointSlice",
                "metadata": {
                    "generateName": f"{name}-",
                    "namespace": namespace,
                    "labels": {
                        _SERVICE: name,
                        _MANAGED_BY: _MANAGER,
                    },
                    "ownerReferences": [objects.owner_reference(service, "v1", "Service")],
                },
                "addressType": "IPv4",
                **wanted,
            }
            self._client.create(SLICES, made)
        elif (known.get("endpoints") or []) != wanted["endpoints"] or (known.get("ports") or []) != wanted["ports"]:
            self._client.update(SLICES, {**known, **wanted})


_SERVICE: Final = "kubernetes.io/service-name"
_MANAGED_BY: Final = "endpointslice.kubernetes.io/managed-by"
_MANAGER: Final = "endpointslice-controller.k8s.io"
"""Slices of others of the same service are left alone."""


def _endpoint(pod: Body) -> Body:
    meta, gone = objects.meta(pod), bool(objects.meta(pod).get("deletionTimestamp"))
    ready = objects.is_ready(pod) and not gone
    return {
        "addresses": [objects.state(pod)["podIP"]],
        "conditions": {"ready": ready, "serving": objects.is_ready(pod), "terminating": gone},
        "nodeName": objects.spec(pod).get("nodeName"),
        "targetRef": {"kind": "Pod", "name": meta["name"], "namespace": meta["namespace"], "uid": meta["uid"]},
    }


def _ports(service: Body, pods: list[Body]) -> list[Body]:
    found = []
    for port in objects.spec(service).get("ports") or ():
        target = port.get("targetPort", port["port"])
        if isinstance(target, str):
            named = [
                one["containerPort"]
                for pod in pods[:1]
                for container in objects.spec(pod).get("containers") or ()
                for one in container.get("ports") or ()
                if one.get("name") == target
            ]
            if not named:
                continue
            target = named[0]
        found.append({"name": port.get("name") or "", "port": target, "protocol": port.get("protocol") or "TCP"})
    return found
