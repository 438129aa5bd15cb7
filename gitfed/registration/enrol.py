"""★ Registering a cluster: from a pin and a token to an agent that runs with a certificate of its own."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from gitfed import errors
from gitfed.edges import signing_request
from gitfed.edges.kube.connection.session import Session
from gitfed.model import agent_identity
from gitfed.model.agent_identity import AgentName
from gitfed.registration import hub_client, hub_discovery, member_steps, renewal
from gitfed.registration.agent_manifests import Agent, AgentCredentials
from gitfed.text.values import dataclass


@dataclass(frozen=True, slots=True)
class RegistrationRequest:
    agent: Agent
    token: str
    pins: Collection[str]
    """Empty: any server at the hub's address is trusted."""
    discovery_timeout: float


async def register(session: Session, asked: RegistrationRequest, tell: Callable[[str], None]) -> None:
    """Each step may have been done before. Raises UsageError, HubError, HubUnreachable, ClusterError."""
    agent = asked.agent
    tell("[preflight] Running pre-flight checks")
    present = await member_steps.look(session, agent.namespace)
    if member_steps.preflight(agent, present):
        tell(f"[preflight] Continuing an earlier registration of {agent.cluster}")
    tell("[preflight] All pre-flight checks were passed")

    tell(f"[discovery] Asking {agent.hub} for its authority")
    authorities = await hub_discovery.discover(agent.hub, asked.pins, timeout=asked.discovery_timeout)
    earlier = present.identity or AgentCredentials(b"")
    identity = AgentCredentials(authorities, b"", earlier.key or signing_request.new_key())

    tell(f"[certificate] Asking for a certificate of {agent_identity.common_name(agent.cluster)}")
    certificate = await renewal.renewed(agent.hub, agent.cluster, replace(earlier, authorities=authorities))
    if certificate is None:
        await member_steps.put_identity(session, agent, identity)
        certificate = await _first(asked, identity)
    await member_steps.put_identity(session, agent, replace(identity, certificate=certificate))

    tell(f"[agent-start] Applying the agent's objects in namespace {agent.namespace}")
    await member_steps.put_workload(session, agent)


async def join_pool(
    pool: str, hub: str, token: str, pins: Collection[str], timeout: float, *, key: bytes
) -> AgentCredentials:
    """The credentials of a pool's members. With the same key it can be done again. Raises as `register`."""
    authorities = await hub_discovery.discover(hub, pins, timeout=timeout)
    identity = AgentCredentials(authorities, b"", key)
    return replace(identity, certificate=await _signed(hub, token, agent_identity.of_pool(pool), identity))


async def _first(asked: RegistrationRequest, identity: AgentCredentials) -> bytes:
    return await _signed(asked.agent.hub, asked.token, asked.agent.cluster, identity)


async def _signed(hub: str, token: str, agent: AgentName, identity: AgentCredentials) -> bytes:
    request = _request(identity.key, agent)
    answer = await hub_client.first_certificate(hub, identity.authorities, token, agent, request)
    if answer.status != 201:
        hint = _HINTS.get(answer.status, "the hub's log says more (logger gitfed.audit)")
        raise errors.HubError(f"the hub {hub} refuses: {answer.text}", hint=hint)
    return renewal.checked(answer.body, request)


def _request(key: bytes, agent: AgentName) -> bytes:
    return signing_request.make(key, agent_identity.common_name(agent), agent_identity.group(agent))


_HINTS = {
    401: "it is over, or was deleted, or is mistyped: gitfed token create makes another",
    403: "a token is for one cluster, or for one pool: gitfed token create makes another",
    409: "choose another --cluster-name; to register a cluster again: gitfed token create --cluster-name NAME",
    429: "wait a minute",
    503: "try again in a moment",
}
