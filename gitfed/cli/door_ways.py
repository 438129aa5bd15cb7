"""A hub's doors as ways into clusters, for commands that look into them themselves (`gitfed plan --live --server`).

Every cluster is reached so, a pulled one by its agent, with the caller's credential for the hub. It is the caller whom
an AccessPolicy and the cluster's RBAC have to let read.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from gitfed.client.connection import HubConnection
from gitfed.client.credential import Credential
from gitfed.edges.http import proxies
from gitfed.edges.kube.connection.client_settings import ClientSettings
from gitfed.edges.kube.connection.credentials import ClusterConnection
from gitfed.fleet_api import doors
from gitfed.model.declared.cluster import Cluster


def check(url: str, who: Credential) -> None:
    """That a hub is there and knows the caller, before each cluster would say that it is not. Raises HubError,
    HubUnreachable, InputError."""
    HubConnection(url, who).get("/openapi.json")


def ways(url: str, who: Credential) -> Callable[[Cluster], ClusterConnection]:
    """`url`: as `address.checked` gives it. Nothing is asked of the hub."""

    async def configure(server: str) -> ClientSettings:
        settings = ClientSettings(host=server, proxy=proxies.of_environment(server, os.environ))
        settings.ca_cert_data = who.authority.decode("utf-8", "replace") or None
        if who.certificate:
            settings.client_certificate = who.certificate, who.key
        elif who.token:
            settings.set_authorization(f"Bearer {who.token}")
        return settings

    def way(cluster: Cluster) -> ClusterConnection:
        name = cluster.metadata.name
        server = f"{url}{doors.of_cluster(name)}"
        return ClusterConnection(name, server, f"the door of the hub at {url}", lambda: configure(server), is_door=True)

    return way
