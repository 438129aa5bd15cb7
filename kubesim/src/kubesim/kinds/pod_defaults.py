"""What the server fills into pods and pod templates before it stores them.

A pod template is defaulted wherever it stands (Deployments, Jobs, CronJobs, …); a Pod itself gets a little more:
requests from limits and service links. Everything here returns the object it was given when nothing is missing, so that
defaulting a stored body again is a walk without a copy.

Kubernetes: SetDefaults_PodSpec, SetDefaults_Container, SetDefaults_Probe, SetDefaults_Volume… of core/v1.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from kubesim.kinds import fields, resources
from kubesim.kinds.fields import Body

_LABEL: Final = "[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
_HOST: Final = rf"(?:{_LABEL}(?:\.{_LABEL})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"
_PART: Final = "[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_DIGEST: Final = "[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}"
# The grammar of names in registries.
_IMAGE: Final = re.compile(rf"(?:{_HOST}/)?{_PART}(?:/{_PART})*(?::\w[\w.-]{{0,127}})?(?:@{_DIGEST})?", re.ASCII)

_Default = Callable[[Body], Body]


def fill(body: Body, **defaults: Any) -> Body:
    """The body with defaults for what is absent, null or empty text."""
    missing = {key: value for key, value in defaults.items() if body.get(key) is None or body[key] == ""}
    return {**body, **missing} if missing else body


def within(body: Body, key: str, default: _Default) -> Body:
    """The body with the object under the key defaulted, if there is one."""
    inner = body.get(key)
    if inner is None:
        return body
    done = default(inner)
    return body if done is inner else {**body, key: done}


def each(body: Body, key: str, default: _Default) -> Body:
    """The body with every object of the list under the key defaulted."""
    inner = body.get(key)
    if not inner:
        return body
    done = [default(item) for item in inner]
    return body if all(new is old for new, old in zip(done, inner, strict=True)) else {**body, key: done}


def pod(body: Body) -> Body:
    """A Pod, with the defaults that templates do not get."""
    return within(body, "spec", _own_spec)


def _own_spec(spec: Body) -> Body:
    spec = template_spec(spec)
    spec = each(spec, "containers", _requests_from_limits)
    spec = each(spec, "initContainers", _requests_from_limits)
    spec = _pod_level_requests(spec)
    return fill(spec, enableServiceLinks=True)


def _requests_from_limits(container: Body) -> Body:
    found = fields.obj(container, "resources")
    limits, requests = fields.obj(found, "limits"), fields.obj(found, "requests")
    if all(name in requests for name in limits):
        return container
    return {**container, "resources": {**found, "requests": {**limits, **requests}}}


def _pod_level_requests(spec: Body) -> Body:
    own = fields.obj(spec, "resources")
    limits, requests = fields.obj(own, "limits"), fields.obj(own, "requests")
    if not limits:
        return spec
    wanted = {name: value for name, value in resources.of_pod(spec, "requests").items() if _pod_level(name)}
    wanted |= {name: value for name, value in limits.items() if name not in wanted and _pod_level(name)}
    wanted = {name: value for name, value in wanted.items() if name not in requests}
    return {**spec, "resources": {**own, "requests": {**wanted, **requests}}} if wanted else spec


def _pod_level(name: str) -> bool:
    return name in ("cpu", "memory") or name.startswith("hugepages-")


def template(body: Body) -> Body:
    """A pod template: `{metadata, spec}`."""
    return within(body, "spec", template_spec)


def template_spec(spec: Body) -> Body:
    """The spec of a pod template."""
    spec = fill(
        spec,
        restartPolicy="Always",
        terminationGracePeriodSeconds=30,
        dnsPolicy="ClusterFirst",
        securityContext={},
        schedulerName="default-scheduler",
    )
    # Two names of one field: the old one is kept for old clients.
    if account := spec.get("serviceAccountName"):
        spec = spec if spec.get("serviceAccount") == account else {**spec, "serviceAccount": account}
    elif account := spec.get("serviceAccount"):
        spec = {**spec, "serviceAccountName": account}
    spec = each(spec, "volumes", _volume)
    host_network = bool(spec.get("hostNetwork"))
    for key in ("initContainers", "containers", "ephemeralContainers"):
        spec = each(spec, key, _container)
        if host_network and key != "ephemeralContainers":
            spec = each(spec, key, _host_ports)
    if overhead := spec.get("overhead"):
        spec = spec if (rounded := resources.rounded(overhead)) is overhead else {**spec, "overhead": rounded}
    return within(spec, "resources", _resources)


def _container(container: Body) -> Body:
    always = _tag(fields.text(container, "image")) == "latest"
    container = fill(
        container,
        resources={},
        terminationMessagePath="/dev/termination-log",
        terminationMessagePolicy="File",
        imagePullPolicy="Always" if always else "IfNotPresent",
    )
    container = within(container, "resources", _resources)
    container = each(container, "ports", lambda port: fill(port, protocol="TCP"))
    container = each(container, "env", lambda variable: within(variable, "valueFrom", _value_from))
    for key in ("livenessProbe", "readinessProbe", "startupProbe"):
        container = within(container, key, _probe)
    return within(_without_signal(container), "lifecycle", _lifecycle)


def _without_signal(container: Body) -> Body:
    """The signal to stop by is behind a gate that is closed by default: it is read and dropped."""
    found = container.get("lifecycle")
    if not found or "stopSignal" not in found:
        return container
    rest = fields.without(found, "stopSignal")
    return {**container, "lifecycle": rest} if rest else fields.without(container, "lifecycle")


def _host_ports(container: Body) -> Body:
    """On the host's network a port of the container is one of the host."""

    def one(port: Body) -> Body:
        if port.get("hostPort") or not port.get("containerPort"):
            return port
        return {**port, "hostPort": port["containerPort"]}

    return each(container, "ports", one)


def _tag(image: str) -> str:
    """The tag that decides how often an image is pulled; a digest is as good as a fixed tag, and so is a name that
    nobody can read."""
    if not _IMAGE.fullmatch(image):
        return ""
    name, _, digest = image.partition("@")
    tag = name.rpartition("/")[2].partition(":")[2]
    return tag or ("" if digest else "latest")


def _resources(found: Body) -> Body:
    for key in ("limits", "requests"):
        amounts = found.get(key)
        if amounts and (rounded := resources.rounded(amounts)) is not amounts:
            found = {**found, key: rounded}
    return found


def _value_from(source: Body) -> Body:
    source = within(source, "fieldRef", lambda ref: fill(ref, apiVersion="v1"))
    source = within(source, "resourceFieldRef", lambda ref: fill(ref, divisor="0"))
    return within(source, "fileKeyRef", lambda ref: fill(ref, optional=False))


def _probe(probe: Body) -> Body:
    probe = within(probe, "httpGet", _http_get)
    probe = within(probe, "grpc", lambda grpc: grpc if grpc.get("service") is not None else {**grpc, "service": ""})
    missing = {
        key: value
        for key, value in (
            ("timeoutSeconds", 1),
            ("periodSeconds", 10),
            ("successThreshold", 1),
            ("failureThreshold", 3),
        )
        if not probe.get(key)
    }
    return {**probe, **missing} if missing else probe


def _http_get(action: Body) -> Body:
    return fill(action, path="/", scheme="HTTP")


def _lifecycle(lifecycle: Body) -> Body:
    for key in ("postStart", "preStop"):
        lifecycle = within(lifecycle, key, lambda handler: within(handler, "httpGet", _http_get))
    return lifecycle


def _volume(volume: Body) -> Body:
    if all(volume[key] is None for key in volume if key != "name"):
        return {"name": volume.get("name", ""), "emptyDir": {}}
    for key in ("secret", "configMap"):
        volume = within(volume, key, lambda source: fill(source, defaultMode=0o644))
    volume = within(volume, "downwardAPI", _downward)
    volume = within(volume, "projected", _projected)
    volume = within(volume, "hostPath", _host_path)
    volume = within(volume, "iscsi", lambda source: fill(source, iscsiInterface="default"))
    volume = within(volume, "rbd", lambda source: fill(source, pool="rbd", user="admin", keyring="/etc/ceph/keyring"))
    volume = within(
        volume,
        "azureDisk",
        lambda source: fill(source, cachingMode="ReadWrite", fsType="ext4", readOnly=False, kind="Shared"),
    )
    volume = within(volume, "scaleIO", lambda source: fill(source, storageMode="ThinProvisioned", fsType="xfs"))
    volume = within(volume, "ephemeral", lambda source: within(source, "volumeClaimTemplate", claim_template))
    return within(volume, "image", _image)


def _host_path(source: Body) -> Body:
    return source if source.get("type") is not None else {**source, "type": ""}


def _image(source: Body) -> Body:
    always = _tag(fields.text(source, "reference")) == "latest"
    return fill(source, pullPolicy="Always" if always else "IfNotPresent")


def _downward(source: Body) -> Body:
    return each(fill(source, defaultMode=0o644), "items", _downward_file)


def _downward_file(file: Body) -> Body:
    file = within(file, "fieldRef", lambda ref: fill(ref, apiVersion="v1"))
    return within(file, "resourceFieldRef", lambda ref: fill(ref, divisor="0"))


def _projected(source: Body) -> Body:
    def one(part: Body) -> Body:
        part = within(part, "serviceAccountToken", lambda token: fill(token, expirationSeconds=3600))
        return within(part, "downwardAPI", lambda downward: each(downward, "items", _downward_file))

    source = fill(source, defaultMode=0o644)
    if not source.get("sources"):
        return {**source, "sources": None}  # the server's storage knows no empty list
    return each(source, "sources", one)


def claim_template(body: Body) -> Body:
    """A template of a volume claim (`{metadata, spec}`)."""
    return within(body, "spec", claim_spec)


def claim_spec(spec: Body) -> Body:
    """The spec of a volume claim, whose two names for a data source follow one another."""
    spec = fill(spec, volumeMode="Filesystem")
    return within(spec, "resources", _resources)
