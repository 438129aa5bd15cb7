"""Whether the cluster that answers is the one that was read, and was not restored to an earlier state."""

from __future__ import annotations

import asyncio

from gitfed import errors
from gitfed.edges.kube import identity
from gitfed.edges.kube.connection.session import Session
from gitfed.edges.kube.identity import ClusterIdentity
from gitfed.model.base import ClusterName

_FRESH = 1.0
"""Seconds for which it need not be asked again, before a write."""


class SameCluster:
    def __init__(self, cluster: ClusterName) -> None:
        self._cluster = cluster
        self._identity: ClusterIdentity | None = None
        """Which cluster was read, and how far it was."""
        self._confirmed_at = 0.0

    @property
    def uid(self) -> str:
        """That of its kube-system; "" while it was not read."""
        return self._identity.uid if self._identity is not None else ""

    def take(self, identity: ClusterIdentity | None) -> None:
        """This cluster is read from now on. None: it does not say which cluster it is."""
        self._identity, self._confirmed_at = identity, asyncio.get_running_loop().time()

    async def confirm(self, session: Session | None) -> None:
        """Raises ClusterReplaced unless it is the cluster that was read; asked at most once a second."""
        loop = asyncio.get_running_loop()
        if session is None or loop.time() - self._confirmed_at < _FRESH:
            return
        observed, before = await identity.read(session), self._identity
        self._confirmed_at = loop.time()
        if observed is None or before is None:
            return
        if observed.uid != before.uid:
            raise errors.ClusterReplaced(
                f"cluster {self._cluster}: another cluster answers at its address than before", cluster=self._cluster
            )
        if observed.is_before(before):
            raise errors.ClusterReplaced(
                f"cluster {self._cluster}: it was restored to an earlier state: reading it anew", cluster=self._cluster
            )
        self._identity = observed
