"""Where the hub is put together from what the command line says, and started."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from gitfed.daemon import wiring
from gitfed.edges import files, oidc, pod
from gitfed.edges.kube.authority_secret import AuthoritySecret
from gitfed.errors import UsageError
from gitfed.hub import capabilities, orders, shared_authority
from gitfed.hub.access.agents import Agents
from gitfed.hub.access.authentication import Authentication, OidcTokens, ReviewedTokens, Tokens
from gitfed.hub.access.sessions import Sessions
from gitfed.hub.enrolment.ledger_file import LedgerFile
from gitfed.hub.options import Options
from gitfed.hub.recorded import Recorded
from gitfed.hub.routes import Capability
from gitfed.hub.running import Running
from gitfed.hub.server import Hub, Server

_URL = "url"
_TRUSTED = "trusted.crt"


def folder(options: wiring.Options) -> Path:
    """Where the hub keeps its authority."""
    return wiring.data_dir(options) / "hub"


def written_url(place: Path) -> str:
    """Where the hub that ran last with this folder was reached; "" when none has."""
    try:
        return (place / _URL).read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def written_authorities(place: Path) -> bytes:
    """What the hub that ran last with this folder is trusted by, in PEM form; b"" when none has, or had no TLS."""
    try:
        return (place / _TRUSTED).read_bytes()
    except OSError:
        return b""


@contextlib.asynccontextmanager
async def serving(options: wiring.Options, hub_options: Options, running: Running) -> AsyncIterator[Hub]:
    """The hub while it listens. Raises InputError, UsageError, CredentialsError, and ClusterError in a pod."""
    place = folder(options)
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    if hub_options.secure and pod.runs_here():
        await _share_authority(options, place)
    hub = Hub(hub_options, running, place, _authentication(options, hub_options, place))
    if not isinstance(running.recorded, Recorded) or not running.recorded.alone:
        hub.orders = orders.Orders(running, orders.book_of(options))
    found = [*capabilities.all_of(hub)]
    recorded = running.recorded
    if isinstance(recorded, Recorded):
        found.append(Capability(services=(lambda: recorded.run(lambda: running.engine is not None),)))
    server = Server(hub, found)
    try:
        await server.start()
    except OSError as error:
        raise UsageError(
            f"the hub cannot listen on {hub_options.host}:{hub_options.port}: {error.strerror}",
            hint="name another address with --hub-address",
        ) from error
    with contextlib.suppress(OSError):  # a full disk: who wants it names it
        files.write_atomically(hub.folder / _URL, f"{hub.url}\n".encode())
        if hub.identity is not None:
            files.write_atomically(hub.folder / _TRUSTED, hub.identity.trusted)
    try:
        yield hub
    finally:
        await server.stop()


def _authentication(options: wiring.Options, hub_options: Options, place: Path) -> Authentication:
    agents = Agents(LedgerFile(place)) if hub_options.secure else None
    return Authentication(Sessions(), _tokens(options, hub_options), agents)


async def _share_authority(options: wiring.Options, place: Path) -> None:
    """Replicas in a cluster have one authority: what one of them signed, the others take."""
    namespace = pod.namespace() or (options.leader.namespace if options.leader is not None else "")
    if not namespace:
        return
    secret = AuthoritySecret(
        wiring.open_host(options, "hub-authority"), namespace=namespace, name=shared_authority.NAME
    )
    try:
        await shared_authority.settle(place, secret)
    finally:
        await secret.close()


def _tokens(options: wiring.Options, hub_options: Options) -> tuple[Tokens, ...]:
    found: list[Tokens] = []
    if hub_options.oidc is not None:
        found.append(OidcTokens(oidc.Issuer(hub_options.oidc)))
    if pod.runs_here():
        found.append(ReviewedTokens(wiring.open_host(options, "token-review")))
    return tuple(found)
