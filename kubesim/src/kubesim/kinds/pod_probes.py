"""Complaints about what is done to a running container: probes and lifecycle handlers.

Kubernetes: validateProbe, validateLifecycle, validateHandler.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from kubesim.kinds import fields, formats
from kubesim.kinds.fields import Body, Errors


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a container's rules need to know of its pod."""

    volumes: dict[str, Body]
    restart_policy: str = "Always"
    grace_seconds: int | None = 30
    os: str = ""
    host_users: bool = True
    claims: frozenset[str] = field(default_factory=frozenset)


def port_or_name(port: Any, path: str) -> Errors:
    """Complaints about a port given as number or as name."""
    if isinstance(port, str):
        return fields.invalid(path, port, *formats.port_name(port))
    return fields.invalid(path, port or 0, *formats.port_number(port or 0))


def _handler(handler: Body, path: str, pod: Surroundings) -> Errors:
    errors: Errors = []
    seen = False
    for key in ("exec", "httpGet", "tcpSocket", "grpc", "sleep"):
        action = handler.get(key)
        if action is None:
            continue
        here = f"{path}.{key}"
        if seen:
            errors += fields.forbidden(here, "may not specify more than 1 handler type")
            continue
        seen = True
        if key == "exec":
            errors += [] if action.get("command") else fields.required(f"{here}.command")
        elif key == "httpGet":
            errors += _http(action, here)
        elif key == "sleep":
            seconds = action.get("seconds") or 0
            if pod.grace_seconds is not None and not 0 <= seconds <= pod.grace_seconds:
                text = f"must be non-negative and less than terminationGracePeriodSeconds ({pod.grace_seconds})"
                errors += fields.invalid(here, seconds, text)
        else:
            errors += port_or_name(action.get("port"), f"{here}.port")
    return errors if seen else fields.required(path, "must specify a handler type")


def _http(action: Body, path: str) -> Errors:
    errors = [] if action.get("path") else fields.required(f"{path}.path")
    errors += port_or_name(action.get("port"), f"{path}.port")
    scheme = fields.text(action, "scheme")
    errors += [] if scheme in ("HTTP", "HTTPS") else fields.unsupported(f"{path}.scheme", scheme, "HTTP", "HTTPS")
    for header in fields.items(action, "httpHeaders"):
        name = fields.text(header, "name")
        errors += fields.invalid(f"{path}.httpHeaders", name, *formats.header_name(name))
    return errors


def probes(container: Body, path: str, pod: Surroundings) -> Errors:
    """Complaints about the three probes of a container at this path."""
    errors: Errors = []
    for key in ("livenessProbe", "readinessProbe", "startupProbe"):
        probe = container.get(key)
        if probe is None:
            continue
        here = f"{path}.{key}"
        errors += _handler(probe, here, pod)
        for number in (
            "initialDelaySeconds",
            "timeoutSeconds",
            "periodSeconds",
            "successThreshold",
            "failureThreshold",
        ):
            errors += fields.non_negative(f"{here}.{number}", probe.get(number))
        grace = probe.get("terminationGracePeriodSeconds")
        errors += fields.positive(f"{here}.terminationGracePeriodSeconds", grace)
        if key != "readinessProbe" and probe.get("successThreshold") != 1:
            errors += fields.invalid(f"{here}.successThreshold", probe.get("successThreshold") or 0, "must be 1")
        if key == "readinessProbe" and grace is not None:
            errors += fields.invalid(
                f"{here}.terminationGracePeriodSeconds", grace, "must not be set for readinessProbes"
            )
    return errors


def lifecycle(container: Body, path: str, pod: Surroundings) -> Errors:
    """Complaints about the lifecycle of a container at this path."""
    found = container.get("lifecycle")
    if found is None:
        return []
    errors: Errors = []
    for key in ("postStart", "preStop"):
        if (handler := found.get(key)) is not None:
            errors += _handler(handler, f"{path}.lifecycle.{key}", pod)
    return errors
