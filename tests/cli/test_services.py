"""What commands say of services across clusters."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.world import commit, gitfed
from tests.lint.ingresses import ingress
from tests.services.stage import multi_cluster_service, service


def test_get_services_tells_who_provides_and_who_consumes(fleet: Path) -> None:
    names = [one["name"] for one in json.loads(gitfed("get", "clusters", "-o", "json").out)["items"]]
    shared = multi_cluster_service("front", providers=names[:1], consumers=names[1:2])
    commit(
        fleet,
        {"front.yaml": service("front"), "mcs.yaml": shared, "ingress.yaml": ingress(("front", {"name": "http"}))},
    )
    shown = gitfed("get", "services", "-n", "shop")
    rows = [line.split() for line in shown.out.splitlines()]
    assert rows[0] == ["NAME", "SERVICE", "PROVIDERS", "CONSUMERS", "STATE"]
    assert rows[1:] == [
        ["MultiClusterService/shop/front", "shop/front", names[0], names[1], "–"],
        ["MultiClusterIngress/shop/web", "front", *names[:2], "–", "–"],
    ]
    one, other = json.loads(gitfed("get", "mcs", "-o", "json").out)["items"]
    assert (one["providers"][0]["endpoints"], one["conditions"]) == (None, [])
    assert other["serviceLocations"] == [{"name": "front", "clusters": names[:2]}]
    explained = gitfed("explain", "service/shop/front").out
    assert "Policy      MultiClusterService/shop/front in mcs.yaml:1:1" in explained
