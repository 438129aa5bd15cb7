"""Everything that the hub offers. A new capability is a package of `gitfed.hub` and one line here."""

from __future__ import annotations

from collections.abc import Iterator

from gitfed.hub import agents, api, doors, forge_webhooks, health, login, metrics, notifications, pages, pools
from gitfed.hub.enrolment import registration
from gitfed.hub.routes import Capability
from gitfed.hub.server import Hub


def all_of(hub: Hub) -> Iterator[Capability]:
    yield health.capability(hub)
    yield login.capability(hub)
    yield metrics.capability(hub)
    yield forge_webhooks.capability(hub)
    yield api.capability(hub)
    yield pages.capability(hub)
    yield notifications.capability(hub)
    yield registration.capability(hub)
    yield agents.capability(hub)
    yield pools.capability(hub)
    yield doors.capability(hub)
