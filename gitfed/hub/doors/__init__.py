"""Doors to members: `kubectl` and whatever else speaks Kubernetes reaches clusters through the hub.

    /apis/cluster.karmada.io/v1alpha1/clusters/NAME/proxy/PATH           one cluster: `single`
    /apis/search.karmada.io/v1alpha1/proxying/karmada/proxy/PATH         all of them: `fleet`, `watch`
    /apis/search.karmada.io/v1alpha1/search/cache/PATH                   what is kept of them: `cached`

scope            which clusters a question to all is about
member_queries   what a door asks of members itself, in the caller's name
member_sessions  the connections that doors use: their own, beside those of the daemon, or an agent's
entry            who may use which door, for what, and for how long
relay            one request passed on and its answer passed back, as they come (`http_relay`)

Members see the caller: every request acts as who the hub authenticated (impersonation), so that a member's RBAC decides
what they may do there. An AccessPolicy with `proxy` decides whether they get that far.
"""

from __future__ import annotations

from gitfed.fleet_api import doors
from gitfed.http_relay.reverse import MOST
from gitfed.hub.access.rights import Right
from gitfed.hub.doors.cached import SearchDoor
from gitfed.hub.doors.fleet import FleetDoor
from gitfed.hub.doors.member_sessions import MemberSessions
from gitfed.hub.doors.relay import LARGEST, Relay
from gitfed.hub.doors.single import SingleDoor
from gitfed.hub.metric import Metric
from gitfed.hub.routes import Capability, Handler, Route
from gitfed.hub.search import measures
from gitfed.hub.search.cache import Cache
from gitfed.hub.search.copying import Copying
from gitfed.hub.server import Hub
from gitfed.model import agent_identity

_FOR_CALLERS = MOST // 2
"""Of the ways through an agent: a watch of the search cache takes one for as long as it is open."""
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


def capability(hub: Hub) -> Capability:
    reach = MemberSessions(hub)
    relay = Relay(hub)
    # Its requests are the hub's own, and are not counted as passed on.
    reading = MemberSessions(hub, acts_as=agent_identity.SEARCH, spares=_FOR_CALLERS)
    copying = Copying(hub.credentials_dir)
    cache = Cache(reading, copies=copying)
    search = SearchDoor(hub, cache)
    single, fleet = SingleDoor(hub, reach, relay), FleetDoor(hub, reach, relay, search)
    requests = Metric(
        "gitfed_proxy_requests_total",
        "counter",
        "Requests passed on to clusters, by HTTP status or `none`",
        lambda: [((cluster, verb, code), float(count)) for (cluster, verb, code), count in reach.tally.items()],
        ("cluster", "verb", "code"),
    )
    cut_off = Metric(
        "gitfed_proxy_watches_cut_off_total",
        "counter",
        "Watches of the fleet whose clients took nothing for a minute",
        lambda: [((), float(fleet.watches.cut_off))],
    )
    return Capability(
        routes=(
            *_routes(f"{doors.PROXYING}/{{name:[^/]+}}/proxy", fleet.handle),
            *_routes(f"{doors.CLUSTERS}/{{cluster:[*]}}/proxy", fleet.handle),
            *_routes(f"{doors.CLUSTERS}/{{cluster:[^/]+}}/proxy", single.handle),
            Route("GET", f"{doors.SEARCH}{{path:(?:/.*)?}}", search.handle, needs=Right.VIEW, lasting=True),
        ),
        services=(reach.run, reading.run, lambda: cache.run(lambda: hub.running.repo)),
        metrics=(requests, cut_off, *measures.of(cache, copying)),
    )


def _routes(door: str, handle: Handler) -> list[Route]:
    return [
        Route(method, f"{door}{{path:(?:/.*)?}}", handle, needs=Right.PROXY, lasting=True, largest=LARGEST)
        for method in _METHODS
    ]
