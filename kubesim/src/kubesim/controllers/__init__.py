"""The controllers of an embedded cluster: what turns a Deployment into pods that run, without anything running.

``Controllers(world, settings)`` adds them all to a cluster; each is one module and one class over the shared
``work.Loop``. They use the cluster's API from within, under the names that real controllers have, so that field
ownership looks as it does elsewhere.
"""

from __future__ import annotations

from kubesim.controllers.accounts import NamespaceDefaults
from kubesim.controllers.budgets import Budgets
from kubesim.controllers.daemonsets import DaemonSets
from kubesim.controllers.deployments import Deployments
from kubesim.controllers.events import Events
from kubesim.controllers.jobs import Jobs
from kubesim.controllers.kubelet import Kubelet
from kubesim.controllers.node_lifecycle import Leases, NodeLifecycle, TaintEviction
from kubesim.controllers.objects import Owned
from kubesim.controllers.replicasets import ReplicaSets
from kubesim.controllers.scheduler import Scheduler
from kubesim.controllers.services import Endpoints, LoadBalancers
from kubesim.controllers.settings import Settings
from kubesim.controllers.statefulsets import StatefulSets
from kubesim.controllers.usage import Usage
from kubesim.controllers.volumes import Volumes
from kubesim.controllers.work import Loop, Schedule
from kubesim.server.world import World

__all__ = ["Controllers", "Settings"]


class Controllers:
    """All controllers of one cluster. They act from now on, on what there is already too."""

    def __init__(self, world: World, settings: Settings | None = None, schedule: Schedule | None = None) -> None:
        chosen = settings or Settings()
        self._loop = Loop(world, schedule)
        self._events = Events(self._loop, chosen)
        owned = Owned(world, "pods", "replicasets.apps")
        Deployments(self._loop, owned)
        ReplicaSets(self._loop, owned)
        StatefulSets(self._loop, owned)
        DaemonSets(self._loop, owned)
        Jobs(self._loop, owned)
        NodeLifecycle(self._loop)
        TaintEviction(self._loop)
        Leases(self._loop, chosen)
        Scheduler(self._loop)
        Kubelet(self._loop, chosen)
        LoadBalancers(self._loop)
        Endpoints(self._loop)
        Volumes(self._loop)
        Budgets(self._loop)
        Usage(self._loop)
        NamespaceDefaults(self._loop)
        world.proceed()

    def stop(self) -> None:
        """No controller does anything any more."""
        self._loop.stop()
        self._events.stop()
