"""Writes the pictures of docs/how-to/hub.md from a running demo: `gitfed demo` prints the link that this takes.

tools/screenshots.py http://127.0.0.1:PORT/login/token?token=...
"""

from __future__ import annotations

import base64
import sys
from pathlib import Path

from selenium.webdriver.support.wait import WebDriverWait

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.hub.pages import browser

FOLDER = Path(__file__).parents[1] / "docs" / "images"
PICTURES = (
    ("fleet", "/ui", 1280, "light"),
    ("placement", "/ui/placement", 1280, "dark"),
    ("object", "/ui/object?of=Deployment.apps/shop/web&cluster=us-1", 1280, "light"),
)


def main(link: str) -> None:
    FOLDER.mkdir(exist_ok=True)
    with browser.chromium() as chromium:
        chromium.driver.get(link)
        WebDriverWait(chromium.driver, 10).until(lambda driver: driver.current_url.endswith("/ui"))
        for name, path, width, scheme in PICTURES:
            chromium.resize(width)
            chromium.prefer(scheme)
            chromium.driver.get(link.partition("/login")[0] + path)
            WebDriverWait(chromium.driver, 10).until(lambda driver: "Live" in chromium.text("#live"))
            high = min(int(chromium.run("return document.documentElement.scrollHeight")), 1400)
            shot = chromium.driver.execute_cdp_cmd(
                "Page.captureScreenshot",
                {"captureBeyondViewport": True, "clip": {"x": 0, "y": 0, "width": width, "height": high, "scale": 1}},
            )
            (FOLDER / f"hub-{name}.png").write_bytes(base64.b64decode(shot["data"]))


if __name__ == "__main__":
    main(sys.argv[1])
