"""Which kinds are served where, on servers of any age and in any state."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp import web

from gitfed import errors
from gitfed.edges.kube.discovery import Discovery, Resource
from gitfed.model.base import Kind
from tests.edges.kube.answering import Server, body, by_path, serving
from tests.edges.kube.conftest import Place
from tests.edges.kube.groups import APPS, CORE, aggregated, described, group

DEPLOYMENT = Kind("apps", "Deployment")
CONFIG_MAP = Kind("", "ConfigMap")
METRIC = Kind("metrics.k8s.io", "NodeMetrics")


LEGACY = {
    "/api": lambda: body({"kind": "APIVersions", "versions": ["v1"]}),
    "/api/v1": lambda: body(
        {
            "kind": "APIResourceList",
            "resources": [
                {"name": "configmaps", "kind": "ConfigMap", "namespaced": True, "verbs": ["get"]},
                {"name": "nodes", "kind": "Node", "namespaced": False, "verbs": ["get"]},
                {"name": "nodes/status", "kind": "Node", "namespaced": False, "verbs": ["get"]},
            ],
        }
    ),
    "/apis": lambda: body(
        {
            "kind": "APIGroupList",
            "groups": [
                {
                    "name": "autoscaling",
                    "versions": [{"version": "v1"}, {"version": "v2"}],
                    "preferredVersion": {"version": "v2"},
                },
                {"name": "metrics.k8s.io", "versions": [{"version": "v1"}], "preferredVersion": {"version": "v1"}},
            ],
        }
    ),
    "/apis/autoscaling/v1": lambda: body(
        {"resources": [{"name": "horizontalpodautoscalers", "kind": "HorizontalPodAutoscaler", "namespaced": True}]}
    ),
    "/apis/autoscaling/v2": lambda: body(
        {"resources": [{"name": "horizontalpodautoscalers", "kind": "HorizontalPodAutoscaler", "namespaced": True}]}
    ),
}


@pytest.mark.parametrize(
    ("resource", "namespace", "name", "path"),
    [
        (Resource("v1", "ConfigMap", "configmaps", True), "shop", "a", "/api/v1/namespaces/shop/configmaps/a"),
        (Resource("v1", "ConfigMap", "configmaps", True), "", "", "/api/v1/configmaps"),
        (Resource("v1", "Namespace", "namespaces", False), "", "shop", "/api/v1/namespaces/shop"),
        (
            Resource("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", False),
            "ignored",
            "system:a/b",
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Aa%2Fb",
        ),
    ],
)
def test_paths(resource: Resource, namespace: str, name: str, path: str) -> None:
    assert resource.path(namespace, name) == path


async def test_a_real_server_is_read_in_two_requests(place: Place) -> None:
    found = await place.discovery.resource(DEPLOYMENT)
    assert (found.api_version, found.plural, found.namespaced) == ("apps/v1", "deployments", True)
    assert "patch" in found.verbs
    apis = await place.discovery.enablements()
    assert apis.complete
    assert {("v1", "ConfigMap"), ("apps/v1", "Deployment"), ("v1", "Namespace")} <= apis.kinds


async def test_an_old_server_is_read_group_by_group() -> None:
    metrics = {**LEGACY, "/apis/metrics.k8s.io/v1": lambda: body({"resources": []})}
    async with serving(by_path(metrics)) as server, server.session() as session:
        discovery = Discovery(session)
        scaler = Kind("autoscaling", "HorizontalPodAutoscaler")
        assert (await discovery.resource(scaler)).api_version == "autoscaling/v2"
        assert (await discovery.resource(scaler, "autoscaling/v1")).api_version == "autoscaling/v1"
        assert not (await discovery.resource(Kind("", "Node"))).namespaced
        apis = await discovery.enablements()
        assert apis.complete
        assert apis.kinds == {
            ("v1", "ConfigMap"),
            ("v1", "Node"),
            ("autoscaling/v1", "HorizontalPodAutoscaler"),
            ("autoscaling/v2", "HorizontalPodAutoscaler"),
        }


async def test_a_group_that_does_not_answer_is_unknown_and_not_absent() -> None:
    answers = {**LEGACY, "/apis/metrics.k8s.io/v1": lambda: web.Response(status=503)}
    async with serving(by_path(answers)) as server, server.session() as session:
        discovery = Discovery(session)
        assert not (await discovery.enablements()).complete
        with pytest.raises(errors.ClusterFailed) as raised:
            await discovery.resource(METRIC)
        assert raised.value.message == (
            "cluster m1: cannot tell whether NodeMetrics of metrics.k8s.io is served: its group did not answer"
        )
        with pytest.raises(errors.KindUnknown):
            await discovery.resource(Kind("", "Nope"))


async def test_what_a_group_served_before_stays_known_while_it_does_not_answer() -> None:
    found = [{"name": "nodes", "kind": "NodeMetrics", "namespaced": False}]
    answers = {**LEGACY, "/apis/metrics.k8s.io/v1": lambda: body({"resources": found})}
    async with serving(by_path(answers)) as server, server.session() as session:
        discovery = Discovery(session)
        await discovery.resource(METRIC)
        server.answer = by_path({**answers, "/apis/metrics.k8s.io/v1": lambda: web.Response(status=503)})
        apis = await discovery.enablements()
        assert not apis.complete
        assert ("metrics.k8s.io/v1", "NodeMetrics") in apis.kinds
        assert (await discovery.resource(METRIC)).plural == "nodes"


async def test_a_stale_group_of_aggregated_discovery_is_incomplete() -> None:
    stale = group("metrics.k8s.io", ("v1", "Stale", []))
    answers = {"/api": lambda: body(CORE), "/apis": lambda: body(aggregated(APPS, stale))}
    async with serving(by_path(answers)) as server, server.session() as session:
        discovery = Discovery(session)
        assert (await discovery.resource(DEPLOYMENT)).plural == "deployments"
        assert not (await discovery.enablements()).complete
        with pytest.raises(errors.ClusterFailed):
            await discovery.resource(METRIC)


async def test_a_kind_that_is_not_known_is_looked_for_again() -> None:
    groups = [APPS]
    answers = {"/api": lambda: body(CORE), "/apis": lambda: body(aggregated(*groups))}
    async with serving(by_path(answers)) as server, server.session() as session:
        discovery = Discovery(session)
        widget = Kind("example.com", "Widget")
        with pytest.raises(errors.KindUnknown, match=r"^cluster m1: Widget of example.com is not served \(install "):
            await discovery.resource(widget)
        groups.append(group("example.com", ("v1", "Current", [described("widgets", "Widget")])))
        assert (await discovery.resource(widget)).plural == "widgets"
        asked = len(server.asked)
        await discovery.resource(widget)
        assert len(server.asked) == asked


async def test_an_unchanged_discovery_is_not_sent_again() -> None:
    def answer(server: Server, request: web.Request) -> web.Response:
        tag = f'"{request.path}"'
        if request.headers.get("If-None-Match") == tag:
            return web.Response(status=304, headers={"Etag": tag})
        return body(CORE if request.path == "/api" else aggregated(APPS), headers={"Etag": tag})

    async with serving(by_path({})) as server, server.session() as session:

        async def tagged(request: web.Request) -> web.StreamResponse:
            return answer(server, request)

        server.answer = tagged
        discovery = Discovery(session)
        first = await discovery.enablements()
        assert await discovery.enablements() == first
        assert [request.headers.get("If-None-Match") for request in server.asked[2:]] == ['"/apis"', '"/api"']


async def test_callers_that_wait_together_share_one_reading() -> None:
    answers = {"/api": lambda: body(CORE), "/apis": lambda: body(aggregated(APPS))}
    async with serving(by_path(answers)) as server, server.session() as session:
        discovery = Discovery(session)
        await asyncio.gather(*(discovery.resource(DEPLOYMENT) for _ in range(10)))
        assert len(server.asked) == 2


async def test_a_root_that_fails_is_an_error_and_forgets_nothing() -> None:
    answers = {"/api": lambda: body(CORE), "/apis": lambda: body(aggregated(APPS))}
    async with serving(by_path(answers)) as server, server.session() as session:
        discovery = Discovery(session)
        await discovery.resource(DEPLOYMENT)
        server.answer = by_path({"/api": lambda: body(CORE), "/apis": lambda: web.Response(status=500)})
        with pytest.raises(errors.ClusterFailed):
            await discovery.refresh()
        assert discovery.known(DEPLOYMENT) is not None
        server.answer = by_path({"/api": lambda: body([]), "/apis": lambda: body(aggregated(APPS))})
        with pytest.raises(errors.ClusterFailed, match=r"^cluster m1: /api: discovery answered no JSON object$"):
            await discovery.refresh()
