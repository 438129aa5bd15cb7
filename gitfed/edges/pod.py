"""Whether this process runs in a pod: only there a Service has a name and an address."""

from __future__ import annotations

import os
from collections.abc import Mapping


def runs_here(environment: Mapping[str, str] = os.environ) -> bool:
    """Kubernetes tells every container where its API server is."""
    return bool(environment.get("KUBERNETES_SERVICE_HOST"))
