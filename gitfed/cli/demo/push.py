"""gitfed demo: a developer pushes, an operator scales by hand, a cluster fails, a file is wrong, capacity is short."""

from __future__ import annotations

import re
from typing import Any

from gitfed.cli import exits
from gitfed.cli.demo.stage import Stage, example
from gitfed.cli.output import formatting

_WEB = "apps/shop/web.yaml"
_REPORTS = "apps/research/reports.yaml"
_LAB = "apps/lab/lab.yaml"
_WORKLOADS = "workload.example.io"


class Push(Stage):
    """The first act."""

    async def guided(self) -> None:
        await self.first_rollout()
        await self.a_push()
        await self.a_hand()
        await self.an_absence()
        await self.a_slip()
        await self.some_room()
        await self.a_limit()
        await self.a_kind()
        await self.a_question()

    async def a_push(self) -> None:
        self.say("A developer pushes: web gets twelve replicas and a new image", head=True)
        text = self.files[_WEB].decode()
        changed = re.sub(r"(?m)^(  replicas:) \d+$", r"\1 12", text, count=1)
        changed = re.sub(r"(?m)^( *image: \S+:)\S+$", r"\g<1>2.0.0", changed, count=1)
        self.propose({_WEB: changed.encode()}, "Twelve of web, and 2.0.0")
        code, _ = await self.gitfed("diff", "main..proposal")
        self.check("the difference is seen before anything is pushed", code == exits.DIFFERENT)
        self.accept()
        plan = await self.settled("the push")
        if plan is None:
            return
        replicas = self.replicas("web")
        self.say(f"web: {' '.join(f'{name}={count}' for name, count in replicas.items())}")
        self.check("the clusters run twelve replicas of web together", sum(replicas.values()) == 12, str(replicas))

    async def a_hand(self) -> None:
        self.say("An operator scales web by hand, in one cluster", head=True)
        name, wanted = max(self.replicas("web").items(), key=lambda item: item[1])
        self.fleet[name].cluster.client("operator").patch("deployments.apps", "shop", "web", {"spec": {"replicas": 1}})
        self.say(f"{name}: {wanted} → 1")
        repaired = await self.until(lambda: self.replicas("web").get(name) == wanted)
        self.check(f"the daemon sets it back to {wanted}", repaired, str(self.replicas("web")))

    async def an_absence(self) -> None:
        unreachable = max(self.replicas("web"))
        self.say(f"{unreachable} stops answering, and a developer pushes", head=True)
        await self.fleet[unreachable].faults.down()
        text = self.files[_WEB].decode()
        self.push({_WEB: re.sub(r"(?m)^( *image: \S+:)\S+$", r"\g<1>2.1.0", text, count=1).encode()}, "2.1.0")
        others = [name for name in self.replicas("web") if name != unreachable]
        rolled = await self.until(lambda: all(self.image(name).endswith(":2.1.0") for name in others))
        self.check(f"{formatting.some(others)} get it at once", rolled)
        self.check(f"{unreachable} keeps what it has", not self.image(unreachable).endswith(":2.1.0"))
        await self.fleet[unreachable].faults.up()
        self.check(
            f"{unreachable} is back, and catches up",
            await self.until(lambda: self.image(unreachable).endswith(":2.1.0")),
        )

    async def a_slip(self) -> None:
        self.say("A developer pushes a file that is not YAML", head=True)
        before, text = self.replicas("web"), self.files[_WEB]
        self.push({_WEB: b"kind: Deployment\n  oops: [\n"}, "A slip of the hand")
        plan = await self.settled("the slip")
        for problem in plan.problems[:3] if plan else ():
            self.say(str(problem))
        self.check("web stays as it was at its last good version", self.replicas("web") == before)
        self.push({_WEB: text}, "Repair it")
        await self.settled("the repair")
        self.check("after the repair nothing is wrong", not (self.engine.plan and self.engine.plan.problems))

    async def some_room(self) -> None:
        self.say("A developer pushes two workloads that go where there is capacity, and a quota for both", head=True)
        self.push({path: text for path, text in example("room").items() if path != "README.md"}, "Research")
        if await self.settled("the research") is None:
            return
        crawler, reports = self.replicas("crawler", "research"), self.replicas("reports", "research")
        for name, replicas in (("crawler", crawler), ("reports", reports)):
            self.say(f"{name}: {' '.join(f'{cluster}={count}' for cluster, count in replicas.items())}")
        uneven = len(set(crawler.values())) > 1 and sum(crawler.values()) == 8
        self.check("crawler has more replicas where more of them fit (dynamic weights)", uneven, str(crawler))
        self.check("reports stays together (Aggregated)", list(reports.values()) == [6], str(reports))
        await self.gitfed("explain", "deployment/research/crawler")

    async def a_limit(self) -> None:
        self.say("A developer wants more reports than the quota allows", head=True)
        text = self.files[_REPORTS]
        self.propose({_REPORTS: text.replace(b"replicas: 6", b"replicas: 9")}, "Nine of reports")
        code, printed = await self.gitfed("plan", "--rev", "proposal")
        exceeded = "FederatedResourceQuota(research/research) exceeded for resource cpu" in printed
        self.check("the plan says what the quota does not allow", code == exits.HELD and exceeded)
        self.accept()
        await self.settled("the quota")
        replicas = self.replicas("reports", "research")
        self.check("reports stays as it was", list(replicas.values()) == [6], str(replicas))
        self.push({_REPORTS: text}, "Six of reports")
        await self.settled("the repair")

    async def a_kind(self) -> None:
        self.say("A developer pushes a custom kind with its rules, and a job of two pod templates", head=True)
        self.push({path: text for path, text in example("kinds").items() if path != "README.md"}, "Lab")
        plan = await self.settled("the lab")
        if plan is None:
            return
        # The definition of a kind has to be served before an object of it is taken: a first attempt may fail.
        divided = await self.until(lambda: self.of_render("replicas") == {"eu-1": 4, "us-1": 2})
        replicas = self.of_render("replicas")
        self.say(f"render: {' '.join(f'{cluster}={count}' for cluster, count in replicas.items())}")
        self.check("render is divided two to one, as its script says", divided, str(replicas))
        train = next(binding for key, binding in plan.bindings.items() if key.kind == "PyTorchJob")
        names = ", ".join(sorted(str(part["name"]) for part in train.scheduled.components))
        together = len(train.scheduled.components) == 2 and len(train.scheduled.shares) == 1
        self.check(f"both parts of train ({names}) run in one cluster that holds them", together)
        await self.gitfed("interpret", "workload/lab/render")
        self.fleet["us-1"].cluster.client("operator").patch(
            f"workloads.{_WORKLOADS}", "lab", "render", {"spec": {"paused": True}}
        )
        self.say("an operator pauses render in us-1, and a developer pushes a new image")
        text = self.files[_LAB]
        self.push({_LAB: text.replace(b"render:1.0.0", b"render:1.1.0")}, "render 1.1.0")
        await self.settled("the image")
        new = await self.until(
            lambda: all(":1.1.0'" in str(template) for template in self.of_render("template").values())
        )
        paused = self.of_render("paused")
        kept = new and paused == {"eu-1": False, "us-1": True}
        self.check("the image is new everywhere, and us-1 stays paused", kept, str(paused))

    async def a_question(self) -> None:
        self.say("A developer asks why web does not run in us-staging", head=True)
        code, printed = await self.gitfed("explain", "deployment/shop/web", "--cluster", "us-staging")
        self.check("there is a reason", code == exits.OK and "affinity" in printed)

    def of_render(self, member_of_spec: str) -> dict[str, Any]:
        """A part of the object render by cluster."""
        by_cluster = {}
        for member in self.fleet:
            if member.cluster.world.registry.named(f"{_WORKLOADS}/v1alpha1", "Workload") is not None:
                body = member.api.find(f"workloads.{_WORKLOADS}", "lab", "render")
                if body is not None:
                    by_cluster[member.name] = body["spec"].get(member_of_spec)
        return by_cluster
