"""Customizations and webhooks that say what a kind means (Karmada: interpreters §2, §3).

Whether a script compiles is found out where scripts are run; here is only what can be read off the document.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, NamedTuple, Self
from urllib.parse import urlsplit

from pydantic import Field, PrivateAttr, StrictInt
from pydantic.alias_generators import to_camel

from gitfed.model.base import Origin
from gitfed.model.declared import names
from gitfed.model.declared.placement import Path
from gitfed.model.declared.shape import Declared, Finding, ObjectMeta, Part, Required, Text, warning

OPERATIONS = (
    "InterpretReplica",
    "InterpretComponent",
    "ReviseReplica",
    "Retain",
    "AggregateStatus",
    "InterpretStatus",
    "InterpretHealth",
    "InterpretDependency",
)


class CustomizationTarget(Part):
    api_version: Required
    kind: Required


class LuaRule(Part):
    lua_script: Text


class Customizations(Part):
    retention: LuaRule | None = None
    replica_resource: LuaRule | None = None
    component_resource: LuaRule | None = None
    replica_revision: LuaRule | None = None
    status_reflection: LuaRule | None = None
    status_aggregation: LuaRule | None = None
    health_interpretation: LuaRule | None = None
    dependency_interpretation: LuaRule | None = None


RULE_OF_OPERATION = {
    "InterpretReplica": "replica_resource",
    "InterpretComponent": "component_resource",
    "ReviseReplica": "replica_revision",
    "Retain": "retention",
    "AggregateStatus": "status_aggregation",
    "InterpretStatus": "status_reflection",
    "InterpretHealth": "health_interpretation",
    "InterpretDependency": "dependency_interpretation",
}
"""Operation → attribute of `Customizations`."""


class CustomizationSpec(Part):
    target: CustomizationTarget
    customizations: Customizations


class ScriptPlace(NamedTuple):
    """Where a script stands, for messages about its lines."""

    origin: Origin
    begins: int = 0
    """The file's line with the script's first line; 0 where a line of one is not a line of the other."""


class ResourceInterpreterCustomization(Declared):
    kind: Literal["ResourceInterpreterCustomization"]
    spec: CustomizationSpec

    _places: Mapping[str, ScriptPlace] = PrivateAttr(default_factory=dict)

    def script(self, operation: str) -> str:
        """The Lua script for one of `OPERATIONS`, "" if this customization has none."""
        rule: LuaRule | None = getattr(self.spec.customizations, RULE_OF_OPERATION[operation])
        return rule.lua_script if rule else ""

    def place_of(self, operation: str) -> ScriptPlace:
        """Where the script for one of `OPERATIONS` stands."""
        return self._places.get(operation, ScriptPlace(self.origin))

    def with_places(self, places: Mapping[str, ScriptPlace]) -> Self:
        """The same object, by operation with the places of its scripts."""
        placed = self.model_copy()
        placed._places = places
        return placed

    @staticmethod
    def path_of(operation: str) -> Path:
        """The member of the document that holds a script."""
        return ("spec", "customizations", to_camel(RULE_OF_OPERATION[operation]), "luaScript")

    def findings(self) -> Iterator[Finding]:
        if not any(self.script(operation) for operation in OPERATIONS):
            yield warning(("spec", "customizations"), "no script is given, so this customization does nothing")


class ServiceReference(Part):
    namespace: Required
    name: Required
    path: Text = ""
    port: Annotated[StrictInt, Field(ge=1, le=65535)] = 443


class ClientConfig(Part):
    url: Text | None = None
    service: ServiceReference | None = None
    ca_bundle: Text | None = None


class RuleWithOperations(Part):
    operations: tuple[Text, ...]
    api_groups: tuple[Text, ...]
    api_versions: tuple[Text, ...]
    kinds: tuple[Text, ...]


class InterpreterWebhook(Part):
    name: Required
    client_config: ClientConfig
    rules: tuple[RuleWithOperations, ...] = ()
    timeout_seconds: Annotated[StrictInt, Field(ge=1, le=30)] | None = None
    interpreter_context_versions: Annotated[tuple[Text, ...], Field(min_length=1)]


class ResourceInterpreterWebhookConfiguration(Declared):
    kind: Literal["ResourceInterpreterWebhookConfiguration"]
    metadata: ObjectMeta
    webhooks: Annotated[tuple[InterpreterWebhook, ...], Field(min_length=1)]
    spec: Any = Field(default=None, exclude=True)

    def findings(self) -> Iterator[Finding]:
        seen: set[str] = set()
        for i, webhook in enumerate(self.webhooks):
            path: Path = ("webhooks", i)
            if webhook.name in seen:
                yield Finding((*path, "name"), f"the webhook {webhook.name} stands twice")
            seen.add(webhook.name)
            if (why := names.why_not_dns_subdomain(webhook.name)) or webhook.name.count(".") < 2:
                why = why or "must have at least three parts"
                yield Finding((*path, "name"), f"the webhook name {webhook.name} {why}")
            yield from _client_findings(webhook.client_config, (*path, "clientConfig"))
            for j, rule in enumerate(webhook.rules):
                yield from _rule_findings(rule, (*path, "rules", j))
            yield from _version_findings(webhook.interpreter_context_versions, (*path, "interpreterContextVersions"))


def _client_findings(client: ClientConfig, path: Path) -> Iterator[Finding]:
    if (client.url is None) == (client.service is None):
        yield Finding(path, "exactly one of url and service is required")
    if client.url is not None:
        try:
            parts = urlsplit(client.url)
            _ = parts.port
        except ValueError:
            yield Finding((*path, "url"), "the URL cannot be read")
            return
        if parts.scheme != "https":
            yield Finding((*path, "url"), "the URL must begin with https://")
        if not parts.hostname:
            yield Finding((*path, "url"), "the URL has no host")
        if parts.username is not None or parts.query or parts.fragment:
            yield Finding((*path, "url"), "the URL must not have a user, query or fragment")
    if client.ca_bundle and (why := _why_not_bundle(client.ca_bundle)):
        yield Finding((*path, "caBundle"), f"the caBundle {why}", "base64 of the PEM of the authority's certificate")
    if client.service and client.service.path and not client.service.path.startswith("/"):
        yield Finding((*path, "service", "path"), "the path must begin with /")


def _why_not_bundle(text: str) -> str:
    """Whether it holds certificates is found out when the webhook is asked; here, whether it could."""
    try:
        pem = base64.b64decode(text, validate=True)
    except ValueError:
        return "is not base64"
    return "" if b"-----BEGIN CERTIFICATE-----" in pem else "holds no certificate"


def _rule_findings(rule: RuleWithOperations, path: Path) -> Iterator[Finding]:
    lists = (
        ("operations", rule.operations),
        ("apiGroups", rule.api_groups),
        ("apiVersions", rule.api_versions),
        ("kinds", rule.kinds),
    )
    for name, values in lists:
        if not values:
            yield Finding((*path, name), f"{name} must not be empty", 'use "*" for all')
        if "*" in values and len(values) > 1:
            yield Finding((*path, name), f'"*" must stand alone in {name}')
        if "" in values and name != "apiGroups":
            yield Finding((*path, name, values.index("")), f"an empty text is not allowed in {name}")
    for k, operation in enumerate(rule.operations):
        if operation not in ("", "*", *OPERATIONS):
            yield Finding((*path, "operations", k), f"the operation {operation} is unknown", ", ".join(OPERATIONS))


def _version_findings(versions: tuple[str, ...], path: Path) -> Iterator[Finding]:
    if "v1alpha1" not in versions:
        yield Finding(path, "the version v1alpha1 must be among them")
    for i, version in enumerate(versions):
        if version in versions[:i]:
            yield Finding((*path, i), f"the version {version} stands twice")
        if (why := names.why_not_dns_label(version)) or version[:1].isdigit():
            yield Finding((*path, i), f"the version {version} {why or 'must begin with a letter'}")
