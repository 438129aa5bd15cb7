"""Bodies, types and writers that the tests of this folder share."""

from datetime import UTC, datetime, timedelta
from typing import Any

from kubesim import managed, schema

Body = dict[str, Any]

CONFIG_MAP = schema.for_kind("", "v1", "ConfigMap")
DEPLOYMENT = schema.for_kind("apps", "v1", "Deployment")
START = datetime(2026, 1, 1, tzinfo=UTC)

MAIN = (("status",),)
"""Fields that the main address can never own."""


def at(second: int) -> str:
    return (START + timedelta(seconds=second)).strftime("%Y-%m-%dT%H:%M:%SZ")


def writer(manager: str, second: int = 0, api_version: str = "v1", subresource: str = "") -> managed.Writer:
    return managed.Writer(manager, api_version, START + timedelta(seconds=second), subresource)


def config_map(data: Body | None = None, **metadata: Any) -> Body:
    body: Body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", **metadata}}
    return body if data is None else {**body, "data": data}


def apply(live: Body | None, config: Body, manager: str, second: int = 0, *, force: bool = False) -> Body:
    """An apply of a ConfigMap and what the server does after it."""
    merged = managed.apply(live, config, writer(manager, second), CONFIG_MAP, force=force)
    body = CONFIG_MAP.convert(merged)
    return managed.settle(live, body) if live is not None else body


def update(live: Body | None, new: Body, manager: str, second: int = 0) -> Body:
    """A creation or replacement of a ConfigMap."""
    return managed.update(live, CONFIG_MAP.convert(new), writer(manager, second), CONFIG_MAP)


def owners(body: Body) -> dict[str, Any]:
    """Manager and operation → fields."""
    entries = body["metadata"].get("managedFields", [])
    return {f"{entry['manager']} {entry['operation']}": entry["fieldsV1"] for entry in entries}


def times(body: Body) -> dict[str, str | None]:
    return {entry["manager"]: entry.get("time") for entry in body["metadata"].get("managedFields", [])}


def entry(manager: str, operation: str, fields: Body, second: int | None = None, **more: str) -> Body:
    """An entry of managedFields as it is stored."""
    out: Body = {"manager": manager, "operation": operation, "apiVersion": more.pop("api_version", "v1")}
    if second is not None:
        out["time"] = at(second)
    return {**out, "fieldsType": "FieldsV1", "fieldsV1": fields, **more}


def deployment(containers: list[Body], **spec: Any) -> Body:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": containers}}
    selector = {"matchLabels": {"app": "web"}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d"},
        "spec": {"selector": selector, "template": template, **spec},
    }
