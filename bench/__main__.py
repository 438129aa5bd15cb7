"""`python -m bench [--list] [NAME …]`: run the benchmarks and print their figures."""

from __future__ import annotations

import argparse
import asyncio
import importlib
import time

BENCHES = {
    "startup": "start-up time of the commands that touch no cluster",
    "schedule": "5,000 bindings on 100 clusters of 50 nodes, by room",
    "scale": "10,000 templates × 100 clusters: cold plan, one-line change, memory, event-loop lag",
    "detect": "one of 100 embedded clusters is killed: detection and taint after their time",
    "failover": "a cluster of 100 dies: decisions for 5,000 bindings, a rehearsal of 10,000",
    "autoscale": "what 20 clusters told of 1,000 workloads, made into numbers of replicas",
    "simulate": "gitfed simulate of 100 clusters with 10,000 workloads, and with a million copies, from process start",
    "interpret": "a script asked about one object, cold, again and in the worker; 5,000 custom objects",
    "review": "gitfed diff of 10,000 templates × 100 clusters: one changed file of each kind, a thousand, the comment",
    "endpoints": "an endpoint changes: until four other clusters have it, with 200 MultiClusterServices",
    "importing": "gitfed import karmada of 5,000 objects, from files and from a control plane",
    "record": "24 hours of 100 clusters and 10,000 bindings: what the state and facts branches weigh",
    "rollout": "300 Deployments to 2 clusters against a bare loop of the same requests",
    "push": "from git push until both clusters hold one changed image",
    "delivery": "from a forge's delivery until both clusters hold what was pushed, beside a push that is watched",
    "hub": "a push beside 200 readers and 20 streams of the hub, and without; what the hub adds in memory",
    "pages": "the first byte of the placement page at 10,000 × 100, a scrape at 100 clusters",
    "agents": "1,000 agents × 200 objects at one hub: a restart, one commit, quiet (AGENTS, OBJECTS: other sizes)",
    "pulled": "pushes and a roll-out through agents against the same without; what an idle agent is",
    "pool": "one commit to 30 clusters of a pool: three members against one",
    "doors": "a GET through a door against a direct one; watches of 10 clusters told to 20 clients",
    "search": "a list of 10,000 cached pods against writing their JSON; what a cached pod weighs",
    "steady": "requests of an unchanged cycle",
    "drift": "100 objects changed by somebody at once: repair against writing them once",
    "isolation": "a roll-out beside a cluster that fails every request",
    "restart": "a fresh push after a restart with 5,000 queued bindings",
    "watch": "nodes and pods of 100 clusters watched: memory, sockets, time, and what quiet costs",
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHES)} (default: all)")
    parser.add_argument("--list", action="store_true", help="say what there is")
    given = parser.parse_args()
    if given.list:
        for name, text in BENCHES.items():
            print(f"{name:10} {text}")
        return
    unknown = set(given.names) - BENCHES.keys()
    if unknown:
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}")
    for name in given.names or BENCHES:
        print(f"\n{name}: {BENCHES[name]}", flush=True)
        began = time.perf_counter()
        outcome = importlib.import_module(f"bench.{name}").run()
        if asyncio.iscoroutine(outcome):
            outcome = asyncio.run(outcome)
        for label, value in outcome:
            print(f"  {label:58} {value}")
        print(f"  {'(took)':58} {time.perf_counter() - began:.1f} s", flush=True)


if __name__ == "__main__":
    main()
