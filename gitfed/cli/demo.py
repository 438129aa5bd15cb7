"""gitfed demo"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import Any

import click

from gitfed.cli import exits, lasting, options, plain, simulated, words
from gitfed.edges import git
from gitfed.errors import InputError
from gitfed.model.base import Commit
from gitfed.model.plan import Plan

_BRANCH = "refs/heads/main"
_PROPOSAL = "refs/heads/proposal"
_PATIENCE = 120.0
"""Seconds for one step; a slow machine needs a few."""
_WEB = "apps/shop/web.yaml"
_REPORTS = "apps/research/reports.yaml"
_LAB = "apps/lab/lab.yaml"
_WORKLOADS = "workload.example.io"
_NODES = (3, 2, 4)
"""Of the clusters by name, in turn: one has less room than another."""


@click.command("demo")
@click.argument("act", type=click.Choice(["push", "failover"]), default="push", required=False)
@options.option("--once", shared=False, is_flag=True, help="End after the guided part: 0 if everything was as told.")
@options.option(
    "--dir",
    "folder",
    shared=False,
    type=options.Files(file_okay=False),
    default=None,
    metavar="DIR",
    help="Keep repository, kubeconfig and state there.  [default: a folder that goes away]",
)
@options.output("text")
def command(act: str, once: bool, folder: Path | None, output: options.Output) -> int:
    """Watch a fleet follow a repository: four clusters inside this process, an example repository, and a few pushes.

    The act "failover" kills a region instead, and shows how work and its state move, and what comes back.

    Nothing outside a temporary folder is touched. Afterwards the fleet goes on running: push to it, look into it with
    kubectl, and stop it with Control-C.

    \b
    gitfed demo
    gitfed demo --once            only the guided part, for scripts
    gitfed demo failover          a region fails and comes back

    \b
    Exit codes: 0 done · 6 something was not as told · 130 interrupted.
    """
    with tempfile.TemporaryDirectory(prefix="gitfed-demo-") as scratch:
        place = (folder or Path(scratch)).resolve()
        place.mkdir(parents=True, exist_ok=True)
        acts: dict[str, type[Demo]] = {"push": Demo}
        if act == "failover":
            from gitfed.cli.demo_failover import Failover

            acts["failover"] = Failover
        return lasting.run(lambda: acts[act](place, output.paint, quiet=output.quiet).play(once=once))


def example(name: str = "repo") -> dict[str, bytes]:
    """An example's files by path: from the installed package, or from the checkout it was installed from."""
    for root in (
        resources.files("gitfed") / "_data" / "examples" / name,
        Path(__file__).parents[2] / "examples" / name,
    ):
        if root.is_dir():
            return dict(_files(root, ""))
    raise InputError(f"examples/{name} is missing from this installation")


def _files(folder: Any, prefix: str) -> list[tuple[str, bytes]]:
    found: list[tuple[str, bytes]] = []
    for entry in sorted(folder.iterdir(), key=lambda entry: str(entry.name)):
        path = f"{prefix}{entry.name}"
        found += _files(entry, f"{path}/") if entry.is_dir() else [(path, entry.read_bytes())]
    return found


@dataclass(slots=True)
class Demo:
    place: Path
    paint: plain.Paint
    quiet: bool = False
    files: dict[str, bytes] = field(default_factory=dict)
    fleet: Any = None
    failed: list[str] = field(default_factory=list)
    checked: int = 0
    head: Commit | None = None
    engine: Any = None
    repository: git.Repository | None = None

    async def play(self, *, once: bool) -> int:
        """The whole demonstration; the exit code."""
        from gitfed.daemon import inputs, logs, wiring
        from gitfed.hub import serve
        from gitfed.sim.fleet import ClusterSpec, Fleet

        log = (self.place / "daemon.log").open("w", encoding="utf-8")
        logs.set_up("text", "info", log)
        self.files = self.content()
        bare = self.place / "fleet.git"
        self.repository = git.Repository.create(bare)
        self.push(self.files, "A fleet")
        declared = inputs.read(inputs.open_repository(str(bare))).repo.clusters
        names = sorted(declared)
        fleet = self.fleet = Fleet(
            ClusterSpec(
                name=name,
                nodes=_NODES[number % len(_NODES)],
                cpu="16",
                memory="64Gi",
                region=declared[name].spec.region,
                zones=declared[name].spec.zones,
            )
            for number, name in enumerate(names)
        )
        await fleet.start()
        self.prepare()
        kubeconfig = self.place / "kubeconfig"
        simulated.write_kubeconfig(kubeconfig, fleet)
        self.say(f"{words.count(len(names), 'cluster')} run in this process: {words.some(names)}", head=True)
        self.say(f"kubeconfig  {kubeconfig}")
        self.say(f"repository  {bare}")
        self.say(f"log         {self.place / 'daemon.log'}")
        await self.before()
        ready: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        settings = wiring.Options(
            repo=str(bare), kubeconfig=(kubeconfig,), data_dir=self.place / "data", health_address="", **self.timing()
        )
        daemon = asyncio.create_task(serve.run(settings, started=lambda engine, port: ready.set_result(engine)))
        try:
            await asyncio.wait({daemon, ready}, return_when=asyncio.FIRST_COMPLETED)
            if daemon.done():
                daemon.result()
            self.engine = await ready
            guided = asyncio.create_task(self.guided())
            try:
                await asyncio.wait({daemon, guided}, return_when=asyncio.FIRST_COMPLETED)
                if not guided.done():  # the daemon took Control-C: without it every check would wait in vain
                    daemon.result()
                    return exits.INTERRUPTED
                await guided
            finally:
                guided.cancel()
            self.summary()
            if not self.failed:
                self.invite(bare, kubeconfig, once=once)
            if not once and not self.failed:
                await daemon  # it ends when a signal asks it to
                return exits.INTERRUPTED
        finally:
            daemon.cancel()
            await asyncio.gather(daemon, return_exceptions=True)
            await fleet.stop()
            log.close()
        return exits.UNHEALTHY if self.failed else exits.OK

    def content(self) -> dict[str, bytes]:
        """The repository to begin with."""
        return example()

    def prepare(self) -> None:
        """What else is in the clusters."""

    def timing(self) -> dict[str, Any]:
        """How the daemon differs from a usual one."""
        return {}

    async def before(self) -> None:
        """What a person looks at first: is anything wrong, and what would happen?"""
        self.say("Before anything runs: is the repository all right, and where would everything go?", head=True)
        code, _ = await self.gitfed("validate")
        self.check("nothing is wrong with it", code == exits.OK)
        await self.gitfed("plan", "--live", "--kubeconfig", str(self.place / "kubeconfig"))

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

    async def first_rollout(self) -> None:
        self.say("The daemon starts, and makes it so", head=True)
        through: set[str] = set()
        progress = asyncio.create_task(self.progress(through))
        plan = await self.settled("the first roll-out")
        progress.cancel()
        await asyncio.gather(progress, return_exceptions=True)
        self.tell_progress(through)
        if plan is None:
            return
        missing = [
            f"{cluster}: {key}"
            for key, classes in plan.rendered.items()
            for rendered in classes
            for cluster in rendered.clusters
            if self.find(cluster, rendered.body) is None
        ]
        self.check("every object is in every cluster it belongs to", not missing, words.some(missing))

    async def a_push(self) -> None:
        self.say("Somebody pushes: web gets twelve replicas and a new image", head=True)
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
        self.say("Somebody scales web by hand, in one cluster", head=True)
        name, wanted = max(self.replicas("web").items(), key=lambda item: item[1])
        self.fleet[name].cluster.client("somebody").patch("deployments.apps", "shop", "web", {"spec": {"replicas": 1}})
        self.say(f"{name}: {wanted} → 1")
        repaired = await self.until(lambda: self.replicas("web").get(name) == wanted)
        self.check(f"the daemon sets it back to {wanted}", repaired, str(self.replicas("web")))

    async def an_absence(self) -> None:
        away = max(self.replicas("web"))
        self.say(f"{away} stops answering, and somebody pushes", head=True)
        await self.fleet[away].faults.down()
        text = self.files[_WEB].decode()
        self.push({_WEB: re.sub(r"(?m)^( *image: \S+:)\S+$", r"\g<1>2.1.0", text, count=1).encode()}, "2.1.0")
        others = [name for name in self.replicas("web") if name != away]
        rolled = await self.until(lambda: all(self.image(name).endswith(":2.1.0") for name in others))
        self.check(f"{words.some(others)} get it at once", rolled)
        self.check(f"{away} keeps what it has", not self.image(away).endswith(":2.1.0"))
        await self.fleet[away].faults.up()
        self.check(f"{away} is back, and catches up", await self.until(lambda: self.image(away).endswith(":2.1.0")))

    async def a_slip(self) -> None:
        self.say("Somebody pushes a file that is no YAML", head=True)
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
        self.say("Somebody pushes two workloads that go where there is room, and a quota for both", head=True)
        self.push({path: text for path, text in example("room").items() if path != "README.md"}, "Research")
        if await self.settled("the research") is None:
            return
        crawler, reports = self.replicas("crawler", "research"), self.replicas("reports", "research")
        for name, found in (("crawler", crawler), ("reports", reports)):
            self.say(f"{name}: {' '.join(f'{cluster}={count}' for cluster, count in found.items())}")
        uneven = len(set(crawler.values())) > 1 and sum(crawler.values()) == 8
        self.check("crawler has more replicas where more of them fit (dynamic weights)", uneven, str(crawler))
        self.check("reports stays together (Aggregated)", list(reports.values()) == [6], str(reports))
        await self.gitfed("explain", "deployment/research/crawler")

    async def a_limit(self) -> None:
        self.say("Somebody wants more reports than the quota allows", head=True)
        text = self.files[_REPORTS]
        self.propose({_REPORTS: text.replace(b"replicas: 6", b"replicas: 9")}, "Nine of reports")
        code, said = await self.gitfed("plan", "--rev", "proposal")
        told = "FederatedResourceQuota(research/research) exceeded for resource cpu" in said
        self.check("the plan says what the quota does not allow", code == exits.HELD and told)
        self.accept()
        await self.settled("the quota")
        found = self.replicas("reports", "research")
        self.check("reports stays as it was", list(found.values()) == [6], str(found))
        self.push({_REPORTS: text}, "Six of reports")
        await self.settled("the repair")

    async def a_kind(self) -> None:
        self.say("Somebody pushes a kind of their own with its rules, and a job of two pod templates", head=True)
        self.push({path: text for path, text in example("kinds").items() if path != "README.md"}, "Lab")
        plan = await self.settled("the lab")
        if plan is None:
            return
        # The definition of a kind has to be served before an object of it is taken: a first attempt may fail.
        divided = await self.until(lambda: self.of_render("replicas") == {"eu-1": 4, "us-1": 2})
        found = self.of_render("replicas")
        self.say(f"render: {' '.join(f'{cluster}={count}' for cluster, count in found.items())}")
        self.check("render is divided two to one, as its script says", divided, str(found))
        train = next(binding for key, binding in plan.bindings.items() if key.kind == "PyTorchJob")
        names = ", ".join(sorted(str(part["name"]) for part in train.components))
        whole = len(train.components) == 2 and len(train.shares) == 1
        self.check(f"both parts of train ({names}) run in one cluster that holds them", whole)
        await self.gitfed("interpret", "workload/lab/render")
        self.fleet["us-1"].cluster.client("operator").patch(
            f"workloads.{_WORKLOADS}", "lab", "render", {"spec": {"paused": True}}
        )
        self.say("somebody pauses render in us-1, and somebody else pushes a new image")
        text = self.files[_LAB]
        self.push({_LAB: text.replace(b"render:1.0.0", b"render:1.1.0")}, "render 1.1.0")
        await self.settled("the image")
        new = await self.until(lambda: all(":1.1.0'" in str(one) for one in self.of_render("template").values()))
        paused = self.of_render("paused")
        kept = new and paused == {"eu-1": False, "us-1": True}
        self.check("the image is new everywhere, and us-1 stays paused", kept, str(paused))

    async def a_question(self) -> None:
        self.say("Somebody asks why web does not run in us-staging", head=True)
        code, said = await self.gitfed("explain", "deployment/shop/web", "--cluster", "us-staging")
        self.check("there is a reason", code == exits.OK and "affinity" in said)

    # -- what the steps are made of -----------------------------------------------------------------------------

    def push(self, changes: Mapping[str, bytes], message: str) -> None:
        """A commit on the branch that the daemon follows, as a push would leave it."""
        assert self.repository is not None
        self.files = {**self.files, **changes}
        self.head = self.repository.commit_files(
            _BRANCH, dict(changes), message, parent=self.head, author="A person <person@example.com>",
            when=datetime.now(UTC),
        )  # fmt: skip

    def propose(self, changes: Mapping[str, bytes], message: str) -> None:
        """The same commit on a branch of its own, as for a pull request."""
        assert self.repository is not None
        assert self.head is not None
        self.files = {**self.files, **changes}
        self.repository.update_ref(_PROPOSAL, self.head)
        self.head = self.repository.commit_files(
            _PROPOSAL, dict(changes), message, parent=self.head, author="A person <person@example.com>",
            when=datetime.now(UTC),
        )  # fmt: skip

    def accept(self) -> None:
        """Merge the proposal: the branch that the daemon follows moves."""
        assert self.repository is not None
        self.repository.update_ref(_BRANCH, self.head)

    async def gitfed(self, *arguments: str) -> tuple[int, str]:
        """Run a command as a person would, in the repository, and show what it prints."""
        shown = " ".join(one.replace(str(self.place) + "/", "") for one in arguments)
        self.say(self.paint.strong(f"$ gitfed {shown}"))
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GITFED_")}
        color = ("--color", "always") if self.paint.on else ("--color", "never")
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "gitfed", *arguments, *color, cwd=self.place / "fleet.git",
            env={**environment, "XDG_CACHE_HOME": str(self.place / "cache"), "COLUMNS": "110"},
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        said = (await process.communicate())[0].decode("utf-8", "replace")
        for line in said.splitlines():
            self.say(f"  {line}")
        return process.returncode or 0, said

    async def progress(self, through: set[str]) -> None:
        while True:
            self.tell_progress(through)
            await asyncio.sleep(0.05)

    def tell_progress(self, through: set[str]) -> None:
        """One line for each cluster that is through with everything it has to do; `through` were told before."""
        done: dict[str, int] = {}
        for cluster, _ in self.engine.fleet.results:
            done[cluster] = done.get(cluster, 0) + 1
        for name, member in sorted(self.engine.fleet.members.items()):
            if name not in through and done.get(name) and member.worker is not None and not member.worker.pending:
                through.add(name)
                self.say(f"{name}: {words.count(done[name], 'object')} written")

    async def settled(self, what: str) -> Plan | None:
        """The plan of the newest commit, once every cluster holds it."""

        def done() -> bool:
            plan = self.engine.plan
            return plan is not None and plan.commit == self.head and self.engine.settled()

        if await self.until(done):
            plan: Plan = self.engine.plan
            return plan
        self.check(f"{what} settles", False)
        return None

    async def until(self, condition: Callable[[], bool]) -> bool:
        for _ in range(int(_PATIENCE / 0.05)):
            if condition():
                return True
            await asyncio.sleep(0.05)
        return False

    def find(self, cluster: str, body: Mapping[str, Any]) -> Any:
        """The live object of a manifest."""
        from gitfed.model.base import key_of

        key = key_of(body)
        kind = self.fleet[cluster].cluster.world.registry.named(body["apiVersion"], key.kind)
        if kind is None:
            return None
        resource = f"{kind.plural}.{kind.group}" if kind.group else kind.plural
        return self.fleet[cluster].api.find(resource, key.namespace, key.name)

    def replicas(self, name: str, namespace: str = "shop") -> dict[str, int]:
        """Replicas of a Deployment by cluster, as the clusters have it."""
        found = {}
        for member in self.fleet:
            body = member.api.find("deployments.apps", namespace, name)
            if body is not None:
                found[member.name] = int(body["spec"]["replicas"])
        return found

    def of_render(self, member_of_spec: str) -> dict[str, Any]:
        """A part of the object render by cluster."""
        found = {}
        for member in self.fleet:
            if member.cluster.world.registry.named(f"{_WORKLOADS}/v1alpha1", "Workload") is not None:
                body = member.api.find(f"workloads.{_WORKLOADS}", "lab", "render")
                if body is not None:
                    found[member.name] = body["spec"].get(member_of_spec)
        return found

    def image(self, cluster: str) -> str:
        """What web runs in one cluster."""
        body = self.fleet[cluster].api.get("deployments.apps", "shop", "web")
        return str(body["spec"]["template"]["spec"]["containers"][0]["image"])

    def check(self, sentence: str, passed: bool, details: str = "") -> None:
        self.checked += 1
        mark = self.paint.added("✓") if passed else self.paint.removed("✗")
        self.say(f"{mark} {sentence}" + ("" if passed or not details else f": {details}"))
        if not passed:
            self.failed.append(sentence)

    def say(self, text: str, *, head: bool = False) -> None:
        if not self.quiet:
            click.echo(f"\n{self.paint.strong(text)}" if head else f"  {text}", color=True)

    def summary(self) -> None:
        passed = self.checked - len(self.failed)
        self.say(f"{passed} of {words.count(self.checked, 'check')} passed", head=True)

    def invite(self, bare: Path, kubeconfig: Path, *, once: bool) -> None:
        if once:
            me = words.program()
            advice = (
                (f"{me} demo", "the same, and the fleet stays up for your own pushes and kubectl"),
                (f"{me} init fleet && cd fleet", "a repository of your own"),
                (f"{me} sim up --kubeconfig k", "clusters to try it on"),
            )
            width = max(len(command) for command, _ in advice)
            lines: Sequence[str] = (
                "What to try next:",
                *(f"  {command.ljust(width)}    {what}" for command, what in advice),
            )
        else:
            lines = (
                "Now you, in another terminal:",
                f"  git clone {bare} fleet && cd fleet",
                "  edit something, then: git commit -a -m 'My change' && git push",
                f"  {words.program()} plan --live --kubeconfig {kubeconfig}",
                f"  kubectl --kubeconfig {kubeconfig} get deployments -A",
                "Control-C ends it.",
            )
        for line in lines:
            self.say(line)
