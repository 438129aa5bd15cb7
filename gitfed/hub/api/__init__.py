"""`/api/v1`: everything that gitfed knows of the fleet, as JSON; the same values as `-o json`.

resources   what can be read: paths, parameters, and who forms the answer
reading     one request: parameters, rights, ETag, gzip, refusals
openapi     the description, made of the types of the answers
"""

from __future__ import annotations

from gitfed.hub.access.rights import Right
from gitfed.hub.answers.desk import Desk
from gitfed.hub.api import openapi, resources
from gitfed.hub.api.reading import Reading
from gitfed.hub.routes import Capability, Route
from gitfed.hub.server import Hub

PREFIX = resources.PREFIX


def capability(hub: Hub) -> Capability:
    reading = Reading(hub, Desk(hub.running))
    routes = [
        Route("GET", one.route, reading.handler(one), needs=Right.VIEW, whole_fleet=one.whole_fleet)
        for one in resources.ALL
    ]
    routes.append(Route("GET", f"{PREFIX}/openapi.json", openapi.handle))
    return Capability(routes=tuple(routes), services=(reading.rest,))
