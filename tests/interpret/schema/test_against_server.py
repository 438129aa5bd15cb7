"""The verdict of our schemas is that of a kube-apiserver, for objects that are right and for many that are not."""

from __future__ import annotations

import http.client
import json
import ssl
import time
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from gitfed.edges import catalogue
from gitfed.interpret.schema.check import Schemas
from gitfed.interpret.schema.faults import Fault, FaultCode
from gitfed.interpret.schema.kubernetes import Kubernetes
from tests.clusters.apiserver import TOKEN, RealApiServer
from tests.interpret.schema import mistakes
from tests.support import needs, patience

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

SCHEMAS = Schemas(Kubernetes(catalogue.kubernetes), (mistakes.DEFINITION,))
TRIES = 1500
PLURALS = {
    "NetworkPolicy": "networkpolicies", "StorageClass": "storageclasses", "PriorityClass": "priorityclasses",
    "Ingress": "ingresses",
}  # fmt: skip
CLUSTER_WIDE = {
    "ClusterRole", "PersistentVolume", "StorageClass", "PriorityClass", "ValidatingWebhookConfiguration",
    "CustomResourceDefinition",
}  # fmt: skip


class Server:
    """One connection: thousands of questions are asked."""

    def __init__(self, real: RealApiServer) -> None:
        authority = ssl.create_default_context(cadata=real._authority.cert_pem.bytes().decode())
        self._connection = http.client.HTTPSConnection(real.url.removeprefix("https://"), context=authority)

    def close(self) -> None:
        self._connection.close()

    def apply(self, body: dict[str, Any], *, dry: bool = True) -> tuple[int, str]:
        api, kind = body["apiVersion"], body["kind"]
        group = f"/apis/{api}" if "/" in api else f"/api/{api}"
        space = "" if kind in CLUSTER_WIDE else f"/namespaces/{body['metadata']['namespace']}"
        plural = PLURALS.get(kind, f"{kind.lower()}s")
        path = f"{group}{space}/{plural}/{body['metadata']['name']}?fieldManager=t&force=true&fieldValidation=Strict"
        headers = {"Content-Type": "application/apply-patch+yaml", "Authorization": f"Bearer {TOKEN}"}
        self._connection.request("PATCH", path + ("&dryRun=All" if dry else ""), json.dumps(body), headers)
        answer = self._connection.getresponse()
        text = answer.read().decode()
        # Before a definition is served its path has no object behind it, and no Status either.
        return answer.status, json.loads(text).get("message", "") if text.startswith("{") else text


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    needs.path_of("kube-apiserver")
    real = RealApiServer(tmp_path_factory.mktemp("cluster"))
    real.start()
    asked = Server(real)
    try:
        assert asked.apply(mistakes.DEFINITION, dry=False)[0] == 201
        deadline = time.monotonic() + patience.SECONDS
        while asked.apply(mistakes.GADGET)[0] != 201:
            assert time.monotonic() < deadline, asked.apply(mistakes.GADGET)
            time.sleep(0.1)
        yield asked
    finally:
        asked.close()
        real.stop()


def faults(body: dict[str, Any]) -> tuple[Fault, ...]:
    return SCHEMAS.faults(body, 36)


@pytest.mark.parametrize("body", [*mistakes.valid(), mistakes.GADGET], ids=lambda body: body["kind"])
def test_what_a_server_takes_fits(server: Server, body: dict[str, Any]) -> None:
    status, said = server.apply(body)
    assert status in (200, 201), said
    assert faults(body) == ()


def test_mistakes_in_built_in_kinds_are_those_that_a_server_finds(server: Server) -> None:
    """What it refuses while it reads (400, 500) we refuse, and nothing else but missing fields that it needs (422)."""
    random, bodies, refused = Random(1), mistakes.valid(), 0
    for _ in range(TRIES):
        body = mistakes.made(random, random.choice(bodies))
        status, said = server.apply(body)
        found = faults(body)
        if "omits all key fields" in said or "omits key field" in said:
            continue  # the keys of lists are not asked for: many have defaults that OpenAPI 2 does not tell
        if found and all(fault.code is FaultCode.MISSING for fault in found):
            assert status in (422, 500), (body, found)
        else:
            assert (status in (400, 500)) == bool(found), (body, status, said, found)
        refused += bool(found)
    assert refused > TRIES / 4


def test_mistakes_in_custom_kinds_are_those_that_a_server_finds(server: Server) -> None:
    random, refused = Random(2), 0
    for _ in range(TRIES // 2):
        body = mistakes.made(random, mistakes.GADGET)
        status, said = server.apply(body)
        found = faults(body)
        if "spec.template.kind: Invalid value" in said:
            continue  # the form of a kind's name inside an embedded object
        assert (status >= 400) == bool(found), (body, status, said, found)
        refused += bool(found)
    assert refused > TRIES / 8
