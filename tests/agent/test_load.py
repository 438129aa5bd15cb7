"""What workloads of a pulled cluster use is asked of its agent, and arrives as it was read."""

from __future__ import annotations

import asyncio

from gitfed.daemon.fleet.pulled.member import PulledMember
from gitfed.model.base import Body, ObjectKey
from gitfed.model.load import ClusterLoad, LoadQuestion
from tests.agent.site import site
from tests.autoscaling.metrics import CPU, QUEUE, declared
from tests.daemon.one_member import until
from tests.support import patience

WEB = ObjectKey("apps", "Deployment", "default", "web")
LABELS = {"app": "web"}
CONTAINER: Body = {"name": "a", "image": "a", "resources": {"requests": {"cpu": "100m"}}}
DEPLOYMENT: Body = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web"},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": LABELS},
        "template": {"metadata": {"labels": LABELS}, "spec": {"containers": [CONTAINER]}},
    },
}


def question(target: ObjectKey) -> LoadQuestion:
    return LoadQuestion(target, tuple(one.as_json() for one in declared(CPU, QUEUE).metrics))


async def used(hub: PulledMember) -> ClusterLoad:
    """As soon as both pods run."""
    async with asyncio.timeout(patience.SECONDS):
        while True:
            found = (await hub.workloads.load([question(WEB)]))[WEB]
            running = [one.phase for one in found.pods] == ["Running"] * 2  # they were asked for before the samples
            if running and len(found.readings[0].samples) == 2 and found.observed == 2:
                return found
            await asyncio.sleep(0.02)


async def test_an_agent_tells_what_workloads_use() -> None:
    elsewhere = WEB._replace(name="other")
    async with site(controllers=True) as place:
        hub = place.hub()
        assert await hub.workloads.load([question(WEB)]) == {}, "no agent was there yet"
        await place.connect(hub, place.keeper())
        await until(hub.ready.is_set)
        await place.ask("POST", "/apis/apps/v1/namespaces/default/deployments", DEPLOYMENT, "application/json")
        web = await used(hub)
        assert await hub.workloads.load([question(elsewhere)]) == {elsewhere: ClusterLoad(unread="it is not there yet")}
    assert (web.replicas, web.unread, web.scaled_by) == (2, "", "")
    assert [(one.phase, one.leaving, one.started is None) for one in web.pods] == [("Running", False, False)] * 2
    cpu, queue = web.readings
    assert sorted(cpu.samples) == sorted(cpu.requests) == sorted(one.name for one in web.pods)
    assert {one.value for one in cpu.samples.values()} == {60}
    assert set(cpu.requests.values()) == {100}
    assert (queue.value, queue.unread) == (None, "it has no such metric: 404 page not found")
