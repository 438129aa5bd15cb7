"""What the server warns of, though it accepts it, in pods and pod templates.

Warnings go into headers of answers; `kubectl` shows them. Kubernetes: warningsForPodSpecAndMeta.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from kubesim.kinds import fields, formats, resources
from kubesim.kinds.fields import Body
from kubesim.status import quote

OLD_VOLUMES: Final = {
    "photonPersistentDisk": ("photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    "gitRepo": ("gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
    "scaleIO": ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    "flocker": ("flocker", "deprecated in v1.22, non-functional in v1.25+"),
    "storageos": ("storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    "quobyte": ("quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    "glusterfs": ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    "cephfs": ("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    "rbd": ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
}
"""Source → (its name in Kubernetes, since when)."""
_OLD_LABELS: Final = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
}
_BYTES: Final = ("memory", "ephemeral-storage")
_NO_SELECTOR: Final = "a null labelSelector results in matching no pod"


def name_in_pods(body: Body) -> list[str]:
    """Names of controllers become names of pods, and so of hosts."""
    complaints = formats.dns_label(fields.text(fields.obj(body, "metadata"), "name"))
    if not complaints:
        return []
    shown = "[" + " ".join(complaints) + "]"
    return [
        "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label"
        f" is recommended: {shown}"
    ]


def template_warnings(body: Body, old: Body | None) -> list[str]:
    """Of a kind with `spec.template`; an update that makes no new generation warns no more."""
    if old is not None and fields.obj(old, "spec") == fields.obj(body, "spec"):
        notes = [fields.obj(one, "metadata", "annotations") for one in (old, body)]
        if body.get("kind") != "Deployment" or notes[0] == notes[1]:
            return []
    template = fields.obj(body, "spec", "template")
    return pod(fields.obj(template, "spec"), "spec.template.spec")


def pod(spec: Body, path: str) -> list[str]:
    """Warnings of a pod's spec that stands at this path."""
    found = [
        f'{path}.nodeSelector[{key}]: deprecated since v1.17; use "{_OLD_LABELS[key]}" instead'
        if key.startswith("failure-domain") or key.endswith("instance-type")
        else f'{path}.nodeSelector[{key}]: deprecated since v1.14; use "{_OLD_LABELS[key]}" instead'
        for key in sorted(fields.obj(spec, "nodeSelector"))
        if key in _OLD_LABELS
    ]
    for at, one in enumerate(fields.items(spec, "topologySpreadConstraints")):
        if one.get("labelSelector") is None:
            found.append(f"{path}.topologySpreadConstraints[{at}].labelSelector: {_NO_SELECTOR}")
    for at, volume in enumerate(fields.items(spec, "volumes")):
        found += [
            f"{path}.volumes[{at}].{shown}: {text}"
            for key, (shown, text) in OLD_VOLUMES.items()
            if volume.get(key) is not None
        ]
        found += [
            f"volume {quote(fields.text(volume, 'name'))} (Projected) has no sources provided"
            for source in fields.items(volume, "projected", "sources")
            if not source
        ]
    found += _repeated(fields.items(spec, "hostAliases"), "ip", f"{path}.hostAliases")
    found += _repeated(fields.items(spec, "imagePullSecrets"), "name", f"{path}.imagePullSecrets")
    for at, secret in enumerate(fields.items(spec, "imagePullSecrets")):
        if not secret.get("name"):
            found.append(f'{path}.imagePullSecrets[{at}].name: invalid empty name ""')
    found += _fractions(fields.obj(spec, "overhead"), f"{path}.overhead")
    for container, here in _containers(spec, path):
        for side in ("limits", "requests"):
            found += _fractions(fields.obj(container, "resources", side), f"{here}.resources.{side}")
        found += _hidden_variables(fields.items(container, "env"), f"{here}.env")
    found += _ports(spec, path) + _port_names(spec, path)
    seconds = spec.get("terminationGracePeriodSeconds")
    if seconds is not None and seconds < 0:
        found.append(
            f"{path}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1"
        )
    return found + _affinity(fields.obj(spec, "affinity"), f"{path}.affinity")


def _containers(spec: Body, path: str) -> Iterator[tuple[Body, str]]:
    for key in ("initContainers", "containers", "ephemeralContainers"):
        for at, container in enumerate(fields.items(spec, key)):
            yield container, f"{path}.{key}[{at}]"


def _repeated(found: list[Body], key: str, path: str) -> list[str]:
    seen: set[str] = set()
    out = []
    for at, one in enumerate(found):
        value = fields.text(one, key)
        if value in seen:
            out.append(f"{path}[{at}].{key}: duplicate {key} {quote(value)}")
        seen.add(value)
    return out


def _fractions(amounts: Body, path: str) -> list[str]:
    return [
        f"{path}[{name}]: fractional byte value {quote(amounts[name])} is invalid, must be an integer"
        for name in _BYTES
        if name in amounts and resources.value(amounts[name]).denominator != 1
    ]


def _hidden_variables(variables: list[Body], path: str) -> list[str]:
    seen: set[str] = set()
    out = []
    for at, one in enumerate(variables):
        name, value = fields.text(one, "name"), fields.text(one, "value")
        reference = f"$({name})"
        extends = reference in value and value != reference and one.get("valueFrom") is None
        if name in seen and not extends:
            out.append(
                f"{path}[{at}]: hides previous definition of {quote(name)}, which may be dropped when using apply"
            )
        seen.add(name)
    return out


def _ports(spec: Body, path: str) -> list[str]:
    seen: dict[tuple[Any, Any], list[tuple[str, Body]]] = {}
    out = []
    for container, here in _containers(spec, path):
        for at, port in enumerate(fields.items(container, "ports")):
            where = f"{here}.ports[{at}]"
            address, host = fields.text(port, "hostIP"), port.get("hostPort") or 0
            if address and not host:
                out.append(f"{where}: hostIP set without hostPort: {_printed(port)}")
            others = seen.setdefault((port.get("containerPort"), port.get("protocol")), [])
            for other_where, other in others:
                other_address, other_host = fields.text(other, "hostIP"), other.get("hostPort") or 0
                if (address, host) == (other_address, other_host):
                    out.append(f"{where}: duplicate port definition with {other_where}")
                elif not host or not other_host:
                    out.append(f"{where}: overlapping port definition with {other_where}")
                elif host == other_host and bool(address) != bool(other_address):
                    out.append(f"{where}: dangerously ambiguous port definition with {other_where}")
            others.append((where, port))
    return out


def _printed(port: Body) -> str:
    keys = ("name", "hostPort", "containerPort", "protocol", "hostIP")
    zeroes = {"hostPort": 0, "containerPort": 0}
    shown = (f"{key[0].upper()}{key[1:]}:{port.get(key) or zeroes.get(key, '')}" for key in keys)
    return "{" + " ".join(shown) + "}"


def _port_names(spec: Body, path: str) -> list[str]:
    seen: dict[str, str] = {}
    out = []
    for container, here in _containers(spec, path):
        for at, port in enumerate(fields.items(container, "ports")):
            name, where = fields.text(port, "name"), f"{here}.ports[{at}]"
            if name in seen:
                other = seen[name]
                out.append(
                    f"{where}: duplicate port name {quote(name)} with {other}, services and probes that select ports by"
                    f" name will use {other}"
                )
            elif name:
                seen[name] = where
    return out


def _affinity(affinity: Body, path: str) -> list[str]:
    out = []
    for key in ("podAffinity", "podAntiAffinity"):
        required = "requiredDuringSchedulingIgnoredDuringExecution"
        preferred = "preferredDuringSchedulingIgnoredDuringExecution"
        for at, term in enumerate(fields.items(affinity, key, required)):
            if term.get("labelSelector") is None:
                out.append(f"{path}.{key}.{required}[{at}].labelSelector: {_NO_SELECTOR}")
        for at, term in enumerate(fields.items(affinity, key, preferred)):
            if fields.obj(term, "podAffinityTerm").get("labelSelector") is None:
                out.append(f"{path}.{key}.{preferred}[{at}].podAffinityTerm.labelSelector: {_NO_SELECTOR}")
    return out
