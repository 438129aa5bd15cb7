"""Kinds with scripts in a pulled cluster: what the hub's rules say, its agent says too, with or without the hub."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from gitfed.agent import rules
from gitfed.agent_protocol import values
from gitfed.errors import LinkError
from gitfed.interpret import customized
from gitfed.interpret.native import Native
from gitfed.interpret.registry import Interpretation, Interpreter, Operation, Unknown
from gitfed.model.base import Body
from gitfed.model.fleet import Health
from gitfed.model.plan import Action
from gitfed.model.script import Script
from gitfed.reading import interpreters
from tests.agent.site import MAPS, Site, created, expected, holds, key, rendered, site
from tests.daemon.one_member import until
from tests.support import patience

RETAIN = Script("maps", """
function Retain(desired, observed)
  desired.data.theirs = observed.data.theirs
  return desired
end
""", "maps.yaml", 7)  # fmt: skip
HEALTH = Script(
    "maps",
    """
function InterpretHealth(observed)
  return observed.data.theirs ~= "sick"
end
""",
)
SCRIPTED = interpreters.of_scripts(
    {
        customized.NAME: {
            ("v1", "ConfigMap", Operation.RETAIN): (RETAIN,),
            ("v1", "ConfigMap", Operation.HEALTH): (HEALTH,),
        }
    },
    (Native(),),
)


async def rolled_out(place: Site) -> None:
    hub, manifest = place.hubs[-1], rendered("a", "1")
    await until(hub.ready.is_set)
    change = created(manifest)
    hub.follow(expected(manifest, changes=(change,), interpreter=SCRIPTED))
    assert hub.worker is not None
    hub.worker.submit([change], [])
    await until(lambda: hub.worker is not None and hub.worker.idle)
    hub.follow(expected(manifest, interpreter=SCRIPTED))
    hub.worker.submit([], [])
    await until(lambda: hub.told.settled and hub.view.has(key("a")))


async def theirs(place: Site, value: str) -> None:
    await place.ask("PATCH", f"{MAPS}/a", {"data": {"theirs": value}}, "application/merge-patch+json")


async def test_a_script_says_how_healthy_a_copy_is_before_the_hub_asks_anything() -> None:
    async with site() as place:
        hub = place.hub()
        await place.connect(hub, place.keeper())
        await rolled_out(place)

        def health(expected: Health) -> bool:
            live = hub.view.get(key("a"))
            return live is not None and live.health is expected

        await until(lambda: health(Health.CURRENT))
        await theirs(place, "sick")
        await until(lambda: health(Health.IN_PROGRESS))
        live = hub.view.get(key("a"))
        assert live is not None
        assert live.health_message == "not healthy, says the customization"
        await theirs(place, "well")
        await until(lambda: health(Health.CURRENT))


async def test_a_repair_without_the_hub_keeps_what_the_script_keeps() -> None:
    async with site() as place:
        hub, keeper = place.hub(), place.keeper()
        cut = await place.connect(hub, keeper)
        await rolled_out(place)
        await cut()
        await until(lambda: not keeper.connected)
        await theirs(place, "kept")
        await place.edit("a", "2")
        await holds(place, "a", "1")
        found = await place.ask("GET", f"{MAPS}/a")
        assert found["data"] == {"value": "1", "theirs": "kept"}
        await until(lambda: key("a") in keeper._right)  # and then there is nothing more to repair
        assert keeper.repaired == 1


async def test_what_somebody_else_made_is_adopted_with_what_the_script_keeps() -> None:
    async with site() as place:
        hub = place.hub()
        await place.connect(hub, place.keeper())
        await until(hub.ready.is_set)
        made: Body = {
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"},
            "data": {"value": "0", "theirs": "kept"},
        }  # fmt: skip
        await place.ask("POST", MAPS, made)
        manifest = rendered("a", "1")
        hub.follow(expected(manifest, interpreter=SCRIPTED))
        async with asyncio.timeout(patience.SECONDS):
            while not hub.view.has(key("a")):  # the first look may come before the agent knows what it is about
                await hub.view.look_at([key("a")])
                await asyncio.sleep(0.01)
        change = created(manifest)
        write = replace(change.write, adopt=True)
        change = replace(change, action=Action.UPDATE, live=hub.view.get(key("a")), write=write)
        hub.follow(expected(manifest, changes=(change,), interpreter=SCRIPTED))
        assert hub.worker is not None
        hub.worker.submit([change], [])
        await until(lambda: len(place.results) > 0)
        assert place.results == [("a", "configured")]
        assert (await place.ask("GET", f"{MAPS}/a"))["data"] == {"value": "1", "theirs": "kept"}


def _interpreter(*told: values.Rule, **texts: str) -> Interpreter:
    return rules.interpreter(told, {f"script/{digest}": text for digest, text in texts.items()})


MAP: Body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"theirs": "sick"}}


def test_a_rule_with_scripts_is_asked_here_under_the_name_of_its_source() -> None:
    at = values.ScriptAt.of(HEALTH)
    found = _interpreter(
        values.Rule("v1", "ConfigMap", "InterpretHealth", "customization", (at,)), **{at.digest: HEALTH.text}
    )
    assert found.health(MAP) == Interpretation(False, "customization")


def test_a_rule_without_scripts_is_asked_at_the_hub_only() -> None:
    found = _interpreter(values.Rule("v1", "ConfigMap", "InterpretHealth", "webhook"))
    assert found.health(MAP) == Unknown(
        "InterpretHealth of ConfigMap is asked at the hub only", "the hub", permanent=False
    )


def test_a_script_that_fails_here_says_where_it_stands_in_the_repository() -> None:
    broken = Script("maps", "function InterpretHealth(observed)\n  error('no')\nend\n", "maps.yaml", 3, 5, 4)
    at = values.ScriptAt.of(broken)
    found = _interpreter(
        values.Rule("v1", "ConfigMap", "InterpretHealth", "customization", (at,)), **{at.digest: broken.text}
    )
    there = interpreters.of_scripts({"customization": {("v1", "ConfigMap", Operation.HEALTH): (broken,)}}, ())
    assert found.health(MAP) == there.health(MAP)
    assert "maps.yaml:5:1" in found.health(MAP).reason  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (("Retain", "0" * 64), "the script 000000000000 is missing, or none"),
        (("Sing", "known"), "'Sing' is no operation of a rule"),
    ],
)
def test_rules_that_make_no_sense_end_the_connection(rule: tuple[str, str], message: str) -> None:
    operation, digest = rule
    with pytest.raises(LinkError) as caught:
        _interpreter(
            values.Rule("v1", "ConfigMap", operation, "customization", (values.ScriptAt(digest, "maps"),)),
            known="function Sing() end",
        )
    assert caught.value.message == message
