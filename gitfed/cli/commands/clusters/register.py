"""gitfed register"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from gitfed import __version__
from gitfed.cli import desired, options, parameters
from gitfed.cli.commands.clusters import cluster_session, declaration, join
from gitfed.cli.commands.clusters.cluster_session import KubeconfigContext
from gitfed.cli.output import plain
from gitfed.errors import UsageError
from gitfed.text import emit
from gitfed.text.values import dataclass

if TYPE_CHECKING:
    from gitfed.edges.kube.connection.session import Session
    from gitfed.registration.agent_manifests import Agent
    from gitfed.registration.enrol import RegistrationRequest

IMAGE = f"registry.example/gitfed:{__version__}"
"""An agent of another version than the hub may be refused: that of who registers is the best guess."""
_NO_TOKEN = "--token is to be what gitfed token create printed: six characters, a dot, sixteen"  # noqa: S105


AGENT_NAMESPACE = parameters.option(
    "-n",
    "--namespace",
    shared=False,
    metavar="NAME",
    default="gitfed-system",
    show_default=True,
    help="Where the agent lives.",
)


@dataclass(frozen=True, slots=True)
class TrustedHub:
    """Where the hub is, what it is known by, and the token that lets an agent register there."""

    hub: str
    token: str
    pins: str
    unsafe: bool
    discovery_timeout: float


@dataclass(frozen=True, slots=True)
class NewAgent:
    """Who registers: the agent of a cluster, or members of a pool."""

    pool: str
    hub_credentials: Path | None
    cluster_name: str
    namespace: str
    cluster_role: str
    agent_image: str


@dataclass(frozen=True, slots=True)
class Declared:
    """The file of the cluster, and whether it is proposed as a branch."""

    file: str
    pull_request: bool


@click.command("register")
@click.argument("hub", metavar="HOST:PORT")
@parameters.option("--token", shared=False, metavar="TOKEN", default="", help="What gitfed token create printed.")
@parameters.option(
    "--discovery-token-ca-cert-hash",
    "pins",
    shared=False,
    metavar="sha256:HEX[,...]",
    default="",
    help="The pin of the hub's authority; any one of several is enough.",
)
@parameters.option(
    "--discovery-token-unsafe-skip-ca-verification",
    "unsafe",
    shared=False,
    is_flag=True,
    help="Trust whatever server answers at HOST:PORT, and give it the token.",
)
@parameters.option(
    "--discovery-timeout",
    shared=False,
    type=parameters.Duration(),
    metavar="DURATION",
    default="5m",
    show_default=True,
    help="How long the hub is waited for.",
)
@parameters.option(
    "--pool", shared=False, metavar="NAME", default="", help="Register the members of this pool, in place of a cluster."
)
@parameters.option(
    "--hub-credentials",
    shared=False,
    type=parameters.Files(file_okay=False),
    metavar="DIR",
    default=None,
    help="With --pool: folder that gets what its members are known by.",
)
@parameters.option(
    "--cluster-name",
    shared=False,
    metavar="NAME",
    default="",
    help="What the cluster is called in the fleet.  [default: --cluster-context]",
)
@cluster_session.way(about="An administrator's kubeconfig of the cluster.")
@AGENT_NAMESPACE
@parameters.option(
    "--cluster-role",
    shared=False,
    metavar="NAME",
    default="cluster-admin",
    show_default=True,
    help='ClusterRole of the agent; "" for none: gitfed rbac makes the least one.',
)
@declaration.PROVIDER
@declaration.REGION
@declaration.ZONES
@parameters.option(
    "--agent-image", shared=False, metavar="IMAGE", default=IMAGE, show_default=True, help="Of the agent."
)
@parameters.option(
    "--file", shared=False, metavar="PATH", default="", help="File of the declaration.  [default: clusters/NAME.yaml]"
)
@options.ALLOW_EXEC
@parameters.option(
    "--pull-request",
    shared=False,
    is_flag=True,
    help="Push the file as branch gitfed/register-NAME, and say where its pull request is opened.",
)
@desired.writing_into("with --commit or --pull-request the one around this folder, else none")
@parameters.value("trusted", TrustedHub)
@parameters.value("new", NewAgent)
@parameters.value("topology", declaration.Topology)
@parameters.value("declared", Declared)
def command(
    trusted: TrustedHub,
    new: NewAgent,
    way: KubeconfigContext,
    topology: declaration.Topology,
    declared: Declared,
    allow_exec_credentials: bool,
    writing: desired.WriteOptions,
) -> int:
    """Bring a cluster into the fleet that only an agent inside of it can reach, or members of a pool.

    Run it where the cluster's API server is reached. The agent gets a certificate of the hub at HOST:PORT, for this
    cluster alone, and dials out to it. The file of the cluster is printed, or with --repo or --commit written into a
    checkout, or with --pull-request pushed as a branch; a cluster whose file is there already is held against its
    spec.id. Cut short, the same command goes on where it was.

    With --pool nothing is made in any cluster: ca.crt, tls.crt and tls.key are put into --hub-credentials, for gitfed
    agent --pool, or for a Secret that its pods mount.

    \b
    gitfed register hub.example:8443 --token ab12cd.0123456789abcdef \\
      --discovery-token-ca-cert-hash sha256:… --cluster-name edge-7 --cluster-kubeconfig admin.conf
    gitfed register … --dry-run client       print what would be made, and contact no server
    gitfed register … --pool east --hub-credentials pool-east

    \b
    Exit codes: 0 done · 2 bad usage, another agent is there, or the file is another cluster's · 4 the hub, the cluster
    or the repository cannot be reached, or the hub refuses.
    """
    from gitfed.hub.enrolment import bootstrap_tokens
    from gitfed.model import agent_identity
    from gitfed.registration.agent_manifests import Agent
    from gitfed.registration.enrol import RegistrationRequest

    pull_request = declared.pull_request
    if new.pool or new.hub_credentials is not None:
        of_a_cluster = new.cluster_name or way.context or way.kubeconfig or pull_request
        if of_a_cluster or writing.repo or writing.commit or writing.dry_run:
            raise click.UsageError("--pool and --hub-credentials are for members of a pool, and make no cluster's file")
        return _register_pool(new.pool, new.hub_credentials, trusted)
    name = new.cluster_name or way.context
    if not name:
        raise click.UsageError("what is the cluster called? --cluster-name NAME")
    if why := agent_identity.why_not_a_name(name):
        raise click.UsageError(f"the cluster name {name} {why}")
    if not writing.dry_run and bootstrap_tokens.parse(trusted.token) is None:
        raise click.UsageError(_NO_TOKEN)
    pinned = _pins(trusted, needed=not writing.dry_run)
    body = declaration.document({"name": name}, {"syncMode": "Pull"} | topology.spec())
    if pull_request and (writing.commit or writing.dry_run):
        raise click.UsageError(f"--pull-request and --{'commit' if writing.commit else 'dry-run'} exclude each other")
    checkout = desired.open_checkout(writing.repo) if writing.repo or writing.commit or pull_request else None
    if checkout is not None:
        _check_declared(checkout, name)
    if checkout is not None and pull_request:
        desired.check_proposes(checkout)
    agent = Agent(name, _address(trusted.hub), new.namespace, new.agent_image, role=new.cluster_role)
    if writing.dry_run:
        _print(agent)
    else:
        if way.kubeconfig is None:
            raise click.UsageError("how is the cluster reached? --cluster-kubeconfig FILE")
        request = RegistrationRequest(agent, trusted.token, pinned, trusted.discovery_timeout)
        member = functools.partial(
            cluster_session.by_kubeconfig, way.kubeconfig, name, way.context, allow_exec=allow_exec_credentials
        )
        body["spec"]["id"] = asyncio.run(_register(member, request, checkout))
    if checkout is None:
        click.echo(("---\n" if writing.dry_run else "") + emit.dump(body), nl=False)
    else:
        _declare(checkout, body, declared.file or f"clusters/{name}.yaml")
        if pull_request:
            desired.propose(checkout, writing.message or f"Register {name}", f"gitfed/register-{name}")
        else:
            desired.finish(checkout, f"Register {name}", writing)
    if not writing.dry_run:
        if checkout is None:
            click.echo(f"Next: commit what was printed, as clusters/{plain.clean(name)}.yaml", err=True)
        click.echo(f"cluster({plain.clean(name)}) is joined successfully", err=checkout is None)
    return 0


async def _register(
    member: Callable[[], Session], request: RegistrationRequest, checkout: desired.Checkout | None
) -> str:
    """The cluster's id. Nothing is made for one that the checkout knows as another."""
    from gitfed.offline import joining
    from gitfed.registration import enrol

    name = request.agent.cluster
    async with member() as session:
        identity = await joining.identity(session)
        if checkout is not None:
            join.check_identity(checkout, identity, name)
        await enrol.register(session, request, lambda line: click.echo(plain.clean(line), err=True))
    return identity


def _register_pool(pool: str, folder: Path | None, trusted: TrustedHub) -> int:
    from gitfed.edges import files, signing_request
    from gitfed.hub.enrolment import bootstrap_tokens
    from gitfed.model import agent_identity
    from gitfed.registration import enrol

    hub, pins = _address(trusted.hub), _pins(trusted, needed=True)
    if not pool or folder is None:
        raise click.UsageError("--pool NAME and --hub-credentials DIR go together")
    if why := agent_identity.why_not_a_pool(pool):
        raise click.UsageError(f"the pool name {pool} {why}")
    if bootstrap_tokens.parse(trusted.token) is None:
        raise click.UsageError(_NO_TOKEN)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = folder / "tls.key"
        # Kept before it is used: with the same key the same token works again.
        key = path.read_bytes() if path.exists() else signing_request.new_key()
        files.write_atomically(path, key, durable=True)
        identity = asyncio.run(enrol.join_pool(pool, hub, trusted.token, pins, trusted.discovery_timeout, key=key))
        files.write_atomically(folder / "ca.crt", identity.authorities, durable=True)
        files.write_atomically(folder / "tls.crt", identity.certificate, durable=True)
    except OSError as error:
        raise UsageError(f"{folder} cannot be written: {error.strerror}", hint="another --hub-credentials") from error
    click.echo(f"pool({plain.clean(pool)}) is registered: its members use {plain.clean(str(folder))}")
    return 0


def _check_declared(checkout: desired.Checkout, name: str) -> None:
    if name in checkout.repo.clusters and checkout.cluster(name).spec.sync_mode != "Pull":
        raise UsageError(
            f"cluster {name} is declared already, with syncMode Push: {checkout.origin(name).path}",
            hint="choose another --cluster-name, or change the file first",
        )


def _declare(checkout: desired.Checkout, declared: dict[str, Any], path: str) -> None:
    """The file; of a cluster that has one already its id alone, where that is missing."""
    name, identity = declared["metadata"]["name"], declared["spec"].get("id")
    if name not in checkout.repo.clusters:
        checkout.put(path, emit.dump(declared))
    elif identity and not checkout.cluster(name).spec.id:
        checkout.edit_cluster(name, lambda document: document["spec"].update(id=identity))


def _pins(trusted: TrustedHub, *, needed: bool) -> tuple[str, ...]:
    from gitfed.edges import certificate_pins

    pins = tuple(part.strip() for part in trusted.pins.split(",") if part.strip())
    for pin in pins:
        if why := certificate_pins.why_not_a_pin(pin):
            raise click.UsageError(f"--discovery-token-ca-cert-hash: {pin} {why}")
    if pins and trusted.unsafe:
        raise click.UsageError("--discovery-token-unsafe-skip-ca-verification and a pin exclude each other")
    if needed and not pins and not trusted.unsafe:
        raise UsageError(
            "how is the hub known? --discovery-token-ca-cert-hash sha256:HEX",
            hint="gitfed token create --print-register-command prints it; without a pin any server could "
            "answer: --discovery-token-unsafe-skip-ca-verification accepts that",
        )
    return pins


def _address(text: str) -> str:
    try:
        parts = urlsplit(f"//{text}")
        if parts.hostname and parts.port and parts.netloc == text and "@" not in text:
            return text
    except ValueError:
        pass
    raise click.UsageError(f"{text!r} is not HOST:PORT")


def _print(agent: Agent) -> None:
    from gitfed.registration import agent_manifests
    from gitfed.registration.agent_manifests import AgentCredentials

    shown = agent_manifests.secret(agent, AgentCredentials(b""), shown=True)
    for body in (agent_manifests.namespace(agent), shown, *agent_manifests.workload(agent)):
        click.echo(f"---\n{emit.dump(body)}", nl=False)
