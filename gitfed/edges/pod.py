"""Whether this process runs in a pod: only there a Service has a name and an address; and in which namespace."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path


def runs_here(environment: Mapping[str, str] = os.environ) -> bool:
    """Kubernetes tells every container where its API server is."""
    return bool(environment.get("KUBERNETES_SERVICE_HOST"))


_NAMESPACE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")


def namespace(path: Path = _NAMESPACE) -> str:
    """The pod's own; "" where no service account is mounted."""
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return ""
