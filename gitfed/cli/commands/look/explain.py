"""gitfed explain"""

from __future__ import annotations

from collections.abc import Iterator

import click

from gitfed.cli import complete, exits, load, options, parameters
from gitfed.cli.main import meant
from gitfed.cli.output import explain_numbers, formatting, matrix, plain, structured, table
from gitfed.cli.output.table import Cell
from gitfed.errors import UsageError
from gitfed.offline import inputs as preview_inputs
from gitfed.views import clusters, explanations, names, policies
from gitfed.views.autoscalers import ScaledView
from gitfed.views.explanations import ExplanationView, Loser
from gitfed.views.value import PolicyName


@click.command("explain")
@click.argument("what", metavar="KIND/[NS/]NAME", shell_complete=complete.workloads)
@options.facts_or_live
@options.credentials
@options.server_or_doors
@parameters.option(
    "-c",
    "--cluster",
    "only",
    shared=False,
    metavar="C",
    default="",
    type=complete.CLUSTER,
    shell_complete=complete.clusters,
    help="Only this cluster.",
)
@parameters.option(
    "-n", "--namespace", shared=False, metavar="NS", default="", help="Namespace, when WHAT does not name it."
)
@options.output("text", "json", "yaml")
def command(
    what: str,
    inputs: options.Inputs,
    credentials: options.Credentials,
    server: options.Server | None,
    only: str,
    namespace: str,
    output: options.Output,
) -> int:
    """Say why an object goes where it goes: the policy that took it and those that lost, each cluster's reason and
    share, the overrides that hit, with files and lines.

    KIND may be a kind, its plural or kubectl's short name, with or without its group. An object as it is printed,
    shop/Deploy/web, is understood too, by every command that takes one.

    \b
    gitfed explain deploy/shop/web
    gitfed explain deployment.apps/web -n shop --cluster eu-1
    gitfed explain ns/shop -o json
    gitfed explain deploy/shop/web --server https://gitfed.example:8443

    \b
    Exit codes: 0 done · 2 no such object or cluster · 3 invalid input in the repository · 4 repository, hub or a
    cluster unreachable.
    """
    if server is not None and not inputs.live:
        from gitfed.client import lists

        _show(lists.explanation(load.hub(server, credentials), what, namespace, only), output)
        return exits.OK
    session = load.CommandSession(inputs, credentials, server)
    fleet = session.fleet()
    past = session.decisions(fleet)
    plan = session.with_in_use(session.plan(fleet, past), fleet)
    key = names.find(what, plan.bindings, namespace=namespace)
    if only and only not in plan.clusters:
        raise UsageError(f"no cluster {only!r}{meant(only, list(plan.clusters))}", hint="gitfed get clusters")
    candidates = clusters.candidates(session.repo, fleet.clusters, plan)
    turn = None
    if plan.wanted(key).terms.divided:
        turn = preview_inputs.turn_of(session.repo, fleet, past, key, session.input_options.now)
    shown = explanations.explain(
        key, plan, session.repo, candidates, past.bindings.get(key), lambda name: not only or name == only, turn
    )
    _show(shown, output)
    about = [problem for problem in plan.problems if problem.origin.path == plan.bindings[key].origin.path]
    return exits.first([load.tell(about), load.tell_unread(plan)])


# -- printing ---------------------------------------------------------------------------------------------------


def _show(shown: ExplanationView, output: options.Output) -> None:
    if output.format in ("json", "yaml"):
        structured.echo(shown, output.format)
        return
    for line in lines(shown, output.paint, quiet=output.quiet, width=output.fold):
        click.echo(line, color=True)


def lines(
    shown: ExplanationView, paint: plain.Paint, *, quiet: bool = False, width: int | None = None
) -> Iterator[str]:
    resource = shown["binding"]["resource"]
    key = names.of(resource)
    yield paint.strong(plain.clean(f"{names.shown(key)}   {resource['apiVersion']} {key.kind}"))
    yield from table.lines([[Cell(f"  {name}", paint.faint), text] for name, text in _about(shown)], width=width)
    if quiet:
        return
    if shown["clusters"]:
        yield paint.strong("Clusters")
        yield from table.lines(_clusters(shown, paint), indent=2, width=width)
    if shown["placement"] is not None:
        yield from explain_numbers.lines(shown["placement"], paint, width=width)
    if shown["overrides"]:
        yield paint.strong("Changed on the way")
        rows = [
            [edit["by"], edit["what"], formatting.some(edit["clusters"]), edit["origin"]] for edit in shown["overrides"]
        ]
        yield from table.lines(rows, indent=2, width=width)
    if shown["changes"]:
        yield paint.strong("In the clusters")
        changes = [[change["cluster"], change["action"], change["reason"]] for change in shown["changes"]]
        yield from table.lines(changes, indent=2, width=width)


def _about(shown: ExplanationView) -> Iterator[tuple[str, str]]:
    binding, policy, decided = shown["binding"], shown["binding"]["policy"], shown["decided"]
    held = f" held at {shown['held'][:7]}, for its file has errors" if shown["held"] else ""
    origin = binding["origin"]
    yield "Template", f"{origin}{held}" if shown["declared"] else f"needed by {origin}, declared by no file"
    if policy is not None:
        yield "Policy", _policy(policy, shown["policyOrigin"])
    else:
        yield "Policy", "none needed" if shown["needsNoPolicy"] else "none: no policy selects it"
    for loser in shown["losers"]:
        yield "  not", _policy(loser, loser["origin"])
    replicas, was = binding["replicas"], decided["replicas"] if decided is not None else None
    if replicas is not None:
        yield "Replicas", f"{was} → {replicas}" if was not in (None, replicas) else str(replicas)
    if (scaled := shown["scaled"]) is not None:
        yield "Scaled", _scaled(scaled)
    if binding["affinityName"]:
        yield "Affinity", binding["affinityName"]
    if (condition := binding["condition"]) is not None:
        yield "Scheduled", f"{condition['status']}: {condition['reason']}: {condition['message']}"
    if binding["why"]:
        yield "Why", binding["why"]
    for reason in dict.fromkeys(cluster["reason"] for cluster in binding["kept"]):
        names_of = [cluster["name"] for cluster in binding["kept"] if cluster["reason"] == reason]
        yield "Stays", f"{formatting.some(names_of)}{f': {reason}' if reason else ''}"
    if (waits := binding["held"]) is not None:
        where = formatting.some([cluster["name"] for cluster in waits["clusters"]]) or "nowhere"
        yield "Held", f"gate {waits['gate']}: {where} ({waits['why']}) when a person consents"
    if (descheduled := binding["descheduled"]) is not None:
        yield "Descheduled", f"{descheduled['at']}: {descheduled['message']}"


def _scaled(scaled: ScaledView) -> str:
    by = policies.typed(scaled["kind"], scaled["namespace"], scaled["name"])
    rule = f", rule {scaled['rule']}" if scaled["rule"] else f" ({scaled['why']})" if scaled["why"] else ""
    since = f", since {scaled['at']}" if scaled["at"] else ""
    return f"to {scaled['replicas']} by {by}{rule}{since}; its template's {scaled['declared']} is where it starts from"


def _policy(policy: PolicyName | Loser, origin: str | None) -> str:
    name = policies.typed(policy["kind"], policy["namespace"], policy["name"])
    return f"{name} in {origin}" if origin else name


def _clusters(shown: ExplanationView, paint: plain.Paint) -> list[list[Cell | str]]:
    was_decided, numbers = shown["decided"] is not None, shown["placement"]
    rejected = {item["name"]: item["rejected"] for item in numbers["clusters"]} if numbers is not None else {}
    rooms = any(cluster["free"] for cluster in shown["clusters"])
    head = ["CLUSTER", "SHARE", "REGION", "STATE", "TAINTS", *(["FREE"] if rooms else []), "WHY"]
    rows: list[list[Cell | str]] = [[Cell(title, paint.faint) for title in head]]
    for cluster in shown["clusters"]:
        before, why = cluster["before"], cluster["reason"]
        share = matrix.text(
            before["replicas"], cluster["replicas"], was=before["chosen"], is_=cluster["chosen"], known=was_decided
        )
        room: list[Cell | str] = [cluster["free"] or matrix.NONE] if rooms else []
        rows.append(
            [
                cluster["name"],
                Cell(share, paint.added if cluster["chosen"] else paint.faint),
                cluster["region"] or matrix.NONE,
                cluster["state"] + (" (assumed)" if cluster["assumed"] else ""),
                " ".join(cluster["taints"]) or matrix.NONE,
                *room,
                # The plan keeps one reason for each cluster; several filters may stand in the way.
                "; ".join(reasons) if why in (reasons := rejected.get(cluster["name"], [])) else why,
            ]
        )
    return rows
