"""LimitRanges and ResourceQuotas: what they fill in and what they refuse."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.kinds import limit_ranges, quotas
from kubesim.status import ApiError
from tests.kinds import made
from tests.kinds.made import CONTAINER, Body, body, created, pod, refused


def limits(*given: Body) -> Body:
    return created(body("LimitRange", spec={"limits": list(given)}))


def sized(name: str = "c", **resources: Any) -> Body:
    return {"name": name, "image": "x:1", "resources": resources}


def test_a_maximum_is_a_default_and_a_default_is_a_request() -> None:
    assert limits({"type": "Container", "max": {"cpu": "2"}, "min": {"memory": "1Mi"}})["spec"]["limits"] == [
        {
            "type": "Container",
            "max": {"cpu": "2"},
            "min": {"memory": "1Mi"},
            "default": {"cpu": "2"},
            "defaultRequest": {"cpu": "2", "memory": "1Mi"},
        }
    ]


def test_containers_get_the_defaults_and_the_pod_a_note() -> None:
    one = limits({"type": "Container", "default": {"cpu": "1"}, "defaultRequest": {"cpu": "100m"}})
    found = limit_ranges.apply(pod(CONTAINER, sized("d", requests={"cpu": "1m"})), [one])
    assert [container["resources"] for container in found["spec"]["containers"]] == [
        {"requests": {"cpu": "100m"}, "limits": {"cpu": "1"}},
        {"requests": {"cpu": "1m"}, "limits": {"cpu": "1"}},
    ]
    assert found["metadata"]["annotations"] == {
        "kubernetes.io/limit-ranger": (
            "LimitRanger plugin set: cpu request for container c; cpu limit for container c; cpu limit for container d"
        )
    }


@pytest.mark.parametrize(
    ("limit", "container", "texts"),
    [
        (
            {"max": {"cpu": "1"}},
            sized(limits={"cpu": "2"}),
            ["maximum cpu usage per Container is 1, but limit is 2"],
        ),
        (
            {"min": {"cpu": "1"}},
            sized(requests={"cpu": "500m"}),
            ["minimum cpu usage per Container is 1, but request is 500m"],
        ),
        ({"min": {"cpu": "1"}}, sized(), ["minimum cpu usage per Container is 1.  No request is specified"]),
        (
            {"maxLimitRequestRatio": {"cpu": "2"}},
            sized(requests={"cpu": "1"}, limits={"cpu": "3"}),
            ["cpu max limit to request ratio per Container is 2, but provided ratio is 3.000000"],
        ),
        ({"max": {"cpu": "2"}}, sized(limits={"cpu": "2000m"}), []),
    ],
)
def test_a_container_out_of_bounds_is_told_why(limit: Body, container: Body, texts: list[str]) -> None:
    ranges = [body("LimitRange", spec={"limits": [{"type": "Container", **limit}]})]
    assert limit_ranges.complaints("pods", pod(container), ranges) == texts


def test_the_same_complaint_is_told_once_and_the_first_range_decides() -> None:
    one = body("LimitRange", spec={"limits": [{"type": "Container", "min": {"cpu": "1"}}]})
    other = body("LimitRange", spec={"limits": [{"type": "Pod", "min": {"memory": "1Gi"}}]})
    texts = limit_ranges.complaints("pods", pod(sized("a"), sized("b")), [one, other])
    assert texts == ["minimum cpu usage per Container is 1.  No request is specified"]


def test_bounds_must_not_cross() -> None:
    crossed = {"type": "Container", "max": {"cpu": "1"}, "min": {"cpu": "2"}}
    assert refused(body("LimitRange", spec={"limits": [crossed]}))[0] == (
        'spec.limits[0].min[cpu]: Invalid value: "2": min value 2 is greater than max value 1'
    )


# quotas


def quota(hard: Body, used: Body | None = None, **spec: Any) -> Body:
    counted = used or dict.fromkeys(hard, "0")
    return body(
        "ResourceQuota", metadata={"name": "q"}, spec={"hard": hard, **spec}, status={"hard": hard, "used": counted}
    )


def charged(hard: Body, given: Body, used: Body | None = None, **spec: Any) -> Body:
    (found,) = quotas.charge([quota(hard, used, **spec)], "", made.kind(given["kind"]).plural, given)
    return dict(found["status"]["used"])


def test_an_object_counts_under_both_its_names() -> None:
    hard = {"configmaps": "2", "count/configmaps": "2", "secrets": "1"}
    assert charged(hard, body("ConfigMap")) == {"configmaps": "1", "count/configmaps": "1", "secrets": "0"}


def test_a_pod_counts_what_it_requests() -> None:
    found = charged(
        {"pods": "2", "requests.cpu": "1"}, pod(sized(requests={"cpu": "300m"})), {"pods": "1", "requests.cpu": "200m"}
    )
    assert found == {"pods": "2", "requests.cpu": "500m"}


def test_what_does_not_fit_is_refused_with_the_sum() -> None:
    with pytest.raises(ApiError) as caught:
        charged({"requests.cpu": "1"}, pod(sized(requests={"cpu": "600m"})), {"requests.cpu": "500m"})
    assert str(caught.value) == (
        'pods "a" is forbidden: exceeded quota: q, requested: requests.cpu=600m, used: requests.cpu=500m, limited:'
        " requests.cpu=1"
    )


def test_a_quota_of_resources_wants_them_named() -> None:
    with pytest.raises(ApiError) as caught:
        charged({"limits.memory": "1Gi", "requests.cpu": "1"}, pod(sized("web")))
    assert str(caught.value) == (
        'pods "a" is forbidden: failed quota: q: must specify limits.memory for: web; requests.cpu for: web'
    )


def test_a_quota_out_of_scope_counts_nothing() -> None:
    only = [quota({"pods": "0"}, scopes=["BestEffort"])]
    assert quotas.charge(only, "", "pods", pod(sized(requests={"cpu": "1"}))) == []


def test_only_growth_is_refused() -> None:
    over = {"requests.storage": "5Gi"}

    def claim(size: str) -> Body:
        return body("PersistentVolumeClaim", spec={"resources": {"requests": {"storage": size}}})

    (found,) = quotas.charge(
        [quota({"requests.storage": "1Gi"}, over)], "", "persistentvolumeclaims", claim("1Gi"), claim("3Gi")
    )
    assert found["status"]["used"] == {"requests.storage": "3Gi"}


def test_scopes_do_not_change_and_do_not_contradict_each_other() -> None:
    kind = made.kind("ResourceQuota")
    old, new = (
        body("ResourceQuota", spec={"hard": {"pods": "1"}, "scopes": list(scopes)}) for scopes in ([], ["BestEffort"])
    )
    assert made.texts(kind.validate_update(new, old)) == [
        'spec.scopes: Invalid value: ["BestEffort"]: field is immutable'
    ]
    both = body("ResourceQuota", spec={"hard": {"pods": "1"}, "scopes": ["BestEffort", "NotBestEffort"]})
    assert refused(both) == ['spec.scopes: Invalid value: ["BestEffort","NotBestEffort"]: conflicting scopes']
