"""`/api/v1`: everything that gitfed knows of the fleet, as JSON; the same values as `-o json`.

resources   what can be read: paths, parameters, and who forms the answer
operations  what can be ordered
reading     one request: parameters, rights, ETag, gzip, refusals
feed        what happened lately, and `stream`: server-sent events of it
openapi     the description, made of the types of the answers
"""

from __future__ import annotations

from gitfed.hub.access.rights import Right
from gitfed.hub.answers.desk import Desk
from gitfed.hub.api import openapi, operations, resources
from gitfed.hub.api.feed import Feed
from gitfed.hub.api.reading import Reading
from gitfed.hub.api.stream import Streams
from gitfed.hub.routes import Capability, Route
from gitfed.hub.server import Hub

PREFIX = resources.PREFIX


def capability(hub: Hub) -> Capability:
    desk = Desk(hub.running)
    reading = Reading(hub, desk)
    routes = [
        Route("GET", resource.route, reading.handler(resource), needs=Right.VIEW, whole_fleet=resource.whole_fleet)
        for resource in resources.ALL
    ]
    routes += operations.routes_of(hub)
    routes.append(Route("GET", f"{PREFIX}/openapi.json", openapi.handle))
    feed = Feed(hub.running)
    streams = Streams(hub, feed)
    routes.append(Route("GET", f"{PREFIX}/events", streams.handle, needs=Right.VIEW, lasting=True))
    return Capability(routes=tuple(routes), services=(desk.rest, feed.run))
