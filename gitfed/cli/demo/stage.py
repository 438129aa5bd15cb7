"""What every act of `gitfed demo` stands on: a fleet, a repository, a daemon, and what a person can do to them.

Checks look into the clusters from inside, not through the daemon that is shown.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import field
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import Any

import click

from gitfed.cli import exits
from gitfed.cli.commands.local import sim
from gitfed.cli.demo import invitation
from gitfed.cli.demo.invitation import Hint
from gitfed.cli.output import formatting, plain
from gitfed.edges import git
from gitfed.errors import InputError
from gitfed.model.base import Commit
from gitfed.model.plan import Plan
from gitfed.text.values import dataclass

_BRANCH = "refs/heads/main"
_PROPOSAL = "refs/heads/proposal"
_PATIENCE = 120.0
"""Seconds for one step; a slow machine needs a few."""
_NODES = (3, 2, 4)
"""Of the clusters by name, in turn: one has less room than another."""
USER = "demo"
"""Who started it, at the hub."""
_ACCESS = b"""\
# The person who started the demo may see and operate everything at its hub.
apiVersion: gitfed.io/v1alpha1
kind: AccessPolicy
metadata: {name: demo}
spec:
  subjects: [{kind: User, name: demo}]
  allow: [view, operate, proxy]
"""
_ADMINISTRATOR = {
    "metadata": {"name": USER},
    "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": USER}],
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
}
"""Through the hub's doors a cluster decides for itself what the same person may do in it."""


def example(name: str = "repo") -> dict[str, bytes]:
    """An example's files by path: from the installed package, or from the checkout it was installed from."""
    for root in (
        resources.files("gitfed") / "_data" / "examples" / name,
        Path(__file__).parents[3] / "examples" / name,
    ):
        if root.is_dir():
            return dict(_files(root, ""))
    raise InputError(f"examples/{name} is missing from this installation")


def _files(folder: Any, prefix: str) -> list[tuple[str, bytes]]:
    files: list[tuple[str, bytes]] = []
    for entry in sorted(folder.iterdir(), key=lambda entry: str(entry.name)):
        path = f"{prefix}{entry.name}"
        files += _files(entry, f"{path}/") if entry.is_dir() else [(path, entry.read_bytes())]
    return files


@dataclass(slots=True)
class Stage:
    """A fleet that follows a repository, and a person who acts on both. An act says what: `guided`."""

    place: Path
    paint: plain.Paint
    quiet: bool = False
    files: dict[str, bytes] = field(default_factory=dict)
    fleet: Any = None
    failed: list[str] = field(default_factory=list)
    checked: int = 0
    head: Commit | None = None
    engine: Any = None
    hub: Any = None
    repository: git.Repository | None = None
    outside: Sequence[str] = ()
    """Clusters that run too, and are not declared yet."""

    async def play(self, *, once: bool, stays: bool = False) -> int:
        """The whole demonstration; the exit code. `stays`: the folder is still there afterwards."""
        sim.need_kubesim()
        from gitfed.daemon import logs
        from gitfed.offline import inputs
        from kubesim.fleet import ClusterSpec, Fleet

        log = (self.place / "daemon.log").open("w", encoding="utf-8")
        logs.set_up("text", "info", log)
        self.files = self.content()
        bare = self.place / "fleet.git"
        self.repository = git.Repository.create(bare)
        self.push(self.files, "A fleet")
        declared = inputs.read(inputs.open_repository(str(bare))).repo.clusters
        names = sorted(declared)
        nodes = itertools.cycle(_NODES)
        fleet = self.fleet = Fleet(
            [
                ClusterSpec(
                    name=name,
                    nodes=next(nodes),
                    cpu="16",
                    memory="64Gi",
                    region=declared[name].spec.region,
                    zones=declared[name].spec.zones,
                )
                for name in names
            ]
            + [ClusterSpec(name=name, nodes=next(nodes), cpu="16", memory="64Gi") for name in self.outside]
        )
        await fleet.start()
        for member in fleet:
            member.api.create("clusterrolebindings.rbac.authorization.k8s.io", _ADMINISTRATOR)
        self.prepare()
        kubeconfig = self.place / "kubeconfig"
        sim.write_kubeconfig(kubeconfig, fleet, names)
        running = [*names, *self.outside]
        self.say(
            f"{formatting.count(len(running), 'cluster')} run in this process: {formatting.some(running)}", head=True
        )
        self.say(f"kubeconfig  {kubeconfig}")
        self.say(f"repository  {bare}")
        self.say(f"log         {self.place / 'daemon.log'}")
        await self.before()
        try:
            async with self.daemon(kubeconfig) as daemon:
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
                    self.invite(bare, kubeconfig, once=once, stays=stays)
                if not once and not self.failed:
                    await daemon  # it ends when a signal asks it to
                    return exits.INTERRUPTED
        finally:
            await fleet.stop()
            log.close()
        return exits.UNHEALTHY if self.failed else exits.OK

    @contextlib.asynccontextmanager
    async def daemon(self, kubeconfig: Path) -> AsyncIterator[asyncio.Future[Any]]:
        """What follows the repository; the future is done when it ends by itself."""
        from gitfed.daemon import wiring
        from gitfed.hub import serve
        from gitfed.hub.options import HubOptions

        ready: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        settings = wiring.DaemonOptions(
            repo=str(self.place / "fleet.git"),
            kubeconfig=(kubeconfig,),
            data_dir=self.place / "data",
            health_address="",
            **self.timing(),
        )
        daemon = asyncio.create_task(
            serve.run(
                settings,
                started=lambda engine, port: ready.set_result(engine),
                hub=HubOptions("127.0.0.1", 0, plain_too=True),
                listening=lambda hub: setattr(self, "hub", hub),
            )
        )
        try:
            await asyncio.wait({daemon, ready}, return_when=asyncio.FIRST_COMPLETED)
            if daemon.done():
                daemon.result()
            self.engine = await ready
            yield daemon
        finally:
            daemon.cancel()
            await asyncio.gather(daemon, return_exceptions=True)

    def content(self) -> dict[str, bytes]:
        """The repository to begin with."""
        return {**example(), "access.yaml": _ACCESS}

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
        """The act."""
        raise NotImplementedError

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
        self.check("every object is in every cluster it belongs to", not missing, formatting.some(missing))

    # -- what the steps are made of -----------------------------------------------------------------------------

    def push(self, changes: Mapping[str, bytes], message: str) -> None:
        """A commit on the branch that the daemon follows, as a push would leave it."""
        self._commit(_BRANCH, changes, message)

    def propose(self, changes: Mapping[str, bytes], message: str) -> None:
        """The same commit on a branch of its own, as for a pull request."""
        assert self.repository is not None
        assert self.head is not None
        self.repository.update_ref(_PROPOSAL, self.head)
        self._commit(_PROPOSAL, changes, message)

    def _commit(self, branch: str, changes: Mapping[str, bytes], message: str) -> None:
        assert self.repository is not None
        self.files = {**self.files, **changes}
        author, now = "A person <person@example.com>", datetime.now(UTC)
        self.head = self.repository.commit_files(
            branch, dict(changes), message, parent=self.head, author=author, when=now
        )

    def accept(self) -> None:
        """Merge the proposal: the branch that the daemon follows moves."""
        assert self.repository is not None
        self.repository.update_ref(_BRANCH, self.head)

    async def gitfed(self, *arguments: str, into: Path | None = None) -> tuple[int, str]:
        """Run a command as a person would, in the repository, and show what it prints. `into`: a file for its
        stdout, as with `>` in a shell."""
        words = [*arguments, *((">", str(into)) if into else ())]
        shown = " ".join(word.replace(str(self.place) + "/", "") for word in words)
        self.say(self.paint.strong(f"$ gitfed {shown}"))
        pipe, both = asyncio.subprocess.PIPE, asyncio.subprocess.STDOUT
        process = await self.start(*arguments, stdout=pipe, stderr=pipe if into else both)
        out, err = await process.communicate()
        if into is not None:
            await asyncio.to_thread(into.write_bytes, out)
        printed = (err if into else out).decode("utf-8", "replace")
        for line in printed.splitlines():
            self.say(f"  {line}")
        return process.returncode or 0, printed

    async def start(self, *arguments: str, stdout: Any, stderr: Any) -> asyncio.subprocess.Process:
        """gitfed as a process of its own."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GITFED_")}
        color = "always" if self.paint.on else "never"
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "gitfed",
            *arguments,
            cwd=self.place / "fleet.git",
            env={**environment, "XDG_CACHE_HOME": str(self.place / "cache"), "COLUMNS": "110", "GITFED_COLOR": color},
            stdout=stdout,
            stderr=stderr,
        )

    async def progress(self, through: set[str]) -> None:
        while True:
            self.tell_progress(through)
            await asyncio.sleep(0.05)

    def tell_progress(self, through: set[str]) -> None:
        """One line for each cluster that is through with everything it has to do; `through` were told before."""
        done = self.engine.fleet.outcomes.carried_out
        for name, member in sorted(self.engine.fleet.members.items()):
            if name not in through and done[name] and member.worker is not None and not member.worker.pending:
                through.add(name)
                self.say(f"{name}: {formatting.count(done[name], 'object')} written")

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
        by_cluster = {}
        for member in self.fleet:
            body = member.api.find("deployments.apps", namespace, name)
            if body is not None:
                by_cluster[member.name] = int(body["spec"]["replicas"])
        return by_cluster

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
        self.say(f"{passed} of {formatting.count(self.checked, 'check')} passed", head=True)

    def login_link(self) -> str:
        from gitfed.hub import login
        from gitfed.hub.access.caller import AuthenticationMethod, Caller

        return login.link(self.hub, Caller(USER, way=AuthenticationMethod.LOGIN_TOKEN))

    def hints(self, kubeconfig: Path) -> Sequence[Hint]:
        """How to look into what runs on."""
        return (
            Hint(
                "What would the daemon do, and what do the clusters have?",
                (
                    f"{formatting.program()} plan --live --kubeconfig {kubeconfig}",
                    f"kubectl --kubeconfig {kubeconfig} get deployments -A",
                ),
            ),
            invitation.fleet_door(self.place, USER),
            Hint("The hub, in a browser on this machine; the link logs it in, once:", (self.login_link(),)),
        )

    def invite(self, bare: Path, kubeconfig: Path, *, once: bool, stays: bool) -> None:
        if stays or not once:  # else its folder is gone before a person can look
            self.say(f"what was decided: {formatting.program()} log --repo {bare}")
        if once:
            lines = invitation.when_it_is_over()
        else:
            lines = invitation.while_it_runs(bare, self.hints(kubeconfig))
        for line in lines:
            self.say(line)
