"""StatefulSets: pods with names of their own and claims made from templates.

Kubernetes: ValidateStatefulSet, SetDefaults_StatefulSet.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from kubesim.kind import Body, Context, Kind, Scale
from kubesim.kinds import claims, counts, fields, formats, metadata, pod_defaults, preparation, table, workloads
from kubesim.kinds.fields import Errors
from kubesim.kinds.pod_warnings import template_warnings

_FIXED: Final = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy',"
    " 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)
_MOVABLE: Final = (
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
)


def _stateful_default(body: Body) -> Body:
    return pod_defaults.within(body, "spec", _stateful_spec)


def _stateful_spec(spec: Body) -> Body:
    spec = pod_defaults.fill(
        spec,
        podManagementPolicy="OrderedReady",
        updateStrategy={},
        persistentVolumeClaimRetentionPolicy={},
        replicas=1,
        revisionHistoryLimit=10,
    )
    spec = pod_defaults.within(spec, "updateStrategy", _stateful_strategy)
    spec = pod_defaults.within(
        spec,
        "persistentVolumeClaimRetentionPolicy",
        lambda policy: pod_defaults.fill(policy, whenDeleted="Retain", whenScaled="Retain"),
    )
    spec = pod_defaults.each(spec, "volumeClaimTemplates", _claim_template)
    return pod_defaults.within(spec, "template", pod_defaults.template)


def _stateful_strategy(strategy: Body) -> Body:
    if not strategy.get("type"):
        strategy = {"rollingUpdate": {}, **strategy, "type": "RollingUpdate"}
    if strategy["type"] == "RollingUpdate":
        return pod_defaults.within(strategy, "rollingUpdate", lambda rolling: pod_defaults.fill(rolling, partition=0))
    return strategy


def _claim_template(claim: Body) -> Body:
    # Whatever a template calls itself, it is a claim.
    claim = pod_defaults.fill({**claim, "kind": "PersistentVolumeClaim", "apiVersion": "v1"}, status={})
    claim = pod_defaults.within(claim, "status", lambda status: pod_defaults.fill(status, phase="Pending"))
    return pod_defaults.claim_template(claim)


def _validate_stateful(body: Body, *, new: bool = True) -> Errors:
    """What never changes afterwards, the claims and the service's name, is looked at once: when the set is made."""
    return _stateful_rules(body) + (_claims(body) if new else []) + _after_claims(body, new=new)


def _claims(body: Body) -> Errors:
    return fields.joined(
        claims.validate_spec(fields.obj(claim, "spec"), f"spec.volumeClaimTemplates[{at}].spec")
        for at, claim in enumerate(fields.items(body, "spec", "volumeClaimTemplates"))
    )


def _stateful_rules(body: Body) -> Errors:
    spec = fields.obj(body, "spec")
    policy = fields.text(spec, "podManagementPolicy")
    errors: Errors = []
    if policy not in ("OrderedReady", "Parallel"):
        errors += fields.invalid("spec.podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'")
    errors += _validate_stateful_strategy(fields.obj(spec, "updateStrategy"))
    retention = fields.obj(spec, "persistentVolumeClaimRetentionPolicy")
    for key in ("whenDeleted", "whenScaled"):
        value = fields.text(retention, key)
        if value not in ("Retain", "Delete"):
            errors += fields.unsupported(f"spec.persistentVolumeClaimRetentionPolicy.{key}", value, "Retain", "Delete")
    return errors


def _validate_stateful_strategy(strategy: Body) -> Errors:
    kind, rolling = fields.text(strategy, "type"), strategy.get("rollingUpdate")
    where = "spec.updateStrategy.rollingUpdate"
    shown = rolling
    if rolling is not None:
        shown = {"Partition": rolling.get("partition") or 0, "MaxUnavailable": rolling.get("maxUnavailable")}
    if kind == "OnDelete":
        if rolling is None:
            return []
        return fields.invalid(where, shown, "only allowed for updateStrategy 'RollingUpdate'")
    if kind != "RollingUpdate":
        return fields.invalid(
            "spec.updateStrategy", {"Type": kind, "RollingUpdate": shown}, "must be 'RollingUpdate' or 'OnDelete'"
        )
    errors = fields.non_negative(f"{where}.partition", workloads.number(strategy, "rollingUpdate", "partition"))
    unavailable = (rolling or {}).get("maxUnavailable")
    if unavailable is not None:
        errors += counts.number_or_percent(unavailable, f"{where}.maxUnavailable")
        if counts.is_zero(unavailable):
            errors += fields.invalid(f"{where}.maxUnavailable", unavailable, "cannot be 0")
        errors += counts.at_most_all(unavailable, f"{where}.maxUnavailable")
    return errors


def _after_claims(body: Body, *, new: bool) -> Errors:
    spec = fields.obj(body, "spec")
    errors = fields.non_negative("spec.replicas", spec.get("replicas"))
    errors += fields.non_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    errors += fields.non_negative("spec.ordinals.start", fields.obj(spec, "ordinals").get("start"))
    if new and (service := fields.text(spec, "serviceName")):
        errors += fields.invalid("spec.serviceName", service, *formats.dns_label(service))
    errors += workloads.selector(spec, "statefulset")
    # The claims become volumes of the pods, whatever the template says under the same names.
    names = [fields.text(fields.obj(claim, "metadata"), "name") for claim in fields.items(spec, "volumeClaimTemplates")]
    made = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in dict.fromkeys(names)]
    pod = fields.without(fields.obj(spec, "template", "spec"), "hostname", "subdomain")
    volumes = [*made, *(one for one in fields.items(pod, "volumes") if one.get("name") not in names)]
    template = {**fields.obj(spec, "template"), "spec": {**pod, "volumes": volumes}}
    errors += workloads.template({**spec, "template": template}, unsound="")
    # Labels and annotations of this kind's template are looked at twice.
    errors += metadata.template(fields.obj(template, "metadata"), "spec.template")
    return errors + workloads.always_restarts(spec, "spec", "StatefulSet")


def _validate_stateful_update(new: Body, old: Body) -> Errors:
    after = fields.carry(fields.obj(new, "spec"), fields.obj(old, "spec"), *_MOVABLE)
    moved = [] if after == fields.obj(old, "spec") else fields.forbidden("spec", _FIXED)
    return _validate_stateful(new, new=False) + moved


def _validate_stateful_status(new: Body, old: Body) -> Errors:
    status = fields.obj(new, "status")
    errors = counts.replicas(
        status,
        "readyReplicas",
        "currentReplicas",
        "updatedReplicas",
        "availableReplicas",
        ready_name="status.readyReplicas",
    )
    return errors + counts.not_decremented(status, fields.obj(old, "status"))


def _stateful_prepare(body: Body) -> Body:
    """A percentage of pods that may be away at once is behind a gate that is closed by default."""
    rolling = fields.obj(body, "spec", "updateStrategy", "rollingUpdate")
    if "maxUnavailable" not in rolling:
        return body
    kept = fields.without(rolling, "maxUnavailable")
    return fields.with_path(body, ("spec", "updateStrategy", "rollingUpdate"), kept)


def _stateful_create(body: Body, ctx: Context) -> Body:
    return _stateful_prepare(preparation.new_status(body, {"replicas": 0, "availableReplicas": 0}))


def _stateful_update(new: Body, old: Body, ctx: Context) -> Body:
    return _stateful_prepare(preparation.old_status(new, old))


def _stateful_warnings(body: Body, old: Body | None) -> list[str]:
    limit = fields.obj(body, "spec").get("revisionHistoryLimit")
    retained = (
        "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended"
    )
    return [*template_warnings(body, old), *([retained] if limit is not None and limit < 0 else [])]


def _stateful_row(body: Body, now: datetime) -> list[Any]:
    ready = f"{workloads.number(body, 'status', 'readyReplicas')}/{workloads.number(body, 'spec', 'replicas')}"
    return [table.name(body), ready, table.created(body, now), *workloads.row_tail(body)[:2]]


STATEFUL_SET: Final = Kind(
    group="apps",
    version="v1",
    kind="StatefulSet",
    plural="statefulsets",
    short_names=("sts",),
    categories=("all",),
    subresources=(workloads.SCALE, workloads.STATUS),
    scale=Scale(),
    name_rule="dns-label",
    has_generation=True,
    default=_stateful_default,
    prepare_create=_stateful_create,
    prepare_update=_stateful_update,
    prepare_status=preparation.only_status,
    reset_fields={"": (("status",),), "status": (("spec",),)},
    validate=_validate_stateful,
    validates_update_alone=True,
    validate_update=_validate_stateful_update,
    validate_status=_validate_stateful_status,
    warnings=_stateful_warnings,
    columns=table.columns("Name", "Ready", "Age", "Containers*", "Images*"),
    row=_stateful_row,
)
