"""Liveness and readiness: the only listener that asks nobody who they are, so it tells nothing but yes or no.

`/livez` fails when the loop has not turned for several minutes: a restart helps. `/readyz` fails until a commit was
read and every cluster was looked at once. `/healthz` is `/livez` under its older name.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from aiohttp import web


class HealthServer:
    """`live` and `ready` give a reason when they are not, else ""."""

    def __init__(self, live: Callable[[], str], ready: Callable[[], str]) -> None:
        self._live = live
        self._ready = ready
        self._runner: web.AppRunner | None = None
        self.port = 0

    async def start(self, host: str, port: int) -> None:
        """Raises OSError when the address cannot be used. Port 0 chooses one; see `port`."""
        app = web.Application()
        app.router.add_get("/livez", self._answer(self._live))
        app.router.add_get("/healthz", self._answer(self._live))
        app.router.add_get("/readyz", self._answer(self._ready))
        runner = self._runner = web.AppRunner(app, access_log=None, handle_signals=False)
        await runner.setup()
        await web.TCPSite(runner, host, port).start()
        self.port = runner.addresses[0][1]

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    @staticmethod
    def _answer(question: Callable[[], str]) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def handle(request: web.Request) -> web.StreamResponse:
            reason = question()
            return web.Response(status=503 if reason else 200, text=f"{reason or 'ok'}\n")

        return handle
