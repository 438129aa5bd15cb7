"""Who of a pool keeps what: everything is kept, shares are even, and nothing moves without a cause."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from gitfed.agent.pool import sharing

CLUSTERS = st.sets(st.sampled_from([f"c{number}" for number in range(12)]))
MEMBERS = st.sets(st.sampled_from("abcde"), min_size=1)
HELD = st.dictionaries(
    st.sampled_from([f"c{number}" for number in range(12)]), st.sampled_from(["a", "b", "c", "d", "e", "dead"])
)


@given(MEMBERS, CLUSTERS, HELD)
def test_every_cluster_has_one_member_and_shares_differ_by_one_at_most(
    members: set[str], clusters: set[str], held: dict[str, str]
) -> None:
    found = sharing.shares(members, clusters, held)
    assert found.keys() == clusters
    counts = Counter(dict.fromkeys(members, 0))
    counts.update(found.values())
    assert counts.keys() == members
    assert max(counts.values()) - min(counts.values()) <= 1


@given(MEMBERS, CLUSTERS, HELD)
def test_nothing_moves_where_the_shares_are_even(members: set[str], clusters: set[str], held: dict[str, str]) -> None:
    settled = sharing.shares(members, clusters, held)
    assert sharing.shares(members, clusters, settled) == settled


@given(MEMBERS, CLUSTERS, HELD)
def test_no_more_moves_than_the_shares_demand(members: set[str], clusters: set[str], held: dict[str, str]) -> None:
    found = sharing.shares(members, clusters, held)
    before = Counter(dict.fromkeys(members, 0))
    before.update(held[cluster] for cluster in clusters if held.get(cluster) in members)
    least, more = divmod(len(clusters), len(members))
    # Whoever has most keeps the larger shares: what lies above must move, and nothing else.
    shares = [least + (place < more) for place in range(len(members))]
    ranked = sorted(before.values(), reverse=True)
    needed = sum(max(0, has - share) for has, share in zip(ranked, shares, strict=True))
    moved = sum(1 for cluster, member in found.items() if held.get(cluster) in members and held[cluster] != member)
    assert moved == needed


@given(MEMBERS, CLUSTERS, HELD, st.randoms())
def test_giving_back_one_by_one_leads_to_the_same_even_shares(
    members: set[str], clusters: set[str], held: dict[str, str], order: object
) -> None:
    """Each step anybody may act on what all see at that moment: it ends, and ends even."""
    held = {cluster: member for cluster, member in held.items() if member in members and cluster in clusters}
    for _ in range(3 * len(clusters) + 1):
        wanted = sharing.shares(members, clusters, held)
        gives = [cluster for cluster in held if wanted[cluster] != held[cluster]]
        takes = [cluster for cluster in sorted(clusters) if cluster not in held]
        if not gives and not takes:
            break
        one = order.choice(sorted([*gives, *takes]))  # type: ignore[attr-defined]
        if one in held:
            del held[one]
        else:
            held[one] = wanted[one]
    counts = Counter(dict.fromkeys(members, 0))
    counts.update(held.values())
    assert held.keys() == clusters
    assert max(counts.values()) - min(counts.values()) <= 1


def test_the_rule_is_the_same_whatever_the_order_is_in_which_a_member_sees_things() -> None:
    held = {"c1": "a", "c2": "a", "c3": "a"}
    one = sharing.shares(["a", "b"], ["c1", "c2", "c3", "c4"], held)
    other = sharing.shares(["b", "a"], ["c4", "c3", "c2", "c1"], dict(reversed(held.items())))
    assert one == other == {"c1": "a", "c2": "a", "c3": "b", "c4": "b"}


def test_nobody_keeps_what_a_pool_without_members_has() -> None:
    assert sharing.shares([], ["c1"], {"c1": "dead"}) == {}
