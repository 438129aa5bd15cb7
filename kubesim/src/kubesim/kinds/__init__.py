"""The built-in kinds: what a Kubernetes cluster knows before anybody adds to it.

One module per kind or small family holds its defaults, its rules and the words of its refusals, and ends with one
or more `Kind` values; this one puts them in the order of a real server's discovery. The server asks a kind through
the hooks of `kubesim.kind.Kind` and through nothing else, except for a few pure functions that belong to several
kinds at once:

- `metadata`: names, labels, annotations, owners, finalizers of every object
- `limit_ranges.apply`, `limit_ranges.complaints`, `quotas.charge`: what admission does with both kinds
- `pod_actions.bind`, `pod_actions.evict`: addresses of Pods that do something of their own

Nothing here knows HTTP, the store or managedFields.
"""

from __future__ import annotations

import dataclasses

from kubesim import schema
from kubesim.kind import Body, Kind
from kubesim.kinds import (
    autoscalers,
    configuration,
    coordination,
    cronjobs,
    daemonsets,
    deployments,
    disruption,
    endpoints,
    events,
    jobs,
    limit_ranges,
    metadata,
    namespaces,
    networking,
    nodes,
    plain,
    pods,
    quotas,
    rbac,
    services,
    statefulsets,
    volume_claims,
)
from kubesim.status import FieldError


def builtin() -> list[Kind]:
    """All built-in kinds but definitions, with their schemas; groups in discovery's order, plurals sorted."""
    return [dataclasses.replace(_repeating(kind), schema=_schema(kind)) for kind in _ORDER]


def _repeating(kind: Kind) -> Kind:
    """Kinds that Kubernetes validates as a whole once more when they change look at their metadata once more, too."""
    if kind.plural not in _WHOLE:
        return kind

    def validate_update(new: Body, old: Body) -> list[FieldError]:
        again = metadata.validate(new, namespaced=kind.namespaced, name_rule=kind.name_rule)
        return kind.validate_update(new, old) + again

    return dataclasses.replace(kind, validate_update=validate_update)


_WHOLE = frozenset(
    {
        "configmaps",
        "secrets",
        "pods",
        "serviceaccounts",
        "persistentvolumeclaims",
        "roles",
        "clusterroles",
        "rolebindings",
        "clusterrolebindings",
        "jobs",
        "ingresses",
    }
)


def _schema(kind: Kind) -> schema.Schema | None:
    try:
        return schema.for_kind(kind.group, kind.version, kind.kind)
    except KeyError:
        return None


_ORDER: tuple[Kind, ...] = (
    plain.BINDING,
    plain.COMPONENT_STATUS,
    configuration.CONFIG_MAP,
    plain.ENDPOINTS,
    events.EVENT,
    limit_ranges.LIMIT_RANGE,
    namespaces.NAMESPACE,
    nodes.NODE,
    volume_claims.CLAIM,
    plain.VOLUME,
    pods.POD,
    plain.POD_TEMPLATE,
    plain.REPLICATION_CONTROLLER,
    quotas.QUOTA,
    configuration.SECRET,
    coordination.SERVICE_ACCOUNT,
    services.SERVICE,
    plain.API_SERVICE,
    plain.CONTROLLER_REVISION,
    daemonsets.DAEMON_SET,
    deployments.DEPLOYMENT,
    deployments.REPLICA_SET,
    statefulsets.STATEFUL_SET,
    events.NEW_EVENT,
    *plain.AUTHENTICATION,
    *plain.AUTHORIZATION,
    autoscalers.AUTOSCALER,
    autoscalers.AUTOSCALER_V1,
    cronjobs.CRON_JOB,
    jobs.JOB,
    plain.CERTIFICATE_REQUEST,
    plain.INGRESS_CLASS,
    networking.INGRESS,
    plain.IP_ADDRESS,
    networking.NETWORK_POLICY,
    plain.SERVICE_CIDR,
    disruption.BUDGET,
    rbac.CLUSTER_ROLE_BINDING,
    rbac.CLUSTER_ROLE,
    rbac.ROLE_BINDING,
    rbac.ROLE,
    *plain.STORAGE,
    *plain.ADMISSION,
    coordination.PRIORITY_CLASS,
    coordination.LEASE,
    plain.RUNTIME_CLASS,
    endpoints.ENDPOINT_SLICE,
    *plain.DEVICES,
    *plain.FLOW_CONTROL,
)
