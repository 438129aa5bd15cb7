"""A hub in a thread of its own, and one Chromium for all tests that look at its pages."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException, WebDriverException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.wait import WebDriverWait

from gitfed.hub.access.caller import AuthenticationMethod, Caller
from gitfed.hub.running import Running
from tests.hub.stage import Staged, staged
from tests.support import needs, patience

WIDTHS = (360, 1280, 2560)
SCHEMES = ("light", "dark")
# What chromedriver answers, in place of the error that WebDriver has for it, between a page and the next one.
_REPLACED = "Node with given id does not belong to the document"
_CHOSEN_CERTIFICATES = "profile.content_settings.exceptions.auto_select_certificate"


@contextlib.contextmanager
def hub(folder: Path, running: Running, **options: Any) -> Iterator[Staged]:
    """Serves until the block ends, while the test waits for a browser."""
    began: list[Staged] = []
    ready, over = threading.Event(), asyncio.Event()
    loops: list[asyncio.AbstractEventLoop] = []
    failed: list[BaseException] = []

    async def serve() -> None:
        loops.append(asyncio.get_running_loop())
        async with staged(folder, running=running, **options) as found:
            began.append(found)
            ready.set()
            await over.wait()

    def work() -> None:
        try:
            asyncio.run(serve())
        except BaseException as error:  # noqa: BLE001  told in the test's own thread
            failed.append(error)
        finally:
            ready.set()

    thread = threading.Thread(target=work, name="hub")
    thread.start()
    ready.wait(patience.SECONDS)
    try:
        assert began, failed
        yield began[0]
    finally:
        if loops:
            loops[0].call_soon_threadsafe(over.set)
        thread.join(patience.SECONDS)
    assert not failed, failed


@dataclass
class Browser:
    driver: webdriver.Chrome

    def log_in(self, staged_hub: Staged, name: str = "ann") -> None:
        """As somebody who was given a link."""
        self.forget()
        token = staged_hub.hub.login_tokens.issue(Caller(name, way=AuthenticationMethod.LOGIN_TOKEN))
        self.driver.get(f"{staged_hub.url}/login/token?token={token}")
        self.until(lambda: "/ui" in self.driver.current_url)

    def forget(self) -> None:
        """Be a browser that nobody has used."""
        self.driver.execute_cdp_cmd("Network.clearBrowserCookies", {})
        self.resize(1280)
        self.prefer("light")

    def resize(self, width: int) -> None:
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def prefer(self, scheme: str) -> None:
        """As the person's desktop says."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def run(self, script: str, *arguments: object) -> Any:
        return self.driver.execute_script(script, *arguments)

    def find(self, selector: str) -> WebElement:
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def text(self, selector: str = "main") -> str:
        """Raises StaleElementReferenceException where the page was replaced while it was read."""
        try:
            return self.find(selector).text
        except WebDriverException as error:
            if _REPLACED in str(error.msg):
                raise StaleElementReferenceException(error.msg) from error
            raise

    def press(self, *keys: str) -> None:
        ActionChains(self.driver).send_keys(*keys).perform()

    def focused(self) -> str:
        """What a screen reader would call it."""
        return str(
            self.run("const e = document.activeElement; return e.getAttribute('aria-label') || e.innerText || e.name")
        )

    def until(self, condition: Any) -> None:
        # While a page is replaced by another one, what was found on it is gone.
        passing = [StaleElementReferenceException, NoSuchElementException]
        wait = WebDriverWait(self.driver, patience.SECONDS, poll_frequency=0.05, ignored_exceptions=passing)
        wait.until(lambda driver: condition())

    def complaints(self) -> list[str]:
        """Of the console, since this was asked last: errors, and what the content security policy refused."""
        return [str(line["message"]) for line in self.driver.get_log("browser")]  # type: ignore[no-untyped-call]


@contextlib.contextmanager
def chromium(home: Path | None = None, chooses_for: str = "") -> Iterator[Browser]:
    """Skips where there is none. `home`: where it looks for certificates; of those that a server at `chooses_for`
    takes it shows one without asking, as it can show nobody its question."""
    options = webdriver.ChromeOptions()
    options.binary_location = str(needs.path_of("chromium"))
    driver = needs.path_of("chromedriver")
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    options.page_load_strategy = "normal"
    if chooses_for:
        chosen = {f"{chooses_for},*": {"setting": {"filters": [{}]}}}
        options.add_experimental_option("prefs", {_CHOSEN_CERTIFICATES: chosen})
    environment = {**os.environ, "HOME": str(home)} if home is not None else None
    made = webdriver.Chrome(options=options, service=Service(str(driver), env=environment))
    try:
        yield Browser(made)
    finally:
        made.quit()
