"""A server of this machine that takes CloudEvents, or refuses them for a while."""

from __future__ import annotations

import http.server
import json
import threading
from pathlib import Path
from typing import Any


class Listener:
    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.refused = 0
        self.away = False
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if outer.away:
                    outer.refused += 1
                else:
                    outer.events.append(json.loads(body))
                self.send_response(503 if outer.away else 202)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *arguments: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()

    def target(self, folder: Path) -> Path:
        """What `--notify-dir` is given: the target `bus` is this one."""
        place = folder / "targets" / "bus"
        place.mkdir(parents=True, exist_ok=True)
        (place / "url").write_text(f"http://127.0.0.1:{self._server.server_port}/events\n")
        return place.parent

    def told(self) -> list[tuple[str, str]]:
        """(type, subject), as they came."""
        return [(event["type"], event.get("subject", "")) for event in self.events]

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def notification(name: str, **spec: object) -> str:
    usual = {"provider": "CloudEvents", "target": "bus", "groupWait": "0s", "groupInterval": "0s"}
    return json.dumps(
        {"apiVersion": "gitfed.io/v1alpha1", "kind": "Notification", "metadata": {"name": name},
         "spec": {**usual, **spec}}
    )  # fmt: skip
