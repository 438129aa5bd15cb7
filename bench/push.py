"""From `git push` to a local bare repository until both clusters hold one changed image."""

from __future__ import annotations

import statistics

from bench.pushes import PUSHES, ground


async def run() -> list[tuple[str, str]]:
    async with ground() as place:
        daemon = place.daemon("data")
        took = place.pushes()
        daemon.stop()
    pushes, whole = [push for push, _ in took], [push + rest for push, rest in took]
    median = statistics.median(whole)
    return [
        ("servers", place.servers),
        ("git push itself, median", f"{statistics.median(pushes):.3f} s"),
        ("git push until both clusters hold it, median (target ≤ 0.15 s)", f"{median:.3f} s"),
        (f"the same, slowest of {PUSHES}", f"{max(whole):.3f} s"),
        ("ratio to the push itself", f"{median / statistics.median(pushes):.1f}"),
    ]
