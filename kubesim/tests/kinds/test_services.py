"""Addresses and ports of Services: given once, kept, never given twice."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubesim.kinds import service_addresses
from kubesim.status import ApiError
from tests.kinds import made
from tests.kinds.made import Body, Cluster, body, created

SERVICE = made.kind("Service")


def service(name: str = "a", *ports: Body, **spec: Any) -> Body:
    return body("Service", metadata={"name": name}, spec={"ports": list(ports) or [{"port": 80}], **spec})


def test_a_plain_service_gets_an_address_and_the_defaults() -> None:
    assert created(service())["spec"] == {
        "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}],
        "clusterIP": "10.0.1.1",
        "clusterIPs": ["10.0.1.1"],
        "ipFamilies": ["IPv4"],
        "ipFamilyPolicy": "SingleStack",
        "internalTrafficPolicy": "Cluster",
        "sessionAffinity": "None",
        "type": "ClusterIP",
    }


def test_a_headless_service_gets_none() -> None:
    assert created(service(clusterIP="None"))["spec"]["clusterIPs"] == ["None"]


def test_an_external_name_has_neither_address_nor_families() -> None:
    spec = created(service(type="ExternalName", externalName="a.b"))["spec"]
    assert not {"clusterIP", "clusterIPs", "ipFamilies"} & spec.keys()


@given(st.lists(st.sampled_from(["ClusterIP", "NodePort", "LoadBalancer"]), min_size=1, max_size=20))
def test_nothing_is_given_twice(types: list[str]) -> None:
    stored: list[Body] = []
    for number, kind in enumerate(types):
        stored.append(created(service(f"s{number}", type=kind), Cluster(services=stored)))
    addresses = [one["spec"]["clusterIP"] for one in stored]
    ports = [port["nodePort"] for one in stored for port in one["spec"]["ports"] if "nodePort" in port]
    assert len(set(addresses)) == len(addresses)
    assert len(set(ports)) == len(ports) == sum(kind != "ClusterIP" for kind in types)


def test_tcp_and_udp_of_one_port_share_the_port_of_nodes() -> None:
    pair = ({"name": "t", "port": 53}, {"name": "u", "port": 53, "protocol": "UDP"})
    first, second = created(service("a", *pair, type="NodePort"))["spec"]["ports"]
    assert first["nodePort"] == second["nodePort"]


def test_an_address_that_is_taken_is_refused() -> None:
    taken = Cluster(services=[created(service("b", clusterIP="10.0.0.7"))])
    with pytest.raises(ApiError) as caught:
        created(service("a", clusterIP="10.0.0.7"), taken)
    assert str(caught.value) == (
        'Service "a" is invalid: spec.clusterIPs: Invalid value: ["10.0.0.7"]: failed to allocate IP 10.0.0.7: provided'
        " IP is already allocated"
    )


def test_more_services_than_one_small_network_holds_get_addresses() -> None:
    taken = [str(service_addresses.NETWORK[number]) for number in range(257, 257 + 2000)]
    stored: list[Body] = [{"metadata": {"name": one}, "spec": {"clusterIPs": [one]}} for one in taken]
    assert created(service(), Cluster(services=stored))["spec"]["clusterIP"] == "10.0.8.209"


def test_a_port_outside_the_range_is_refused() -> None:
    with pytest.raises(ApiError) as caught:
        created(service("a", {"port": 80, "nodePort": 80}, type="NodePort"))
    assert str(caught.value) == (
        'Service "a" is invalid: spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range.'
        " The range of valid ports is 30000-32767"
    )


def test_a_full_range_gives_nothing_more() -> None:
    hosts = [str(address) for address in service_addresses.NETWORK.hosts()]
    stored = [service(f"s{at}", clusterIP=one, clusterIPs=[one]) for at, one in enumerate(hosts)]
    with pytest.raises(ApiError) as caught:
        created(service("late"), Cluster(services=stored))
    assert "range is full" in str(caught.value)


def update(old: Body, **spec: Any) -> Body:
    new = SERVICE.default({**old, "spec": {**old["spec"], **spec}})
    assert SERVICE.admit is not None
    new = SERVICE.admit(new, old, made.context(Cluster(services=[old])))
    return SERVICE.prepare_update(new, old, made.context())


def test_an_update_without_address_and_ports_keeps_both() -> None:
    old = created(service(type="NodePort"))
    bare = {"clusterIP": "", "clusterIPs": [], "ports": [{"port": 80}]}
    assert update(old, **bare)["spec"] == old["spec"]


def test_a_service_that_leaves_the_nodes_gives_its_ports_back() -> None:
    assert update(created(service(type="NodePort")), type="ClusterIP")["spec"]["ports"] == [
        {"port": 80, "protocol": "TCP", "targetPort": 80}
    ]


def test_an_address_does_not_change() -> None:
    old = created(service())
    new = update(old, clusterIP="10.0.0.99", clusterIPs=["10.0.0.99"])
    assert made.texts(SERVICE.validate_update(new, old)) == [
        'spec.clusterIPs[0]: Invalid value: ["10.0.0.99"]: may not change once set'
    ]


@pytest.mark.parametrize(
    ("spec", "complaints"),
    [
        ({"ports": []}, ["spec.ports: Required value"]),
        (
            {"ports": [{"port": 80}, {"port": 81}]},
            ["spec.ports[0].name: Required value", "spec.ports[1].name: Required value"],
        ),
        ({"type": "ExternalName"}, ["spec.externalName: Required value"]),
        (
            {"externalIPs": ["127.0.0.1"]},
            [
                'spec.externalIPs[0]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8,'
                " ::1/128)"
            ],
        ),
        (
            {"loadBalancerClass": "a/b"},
            ["spec.loadBalancerClass: Forbidden: may only be used when `type` is 'LoadBalancer'"],
        ),
        (
            {"internalTrafficPolicy": "Foo"},
            ['spec.internalTrafficPolicy: Unsupported value: "Foo": supported values: "Cluster", "Local"'],
        ),
    ],
)
def test_a_bad_service_is_refused(spec: Body, complaints: list[str]) -> None:
    assert made.refused(service(**spec)) == complaints


@pytest.mark.parametrize(
    ("spec", "texts"),
    [
        (
            {"clusterIP": "None", "sessionAffinity": "ClientIP"},
            ["spec.SessionAffinity is ignored for headless services"],
        ),
        (
            {"externalIPs": ["1.2.3.4"]},
            ["spec.externalIPs is deprecated and may no longer be implemented in some clusters"],
        ),
        ({"externalName": "x"}, ['spec.externalName is ignored when spec.type is not "ExternalName"']),
        ({}, []),
    ],
)
def test_what_has_no_effect_is_warned_of(spec: Body, texts: list[str]) -> None:
    assert SERVICE.warnings(created(service(**spec)), None) == texts


def test_an_address_in_the_status_must_be_one() -> None:
    old = created(service(type="LoadBalancer"))
    new = SERVICE.default({**old, "status": {"loadBalancer": {"ingress": [{"ip": "x"}]}}})
    assert made.texts(SERVICE.validate_status(new, old)) == [
        'status.loadBalancer.ingress[0].ip: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or'
        " 2001:db8::ffff)"
    ]


def test_a_table_shows_ports_and_addresses() -> None:
    found = created(service("a", {"port": 80, "nodePort": 30000}, type="LoadBalancer", selector={"app": "w"}))
    assert SERVICE.row is not None
    assert SERVICE.row(found, made.NOW) == [
        "a",
        "LoadBalancer",
        "10.0.1.1",
        "<pending>",
        "80:30000/TCP",
        "<unknown>",
        "app=w",
    ]
