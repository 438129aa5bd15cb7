"""gitfed promote"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import click

from gitfed.cli import complete, desired, load, options, parameters
from gitfed.cli.commands.clusters import cluster_session
from gitfed.cli.output import plain
from gitfed.errors import NotThere, UsageError
from gitfed.text import emit
from gitfed.text.values import dataclass
from gitfed.views import names

if TYPE_CHECKING:
    from gitfed.edges.kube.connection.session import Session
    from gitfed.edges.kube.discovery import Discovery, Resource
    from gitfed.model.base import Body


@dataclass(frozen=True, slots=True)
class Promoted:
    """The object that is meant, and whether what it refers to comes along."""

    words: tuple[str, ...]
    namespace: str
    dependencies: bool


@dataclass(frozen=True, slots=True)
class Policy:
    """Whether a policy is written that leaves the object where it is, and its name."""

    auto_create_policy: bool
    policy_name: str


@click.command("promote")
@click.argument("words", metavar="KIND NAME | KIND/[NS/]NAME", nargs=-1, required=True)
@parameters.option(
    "-n", "--namespace", shared=False, metavar="NS", default="", help="Namespace of the object.  [default: default]"
)
@parameters.option(
    "-C",
    "--cluster",
    shared=False,
    metavar="CLUSTER",
    required=True,
    help="Where it runs now.",
    type=complete.CLUSTER,
    shell_complete=complete.clusters,
)
@parameters.option("-d", "--dependencies", shared=False, is_flag=True, help="Take what it refers to along.")
@parameters.option(
    "--auto-create-policy/--no-auto-create-policy",
    shared=False,
    default=True,
    show_default=True,
    help="Write a policy that keeps it on CLUSTER.",
)
@parameters.option(
    "--policy-name", shared=False, metavar="NAME", default="", help="Its name.  [default: in-CLUSTER-NAME]"
)
@parameters.option("--into", shared=False, metavar="FOLDER", default="", help="Folder of the repository for the files.")
@parameters.option(
    "-o",
    "--output",
    "shown",
    shared=False,
    type=click.Choice(["yaml"]),
    default=None,
    help="Print the files, and write nothing.",
)
@options.credentials
@desired.writing
@parameters.value("promoted", Promoted)
@parameters.value("policy", Policy)
def command(
    promoted: Promoted,
    cluster: str,
    policy: Policy,
    into: str,
    shown: str | None,
    credentials: options.Credentials,
    writing: desired.WriteOptions,
) -> int:
    """Take one object that runs in CLUSTER into the repository, with a policy that leaves it where it is.

    KIND is a kind, its plural or short name, with or without its group. An object as it is printed, shop/Deploy/web or
    Deployment.apps/shop/web, is understood too. Server fields and defaults are taken out. The cluster is not touched:
    with the policy's conflictResolution: Overwrite the object becomes gitfed's at the next apply.

    \b
    gitfed promote deployment web -n shop -C eu-1 -d
    gitfed promote deploy/shop/web -C eu-1
    gitfed promote certificates.cert-manager.io web -n shop -C eu-1 -o yaml

    \b
    Exit codes: 0 done, also when the repository has it already · 2 bad usage, or the policy exists · 4 the cluster
    cannot be reached, or has no such object.
    """
    from gitfed.migration import layout, member, template

    checkout = desired.open_checkout(writing.repo)
    checkout.cluster(cluster)
    readings = _readings(promoted.words, promoted.namespace)
    resource, bodies = asyncio.run(_read(checkout, readings, cluster, promoted.dependencies, credentials))
    namespace, name = str(bodies[0]["metadata"].get("namespace") or ""), str(bodies[0]["metadata"]["name"])
    where = f"{namespace}/{name}" if resource.namespaced else name
    subject = f'Resource "{resource.plural}.{_group_version(resource)}"({where})'
    if reason := template.why_not(bodies[0]):
        raise UsageError(f"{subject} is nothing that a person wrote ({reason})", hint="promote what it was made from")
    declared = {(key.group, key.kind, key.namespace, key.name) for key in checkout.repo.manifests}
    if _key(bodies[0]) in declared:
        load.note(f"{subject} is in the repository already; nothing was done")
        return 0
    templates, findings = member.templates_of(
        [body for body in bodies if _key(body) not in declared], with_secrets=bodies[0]["kind"] == "Secret"
    )
    for finding in findings:
        load.note(f"{finding.subject} is left out: {finding.message}")
    made = templates
    if policy.auto_create_policy:
        policies = member.policies(templates, cluster, policy.policy_name or _policy_name(cluster, name))
        for made_policy in policies:
            path, metadata = layout.path_of(made_policy), made_policy["metadata"]
            place = (made_policy["kind"], metadata.get("namespace", ""), metadata["name"])
            exists = any(
                (declared_policy.kind, declared_policy.metadata.namespace, declared_policy.metadata.name) == place
                for declared_policy in checkout.repo.propagation
            )
            if exists or checkout.text(path) is not None:
                raise UsageError(
                    f"{place[0]} {plain.clean('/'.join(filter(None, place[1:])))} exists already",
                    hint="--policy-name NAME, or --no-auto-create-policy",
                )
        made = [*templates, *policies]
    files = layout.files(made, into)
    if shown:
        click.echo(emit.dump_many([body for bodies in files.values() for body in bodies]), nl=False)
        return 0
    for path, documents in files.items():
        if checkout.text(path) is not None:
            raise UsageError(f"{path} exists already; nothing was written", hint="choose another folder with --into")
        checkout.put(path, emit.dump_many(documents))
    desired.finish(checkout, f"Promote {where} of {cluster}", writing)
    click.echo(f"{plain.clean(subject)} is promoted successfully", err=bool(writing.dry_run))
    return 0


async def _read(
    checkout: desired.Checkout,
    readings: Sequence[_Reading],
    cluster: str,
    dependencies: bool,
    credentials: options.Credentials,
) -> tuple[Resource, list[Body]]:
    """The object, and after it what it refers to as far as it is there. `readings`: of what a person typed; the
    first whose kind the cluster serves counts."""
    from gitfed import errors
    from gitfed.edges.kube.discovery import Discovery
    from gitfed.model.base import Kind

    way = cluster_session.KubeconfigContext()
    async with cluster_session.opened(checkout, cluster, way, credentials) as session:
        discovery = Discovery(session)
        resource, (_, namespace, name) = await _resource(discovery, readings, cluster)
        try:
            body = await session.json("GET", resource.path(namespace, name))
        except errors.ObjectNotFound as error:
            raise NotThere(f"cluster {cluster} has no {resource.kind} {name}", hint="check -n and the name") from error
        bodies: list[Body] = [body]
        if dependencies:
            for dependency in _dependencies(body):
                api_version, metadata = str(dependency["apiVersion"]), dependency["metadata"]
                needed_resource = await discovery.resource(
                    Kind(api_version.rpartition("/")[0], str(dependency["kind"])), api_version
                )
                bodies += await _if_there(
                    session, needed_resource.path(str(metadata.get("namespace") or ""), str(metadata["name"]))
                )
        return resource, bodies


async def _if_there(session: Session, path: str) -> list[Body]:
    from gitfed import errors

    try:
        return [await session.json("GET", path)]
    except errors.ObjectNotFound:
        return []


class _Reading(NamedTuple):
    """One reading of what a person typed."""

    kind: str
    namespace: str
    name: str


def _readings(words: Sequence[str], namespace: str) -> list[_Reading]:
    """`KIND NAME`, `KIND/[NS/]NAME`, or `NS/KIND/NAME` as objects are shown. Raises UsageError."""
    usual = namespace or "default"
    if len(words) == 2 and not any("/" in word for word in words):
        return [_Reading(words[0], usual, words[1])]
    parts = words[0].split("/")
    if len(words) != 1 or len(parts) not in (2, 3) or not all(parts):
        raise UsageError(
            f"{' '.join(words)!r} does not name an object", hint="KIND NAME or KIND/[NS/]NAME, e.g. deploy/shop/web"
        )
    if len(parts) == 2:
        return [_Reading(parts[0], usual, parts[1])]
    return [_Reading(parts[0], parts[1], parts[2]), _Reading(parts[1], parts[0], parts[2])]


async def _resource(discovery: Discovery, readings: Sequence[_Reading], cluster: str) -> tuple[Resource, _Reading]:
    """By kind, plural or short name, or one of them with its group. Raises UsageError."""
    resources, _ = await discovery.preferred()
    for reading in readings:
        fitting = [
            resource
            for resource in resources
            if resource.kind != "Event"
            and names.is_kind(reading.kind, _group(resource), resource.kind, resource.plural)
        ]
        if len({_group(resource) for resource in fitting}) > 1:
            listed = ", ".join(sorted(f"{resource.plural}.{_group(resource)}" for resource in fitting))
            raise UsageError(f"{reading.kind} may mean {listed}", hint="write the group too")
        if fitting:
            return fitting[0], reading
    raise UsageError(f"cluster {cluster} serves no kind {readings[0].kind!r}", hint="write it as kind or kind.group")


def _dependencies(body: Body) -> list[Body]:
    from gitfed.interpret.native import Native
    from gitfed.interpret.registry import Interpreter

    answer = Interpreter((Native(),)).dependencies(body)
    value = getattr(answer, "value", ())
    return [
        {
            "apiVersion": reference["apiVersion"],
            "kind": reference["kind"],
            "metadata": {"name": reference["name"], "namespace": reference.get("namespace") or ""},
        }
        for reference in value or ()
        if reference.get("name")
    ]


def _key(body: Body) -> tuple[str, str, str, str]:
    metadata = body["metadata"]
    group = str(body["apiVersion"]).rpartition("/")[0]
    return group, str(body["kind"]), str(metadata.get("namespace") or ""), str(metadata["name"])


def _group(resource: Resource) -> str:
    return resource.api_version.rpartition("/")[0]


def _group_version(resource: Resource) -> str:
    """As Karmada prints it: `version.group`, or the version alone for the core group."""
    group, _, version = resource.api_version.rpartition("/")
    return f"{version}.{group}" if group else version


def _policy_name(cluster: str, name: str) -> str:
    return f"in-{cluster}-{name}".replace(":", "-").lower()[:63].rstrip("-.")
