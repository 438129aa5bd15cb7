"""The authority of all replicas of a hub in a cluster: it is kept in a Secret beside them.

Each has a copy in its folder, from which it serves, and from which `gitfed kubeconfig --admin` signs; the Secret's
counts. What a replica had before there was a Secret goes into it, so that credentials that were given out stay good.
"""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from pathlib import Path

from gitfed.edges import certificates
from gitfed.edges.kube.authority_secret import AuthoritySecret
from gitfed.errors import ClusterError

log = logging.getLogger("gitfed.hub")

NAME = "gitfed-hub-ca"


async def settle(folder: Path, secret: AuthoritySecret) -> None:
    """Have the folder hold what the Secret holds; make it, if there is none.

    Where the Secret may not be used, this replica keeps to its folder, as on a machine of its own, and says so. Raises
    ClusterError when the API server gives no answer to one that has no authority yet: two would be made. Raises
    InputError when the Secret holds something else, UsageError when the folder cannot be used.
    """
    ours = certificates.kept(folder)
    try:
        theirs = await secret.read()
        if theirs is None:
            theirs = await secret.create(*(ours or certificates.new_authority(datetime.now(UTC))))
    except ClusterError as error:
        if error.retry and ours is None:
            raise
        log.warning("the hub's authority is not shared", extra={"secret": str(secret), "error": error.message})
        return
    if theirs != ours:
        certificates.check_authority(*theirs, where=str(secret))
        certificates.keep(folder, *theirs)
        log.info("the hub's authority is that of the Secret", extra={"secret": str(secret)})
