"""Which Deployments of a cluster have pods that no node was found for: from ReplicaSets to what decisions are about.

The pods are counted by the capacity watch, by the ReplicaSet that owns them (`model.capacity`). Which Deployment that
is, whether the ReplicaSet is its newest one, and how many of its replicas are ready, is asked here, for those few that
have such pods, when the descheduler wants to take replicas back. An older ReplicaSet on its way out counts for nothing
(Karmada: scheduling §5.3, GetUnschedulableReplicas).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from gitfed import errors
from gitfed.edges.kube.connection import translate
from gitfed.edges.kube.connection.session import Session
from gitfed.model.base import Body, ObjectKey
from gitfed.model.capacity import Owner
from gitfed.model.fleet import Stuck
from gitfed.model.keys import REVISION

_log = logging.getLogger(__name__)


async def look(
    session: Session, waiting: Mapping[Owner, int], is_ours: Callable[[ObjectKey, str], bool]
) -> dict[ObjectKey, tuple[int, Stuck]]:
    """By Deployment: how many replicas it wants there, and what is stuck. `waiting`: pods by ReplicaSet; `is_ours` is
    asked with a Deployment's key and uid. What cannot be read, or is in motion, is left out: unknown is not stuck.
    """
    by_deployment: dict[ObjectKey, tuple[int, Stuck]] = {}
    for owner, pods in sorted(waiting.items()):
        try:
            deployment = await _look(session, owner, pods, is_ours)
        except errors.ObjectNotFound:
            continue  # gone meanwhile
        except errors.ClusterError as error:
            details = {"cluster": session.cluster, "object": f"{owner.namespace}/{owner.name}"}
            _log.info("waiting pods cannot be looked into", extra={**details, "error": translate.said(error)})
            continue
        if deployment is not None:
            by_deployment[deployment[0]] = deployment[1]
    return by_deployment


async def _look(
    session: Session, owner: Owner, pods: int, is_ours: Callable[[ObjectKey, str], bool]
) -> tuple[ObjectKey, tuple[int, Stuck]] | None:
    base = f"/apis/apps/v1/namespaces/{quote(owner.namespace, safe='')}"
    mine = await session.json("GET", f"{base}/replicasets/{quote(owner.name, safe='')}")
    controller = _controller(mine)
    if controller.get("kind") != "Deployment":
        return None
    name = str(controller.get("name") or "")
    key = ObjectKey("apps", "Deployment", owner.namespace, name)
    if not is_ours(key, str(controller.get("uid") or "")):
        return None
    deployment = await session.json("GET", f"{base}/deployments/{quote(name, safe='')}")
    metadata, status = deployment.get("metadata") or {}, deployment.get("status") or {}
    if metadata.get("uid") != controller.get("uid") or not _is_newest(mine, deployment):
        return None
    wanted = (deployment.get("spec") or {}).get("replicas", 1)
    # A Deployment without any status says nothing of what is ready; a status without the number says none (Kubernetes).
    ready = status.get("readyReplicas", 0) if status else -1
    if not isinstance(wanted, int) or not isinstance(ready, int):
        return None
    return key, (wanted, Stuck(ready, pods))


def _controller(body: Body) -> Mapping[str, Any]:
    owners = (body.get("metadata") or {}).get("ownerReferences") or ()
    return next((owner for owner in owners if owner.get("controller")), {})


def _is_newest(replica_set: Body, deployment: Body) -> bool:
    """The controller writes the revision of the newest ReplicaSet on the Deployment. One without: there is only one."""
    wanted, mine = (
        ((body.get("metadata") or {}).get("annotations") or {}).get(REVISION) for body in (deployment, replica_set)
    )
    return bool(wanted == mine)
