"""What whoever has a pool's token or certificate can do: speak for clusters of that pool, and nothing else."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest

from gitfed.agent_protocol import frames
from gitfed.errors import LinkError
from gitfed.hub import agents
from gitfed.hub.agents import calling
from gitfed.hub.agents.calling import Calling
from gitfed.hub.enrolment.bootstrap_tokens import Token
from gitfed.hub.enrolment.ledger import Issued, Ledger
from gitfed.model import agent_identity
from gitfed.model.agent_presence import Holding
from gitfed.model.declared.cluster import LONGEST_POOL, Cluster
from tests.hub import stage
from tests.hub.enrolment.site import Site, ledger, token
from tests.hub.stage import EVERYWHERE, ask, staged

NOW = datetime(2026, 1, 1, tzinfo=UTC)
EAST, WEST = agent_identity.of_pool("east"), agent_identity.of_pool("west")


def pooled(name: str, pool: str) -> str:
    return (
        "apiVersion: cluster.karmada.io/v1alpha1\nkind: Cluster\n"
        f"metadata: {{name: {name}, annotations: {{gitfed.io/pool: {pool}}}}}\nspec: {{syncMode: Push}}\n"
    )


FLEET = (pooled("m1", "east"), pooled("m2", "east"), pooled("m3", "west"), stage.cluster("m4"))


async def joined(hub: Any, folder: Path) -> tuple[Site, str]:
    bearer, site = token(hub, cluster=EAST), Site(EAST, folder)
    assert (await site.register(hub, bearer))[0] == 201
    return site, bearer


# -- who may do what ----------------------------------------------------------------------------------------------


async def test_a_members_certificate_lists_the_clusters_of_its_pool_and_opens_nothing_else(tmp_path: Path) -> None:
    async with staged(tmp_path, *FLEET, options=EVERYWHERE) as hub:
        site, _ = await joined(hub, tmp_path)
        shown = site.file()
        answer = await ask(hub, "GET", "/agents/v1/pool", certificate=shown)
        assert answer[:2] == (200, '{"pool": "east", "clusters": ["m1", "m2"]}')
        stream = await ask(hub, "GET", "/agents/v1/stream", certificate=shown)
        assert stream[:2] == (403, "members of pools open no way into clusters: the hub has its own\n")
        door = "/apis/cluster.karmada.io/v1alpha1/clusters/m1/proxy/api/v1/secrets"
        for path in ("/api/v1/clusters", "/api/v1/agents", "/metrics", door):
            assert (await ask(hub, "GET", path, certificate=shown))[0] == 403, path


async def test_a_pools_token_registers_no_cluster_and_no_other_pool(tmp_path: Path) -> None:
    refused = (403, "the token is for another cluster\n")
    async with staged(tmp_path, *FLEET, options=EVERYWHERE) as hub:
        bearer = token(hub, cluster=EAST)
        for name in ("edge-1", "m1", "east", WEST):
            assert await Site(name, tmp_path).register(hub, bearer) == refused, name
        plain = await Site(EAST, tmp_path).register(hub, token(hub))
        assert plain == (403, "the token is for a cluster, and for no pool\n")
        site, spent = await joined(hub, tmp_path)
        assert (await Site(EAST, tmp_path).register(hub, spent))[0] == 403, "once, with one key"
        _, text, _ = await ask(
            hub, "POST", "/agents/v1/certificate", certificate=site.file(), data=site.request(cluster=WEST)
        )
        assert text == "the signing request is not for system:gitfed:pool:east in system:gitfed:pools\n"


async def test_deleting_a_pools_token_revokes_all_of_its_certificates_at_once(tmp_path: Path) -> None:
    async with staged(tmp_path, *FLEET, options=EVERYWHERE) as hub:
        site, bearer = await joined(hub, tmp_path)
        first = site.file()
        assert (await site.renew(hub, certificate=site.certificate))[0] == 201
        ledger(hub).change(lambda found: (found.swept(datetime.now(UTC) + timedelta(days=400)), None))
        assert (await ask(hub, "GET", "/agents/v1/pool", certificate=first))[0] == 200
        ledger(hub).change(lambda found: (found.without_token(bearer.partition(".")[0]), None))
        assert (await ask(hub, "GET", "/agents/v1/pool", certificate=first))[0] == 401


async def test_one_member_that_renews_does_not_shut_out_the_others(tmp_path: Path) -> None:
    async with staged(tmp_path, *FLEET, options=EVERYWHERE) as hub:
        site, _ = await joined(hub, tmp_path)
        first = site.certificate
        shown = [site.file(first)]
        for _ in range(2):  # two members, each by what both were given
            status, text, _ = await ask(
                hub, "POST", "/agents/v1/certificate", certificate=shown[0], data=site.request()
            )
            assert status == 201
            shown.append(site.file(text.encode()))
        for one in (*shown[1:], *shown):
            assert (await ask(hub, "GET", "/agents/v1/pool", certificate=one))[0] == 200


async def test_a_clusters_own_agent_is_no_member(tmp_path: Path) -> None:
    async with staged(tmp_path, *FLEET, options=EVERYWHERE) as hub:
        site = Site("edge-1", tmp_path)
        assert (await site.register(hub, token(hub)))[0] == 201
        answer = await ask(hub, "GET", "/agents/v1/pool", certificate=site.file())
        assert answer[:2] == (403, "this certificate is a cluster's, and no pool's\n")


async def test_certificates_that_ended_leave_a_pools_ledger() -> None:
    made = Token("abcdef", "", "", NOW, None, "", EAST)
    found = Ledger({"abcdef": made}).enrolled(made, EAST, issued(0), NOW)
    for number in range(1, 40):
        found = found.renewed(EAST, str(number - 1), issued(number))  # type: ignore[assignment]
        assert isinstance(found, Ledger)
    assert [one.serial for one in found.clusters[EAST].certificates] == ["37", "38", "39"]


def issued(number: int) -> Issued:
    """Each counts for two and a half days, and the next one is made a day later."""
    begins = NOW + timedelta(days=number)
    return Issued(str(number), "key", begins, begins + timedelta(days=2, hours=12))


# -- the handshake ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "message"),
    [
        pytest.param({}, "a member of a pool names the cluster that it holds: the name is empty", id="nothing"),
        pytest.param(
            {"cluster": "m1", "holding": "1"}, "a member of a pool names itself", id="nobody"
        ),
        pytest.param(
            {"cluster": "m1", "member": "a\n", "holding": "1"}, "a member of a pool names itself", id="no name"
        ),
        pytest.param(
            {"cluster": "m1", "member": "a", "holding": "-1"},
            "a member of a pool says how often the Lease changed hands", id="no number",
        ),
        pytest.param(
            {"cluster": "m1", "member": "a", "holding": "9" * 10},
            "a member of a pool says how often the Lease changed hands", id="a number without end",
        ),
    ],
)  # fmt: skip
def test_a_member_says_what_it_holds_and_who_it_is(query: dict[str, str], message: str) -> None:
    assert calling.of(EAST, query) == message


def test_a_clusters_agent_has_its_cluster_whatever_it_says() -> None:
    assert calling.of("m1", {"cluster": "m2", "member": "a", "holding": "1"}) == Calling("m1")
    assert calling.of(EAST, {"cluster": "m2", "member": "a", "holding": "7"}) == Calling(
        "m2", "east", Holding("a", 7)
    )  # fmt: skip


def engine(**members: Any) -> Any:
    return SimpleNamespace(
        repo=stage.snapshot(*FLEET, stage.cluster("m5").replace("Push", "Pull")), abandoned=False,
        fleet=SimpleNamespace(members=members),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("cluster", "pool", "message"),
    [
        pytest.param("m3", "east", "cluster m3 is one of pool west, and not in east", id="another pool's"),
        pytest.param("m4", "east", "cluster m4 is in no pool, and not in east", id="the daemon's"),
        pytest.param("m5", "east", "cluster m5 is in no pool, and not in east", id="a pulled one"),
        pytest.param("m9", "east", "no cluster m9 is declared in the repository", id="nobody's"),
        pytest.param("m1", "", "cluster m1 is kept by pool east", id="its own agent"),
        pytest.param("m1", "east", "this hub reads the repository only now: connect again", id="in a moment"),
    ],
)
def test_a_member_is_refused_for_what_is_not_its_pools(cluster: str, pool: str, message: str) -> None:
    with pytest.raises(LinkError) as caught:
        agents.member_of(engine(), cluster, pool)
    assert (caught.value.message, caught.value.final) == (message, False)


async def test_a_member_is_told_by_a_sentence_why_it_is_refused(tmp_path: Path) -> None:
    async with staged(tmp_path, *FLEET, options=EVERYWHERE) as hub:
        site, _ = await joined(hub, tmp_path)
        hub.hub.running.engine = engine()
        context, url = hub.context(site.file()), f"{hub.url}/agents/v1/connection"
        said = {}
        async with aiohttp.ClientSession() as session:
            for cluster, newest in (("m3", frames.NEWEST), ("m1", frames.OLDEST - 1)):
                query = {"cluster": cluster, "member": "a", "holding": "1"}
                async with session.ws_connect(url, params=query, ssl=context) as socket:
                    hello = frames.Hello(0, newest, "i", "gitfed 0.0.9", ())
                    await socket.send_bytes(frames.encode(hello))
                    bye = frames.decode(await socket.receive_bytes())
                    assert isinstance(bye, frames.Bye)
                    said[cluster] = bye
            async with session.get(url, ssl=context) as answer:
                assert (answer.status, await answer.text()) == (
                    400, "a member of a pool names the cluster that it holds: the name is empty\n",
                )  # fmt: skip
        hub.hub.running.engine = None
    assert said["m3"].why == (
        "cluster m3 is one of pool west, and not in east (gitfed.io/pool: east in its Cluster file)"
    )
    assert (said["m1"].why, said["m1"].final) == (
        f"gitfed 0.0.9 is too old: the agent speaks versions 0 to {frames.OLDEST - 1} of the protocol, the hub "
        f"{frames.OLDEST} to {frames.NEWEST} (install a newer agent)", True,
    )  # fmt: skip


# -- names --------------------------------------------------------------------------------------------------------


def test_the_longest_pool_has_a_common_name_that_a_certificate_can_have() -> None:
    agent = agent_identity.of_pool("a" * LONGEST_POOL)
    assert len(agent_identity.common_name(agent)) == 64
    assert agent_identity.agent_of(agent_identity.common_name(agent), [agent_identity.POOLS]) == agent


@pytest.mark.parametrize(
    ("name", "group"),
    [
        ("system:gitfed:pool:east", agent_identity.GROUP),
        ("system:gitfed:agent:m1", agent_identity.POOLS),
        ("system:gitfed:pool:", agent_identity.POOLS),
        ("system:gitfed:agent:pool/east", agent_identity.GROUP),
    ],
)
def test_a_subject_that_is_neither_is_nobody(name: str, group: str) -> None:
    assert agent_identity.agent_of(name, [group]) is None


@pytest.mark.parametrize(
    ("pool", "mode", "messages"),
    [
        ("east", "Push", []),
        ("", "Push", [("the pool name '' is empty", "")]),
        ("East", "Push", [(
            "the pool name 'East' must be lowercase letters, digits and - only, with a letter or digit at both ends", ""
        )]),
        ("a" * 46, "Push", [(f"the pool name '{'a' * 46}' has 46 characters, at most 45 are allowed", "")]),
        ("east", "Pull", [(
            "a pulled cluster has an agent of its own, and no pool's",
            "spec.syncMode: Push, or no annotation gitfed.io/pool",
        )]),
    ],
)  # fmt: skip
def test_a_clusters_pool_is_checked_where_it_is_declared(pool: str, mode: str, messages: list[tuple[str, str]]) -> None:
    cluster = Cluster.model_validate(
        {
            "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster",
            "metadata": {"name": "m1", "annotations": {"gitfed.io/pool": pool}}, "spec": {"syncMode": mode},
        }
    )  # fmt: skip
    found = list(cluster.findings())
    assert [(one.message, one.hint) for one in found] == messages
    assert all(one.path == ("metadata", "annotations", "gitfed.io/pool") for one in found)
