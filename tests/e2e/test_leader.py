"""Several daemons of one repository: one leads, another takes over, and nothing is applied twice."""

from __future__ import annotations

import signal
import urllib.error
import urllib.request

import pytest

from tests.e2e.candidates import BASE, applied_everywhere, candidate, image
from tests.e2e.candidates import lock as lock
from tests.e2e.world import Daemon, World, deployment
from tests.support import needs, patience

pytestmark = pytest.mark.e2e


def test_one_leads_and_when_it_dies_the_other_goes_on_without_writing_anything_again(world: World, lock: str) -> None:
    world.push(BASE)
    first = candidate(world, lock, 1)
    world.until(lambda: first.said("leading"), "the first leads")
    second = candidate(world, lock, 2)
    applied_everywhere(world, "nginx:1.27")
    world.until(lambda: second.said("standing by while another daemon leads"), "the second stands by")
    world.until(lambda: world.state().get("state.yaml", "").count("outcome: applied") == 2, "the roll-out recorded")
    before = world.versions("Deployment", "shop", "web")
    assert not second.said("leading")
    first.kill()
    world.until(lambda: second.said("cycle finished"), "the second goes on")
    world.push({"apps/web.json": deployment("web"), "apps/more.json": deployment("more")})
    world.until(lambda: image(world, "m2", "more"), "a push is applied by the second")
    assert world.versions("Deployment", "shop", "web") == before
    assert second.stop() == 0


def test_a_leader_that_stops_in_good_order_gives_the_lead_back(world: World, lock: str) -> None:
    world.push(BASE)
    first = candidate(world, lock, 1)
    applied_everywhere(world, "nginx:1.27")
    second = candidate(world, lock, 2)
    world.until(lambda: second.said("standing by while another daemon leads"), "the second stands by")
    assert first.stop() == 0
    world.until(lambda: second.said("leading"), "the second leads")
    world.push({"apps/web.json": deployment("web", image="nginx:1.28")})
    applied_everywhere(world, "nginx:1.28")


def test_a_leader_that_was_asleep_finds_another_and_writes_nothing_more(world: World, lock: str) -> None:
    world.push(BASE)
    first = candidate(world, lock, 1)
    applied_everywhere(world, "nginx:1.27")
    second = candidate(world, lock, 2)
    world.until(lambda: second.said("standing by while another daemon leads"), "the second stands by")
    first.process.send_signal(signal.SIGSTOP)
    world.until(lambda: second.said("leading"), "the second leads")
    world.push({"apps/web.json": deployment("web", image="nginx:1.28")})
    applied_everywhere(world, "nginx:1.28")
    first.process.send_signal(signal.SIGCONT)
    world.until(
        lambda: first.said("no longer leading: another daemon leads, or the lock could not be renewed"),
        "the first notices",
    )
    world.push({"apps/web.json": deployment("web", image="nginx:1.29")})
    applied_everywhere(world, "nginx:1.29")
    changed = [line for line in first.said("object configured") if line.get("object", "").endswith("/web")]
    assert changed == []
    assert first.stop() == 0


def test_a_standby_is_ready_and_stops_at_once(world: World) -> None:
    world.push(BASE)
    first = candidate(world, "git", 1)
    world.until(lambda: first.said("leading"), "the first leads")
    second = candidate(world, "git", 2)
    world.until(lambda: second.said("standing by while another daemon leads"), "the second stands by")
    assert second.stop() == 0
    assert not second.said("leading")


def ready(daemon: Daemon) -> str:
    """What /readyz answers, "" for ok."""
    (line,) = daemon.said("gitfed runs")[:1]
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{line['health']}/readyz", timeout=patience.SECONDS):
            return ""
    except urllib.error.HTTPError as error:
        return error.read().decode()


def test_apply_leaves_a_running_daemon_its_lead_or_gives_it_back(world: World) -> None:
    world.push(BASE)
    daemon = world.daemon()
    applied_everywhere(world, "nginx:1.27")
    data = ("--data-dir", str(world.directory / "other"))
    done = world.apply(*data, check=False)
    assert done.returncode == 4
    assert "a daemon leads in m1, m2: it would write nothing more until this is over" in done.stderr
    assert not daemon.said("cluster gets no write")
    world.apply(*data, "--take-over")
    world.until(lambda: len(daemon.said("the lead is free again: taking it")) == 2, "it leads again")
    world.push({"apps/web.json": deployment("web", image="nginx:1.28")})
    applied_everywhere(world, "nginx:1.28")
    world.until(lambda: not ready(daemon), "ready")
    assert daemon.stop() == 0
    world.apply(*data)


@needs.pushed("an agent listens to the one hub that it dialled: no other daemon takes the lead in its cluster")
def test_a_daemon_in_whose_place_another_leads_is_not_ready(world: World) -> None:
    world.push(BASE)
    old = world.daemon()
    applied_everywhere(world, "nginx:1.27")
    new = world.daemon("--data-dir", str(world.directory / "other"))
    world.until(lambda: ready(old) == "another gitfed leads, nothing is written: m1, m2\n", "said by the old one")
    world.until(lambda: not ready(new), "the new one leads")
    assert new.stop() == 0
    world.until(lambda: not ready(old), "and then the old one again")
