"""Notifications: `kind: Notification` says who is told of what, and a daemon that leads tells it.

`notifier` is a service of the daemon, with a hub or without; the hub shows how it fares.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from gitfed.hub.metric import Metric, Sample
from gitfed.hub.routes import Capability
from gitfed.hub.server import Hub


def capability(hub: Hub) -> Capability:
    running = hub.running

    def messages() -> Iterator[Sample]:
        yield from running.telemetry.notifications.items()

    def owed() -> Iterator[Sample]:
        now, repo = time.monotonic(), running.repo
        for notification in repo.notifications if repo is not None else ():
            name = notification.metadata.name
            yield (name,), now - running.owed.get(name, now)

    return Capability(
        metrics=(
            Metric(
                "gitfed_notifications_total",
                "counter",
                "Messages of a Notification, by whether its target took them",
                messages,
                ("notification", "outcome"),
            ),
            Metric(
                "gitfed_notification_owed_seconds",
                "gauge",
                "How long a Notification has had news that its target does not take; 0 while it owes nothing",
                owed,
                ("notification",),
            ),
        )
    )
