"""Reaching a repository elsewhere: with which credentials, and what becomes of a server that refuses or fails."""

from __future__ import annotations

import base64
import getpass
import http.server
import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from gitfed.daemon.record import Record
from gitfed.documents import bindings
from gitfed.documents.state_commits import Message
from gitfed.edges import files, git
from gitfed.edges.git import git_errors, location, program
from gitfed.edges.state.state import StateBranch
from gitfed.errors import SourceError, SourceUnreachable
from gitfed.model.base import Commit
from gitfed.reading.reader import Reader
from tests.support import needs
from tests.support.git_servers import HttpsGit, SshGit, basic, needs_git_program, serving, sshd

WHEN = datetime(2026, 1, 1, tzinfo=UTC)
MAIN = "+refs/heads/main:refs/gitfed/source"


_opened: list[git.Repository] = []


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    """Every repository has a process that reads its objects."""
    yield
    while _opened:
        _opened.pop().close()


@pytest.fixture
def served(tmp_path: Path) -> git.Repository:
    """What the servers serve: one commit on main."""
    (tmp_path / "served").mkdir()
    repository = git.Repository.create(tmp_path / "served" / "fleet.git")
    _opened.append(repository)
    push(repository, {"a.yaml": b"a: 1\n"})
    return repository


@pytest.fixture
def https(served: git.Repository, tmp_path: Path) -> Iterator[HttpsGit]:
    with serving(served.path.parent, tmp_path) as server:
        yield server


@pytest.fixture
def ssh(served: git.Repository, tmp_path: Path) -> Iterator[SshGit]:
    with sshd(served.path.parent, tmp_path / "sshd") as server:
        yield server


def push(repository: git.Repository, content: dict[str, bytes | None]) -> Commit:
    parent = repository.branch_commit("main")
    return repository.commit_files("main", content, "a change", parent=parent, when=WHEN)


def clone(tmp_path: Path, source: str, files: dict[str, str] | None = None) -> git.Repository:
    """A clone with a credential folder of these files (path → content)."""
    folder = tmp_path / "credentials"
    for name, content in (files or {}).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    path = tmp_path / "clone.git"
    repository = git.Repository.open(path) if path.exists() else git.Repository.create(path)
    _opened.append(repository)
    repository.access = git.Access(folder if files else None, source=source)
    return repository


# -- https -------------------------------------------------------------------------------------------------------


@needs_git_program("git-http-backend")
@pytest.mark.parametrize(
    ("given", "header"),
    [
        ({"password": "s3cret\n"}, basic("git:s3cret")),
        ({"username": "robot", "password": "s3cret"}, basic("robot:s3cret")),
        ({"bearerToken": "s3cret"}, "Bearer s3cret"),
    ],
)
def test_a_token_from_files_opens_the_server_that_asks_for_it(
    https: HttpsGit, served: git.Repository, tmp_path: Path, given: dict[str, str], header: str
) -> None:
    https.wanted = header
    repository = clone(tmp_path, https.url, given | {"ca.crt": https.authority.read_text()})
    repository.fetch(https.url, [MAIN])
    assert repository.branch_commit("refs/gitfed/source") == served.branch_commit("main")


@needs_git_program("git-http-backend")
def test_a_login_in_the_address_is_never_an_argument_of_a_program(
    https: HttpsGit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    https.wanted = basic("robot:s3c/ret")
    url = https.url.replace("https://", "https://robot:s3c%2Fret@")
    seen: list[list[str]] = []
    command = program._command
    monkeypatch.setattr(program, "_command", lambda args: seen.append(command(args)) or command(args))
    repository = clone(tmp_path, url, {"ca.crt": https.authority.read_text()})
    repository.fetch(url, [MAIN])
    assert seen
    assert "s3c" not in str(seen)
    assert basic("robot:s3c/ret") not in str(seen)


@needs_git_program("git-http-backend")
def test_settings_of_git_in_the_users_environment_stay_beside_the_token(
    https: HttpsGit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    https.wanted = basic("git:s3cret")
    monkeypatch.delenv("GIT_SSL_CAINFO", raising=False)  # Git would believe it before any setting
    for name, value in {"COUNT": "1", "KEY_0": "http.sslCAInfo", "VALUE_0": str(https.authority)}.items():
        monkeypatch.setenv(f"GIT_CONFIG_{name}", value)
    clone(tmp_path, https.url, {"password": "s3cret"}).fetch(https.url, [MAIN])


def test_a_login_in_the_states_address_is_not_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    url = "https://robot:hunter2hunter2@127.0.0.1:1/state.git"
    record = Record(StateBranch(clone(tmp_path, ""), bindings), url=url, push=True)
    record.load()
    record.rebuild({}, {})
    record.write(record.state.decisions, results={}, held=(), message=Message("x"), now=WHEN)
    assert not record.exchange()
    said = [str(vars(one)) for one in caplog.records]
    assert any("the state branch could not be pushed" in one for one in said)
    assert "hunter2" not in str(said)


@needs_git_program("git-http-backend")
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "asks for credentials (--git-credentials DIR gives them; docs: how-to/credentials)"),
        ({"password": "wr0ng"}, "refuses the credentials (--git-credentials DIR gives them; docs: how-to/credentials)"),
    ],
)
def test_missing_and_wrong_credentials_are_told_apart_and_not_printed(
    https: HttpsGit, tmp_path: Path, given: dict[str, str], said: str
) -> None:
    https.wanted = basic("git:s3cret")
    repository = clone(tmp_path, https.url, given | {"ca.crt": https.authority.read_text()})
    with pytest.raises(SourceError) as error:
        repository.fetch(https.url, [MAIN])
    assert str(error.value) == f"{https.url} {said}"


@needs_git_program("git-http-backend")
def test_a_credential_goes_to_its_own_scheme_host_and_port_only(
    https: HttpsGit, served: git.Repository, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    authority = https.authority.read_text()
    with serving(served.path.parent, tmp_path / "other") as other:
        given = {
            "password": "first",
            "ca.crt": authority,
            "other/url": other.url,
            "other/bearerToken": "second",
            "other/ca.crt": other.authority.read_text(),
        }
        repository = clone(tmp_path, https.url, given)
        repository.fetch(https.url, [MAIN])
        repository.fetch(other.url, [MAIN])
        assert {header for _, header in https.asked} == {basic("git:first")}
        assert {header for _, header in other.asked} == {"Bearer second"}
        (tmp_path / "credentials" / "other" / "url").write_text("https://elsewhere.example/")
        with pytest.raises(SourceUnreachable):
            repository.fetch(other.url, [MAIN])  # neither its token nor its authority
        assert len({header for _, header in other.asked}) == 1


@needs_git_program("git-http-backend")
def test_a_redirect_drops_everything_and_says_so(https: HttpsGit, served: git.Repository, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    with serving(served.path.parent, tmp_path / "other") as other:
        https.location = f"https://127.0.0.1:{other.port}"
        both = https.authority.read_text() + other.authority.read_text()
        repository = clone(tmp_path, https.url, {"password": "s3cret", "ca.crt": both})
        with pytest.raises(SourceError) as error:
            repository.fetch(https.url, [MAIN])
        assert not other.asked
    assert str(error.value) == (
        f"{https.url} answers with a redirect, which is not followed (HTTP 302) (name the address that it leads to)"
    )


@needs_git_program("git-http-backend")
def test_a_github_app_exchanges_its_key_for_a_token_once(
    https: HttpsGit, served: git.Repository, tmp_path: Path
) -> None:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    asked: list[str] = []

    def api(handler: http.server.BaseHTTPRequestHandler, body: bytes) -> bool:
        if not handler.path.startswith("/app/"):
            assert handler.headers["Authorization"] == basic("x-access-token:ghs_token")
            return False
        asked.append(handler.path)
        head, claims, signature = handler.headers["Authorization"].removeprefix("Bearer ").split(".")
        decode = lambda text: base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))  # noqa: E731
        key.public_key().verify(decode(signature), f"{head}.{claims}".encode(), padding.PKCS1v15(), hashes.SHA256())
        said = json.loads(decode(claims))
        assert said["iss"] == "4711"
        assert said["exp"] - said["iat"] <= 600
        answer = {"token": "ghs_token", "expires_at": (datetime.now(UTC) + timedelta(hours=1)).isoformat()}
        content = json.dumps(answer).encode()
        handler.send_response(201)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)
        return True

    https.other = api
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
    given = {
        "githubAppID": "4711",
        "githubAppInstallationID": "42",
        "githubAppPrivateKey": pem.decode(),
        "githubAppBaseURL": f"https://127.0.0.1:{https.port}",
        "ca.crt": https.authority.read_text(),
    }
    repository = clone(tmp_path, https.url, given)
    repository.fetch(https.url, [MAIN])
    repository.fetch(https.url, [MAIN])
    assert asked == ["/app/installations/42/access_tokens"]
    https.other = None
    https.status = 401
    (tmp_path / "credentials" / "githubAppID").write_text("4712")
    with pytest.raises(SourceError, match="gives app 4712 no token: HTTP 401") as error:
        repository.fetch(https.url, [MAIN])
    assert "PRIVATE" not in str(error.value)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"other/password": "x"}, "DIR/other does not say whom it is for (write the address into a file `url`)"),
        ({"password": "a\nHost: evil"}, "DIR/password has more than one line (docs: how-to/credentials)"),
        ({"password": "x" * 70_000}, "DIR/password has more than 65536 bytes: it is no credential"
                                     " (docs: how-to/credentials)"),
        ({"url": "nowhere", "password": "x"}, "DIR/url holds no URL (docs: how-to/credentials)"),
        ({"githubAppID": "1"}, "DIR has no githubAppPrivateKey (docs: how-to/credentials)"),
    ],
)  # fmt: skip
def test_files_that_are_no_credentials_are_named(tmp_path: Path, given: dict[str, str], said: str) -> None:
    repository = clone(tmp_path, "https://git.example/fleet.git", given)
    with pytest.raises(SourceError) as error:
        repository.fetch("https://git.example/fleet.git", [MAIN])
    assert str(error.value).replace(str(tmp_path / "credentials"), "DIR") == said


# -- a server that is overloaded or fails ------------------------------------------------------------------------


@needs_git_program("git-http-backend")
@pytest.mark.parametrize("status", [429, 503])
def test_a_server_that_says_when_to_come_back_is_left_alone_until_then(
    https: HttpsGit, served: git.Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    repository = clone(tmp_path, https.url, {"ca.crt": https.authority.read_text()})
    reader = Reader(https.url, repository, files.DiskCache(tmp_path / "cache"))
    first = reader.newest()
    https.status, https.retry_after = status, "120"
    second = push(served, {"a.yaml": b"a: 2\n"})
    with pytest.raises(SourceUnreachable) as error:
        reader.newest()
    assert error.value.message == f"{https.url} asks to be left alone, for 120 seconds: HTTP {status}"
    asked = len(https.asked)
    with pytest.raises(SourceUnreachable, match="asks to be left alone"):
        reader.newest()
    assert len(https.asked) == asked, "it was asked although it had said when"
    https.status = 0
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + 121)
    assert reader.newest() == second != first


@needs_git_program("git-http-backend")
def test_a_push_too_leaves_a_server_alone_that_asked_for_it_and_comes_back_by_itself(
    https: HttpsGit, served: git.Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served.run("config", "http.receivepack", "true")
    repository = clone(tmp_path, https.url, {"ca.crt": https.authority.read_text()})
    record = Record(StateBranch(repository, bindings), url=https.url, push=True)
    record.load()
    record.rebuild({}, {})
    record.write(record.state.decisions, results={}, held=(), message=Message("first"), now=WHEN)
    assert not record.exchange()
    assert served.branch_commit("gitfed/state") == record.state.commit
    https.status, https.retry_after = 429, "120"
    for number in range(2):
        decisions = replace(record.state.decisions, applied_commit=Commit(f"{number}" * 40))
        record.write(decisions, results={}, held=(), message=Message("later"), now=WHEN)
        assert not record.exchange()
        if number == 0:
            asked = len(https.asked)
    with pytest.raises(SourceUnreachable, match="asks to be left alone"):
        repository.fetch(https.url, [MAIN])
    assert not record.exchange()
    assert len(https.asked) == asked, "it was asked although it had said when"
    https.status = 0
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + 121)
    assert not record.exchange()
    assert served.branch_commit("gitfed/state") == record.state.commit, "what was decided meanwhile is there too"


@pytest.mark.parametrize(
    ("value", "seconds"), [("5", 5.0), ("999999", 3600.0), ("", None), ("soon", None), ("-3", None)]
)
def test_retry_after_is_a_number_of_seconds_at_most_an_hour(value: str, seconds: float | None) -> None:
    assert git_errors.retry_after(value) == seconds


def test_retry_after_may_be_a_date() -> None:
    later = git_errors.retry_after(format_datetime(datetime.now(UTC) + timedelta(minutes=30), usegmt=True))
    assert later is not None
    assert 1700 < later <= 1800
    assert git_errors.retry_after(format_datetime(WHEN - timedelta(days=9999), usegmt=True)) == 0.0


@needs_git_program("git-http-backend")
def test_an_unchanged_branch_costs_one_question_and_no_pack(
    https: HttpsGit, served: git.Repository, tmp_path: Path
) -> None:
    repository = clone(tmp_path, https.url, {"ca.crt": https.authority.read_text()})
    reader = Reader(https.url, repository, files.DiskCache(tmp_path / "cache"))
    first = reader.newest()
    https.asked.clear()
    assert reader.newest() == first
    assert len(https.asked) == 2, "protocol version 2: capabilities, refs"
    push(served, {"b.yaml": b"b: 1\n"})
    assert reader.newest() != first


@needs_git_program("git-http-backend")
@pytest.mark.parametrize("cut_after", [1, 700, 3000, 40_000])
def test_a_connection_reset_inside_a_pack_leaves_the_clone_as_it_was(
    https: HttpsGit, served: git.Repository, tmp_path: Path, cut_after: int
) -> None:
    repository = clone(tmp_path, https.url, {"ca.crt": https.authority.read_text()})
    reader = Reader(https.url, repository, files.DiskCache(tmp_path / "cache"))
    first = reader.newest()
    second = push(served, {"big.yaml": os.urandom(50_000).hex().encode()})
    https.cut_after = cut_after
    with pytest.raises(SourceUnreachable):
        reader.newest()
    assert repository.branch_commit("refs/gitfed/source") == first
    https.cut_after = 0
    assert reader.newest() == second


def test_half_received_packs_of_another_day_are_swept_away(served: git.Repository, tmp_path: Path) -> None:
    repository = clone(tmp_path, "")
    packs = repository.path / "objects" / "pack"
    packs.mkdir(exist_ok=True)
    old, young = packs / "tmp_pack_old", packs / "tmp_pack_young"
    for path in (old, young):
        path.write_bytes(b"PACK")
    os.utime(old, (0, 0))
    with pytest.raises(SourceError):
        repository.fetch(str(tmp_path / "nowhere"), [MAIN])
    assert not old.exists()
    assert young.exists()


# -- ssh ---------------------------------------------------------------------------------------------------------


def test_a_key_and_a_known_host_open_an_ssh_server_also_with_readable_files(
    ssh: SshGit, served: git.Repository, tmp_path: Path
) -> None:
    given = {"identity": ssh.key.read_text(), "known_hosts": ssh.known_hosts}
    repository = clone(tmp_path, ssh.url, given)
    (tmp_path / "credentials" / "identity").chmod(0o644)
    repository.fetch(ssh.url, [MAIN])
    assert repository.branch_commit("refs/gitfed/source") == served.branch_commit("main")
    push(repository, {"state.yaml": b"x: 1\n"})
    repository.update_ref("refs/heads/gitfed/state", repository.branch_commit("main"))
    repository.push(ssh.url, "refs/heads/gitfed/state", expected=None)
    assert served.branch_commit("gitfed/state") == repository.branch_commit("main")


def test_another_host_key_than_the_known_one_is_said_and_the_last_good_commit_stays(
    ssh: SshGit, served: git.Repository, tmp_path: Path
) -> None:
    given = {"identity": ssh.key.read_text(), "known_hosts": ssh.known_hosts}
    repository = clone(tmp_path, ssh.url, given)
    repository.fetch(ssh.url, [MAIN])
    first = repository.branch_commit("refs/gitfed/source")
    push(served, {"a.yaml": b"a: 2\n"})
    other = ssh.key.with_suffix(".pub").read_text().split()
    (tmp_path / "credentials" / "known_hosts").write_text(f"[127.0.0.1]:{ssh.port} {other[0]} {other[1]}\n")
    with pytest.raises(SourceError) as error:
        repository.fetch(ssh.url, [MAIN])
    assert str(error.value) == (
        f"{git.shown(ssh.url)} shows another host key than known_hosts has"
        " (the connection may be intercepted; if the server's owner changed the key, put the new one there)"
    )
    assert repository.branch_commit("refs/gitfed/source") == first


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"known_hosts": ""}, "DIR has no known_hosts (ssh-keyscan HOST prints it; compare the key with its owner's)"),
        ({"known_hosts": "elsewhere ssh-ed25519 AAAA"}, "URL is not in known_hosts"
         " (ssh-keyscan HOST prints its key; compare it with its owner's)"),
        ({"identity": "no key"}, "URL refuses our key (--git-credentials DIR gives them; docs: how-to/credentials)"),
    ],
)  # fmt: skip
def test_without_a_known_host_or_a_key_nothing_is_sent(
    ssh: SshGit, tmp_path: Path, change: dict[str, str], said: str
) -> None:
    given = {"identity": ssh.key.read_text(), "known_hosts": ssh.known_hosts} | change
    repository = clone(tmp_path, ssh.url, given)
    with pytest.raises(SourceError) as error:
        repository.fetch(ssh.url, [MAIN])
    told = str(error.value).replace(str(tmp_path / "credentials"), "DIR").replace(git.shown(ssh.url), "URL")
    assert told == said


def test_the_users_own_ssh_does_not_trust_an_unknown_host_either(
    ssh: SshGit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = tmp_path / "known_hosts"
    known.write_text("")
    monkeypatch.setenv("GIT_SSH_COMMAND", f"""ssh -F none -i '{ssh.key}' -o 'UserKnownHostsFile="{known}"'""")
    repository = clone(tmp_path, ssh.url)
    with pytest.raises(SourceError, match="is not in known_hosts"):
        repository.fetch(ssh.url, [MAIN])
    known.write_text(ssh.known_hosts + "\n")
    repository.fetch(ssh.url, [MAIN])


def test_a_scp_like_address_is_an_ssh_address(ssh: SshGit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert location.origin("git@Git.Example:fleet.git") == ("ssh", "git.example", 22)
    given = {"identity": ssh.key.read_text(), "known_hosts": "x"}
    access = clone(tmp_path, "git@127.0.0.1:fleet.git", given).access
    with access.to("git@127.0.0.1:fleet.git") as way:
        assert "IdentityFile=" in way.environment["GIT_SSH_COMMAND"]
        private = Path(way.environment["GIT_SSH_COMMAND"].partition('IdentityFile="')[2].partition('"')[0])
        assert private.stat().st_mode & 0o777 == 0o600
    assert not private.exists()
    with access.to(f"{getpass.getuser()}@elsewhere:fleet.git") as way:
        assert "IdentityFile=" not in way.environment["GIT_SSH_COMMAND"]


# -- addresses ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://Git.Example/fleet.git", "https://git.example:443"),
        ("https://robot:x@git.example:8443/a@b", "https://git.example:8443"),
        ("HTTP://git.example.", "http://git.example:80"),
        ("ssh://git@[::1]:2222/x", "ssh://[::1]:2222"),
        ("ssh://git@[::1]/x", "ssh://[::1]:22"),
    ],
)
def test_what_a_credential_is_bound_to(url: str, origin: str) -> None:
    assert str(location.origin(url)) == origin


@pytest.mark.parametrize(
    "host",
    ["169.254.169.254", "[::ffff:169.254.169.254]", "[::ffff:a9fe:a9fe]", "2852039166", "0xa9fea9fe", "[fe80::1]"],
)
@pytest.mark.parametrize("scheme", ["http", "https", "ssh", "git"])
def test_addresses_of_metadata_are_no_repositories_however_they_are_written(scheme: str, host: str) -> None:
    with pytest.raises(SourceError) as error:
        location.check_url(f"{scheme}://{host}/latest/meta-data")
    assert error.value.hint == "its address is a link-local or metadata address, which is not contacted"


def stands_for(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    """Every name is looked up as these."""

    def found(host: str, port: int | None, **_: object) -> list[tuple[int, int, int, str, tuple[str, int]]]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, port or 0)) for one in addresses]

    monkeypatch.setattr(socket, "getaddrinfo", found)


@pytest.mark.parametrize(
    "url", ["https://git.example/fleet.git", "ssh://git@git.example/fleet.git", "git@git.example:x"]
)
def test_a_name_that_stands_for_a_metadata_address_is_not_contacted(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stands_for(monkeypatch, "169.254.169.254")
    with pytest.raises(SourceError) as error:
        clone(tmp_path, url).fetch(url, [MAIN])
    where = location.origin(url)
    assert str(error.value) == f"{where} is 169.254.169.254, a link-local or metadata address, which is not contacted"


@needs_git_program("git-http-backend")
def test_git_goes_to_the_address_that_was_looked_at(
    https: HttpsGit, served: git.Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """git.example is nowhere, and nobody but us says that it is here: so nothing else is looked up."""
    url = https.url.replace("127.0.0.1", "git.example")
    stands_for(monkeypatch, "169.254.0.1", "127.0.0.1")
    repository = clone(tmp_path, url, {"ca.crt": https.authority.read_text()})
    repository.fetch(url, [MAIN])
    assert repository.branch_commit("refs/gitfed/source") == served.branch_commit("main")


# -- shallow sources ---------------------------------------------------------------------------------------------


@needs.program("git")
def test_a_source_that_is_shallow_is_followed_and_its_unknown_past_is_no_descent(
    served: git.Repository, tmp_path: Path
) -> None:
    first = served.branch_commit("main")
    assert first is not None
    push(served, {"a.yaml": b"a: 2\n"})
    shallow = tmp_path / "shallow.git"
    subprocess.run(["git", "clone", "-q", "--bare", "--depth", "1", f"file://{served.path}", str(shallow)], check=True)
    repository = clone(tmp_path, f"file://{shallow}")
    repository.fetch(f"file://{shallow}", [MAIN])
    second = repository.branch_commit("refs/gitfed/source")
    assert second == served.branch_commit("main")
    assert not repository.is_ancestor(first, Commit(str(second)))
