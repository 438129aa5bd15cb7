"""How inventory entries look as text."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitfed.edges.kube import inventory_format
from gitfed.model.base import BindingId, ObjectKey
from gitfed.model.fleet import InventoryEntry

UID = "9f0c1a52-8a55-4c0e-9d0e-3b7c4e6d2f11"
WEB = InventoryEntry(ObjectKey("apps", "Deployment", "shop", "web"), UID, BindingId("hq3o5mvnbcotyx2k"), replicas=3)
PLAIN = st.text(st.characters(codec="utf-8", exclude_characters="/"), min_size=1, max_size=90)


@pytest.mark.parametrize(
    ("entry", "name", "value"),
    [
        pytest.param(WEB, "apps_.Deployment_.shop_.web", f"{UID},hq3o5mvnbcotyx2k,3,", id="a workload"),
        pytest.param(
            InventoryEntry(ObjectKey("", "ConfigMap", "shop", "a.b"), "", BindingId("b"), orphaned=True, deleting=True),
            "_.ConfigMap_.shop_.a.b",
            ",b,,od",
            id="a core object that is not written yet",
        ),
        pytest.param(
            InventoryEntry(
                ObjectKey("rbac.authorization.k8s.io", "ClusterRole", "", "system:a_b"), "u", BindingId("b")
            ),
            "rbac.authorization.k8s.io_.ClusterRole_._.system_3aa_5fb",
            "u,b,,",
            id="a name with characters that ConfigMaps refuse",
        ),
    ],
)
def test_entries_are_written_like_this(entry: InventoryEntry, name: str, value: str) -> None:
    assert inventory_format.encode(entry) == (name, value)
    assert inventory_format.decode(name, value) == entry


def test_an_ordinary_entry_takes_less_than_120_bytes() -> None:
    assert sum(map(len, inventory_format.encode(WEB))) < 120


@given(
    st.builds(
        InventoryEntry,
        st.builds(ObjectKey, st.from_regex(r"[a-z][a-z.]{0,60}", fullmatch=True) | st.just(""), PLAIN, PLAIN, PLAIN),
        st.uuids().map(str),
        st.just(BindingId("hq3o5mvnbcotyx2k")),
        st.none() | st.integers(0, 2**31),
        st.booleans(),
        st.booleans(),
    )
)
def test_every_entry_reads_as_it_was_written_and_fits_a_config_map(entry: InventoryEntry) -> None:
    name, value = inventory_format.encode(entry)
    assert re.fullmatch(r"[-._a-zA-Z0-9]{1,253}", name)
    assert not name.startswith("..")
    assert inventory_format.decode(name, value) == entry
    assert inventory_format.data_key(entry.key) == name


def test_a_shard_reads_as_it_was_written() -> None:
    data = inventory_format.shard_data([WEB])
    assert data == {"count": "1", "apps_.Deployment_.shop_.web": f"{UID},hq3o5mvnbcotyx2k,3,"}
    assert inventory_format.read_shard(inventory_format.shard_of(WEB.key), data) == {WEB.key: WEB}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param({"x": "a,b,,"}, "x: expected group, kind, namespace and name", id="a key that is no object"),
        pytest.param({"a_.B_.c_.d": "a,b,"}, "a_.B_.c_.d: expected uid,binding,replicas,flags", id="a short value"),
        pytest.param(
            {"a_.B_.c_.d": "a,b,many,"}, "a_.B_.c_.d: unknown replicas or flags 'many', ''", id="replicas that are none"
        ),
        pytest.param(
            {"a_.B_.c_.d": "a,b,,x"}, "a_.B_.c_.d: unknown replicas or flags '', 'x'", id="a flag of another version"
        ),
        pytest.param({"a_.B_.c_.d_zz": "a,b,,"}, "a_.B_.c_.d_zz: not a name", id="a name that we never write"),
        pytest.param({"count": "7"}, "holds 1 entries, its count says 7", id="entries that were cut off"),
        pytest.param({"count": None}, "holds 1 entries, its count says nothing", id="no count"),
    ],
)
def test_a_broken_shard_is_refused(change: dict[str, str | None], message: str) -> None:
    data = {**inventory_format.shard_data([WEB]), **change}
    with pytest.raises(inventory_format.BrokenEntryError, match=f"^{re.escape(message)}$"):
        inventory_format.read_shard(
            inventory_format.shard_of(WEB.key), {name: value for name, value in data.items() if value is not None}
        )


def test_an_entry_in_the_wrong_shard_is_refused() -> None:
    number = inventory_format.shard_of(WEB.key)
    with pytest.raises(inventory_format.BrokenEntryError, match=f"belongs to shard {number}$"):
        inventory_format.read_shard((number + 1) % inventory_format.SHARDS, inventory_format.shard_data([WEB]))


def test_the_header_reads_as_it_was_written() -> None:
    header = inventory_format.Header("0d9cb2f0", 7, frozenset({0, 3, 11}), "5f0a")
    data = inventory_format.header_data(header)
    assert data == {"schemaVersion": "1", "repositoryId": "0d9cb2f0", "term": "7", "leader": "5f0a", "shards": "0,3,11"}
    assert inventory_format.read_header(data) == header


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schemaVersion": "2"}, "schemaVersion 2 was written by a newer gitfed"),
        ({"schemaVersion": ""}, "schemaVersion is missing"),
        ({"term": "x"}, "repositoryId, term or shards are missing or broken"),
        ({"repositoryId": ""}, "repositoryId, term or shards are missing or broken"),
        ({"shards": "0,x"}, "repositoryId, term or shards are missing or broken"),
    ],
)
def test_a_broken_header_is_refused(change: dict[str, str], message: str) -> None:
    data = {**inventory_format.header_data(inventory_format.Header("r", 1, frozenset({0}))), **change}
    with pytest.raises(inventory_format.BrokenEntryError, match=f"^{re.escape(message)}$"):
        inventory_format.read_header(data)


def test_shards_are_used_evenly() -> None:
    counts = [0] * inventory_format.SHARDS
    for number in range(1600):
        counts[inventory_format.shard_of(ObjectKey("", "ConfigMap", "shop", f"c{number}"))] += 1
    assert min(counts) > 60
