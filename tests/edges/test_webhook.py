"""One question over real HTTPS: who is trusted, what is sent, and everything that a stranger may answer."""

from __future__ import annotations

import gzip
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from aiohttp import abc

from gitfed.edges import address as addresses
from gitfed.edges.webhook import WebhookClient
from gitfed.errors import WebhookError, WebhookUnreachable
from gitfed.model.base import Digest, ObjectKey
from gitfed.model.webhook import ServiceAddress, Webhook, WebhookQuestion
from tests.webhooks.serving import Authority, Running, answering, raw, reply, serving

KEY = ObjectKey("workload.example.io", "Workload", "shop", "web")
REQUEST = {
    "kind": {"group": "workload.example.io", "version": "v1alpha1", "kind": "Workload"},
    "name": "web",
    "namespace": "shop",
    "operation": "InterpretReplica",
    "object": {
        "apiVersion": "workload.example.io/v1alpha1",
        "kind": "Workload",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"replicas": 3},
    },
}


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


@pytest.fixture
def server(authority: Authority) -> Iterator[Running]:
    with serving(authority) as running:
        yield running


@pytest.fixture
async def client() -> AsyncIterator[WebhookClient]:
    made = WebhookClient(in_cluster=False)
    yield made
    await made.close()


def question(
    url: str = "", bundle: str = "", *, timeout: int = 10, service: ServiceAddress | None = None
) -> WebhookQuestion:
    webhook = Webhook("hooks/w.example.com", url, service, bundle, timeout, "v1alpha1")
    return WebhookQuestion(
        webhook, "InterpretReplica", KEY, Digest("s"), REQUEST, Digest("d"), read=lambda response: response
    )


async def refused(client: WebhookClient, asked: WebhookQuestion) -> str:
    with pytest.raises(WebhookUnreachable) as error:
        await client.ask(asked)
    return error.value.message


# -- what goes out ------------------------------------------------------------------------------------------------


async def test_the_example_answers_over_https(client: WebhookClient, server: Running, authority: Authority) -> None:
    response = await client.ask(question(server.url, authority.bundle))
    assert (response["successful"], response["replicas"]) == (True, 3)
    (sent,) = server.received
    assert sent["apiVersion"] == "config.karmada.io/v1alpha1"
    assert sent["kind"] == "ResourceInterpreterContext"
    assert sent["request"] == {**REQUEST, "uid": response["uid"]}
    assert server.paths == ["/interpret?timeout=10s"]
    assert server.headers[0]["Content-Type"] == "application/json"
    assert "Authorization" not in server.headers[0]
    assert "Cookie" not in server.headers[0]


async def test_every_request_has_a_uid_of_its_own(client: WebhookClient, server: Running, authority: Authority) -> None:
    for _ in range(2):
        await client.ask(question(server.url, authority.bundle))
    first, second = (one["request"]["uid"] for one in server.received)
    assert first != second


async def test_a_proxy_of_the_environment_is_not_used(
    client: WebhookClient, server: Running, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("https_proxy", "HTTPS_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert (await client.ask(question(server.url, authority.bundle)))["successful"]


# -- who is trusted -----------------------------------------------------------------------------------------------


async def test_an_authority_that_nobody_named_is_not_trusted(
    client: WebhookClient, server: Running, authority: Authority
) -> None:
    assert "is not who it should be: " in await refused(client, question(server.url))
    assert "is not who it should be: " in await refused(client, question(server.url, Authority().bundle))
    assert server.received == []


async def test_a_certificate_for_another_name_is_not_trusted(client: WebhookClient, authority: Authority) -> None:
    with serving(authority, names=("elsewhere.example.com",)) as server:
        said = await refused(client, question(server.url, authority.bundle))
    assert "is not who it should be: " in said
    assert "localhost" in said


@pytest.mark.parametrize("bundle", ["%%%", "bm8gY2VydGlmaWNhdGU=", "w7w="])
async def test_a_bundle_without_certificates_is_said(client: WebhookClient, server: Running, bundle: str) -> None:
    said = await refused(client, question(server.url, bundle))
    assert said == "cannot be asked: its caBundle holds no certificates in base64 of PEM"


# -- where nobody goes --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "address",
    [
        "169.254.169.254", "169.254.0.1", "fe80::1", "fe80::1%eth0", "::ffff:169.254.169.254", "2002:a9fe:a9fe::1",
        "64:ff9b::a9fe:a9fe", "fd00:ec2::254", "100.100.100.200", "0.0.0.0", "::", "224.0.0.1", "ff02::1",
        "255.255.255.255",
    ],
)  # fmt: skip
async def test_addresses_that_only_a_machine_itself_should_ask_are_refused(client: WebhookClient, address: str) -> None:
    assert addresses.why_not(address)
    host = f"[{address.partition('%')[0]}]" if ":" in address else address
    said = await refused(client, question(f"https://{host}/latest"))
    assert "cannot be asked" in said
    assert "not" in said


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "10.0.0.1", "192.168.1.1", "fd00::1", "8.8.8.8"])
def test_private_and_public_addresses_may_be_asked(address: str) -> None:
    assert addresses.why_not(address) == ""


@pytest.mark.parametrize("host", ["2852039166", "0xa9fea9fe", "0251.0376.0251.0376", "１６９.254.169.254"])
async def test_other_ways_to_write_a_refused_address_help_nobody(client: WebhookClient, host: str) -> None:
    said = await refused(client, question(f"https://{host}/"))
    assert "link-local or metadata address" in said or said == "cannot be asked: its address is not valid"


class Moving(abc.AbstractResolver):
    """A name that is harmless when somebody checks it and something else when it counts."""

    def __init__(self, *addresses: str) -> None:
        self.addresses = list(addresses)

    async def resolve(self, host: str, port: int = 0, family: Any = socket.AF_INET) -> list[abc.ResolveResult]:
        address = self.addresses.pop(0) if len(self.addresses) > 1 else self.addresses[0]
        return [
            {"hostname": host, "host": address, "port": port, "family": socket.AF_INET, "proto": 0,
             "flags": socket.AI_NUMERICHOST}
        ]  # fmt: skip

    async def close(self) -> None:
        pass


async def test_a_name_that_means_another_address_the_second_time_is_refused_then(authority: Authority) -> None:
    with serving(authority, names=("hook.example.com",)) as server:
        client = WebhookClient(in_cluster=False, resolver=Moving("127.0.0.1", "169.254.169.254"))
        url = f"https://hook.example.com:{server.port}/"
        assert (await client.ask(question(url, authority.bundle)))["successful"]
        await client.close()
        said = await refused(client, question(url, authority.bundle))
        await client.close()
    assert said == (
        "cannot be reached: hook.example.com is 169.254.169.254, a link-local or metadata address, "
        "which is not contacted"
    )


# -- services -----------------------------------------------------------------------------------------------------


async def test_a_service_is_asked_by_its_name_in_the_cluster(authority: Authority) -> None:
    with serving(authority, names=("interpreter.tools.svc",)) as server:
        client = WebhookClient(in_cluster=True, resolver=Moving("127.0.0.1"))
        service = ServiceAddress("tools", "interpreter", server.port, "/deep/path")
        assert (await client.ask(question(bundle=authority.bundle, service=service)))["successful"]
        await client.close()
    assert server.paths == ["/deep/path?timeout=10s"]
    assert server.headers[0]["Host"] == f"interpreter.tools.svc:{server.port}"


async def test_a_service_cannot_be_asked_from_outside_of_a_cluster(client: WebhookClient) -> None:
    said = await refused(client, question(service=ServiceAddress("tools", "interpreter", 443, "")))
    assert said == "is the Service tools/interpreter, and gitfed does not run in a cluster: give clientConfig.url"


# -- down and slow ------------------------------------------------------------------------------------------------


async def test_nobody_listens(client: WebhookClient, authority: Authority) -> None:
    with serving(authority) as server:
        pass
    said = await refused(client, question(server.url, authority.bundle))
    assert said.startswith("cannot be reached: ")
    assert "localhost" not in said


async def test_a_name_that_does_not_exist(client: WebhookClient) -> None:
    assert "cannot be reached: " in await refused(client, question("https://nowhere.invalid/"))


async def test_who_is_slow_is_left_after_its_own_timeout(client: WebhookClient, authority: Authority) -> None:
    done = threading.Event()
    with serving(authority, react=lambda handler, context: done.wait(30) and None) as server:
        assert await refused(client, question(server.url, authority.bundle, timeout=1)) == "did not answer within 1 s"
        done.set()


async def test_who_sends_one_byte_after_the_other_is_left_too(client: WebhookClient, authority: Authority) -> None:
    done = threading.Event()

    def drip(handler: Any, context: dict[str, Any]) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "1000000")
        handler.end_headers()
        while not done.wait(0.05):
            handler.wfile.write(b" ")

    with serving(authority, react=drip) as server:
        assert await refused(client, question(server.url, authority.bundle, timeout=1)) == "did not answer within 1 s"
        done.set()


async def test_a_connection_that_breaks_half_way(client: WebhookClient, authority: Authority) -> None:
    def half(handler: Any, context: dict[str, Any]) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "100")
        handler.end_headers()
        handler.wfile.write(b'{"response"')
        handler.close_connection = True

    with serving(authority, react=half) as server:
        assert (await refused(client, question(server.url, authority.bundle))).startswith("cannot be asked: ")


async def test_a_connection_that_was_closed_meanwhile_costs_no_answer(
    client: WebhookClient, server: Running, authority: Authority
) -> None:
    def react(handler: Any, context: dict[str, Any]) -> None:
        if len(server.received) == 2:
            handler.close_connection = True  # without a word
        else:
            answering(replicas=1)(handler, context)

    server.react = react
    for _ in range(2):
        assert (await client.ask(question(server.url, authority.bundle)))["replicas"] == 1
    assert len(server.received) == 3


async def test_who_always_closes_the_connection_is_asked_twice_and_not_for_ever(
    client: WebhookClient, server: Running, authority: Authority
) -> None:
    server.react = lambda handler, context: setattr(handler, "close_connection", True)
    assert (await refused(client, question(server.url, authority.bundle))).startswith("cannot be asked: ")
    assert len(server.received) == 2


# -- lies ---------------------------------------------------------------------------------------------------------


def endless(handler: Any, context: dict[str, Any]) -> None:
    """A body in chunks that never ends."""
    handler.send_response(200)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    end = time.monotonic() + 20
    while time.monotonic() < end:
        handler.wfile.write(chunk)


@pytest.mark.parametrize(
    ("react", "said"),
    [
        pytest.param(lambda handler, context: raw(handler, b"", 500), "answers with HTTP status 500", id="status"),
        pytest.param(lambda handler, context: raw(handler, b"", 302, Location="https://127.0.0.1:1/"),
                     "answers with HTTP status 302", id="a redirect is not followed"),
        pytest.param(lambda handler, context: raw(handler, b""), "answers with what is not JSON", id="nothing"),
        pytest.param(lambda handler, context: raw(handler, b"<html>"), "answers with what is not JSON", id="HTML"),
        pytest.param(lambda handler, context: raw(handler, b"[" * 100_000), "answers with what is not JSON", id="deep"),
        pytest.param(lambda handler, context: raw(handler, b'{"response": {"replicas": NaN}}'),
                     "answers with what is not JSON", id="NaN"),
        pytest.param(lambda handler, context: raw(handler, b"[1]"), "answers with JSON that is not an object",
                     id="a list"),
        pytest.param(lambda handler, context: reply(handler, {"a": 1}), "answers without a response",
                     id="no response"),
        pytest.param(lambda handler, context: reply(handler, context), "answers without a response", id="an echo"),
        pytest.param(lambda handler, context: reply(handler, {"response": {"uid": "x", "successful": True}}),
                     "answers another request than ours: the response must repeat the request's uid", id="uid"),
        pytest.param(lambda handler, context: reply(handler, {"response": {"successful": True}}),
                     "answers another request than ours: the response must repeat the request's uid", id="no uid"),
        pytest.param(lambda handler, context: reply(handler, {"apiVersion": "config.karmada.io/v2", "response": {}}),
                     "answers in apiVersion 'config.karmada.io/v2', config.karmada.io/v1alpha1 is wanted",
                     id="another version"),
        pytest.param(lambda handler, context: raw(handler, gzip.compress(b" " * (1 << 24)), Content_Encoding="gzip"),
                     "answers compressed, which was not asked for", id="a compressed bomb"),
        pytest.param(lambda handler, context: raw(handler, b" " * (5 << 20)), "answers with more than 4 MiB",
                     id="too much"),
        pytest.param(endless, "answers with more than 4 MiB", id="chunks without an end"),
    ],
)  # fmt: skip
async def test_an_answer_that_is_none_says_what_it_is(
    client: WebhookClient, authority: Authority, react: Any, said: str
) -> None:
    with serving(authority, react=react) as server:
        with pytest.raises(WebhookError) as error:
            await client.ask(question(server.url, authority.bundle))
        assert error.value.message == said
        assert not isinstance(error.value, WebhookUnreachable)


async def test_an_unsuccessful_response_is_an_answer_for_others_to_judge(
    client: WebhookClient, authority: Authority
) -> None:
    with serving(authority, react=answering(successful=False, status={"code": 400, "message": "no"})) as server:
        response = await client.ask(question(server.url, authority.bundle))
    assert response["status"] == {"code": 400, "message": "no"}


async def test_two_requests_share_a_connection(client: WebhookClient, server: Running, authority: Authority) -> None:
    ports: list[int] = []
    server.react = lambda handler, context: (
        ports.append(handler.client_address[1]),
        answering(replicas=1)(handler, context),
    )[-1]
    for _ in range(2):
        await client.ask(question(server.url, authority.bundle))
    assert len(set(ports)) == 1
