"""ResourceRegistry: which kinds of which clusters the hub keeps at hand for searching, and where it copies them to.

Registries add up: a kind that two of them select in one cluster is kept once, in the namespaces of both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import Field

from gitfed.model.declared.placement import ClusterAffinity
from gitfed.model.declared.shape import Declared, Finding, Part, Required, Text, warning

API_VERSION = "search.karmada.io/v1alpha1"
_VERSION = re.compile(r"(?:[a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?v[0-9]+(?:(?:alpha|beta)[0-9]+)?")


class SearchSelector(Part):
    """One kind, in one namespace or in all."""

    api_version: Required
    kind: Required
    namespace: Text = ""
    """Omitted: all. Without meaning for a kind that is in none."""


class SecretReference(Part):
    """Karmada lets both be empty: then there is no login."""

    namespace: Text = ""
    name: Text = ""

    @property
    def is_empty(self) -> bool:
        return not (self.namespace and self.name)


class OpenSearchConfig(Part):
    addresses: Annotated[tuple[Required, ...], Field(min_length=1)]
    """http or https."""
    secret_ref: SecretReference = Field(default_factory=SecretReference)


class BackendStore(Part):
    open_search: OpenSearchConfig | None = None


class ResourceRegistrySpec(Part):
    target_cluster: ClusterAffinity
    resource_selectors: Annotated[tuple[SearchSelector, ...], Field(min_length=1)]
    backend_store: BackendStore | None = None


class ResourceRegistry(Declared):
    kind: Literal["ResourceRegistry"]
    spec: ResourceRegistrySpec

    @property
    def open_search(self) -> OpenSearchConfig | None:
        store = self.spec.backend_store
        return store.open_search if store is not None else None

    def findings(self) -> Iterator[Finding]:
        yield from self.spec.target_cluster.findings(("spec", "targetCluster"))
        seen: set[SearchSelector] = set()
        for i, wanted in enumerate(self.spec.resource_selectors):
            where = ("spec", "resourceSelectors", i)
            if not _VERSION.fullmatch(wanted.api_version):
                yield Finding((*where, "apiVersion"), f"{wanted.api_version} is no apiVersion", "such as v1 or apps/v1")
            if not wanted.kind[0].isupper():
                yield Finding((*where, "kind"), f"{wanted.kind} is no kind", "in the singular and as in manifests: Pod")
            if wanted in seen:
                yield warning(where, f"{wanted.kind} of {wanted.api_version} is selected twice", "remove it")
            seen.add(wanted)
        if self.spec.backend_store is not None and self.open_search is None:
            yield warning(
                ("spec", "backendStore"), "backendStore names no store, so nothing is copied", "openSearch, or nothing"
            )
        if self.open_search is not None:
            yield from _addresses(self.open_search)


def _addresses(store: OpenSearchConfig) -> Iterator[Finding]:
    place = ("spec", "backendStore", "openSearch")
    for i, address in enumerate(store.addresses):
        where = (*place, "addresses", i)
        try:
            parts = urlsplit(address)
            host, user = parts.hostname, parts.username or parts.password
        except ValueError:
            parts, host, user = urlsplit(""), None, None
        if parts.scheme not in ("http", "https") or not host or parts.query or parts.fragment:
            yield Finding(where, "this is no address of OpenSearch", "https://HOST:PORT")
        elif user:  # it is not repeated: a log is no place for it either
            hint = "take it out, replace it, and put the new one below --credentials-dir for secretRef"
            yield Finding(where, "the address holds a password", hint)
        elif parts.scheme == "http" and not store.secret_ref.is_empty:
            yield warning(where, "the password of secretRef goes to an address without TLS", "use https")
    if bool(store.secret_ref.namespace) != bool(store.secret_ref.name):
        yield warning(
            (*place, "secretRef"), "secretRef needs namespace and name: without both there is no login", "name both"
        )
