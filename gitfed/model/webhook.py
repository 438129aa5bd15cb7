"""A question to an interpreter webhook and the recorded answer: the values between the rules and the network.

The pure packages decide which webhook is asked what (`interpret.webhooks`), the edge asks (`edges.webhook`), and the
daemon keeps the answers (`reading.webhook_cache`). A build never waits for a webhook: it takes a recorded answer, or
reports the question that has none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import TypeAlias

from gitfed.model.base import Body, Digest, ObjectKey
from gitfed.text.values import dataclass

GROUP = "config.karmada.io"
DEFAULT_TIMEOUT = 10
"""Seconds, where `timeoutSeconds` is not set."""


@dataclass(frozen=True, slots=True)
class ServiceAddress:
    """A Service of the cluster that the daemon runs in."""

    namespace: str
    name: str
    port: int
    path: str


@dataclass(frozen=True, slots=True)
class Webhook:
    """One entry of a ResourceInterpreterWebhookConfiguration, as far as it says whom to ask and how."""

    name: str
    """`<configuration>/<webhook>`: configurations are ordered by it."""
    url: str
    """"" for a Service."""
    service: ServiceAddress | None
    ca_bundle: str
    """Base64 of PEM; "" for the authorities that the machine trusts."""
    timeout: int
    """Seconds for one question."""
    version: str
    """Of the ResourceInterpreterContext that both sides speak."""


@dataclass(frozen=True, slots=True)
class WebhookQuestion:
    """What a webhook is asked. Equal digests are the same question, whenever it is asked and by whom."""

    webhook: Webhook
    operation: str
    key: ObjectKey
    subject: Digest
    """Of the object that is asked about."""
    request: Body
    """Everything that is sent but the `uid`. `digest` covers all of it."""
    digest: Digest
    read: Callable[[Body], Body] = field(compare=False, repr=False)
    """The `response` of a webhook in the form in which it is kept. Raises `InterpretError`, which says what is wrong
    with it, and ValueError."""


@dataclass(frozen=True, slots=True)
class NoReply:
    """There is no answer (yet). The text is a sentence without its subject: "has not answered yet"."""

    message: str
    at_all: bool = False
    """It is the same for every question to this webhook that has no answer."""


Find: TypeAlias = Callable[[WebhookQuestion], "Body | NoReply"]
"""Looks an answer up. Never waits, never raises."""
