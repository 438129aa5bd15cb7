"""The rules that webhooks bring: who is asked about what (Karmada: interpreters §3).

Of the webhooks with a matching rule only the first by `<configuration>/<webhook>` is asked. Looking its answer up is
passed in (`model.webhook.Find`), so that everything here is a function of its inputs.

What is sent is what the question's digest covers, and nothing else: equal digests mean equal questions. Secrets never
leave: a Secret is nobody's to interpret but ours, and one inside another object is sent without its values. Left out
are, too, what the API server keeps for itself about an object and kubectl's copy of what was applied last.

What an answer must look like is `responses`' knowledge.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gitfed.interpret import responses, shapes
from gitfed.interpret.registry import InterpretError, NoAnswer, Operation, OperationInputs
from gitfed.model.base import Body, Digest, ObjectKey, Problem, Severity, group_of
from gitfed.model.declared.interpreter import InterpreterWebhook, ResourceInterpreterWebhookConfiguration
from gitfed.model.keys import LAST_APPLIED
from gitfed.model.webhook import DEFAULT_TIMEOUT, Find, NoReply, ServiceAddress, Webhook, WebhookQuestion
from gitfed.text import canonical

NAME = "webhook"
"""The `source` of answers from here."""
SPOKEN = ("v1alpha1",)
"""Versions of ResourceInterpreterContext. The first of a webhook's list that is among them is used."""
MASK = "***"
_SERVERS_OWN = ("managedFields", "resourceVersion")


class Webhooks:
    """The webhooks of one commit as a source of the registry, which see."""

    name = NAME

    def __init__(self, configurations: Sequence[ResourceInterpreterWebhookConfiguration], find: Find) -> None:
        pairs = [
            (f"{configuration.metadata.name}/{webhook.name}", webhook)
            for configuration in configurations
            for webhook in configuration.webhooks
        ]
        self._webhooks = sorted(pairs, key=lambda pair: pair[0])
        self._find = find
        self._asked: dict[tuple[str, str, str], Webhook | None] = {}

    def handles(self, api_version: str, kind: str, operation: Operation) -> bool:
        return self._webhook(api_version, kind, operation) is not None

    def answer(self, operation: Operation, inputs: OperationInputs) -> Any:
        """Raises NoAnswer with operation, kind, webhook, and why there is none."""
        body = inputs.object
        webhook = self._webhook(body["apiVersion"], body["kind"], operation)
        assert webhook is not None
        asked = question(webhook, operation, inputs)
        reply = self._find(asked)
        if isinstance(reply, NoReply):
            cause = f"the webhook {webhook.name} {reply.message}"
            raise NoAnswer(f"{operation} of {body['kind']}: {cause}", cause=cause if reply.at_all else "")
        try:
            return responses.value(operation, inputs, reply)
        except InterpretError as error:
            raise NoAnswer(
                f"{operation} of {body['kind']}: the recorded answer of the webhook {webhook.name} is unusable: {error}"
            ) from error

    def _webhook(self, api_version: str, kind: str, operation: Operation) -> Webhook | None:
        which = (api_version, kind, operation)
        if which not in self._asked:
            group, _, version = api_version.rpartition("/")
            self._asked[which] = next(
                (
                    _address(name, webhook)
                    for name, webhook in self._webhooks
                    if _matches(webhook, group, version, kind, operation)
                ),
                None,
            )
        return self._asked[which]


def _matches(webhook: InterpreterWebhook, group: str, version: str, kind: str, operation: str) -> bool:
    if (group, kind) == ("", "Secret"):
        return False
    return any(
        _among(operation, rule.operations)
        and _among(group, rule.api_groups)
        and _among(version, rule.api_versions)
        and _among(kind, rule.kinds)
        for rule in webhook.rules
    )


def _among(value: str, allowed: Sequence[str]) -> bool:
    return value in allowed or "*" in allowed


def _address(name: str, webhook: InterpreterWebhook) -> Webhook:
    client = webhook.client_config
    service = client.service
    return Webhook(
        name=name,
        url=client.url or "",
        service=ServiceAddress(service.namespace, service.name, service.port, service.path) if service else None,
        ca_bundle=client.ca_bundle or "",
        timeout=webhook.timeout_seconds or DEFAULT_TIMEOUT,
        version=next(version for version in webhook.interpreter_context_versions if version in SPOKEN),
    )


def services(configurations: Sequence[ResourceInterpreterWebhookConfiguration]) -> tuple[Problem, ...]:
    """What is to be said of webhooks that are Services where nobody can reach one."""
    return tuple(
        Problem(
            configuration.origin,
            f"the webhook {configuration.metadata.name}/{webhook.name} is the Service "
            f"{service.namespace}/{service.name}, and gitfed does not run in a cluster",
            hint="give clientConfig.url",
            severity=Severity.WARNING,
        )
        for configuration in configurations
        for webhook in configuration.webhooks
        if (service := webhook.client_config.service)
    )


# -- the question -------------------------------------------------------------------------------------------------


def question(webhook: Webhook, operation: Operation, inputs: OperationInputs) -> WebhookQuestion:
    """The digest covers whom the question goes to, by name and address, and what is sent.

    A certificate that was renewed, or another timeout, does not make it another question.
    """
    body = inputs.object
    metadata = body.get("metadata") or {}
    group, _, version = body["apiVersion"].rpartition("/")
    key = ObjectKey(group, body["kind"], metadata.get("namespace") or "", metadata.get("name") or "")
    request: dict[str, Any] = {
        "kind": {"group": group, "version": version, "kind": body["kind"]},
        "name": key.name,
        "operation": operation.value,
        "object": sendable(body),
    }
    if key.namespace:
        request["namespace"] = key.namespace
    if operation is Operation.REVISE:
        request["replicas"] = inputs.replicas
    if operation is Operation.RETAIN:
        request["observedObject"] = sendable(inputs.observed or {})
    if operation is Operation.AGGREGATE:
        request["aggregatedStatus"] = list(shapes.status_items(inputs.items) or ())
    service = webhook.service
    address = webhook.url or (service and [service.namespace, service.name, service.port, service.path])
    digest = canonical.digest([webhook.name, address, webhook.version, request])
    return WebhookQuestion(
        webhook=webhook,
        operation=operation.value,
        key=key,
        subject=Digest(canonical.digest(request["object"])),
        request=request,
        digest=Digest(digest),
        read=lambda response: responses.kept(operation, inputs, response),
    )


def sendable(body: Body) -> Body:
    """An object as a webhook may see it; the very object where there is nothing to leave out."""
    metadata = body.get("metadata")
    if isinstance(metadata, Mapping):
        left = {name: value for name, value in metadata.items() if name not in _SERVERS_OWN}
        annotations = metadata.get("annotations")
        if isinstance(annotations, Mapping) and LAST_APPLIED in annotations:
            left["annotations"] = {name: value for name, value in annotations.items() if name != LAST_APPLIED}
        if left != metadata:
            body = {**body, "metadata": left}
    masked: Body = _masked(body)
    return masked


def _masked(value: Any) -> Any:
    """Without the values of Secrets at any depth; the very value where there are none."""
    if isinstance(value, Mapping):
        if value.get("kind") == "Secret" and group_of(str(value.get("apiVersion") or "")) == "":
            return {
                name: dict.fromkeys(child, MASK) if name in _VALUES and isinstance(child, Mapping) else child
                for name, child in value.items()
                if name != "metadata"
            } | ({"metadata": _without_annotations(value["metadata"])} if "metadata" in value else {})
        members = {name: _masked(child) for name, child in value.items()}
        return members if any(members[name] is not value[name] for name in members) else value
    if isinstance(value, list):
        items = [_masked(child) for child in value]
        return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
    return value


_VALUES = ("data", "stringData")


def _without_annotations(metadata: Any) -> Any:
    """An annotation of a Secret may hold a copy of it."""
    return {n: v for n, v in metadata.items() if n != "annotations"} if isinstance(metadata, Mapping) else metadata
