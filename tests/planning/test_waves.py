"""Waves and named dependencies: what begins, what waits, and for what."""

from __future__ import annotations

from collections.abc import Mapping

from gitfed.model.fleet import Health, LiveState
from gitfed.model.plan import Plan
from tests.e2e.world import config_map, deployment, policy
from tests.planning.tree import carried_out, decided, empty, plan_of, read

ALL = policy("p", ["a", "b"], (("apps/v1", "Deployment"), ("v1", "ConfigMap")))


def files(**apps: str) -> dict[str, str]:
    return {"p.json": ALL} | {f"{name}.json": text for name, text in apps.items()}


def app(name: str, **annotations: str) -> str:
    return deployment(
        name, annotations={f"gitfed.io/{key.replace('_', '-')}": value for key, value in annotations.items()}
    )


def waits(plan: Plan, cluster: str = "a") -> Mapping[str, str]:
    return {change.key.name: change.turn.waits for change in plan.changes or () if change.cluster == cluster}


def begun(plan: Plan, live: LiveState, health: Health = Health.CURRENT) -> LiveState:
    """The clusters after all that may be carried out was, with that health."""
    from dataclasses import replace

    now = tuple(change for change in plan.changes or () if not change.turn.waits)
    return carried_out(replace(plan, changes=now), live, health=health)


def test_a_wave_begins_when_the_one_before_is_written_and_healthy() -> None:
    repo = read(files(db=app("db"), web=app("web", wave="1"), smoke=app("smoke", wave="2")))
    first = plan_of(repo, empty())
    assert waits(first) == {
        "shop": "", "db": "",
        "web": "wave 1 waits for wave 0: Deployment.apps/shop/db (to be created)",
        "smoke": "wave 2 waits for wave 0: Deployment.apps/shop/db (to be created)",
    }  # fmt: skip
    written = begun(first, empty(), Health.IN_PROGRESS)
    assert waits(plan_of(repo, written)) == {
        "web": "wave 1 waits for wave 0: Deployment.apps/shop/db (InProgress)",
        "smoke": "wave 2 waits for wave 0: Deployment.apps/shop/db (InProgress)",
    }
    healthy = begun(first, empty())
    second = plan_of(repo, healthy)
    assert waits(second) == {
        "web": "",
        "smoke": "wave 2 waits for wave 1: Deployment.apps/shop/web (to be created)",
    }
    assert waits(plan_of(repo, begun(second, healthy))) == {"smoke": ""}


def test_a_failed_wave_stops_later_ones_in_that_cluster_only() -> None:
    repo = read(files(db=app("db"), web=app("web", wave="1")))
    first = plan_of(repo, empty())
    live = begun(first, empty())
    key = next(key for key in live.objects if key.name == "db")
    from dataclasses import replace

    sick = replace(live.objects[key]["a"], health=Health.FAILED, health_message="crash loop")
    plan = plan_of(repo, LiveState(live.clusters, {**live.objects, key: {**live.objects[key], "a": sick}}))
    assert waits(plan, "a") == {"web": "wave 1 waits for wave 0: Deployment.apps/shop/db (Failed: crash loop)"}
    assert waits(plan, "b") == {"web": ""}


def test_nobody_waits_for_what_is_annotated_wait_false_or_suspended() -> None:
    suspended = policy("s", ["a", "b"], (("v1", "ConfigMap"),), suspension={"dispatching": True})
    repo = read({**files(db=app("db", wait="false"), web=app("web", wave="1")), "s.json": suspended,
                 "p.json": policy("p", ["a", "b"]), "c.json": config_map("c", {})})  # fmt: skip
    assert waits(plan_of(repo, empty()))["web"] == ""


def test_namespaces_and_definitions_belong_to_no_wave() -> None:
    repo = read(files(early=app("early", wave="-1"), web=app("web")))
    assert waits(plan_of(repo, empty())) == {
        "shop": "", "early": "", "web": "wave 0 waits for wave -1: Deployment.apps/shop/early (to be created)",
    }  # fmt: skip


def test_drift_is_repaired_whatever_waits() -> None:
    repo = read(files(db=app("db"), web=app("web", wave="1")))
    from gitfed.model.decisions import Decisions

    before = Decisions(repository_id="r")
    first = plan_of(repo, empty())
    live = begun(first, empty())
    live = begun(plan_of(repo, live), live)
    from dataclasses import replace

    objects = {}
    for key, copies in live.objects.items():
        if key.name == "web":
            copies = {
                name: replace(one, body={**(one.body or {}), "spec": {"replicas": 9}}) for name, one in copies.items()
            }
        if key.name == "db":
            copies = {name: replace(one, health=Health.FAILED) for name, one in copies.items()}
        objects[key] = copies
    plan = plan_of(repo, LiveState(live.clusters, objects), decided(first, before))
    assert [
        (change.key.name, change.drift, change.turn.waits) for change in plan.changes or () if change.cluster == "a"
    ] == [("web", True, "")]


def test_what_was_left_when_the_roll_out_was_over_is_no_drift() -> None:
    from dataclasses import replace

    from gitfed.model.decisions import Decisions

    repo = read(files(db=app("db"), web=app("web", wave="1")))
    first = plan_of(repo, empty())
    live = begun(first, empty(), Health.FAILED)
    after = replace(
        decided(first, Decisions(repository_id="r")), unfinished={"a": frozenset({"Deployment.apps/shop/web"})}
    )
    assert waits(plan_of(repo, live, after))["web"].startswith("wave 1 waits for wave 0")


def test_a_named_dependency_is_waited_for_until_it_is_written_and_healthy() -> None:
    repo = read(files(db=app("db"), web=app("web", depends_on="apps/Deployment/shop/db")))
    first = plan_of(repo, empty())
    assert waits(first)["web"] == "waits for Deployment.apps/shop/db: to be created"
    assert waits(plan_of(repo, begun(first, empty(), Health.IN_PROGRESS))) == {
        "web": "waits for Deployment.apps/shop/db: InProgress"
    }
    assert waits(plan_of(repo, begun(first, empty()))) == {"web": ""}


def test_a_dependency_that_cannot_come_says_why() -> None:
    only_web = policy("p", ["a"]).replace('"kind": "Deployment"}', '"kind": "Deployment", "name": "web"}')
    named = app("web", depends_on="apps/Deployment/shop/db,/ConfigMap/other/x")
    repo = read({**files(web=named, db=app("db")), "p.json": only_web})
    assert waits(plan_of(repo, empty()))["web"] == "waits for ConfigMap/other/x: no file declares it"


def test_the_plan_prints_the_steps() -> None:
    from gitfed.cli.output import plain, plan_text

    repo = read(files(db=app("db"), web=app("web", wave="1")))
    lines = plan_text.steps(plan_of(repo, empty()).changes or (), plain.paint("never"))
    assert lines == [
        "Steps",
        "  first    2 changes   a b   now",
        "  wave 0   2 changes   a b   now",
        "  wave 1   2 changes   a b   wave 1 waits for wave 0: Deployment.apps/shop/db (to be created)",
    ]
