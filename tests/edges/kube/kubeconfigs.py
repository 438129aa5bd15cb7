"""Kubeconfigs and Secrets of every form, and the sources made of them."""

from __future__ import annotations

import json
import ssl
from pathlib import Path
from typing import Any

import pytest
import trustme

from gitfed import errors
from gitfed.edges.kube.connection import credentials
from tests.edges.kube.declared import cluster


def kubeconfig(path: Path, **changes: Any) -> Path:
    """One context, cluster and user `m1`; keyword arguments `cluster` and `user` are their members."""
    members = {"server": "https://m1.example.com:6443", **changes.get("cluster", {})}
    config = {
        "contexts": [{"name": changes.get("name", "m1"), "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": members}],
        "users": [{"name": "u", "user": changes.get("user", {"token": "t0ken"})}],
    }
    path.write_text(json.dumps(config))
    return path


def sources(*paths: Path, **options: Any) -> credentials.CredentialSources:
    return credentials.CredentialSources(kubeconfig=paths, **{"environment": {}, **options})


def secret(root: Path, **files: str | bytes) -> Path:
    """A mounted Secret: a token, and what else these files say."""
    directory = root / "karmada-cluster" / "m1"
    directory.mkdir(parents=True)
    for name, content in files.items():
        data = content if isinstance(content, bytes) else content.encode()
        (directory / name).write_bytes(data)
    return directory


def with_secret(**spec: Any) -> Any:
    return cluster(
        "m1", secret_ref={"namespace": "karmada-cluster", "name": "m1"}, **{"api_endpoint": "https://m1:6443", **spec}
    )


def refusal(declared: Any, given: credentials.CredentialSources) -> str:
    with pytest.raises(errors.CredentialsError) as raised:
        credentials.resolve(declared, given)
    assert raised.value.cluster == "m1"
    return str(raised.value)


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


def tls(authority: trustme.CA, *names: str, clients: bool = False) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(*(names or ("127.0.0.1",))).configure_cert(context)
    if clients:
        context.verify_mode = ssl.CERT_REQUIRED
        authority.configure_trust(context)
    return context
