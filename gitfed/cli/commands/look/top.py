"""gitfed top"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from gitfed.cli import complete, exits, load, options, parameters
from gitfed.cli.commands.members import listed, reached
from gitfed.cli.main import meant
from gitfed.cli.output import matrix, structured, table
from gitfed.errors import UsageError
from gitfed.model.fleet import ClusterFacts, FleetSnapshot, NodeFacts, Reach
from gitfed.text.values import dataclass
from gitfed.views import capacity
from gitfed.views.capacity import Utilization

if TYPE_CHECKING:
    from gitfed.member_access.contexts import KubeContext

_THINGS = ("clusters", "nodes", "pods")


class Line(NamedTuple):
    cluster: str
    name: str
    cells: Sequence[str]
    utilization: Mapping[str, Utilization] | None
    item: dict[str, Any]


@dataclass(frozen=True, slots=True)
class TopQuery:
    """What is shown, of which clusters and namespace, in which order."""

    thing: str
    only: tuple[str, ...]
    namespace: str
    sort_by: str


@click.command("top")
@click.argument("thing", type=click.Choice(_THINGS), metavar="|".join(_THINGS))
@click.argument("only", metavar="[CLUSTER]...", nargs=-1, type=complete.CLUSTER, shell_complete=complete.clusters)
@options.facts_or_live
@options.credentials
@parameters.option(
    "--sort-by",
    shared=False,
    type=click.Choice(["name", *capacity.SHOWN]),
    default="name",
    show_default=True,
    help="By name, or the fullest first.",
)
@options.server_or_doors
@reached.members
@parameters.option("-n", "--namespace", shared=False, metavar="NS", default="", help="With -C: only this namespace.")
@options.output("text", "json", "yaml")
@parameters.value("query", TopQuery)
def command(
    query: TopQuery,
    inputs: options.Inputs,
    credentials: options.Credentials,
    server: options.Server | None,
    members: reached.Members,
    output: options.Output,
) -> int:
    """Show how full clusters or their nodes are.

    Each column says what pods ask for of what is there to be asked for: the numbers that placement goes by, not what is
    measured. They come from the facts that decisions are taken from; --live reads the clusters instead, with --server
    through the doors of that hub, pulled ones too. In recorded facts nodes that are alike stand in one line.

    With -C it is what pods or nodes use at this moment, as kubectl top measures it in each of these clusters.

    \b
    gitfed top clusters
    gitfed top pods -C eu-1,us-1 -n shop --server https://gitfed.example:8443
    gitfed top nodes eu-1 --live --sort-by memory
    gitfed top clusters --live --server https://gitfed.example:8443

    \b
    Exit codes: 0 done · 2 bad usage, or no such cluster · 3 invalid input in the repository · 4 repository or a cluster
    unreachable.
    """
    thing, only, namespace, sort_by = query.thing, query.only, query.namespace, query.sort_by
    if members.members:
        words = ["top", thing, *only, *listed.scope(namespace, members.everywhere, members.selector)]
        return _measured(reached.contexts(reached.split(members.members), server, credentials), words, sort_by, output)
    if (
        thing == "pods"
        or members.everywhere
        or members.selector
        or namespace
        or (server is not None and not inputs.live)
    ):
        raise click.UsageError("what is used is asked of clusters: -C names them")
    session = load.CommandSession(inputs, credentials, server)
    fleet = _fleet(session)
    names = sorted(session.repo.clusters.keys() | fleet.clusters.keys())
    for name in only:
        if name not in names:
            raise UsageError(f"no cluster {name!r}{meant(name, names)}", hint="gitfed get clusters")
    chosen = [fleet.clusters.get(name) or ClusterFacts(name, assumed=True) for name in only or names]
    lines = [line for facts in chosen for line in (_cluster(facts) if thing == "clusters" else _nodes(facts))]
    if sort_by != "name":
        lines.sort(key=lambda line: -_fullness(line, sort_by))
    _show(thing, lines, output)
    return exits.first([load.tell_errors(session.repo.problems), _tell(chosen, fleet)])


def _measured(contexts: list[KubeContext], words: list[str], sort_by: str, output: options.Output) -> int:
    if words[1] == "clusters":
        raise click.UsageError("what a cluster uses is the sum of its nodes: gitfed top nodes -C …")
    if output.format != "text" or sort_by not in ("name", "cpu", "memory"):
        raise click.UsageError("what is used comes as text, by name or with --sort-by cpu or memory")
    return listed.show(contexts, [*words, *([f"--sort-by={sort_by}"] if sort_by != "name" else [])], "text")


def _fleet(session: load.CommandSession) -> FleetSnapshot:
    given = session.input_options
    if not given.live or given.fleet is not None:
        return session.fleet(live=False)
    # Whether any policy asks for it or not: a person does.
    return session.observe(capacity=True)


def _cluster(facts: ClusterFacts) -> list[Line]:
    utilization = capacity.of_cluster(facts)
    ready = "assumed" if facts.assumed else {"Ready": "True", "NotReady": "False"}.get(facts.reach.value, "Unknown")
    cells = [
        facts.name,
        ready,
        capacity.nodes_text(capacity.node_count(facts)),
        *capacity.cells(utilization, percent=True),
    ]
    item = {
        "name": facts.name,
        "state": facts.reach.value,
        "assumed": facts.assumed,
        "nodes": {
            "total": sum(node.count for node in facts.nodes),
            "ready": sum(node.count for node in facts.nodes if node.ready),
        },
        "room": capacity.item(utilization),
    }
    return [Line(facts.name, facts.name, cells, utilization, item)]


def _nodes(facts: ClusterFacts) -> list[Line]:
    return sorted((_node(facts.name, node) for node in facts.nodes), key=lambda line: line.name)


def _node(cluster: str, node: NodeFacts) -> Line:
    utilization = capacity.of_node(node)
    taints = [f"{taint.get('key', '')}:{taint.get('effect', '')}" for taint in node.taints]
    marks = [*(["cordoned"] if node.unschedulable else []), *([] if node.ready else ["not ready"]), *taints]
    name = node.name or f"{node.count} alike"
    cells = [cluster, name, *capacity.cells(utilization, percent=True), " ".join(marks) or matrix.NONE]
    item = {
        "cluster": cluster,
        "name": node.name,
        "count": node.count,
        "ready": node.ready,
        "unschedulable": node.unschedulable,
        "labels": dict(node.labels),
        "taints": [dict(taint) for taint in node.taints],
        "room": capacity.item(utilization),
    }
    return Line(cluster, name, cells, utilization, item)


def _fullness(line: Line, name: str) -> int:
    usage = (line.utilization or {}).get(name)
    return -1 if usage is None or usage.percent is None else usage.percent


def _show(thing: str, lines: Sequence[Line], output: options.Output) -> None:
    if output.format in ("json", "yaml"):
        items = [line.item for line in lines]
        structured.echo({"schema": f"gitfed.io/top-{thing}/v1", "items": items}, output.format)
        return
    if output.quiet:
        click.echo(str(len(lines)))
        return
    if not lines:
        click.echo(f"No {thing} found.", err=True)
        return
    heads = [part for name in capacity.SHOWN for part in (name.upper(), f"{name.upper()}%")]
    head = ["NAME", "READY", "NODES", *heads] if thing == "clusters" else ["CLUSTER", "NAME", *heads, "MARKS"]
    for line in table.lines([head, *(line.cells for line in lines)]):
        click.echo(line)


def _tell(chosen: Sequence[ClusterFacts], fleet: FleetSnapshot) -> int:
    """Say of which clusters nothing, or nothing new, is known."""
    looked = {} if fleet.live is None else fleet.live.clusters
    unread = [seen for facts in chosen if (seen := looked.get(facts.name)) is not None and not seen.inventory_read]
    for seen in unread:
        load.note(f"Cluster {seen.name} could not be read: {seen.error}")
    unknown = [facts.name for facts in chosen if facts.resource_summary is None]
    if unknown:
        why = "it is watched once a policy asks for it, and --live reads it now" if fleet.live is None else "not read"
        load.note(f"room of {', '.join(unknown)} is not known: {why}")
    stale = [facts.name for facts in chosen if facts.resource_summary is not None and facts.reach is not Reach.READY]
    if stale:
        load.note(f"{', '.join(stale)}: last known, the cluster cannot be read now")
    for facts in chosen:
        for condition in facts.conditions:
            if condition.type == "CapacityKnown" and condition.status != "True":
                load.note(f"{facts.name}: last known, {condition.message}")
    gone = fleet.live is not None and any(facts.reach is not Reach.READY for facts in chosen)
    return exits.UNREACHABLE if gone or unread else exits.OK
