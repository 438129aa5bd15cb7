"""What became of an order, until the page that the browser is led to says it: once, and to who gave it.

It does not stand in the page's address, where any site could make a link that says something was done.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict

from aiohttp import web

from gitfed.hub import routes
from gitfed.hub.access.caller import Caller

_MOST = 1000
"""Results that were not fetched."""


class Results:
    def __init__(self) -> None:
        self._by_token: OrderedDict[str, tuple[Caller, str]] = OrderedDict()

    def keep(self, request: web.Request, text: str) -> str:
        """What the page's address has to say for it."""
        token = secrets.token_urlsafe(9)
        self._by_token[token] = routes.caller(request), text
        while len(self._by_token) > _MOST:
            self._by_token.popitem(last=False)
        return token

    def take(self, request: web.Request) -> str:
        """ "" where there is nothing to say, or nothing to this caller."""
        token = request.query.get("done", "")
        caller, text = self._by_token.get(token, (None, ""))
        if caller != routes.caller(request):
            return ""
        self._by_token.pop(token, None)
        return text
