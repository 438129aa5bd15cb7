"""Where notifications go: one folder for each target, with its address and its secrets, and the ways there.

    DIR/NAME/url            the address
    DIR/NAME/bearerToken    sent along as `Authorization: Bearer …` (CloudEvents)
    DIR/NAME/ca.crt         whom to trust instead of the machine's authorities (CloudEvents)

The folder is the operator's (a mounted Secret); a commit only names it. It is read for each message, so what is
replaced counts with the next one. No message of an error holds anything of it.
"""

from __future__ import annotations

from dataclasses import field
from pathlib import Path

from gitfed.errors import DeliveryError
from gitfed.text.values import dataclass

_LARGEST = 64 << 10


@dataclass(frozen=True, slots=True)
class Message:
    """For people."""

    title: str
    body: str
    kind: str
    """`info`, `success`, `warning` or `failure`."""


@dataclass(frozen=True, slots=True)
class NotificationTarget:
    name: str
    url: str = field(repr=False)
    token: str = field(default="", repr=False)
    authorities: str = field(default="", repr=False)
    """PEM; "": the machine's."""


def target(folder: Path | None, name: str) -> NotificationTarget:
    """Raises DeliveryError when there is none."""
    if folder is None:
        raise DeliveryError(f"the daemon has no target {name}", hint="start it with --notify-dir")
    place = folder / name
    url = _text(place / "url").strip()
    if not url:
        raise DeliveryError(f"the target {name} has no address", hint=f"write it into {place / 'url'}")
    return NotificationTarget(name, url, _text(place / "bearerToken").strip(), _text(place / "ca.crt"))


def _text(path: Path) -> str:
    """ "" for a file that is not there."""
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST + 1)
        if len(content) > _LARGEST:
            raise DeliveryError(f"{path} is too large", hint="an address, a token or certificates are expected")
        return content.decode("utf-8")
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError as error:
        raise DeliveryError(f"{path} is not text") from error
    except OSError as error:
        raise DeliveryError(f"{path} cannot be read: {error.strerror}") from error
