"""gitfed kubeconfig"""

from __future__ import annotations

import base64
from datetime import timedelta
from pathlib import Path

import click

from gitfed.cli import options
from gitfed.errors import UsageError


@click.command("kubeconfig")
@options.option("--admin", shared=False, is_flag=True, help="Sign a client certificate with the hub's own authority.")
@options.option("--repo", metavar="PATH|URL", default=".",
                help="The repository that the daemon follows.  [default: the one around this folder]")  # fmt: skip
@options.option("--data-dir", type=options.Files(file_okay=False), metavar="DIR", default=None,
                help="The daemon's.  [default: below XDG_STATE_HOME]")  # fmt: skip
@options.option("--hub-url", metavar="URL", default="",
                help="Where the hub is reached.  [default: what the daemon wrote down]")  # fmt: skip
@options.option("--user", shared=False, metavar="NAME", default="admin", show_default=True,
                help="The name to sign; what it may do stands in AccessPolicies.")  # fmt: skip
@options.option("--group", "groups", shared=False, metavar="NAME", multiple=True,
                help="A group of it; may be repeated.")  # fmt: skip
@options.option("--life", shared=False, type=options.Duration(), metavar="DURATION", default=86400.0,
                help="How long the certificate holds.  [default: 24h]")  # fmt: skip
def command(
    admin: bool, repo: str, data_dir: Path | None, hub_url: str, user: str, groups: tuple[str, ...], life: float
) -> int:
    """Print a kubeconfig for the hub: its address, its authority, and a client certificate.

    This is how the first credential is made, on the daemon's machine, by whoever may read its data folder. It says who
    somebody is; what they may do, an AccessPolicy in the repository has to say.

    \b
    gitfed kubeconfig --admin --repo /srv/fleet.git > hub.conf
    gitfed kubeconfig --admin --user prometheus --life 720h > prometheus.conf

    \b
    Exit codes: 0 done · 2 bad usage, or no hub has run here.
    """
    from gitfed.daemon import wiring
    from gitfed.edges import certificates
    from gitfed.hub import assembly
    from gitfed.model import agent_identity
    from gitfed.model.declared.access import MASTERS
    from gitfed.text import yaml

    if not admin:
        raise click.UsageError("--admin is what there is so far: it needs the data folder of the daemon")
    if not 0 < life <= timedelta(days=365).total_seconds():
        raise click.UsageError("--life is at most a year")
    if not user or len(user) > certificates.LONGEST_NAME or any(len(one) > certificates.LONGEST_NAME for one in groups):
        raise click.UsageError(f"a name has 1 to {certificates.LONGEST_NAME} characters")
    if any(one.startswith(agent_identity.RESERVED) for one in (user, *groups)):
        raise click.UsageError(f"names that begin with {agent_identity.RESERVED} are for agents: gitfed token create")
    if MASTERS in groups:
        raise click.UsageError(f"nobody gets the group {MASTERS}: a cluster would let them do anything")
    folder = assembly.folder(wiring.Options(repo=repo, data_dir=data_dir))
    server = hub_url.rstrip("/") or assembly.written_url(folder)
    if not (folder / "ca.crt").exists():
        raise UsageError(f"no hub has run with the data folder {folder.parent}",
                         hint="start gitfed run --hub-address first, or name its --data-dir")  # fmt: skip
    if not server.startswith("https://"):
        raise UsageError(f"the hub at {server or '?'} has no TLS, so it asks for no certificate",
                         hint="start it with --hub-url https://localhost:PORT, or on another address")  # fmt: skip
    authority = certificates.Authority.open(folder)
    pair = authority.client(user, groups, timedelta(seconds=life))
    click.echo(yaml.dump(_document(server, user, authority.certificate, pair)), nl=False)
    return 0


def _document(server: str, user: str, authority: bytes, pair: object) -> dict[str, object]:
    from gitfed.edges import certificates

    assert isinstance(pair, certificates.Pair)
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": "gitfed", "cluster": {"server": server, "certificate-authority-data": _encoded(authority)}}
        ],
        "users": [
            {
                "name": user,
                "user": {
                    "client-certificate-data": _encoded(pair.certificate),
                    "client-key-data": _encoded(pair.key),
                },
            }
        ],
        "contexts": [{"name": "gitfed", "context": {"cluster": "gitfed", "user": user}}],
        "current-context": "gitfed",
    }


def _encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()
