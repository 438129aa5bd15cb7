"""Copies that are made when somebody looks: as a plain mapping of all of them would be."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from gitfed.model.base import BindingId, Digest, ObjectKey, Origin
from gitfed.model.decided_objects import DecidedObjects
from gitfed.model.fleet import LiveObject
from gitfed.model.plan import RenderedManifest

KEY = ObjectKey("apps", "Deployment", "shop", "web")
NAMES = [f"m{number}" for number in range(8)]


def rendered(digest: str, clusters: set[str]) -> RenderedManifest:
    return RenderedManifest(KEY, BindingId("b"), {}, Digest(digest), tuple(sorted(clusters)), 1, Origin("web.yaml"))


def make(one: RenderedManifest, cluster: str) -> LiveObject:
    return LiveObject(KEY, cluster, "u", "1", ours=True, matches=one.digest)


parts = st.tuples(st.sets(st.sampled_from(NAMES)), st.sets(st.sampled_from(NAMES))).map(
    lambda two: [rendered("one", two[0]), rendered("two", two[1] - two[0])]
)
steps = st.lists(st.tuples(st.sampled_from(["put", "without"]), st.sampled_from(NAMES)))


@given(parts, steps, parts)
def test_they_are_what_a_plain_mapping_would_be(
    decided: list[RenderedManifest], done: list[tuple[str, str]], wanted: list[RenderedManifest]
) -> None:
    plain = {name: make(one, name) for one in decided for name in one.clusters}
    copies = DecidedObjects(decided, make)
    for what, name in done:
        if what == "put":
            copy = replace(make(rendered("new", set()), name), uid="v")
            plain[name], copies = copy, copies.put(copy)
        else:
            plain.pop(name, None)
            copies = copies.without(name)
    assert dict(copies) == plain
    assert len(copies) == len(plain)
    assert {name for name in NAMES if name in copies} == plain.keys()
    should = {name: one.digest for one in wanted for name in one.clusters}
    differing = {name for name in NAMES if should.get(name) != (plain[name].matches if name in plain else None)}
    assert differing <= copies.unlike(wanted)
    assert copies.unlike(wanted) <= differing | {name for _, name in done}
    as_decided = {name: make(one, name) for one in decided for name in one.clusters}
    changed = {name for name in NAMES if name not in plain or plain[name] != as_decided.get(name)}
    assert changed <= set(copies.doubtful(tuple(NAMES)))


def test_none_is_changed_by_what_is_made_from_it() -> None:
    before = DecidedObjects([rendered("one", {"m1", "m2"})], make)
    after = before.without("m1").put(replace(make(rendered("new", set()), "m3"), uid="v"))
    assert (sorted(before), sorted(after)) == (["m1", "m2"], ["m2", "m3"])
