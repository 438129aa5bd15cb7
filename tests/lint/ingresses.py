"""A MultiClusterIngress."""

from __future__ import annotations

import json
from typing import Any


def ingress(*services: tuple[str, Any]) -> str:
    paths = [
        {"path": "/", "pathType": "Prefix", "backend": {"service": {"name": name, "port": port}}}
        for name, port in services
    ]
    return json.dumps(
        {"apiVersion": "networking.karmada.io/v1alpha1", "kind": "MultiClusterIngress",
         "metadata": {"name": "web", "namespace": "shop"}, "spec": {"rules": [{"http": {"paths": paths}}]}}
    )  # fmt: skip
