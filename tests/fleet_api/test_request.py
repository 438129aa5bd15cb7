"""Paths as API servers read them, and headers that go on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitfed.fleet_api import accept, headers
from gitfed.fleet_api import request as api_request


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/api/v1/namespaces/shop/pods/web-1/log", ("", "v1", "pods", "shop", "web-1", "log")),
        ("/apis/apps/v1/deployments", ("apps", "v1", "deployments", "", "", "")),
        ("/apis/apps/v1/namespaces/shop/deployments/web/scale", ("apps", "v1", "deployments", "shop", "web", "scale")),
        ("/api/v1/namespaces", ("", "v1", "namespaces", "", "", "")),
        ("/api/v1/namespaces/shop", ("", "v1", "namespaces", "shop", "shop", "")),
        ("/api/v1/namespaces/shop/finalize", ("", "v1", "namespaces", "shop", "shop", "finalize")),
        ("/api/v1/watch/namespaces/shop/pods", ("", "v1", "pods", "shop", "", "")),
        ("/api/v1/nodes/n1/proxy/metrics", ("", "v1", "nodes", "", "n1", "proxy/metrics")),
        ("/api/v1/namespaces/%73hop/pods", ("", "v1", "pods", "shop", "", "")),
        ("/version", ("", "", "", "", "", "")),
        ("/apis/apps/v1", ("", "", "", "", "", "")),
        ("/api", ("", "", "", "", "", "")),
    ],
)  # fmt: skip
def test_a_path_is_read_as_an_api_server_reads_it(path: str, found: tuple[str, ...]) -> None:
    about = api_request.parse(path)
    assert (about.group, about.version, about.resource, about.namespace, about.name, about.subresource) == found


def test_the_object_and_its_collection_keep_their_escapes() -> None:
    about = api_request.parse("/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode/x")
    assert about.object == "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode"
    assert about.collection == "/apis/rbac.authorization.k8s.io/v1/clusterroles"


@pytest.mark.parametrize(
    "path",
    ["api", "/a/../b", "/a/%2e%2e/b", "/a%2fb", "/a%5Cb", "/a/%2e", "/a#b", "/s/x/proxy/a%2f..%2fb", "/a%0d%0ab"],
)
def test_a_path_with_two_meanings_is_refused(path: str) -> None:
    assert api_request.why_not(path)


@pytest.mark.parametrize("path", ["/", "/api/v1/namespaces/a/services/b:80/proxy/x%2fy", "/apis/x/v1/roles/a%3Ab"])
def test_a_plain_path_is_not(path: str) -> None:
    assert api_request.why_not(path) == ""


@given(st.text("/.%2efFa5Cc#:", max_size=30).map(lambda text: f"/{text}"))
def test_no_path_that_is_taken_leads_upwards(path: str) -> None:
    if not api_request.why_not(path):
        about = api_request.parse(path)
        assert ".." not in (about.namespace, about.name, about.resource)
        assert "/" not in about.namespace + about.name


def test_groups_go_on_except_those_that_nobody_may_claim() -> None:
    groups = ["team", "system:masters", "system:authenticated", "system:unauthenticated", "team"]
    assert headers.impersonation("ann", groups) == [("Impersonate-User", "ann"), ("Impersonate-Group", "team")]
    account = "system:serviceaccount:ci:runner"
    assert headers.impersonation(account, ["system:serviceaccounts", "system:serviceaccounts:ci"]) == [
        ("Impersonate-User", account)
    ]


TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ("", "application/json"),
        (TABLE, TABLE),
        ("application/vnd.kubernetes.protobuf,application/json;q=0.9", "application/json"),
        ("*/*", "application/json"),
        ("application/vnd.kubernetes.protobuf", ""),
        ("application/yaml", ""),
    ],
)  # fmt: skip
def test_members_are_asked_for_json(given: str, asked: str) -> None:
    assert accept.in_json(given) == asked
