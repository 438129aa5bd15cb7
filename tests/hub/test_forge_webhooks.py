"""Deliveries of forges: whose are heeded, what is made of them, and what strangers can do."""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import logging
import re
import subprocess
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gitfed.errors import UsageError
from gitfed.hub.forge_webhooks import receive, signatures
from gitfed.hub.forge_webhooks.receive import Followed
from gitfed.hub.options import HubOptions
from gitfed.hub.polling import Polling
from gitfed.hub.running import Running
from tests.hub import deliveries, stage
from tests.hub.deliveries import AFTER, NONE, SECRET, SIGNING_TOKEN, Sent
from tests.hub.stage import Recorded, ask, raw, snapshot, staged, until

LOOKS = (202, "gitfed looks at the repository\n")
PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "forge-webhooks.md"


@dataclass
class Reader:
    location: str = "https://forge.example/ops/fleet.git"
    ref: str = "refs/heads/main"
    remote: bool = True


@dataclass
class Engine:
    """What a delivery can do to the real one, which `tests/e2e/test_forge_webhooks.py` has."""

    repo: Any
    reader: Reader = field(default_factory=Reader)
    looks: int = 0
    memory: Any = field(default_factory=lambda: SimpleNamespace(results={}))

    def source_changed(self) -> None:
        self.looks += 1


@dataclass
class Forge:
    """A hub to deliver to."""

    stage: stage.Staged
    engine: Engine

    async def sends(self, sent: Sent, **options: Any) -> tuple[int, str]:
        status, text, _ = await ask(
            self.stage, "POST", f"/hooks/{sent.forge}", data=sent.body, headers=dict(sent.headers), **options
        )
        return status, text

    def counts(self) -> dict[tuple[str, ...], Any]:
        """By forge and outcome, as Prometheus is told."""
        return dict(next(one for one in self.stage.hub.metrics if one.name == "gitfed_forge_deliveries_total").read())


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receive, "_PAUSE", 0.0)


@pytest.fixture
def secrets(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    path = tmp_path / "secret"
    path.write_text(getattr(request, "param", f"{SECRET}\n{SIGNING_TOKEN}\n"))
    return path


@pytest.fixture
async def forge(tmp_path: Path, secrets: Path) -> AsyncIterator[Forge]:
    options = HubOptions("127.0.0.1", 0, hook_secret_file=secrets)
    running = Running(Recorded(snapshot()))
    engine = Engine(running.repo)
    async with staged(tmp_path, options=options, running=running) as hub:
        running.engine = engine  # type: ignore[assignment]
        yield Forge(hub, engine)


PUSHES: dict[str, Callable[[], Sent]] = {
    "GitHub": deliveries.github,
    "GitHub as a form": lambda: deliveries.github(form=True),
    "GitLab with a token": deliveries.gitlab,
    "GitLab with a signature": lambda: deliveries.gitlab(signed=True),
    "Gitea": deliveries.gitea,
    "Forgejo": deliveries.forgejo,
    "Bitbucket Cloud": deliveries.bitbucket_cloud,
    "Bitbucket Data Center": deliveries.bitbucket_server,
    "a program of one's own": deliveries.generic,
}


@pytest.mark.parametrize("make", PUSHES.values(), ids=PUSHES.keys())
async def test_a_push_makes_gitfed_look(forge: Forge, make: Callable[[], Sent]) -> None:
    assert await forge.sends(make()) == LOOKS
    assert forge.engine.looks == 1
    assert forge.stage.hub.running.polling.rare


@pytest.mark.parametrize("make", PUSHES.values(), ids=PUSHES.keys())
async def test_a_delivery_that_came_before_does_nothing(forge: Forge, make: Callable[[], Sent]) -> None:
    sent = make()
    assert await forge.sends(sent) == LOOKS
    assert await forge.sends(sent) == (200, "this came before\n")
    assert forge.stage.hub.running.polling.rare
    # Who listened can change what is not signed: the id in a header.
    for name in ("X-GitHub-Delivery", "X-Gitea-Delivery", "X-Forgejo-Delivery", "X-Request-UUID", "Idempotency-Key"):
        sent = sent.but(**{name: "another"}) if name in sent.headers else sent
    assert await forge.sends(sent) == (200, "this came before\n")
    assert forge.engine.looks == 1


async def test_bytes_that_come_again_under_another_id_make_polls_usual_again(forge: Forge) -> None:
    sent = deliveries.github()
    assert await forge.sends(sent) == LOOKS
    assert await forge.sends(sent.but(X_GitHub_Delivery="another")) == (200, "this came before\n")
    assert not forge.stage.hub.running.polling.rare


@pytest.mark.parametrize("make", PUSHES.values(), ids=PUSHES.keys())
async def test_whoever_does_not_know_the_secret_is_refused(forge: Forge, make: Callable[[], Sent]) -> None:
    sent = make()
    names = [name for name in sent.headers if "signature" in name.lower() or name == "X-Gitlab-Token"]
    bare = sent
    for name in names:
        bare = bare.without(name)
    forged = [bare]
    for name in names:
        value = sent.headers[name]
        other = value[:-4] + ("abcd" if value[-4:] != "abcd" else "dcba")
        forged += [sent.but(**dict.fromkeys(names, other)), bare.but(**{name: ""}), bare.but(**{name: "sha256="}),
                   bare.but(**{name: "sha256=é\udcff"}), bare.but(**{name: value + "0"})]  # fmt: skip
    if sent.forge != "gitlab" or "webhook-signature" in sent.headers:
        forged.append(replace(sent, body=sent.body.replace(b"main", b"maim")))
    for one in forged:
        headers = {
            name: value.encode("utf-8", "surrogateescape").decode("latin-1") for name, value in one.headers.items()
        }
        assert await forge.sends(replace(one, headers=headers)) == (401, "the signature does not hold\n"), one.headers
    assert forge.engine.looks == 0
    assert forge.counts() == {(sent.forge, "forged"): len(forged)}


async def test_sha1_is_no_signature(forge: Forge) -> None:
    assert (await forge.sends(deliveries.github().without("X-Hub-Signature-256")))[0] == 401


async def test_a_signing_token_that_is_sent_along_is_no_proof(forge: Forge) -> None:
    assert (await forge.sends(deliveries.gitlab(token=SIGNING_TOKEN)))[0] == 401


async def test_a_signature_counts_even_if_there_is_a_token_too(forge: Forge) -> None:
    wrong = deliveries.gitlab(signed=True).but(webhook_signature="v1,AAAA", X_Gitlab_Token=SECRET)
    assert (await forge.sends(wrong))[0] == 401
    while_replaced = deliveries.gitlab(signed=True)
    both = while_replaced.but(webhook_signature=f"v1,AAAA {while_replaced.headers['webhook-signature']}")
    assert await forge.sends(both) == LOOKS


@pytest.mark.parametrize("away", [-301, 302, 10**9])
async def test_a_signature_of_another_time_does_not_hold(forge: Forge, away: float) -> None:
    assert (await forge.sends(deliveries.gitlab(signed=True, sent=time.time() + away)))[0] == 401


async def test_a_time_that_is_none_does_not_hold(forge: Forge) -> None:
    for text in ("", "x", "-1", "1e9", "²", "9" * 400):
        sent = deliveries.gitlab(signed=True)
        headers = {**sent.headers, "webhook-timestamp": text.encode().decode("latin-1")}
        assert (await forge.sends(replace(sent, headers=headers)))[0] == 401


PINGS = {
    "GitHub": lambda: deliveries.github(event="ping"),
    "Bitbucket Data Center": lambda: deliveries.bitbucket_server(event="diagnostics:ping"),
    "a program of one's own": lambda: deliveries.generic(None),
}


@pytest.mark.parametrize("make", PINGS.values(), ids=PINGS.keys())
async def test_a_ping_is_answered_and_changes_nothing(forge: Forge, make: Callable[[], Sent]) -> None:
    assert await forge.sends(make()) == (200, "pong\n")
    assert forge.engine.looks == 0
    assert not forge.stage.hub.running.polling.rare


ELSEWHERE = {
    "another branch": (lambda: deliveries.github("refs/heads/topic"), "another branch is followed"),
    "a branch with the same end": (lambda: deliveries.github("refs/heads/x/main"), "another branch is followed"),
    "a tag at GitHub": (lambda: deliveries.github("refs/tags/v1"), "another branch is followed"),
    "a tag at GitLab": (lambda: deliveries.gitlab("refs/tags/main"), "another branch is followed"),
    "a tag at Bitbucket": (lambda: deliveries.bitbucket_cloud(tag=True), "another branch is followed"),
    "another repository": (lambda: deliveries.github(repository="ops/other"), "another repository is followed"),
    "one whose name ends like ours": (lambda: deliveries.gitea(repository="s/fleet"), "another repository is followed"),
    "an issue": (lambda: deliveries.gitlab(kind="issue"), "only pushes matter here"),
    "a pull request": (lambda: deliveries.github(event="pull_request"), "only pushes matter here"),
}  # fmt: skip


@pytest.mark.parametrize(("make", "why"), ELSEWHERE.values(), ids=ELSEWHERE.keys())
async def test_what_concerns_somebody_else_is_answered_well(
    forge: Forge, make: Callable[[], Sent], why: str
) -> None:  # fmt: skip
    assert await forge.sends(make()) == (200, f"{why}\n")
    assert forge.engine.looks == 0
    assert not forge.stage.hub.running.polling.rare


async def test_a_push_of_decisions_is_seen_at_once_and_says_nothing_of_the_source(forge: Forge) -> None:
    assert await forge.sends(deliveries.github("refs/heads/gitfed/state")) == LOOKS
    assert forge.engine.looks == 1
    assert not forge.stage.hub.running.polling.rare


async def test_the_deletion_of_the_branch_is_a_reason_to_look(forge: Forge) -> None:
    assert await forge.sends(deliveries.github(after=NONE)) == LOOKS
    assert await forge.sends(deliveries.bitbucket_cloud(gone=True)) == LOOKS
    assert forge.engine.looks == 2


@pytest.mark.parametrize(
    ("location", "repository"),
    [
        ("git@forge.example:ops/fleet.git", "Ops/Fleet"),
        ("ssh://git@forge.example:7999/ops/fleet", "ops/fleet"),
        ("https://forge.example/scm/ops/fleet.git", "ops/fleet"),
        ("https://forge.example/a/b/ops/fleet.git/", "a/b/ops/fleet"),
    ],
)
async def test_a_repository_is_known_by_every_url_that_it_has(forge: Forge, location: str, repository: str) -> None:
    forge.engine.reader.location = location
    assert await forge.sends(deliveries.gitlab(repository=repository)) == LOOKS
    assert (await forge.sends(deliveries.gitlab(repository="s/fleet")))[0] == 200


async def test_a_repository_on_this_machine_may_have_any_name(forge: Forge) -> None:
    forge.engine.reader = Reader("/srv/fleet.git", remote=False)
    assert await forge.sends(deliveries.github(repository="any/name")) == LOOKS


async def test_before_the_branch_is_known_every_push_is_a_reason_to_look(forge: Forge) -> None:
    forge.engine.reader.ref = ""
    assert await forge.sends(deliveries.github("refs/heads/topic")) == LOOKS


async def test_who_stands_by_says_so(forge: Forge) -> None:
    forge.stage.hub.running.engine = None
    said = (202, "this one stands by: who leads finds it with the next poll\n")
    assert await forge.sends(deliveries.github()) == said
    assert forge.counts() == {("github", "standing-by"): 1}


MALFORMED = {
    "no JSON": (b"{", "the body is not JSON"),
    "nothing": (b"", "the body is not JSON"),
    "a list": (b"[]", "the body is not a JSON object"),
    "no repository": (b'{"ref":"refs/heads/main"}', "repository must be an object"),
    "a ref that is no text": (b'{"ref":["main"],"repository":{"full_name":"ops/fleet"}}', "ref must be a text"),
    "very deep": (b'{"ref":' + b"[" * 50_000 + b"]" * 50_000 + b"}", "the body is not JSON"),
    "no UTF-8": (b'{"ref":"\xff"}', "the body is not JSON"),
}  # fmt: skip


@pytest.mark.parametrize(("body", "why"), MALFORMED.values(), ids=MALFORMED.keys())
async def test_what_cannot_be_read_is_refused(forge: Forge, body: bytes, why: str) -> None:
    assert await forge.sends(deliveries.resigned(deliveries.github(), body)) == (400, f"{why}\n")
    assert forge.counts() == {("github", "malformed"): 1}
    assert forge.engine.looks == 0


@pytest.mark.parametrize(
    ("document", "why"),
    [
        ({"push": {}}, "changes must be a list of objects"),
        ({"push": {"changes": [{}]}, "repository": {}}, "push.changes[] needs new or old"),
        ({"push": {"changes": [{"new": {"type": "branch"}}]}, "repository": {}}, "name must be a text"),
    ],
)
async def test_what_bitbucket_never_sends_is_refused(forge: Forge, document: object, why: str) -> None:
    body = json.dumps(document).encode()
    sent = replace(deliveries.bitbucket_cloud(), body=body).but(X_Hub_Signature=f"sha256={deliveries.digest(body)}")
    assert await forge.sends(sent) == (400, f"{why}\n")


async def test_another_content_type_is_refused(forge: Forge) -> None:
    of_github = "the content type must be application/json, or a form with the field payload\n"
    assert await forge.sends(deliveries.github().but(Content_Type="text/plain")) == (400, of_github)
    form = deliveries.github(form=True)
    assert await forge.sends(replace(form, forge="github").but(Content_Type="multipart/form-data")) == (400, of_github)
    of_gitlab = "the content type must be application/json\n"
    assert await forge.sends(deliveries.gitlab().but(Content_Type="application/x-www-form-urlencoded")) == (
        400,
        of_gitlab,
    )
    empty = deliveries.resigned(form, b"other=1")
    assert await forge.sends(empty) == (400, "a form needs exactly one field payload\n")
    twice = deliveries.resigned(form, form.body + b"&" + form.body)
    assert await forge.sends(twice) == (400, "a form needs exactly one field payload\n")
    many = deliveries.resigned(form, b"a=1&" * 100_000 + form.body)
    assert await forge.sends(many) == (400, "a form needs exactly one field payload\n")


async def test_a_delivery_without_its_event_is_refused(forge: Forge) -> None:
    assert await forge.sends(deliveries.github().without("X-GitHub-Event")) == (
        400, "the header X-GitHub-Event is missing\n",
    )  # fmt: skip


async def test_more_than_a_mebibyte_is_refused(forge: Forge) -> None:
    largest = deliveries.github().body
    padded = largest[:-1] + b" " * (receive.LARGEST - len(largest)) + b"}"
    for body, status in ((padded, 202), (padded + b" ", 413)):
        sent = deliveries.resigned(deliveries.github(), body)
        assert (await ask(forge.stage, "POST", "/hooks/github", data=io.BytesIO(body), headers=dict(sent.headers)))[
            0
        ] == status

    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(40):
            yield b" " * (1 << 16)

    sent = deliveries.github()
    status, _, _ = await ask(forge.stage, "POST", "/hooks/github", data=chunks(), headers=dict(sent.headers))
    assert status == 413
    assert forge.engine.looks == 1


async def test_a_body_in_pieces_without_its_length_is_read(forge: Forge) -> None:
    sent = deliveries.github()

    async def chunks() -> AsyncIterator[bytes]:
        for i in range(0, len(sent.body), 100):
            yield sent.body[i : i + 100]

    status, text, _ = await ask(forge.stage, "POST", "/hooks/github", data=chunks(), headers=dict(sent.headers))
    assert (status, text) == LOOKS


async def test_a_compressed_body_is_refused(forge: Forge) -> None:
    body = gzip.compress(deliveries.github().body)
    sent = deliveries.resigned(deliveries.github(), body).but(Content_Encoding="gzip")
    assert await forge.sends(sent) == (400, "compressed bodies are not accepted\n")


@pytest.mark.parametrize("name", ["X-Hub-Signature-256", "X-GitHub-Event", "X-GitHub-Delivery", "Content-Type"])
async def test_a_header_that_stands_twice_is_refused(forge: Forge, name: str) -> None:
    sent = deliveries.github()
    lines = [f"{key}: {value}" for key, value in (*sent.headers.items(), (name, sent.headers[name]))]
    head = "\r\n".join(["POST /hooks/github HTTP/1.1", "Host: x", f"Content-Length: {len(sent.body)}", *lines, "", ""])
    answer = await raw(
        forge.stage, head.encode() + sent.body + b"GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    )
    assert answer.partition(b"\r\n")[0].endswith(b" 400 Bad Request")
    if name != "Content-Type":  # of that one aiohttp itself complains
        assert f"the header {name} stands twice".encode() in answer
    assert forge.engine.looks == 0


async def test_a_swarm_of_deliveries_is_one_look_and_one_more(
    secrets: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    looks: list[float] = []
    now = asyncio.get_running_loop().time
    monkeypatch.setattr(receive, "_PAUSE", 0.2)
    receiver = receive.Receiver(signatures.Secrets(secrets), Followed, lambda: looks.append(now()), Polling())
    for _ in range(30):
        receiver._look_soon()
    assert len(looks) == 1
    await until(lambda: len(looks) == 2)
    assert looks[1] - looks[0] >= 0.19


async def test_bodies_that_do_not_end_leave_room_for_others(forge: Forge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receive, "_PATIENCE", 0.2)
    monkeypatch.setattr(receive, "_MOST_AT_ONCE", 3)
    head = b"POST /hooks/github HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"
    answers = await asyncio.gather(*(raw(forge.stage, head) for _ in range(6)))
    assert {answer[:12] for answer in answers} <= {b"HTTP/1.1 408", b"HTTP/1.1 503"}
    assert await forge.sends(deliveries.github()) == LOOKS


async def test_strangers_do_not_fill_the_log(forge: Forge, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "gitfed.audit")
    for _ in range(50):
        await forge.sends(deliveries.github(secret="not the secret at all"))
    sent = deliveries.github()
    await forge.sends(sent)
    lines = [(record.msg, vars(record)["result"]) for record in caplog.records]
    assert lines == [("delivery refused", "forged"), ("delivery", "accepted")]
    told = vars(caplog.records[1])
    assert (told["forge"], told["event"], told["refs"]) == ("github", "push", ["refs/heads/main"])
    assert (told["repository"], told["id"]) == ("ops/fleet", sent.headers["X-GitHub-Delivery"])
    assert SECRET not in caplog.text


async def test_other_methods_and_other_forges_are_not_open(forge: Forge) -> None:
    assert (await ask(forge.stage, "GET", "/hooks/github"))[0] == 401
    assert (await ask(forge.stage, "POST", "/hooks/sourceforge"))[0] == 401


async def test_without_a_secret_there_are_no_hooks(tmp_path: Path) -> None:
    async with staged(tmp_path) as hub:
        assert (await ask(hub, "POST", "/hooks/github", data=b"{}"))[0] == 401


# -- the file of secrets ----------------------------------------------------------------------------------------


async def test_a_secret_is_replaced_while_the_hub_runs(forge: Forge, secrets: Path) -> None:
    write, remove = secrets.write_text, secrets.unlink
    new = "a" * 32
    assert (await forge.sends(deliveries.github(secret=new)))[0] == 401
    write(f"{SECRET}\n{new}\n")
    assert await forge.sends(deliveries.github(secret=new)) == LOOKS
    assert await forge.sends(deliveries.github()) == LOOKS
    write(f"{new}\n\n")
    assert (await forge.sends(deliveries.github()))[0] == 401
    remove()
    assert await forge.sends(deliveries.github(secret=new)) == (503, "the secret cannot be read now\n")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\n \n", "the file of secrets {} is empty (openssl rand -hex 32)"),
        (b"short\n", "the file of secrets {} holds a secret of fewer than 16 characters (openssl rand -hex 32)"),
        (b"whsec_not/base64/at/all!\n", "the file of secrets {} holds a GitLab signing token whose key is not base64"),
        (b"\xff" * 20, "the secret of forge webhooks cannot be read from {}: it is not text"),
        (None, "the secret of forge webhooks cannot be read from {}: No such file or directory"),
    ],
    ids=["empty", "short", "no base64", "no text", "missing"],
)
def test_a_file_that_holds_no_secret_is_a_mistake_at_start(tmp_path: Path, content: bytes | None, message: str) -> None:
    path = tmp_path / "secret"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageError) as found:
        signatures.Secrets(path)
    assert str(found.value) == message.format(path)


# -- polls ------------------------------------------------------------------------------------------------------


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_polls_are_rare_while_a_forge_tells_and_usual_when_it_does_not_any_more() -> None:
    clock = Clock()
    polling = Polling(clock=clock)
    polling.at("a")
    assert polling.interval(60) == 60
    polling.delivered()
    polling.at("b")
    assert polling.interval(60) == 600
    clock.now += 24 * 3600 - 1
    assert polling.interval(60) == 600
    clock.now += 1
    assert polling.interval(60) == 60


def test_a_commit_that_nobody_told_of_brings_the_usual_polls_back() -> None:
    polling = Polling(clock=Clock())
    polling.at(AFTER)
    polling.delivered()
    polling.at("b")
    polling.at("b")
    assert polling.rare
    polling.at("c")
    assert not polling.rare
    polling.delivered()
    assert polling.rare


def test_where_several_daemons_stand_by_polls_stay_as_they_are() -> None:
    polling = Polling(alone=False)
    polling.delivered()
    assert polling.interval(60) == 60


# -- documentation ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("secrets", [f"{SECRET}\n"], indirect=True, ids=["one"])
async def test_the_example_of_the_page_is_accepted(forge: Forge, secrets: Path, tmp_path: Path) -> None:
    shell = re.search(r"```sh\n(body=.*?)```", PAGE.read_text(), re.DOTALL)
    assert shell is not None
    text = shell[1].replace("https://gitfed.example:8443", forge.stage.url).replace("hook-secret", str(secrets))
    done = await asyncio.to_thread(
        subprocess.run, ["sh", "-euc", text], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "gitfed looks at the repository\n"), done.stderr
    assert forge.engine.looks == 1
