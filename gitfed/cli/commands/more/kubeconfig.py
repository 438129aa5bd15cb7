"""gitfed kubeconfig"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gitfed.cli import load, options, parameters
from gitfed.errors import UsageError
from gitfed.text.values import dataclass

if TYPE_CHECKING:
    from gitfed.client.credential import Credential


@dataclass(frozen=True, slots=True)
class Signed:
    """With --admin: what the new certificate says, and which hub's authority signs it."""

    repo: str
    data_dir: Path | None
    hub_url: str
    user: str
    groups: tuple[str, ...]
    life: float


@click.command("kubeconfig")
@parameters.option(
    "-c",
    "--cluster",
    shared=False,
    metavar="C",
    default="",
    help="For kubectl, through the hub's door to this cluster.",
)
@parameters.option(
    "--fleet", shared=False, is_flag=True, help="For kubectl, through the hub's door to all clusters at a time."
)
@parameters.option(
    "--admin", shared=False, is_flag=True, help="Sign a client certificate with the hub's own authority."
)
@options.server_alone
@parameters.option(
    "--repo",
    metavar="PATH|URL",
    default=".",
    help="With --admin: the repository that the daemon follows.  [default: the one around this folder]",
)
@parameters.option(
    "--data-dir",
    type=parameters.Files(file_okay=False),
    metavar="DIR",
    default=None,
    help="With --admin: the daemon's.  [default: below XDG_STATE_HOME]",
)
@parameters.option(
    "--hub-url",
    metavar="URL",
    default="",
    help="With --admin: where the hub is reached.  [default: what the daemon wrote down]",
)
@parameters.option(
    "--user",
    shared=False,
    metavar="NAME",
    default="admin",
    show_default=True,
    help="The name to sign; what it may do stands in AccessPolicies.",
)
@parameters.option(
    "--group", "groups", shared=False, metavar="NAME", multiple=True, help="A group of it; may be repeated."
)
@parameters.option(
    "--life",
    shared=False,
    type=parameters.Duration(),
    metavar="DURATION",
    default=86400.0,
    help="How long the certificate holds.  [default: 24h]",
)
@parameters.value("signed", Signed)
def command(cluster: str, fleet: bool, admin: bool, server: options.Server | None, signed: Signed) -> int:
    """Print a kubeconfig: for the hub itself, or for kubectl through one of its doors.

    With --admin it holds a new client certificate. This is how an administrator makes the first credential, on the
    daemon's machine, with read access to its data folder. Without, it holds the credential with which you ask the hub
    at --server anyway. Either says who the user is; what they may do, an AccessPolicy in the repository has to say.

    \b
    gitfed kubeconfig --admin --repo /srv/fleet.git > hub.conf
    gitfed kubeconfig --admin --user prometheus --life 720h > prometheus.conf
    gitfed kubeconfig --cluster eu-1 --server https://gitfed.example:8443 --kubeconfig hub.conf > eu-1.conf
    kubectl --kubeconfig eu-1.conf get pods
    gitfed kubeconfig --fleet --server https://gitfed.example:8443 --kubeconfig hub.conf > fleet.conf
    kubectl --kubeconfig fleet.conf get pods --all-namespaces

    \b
    Exit codes: 0 done · 2 bad usage, or no hub has run here · 3 a credential that cannot be used.
    """
    from gitfed.fleet_api import doors
    from gitfed.member_access import contexts
    from gitfed.text import yaml

    if cluster and fleet:
        raise click.UsageError("--cluster is for one cluster, --fleet for all of them")
    if cluster and not doors.may_be_cluster(cluster):
        raise click.UsageError(f"{cluster!r} is no name of a cluster")
    if admin:
        if server is not None:
            raise click.UsageError("--admin signs a new credential: where the hub is, says --hub-url")
        (url, who), user = _sign(signed), signed.user
    elif server is None:
        raise click.UsageError("--server says which hub, or --admin on the daemon's machine")
    else:
        (url, who), user = load.caller(server), "gitfed"
    name = cluster or ("fleet" if fleet else "gitfed")
    contexts.check_secure(url)
    path = doors.of_cluster(cluster) if cluster else doors.of_fleet() if fleet else ""
    click.echo(yaml.dump(contexts.kubeconfig(f"{url}{path}", name, user, who)), nl=False)
    return 0


def _sign(signed: Signed) -> tuple[str, Credential]:
    """Where the hub is, and a new client certificate for it. Raises UsageError."""
    from gitfed.client.credential import Credential
    from gitfed.daemon import wiring
    from gitfed.edges import certificates
    from gitfed.hub import assembly
    from gitfed.model import agent_identity
    from gitfed.model.declared.access import MASTERS

    user, groups = signed.user, signed.groups
    if not 0 < signed.life <= timedelta(days=365).total_seconds():
        raise click.UsageError("--life is at most a year")
    if (
        not user
        or len(user) > certificates.LONGEST_NAME
        or any(len(group) > certificates.LONGEST_NAME for group in groups)
    ):
        raise click.UsageError(f"a name has 1 to {certificates.LONGEST_NAME} characters")
    if any(name.startswith(agent_identity.RESERVED) for name in (user, *groups)):
        raise click.UsageError(f"names that begin with {agent_identity.RESERVED} are for agents: gitfed token create")
    if MASTERS in groups:
        raise click.UsageError(f"no certificate gets the group {MASTERS}: a cluster would let its user do anything")
    folder = assembly.folder(wiring.DaemonOptions(repo=signed.repo, data_dir=signed.data_dir))
    server = signed.hub_url.rstrip("/") or assembly.written_url(folder)
    if not (folder / "ca.crt").exists():
        raise UsageError(
            f"no hub has run with the data folder {folder.parent}",
            hint="start gitfed run --hub-address first, or name its --data-dir",
        )
    if not server.startswith("https://"):
        raise UsageError(
            f"the hub at {server or '?'} has no TLS, so it asks for no certificate",
            hint="start it with --hub-url https://localhost:PORT, or on another address",
        )
    authority = certificates.Authority.open(folder)
    pair = authority.client(user, groups, timedelta(seconds=signed.life))
    return server, Credential(authority.certificate, pair.certificate, pair.key)
