"""An interpreter webhook in one file: what the kind Workload of the group workload.example.io means.

    python server.py --cert tls.crt --key tls.key --port 8443

It answers with the standard library alone, over HTTPS, in the format of ResourceInterpreterContext: how many replicas a
Workload asks for, the Workload with another number of them, which of its fields belong to the cluster (`spec.paused`),
what of its status is collected, whether it is healthy, and what else it needs.

Every function below takes the `request` and returns the members of the `response` that answer its operation. Copy the
file and change them.
"""

from __future__ import annotations

import argparse
import base64
import json
import ssl
import sys
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

LARGEST = 1 << 20
"""Bytes of a request."""

Answer = dict[str, Any]
Request = Mapping[str, Any]


def replicas(request: Request) -> Answer:
    """How many, and what one of them asks for: the sum over its containers."""
    spec = request["object"]["spec"]
    pod = spec.get("template", {}).get("spec", {})
    wanted: dict[str, int] = {}
    for container in pod.get("containers", []):
        for name, amount in container.get("resources", {}).get("requests", {}).items():
            wanted[name] = wanted.get(name, 0) + milli(amount)
    requirements = {"resourceRequest": {name: f"{amount}m" for name, amount in wanted.items()}}
    return {"replicas": spec.get("replicas", 1), "replicaRequirements": requirements if wanted else None}


def milli(amount: str) -> int:
    """`500m` → 500, `2` → 2000. An example: memory in Mi and Gi needs more."""
    return int(amount[:-1]) if amount.endswith("m") else round(float(amount) * 1000)


def revise(request: Request) -> Answer:
    return patch([{"op": "add", "path": "/spec/replicas", "value": request["replicas"]}])


def retain(request: Request) -> Answer:
    """Whoever works in the cluster says whether a Workload is paused."""
    paused = request["observedObject"].get("spec", {}).get("paused")
    return patch([] if paused is None else [{"op": "add", "path": "/spec/paused", "value": paused}])


def aggregate(request: Request) -> Answer:
    ready = sum(item.get("status", {}).get("readyReplicas", 0) for item in request.get("aggregatedStatus", []))
    return patch([{"op": "add", "path": "/status", "value": {"readyReplicas": ready}}])


def status(request: Request) -> Answer:
    return {"rawStatus": {"readyReplicas": request["object"].get("status", {}).get("readyReplicas", 0)}}


def health(request: Request) -> Answer:
    workload = request["object"]
    return {"healthy": workload.get("status", {}).get("readyReplicas", 0) >= workload["spec"].get("replicas", 1)}


def dependencies(request: Request) -> Answer:
    """The ConfigMaps that its containers read their environment from."""
    pod = request["object"]["spec"].get("template", {}).get("spec", {})
    names = {
        source["configMapRef"]["name"]
        for container in pod.get("containers", [])
        for source in container.get("envFrom", [])
        if "configMapRef" in source
    }
    found = [
        {"apiVersion": "v1", "kind": "ConfigMap", "namespace": request["namespace"], "name": name}
        for name in sorted(names)
    ]
    return {"dependencies": found}


OPERATIONS: Mapping[str, Callable[[Request], Answer]] = {
    "InterpretReplica": replicas,
    "ReviseReplica": revise,
    "Retain": retain,
    "AggregateStatus": aggregate,
    "InterpretStatus": status,
    "InterpretHealth": health,
    "InterpretDependency": dependencies,
}


def patch(operations: list[dict[str, Any]]) -> Answer:
    return {"patchType": "JSONPatch", "patch": base64.b64encode(json.dumps(operations).encode()).decode()}


def respond(context: Mapping[str, Any]) -> dict[str, Any]:
    """A ResourceInterpreterContext with a request → one with the response. The `uid` comes back as it was."""
    request = context["request"]
    response: Answer = {"uid": request["uid"], "successful": True}
    operation = OPERATIONS.get(request["operation"])
    try:
        if operation is None:
            raise ValueError(f"the operation {request['operation']} is not implemented")
        response |= operation(request)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        # The object is not shaped as these functions expect. Whoever asks is told, and keeps what it decided last.
        response |= {"successful": False, "status": {"code": 400, "message": f"{type(error).__name__}: {error}"}}
    return {"apiVersion": context["apiVersion"], "kind": "ResourceInterpreterContext", "response": response}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 60  # seconds that an idle connection is kept

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        if length > LARGEST:
            self.close_connection = True
            self.send_error(413)
            return
        try:
            answer = respond(json.loads(self.rfile.read(length)))
        except (ValueError, KeyError, TypeError):
            self.send_error(400, "not a ResourceInterpreterContext")
            return
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Server(ThreadingHTTPServer):
    """The handshake happens in the connection's own thread: who connects and says nothing keeps nobody waiting."""

    daemon_threads = True

    def __init__(self, address: tuple[str, int], context: ssl.SSLContext) -> None:
        super().__init__(address, Handler)
        self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cert", required=True, help="certificate chain, PEM")
    parser.add_argument("--key", required=True, help="its private key, PEM")
    parser.add_argument("--address", default="", help="to listen on (default: every one)")
    parser.add_argument("--port", type=int, default=8443)
    given = parser.parse_args()
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(given.cert, given.key)
    with Server((given.address, given.port), context) as server:
        sys.stderr.write(f"listening on port {server.server_address[1]}\n")
        server.serve_forever()


if __name__ == "__main__":
    main()
