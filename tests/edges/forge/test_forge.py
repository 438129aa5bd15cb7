"""What is said to a forge: one comment, edited in place and nobody else's; statuses under their own names."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest

from gitfed.edges import forge
from gitfed.edges.forge import CommitState, CommitStatus, ForgeProject, Posted, bitbucket
from gitfed.edges.forge.call import ForgeClient
from gitfed.errors import ForgeError, ForgeUnreachable, UsageError
from gitfed.model.base import Commit
from tests.edges.forge import servers
from tests.edges.forge.servers import KINDS, ME, OTHER, SHA, TOKEN, Fake

MARKER = "<!-- gitfed.io/diff -->"


@pytest.fixture(params=sorted(KINDS))
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def fake(kind: str) -> Iterator[Fake]:
    with servers.serving(kind) as one:
        yield one


def connect(kind: str, fake: Fake) -> forge.Forge:
    return forge.connect(ForgeProject(kind, fake.api, KINDS[kind][1]), TOKEN)


def test_one_comment_is_posted_and_then_edited_in_place(kind: str, fake: Fake) -> None:
    there = connect(kind, fake)
    assert there.comment(5, MARKER, f"{MARKER}\nfirst\n") is Posted.CREATED
    assert there.comment(5, MARKER, f"{MARKER}\nfirst\n") is Posted.UNCHANGED
    assert there.comment(5, MARKER, f"{MARKER}\nsecond\n") is Posted.UPDATED
    assert [one["body"] for one in fake.comments] == [f"{MARKER}\nsecond\n"]


def test_it_is_found_among_many_others(kind: str, fake: Fake) -> None:
    for number in range(7):
        fake.comment(OTHER, f"comment {number}")
    fake.comment(ME, f"{MARKER}\nold")
    assert connect(kind, fake).comment(5, MARKER, f"{MARKER}\nnew") is Posted.UPDATED
    assert fake.comments[-1]["body"] == f"{MARKER}\nnew"


def test_a_comment_of_somebody_else_with_our_marker_is_left_alone(kind: str, fake: Fake) -> None:
    fake.comment(OTHER, f"{MARKER}\nlooks like ours")
    fake.comment(ME, f"somebody quoted:\n{MARKER}")
    assert connect(kind, fake).comment(5, MARKER, f"{MARKER}\nours") is Posted.CREATED
    assert fake.comments[0]["body"] == f"{MARKER}\nlooks like ours"


@pytest.mark.parametrize("kind", ["github", "gitea", "bitbucket"])
def test_the_token_of_a_job_that_may_not_ask_who_it_is_finds_its_comment_too(kind: str, fake: Fake) -> None:
    fake.knows_me = False
    fake.comment(OTHER, f"{MARKER}\nlooks like ours")
    there = connect(kind, fake)
    assert there.comment(5, MARKER, f"{MARKER}\none") is Posted.CREATED
    assert there.comment(5, MARKER, f"{MARKER}\ntwo") is Posted.UPDATED
    assert len(fake.comments) == 2


def test_nothing_is_posted_for_nothing_but_an_old_comment_is_corrected(kind: str, fake: Fake) -> None:
    there = connect(kind, fake)
    assert there.comment(5, MARKER, "", otherwise=f"{MARKER}\nno change") is Posted.NOTHING
    assert fake.comments == []
    there.comment(5, MARKER, f"{MARKER}\nchange")
    assert there.comment(5, MARKER, "", otherwise=f"{MARKER}\nno change") is Posted.UPDATED
    assert [one["body"] for one in fake.comments] == [f"{MARKER}\nno change"]


@pytest.mark.parametrize("state", list(CommitState))
def test_statuses_stand_beside_each_other(kind: str, fake: Fake, state: CommitState) -> None:
    there = connect(kind, fake)
    names = ["gitfed/acme", "gitfed/acme/review", "gitfed/acme/cluster/eu-1", f"gitfed/acme/cluster/{'x' * 60}"]
    for name in names:
        there.set_status(
            Commit(SHA), CommitStatus(name, state, f"a\nlong {'description ' * 40}", "https://ci.example/1")
        )
    assert sorted(name for _, name in fake.statuses) == sorted(names)
    there.set_status(Commit(SHA), CommitStatus("gitfed/acme", state, "again"))
    assert len(fake.statuses) == len(names)


@pytest.mark.parametrize("kind", ["gitlab"])
def test_a_status_that_waits_already_may_be_told_to_wait_again(fake: Fake) -> None:
    there = connect("gitlab", fake)
    for _ in range(2):  # GitLab refuses the second, which is no failure: it waits, as it was told
        there.set_status(Commit(SHA), CommitStatus("gitfed/acme", CommitState.PENDING, "waits for consent"))
    assert fake.statuses[SHA, "gitfed/acme"]["state"] == "pending"


@pytest.mark.parametrize("kind", ["gitlab"])
@pytest.mark.parametrize(
    ("state", "said"),
    [
        (CommitState.SUCCESS, "Cannot transition status via :success from :canceled"),
        (CommitState.PENDING, "Cannot transition status via :enqueue from :manual"),
        (CommitState.SUCCESS, "Cannot transition status via :enqueue from :pending"),
    ],
)
def test_any_other_transition_that_is_refused_is_a_failure(fake: Fake, state: CommitState, said: str) -> None:
    fake.failures = [(400, {}, f'{{"message": "{said}"}}'.encode())]
    with pytest.raises(ForgeError, match=said):
        connect("gitlab", fake).set_status(Commit(SHA), CommitStatus("gitfed/acme", state, "done"))


@pytest.mark.parametrize("api", ["https://git.example/rest/api/1.0", "https://bitbucket.example"])
def test_bitbucket_data_center_is_told_apart(api: str) -> None:
    with pytest.raises(UsageError) as told:
        forge.connect(ForgeProject("bitbucket", api, "OPS/fleet"), TOKEN)
    assert told.value.message == f"{api} is not Bitbucket Cloud, whose API is https://api.bitbucket.org/2.0"
    assert "Bitbucket Data Center" in told.value.hint


def test_keys_of_long_names_are_short_and_different() -> None:
    keys = {bitbucket.key(f"gitfed/acme/cluster/{'x' * 60}{number}") for number in range(100)}
    assert len(keys) == 100
    assert max(map(len, keys)) < 40


def test_a_busy_forge_is_asked_again_when_it_says_so(kind: str, fake: Fake) -> None:
    there = connect(kind, fake)
    there._client._again = (0.0,)  # type: ignore[attr-defined]
    fake.failures = [(429, {"Retry-After": "0"}, b"{}")]
    there.set_status(Commit(SHA), CommitStatus("gitfed/acme", CommitState.SUCCESS, "done"))
    assert len(fake.statuses) == 1


@pytest.mark.parametrize(
    ("headers", "said", "wait"),
    [
        ({"Retry-After": "3", "X-RateLimit-Remaining": "17"}, "", 3.0),
        ({"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "0"}, "API rate limit exceeded", 0.0),
        ({"X-RateLimit-Remaining": "17", "X-RateLimit-Reset": "9999999999"}, "a secondary rate limit", 60.0),
    ],
    ids=["for so long", "until the limit is new", "for a minute after a secondary limit"],
)
def test_a_403_that_means_a_limit_says_how_long_to_wait(headers: dict[str, str], said: str, wait: float) -> None:
    with servers.serving("github") as fake:
        there = connect("github", fake)
        there._client._again = ()  # type: ignore[attr-defined]
        fake.failures = [(403, headers, f'{{"message": "{said}"}}'.encode())]
        with pytest.raises(ForgeUnreachable) as caught:
            there.set_status(Commit(SHA), CommitStatus("gitfed/acme", CommitState.SUCCESS, "done"))
    assert caught.value.retry_after == wait


def test_a_403_that_means_a_missing_right_is_not_asked_again() -> None:
    with servers.serving("github") as fake:
        fake.failures = [(403, {"X-RateLimit-Remaining": "17"}, b'{"message": "Resource not accessible"}')] * 2
        with pytest.raises(ForgeError) as caught:
            connect("github", fake).set_status(Commit(SHA), CommitStatus("gitfed/acme", CommitState.SUCCESS, "done"))
        assert len(fake.failures) == 1
    assert caught.value.hint == "the token lacks a right: see docs, how-to/review"


def test_a_gitea_token_that_may_not_ask_who_it_is_gets_no_comment_each_time() -> None:
    """A person's token with scopes is not one of a workflow: its comment could never be found again."""
    refusal = b'{"message": "token does not have at least one of required scope(s): [read:user]"}'
    with servers.serving("gitea") as fake:
        fake.failures = [(403, {}, refusal)]
        with pytest.raises(ForgeError) as caught:
            connect("gitea", fake).comment(5, MARKER, f"{MARKER}\none")
        assert fake.comments == []
    assert caught.value.hint == "give the token read:user too"


@pytest.mark.parametrize("host", ["169.254.169.254", "[fe80::1]", "[fd00:ec2::254]", "metadata.example"])
def test_a_metadata_address_is_not_contacted(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    look_up = socket.getaddrinfo

    def found(name: str, *arguments: Any, **named: Any) -> Any:
        return look_up("100.100.100.200" if name == "metadata.example" else name, *arguments, **named)

    monkeypatch.setattr(socket, "getaddrinfo", found)
    there = forge.connect(ForgeProject("github", f"https://{host}/api", "a/b"), TOKEN)
    with pytest.raises(ForgeUnreachable) as refused:
        there.set_status(Commit(SHA), CommitStatus("a", CommitState.SUCCESS, "b"))
    bare = host.strip("[]")
    what = "metadata.example is 100.100.100.200," if host == "metadata.example" else f"{bare} is"
    assert str(refused.value).endswith(f": {what} a link-local or metadata address, which is not contacted")


def test_what_may_have_been_done_is_not_done_twice(kind: str, fake: Fake) -> None:
    there = connect(kind, fake)
    there.comment(5, MARKER, "")
    fake.failures = [(502, {}, b"bad gateway")]
    with pytest.raises(ForgeUnreachable, match="HTTP 502"):
        there.set_status(Commit(SHA), CommitStatus("gitfed/acme", CommitState.SUCCESS, "done"))


def test_a_refusal_says_what_the_forge_said_without_the_token(kind: str, fake: Fake) -> None:
    fake.failures = [(401, {}, f'{{"message": "Bad credentials {TOKEN}"}}'.encode())] * 3
    with pytest.raises(ForgeError) as caught:
        connect(kind, fake).set_status(Commit(SHA), CommitStatus("gitfed/acme", CommitState.SUCCESS, "done"))
    assert "HTTP 401" in str(caught.value)
    assert "Bad credentials" in str(caught.value)
    assert TOKEN not in str(caught.value)
    assert caught.value.hint == "the token is not valid here"


def test_a_redirect_is_not_followed_and_pages_stay_on_the_server(fake: Fake, kind: str) -> None:
    with servers.serving(kind) as elsewhere:
        fake.failures = [(302, {"Location": f"{elsewhere.api}/user"}, b"")]
        with pytest.raises(ForgeError):
            connect(kind, fake).set_status(Commit(SHA), CommitStatus("a", CommitState.SUCCESS, "b"))
        client = ForgeClient(fake.api, {})
        with pytest.raises(ForgeError, match="another server"):
            client.below(f"{elsewhere.api}/next")
        assert elsewhere.asked == []


@pytest.mark.parametrize("api", ["http://forge.example/api", "ftp://x", "https://user:pass@forge.example/api"])
def test_a_token_is_sent_over_tls_only(api: str) -> None:
    with pytest.raises(UsageError):
        forge.connect(ForgeProject("github", api, "a/b"), TOKEN)


def test_a_name_cannot_lead_to_another_path(fake: Fake, kind: str) -> None:
    there = forge.connect(ForgeProject(kind, fake.api, "../../admin/x?y=1"), TOKEN)
    with pytest.raises(ForgeError, match="404"):
        there.set_status(Commit("../../../user"), CommitStatus("a", CommitState.SUCCESS, "b"))
    ((_, path),) = fake.asked
    assert "/../" in path  # decoded: on the wire it is one segment


def test_without_a_token_nothing_is_asked(fake: Fake, kind: str) -> None:
    with pytest.raises(UsageError, match="there is no token"):
        forge.connect(ForgeProject(kind, fake.api, "a/b"), "")
    assert fake.asked == []
