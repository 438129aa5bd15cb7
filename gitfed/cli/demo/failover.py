"""gitfed demo failover: a region fails, work and its state move, the region comes back.

The same fleet as in the first act, with short times: what takes minutes in production takes seconds here. A Flink job
shows the state: an operator in each cluster gives it an id, and a rule of the cluster resumes it from the label that
the failover brings.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import Any

from gitfed.cli import exits
from gitfed.cli.demo.stage import Stage
from gitfed.cli.output import formatting
from gitfed.documents import state_commits
from gitfed.documents.state_commits import Act
from gitfed.model.base import Commit
from gitfed.text import yaml

_STATE = "refs/heads/gitfed/state"
_REGION = ("eu-1", "eu-2")
_HOME = "eu-1"
_JOB = ("flinkdeployments.flink.apache.org", "shop", "orders")
_FOLLOWED = ("Deployment.apps/shop/web", "/shop/orders", "Job.batch/shop/migrate")
"""What is read out of the record; the rest moves alike."""
_FAILOVER = {
    "evictionTimeout": "2s", "notReadyTolerationSeconds": 1, "unreachableTolerationSeconds": 1,
    "startWithoutConfirmation": True,
}  # fmt: skip
_ORDERS = b"""\
apiVersion: flink.apache.org/v1beta1
kind: FlinkDeployment
metadata: {name: orders, namespace: shop}
spec:
  image: flink:1.20
  flinkVersion: v1_20
  jobManager: {replicas: 1, resource: {cpu: 0.1, memory: "128m"}}
  taskManager: {replicas: 1, resource: {cpu: 0.1, memory: "128m"}}
  job: {jarURI: "local:///opt/orders.jar", parallelism: 1, upgradeMode: last-state}
"""
_POLICY = b"""\
# The job runs in eu-1, else in us-1. If its cluster fails, its id goes with it, for the new one to resume.
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: orders, namespace: shop}
spec:
  resourceSelectors: [{apiVersion: flink.apache.org/v1beta1, kind: FlinkDeployment}]
  placement:
    clusterAffinities:
      - {affinityName: home, clusterNames: [eu-1]}
      - {affinityName: away, clusterNames: [us-1]}
  failover:
    cluster:
      purgeMode: Directly
      statePreservation:
        rules:
          - {aliasLabelName: resourcebinding.karmada.io/failover-jobid, jsonPath: "{.jobStatus.jobId}"}
---
apiVersion: policy.karmada.io/v1alpha1
kind: ClusterPropagationPolicy
metadata: {name: definitions}
spec:
  resourceSelectors: [{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition}]
"""
_REBALANCER = b"""\
apiVersion: apps.karmada.io/v1alpha1
kind: WorkloadRebalancer
metadata: {name: after-the-outage}
spec:
  workloads: [{apiVersion: apps/v1, kind: Deployment, namespace: shop, name: web}]
"""


class Failover(Stage):
    """The second act."""

    told: Commit | None = None
    """How far the state branch was read out."""

    def content(self) -> dict[str, bytes]:
        from gitfed.cli.demo import flink

        files = super().content()
        settings = yaml.load_all(files["gitfed.yaml"])[0]
        spec = settings["spec"]
        guards = {**spec["guards"], "maxMovedReplicasPercent": 100}  # a person moves web back at the end
        settings = {**settings, "spec": {**spec, "failover": _FAILOVER, "guards": guards}}
        return {
            **files,
            "gitfed.yaml": yaml.dump(settings).encode(),
            "apps/shop/orders.yaml": _ORDERS,
            "policies/orders.yaml": _POLICY,
            "platform/flink.yaml": yaml.dump(flink.definition()).encode(),
        }

    def prepare(self) -> None:
        from gitfed.cli.demo import flink

        for member in self.fleet:
            flink.Operator(member.cluster.world)

    def timing(self) -> dict[str, Any]:
        from gitfed.daemon.fleet.cluster_health import Timing
        from gitfed.placement.recorded_facts import Thresholds

        return {"timing": Timing(0.5, Thresholds(1.0, 1.0))}

    async def before(self) -> None:
        self.say("The fleet of the first act, with a Flink job, and times of seconds instead of minutes")

    async def guided(self) -> None:
        await self.first_rollout()
        job = await self.the_job()
        await self.a_simulation()
        await self.a_region_fails(job)
        await self.it_comes_back(job)

    async def the_job(self) -> str:
        self.say("The job runs, and its id is written down while all is well", head=True)
        running = await self.until(lambda: bool(self.job_id(_HOME)))
        job = self.job_id(_HOME)
        self.check(f"orders runs in {_HOME}", running)
        written = bool(job) and await self.until(lambda: any(job in body for body in self.bodies()))
        self.check(f"the state branch knows its id, {job[:8]}…", written)
        await self.tell()
        return job

    async def a_simulation(self) -> None:
        self.say("What would happen if the region eu failed?", head=True)
        code, printed = await self.gitfed("simulate", "--fail", "region/eu", "--until", "1m", "--healthy-after", "2s")
        self.check(
            "the simulation shows where the job would go",
            code == exits.OK and re.search(r"orders +\S+ +→ +us-1", printed) is not None,
        )

    async def a_region_fails(self, job: str) -> None:
        self.say("Now it does: nothing in eu-1 and eu-2 answers", head=True)
        before = sum(self.replicas("web").values())
        for name in _REGION:
            await self.fleet[name].faults.down()
        moved = await self.narrated(lambda: self.replicas("web").get("us-1") == before)
        self.check(f"all {before} replicas of web are in us-1", moved, str(self.replicas("web")))
        resumed = await self.narrated(lambda: self.resumed("us-1").endswith(job))
        self.check("the job goes on in us-1 from the checkpoint of the old one", resumed, self.resumed("us-1"))
        stays = self.engine.plan is not None and any(
            "migrate" in problem.message and "nothing can take it" in problem.message
            for problem in self.engine.plan.problems
        )
        self.check("migrate is for eu-1 alone: it stays there, and that is said", stays)

    async def it_comes_back(self, job: str) -> None:
        self.say("The region is back", head=True)
        await self.narrated(lambda: self.engine.settled())
        for name in _REGION:
            await self.fleet[name].faults.up()
        gone = await self.narrated(lambda: self.find_job(_HOME) is None)
        self.check(f"the old job in {_HOME} is gone: there is only one", gone)
        caches = await self.narrated(
            lambda: all(self.ready(name) for name in _REGION) and set(_REGION) <= self.replicas("cache").keys()
        )
        self.check("what belongs in every cluster is back in eu-1 and eu-2", caches, str(self.replicas("cache")))
        self.check("divided work does not move by itself", set(self.replicas("web")) == {"us-1"})
        self.push({"rebalance.yaml": _REBALANCER}, "Spread web again")
        spread = await self.narrated(lambda: set(_REGION) <= self.replicas("web").keys())
        self.check("a WorkloadRebalancer spreads web over both regions again", spread, str(self.replicas("web")))
        self.check("the job stays where it is, with its label", self.label("us-1") == job)

    # -- what the steps are made of -----------------------------------------------------------------------------

    async def narrated(self, condition: Any) -> bool:
        """Wait, and read out what is recorded meanwhile."""
        done = asyncio.create_task(self.until(condition))
        while not done.done():
            await self.tell()
            await asyncio.wait({done}, timeout=0.2)
        await self.tell()
        return done.result()

    async def tell(self) -> None:
        """New sentences of the state branch."""
        for body in self.bodies(new=True):
            for line in body.splitlines():
                if line.startswith("cluster ") or any(name in line for name in _FOLLOWED):
                    self.say(self.paint.faint(f"  {line}"))

    def bodies(self, *, new: bool = False) -> list[str]:
        """Of the commits on the state branch, oldest first; `new`: those since it was last asked so."""
        assert self.repository is not None
        commit = tip = self.repository.branch_commit(_STATE)
        bodies: list[str] = []
        while commit is not None and not (new and commit == self.told):
            info = self.repository.info(commit)
            message = state_commits.read(info.subject, info.body)
            if message.act is Act.DECIDED:
                bodies.append("\n".join(message.reasons))
            commit = info.parents[0] if info.parents else None
        if new:
            self.told = tip
        return bodies[::-1]

    def find_job(self, cluster: str) -> Mapping[str, Any] | None:
        registry = self.fleet[cluster].cluster.world.registry
        if registry.preferred(_JOB[0]) is None:
            return None
        job: Mapping[str, Any] | None = self.fleet[cluster].api.find(*_JOB)
        return job

    def job_id(self, cluster: str) -> str:
        status = (self.find_job(cluster) or {}).get("status") or {}
        return str((status.get("jobStatus") or {}).get("jobId") or "")

    def resumed(self, cluster: str) -> str:
        """The checkpoint that the job in a cluster started from."""
        status = (self.find_job(cluster) or {}).get("status") or {}
        return str((status.get("jobStatus") or {}).get("upgradeSavepointPath") or "")

    def label(self, cluster: str) -> str:
        from gitfed.cli.demo import flink

        labels = ((self.find_job(cluster) or {}).get("metadata") or {}).get("labels") or {}
        return str(labels.get(flink.LABEL) or "")

    def ready(self, cluster: str) -> bool:
        record = self.engine.decisions.clusters.get(cluster)
        return record is not None and record.reach.value == "Ready" and not record.taints

    def summary(self) -> None:
        super().summary()
        self.say(f"{formatting.count(len(self.bodies()), 'decision')} recorded on the branch gitfed/state")
