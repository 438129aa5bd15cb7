"""Which cluster answers at an address, and whether it went back in time.

A cluster is the uid of its namespace kube-system (Karmada: `Cluster.spec.id`): it is made with the cluster and goes
with it. A list of that namespace also bears the version of the store behind the server, which only grows, unless the
store was restored from a backup. A watch does not tell either: it waits for a version that may never come again.
"""

from __future__ import annotations

from gitfed import errors
from gitfed.edges.kube.connection.session import Session
from gitfed.edges.kube.facts import LONGEST
from gitfed.text.values import dataclass

PATH = "/api/v1/namespaces"
_QUERY = {"fieldSelector": "metadata.name=kube-system"}


@dataclass(frozen=True, slots=True)
class ClusterIdentity:
    uid: str
    version: str
    """Of the store, when it was asked."""

    def is_before(self, recorded: ClusterIdentity) -> bool:
        """Whether the same cluster is at an earlier version than was `recorded`. Versions that are no numbers tell
        nothing."""
        numbers = self.version.isdecimal() and recorded.version.isdecimal()
        return self.uid == recorded.uid and numbers and int(self.version) < int(recorded.version)


async def read(session: Session) -> ClusterIdentity | None:
    """None: unknown, because we may not look or something else answers there. Raises ClusterError when the
    cluster does not answer."""
    try:
        body = await session.json("GET", PATH, query=_QUERY, timeout=LONGEST)
    except (errors.Unauthorized, errors.ObjectNotFound, errors.ObjectInvalid):
        return None
    items = body.get("items") or ()
    uid = str((items[0].get("metadata") or {}).get("uid") or "") if items else ""
    return ClusterIdentity(uid, str((body.get("metadata") or {}).get("resourceVersion") or "")) if uid else None
