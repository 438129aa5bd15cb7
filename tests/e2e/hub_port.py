"""Where a hub listens, and who calls it."""

from __future__ import annotations

import base64
import ssl
import urllib.error
import urllib.request
from pathlib import Path

import yaml

from tests.e2e.world import Daemon, World
from tests.support import patience


def listening_port(world: World, daemon: Daemon) -> int:
    world.until(lambda: daemon.said("the hub listens"), "the hub listens")
    return int(daemon.said("the hub listens")[0]["url"].rpartition(":")[2])


class Credential:
    """What `gitfed kubeconfig --admin` printed, as files."""

    def __init__(self, world: World, port: int, user: str, data: Path | None = None) -> None:
        done = world.gitfed("kubeconfig", "--admin", "--user", user, "--data-dir", str(data or world.data),
                            "--hub-url", f"https://127.0.0.1:{port}")  # fmt: skip
        config = yaml.safe_load(done.stdout)
        self.url = config["clusters"][0]["cluster"]["server"]
        parts = {
            "ca": config["clusters"][0]["cluster"]["certificate-authority-data"],
            "certificate": config["users"][0]["user"]["client-certificate-data"],
            "key": config["users"][0]["user"]["client-key-data"],
        }
        self.files = {name: world.directory / f"{user}-{port}.{name}" for name in parts}
        for name, content in parts.items():
            self.files[name].write_bytes(base64.b64decode(content))

    def get(self, path: str) -> tuple[int, str]:
        context = ssl.create_default_context(cafile=self.files["ca"])
        context.load_cert_chain(self.files["certificate"], self.files["key"])
        try:
            with urllib.request.urlopen(self.url + path, context=context, timeout=patience.SECONDS) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
