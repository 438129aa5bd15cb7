"""The front door of a fleet's cluster: what comes in over its port passes here before the pipeline sees it.

It makes the cluster usable by the real kubectl without TLS, and is where faults strike. kubectl sends no token over
plain HTTP, so whoever says nothing about himself is the administrator (the port is loopback's; ``open`` turns it
off); and it sends objects that it makes itself in Kubernetes' binary form, which are turned into JSON.
"""

from __future__ import annotations

import orjson

from kubesim import protobuf, status
from kubesim.cluster import TOKEN
from kubesim.faults import Faults
from kubesim.server import api as pipeline
from kubesim.server.request import JSON, Request, Response


class Door(pipeline.Api):
    """Stands in for the pipeline it leads to."""

    def __init__(self, inner: pipeline.Api, faults: Faults) -> None:
        self.world = inner.world
        self.authenticator = inner.authenticator
        self.open = True
        self._inner, self._faults = inner, faults

    def handle(self, req: Request) -> Response:
        if self.open and "Authorization" not in req.headers:
            req.headers["Authorization"] = f"Bearer {TOKEN}"
        if req.body.startswith(protobuf.PREFIX) and req.content_type() == protobuf.MEDIA:
            try:
                req.body = orjson.dumps(protobuf.decode(req.body))
            except protobuf.ProtobufError as problem:
                return pipeline.refusal(status.bad_request(str(problem)))
            req.headers["Content-Type"] = JSON
        return self._faults.refusal(req) or self._faults.spoiled(req, self._inner.handle(req))
