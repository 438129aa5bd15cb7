"""From a forge's delivery, over real HTTP, until both clusters hold one changed image.

The repository is a remote one (`file://`), so nothing else tells of a push. Beside it the same pushes to a repository
on this machine, which is watched: what is more than that is the delivery's and the fetch's.
"""

from __future__ import annotations

import statistics
import urllib.request

from bench.pushes import PUSHES, ground
from tests.hub import deliveries


async def run() -> list[tuple[str, str]]:
    async with ground() as place:
        watching = place.daemon("watched")
        watched = [took for _, took in place.pushes()]
        watching.stop()
        secret = place.folder / "secret"
        secret.write_text(deliveries.SECRET)
        told = place.daemon("told", "--interval", "24h", "--hub-address", "127.0.0.1:0",
                            "--hook-secret-file", str(secret), url=f"file://{place.bare}")  # fmt: skip
        url = told.lines("the hub listens")[0]["url"]
        delivered = [took for _, took in place.pushes(lambda: _deliver(url))]
        told.stop()
    median = statistics.median(delivered)
    return [
        ("servers", place.servers),
        ("delivery until both clusters hold it, median (target ≤ 1 s)", f"{median:.3f} s"),
        (f"the same, slowest of {PUSHES}", f"{max(delivered):.3f} s"),
        ("a watched push until both clusters hold it, median", f"{statistics.median(watched):.3f} s"),
        ("ratio", f"{median / statistics.median(watched):.1f}"),
    ]


def _deliver(url: str) -> None:
    sent = deliveries.github(repository="fleet")
    request = urllib.request.Request(f"{url}/hooks/github", sent.body, dict(sent.headers), method="POST")
    with urllib.request.urlopen(request, timeout=30) as answer:
        assert answer.status == 202, answer.read()
