"""gitfed get"""

from __future__ import annotations

from typing import Any

import click

from gitfed.cli import complete, exits, load, options, parameters
from gitfed.cli.commands.look import listings, validate
from gitfed.cli.commands.look.listings import ListingQuery
from gitfed.cli.commands.members import listed, reached
from gitfed.cli.main import meant
from gitfed.cli.output import listing
from gitfed.errors import NothingDecided, UsageError

_THINGS = (
    "clusters",
    "agents",
    "bindings",
    "policies",
    "problems",
    "works",
    "orphans",
    "quotas",
    "autoscalers",
    "services",
    "gates",
    "events",
)
_WORDS = {
    "cluster": "clusters", "agent": "agents",
    "binding": "bindings", "rb": "bindings", "crb": "bindings", "resourcebindings": "bindings",
    "policy": "policies", "pp": "policies", "cpp": "policies", "op": "policies", "cop": "policies",
    "problem": "problems", "work": "works", "orphan": "orphans", "gate": "gates", "objects": "works",
    "quota": "quotas", "frq": "quotas", "federatedresourcequotas": "quotas", "event": "events", "ev": "events",
    "service": "services", "mcs": "services", "multiclusterservices": "services", "mci": "services",
    "multiclusteringresses": "services", "serviceimports": "services",
    "autoscaler": "autoscalers", "cronfhpa": "autoscalers", "fhpa": "autoscalers", "federatedhpas": "autoscalers",
    "cronfederatedhpas": "autoscalers",
}  # fmt: skip


class Thing(click.ParamType[str]):
    name = "thing"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if ctx is not None and ctx.params.get("members"):
            return str(value)  # a kind, and the clusters know theirs
        word = str(value).lower()
        thing = word if word in _THINGS else _WORDS.get(word)
        if thing is None:
            self.fail(f"nothing called {value!r} to list{meant(word, list(_THINGS))}: {', '.join(_THINGS)}", param, ctx)
        return thing

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[click.shell_completion.CompletionItem]:
        return [click.shell_completion.CompletionItem(name) for name in _THINGS if name.startswith(incomplete)]


def _named(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    offer = {
        "clusters": complete.clusters,
        "agents": complete.clusters,
        "policies": complete.policies,
        "bindings": complete.workloads,
        "events": complete.workloads,
    }
    completion = offer.get(ctx.params.get("thing") or "")
    return completion(ctx, param, incomplete) if completion else []


@click.command("get")
@click.argument("thing", type=Thing(), metavar="|".join((*_THINGS, "KIND")))
@click.argument("only", metavar="[NAME]...", nargs=-1, shell_complete=_named)
@options.facts_or_live
@options.credentials
@options.server_or_doors
@parameters.option(
    "-w",
    "--watch",
    shared=False,
    is_flag=True,
    help="Print what changes, as it changes, until interrupted; with --server, or with -C.",
)
@parameters.option("-n", "--namespace", shared=False, metavar="NS", default="", help="Only this namespace.")
@parameters.option(
    "-c",
    "--cluster",
    shared=False,
    metavar="C",
    default="",
    type=complete.CLUSTER,
    shell_complete=complete.clusters,
    help="Only this cluster.",
)
@reached.members
@options.output("text", "wide", "json", "yaml", "name")
@parameters.value("query", ListingQuery)
def command(
    query: ListingQuery,
    inputs: options.Inputs,
    credentials: options.Credentials,
    server: options.Server | None,
    watch: bool,
    members: reached.Members,
    output: options.Output,
) -> int:
    """List things, with kubectl's feel.

    \b
    clusters    members of the fleet: version, state, region, taints
    agents      the agents of pulled clusters, and the members of pools: connected since when, what they hold of what
                they are to know, and when their certificates end; only a hub knows it (--server)
    bindings    where each object goes
    policies    propagation and override policies, and how many objects they take
    problems    what is wrong, as gitfed validate
    works       every object in every cluster; with --live its state there
    orphans     objects in clusters that no policy or file asks for any more (reads the clusters)
    quotas      federated quotas: what is used of them, in all clusters and where a part is assigned
    autoscalers what decides numbers of replicas beside templates: what it decided, and when it decides next
    services    Services across clusters: who provides and who consumes; with --server the endpoints of each
    gates       limits, and what waits for a person's consent (reads the clusters when their credentials resolve)
    events      what happened to objects lately, newest first, in Karmada's words (from the state branch)

    With --server the hub of a running daemon is asked, and no repository or cluster is needed here: it tells what that
    daemon goes by, as far as an AccessPolicy lets you view it. With --live, too, the repository is read here and the
    clusters through the doors of that hub, pulled ones too.

    With -C it is any KIND of Kubernetes, as kubectl lists it in each of these clusters, with the columns CLUSTER and
    ADOPTION (Y for what gitfed applied). They are reached through the doors of the hub at --server, or by the contexts
    of your kubeconfig that have their names.

    \b
    gitfed get clusters -o wide
    gitfed get bindings -n shop
    gitfed get bindings deploy/shop/web
    gitfed get works --live --cluster eu-1
    gitfed get orphans --live --server https://gitfed.example:8443 --kubeconfig hub.conf
    gitfed get events deploy/shop/web
    gitfed get agents --server https://gitfed.example:8443 --kubeconfig hub.conf
    gitfed get pods -C eu-1,us-1 -n shop --server https://gitfed.example:8443
    gitfed get works --watch --server https://gitfed.example:8443 --kubeconfig hub.conf

    \b
    Exit codes: 0 done · 2 bad usage, or nothing of that name · 3 invalid input in the repository · 4 repository, hub
    or a cluster unreachable.
    """
    thing, only, namespace, cluster = query.thing, query.only, query.namespace, query.cluster
    if members.members:
        if cluster:
            raise click.UsageError("-C names the clusters: --cluster is for what gitfed itself tells")
        contexts = reached.contexts(reached.split(members.members), server, credentials)
        words = ["get", thing, *only, *listed.scope(namespace, members.everywhere, members.selector)]
        if watch:
            return listed.follow(contexts, words, output.format)
        return listed.show(contexts, words, output.format, adoption=True)
    if members.everywhere or members.selector:
        raise click.UsageError("--all-namespaces and --selector are about objects in clusters: -C names them")
    if server is not None and (not inputs.live or thing == "agents"):
        from gitfed.cli.commands.look import from_hub

        return from_hub.get(load.hub(server, credentials), query, output, watch=watch)
    if thing == "agents":
        raise UsageError(
            "agents connect to the hub of a running daemon, and only that knows of them",
            hint="--server says where it is",
        )
    if watch:
        raise click.UsageError("--watch follows a running daemon: --server says where its hub is")
    session = load.CommandSession(inputs, credentials, server)
    if thing == "problems":
        problems = validate.problems_of(session)
        validate.show(problems, output, of=validate.contents(session.repo))
        return load.code(problems)
    if thing == "events":
        try:
            listing.show(listing.of("events", listings.events(session, only, namespace, cluster)), output)
        except NothingDecided as nothing:
            listing.show(listing.of("events", ()), output)
            load.note(str(nothing))
        return exits.OK
    fleet = session.observed() if thing == "gates" else session.fleet(live=True if thing == "orphans" else None)
    plan = session.with_in_use(session.plan(fleet), fleet)
    if cluster and cluster not in plan.clusters:
        raise UsageError(f"no cluster {cluster!r}{meant(cluster, list(plan.clusters))}", hint="gitfed get clusters")
    selected = listings.chosen(listings.of(thing, session, fleet, plan, namespace, cluster), only, namespace)
    if thing == "orphans" and output.format in ("text", "wide") and not selected.rows and load.unread_notes(plan):
        click.echo("No orphans found where it could be looked:", err=True)
    else:
        listing.show(selected, output)
    if thing == "works" and fleet.live is None and selected.rows:
        load.note("what is in the clusters was not looked at: --live asks them")
    return exits.first([load.tell_errors(plan.problems), load.tell_unread(plan)])
