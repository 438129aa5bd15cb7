"""What a repository sends to clusters, by name: templates, and what follows from them and from what is declared.

Known before anything is placed, so that it can be looked up first: an object of that name may be somebody else's.
"""

from __future__ import annotations

from gitfed.model.base import ObjectKey, key_of
from gitfed.model.repo import RepoSnapshot
from gitfed.placement.capacity import quota
from gitfed.render import namespaces
from gitfed.services import derived


def of(repo: RepoSnapshot) -> list[ObjectKey]:
    """Each once."""
    quotas = (
        key_of(body)
        for declared in repo.quotas
        for body in list(quota.assignments(declared, repo.clusters).values())[:1]
    )
    services = (
        derived.key_of(manifest.key)
        for manifest in derived.imports(repo.manifests)
        if derived.service(manifest) is not None
    )
    return namespaces.with_implied(dict.fromkeys((*repo.manifests, *quotas, *services)))
