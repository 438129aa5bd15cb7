"""`POST /hooks/<forge>`: a forge tells of a push, so that gitfed need not wait for the next poll.

Open to every sender who knows the secret (`--hook-secret-file`); without the option there are no such paths.
"""

from __future__ import annotations

import urllib.parse
from collections.abc import Iterator

from aiohttp import web

from gitfed.edges import git
from gitfed.hub.forge_webhooks import payloads, receive, signatures
from gitfed.hub.forge_webhooks.receive import Followed, Receiver
from gitfed.hub.metric import Metric, Sample
from gitfed.hub.recorded import RecordedFleet
from gitfed.hub.routes import Capability, Handler, Route
from gitfed.hub.running import Running
from gitfed.hub.server import Hub


def capability(hub: Hub) -> Capability:
    """Raises UsageError when the file of secrets cannot be used."""
    running = hub.running
    path = hub.options.hook_secret_file
    receiver = None
    if path is not None:
        receiver = Receiver(
            signatures.Secrets(path), lambda: followed(running), lambda: _look(running), running.polling
        )

    def deliveries() -> Iterator[Sample]:
        yield from receiver.counts.items() if receiver is not None else ()

    def rare() -> Iterator[Sample]:
        yield (), int(running.polling.rare)

    metrics = (
        Metric(
            "gitfed_forge_deliveries_total",
            "counter",
            "Deliveries of forge webhooks; forged ones have a signature that does not hold",
            deliveries,
            ("forge", "outcome"),
        ),
        Metric(
            "gitfed_forge_polls_rare",
            "gauge",
            "1 while the repository is polled rarely, because a forge tells of pushes",
            rare,
        ),
    )
    if receiver is None:
        return Capability(metrics=metrics)
    routes = tuple(
        Route("POST", f"/hooks/{forge}", _handler(receiver, forge), open=True, largest=receive.LARGEST)
        for forge in payloads.FORGES
    )
    return Capability(routes, services=(receiver.close_at_end,), metrics=metrics)


def followed(running: Running) -> Followed:
    """What a delivery has to be about, as far as it is known by now."""
    engine, repo = running.engine, running.repo
    if engine is None:
        return Followed(standing_by=True, hands_on=running.tell_leader is not None)
    ref = engine.reader.ref
    state = repo.settings.spec.state if repo is not None else None
    if not ref or state is None:
        return Followed()
    urls = [engine.reader.location, *([state.url] if state.url else [])]
    paths = [_path(url) for url in urls] if engine.reader.remote else []
    return Followed((ref, payloads.BRANCHES + state.branch), ref, paths=paths)


def _path(url: str) -> str:
    """Of `https://…` as of `git@host:path`."""
    if "://" in url:
        return urllib.parse.unquote(urllib.parse.urlsplit(url).path)
    return url.partition(":")[2] if git.is_url(url) else url


def _look(running: Running) -> None:
    if running.engine is not None:
        running.engine.source_changed()
        return
    if running.tell_leader is not None:
        running.tell_leader()
    if isinstance(running.recorded, RecordedFleet):
        running.recorded.look_soon()


def _handler(receiver: Receiver, forge: str) -> Handler:
    async def handle(request: web.Request) -> web.StreamResponse:
        return await receiver.receive(forge, request)

    return handle
