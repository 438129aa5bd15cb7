"""What the hub offers to agents to be: its authority, a certificate for a token, and the next for the present one.

    GET    /agents/v1/authority       anybody   what the hub is trusted by; a client compares it with its pin
    POST   /agents/v1/registration    a token   the first certificate, for one new cluster or one pool
    POST   /agents/v1/certificate     an agent  the next one
    DELETE /agents/v1/registration    an agent  none any more

A signature is asked for with a key that the agent made and keeps. Who holds a token has that and nothing else: the
certificate is for one cluster that the repository does not have and no agent had before, or for the pool that the token
is for. Asked again with the same token, name and key, the hub signs again, since the answer may have been lost.
"""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime

import orjson
from aiohttp import web

from gitfed.edges import certificate_pins, signing_request
from gitfed.edges.certificates import Authority
from gitfed.edges.signing_request import SigningRequest
from gitfed.errors import GitfedError, InputError
from gitfed.hub import refusal, routes
from gitfed.hub.access.agents import Agents, serial_of
from gitfed.hub.enrolment import bootstrap_tokens
from gitfed.hub.enrolment.bootstrap_tokens import Token
from gitfed.hub.enrolment.ledger import Issued, Ledger, Refusal
from gitfed.hub.enrolment.throttle import Throttle
from gitfed.hub.routes import Capability, Handler, Route
from gitfed.hub.server import Hub
from gitfed.model import agent_identity
from gitfed.model.agent_identity import AgentName
from gitfed.text.values import dataclass

log = logging.getLogger("gitfed.hub")
audit = logging.getLogger("gitfed.audit")

_HASHES = 2
"""At a time: one costs 16 MiB, and a core for a moment."""
_MOST_WAITING = 16
_STATUSES = {
    Refusal.TOKEN: 401,
    Refusal.SPENT: 403,
    Refusal.OTHER_CLUSTER: 403,
    Refusal.NO_POOLS: 403,
    Refusal.NAME_TAKEN: 409,
    Refusal.UNKNOWN_CERTIFICATE: 403,
}


def capability(hub: Hub) -> Capability:
    agents = hub.authentication.agents
    if agents is None:
        return Capability()
    desk = _Desk(hub, agents)
    return Capability(
        routes=(
            Route("GET", "/agents/v1/authority", desk.authority, open=True),
            Route("POST", "/agents/v1/registration", _kept(desk.register), open=True, largest=16 << 10),
            Route("POST", "/agents/v1/certificate", _kept(desk.renew), agents=True, largest=16 << 10),
            Route("DELETE", "/agents/v1/registration", _kept(desk.unregister), agents=True),
        ),
        services=(agents.keep_watch,),
    )


@dataclass(frozen=True, slots=True)
class _Asked:
    cluster: AgentName
    request: SigningRequest


class _Desk:
    def __init__(self, hub: Hub, agents: Agents) -> None:
        self._hub = hub
        self._agents = agents
        self._throttle = Throttle()
        self._hashes = asyncio.Semaphore(_HASHES)
        self._waiting = 0

    async def authority(self, request: web.Request) -> web.StreamResponse:
        assert self._hub.identity is not None
        return web.Response(body=self._hub.identity.trusted, content_type="application/x-pem-file")

    # -- the first certificate ----------------------------------------------------------------------------------

    async def register(self, request: web.Request) -> web.StreamResponse:
        client = request.remote or ""
        if wait := self._throttle.wait(client):
            return refusal.answer(request, 429, "too many attempts", {"Retry-After": f"{wait + 1:.0f}"})
        shown = _token_of(request)
        certificate_request = await _asked(request)
        if isinstance(certificate_request, str):
            return refusal.answer(request, 400, certificate_request)
        repo = self._hub.running.repo
        if repo is None:
            # A name that is not known to be free is not free.
            return refusal.answer(request, 503, "the hub has read no commit yet", {"Retry-After": "5"})
        if self._waiting >= _MOST_WAITING:
            return refusal.answer(request, 503, "too many registrations at a time", {"Retry-After": "5"})
        token = await self._proven(shown)
        result: bytes | Refusal = Refusal.TOKEN
        if token is not None:
            declared = certificate_request.cluster in repo.clusters
            result = await self._agents.ledger.changed(
                lambda ledger: self._enrol(ledger, token, certificate_request, declared)
            )
        if isinstance(result, Refusal):
            self._throttle.failed(client)
            _note(request, certificate_request.cluster, shown[0] if shown else "", f"refused: {result.name.lower()}")
            return refusal.answer(request, _STATUSES[result], result.value)
        self._agents.drop_revoked()  # of the same name, where the token was for it
        _note(request, certificate_request.cluster, shown[0] if shown else "", "registered")
        return _certificate(result, 201)

    async def _proven(self, shown: tuple[str, str] | None) -> Token | None:
        """The token whose secret was shown, as the ledger has it now."""
        if shown is None:
            return None
        await self._agents.ledger.look()  # another process may have made it, or used it, a moment ago
        token = self._agents.ledger.read().tokens.get(shown[0])
        self._waiting += 1
        try:
            async with self._hashes:
                proven = await asyncio.to_thread(bootstrap_tokens.proves, shown[1], token)
        finally:
            self._waiting -= 1
        return token if proven else None

    def _enrol(
        self, ledger: Ledger, token: Token, certificate_request: _Asked, declared: bool
    ) -> tuple[Ledger, bytes | Refusal]:
        now = datetime.now(UTC)
        key = certificate_request.request.key_digest
        why_not = ledger.why_not(token, certificate_request.cluster, key, declared=declared, now=now)
        if why_not is not None:
            return ledger, why_not
        certificate, issued = self._sign(certificate_request, now)
        return ledger.enrolled(token, certificate_request.cluster, issued, now).swept(now), certificate

    # -- the next, and none any more ----------------------------------------------------------------------------

    async def renew(self, request: web.Request) -> web.StreamResponse:
        cluster = routes.agent(request)
        certificate_request = _checked(cluster, await request.read())
        if isinstance(certificate_request, str):
            return refusal.answer(request, 400, certificate_request)
        shown = serial_of(request.get_extra_info("peercert"))
        certificate, issued = self._sign(certificate_request, datetime.now(UTC))

        def change(ledger: Ledger) -> tuple[Ledger, Refusal | None]:
            changed = ledger.renewed(cluster, shown, issued)
            return (ledger, changed) if isinstance(changed, Refusal) else (changed, None)

        refused = await self._agents.ledger.changed(change)
        if refused is not None:
            return refusal.answer(request, _STATUSES[refused], refused.value)
        _note(request, cluster, "", "renewed")
        return _certificate(certificate, 201)

    async def unregister(self, request: web.Request) -> web.StreamResponse:
        cluster = routes.agent(request)
        await self._agents.ledger.changed(lambda ledger: (ledger.without_cluster(cluster), None))
        _note(request, cluster, "", "unregistered")
        answer = web.Response(status=204)
        answer.force_close()
        asyncio.get_running_loop().call_later(0.1, self._agents.drop_revoked)
        return answer

    def _sign(self, certificate_request: _Asked, now: datetime) -> tuple[bytes, Issued]:
        authority: Authority = self._hub.identity.authority  # type: ignore[union-attr]
        cluster = certificate_request.cluster
        name, group = agent_identity.common_name(cluster), agent_identity.group(cluster)
        life = self._hub.options.agent_life
        signed = authority.for_request(certificate_request.request, name, [group], life, now=now)
        read = certificate_pins.read(signed)
        return signed, Issued(read.serial, read.key, read.begins, read.ends)


def _kept(handler: Handler) -> Handler:
    """Where the ledger cannot be read or written, no agent is let in, and the log says why."""

    async def handle(request: web.Request) -> web.StreamResponse:
        try:
            return await handler(request)
        except GitfedError as error:
            log.error("the ledger of agents cannot be used", extra={"error": str(error)})
            return refusal.answer(request, 503, "no agent can be registered now", {"Retry-After": "30"})

    return handle


def _token_of(request: web.Request) -> tuple[str, str] | None:
    scheme, _, value = request.headers.get("Authorization", "").partition(" ")
    return bootstrap_tokens.parse(value.strip()) if scheme.lower() == "bearer" else None


async def _asked(request: web.Request) -> _Asked | str:
    """What a token's holder asks for; else what is wrong with the request."""
    try:
        value = orjson.loads(await request.read())  # no deep nesting, no half characters
    except ValueError:
        value = None
    if not isinstance(value, dict) or set(value) not in ({"cluster", "request"}, {"pool", "request"}):
        return "the body is to be JSON with cluster or pool, and request"
    if not all(isinstance(text, str) for text in value.values()):
        return "cluster or pool, and request, are to be texts"
    pem = value["request"].encode()
    if (pool := value.get("pool")) is not None:
        why = agent_identity.why_not_a_pool(pool)
        return f"the pool name {why}" if why else _checked(agent_identity.of_pool(pool), pem)
    if why := agent_identity.why_not_a_name(value["cluster"]):
        return f"the cluster name {why}"
    return _checked(value["cluster"], pem)


def _checked(cluster: AgentName, pem: bytes) -> _Asked | str:
    try:
        request = signing_request.read(pem)
    except InputError as error:
        return f"{error.message} ({error.hint})" if error.hint else error.message
    if agent_identity.agent_of(request.common_name, request.organizations) != cluster:
        name, group = agent_identity.common_name(cluster), agent_identity.group(cluster)
        return f"the signing request is not for {name} in {group}"
    return _Asked(cluster, request)


def _certificate(pem: bytes, status: int) -> web.Response:
    return web.Response(status=status, body=pem, content_type="application/x-pem-file")


def _note(request: web.Request, cluster: AgentName, token: str, result: str) -> None:
    """One line for every attempt; of a token its id, which is no secret."""
    audit.info(
        "agent certificate", extra={"cluster": cluster, "token": token, "result": result, "remote": request.remote}
    )
