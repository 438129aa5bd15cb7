"""Declared clusters as `credentials.resolve` reads them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any


def cluster(name: str, *, annotations: dict[str, str] | None = None, **spec: Any) -> Any:
    defaults: dict[str, Any] = {
        "api_endpoint": None,
        "secret_ref": None,
        "insecure_skip_tls_verification": False,
        "proxy_url": None,
        "proxy_header": None,
    }
    return SimpleNamespace(
        metadata=SimpleNamespace(name=name, annotations=annotations or {}), spec=SimpleNamespace(**{**defaults, **spec})
    )
