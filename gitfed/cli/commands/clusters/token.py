"""gitfed token create, gitfed token list and gitfed token delete"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar
from urllib.parse import urlsplit

import click

from gitfed.cli import complete, parameters
from gitfed.cli.output import plain, table
from gitfed.errors import NotThere, UsageError
from gitfed.text.values import dataclass

if TYPE_CHECKING:
    from gitfed.hub.enrolment.bootstrap_tokens import Token
    from gitfed.hub.enrolment.ledger import Ledger

_Change: TypeAlias = "Callable[[Callable[[Ledger], tuple[Ledger, Any]]], Any]"
_Command = TypeVar("_Command", bound=Callable[..., Any])
_USAGES = "authentication"
_LONGEST_DESCRIPTION = 256


@dataclass(frozen=True, slots=True)
class HubFolder:
    """Whose hub is meant: that of the daemon which follows this repository, and keeps its state there."""

    repo: str
    data_dir: Path | None

    @property
    def path(self) -> Path:
        from gitfed.daemon import wiring
        from gitfed.hub import assembly

        return assembly.folder(wiring.DaemonOptions(repo=self.repo, data_dir=self.data_dir))


def _of_hub(command: _Command) -> _Command:
    """--repo and --data-dir → `whose: HubFolder`."""
    command = parameters.value("whose", HubFolder)(command)
    for add in reversed(
        (
            parameters.option(
                "--repo",
                metavar="PATH|URL",
                default=".",
                help="The repository that the daemon follows.  [default: the one around this folder]",
            ),
            parameters.option(
                "--data-dir",
                type=parameters.Files(file_okay=False),
                metavar="DIR",
                default=None,
                help="The daemon's.  [default: below XDG_STATE_HOME]",
            ),
        )
    ):
        command = add(command)
    return command


@click.group("token")
def command() -> None:
    """Make, list and delete tokens that let clusters and pools register.

    A token lets one cluster that the hub does not know, or one pool, register with it, once. These commands write what
    the hub keeps in the data folder of the daemon, so they run on its machine (in a pod: kubectl exec), as its user.
    The hub keeps a hash of a token; the token itself is printed once.
    """


@command.command("create")
@parameters.option(
    "--print-register-command",
    shared=False,
    is_flag=True,
    help="Print the command that registers a cluster, not the token alone.",
)
@parameters.option(
    "--ttl",
    shared=False,
    type=parameters.Duration(),
    metavar="DURATION",
    default="24h",
    show_default=True,
    help="How long it can be used; 0: for ever.",
)
@parameters.option("--description", shared=False, metavar="TEXT", default="", help="What it is for.")
@parameters.option(
    "--cluster-name",
    shared=False,
    metavar="NAME",
    default="",
    type=complete.CLUSTER,
    shell_complete=complete.clusters,
    help="For this cluster alone, even if it is known: its certificate is replaced then.",
)
@parameters.option(
    "--pool", shared=False, metavar="NAME", default="", help="For the members of this pool, in place of a cluster."
)
@parameters.option(
    "--hub-url", metavar="URL", default="", help="Where agents reach the hub.  [default: what the daemon wrote down]"
)
@_of_hub
def create(
    print_register_command: bool,
    ttl: float,
    description: str,
    cluster_name: str,
    pool: str,
    hub_url: str,
    whose: HubFolder,
) -> int:
    """Make a token, and print it.

    \b
    gitfed token create --print-register-command
    gitfed token create --ttl 1h --description "edge site 7" --cluster-name edge-7
    gitfed token create --pool east --print-register-command

    \b
    Exit codes: 0 done · 2 bad usage, or no hub has run here.
    """
    from gitfed.hub.enrolment import bootstrap_tokens
    from gitfed.model import agent_identity

    if cluster_name and (why := agent_identity.why_not_a_name(cluster_name)):
        raise click.UsageError(f"the cluster name {cluster_name} {why}")
    if len(description) > _LONGEST_DESCRIPTION or not description.isprintable():
        raise click.UsageError(f"--description is one line of at most {_LONGEST_DESCRIPTION} characters")
    if cluster_name and pool:
        raise click.UsageError("--cluster-name and --pool exclude each other: a token is for one of them")
    if pool and (why := agent_identity.why_not_a_pool(pool)):
        raise click.UsageError(f"the pool name {pool} {why}")
    change = _ledger(whose)
    line = _register_command(whose, hub_url, pool) if print_register_command else ""
    name, secret = bootstrap_tokens.new()
    salt, digest = bootstrap_tokens.hashed(secret)
    now = datetime.now(UTC).replace(microsecond=0)
    expires = now + timedelta(seconds=ttl) if ttl else None
    owner = agent_identity.of_pool(pool) if pool else cluster_name
    token = bootstrap_tokens.Token(name, salt, digest, now, expires, description, owner)
    change(lambda ledger: (ledger.swept(now).with_token(token), None))
    shown = f"{name}.{secret}"
    click.echo(line.replace("TOKEN", shown) if line else shown)
    return 0


@command.command("list")
@_of_hub
def show(whose: HubFolder) -> int:
    """List the tokens that count. Of each the id is shown: its secret was printed once, and is not kept.

    \b
    Exit codes: 0 done · 2 bad usage, or no hub has run here.
    """
    now = datetime.now(UTC)
    ledger = _ledger(whose)(lambda stored: (stored, stored))
    tokens = sorted(ledger.swept(now).tokens.values(), key=lambda token: (token.created, token.id))
    head = ("TOKEN", "TTL", "EXPIRES", "USAGES", "DESCRIPTION", "EXTRA GROUPS", "CLUSTER")
    for line in table.lines([head, *(_row(token, now) for token in tokens)]):
        click.echo(line)
    return 0


@command.command("delete")
@click.argument("tokens", metavar="ID|TOKEN...", nargs=-1, required=True)
@_of_hub
def delete(tokens: tuple[str, ...], whose: HubFolder) -> int:
    """Delete tokens. What was registered with one is revoked at once: the agent's certificate counts no more.

    A token that was used and is over leaves the list by itself, and takes nothing with it; that of a pool stays.

    \b
    gitfed token delete ab12cd

    \b
    Exit codes: 0 done · 2 bad usage, no such token, or no hub has run here.
    """
    from gitfed.hub.enrolment import bootstrap_tokens

    change = _ledger(whose)
    ids = [bootstrap_tokens.id_of(word) for word in tokens]
    for word, token_id in zip(tokens, ids, strict=True):
        if token_id is None:
            raise click.UsageError(f"{plain.clean(word[:6])!r} is neither a token nor its id")
    for token_id in dict.fromkeys(token_id for token_id in ids if token_id is not None):
        _delete(change, token_id)
    return 0


def _delete(change: _Change, token_id: str) -> None:
    before, after = change(lambda ledger: (ledger.without_token(token_id), (ledger, ledger.without_token(token_id))))
    if token_id not in before.tokens:
        raise NotThere(f'no bootstrap token "{token_id}"', hint="gitfed token list")
    for cluster in sorted(before.clusters.keys() - after.clusters.keys()):
        click.echo(f"the certificate of the agent of {plain.clean(cluster)} is revoked", err=True)
    click.echo(f'bootstrap token "{token_id}" deleted')


def _row(token: Token, now: datetime) -> tuple[str, ...]:
    left = "<forever>" if token.expires is None else _span(token.expires - now)
    until = "<never>" if token.expires is None else token.expires.strftime("%Y-%m-%dT%H:%M:%SZ")
    cluster = f"{token.spent.cluster} (registered)" if token.spent else token.cluster or "<any new>"
    return (token.id, left, until, _USAGES, plain.clean(token.description) or "<none>", "<none>", plain.clean(cluster))


def _span(left: timedelta) -> str:
    """As kubectl tells ages: the two largest units."""
    seconds = max(0, int(left.total_seconds()))
    units = [(seconds // 86400, "d"), (seconds % 86400 // 3600, "h"), (seconds % 3600 // 60, "m"), (seconds % 60, "s")]
    first = next((i for i, (number, _) in enumerate(units) if number), len(units) - 1)
    return "".join(f"{number}{unit}" for number, unit in units[first : first + 2] if number) or "0s"


def _ledger(whose: HubFolder) -> _Change:
    """What changes the hub's ledger. Raises UsageError."""
    from gitfed.daemon import wiring
    from gitfed.hub import assembly

    folder = whose.path
    if not (folder / "ca.crt").exists():
        raise UsageError(
            f"no hub with TLS has run with the data folder {folder.parent}",
            hint="start gitfed run --hub-address first, or name its --data-dir",
        )
    return lambda how: assembly.change_ledger(wiring.DaemonOptions(repo=whose.repo, data_dir=whose.data_dir), how)


def _register_command(whose: HubFolder, hub_url: str, pool: str) -> str:
    """With TOKEN where the token goes. Raises UsageError."""
    from gitfed.edges import certificate_pins
    from gitfed.hub import assembly

    folder = whose.path
    url = urlsplit(hub_url or assembly.written_url(folder))
    authorities = assembly.written_authorities(folder)
    if url.scheme != "https" or not url.hostname or not authorities:
        raise UsageError(
            "it is not known where agents reach the hub, or by which authority",
            hint="start gitfed run --hub-address first; --hub-url names another address",
        )
    host = f"[{url.hostname}]" if ":" in url.hostname else url.hostname
    pins = ",".join(certificate_pins.pins(authorities))
    of_pool = f" --pool {pool} --hub-credentials pool-{pool}" if pool else ""
    return f"gitfed register {host}:{url.port or 443}{of_pool} --token TOKEN --discovery-token-ca-cert-hash {pins}"
