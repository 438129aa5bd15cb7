"""Where Services go that several clusters share, and from where to where their endpoints do."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from gitfed.documents import bindings
from gitfed.model.base import ObjectKey
from gitfed.model.decisions import Decisions, PolicyRef
from gitfed.model.plan import Action, Plan
from gitfed.model.repo import Possible, RepoSnapshot, UnreadFile
from gitfed.services import routes
from tests.e2e.world import cluster, policy, settings
from tests.planning.tree import acts, carried_out, decided, empty, plan_of, read
from tests.services.stage import EXPORTS, IMPORTS, WEB, multi_cluster_service, service, service_export, service_import

DERIVED = ObjectKey("", "Service", "shop", "derived-web")
SERVICES = (("v1", "Service"),)


def clusters_of(plan: Plan, key: ObjectKey) -> list[str]:
    return [share.cluster for share in plan.bindings[key].scheduled.shares]


def routes_of(repo: RepoSnapshot, plan: Plan) -> list[tuple[str, str, list[str], list[str]]]:
    placed = {key: [share.cluster for share in one.scheduled.shares] for key, one in plan.bindings.items()}
    return [
        (one.source.name, one.target.name, sorted(one.providers), sorted(one.consumers))
        for one in routes.of(repo, placed)
    ]


def exported(**more: str) -> dict[str, str]:
    return {
        "web.json": service(), "export.json": service_export(), "import.json": service_import(),
        "policies/export.json": policy("export", ["a", "b"], (*SERVICES, EXPORTS)),
        "policies/import.json": policy("import", ["b", "c"], (IMPORTS,)), **more,
    }  # fmt: skip


def test_a_service_goes_to_its_providers_and_its_consumers() -> None:
    repo = read({"web.json": service(), "mcs.json": multi_cluster_service(providers="a", consumers="b")})
    plan = plan_of(repo, empty())
    binding = plan.bindings[WEB]
    assert clusters_of(plan, WEB) == ["a", "b"]
    assert (binding.scheduled.policy, [str(one) for one in binding.reasons.losers]) == (
        PolicyRef("MultiClusterService", "shop", "web"), []
    )  # fmt: skip
    assert [one.cluster for one in binding.reasons.rejections] == ["c"]
    assert routes_of(repo, plan) == [("web", "web", ["a"], ["b"])]


def test_a_decision_remembers_which_multi_cluster_service_made_it() -> None:
    repo = read({"web.json": service(), "mcs.json": multi_cluster_service(providers="a", consumers="b")})
    plan = plan_of(repo, empty())
    decisions = decided(plan, Decisions(repository_id="r"))
    again = bindings.from_document(bindings.to_document(decisions.bindings[WEB]))
    assert replace(again, raw=None) == decisions.bindings[WEB]
    live = carried_out(plan, empty())
    later = plan_of(repo, live, replace(decisions, bindings={**decisions.bindings, WEB: again}))
    assert (acts(later), later.bindings[WEB].decision is again) == ([], True)


@pytest.mark.parametrize("named", [{}, {"providers": "a"}, {"consumers": "b"}])
def test_where_one_side_names_nobody_every_cluster_is_meant(named: dict[str, str]) -> None:
    repo = read({"web.json": service(), "mcs.json": multi_cluster_service(**named)})
    plan = plan_of(repo, empty())
    assert clusters_of(plan, WEB) == ["a", "b", "c"]
    everywhere = ["a", "b", "c"]
    providers, consumers = (sorted(named.get(side, "abc")) for side in ("providers", "consumers"))
    assert routes_of(repo, plan) == [("web", "web", providers or everywhere, consumers or everywhere)]


def test_it_comes_before_any_policy_that_selects_the_service() -> None:
    repo = read(
        {
            "web.json": service(), "other.json": service("other"),
            "mcs.json": multi_cluster_service(providers="a", consumers="b"),
            "policy.json": policy("all", ["c"], SERVICES),
        }
    )  # fmt: skip
    plan = plan_of(repo, empty())
    assert (clusters_of(plan, WEB), clusters_of(plan, WEB._replace(name="other"))) == (["a", "b"], ["c"])
    assert plan.bindings[WEB].reasons.losers == (PolicyRef("PropagationPolicy", "shop", "all"),)


@pytest.mark.parametrize(
    "files",
    [
        {"gitfed.json": settings(featureGates={"MultiClusterService": False}), "mcs.json": multi_cluster_service()},
        {"mcs.json": multi_cluster_service(types=["LoadBalancer"])},
    ],
)
def test_what_is_not_acted_on_places_nothing(files: dict[str, str]) -> None:
    repo = read({"web.json": service(), **files})
    plan = plan_of(repo, empty())
    assert (clusters_of(plan, WEB), routes_of(repo, plan)) == ([], [])


def test_the_service_behind_an_import_goes_where_the_import_goes() -> None:
    repo = read(exported())
    plan = plan_of(repo, empty())
    assert clusters_of(plan, DERIVED) == ["b", "c"]
    assert plan.bindings[DERIVED].scheduled.policy == PolicyRef("ServiceImport", "shop", "web")
    [rendered] = plan.rendered[DERIVED]
    assert rendered.body["spec"] == {"type": "ClusterIP", "ports": [{"name": "http", "port": 80}]}
    assert routes_of(repo, plan) == [("web", "derived-web", ["a", "b"], ["b", "c"])]
    again = plan_of(repo, carried_out(plan, empty()), decided(plan, Decisions(repository_id="r")))
    assert acts(again) == []


def test_a_headless_import_gets_a_headless_service() -> None:
    headless = service_import(type_="Headless", ipFamilies=["IPv4", "IPv6"])
    plan = plan_of(read(exported(**{"import.json": headless})), empty())
    assert plan.rendered[DERIVED][0].body["spec"] == {
        "type": "ClusterIP", "ports": [{"name": "http", "port": 80}], "clusterIP": "None",
        "ipFamilies": ["IPv4", "IPv6"], "ipFamilyPolicy": "PreferDualStack",
    }  # fmt: skip


def test_a_template_of_that_name_is_what_is_applied() -> None:
    mine = service("derived-web", ports=[{"port": 1}])
    repo = read(exported(**{"mine.json": mine, "policies/mine.json": policy("mine", ["a"], SERVICES)}))
    plan = plan_of(repo, empty())
    assert plan.rendered[DERIVED][0].body["spec"]["ports"] == [{"port": 1}]


def test_the_service_goes_with_its_import_and_stays_when_that_is_unreadable() -> None:
    files = exported(**{"gitfed.json": settings(guards={"maxDeletionPercent": 100})})
    first = plan_of(read(files), empty())
    live, decisions = carried_out(first, empty()), decided(first, Decisions(repository_id="r"))
    without = {name: text for name, text in files.items() if name != "import.json"}
    gone = plan_of(read(without), live, decisions)
    assert [one for one in acts(gone) if one[2] == "derived-web"] == [
        ("delete", "b", "derived-web"), ("delete", "c", "derived-web")
    ]  # fmt: skip
    repo = read(without)
    lost = UnreadFile("import.json", "broken", (Possible(frozenset({"ServiceImport"}), None, None),))
    kept = plan_of(replace(repo, unread=(lost,)), live, decisions)
    assert {one.action for one in kept.changes or () if one.key == DERIVED} == {Action.KEEP}


def test_pulled_clusters_provide_and_consume_as_others_do() -> None:
    files = exported()
    found = []
    for repo in (read(files), read({**files, "clusters/b.json": cluster("b", syncMode="Pull")})):
        plan = plan_of(repo, empty())
        found.append(
            routes.of(
                repo, {key: [share.cluster for share in one.scheduled.shares] for key, one in plan.bindings.items()}
            )
        )
    assert found[0] == found[1]
    assert found[0]


def test_a_cluster_that_left_provides_nothing_unless_its_file_cannot_be_read() -> None:
    repo = read(exported())
    placed = {
        key: [share.cluster for share in one.scheduled.shares] for key, one in plan_of(repo, empty()).bindings.items()
    }
    left = {name: one for name, one in repo.clusters.items() if name != "a"}
    lost = UnreadFile("clusters/a.json", "broken", (Possible(frozenset({"Cluster"}), None, None),))
    for unread, providers in (((), ["b"]), ((lost,), ["a", "b"])):
        [route] = routes.of(replace(repo, clusters=left, unread=unread), placed)
        assert sorted(route.providers) == providers


def test_a_port_given_by_its_number_has_the_name_that_the_service_gives_it() -> None:
    repo = read({"web.json": service(), "mcs.json": multi_cluster_service(ports=[{"port": 8080}])})
    [one] = repo.multicluster_services
    assert routes.exposed_ports(one, repo.manifests[WEB]) == {"admin"}
    assert json.loads(service())["spec"]["ports"][1]["name"] == "admin"
