"""Where the hub is put together from what the command line says, and started."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TypeVar

from gitfed.daemon import wiring
from gitfed.edges import files, oidc, pod
from gitfed.edges.kube.authority_secret import AuthoritySecret
from gitfed.edges.kube.secret_document import SecretDocument
from gitfed.errors import UsageError
from gitfed.hub import capabilities, listener, orders, shared_authority
from gitfed.hub.access.agents import Agents
from gitfed.hub.access.authentication import Authentication, OidcTokens, ReviewedTokens, Tokens
from gitfed.hub.access.sessions import Sessions
from gitfed.hub.enrolment import shared_ledger
from gitfed.hub.enrolment.ledger import Ledger
from gitfed.hub.enrolment.ledger_file import LedgerFile
from gitfed.hub.enrolment.shared_ledger import LedgerStore, SharedLedger
from gitfed.hub.options import HubOptions
from gitfed.hub.recorded import RecordedFleet
from gitfed.hub.routes import Capability
from gitfed.hub.running import Running
from gitfed.hub.server import Hub, Server

T = TypeVar("T")
_URL = "url"
_TRUSTED = "trusted.crt"


def folder(options: wiring.DaemonOptions) -> Path:
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
async def serving(options: wiring.DaemonOptions, hub_options: HubOptions, running: Running) -> AsyncIterator[Hub]:
    """The hub while it listens. Raises InputError, UsageError, CredentialsError, and ClusterError in a pod."""
    place = folder(options)
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    ledger: LedgerStore | None = None
    if hub_options.secure:
        namespace = _shared_namespace(options)
        if namespace:
            await _share_authority(options, place, namespace)
        ledger = await _shared_ledger(options, place, namespace) if namespace else LedgerFile(place)
    hub = Hub(hub_options, running, place, _authentication(options, hub_options, ledger))
    if not isinstance(running.recorded, RecordedFleet) or not running.recorded.alone:
        hub.orders = orders.Orders(running, orders.book_of(options))
    hub.open_session = wiring.open_doors(options)
    hub.credentials_dir = options.credentials_dir
    offered = [*capabilities.all_of(hub)]
    recorded = running.recorded
    if isinstance(recorded, RecordedFleet):
        offered.append(Capability(services=(lambda: recorded.run(lambda: running.engine is not None),)))
    listener.raise_descriptor_limit()
    server = Server(hub, offered)
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


def change_ledger(options: wiring.DaemonOptions, how: Callable[[Ledger], tuple[Ledger, T]]) -> T:
    """What a command beside a hub changes in its ledger, wherever that is kept. Blocks. Raises InputError, UsageError,
    ClusterError."""
    place = folder(options)
    namespace = shared_ledger.namespace(place)
    if not namespace:
        return LedgerFile(place).change(how)
    if not pod.runs_here():
        raise UsageError(
            f"the hub of {place} keeps its ledger in a Secret beside its pod", hint="kubectl exec into a replica"
        )

    async def change() -> T:
        ledger = _ledger_of(options, namespace)
        try:
            return await ledger.changed(how)
        finally:
            await ledger.close()

    return asyncio.run(change())


def _authentication(
    options: wiring.DaemonOptions, hub_options: HubOptions, ledger: LedgerStore | None
) -> Authentication:
    agents = Agents(ledger) if ledger is not None else None
    return Authentication(Sessions(), _tokens(options, hub_options), agents)


def _shared_namespace(options: wiring.DaemonOptions) -> str:
    """Where replicas in a cluster keep what they share; "": this one shares nothing."""
    if not pod.runs_here():
        return ""
    return pod.namespace() or (options.leader.namespace if options.leader is not None else "")


def _ledger_of(options: wiring.DaemonOptions, namespace: str) -> SharedLedger:
    session = wiring.open_host(options, "hub-agents")
    return SharedLedger(SecretDocument(session, namespace=namespace, name=shared_ledger.NAME, key=shared_ledger.KEY))


async def _shared_ledger(options: wiring.DaemonOptions, place: Path, namespace: str) -> LedgerStore:
    shared = _ledger_of(options, namespace)
    try:
        ledger = await shared_ledger.settle(place, shared)
    except BaseException:
        await shared.close()
        raise
    if ledger is not shared:
        await shared.close()
    return ledger


async def _share_authority(options: wiring.DaemonOptions, place: Path, namespace: str) -> None:
    """Replicas in a cluster have one authority: what one of them signed, the others take."""
    secret = AuthoritySecret(
        wiring.open_host(options, "hub-authority"), namespace=namespace, name=shared_authority.NAME
    )
    try:
        await shared_authority.settle(place, secret)
    finally:
        await secret.close()


def _tokens(options: wiring.DaemonOptions, hub_options: HubOptions) -> tuple[Tokens, ...]:
    tokens: list[Tokens] = []
    if hub_options.oidc is not None:
        tokens.append(OidcTokens(oidc.Issuer(hub_options.oidc)))
    if pod.runs_here():
        tokens.append(ReviewedTokens(wiring.open_host(options, "token-review")))
    return tuple(tokens)
