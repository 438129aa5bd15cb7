"""A registration against a member that a test answers for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gitfed.cli.commands.clusters import cluster_session
from gitfed.edges import certificate_pins
from gitfed.edges.kube.connection.session import Session
from gitfed.registration import member_steps
from gitfed.registration.agent_manifests import Agent
from gitfed.registration.enrol import RegistrationRequest
from tests.clusters.embedded import EmbeddedFleet
from tests.hub.stage import Staged

KINDS = ("Secret", "ServiceAccount", "Role", "RoleBinding", "Deployment")


@dataclass
class Told:
    lines: list[str]

    def __call__(self, line: str) -> None:
        self.lines.append(line)


def agent(hub: Staged, name: str = "edge-1") -> Agent:
    return Agent(name, f"127.0.0.1:{hub.port}", "gitfed-system", "gitfed:1", role="cluster-admin")


def asked(hub: Staged, bearer: str, name: str = "edge-1") -> RegistrationRequest:
    return RegistrationRequest(agent(hub, name), bearer, certificate_pins.pins(hub.authority.encode()), 0.0)


def session(member: EmbeddedFleet, name: str = "edge-1") -> Session:
    return cluster_session.by_kubeconfig(member.kubeconfig, name, "edge-1", allow_exec=False)


async def made(at: Session) -> dict[str, Any]:
    """What is there of the agent, by kind."""
    found = {kind: await member_steps._get(at, kind, "gitfed-system") for kind in KINDS}
    return {kind: body for kind, body in found.items() if body is not None}
