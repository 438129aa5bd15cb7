"""Where the doors are, below a hub's address: Karmada's paths, so that what calls those goes on working."""

from __future__ import annotations

import re

CLUSTERS = "/apis/cluster.karmada.io/v1alpha1/clusters"
PROXYING = "/apis/search.karmada.io/v1alpha1/proxying"
SEARCH = "/apis/search.karmada.io/v1alpha1/search/cache"


_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")


def may_be_cluster(name: str) -> bool:
    return _NAME.fullmatch(name) is not None


def of_cluster(name: str) -> str:
    return f"{CLUSTERS}/{name}/proxy"


def of_fleet() -> str:
    return f"{PROXYING}/karmada/proxy"
