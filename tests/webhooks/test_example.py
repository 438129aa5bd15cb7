"""The example server as a person starts it: a process of its own, asked over real HTTPS about every operation."""

from __future__ import annotations

import http.client
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gitfed.edges.webhook import WebhookClient
from gitfed.interpret import responses, webhooks
from gitfed.interpret.registry import InterpretError, Operation, OperationInputs, Replicas
from gitfed.model.webhook import Webhook
from tests.support import patience
from tests.webhooks.serving import EXAMPLE, Authority

WORKLOAD: dict[str, Any] = {
    "apiVersion": "workload.example.io/v1alpha1",
    "kind": "Workload",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {
        "replicas": 3,
        "paused": False,
        "template": {
            "spec": {
                "containers": [
                    {"name": "a", "resources": {"requests": {"cpu": "250m"}},
                     "envFrom": [{"configMapRef": {"name": "b"}}, {"configMapRef": {"name": "a"}}]},
                    {"name": "b", "resources": {"requests": {"cpu": "1"}}},
                ]
            }
        },
    },
}  # fmt: skip
OBSERVED = {**WORKLOAD, "spec": {**WORKLOAD["spec"], "paused": True}, "status": {"readyReplicas": 3, "other": 1}}


@pytest.fixture(scope="module")
def webhook(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Webhook]:
    folder, authority = tmp_path_factory.mktemp("server"), Authority()
    authority.write(folder, "localhost")
    process = subprocess.Popen(
        [
            sys.executable, str(EXAMPLE), "--cert", "tls.crt", "--key", "tls.key", "--address", "127.0.0.1",
            "--port", "0",
        ],
        cwd=folder, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stderr is not None
        port = int(process.stderr.readline().rsplit(maxsplit=1)[1])
        yield Webhook("w/w.example.com", f"https://localhost:{port}/interpret", None, authority.bundle, 10, "v1alpha1")
    finally:
        process.kill()
        process.communicate()


async def meaning(webhook: Webhook, operation: Operation, inputs: OperationInputs) -> Any:
    client = WebhookClient()
    try:
        asked = webhooks.question(webhook, operation, inputs)
        return responses.value(operation, inputs, asked.read(await client.ask(asked)))
    finally:
        await client.close()


async def test_replicas_are_those_of_the_spec_and_ask_for_what_their_containers_do(webhook: Webhook) -> None:
    found = await meaning(webhook, Operation.REPLICA, OperationInputs(WORKLOAD))
    assert found == Replicas(3, {"resourceRequest": {"cpu": "1250m"}})


async def test_a_revision_sets_the_replicas_and_nothing_else(webhook: Webhook) -> None:
    found = await meaning(webhook, Operation.REVISE, OperationInputs(WORKLOAD, replicas=2))
    assert found == {**WORKLOAD, "spec": {**WORKLOAD["spec"], "replicas": 2}}


async def test_the_member_says_whether_a_workload_is_paused(webhook: Webhook) -> None:
    found = await meaning(webhook, Operation.RETAIN, OperationInputs(WORKLOAD, OBSERVED))
    assert found == {**WORKLOAD, "spec": {**WORKLOAD["spec"], "paused": True}}


async def test_ready_replicas_are_collected_and_added_up(webhook: Webhook) -> None:
    assert await meaning(webhook, Operation.STATUS, OperationInputs(OBSERVED)) == {"readyReplicas": 3}
    items = [{"clusterName": name, "status": {"readyReplicas": 2}} for name in ("m1", "m2")]
    found = await meaning(webhook, Operation.AGGREGATE, OperationInputs(WORKLOAD, items=items))
    assert found == {**WORKLOAD, "status": {"readyReplicas": 4}}


async def test_a_workload_is_healthy_when_all_its_replicas_are_ready(webhook: Webhook) -> None:
    assert await meaning(webhook, Operation.HEALTH, OperationInputs(OBSERVED)) is True
    assert await meaning(webhook, Operation.HEALTH, OperationInputs(WORKLOAD)) is False


async def test_it_needs_the_config_maps_that_its_containers_read(webhook: Webhook) -> None:
    found = await meaning(webhook, Operation.DEPENDENCY, OperationInputs(WORKLOAD))
    assert [(one["namespace"], one["name"]) for one in found] == [("shop", "a"), ("shop", "b")]


async def test_what_it_cannot_answer_it_refuses(webhook: Webhook) -> None:
    with pytest.raises(
        InterpretError, match=r"^it failed \(400\): ValueError: the operation InterpretComponent is not"
    ):
        await meaning(webhook, Operation.COMPONENT, OperationInputs(WORKLOAD))
    with pytest.raises(InterpretError, match=r"^it failed \(400\): KeyError: 'spec'$"):
        await meaning(webhook, Operation.REPLICA, OperationInputs({k: v for k, v in WORKLOAD.items() if k != "spec"}))


@pytest.mark.parametrize(("body", "status"), [(b"{", 400), (b"[]", 400), (b"{}", 400), (b" " * (1 << 21), 413)])
def test_a_stranger_gets_a_refusal_and_the_next_is_served(webhook: Webhook, body: bytes, status: int) -> None:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    port = int(webhook.url.rpartition(":")[2].partition("/")[0])
    connection = http.client.HTTPSConnection("localhost", port, context=context, timeout=patience.SECONDS)
    try:
        connection.putrequest("POST", "/")
        connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body if len(body) < 100 else None)
        assert connection.getresponse().status == status
    finally:
        connection.close()


def test_the_example_is_the_one_in_the_documentation() -> None:
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "webhooks.md").read_text()
    assert "python examples/webhook/server.py --cert tls.crt --key tls.key --port 8443" in page
