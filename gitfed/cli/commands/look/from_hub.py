"""`gitfed get --server`: the same lists as from a repository, as a hub tells them, once or as they change."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import click

from gitfed.cli import exits, load, options
from gitfed.cli.commands.look import listings, validate
from gitfed.cli.commands.look.listings import ListingQuery
from gitfed.cli.main import meant
from gitfed.cli.output import listing, plain, structured, table
from gitfed.client import lists
from gitfed.client.connection import HubConnection
from gitfed.client.follow import Follower
from gitfed.errors import HubUnreachable, UsageError
from gitfed.views import problems as problem_views
from gitfed.views import works


def get(hub: HubConnection, query: ListingQuery, output: options.Output, *, watch: bool = False) -> int:
    if query.thing == "problems":
        if watch:
            raise click.UsageError("problems are not watched: gitfed get gates --watch tells what waits")
        problems = [problem_views.read(document) for document in lists.problem_list(hub)["problems"]]
        validate.show(problems, output, of=f"the commit that {hub.server} goes by")
        return load.code(problems)
    if watch:
        return _watch(hub, query, output)
    listed = _read(hub, query)
    listing.show(listed, output)
    if query.thing == "works" and any(work["state"] == works.NOT_OBSERVED for work in listed.items):
        load.note(f"{hub.server} stands by, so it looks into no cluster: the gitfed that leads does")
    return exits.OK


def _read(hub: HubConnection, query: ListingQuery) -> listing.Listing:
    namespace, cluster = query.namespace, query.cluster
    if query.thing == "events":
        return listing.of("events", lists.events(hub, query.only, namespace, cluster))
    if cluster:
        names = [str(item["name"]) for item in lists.items(hub, "clusters")]
        if cluster not in names:
            raise UsageError(f"no cluster {cluster!r}{meant(cluster, names)}", hint="gitfed get clusters")
    if query.thing == "gates":
        listed = listing.gates(lists.gate_list(hub))
    else:
        listed = listing.of(query.thing, lists.items(hub, query.thing, namespace, cluster))
    return listings.chosen(listed, query.only, namespace)


# -- as it changes ----------------------------------------------------------------------------------------------------


def _watch(hub: HubConnection, query: ListingQuery, output: options.Output) -> NoReturn:
    """Until interrupted."""
    if output.format not in ("text", "wide", "json", "name"):
        raise click.UsageError(f"--watch prints no {output.format}: text, wide, json, name")
    before = _read(hub, query)
    _told({}, before, output)
    follower = Follower(hub, load.note)
    follower.start()
    with _interrupting(follower):
        _follow(hub, query, before, follower, output)


@contextlib.contextmanager
def _interrupting(follower: Follower) -> Iterator[None]:
    """An interrupt ends the watch even where Python swallows its exception: in a finalizer it does."""

    def interrupt(number: int, frame: object) -> None:
        follower.interrupted = True
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _follow(
    hub: HubConnection, query: ListingQuery, before: listing.Listing, follower: Follower, output: options.Output
) -> NoReturn:
    while True:
        follower.wait()
        try:
            now = _read(hub, query)
        except HubUnreachable:  # the follower says so
            follower.look_again()
            continue
        except UsageError:  # what was named is not there at present
            now = listing.of(query.thing, ()) if query.thing != "gates" else before
        _told(_parts(before, output), now, output)
        before = now


_Part = tuple[Sequence[str], Any]
"""A row, or for programs an item."""


def _parts(listed: listing.Listing, output: options.Output) -> dict[tuple[str, int], _Part]:
    """What is compared, by name; of several with one name the first, the second, …"""
    parts: dict[tuple[str, int], _Part] = {}
    if output.format == "json":
        named = zip(listed.of if listed.of is not None else listed.names, listed.items, strict=True)
        pairs: list[tuple[str, _Part]] = [(name, ((), item)) for name, item in named]
    else:
        cut = len(listed.head) - (0 if output.format == "wide" else listed.wide)
        pairs = [(name, (row[:cut], None)) for name, row in zip(listed.names, listed.rows, strict=True)]
    seen: dict[str, int] = {}
    for name, part in pairs:
        if listed.kind == "events":  # one that happened does not change
            name = "\0".join(map(str, (*part[0], part[1])))
        seen[name] = seen.get(name, -1) + 1
        parts[name, seen[name]] = part
    return parts


def _told(before: dict[tuple[str, int], _Part], now: listing.Listing, output: options.Output) -> None:
    """Print what is new, other, or gone, in the words of a Kubernetes watch."""
    after = _parts(now, output)
    changes = [
        ("MODIFIED" if key in before else "ADDED", key, part) for key, part in after.items() if before.get(key) != part
    ]
    if now.kind != "events":  # old ones leave the list
        changes += [("DELETED", key, part) for key, part in before.items() if key not in after]
    head = now.head[: len(now.head) - (0 if output.format == "wide" else now.wide)]
    if output.format == "json":
        for event, _, (_, item) in changes:
            click.echo(structured.json_line({"type": event, "object": item}))
    elif output.format == "name":
        for event, key, _ in changes:
            if event != "DELETED":
                click.echo(plain.clean(now.names[list(after).index(key)]))
    elif changes:
        rows = [["EVENT", *head], *([event, *row] for event, _, (row, _) in changes)]
        for line in table.lines(rows)[0 if not before else 1 :]:
            click.echo(line)
