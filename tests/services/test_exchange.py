"""Who gets which endpoints: every provider's, never those of a cluster that failed; and only what is ours changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from gitfed.model.base import ObjectKey
from gitfed.model.keys import DISPATCHED_BY, IMPORT_MANAGER, PROVISION_CLUSTER, SERVICE_NAME, SLICE_MANAGED_BY
from gitfed.services import exchange, slices
from gitfed.services.exchange import Provider, ReadState, SliceWrite, WantedSlices
from gitfed.services.routes import Route
from gitfed.services.slices import ServiceSlice
from tests.services.stage import WEB, slice_of

EXPOSED = ObjectKey("networking.karmada.io", "MultiClusterService", "shop", "web")
IMPORTED = ObjectKey("multicluster.x-k8s.io", "ServiceImport", "shop", "web")
DERIVED = ObjectKey("", "Service", "shop", "derived-web")
CLUSTERS = ("a", "b", "c", "d")


def route(providers: str, consumers: str, *, imported: bool = False, ports: frozenset[str] | None = None) -> Route:
    by, target = (IMPORTED, DERIVED) if imported else (EXPOSED, WEB)
    return Route(by, WEB, target, frozenset(providers), frozenset(consumers), ports=ports)


def has(*found: ServiceSlice, state: ReadState = ReadState.READ) -> Provider:
    return Provider(state, {WEB: found})


def addresses(wanted: WantedSlices) -> list[str]:
    return sorted(address for one in wanted.slices.values() for end in one.endpoints for address in end["addresses"])


def written(wanted: WantedSlices, owner: str = "uid") -> dict[tuple[str, str], ServiceSlice]:
    """What is there once it was written."""
    bodies = [slices.body(one, "fleet", owner) for one in wanted.slices.values()]
    read = [slices.read({**one, "metadata": {**one["metadata"], "uid": "u"}}) for one in bodies]
    return {(one.namespace, one.name): one for one in read}


def steps(wanted: WantedSlices, there: Mapping[tuple[str, str], ServiceSlice], **owners: str) -> list[SliceWrite]:
    known = {WEB: owners.get("web", "uid"), DERIVED: owners.get("derived", "uid")}
    return list(exchange.steps(wanted, there, known, frozenset()))


def test_a_consumer_gets_the_endpoints_of_all_other_providers() -> None:
    found = exchange.wanted(
        route("ab", "bc"), {"a": has(slice_of("web-1", "10.0.0.1")), "b": has(slice_of("web-2", "10.1.0.1"))}
    )
    assert {name: addresses(one) for name, one in found.items()} == {"b": ["10.0.0.1"], "c": ["10.0.0.1", "10.1.0.1"]}
    assert list(found["c"].slices) == [("shop", "a-web-1"), ("shop", "b-web-2")]


def test_a_derived_service_gets_those_of_its_own_cluster_too() -> None:
    found = exchange.wanted(route("a", "ab", imported=True), {"a": has(slice_of("web-1", "10.0.0.1"))})
    assert {name: list(one.slices) for name, one in found.items()} == {
        "a": [("shop", "imported-a-web-1")],
        "b": [("shop", "imported-a-web-1")],
    }


def test_a_dispatched_slice_bears_the_reference_s_labels_and_annotation() -> None:
    found = exchange.wanted(route("a", "b", imported=True), {"a": has(slice_of("web-1", "10.0.0.1"))})
    [one] = found["b"].slices.values()
    metadata = slices.body(one, "fleet", "uid-of-service", "7")["metadata"]
    assert metadata == {
        "name": "imported-a-web-1",
        "namespace": "shop",
        "labels": {SERVICE_NAME: "derived-web", SLICE_MANAGED_BY: IMPORT_MANAGER, DISPATCHED_BY: "fleet"},
        "annotations": {PROVISION_CLUSTER: "a"},
        "ownerReferences": [{"apiVersion": "v1", "kind": "Service", "name": "derived-web", "uid": "uid-of-service"}],
        "resourceVersion": "7",
    }


def test_what_means_something_in_one_cluster_only_stays_there() -> None:
    told = {"addresses": ["10.0.0.1"], "nodeName": "n1", "targetRef": {"kind": "Pod"}, "zone": "z", "hostname": "web-0"}
    one = replace(slice_of("web-1"), endpoints=(told,))
    arrived = slices.dispatched(route("a", "b"), "a", one)
    assert arrived is not None
    assert arrived.endpoints == ({"addresses": ["10.0.0.1"], "zone": "z", "hostname": "web-0"},)


def test_both_families_of_a_dual_stack_service_arrive() -> None:
    both = has(slice_of("web-4", "10.0.0.1"), slice_of("web-6", "fd00::1", kind="IPv6"))
    found = exchange.wanted(route("a", "b"), {"a": both})["b"]
    assert {name: one.address_type for (_, name), one in found.slices.items()} == {"a-web-4": "IPv4", "a-web-6": "IPv6"}


def test_only_the_ports_that_are_exposed_arrive() -> None:
    found = exchange.wanted(route("a", "b", ports=frozenset({"http"})), {"a": has(slice_of("web-1", "10.0.0.1"))})
    [one] = found["b"].slices.values()
    assert [port["name"] for port in one.ports] == ["http"]
    assert not exchange.wanted(route("a", "b", ports=frozenset({"x"})), {"a": has(slice_of("web-1"))})["b"].slices


def test_what_a_failed_cluster_provides_is_taken_out() -> None:
    before = exchange.wanted(
        route("ab", "c"), {"a": has(slice_of("s", "10.0.0.1")), "b": has(slice_of("s", "10.1.0.1"))}
    )
    after = exchange.wanted(
        route("ab", "c"),
        {"a": has(slice_of("s", "10.0.0.1"), state=ReadState.FAILED), "b": has(slice_of("s", "10.1.0.1"))},
    )
    assert addresses(after["c"]) == ["10.1.0.1"]
    [step] = steps(after["c"], written(before["c"]))
    assert (step.wanted, step.present and step.present.name) == (None, "a-s")


def test_what_was_not_read_yet_stays_as_it_is() -> None:
    before = exchange.wanted(route("a", "c"), {"a": has(slice_of("s", "10.0.0.1"))})["c"]
    for providers in ({}, {"a": Provider(ReadState.UNKNOWN)}):
        assert steps(exchange.wanted(route("a", "c"), providers)["c"], written(before)) == []


def test_clusters_that_fail_together_are_unknown() -> None:
    states = {"a": ReadState.FAILED, "b": ReadState.FAILED, "c": ReadState.READ}
    assert exchange.believed(states, 50) == {"a": ReadState.UNKNOWN, "b": ReadState.UNKNOWN, "c": ReadState.READ}
    assert exchange.believed(states, 70) == states


def test_nothing_is_written_beside_a_service_that_is_not_ours() -> None:
    wanted = exchange.wanted(route("a", "b"), {"a": has(slice_of("s", "10.0.0.1"))})["b"]
    assert steps(wanted, {}, web="") == []
    [step] = steps(wanted, written(wanted), web="")
    assert step.wanted is None


def test_what_a_person_suspended_is_left_alone() -> None:
    wanted = exchange.wanted(route("a", "b"), {"a": has(slice_of("s", "10.0.0.1"))})["b"]
    assert not list(exchange.steps(wanted, {}, {WEB: "uid"}, frozenset({WEB})))
    assert not list(exchange.steps(exchange.NOTHING, written(wanted), {WEB: "uid"}, frozenset({WEB})))


def test_an_edited_slice_is_put_right_and_one_of_another_family_made_anew() -> None:
    wanted = exchange.wanted(route("a", "b"), {"a": has(slice_of("s", "10.0.0.1"))})["b"]
    there = written(wanted)
    assert steps(wanted, there) == []
    [(key, one)] = there.items()
    [step] = steps(wanted, {key: replace(one, endpoints=())})
    assert step.wanted is not None
    assert step.present is not None
    [step] = steps(wanted, {key: replace(one, address_type="IPv6")})
    assert step.wanted is None
    [step] = steps(wanted, there, web="another")
    assert step.wanted is not None


def test_a_slice_is_ours_by_both_labels_and_the_annotation_only() -> None:
    wanted = exchange.wanted(route("a", "b"), {"a": has(slice_of("s", "10.0.0.1"))})["b"]
    [one] = written(wanted).values()
    assert slices.is_ours(one, "fleet")
    assert not slices.is_collected(one)
    for other in (replace(one, provider=""), replace(one, manager=""), replace(one, dispatched_by="other")):
        assert not slices.is_ours(other, "fleet")


def test_a_name_that_would_be_too_long_is_cut_and_stays_its_own() -> None:
    long = "w" * 250
    one, other = (slices.name_of(route("a", "b"), provider, long) for provider in ("a-cluster", "b-cluster"))
    assert len(one) == 253
    assert one != other
    assert one == slices.name_of(route("a", "b"), "a-cluster", long)


_SLICES = st.dictionaries(
    st.sampled_from(CLUSTERS),
    st.lists(st.lists(st.integers(0, 250), max_size=5, unique=True), max_size=3),
)


@given(
    _SLICES,
    st.dictionaries(st.sampled_from(CLUSTERS), st.sampled_from(list(ReadState))),
    st.sets(st.sampled_from(CLUSTERS)),
    st.sets(st.sampled_from(CLUSTERS)),
    st.booleans(),
)
def test_a_consumer_has_the_union_of_what_can_be_read(
    declared: dict[str, list[list[int]]], states: dict[str, ReadState], providers: set[str], consumers: set[str],
    imported: bool,
) -> None:  # fmt: skip
    world = {
        name: Provider(
            states.get(name, ReadState.READ),
            {WEB: tuple(slice_of(f"s{n}", *(f"{name}-{n}-{end}" for end in ends)) for n, ends in enumerate(found))},
        )
        for name, found in declared.items()
    }
    one = route("".join(providers), "".join(consumers), imported=imported)
    found = exchange.wanted(one, world)
    assert found.keys() == consumers
    for consumer, wanted in found.items():
        counted = [
            name
            for name in providers & world.keys()
            if world[name].state is ReadState.READ and (imported or name != consumer)
        ]
        expected = [f"{name}-{n}-{end}" for name in counted for n, ends in enumerate(declared[name]) for end in ends]
        assert addresses(wanted) == sorted(expected)
        assert sorted(one.addresses for one in wanted.slices.values()) == sorted(
            len(ends) for name in counted for ends in declared[name]
        )
        # Written once, nothing is left to do; and what is wanted of nobody any more goes away.
        assert steps(wanted, written(wanted)) == []
        gone = exchange.steps(exchange.NOTHING, written(wanted), {}, frozenset())
        assert {step.present.name for step in gone if step.present is not None} == {name for _, name in wanted.slices}
