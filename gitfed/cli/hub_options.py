"""The options of a hub: where it listens, what it is known by, and whom it lets in."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import click

from gitfed.cli.parameters import Command, Duration, Files, gathered, option

_HUB = (
    option("--hub-address", metavar="HOST:PORT", default="",
           help="Where the hub listens: metrics, and whatever else asks gitfed.  [default: nowhere]"),
    option("--hub-url", metavar="URL", default="",
           help="Where others reach the hub.  [default: its address]"),
    option("--hub-tls-dir", type=Files(exists=True, file_okay=False), metavar="DIR",
           help="Folder with tls.crt and tls.key, such as a mounted Secret; read again when renewed.  "
           "[default: a certificate of the hub's own authority; none on a loopback address]"),
    option("--agent-certificate-life", type=Duration(), metavar="DURATION", default="720h", show_default=True,
           help="How long the certificate of a registered agent counts; it is renewed when a fifth is left."),
    option("--oidc-issuer-url", metavar="URL", default="", help="Accept tokens of this OpenID Connect issuer."),
    option("--oidc-client-id", metavar="ID", default="", help="The audience that its tokens must be for."),
    option("--oidc-username-claim", metavar="CLAIM", default="sub", show_default=True,
           help="The claim that is the user's name."),
    option("--oidc-groups-claim", metavar="CLAIM", default="groups", show_default=True,
           help="The claim that lists the user's groups."),
    option("--oidc-ca-file", type=Files(exists=True, dir_okay=False), metavar="FILE",
           help="Certificates to trust the issuer by.  [default: the machine's]"),
    option("--hook-secret-file", type=Files(exists=True, dir_okay=False), metavar="FILE",
           help="Let forges tell of pushes at /hooks/github, gitlab, gitea, forgejo, bitbucket or generic; the secret "
           "that they sign with, one a line while it is replaced.  [default: no hooks, the repository is polled]"),
    option("--oidc-client-secret-file", type=Files(exists=True, dir_okay=False), metavar="FILE",
           help="The client secret, where the issuer wants one to log in a browser."),
)  # fmt: skip


def hub(command: Command) -> Command:
    """--hub-address, --hub-tls-dir, --oidc-issuer-url, … → `hub: hub.options.HubOptions | None`."""
    return gathered(command, "hub", _HUB, _hub)


def _hub(values: Mapping[str, Any]) -> Any:
    from gitfed.edges import oidc
    from gitfed.hub import options

    if bool(values["oidc_issuer_url"]) != bool(values["oidc_client_id"]):
        raise click.UsageError("--oidc-issuer-url and --oidc-client-id need each other")
    if not values["hub_address"]:
        for name in ("hub_url", "hub_tls_dir", "oidc_issuer_url", "hook_secret_file"):
            if values[name]:
                raise click.UsageError(f"--{name.replace('_', '-')} is about the hub: --hub-address says where it is")
        return None
    host, port = options.address(values["hub_address"])
    issuer = None
    if values["oidc_issuer_url"]:
        issuer = oidc.OidcSettings(
            values["oidc_issuer_url"],
            values["oidc_client_id"],
            values["oidc_username_claim"],
            values["oidc_groups_claim"],
            values["oidc_ca_file"],
            values["oidc_client_secret_file"],
        )
    life = timedelta(seconds=values["agent_certificate_life"])
    if not timedelta(hours=1) <= life <= timedelta(days=365):
        raise click.UsageError("--agent-certificate-life is an hour at least, and a year at most")
    return options.HubOptions(
        host, port, values["hub_url"], values["hub_tls_dir"], issuer, life, values["hook_secret_file"]
    )
