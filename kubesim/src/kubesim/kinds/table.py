"""Cells of tables: how `kubectl get` shows ages, containers, addresses.

Columns are written as short text (`"Name|name"`, `"Desired:integer"`, `"Images*"` for a wide one) because a table of
tables is easier to compare with the screen than sixty constructor calls. Kubernetes: printers.go, HumanDuration.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from kubesim.kind import Column
from kubesim.kinds import fields
from kubesim.kinds.fields import Body

UNKNOWN = "<unknown>"
NONE = "<none>"


def columns(*specs: str) -> tuple[Column, ...]:
    """Columns of short texts: `Name`, `:type` where it is not string, `:format` after it, `*` at the end for a wide
    column.

    The column called Name has the format `name`, by which clients recognise it.
    """
    found = []
    for spec in specs:
        wide = spec.endswith("*")
        name, kind, shown, *_ = f"{spec.removesuffix('*')}::".split(":")
        shown = "name" if name == "Name" else shown
        found.append(Column(name=name, type=kind or "string", format=shown, priority=1 if wide else 0))
    return tuple(found)


def moment(value: str | None) -> datetime | None:
    """The time behind a stored text, with or without fractions of seconds."""
    return datetime.fromisoformat(value).astimezone(UTC) if value else None


def age(value: str | None, now: datetime) -> str:
    """The time since then: `5s`, `2m`, `3d4h`; `<unknown>` for no time."""
    then = moment(value)
    return duration(now - then) if then else UNKNOWN


def created(body: Body, now: datetime) -> str:
    return age(fields.obj(body, "metadata").get("creationTimestamp"), now)


def name(body: Body) -> str:
    return fields.text(fields.obj(body, "metadata"), "name")


def duration(span: timedelta) -> str:
    """A span as people say it: two units at most, the smaller one only while it matters."""
    seconds = int(span.total_seconds())
    if seconds < -1:
        return "<invalid>"
    if seconds < 0:
        return "0s"
    if seconds < 120:
        return f"{seconds}s"
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if minutes < 10:
        return _two(minutes, "m", seconds % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return _two(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    if hours < 192:
        return _two(days, "d", hours % 24, "h")
    if hours < 8760 * 2:
        return f"{days}d"
    years = hours // 8760
    return _two(years, "y", days % 365, "d") if hours < 8760 * 8 else f"{years}y"


def _two(large: int, unit: str, small: int, smaller: str) -> str:
    return f"{large}{unit}{small}{smaller}" if small else f"{large}{unit}"


def containers(spec: Body) -> list[str]:
    """Names and images of a pod spec's containers, each joined with commas."""
    found = fields.items(spec, "containers")
    return [",".join(fields.text(one, key) for one in found) for key in ("name", "image")]


def load_balancer(body: Body) -> str:
    """The addresses that a load balancer answers at."""
    ingress = fields.items(body, "status", "loadBalancer", "ingress")
    return ",".join(
        sorted({one.get("ip") or one["hostname"] for one in ingress if one.get("ip") or one.get("hostname")})
    )


def access_modes(modes: list[str]) -> str:
    """Access modes of volumes in the usual abbreviations."""
    short = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}
    return ",".join(text for mode, text in short.items() if mode in modes)
