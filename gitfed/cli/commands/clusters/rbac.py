"""gitfed rbac"""

from __future__ import annotations

import click

from gitfed.cli import complete, exits, load, options, parameters
from gitfed.cli.commands.look import render
from gitfed.cli.main import meant
from gitfed.errors import UsageError
from gitfed.model.base import Kind
from gitfed.model.declared.access import Subject
from gitfed.text import emit
from gitfed.views import services


@click.command("rbac")
@options.facts
@parameters.option(
    "-c",
    "--cluster",
    shared=False,
    metavar="C",
    required=True,
    type=complete.CLUSTER,
    shell_complete=complete.clusters,
    help="The cluster.",
)
@parameters.option(
    "--service-account",
    "account",
    shared=False,
    metavar="NAME",
    default="",
    help="Whose rights.  [default: gitfed-agent for a pulled cluster, else gitfed]",
)
@parameters.option(
    "-n",
    "--namespace",
    shared=False,
    metavar="NAME",
    default="gitfed-system",
    show_default=True,
    help="Namespace of the account, and of the inventory.",
)
@parameters.option(
    "--only-placed",
    shared=False,
    is_flag=True,
    help="Only kinds that are placed there now may be made; a failover may bring others.",
)
def command(inputs: options.Inputs, cluster: str, account: str, namespace: str, only_placed: bool) -> int:
    """Print the least rights that gitfed needs in a cluster, as RBAC objects to apply there.

    They are those for the kinds that the repository sends to any cluster at this commit, since a failover may bring
    each of them. Apply them anew before a commit that brings another kind; until then objects of that kind fail with a
    message that names it, and all others go on. With --only-placed kinds that go elsewhere are looked for and deleted.
    Whom AccessPolicies let through the hub's door to the cluster, gitfed may act as there; what ResourceRegistries
    select it lists and watches, in a pulled cluster as the user system:gitfed:search. Of what FederatedHPAs scale it
    reads the metrics.

    \b
    gitfed rbac --cluster eu-1 | kubectl --context eu-1 apply -f -
    gitfed register … --cluster-role ""      an agent with no rights but these

    \b
    Exit codes: 0 done · 2 bad usage · 3 invalid input in the repository · 4 the repository cannot be read.
    """
    from gitfed.reading import registries
    from gitfed.registration import least_rights

    session = load.CommandSession(inputs)
    plan = session.plan()
    if cluster not in plan.clusters:
        raise UsageError(f"no cluster {cluster!r}{meant(cluster, list(plan.clusters))}", hint="gitfed get clusters")
    sent = list(render.manifests(plan, cluster))
    everywhere = frozenset(Kind(*key[:2]) for key, classes in plan.rendered.items() if classes)
    kinds = frozenset(Kind(*key[:2]) for key, _ in sent) if only_placed else everywhere
    declared = session.repo.clusters.get(cluster)
    pulled = declared is not None and declared.spec.sync_mode == "Pull"
    if not account:
        account = "gitfed-agent" if pulled else "gitfed"
    bodies = (rendered.body for classes in plan.rendered.values() for rendered in classes)
    shared = bool(services.targets(session.repo, plan))
    scaled = frozenset(Kind(*autoscaler.target[:2]) for autoscaler in session.repo.federated_autoscalers)
    searched: frozenset[Kind] = frozenset()
    callers: list[Subject] = []
    if declared is not None:
        selected = registries.of_cluster(session.repo.registries, declared)
        searched = frozenset(resource.group_kind for resource in selected)
        callers = least_rights.through_the_door(session.repo.access, declared, searched=bool(searched))
    needs = least_rights.Needs(
        kinds, everywhere - kinds, least_rights.defined(bodies), shared, callers, searched, pulled, scaled
    )
    objects = least_rights.objects(needs, account=account, namespace=namespace)
    click.echo("".join(f"---\n{emit.dump(body)}" for body in objects), nl=False)
    if least_rights.grants_rights(kinds):
        load.note("the repository sends Roles or bindings there: with escalate or bind this account can grant anything")
    return exits.first([load.tell(plan.problems)])
