"""Slack, Teams, e-mail, PagerDuty and a hundred others, by the library apprise (`gitfed[notify]`).

It blocks, so it works in threads of its own: daemon threads, because one that waits for a server must not keep the
process from ending, and few, because each may wait for a minute. Its log is silenced: it names addresses.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import logging
import threading

from gitfed.edges.notify import Message, NotificationTarget
from gitfed.errors import DeliveryError

_MOST = 8
_ASSET = {"app_id": "gitfed", "app_desc": "gitfed", "app_url": ""}
_slots = threading.BoundedSemaphore(_MOST)


def is_installed() -> bool:
    return importlib.util.find_spec("apprise") is not None


async def send(target: NotificationTarget, message: Message) -> None:
    """Raises DeliveryError."""
    if not is_installed():
        raise DeliveryError("apprise is not installed", hint="pip install 'gitfed[notify]'")
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[str] = loop.create_future()
    if not _slots.acquire(blocking=False):
        raise DeliveryError(f"the target {target.name} has to wait: {_MOST} others are slow")

    def work() -> None:
        try:
            complaint = _notify(target, message)
        finally:
            _slots.release()
        with contextlib.suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(_settle, answer, complaint)

    threading.Thread(target=work, name="gitfed-notify", daemon=True).start()
    if complaint := await answer:
        raise DeliveryError(complaint)


def _settle(answer: asyncio.Future[str], complaint: str) -> None:
    if not answer.done():  # the sender did not wait that long
        answer.set_result(complaint)


def _notify(target: NotificationTarget, message: Message) -> str:
    """Why it was not delivered; "" when it was."""
    import apprise

    logging.getLogger("apprise").setLevel(logging.CRITICAL + 1)
    try:
        service = apprise.Apprise(asset=apprise.AppriseAsset(**_ASSET, storage_mode=apprise.PersistentStoreMode.MEMORY))
        if not service.add(target.url):
            return f"the target {target.name} has an address that apprise does not know"
        taken = service.notify(
            title=message.title,
            body=message.body,
            notify_type=apprise.NotifyType(message.kind),
            body_format=apprise.NotifyFormat.TEXT,
        )
    except Exception as error:  # noqa: BLE001  a hundred services, each with its own ways to fail
        return f"the target {target.name} could not be told ({type(error).__name__})"
    return "" if taken else f"the target {target.name} refused the message, or did not answer"
