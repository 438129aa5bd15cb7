"""Cluster: a member of the fleet as a person declares it (Karmada: Cluster). What was observed of it is `fleet`'s."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, StrictInt, model_validator

from gitfed.model.declared import names
from gitfed.model.declared.placement import Path
from gitfed.model.declared.shape import (
    Declared,
    Finding,
    Flag,
    Labels,
    Meaningless,
    Part,
    Quantity,
    Required,
    Text,
    warning,
)
from gitfed.model.keys import POOL
from gitfed.text import quantity

LONGEST_NAME = 48
LONGEST_POOL = 45
"""Characters: with what stands before it, it is a certificate's common name (`model.agent_identity`)."""
_UNLIMITED = str(2**63 - 1)
_CPU = ("0", "1", "2", "4", "8", "16", "32", "64", "128", _UNLIMITED)
_MEMORY = ("0", "4Gi", "16Gi", "32Gi", "64Gi", "128Gi", "256Gi", "512Gi", "1Ti", _UNLIMITED)


class SecretRef(Part):
    namespace: Required
    name: Required


class Taint(Part):
    key: Required
    value: Text = ""
    effect: Text
    time_added: Text | None = None


class ModelRange(Part):
    name: Required
    min: Quantity
    max: Quantity


class ResourceModel(Part):
    """A class of nodes: which amounts of each resource count as this grade."""

    grade: Annotated[StrictInt, Field(ge=0)]
    ranges: Annotated[tuple[ModelRange, ...], Field(min_length=1)]


_PROXIES = ("http", "https", "socks5", "socks5h")


class ClusterSpec(Part):
    id: Annotated[str, Field(strict=True, max_length=128_000)] = ""
    sync_mode: Literal["Push", "Pull"]
    api_endpoint: Text = ""
    secret_ref: SecretRef | None = None
    impersonator_secret_ref: Annotated[
        SecretRef | None,
        Meaningless("only Karmada's proxy uses it, and Karmada writes it into every cluster", silent=True),
    ] = None
    insecure_skip_tls_verification: Annotated[Flag, Field(alias="insecureSkipTLSVerification")] = False
    proxy_url: Annotated[Text, Field(alias="proxyURL")] = ""
    proxy_header: Labels = Field(default_factory=dict)
    provider: Text = ""
    region: Text = ""
    zone: Text = ""
    zones: tuple[Text, ...] = ()
    taints: tuple[Taint, ...] = ()
    resource_models: tuple[ResourceModel, ...] | None = None
    """Sorted by grade, first minimum 0, last maximum the largest number; nine usual grades when not given."""

    @model_validator(mode="after")
    def _as_admitted(self) -> Self:
        if self.zone and not self.zones:
            self._settle(zones=(self.zone,), zone="")
        models = usual_models() if self.resource_models is None else _closed(self.resource_models)
        self._settle(resource_models=models)
        return self

    def findings(self, path: Path) -> Iterator[Finding]:
        if self.zone and self.zones:
            yield Finding((*path, "zone"), "zone and zones cannot be combined", "zone is deprecated: use zones")
        for name, value in (("provider", self.provider), ("region", self.region), ("zone", self.zone)):
            if why := names.why_not_label_value(value):
                yield Finding((*path, name), f"the {name} {why}")
        for i, zone in enumerate(self.zones):
            if why := names.why_not_label_value(zone):
                yield Finding((*path, "zones", i), f"the zone {zone} {why}")
        if self.api_endpoint and (why := _why_not_endpoint(self.api_endpoint)):
            hint = "" if "://" in self.api_endpoint else f"write https://{self.api_endpoint}"
            yield Finding((*path, "apiEndpoint"), f"the address {why}", hint)
        if self.proxy_url and _scheme_and_host(self.proxy_url)[0] not in _PROXIES:
            yield Finding((*path, "proxyURL"), "the proxy's scheme must be http, https or socks5")
        if self.insecure_skip_tls_verification:
            message = "the certificate of this cluster is not verified: any server that answers gets the credentials"
            yield warning((*path, "insecureSkipTLSVerification"), message)
        yield from _taint_findings(self.taints, (*path, "taints"))
        yield from _model_findings(self.resource_models or (), (*path, "resourceModels"))


class Cluster(Declared):
    kind: Literal["Cluster"]
    spec: ClusterSpec

    @property
    def pool(self) -> str:
        """The pool of agents whose members keep it; "": none, the daemon or an agent of its own does."""
        return (self.metadata.annotations or {}).get(POOL, "")

    @property
    def has_agent(self) -> bool:
        """Whether an agent applies what is decided: the cluster's own, or the member of a pool that holds it."""
        return self.spec.sync_mode == "Pull" or bool(self.pool)

    def as_written(self) -> dict[str, Any]:
        """As JSON, without defaults."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)

    def findings(self) -> Iterator[Finding]:
        if why := names.why_not_dns_label(self.metadata.name, LONGEST_NAME):
            yield Finding(("metadata", "name"), f"the cluster name {self.metadata.name} {why}")
        pool = (self.metadata.annotations or {}).get(POOL)
        at = ("metadata", "annotations", POOL)
        if pool is not None and self.spec.sync_mode == "Pull":
            hint = f"spec.syncMode: Push, or no annotation {POOL}"
            yield Finding(at, "a pulled cluster has an agent of its own, and no pool's", hint)
        elif pool is not None and (why := names.why_not_dns_label(pool, LONGEST_POOL)):
            yield Finding(at, f"the pool name {pool!r} {why}")
        yield from self.spec.findings(("spec",))


def usual_models() -> tuple[ResourceModel, ...]:
    """Karmada's nine default grades."""
    return tuple(
        ResourceModel(
            grade=grade,
            ranges=(
                ModelRange(name="cpu", min=_CPU[grade], max=_CPU[grade + 1]),
                ModelRange(name="memory", min=_MEMORY[grade], max=_MEMORY[grade + 1]),
            ),
        )
        for grade in range(9)
    )


def _closed(models: tuple[ResourceModel, ...]) -> tuple[ResourceModel, ...]:
    ordered = sorted(models, key=lambda model: model.grade)
    if ordered:
        ordered[0] = _with(ordered[0], min="0")
        ordered[-1] = _with(ordered[-1], max=_UNLIMITED)
    return tuple(ordered)


def _with(model: ResourceModel, **change: Any) -> ResourceModel:
    return model.model_copy(update={"ranges": tuple(r.model_copy(update=change) for r in model.ranges)})


def _taint_findings(taints: tuple[Taint, ...], path: Path) -> Iterator[Finding]:
    seen: set[tuple[str, str]] = set()
    for i, taint in enumerate(taints):
        if why := names.why_not_label_key(taint.key):
            yield Finding((*path, i, "key"), f"the taint key {taint.key} {why}")
        if why := names.why_not_label_value(taint.value):
            yield Finding((*path, i, "value"), f"the taint value {taint.value} {why}")
        if taint.effect not in ("NoSchedule", "NoExecute"):
            yield Finding((*path, i, "effect"), f"the effect {taint.effect} is unsupported", "NoSchedule or NoExecute")
        if (taint.key, taint.effect) in seen:
            yield Finding((*path, i), f"the taint {taint.key} with effect {taint.effect} stands twice")
        seen.add((taint.key, taint.effect))


def _model_findings(models: tuple[ResourceModel, ...], path: Path) -> Iterator[Finding]:
    """Grades must follow each other without a gap. The order in the file does not matter, so all point at the list."""
    before: ResourceModel | None = None
    for model in models:
        try:
            spans = [(r.name, quantity.parse(r.min).nano, quantity.parse(r.max).nano) for r in model.ranges]
            last = [quantity.parse(r.max).nano for r in before.ranges] if before else []
        except quantity.QuantityError as problem:
            yield Finding(path, f"grade {model.grade}: {problem}")
            before = None
            continue
        for name, low, high in spans:
            if high <= low:
                yield Finding(path, f"grade {model.grade}: max of {name} must be above min")
        if before:
            if model.grade == before.grade:
                yield Finding(path, f"grade {model.grade} stands twice")
            elif [r.name for r in before.ranges] != [r.name for r in model.ranges]:
                message = f"grade {model.grade} names other resources, or in another order, than grade {before.grade}"
                yield Finding(path, message)
            elif last != [low for _, low, _ in spans]:
                yield Finding(path, f"grade {model.grade} does not begin where grade {before.grade} ends")
        before = model


def _why_not_endpoint(address: str) -> str:
    scheme, host = _scheme_and_host(address)
    if not scheme or not host:
        return "has no host" if scheme else "is not a URL with a scheme"
    parts = urlsplit(address)
    if parts.username is not None or parts.password is not None:
        return "must not hold user information"
    if parts.query or parts.fragment:
        return "must not have a query or fragment"
    return ""


def _scheme_and_host(address: str) -> tuple[str, str]:
    """("", "") for what is no URL. `host:6443` parses with the scheme `host`; it has no `//`."""
    try:
        parts = urlsplit(address)
        _ = parts.port  # raises if it is no number
    except ValueError:
        return "", ""
    if "://" not in address:
        return "", ""
    return parts.scheme.lower(), parts.hostname or ""
