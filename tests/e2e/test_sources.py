"""Where a repository may be: behind file, git and https addresses, away for a while, or moved by somebody else."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e import worlds
from tests.e2e.shop import BASE, image
from tests.e2e.world import World, deployment
from tests.support.git_servers import HttpsGit, basic, git_daemon, needs_git_program, serving, sshd
from tests.support.ports import free_port

pytestmark = pytest.mark.e2e


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """One cluster m1; a source is what differs here, clusters are not."""
    with worlds.embedded(["m1", "m2"], tmp_path) as made:
        made.push(BASE)
        yield made


def follow(world: World, url: str) -> Any:
    return world.daemon("--repo", url, "--no-push-state")


@pytest.fixture
def https(world: World, tmp_path: Path) -> Iterator[HttpsGit]:
    with serving(world.directory, tmp_path) as git:
        world.environment["GIT_SSL_CAINFO"] = str(git.authority)
        yield git


def changes_arrive(world: World, url: str) -> Any:
    daemon = follow(world, url)
    world.until(lambda: image(world, "web", "m1"), f"web from {url}")
    world.push({"apps/web.json": deployment("web", image="nginx:1.28")})
    world.until(lambda: image(world, "web", "m1") == "nginx:1.28", f"the push through {url}")
    return daemon


def test_a_repository_behind_a_file_address_is_followed(world: World) -> None:
    changes_arrive(world, f"file://{world.bare}")


@needs_git_program("git-daemon")
def test_a_repository_behind_a_git_address_is_followed_and_its_absence_survived(world: World) -> None:
    port = free_port()
    with git_daemon(world.directory, port) as url:
        daemon = changes_arrive(world, url)
    world.until(lambda: daemon.said("the repository cannot be read"), "its absence is said")
    world.ask("m1", "DELETE", world.path("Deployment", "shop", "web"))
    world.until(lambda: image(world, "web", "m1"), "drift is repaired meanwhile")
    world.push({"apps/web.json": deployment("web", image="nginx:1.29")})
    with git_daemon(world.directory, port):
        world.until(lambda: image(world, "web", "m1") == "nginx:1.29", "what was pushed meanwhile")
    assert daemon.said("the repository can be read again")


@needs_git_program("git-http-backend")
def test_a_repository_behind_https_with_a_private_authority_is_followed(world: World, https: HttpsGit) -> None:
    changes_arrive(world, https.url)


@needs_git_program("git-http-backend")
def test_without_its_authority_a_server_is_not_believed(world: World, https: HttpsGit) -> None:
    del world.environment["GIT_SSL_CAINFO"]
    done = world.gitfed("plan", "--repo", https.url, check=False)
    assert done.returncode == 4
    assert "certificate" in done.stderr
    assert not https.asked


@needs_git_program("git-http-backend")
@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_server_that_is_overloaded_is_waited_for(world: World, https: HttpsGit, status: int) -> None:
    https.status = status
    done = world.gitfed("plan", "--repo", https.url, check=False)
    assert done.returncode == 4
    assert str(status) in done.stderr
    if status != 429:
        return
    https.status = 0
    daemon = follow(world, https.url)
    world.until(lambda: image(world, "web", "m1"), "web")
    https.status = status
    world.push({"apps/web.json": deployment("web", image="nginx:1.28")})
    said = world.until(lambda: daemon.said("the repository cannot be read"), "said so")
    assert str(status) in said[0]["error"]
    asked = len(https.asked)
    world.until(lambda: len(https.asked) > asked, "it is asked again")
    https.status = 0
    world.until(lambda: image(world, "web", "m1") == "nginx:1.28", "the push when the server recovered")


@needs_git_program("git-http-backend")
def test_a_connection_cut_in_the_middle_of_a_pack_leaves_the_last_good_commit(world: World, https: HttpsGit) -> None:
    daemon = follow(world, https.url)
    world.until(lambda: image(world, "web", "m1"), "web")
    https.cut_after = 100
    world.push({"apps/web.json": deployment("web", image="nginx:1.28"), "big.txt": os.urandom(50_000).hex()})
    world.until(lambda: daemon.said("the repository cannot be read"), "said so")
    assert image(world, "web", "m1") == "nginx:1.27"
    https.cut_after = 0
    world.until(lambda: image(world, "web", "m1") == "nginx:1.28", "the rest when connections hold")


@needs_git_program("git-http-backend")
def test_a_redirect_to_another_host_is_not_followed(world: World, https: HttpsGit, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    with serving(world.directory, tmp_path / "other") as other:
        https.location = f"https://localhost:{other.port}"
        url = https.url.replace("https://", "https://robot:hunter2hunter2@")
        done = world.gitfed("plan", "--repo", url, check=False)
        assert not other.asked
    assert done.returncode == 4
    assert "redirect" in done.stderr or "302" in done.stderr
    assert "hunter2" not in done.stdout + done.stderr


def test_a_repository_that_is_away_at_start_is_waited_for_or_refused_in_one_line(world: World) -> None:
    away = world.directory / "away.git"
    world.bare.rename(away)
    done = world.gitfed("plan", "--repo", f"file://{world.bare}", check=False)
    assert done.returncode == 4
    assert len(done.stderr.strip().splitlines()) <= 2
    daemon = follow(world, f"file://{world.bare}")
    world.until(lambda: daemon.process.poll() is not None or daemon.said("the repository cannot be read"), "said so")
    away.rename(world.bare)
    if daemon.process.poll() is not None:
        assert daemon.process.returncode == 4
        follow(world, f"file://{world.bare}")
    world.until(lambda: image(world, "web", "m1"), "web when it is back")


def test_a_server_that_never_answers_does_not_keep_the_daemon_from_stopping(world: World) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        daemon = follow(world, f"git://127.0.0.1:{silent.getsockname()[1]}/fleet.git")
        silent.settimeout(30)
        connection, _ = silent.accept()
        with connection:
            assert daemon.stop() == 0


@needs_git_program("git-daemon")
def test_a_server_that_falls_silent_does_not_keep_the_daemon_from_stopping(world: World) -> None:
    port = free_port()
    with git_daemon(world.directory, port) as url:
        daemon = follow(world, url)
        world.until(lambda: image(world, "web", "m1"), "web")
    with socket.create_server(("127.0.0.1", port)) as silent:
        silent.settimeout(30)
        connection, _ = silent.accept()
        with connection:
            assert daemon.stop() == 0


def recorded(world: World) -> bool:
    return "appliedCommit" in world.state().get("state.yaml", "")


@needs_git_program("git-http-backend")
def test_a_token_from_a_folder_reads_and_pushes_and_may_be_rotated(
    world: World, https: HttpsGit, tmp_path: Path
) -> None:
    world.git("-C", str(world.bare), "config", "http.receivepack", "true")
    folder = tmp_path / "git-credentials"
    folder.mkdir()
    (folder / "password").write_text("hunter2hunter2\n")
    (folder / "ca.crt").write_text(https.authority.read_text())
    del world.environment["GIT_SSL_CAINFO"]
    https.wanted = basic("git:hunter2hunter2")
    daemon = world.daemon("--repo", https.url, "--git-credentials", str(folder))
    world.until(lambda: image(world, "web", "m1"), "web")
    world.until(lambda: recorded(world), "the state is pushed")
    https.wanted = basic("git:0ther0ther")
    world.push({"apps/web.json": deployment("web", image="nginx:1.28")})
    said = world.until(lambda: daemon.said("the repository cannot be read"), "the old token is refused")
    assert said[0]["error"].startswith(f"{https.url} refuses the credentials")
    (folder / "password").write_text("0ther0ther\n")
    world.until(lambda: image(world, "web", "m1") == "nginx:1.28", "with the new token")
    everything = daemon.log_path.read_text()
    assert "hunter2" not in everything
    assert "0ther" not in everything


def test_a_repository_behind_ssh_is_followed_and_its_state_pushed(world: World, tmp_path: Path) -> None:
    with sshd(world.directory, tmp_path / "sshd") as ssh:
        folder = tmp_path / "git-credentials"
        folder.mkdir()
        (folder / "identity").write_text(ssh.key.read_text())
        (folder / "known_hosts").write_text(ssh.known_hosts)
        daemon = world.daemon("--repo", ssh.url, "--git-credentials", str(folder))
        world.until(lambda: image(world, "web", "m1"), "web")
        world.until(lambda: recorded(world), "the state is pushed")
        (folder / "known_hosts").write_text(ssh.known_hosts.replace("127.0.0.1", "127.0.0.9"))
        world.push({"apps/web.json": deployment("web", image="nginx:1.28")})
        said = world.until(lambda: daemon.said("the repository cannot be read"), "a host that is not known any more")
        assert "is not in known_hosts" in said[0]["error"]
        assert image(world, "web", "m1") == "nginx:1.27"
        (folder / "known_hosts").write_text(ssh.known_hosts)
        world.until(lambda: image(world, "web", "m1") == "nginx:1.28", "known again")
