"""How a cluster is reached: through the door of a hub, or by a context of the caller's own kubeconfig."""

from __future__ import annotations

import base64
import os
from collections.abc import Sequence
from dataclasses import field
from pathlib import Path

from gitfed.client import credential
from gitfed.client.credential import Credential
from gitfed.errors import UsageError
from gitfed.fleet_api import doors
from gitfed.model.base import ClusterName
from gitfed.text import yaml
from gitfed.text.values import dataclass


@dataclass(frozen=True, slots=True)
class KubeContext:
    """`kubeconfig`: the text of one; "": the files of `paths` have a context of this name."""

    cluster: ClusterName
    context: str
    paths: str = ""
    kubeconfig: str = field(default="", repr=False)


def through_door(url: str, who: Credential, cluster: ClusterName) -> KubeContext:
    """Raises UsageError."""
    if not doors.may_be_cluster(cluster):
        raise UsageError(f"{cluster!r} is no name of a cluster")
    check_secure(url)
    document = kubeconfig(f"{url}{doors.of_cluster(cluster)}", cluster, "gitfed", who)
    return KubeContext(cluster, cluster, kubeconfig=yaml.dump(document))


def own(paths: Sequence[Path], cluster: ClusterName) -> KubeContext:
    """Raises UsageError where there is no context of the cluster's name, InputError for what is no kubeconfig."""
    own_contexts = list(credential.contexts(paths))
    if cluster not in own_contexts:
        named = ", ".join(map(str, paths)) or "no kubeconfig"
        raise UsageError(
            f"{named}: no context {cluster!r}, and no hub is named",
            hint="--server says which hub leads there, --kubeconfig where your own contexts are",
        )
    return KubeContext(cluster, cluster, paths=os.pathsep.join(map(str, paths)))


def check_secure(url: str) -> None:
    """Raises UsageError for a hub to which kubectl would send no credential."""
    if not url.startswith("https://"):
        raise UsageError(
            f"the hub at {url or '?'} has no TLS, so kubectl sends it no credential",
            hint="start it with --hub-url https://localhost:PORT, or on another address",
        )


def kubeconfig(server: str, name: str, user: str, who: Credential) -> dict[str, object]:
    """A kubeconfig with one context, `name`. It starts no program."""
    cluster: dict[str, object] = {"server": server}
    if who.authority:
        cluster["certificate-authority-data"] = _encoded(who.authority)
    shown: dict[str, object] = {}
    if who.certificate:
        shown = {"client-certificate-data": _encoded(who.certificate), "client-key-data": _encoded(who.key)}
    elif who.token:
        shown = {"token": who.token}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": user, "user": shown}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": user}}],
        "current-context": name,
    }


def _encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()
