"""Jobs: pods that run to an end. The server gives each its own selector, from its uid.

Kubernetes: SetDefaults_Job, generateSelector, ValidateJob, ValidateJobSpecUpdate.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from kubesim.kind import Body, Context, Kind, Subresource
from kubesim.kinds import (
    fields,
    formats,
    job_policies,
    pod_defaults,
    pod_spec,
    preparation,
    selectors,
    table,
    workloads,
)
from kubesim.kinds.fields import Errors
from kubesim.kinds.pod_warnings import name_in_pods, template_warnings

_UID: Final = "batch.kubernetes.io/controller-uid"
_NAME: Final = "batch.kubernetes.io/job-name"
_OLD_UID: Final = "controller-uid"
_OLD_NAME: Final = "job-name"
_MAX_INT32: Final = 2147483647


def default_spec(spec: Body) -> Body:
    """What a Job's spec gets by itself; a CronJob's template only gets what concerns pods."""
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec = pod_defaults.fill(spec, completions=1, parallelism=1)
    endless = spec.get("backoffLimitPerIndex") is not None
    spec = pod_defaults.fill(
        spec,
        parallelism=1,
        backoffLimit=_MAX_INT32 if endless else 6,
        completionMode="NonIndexed",
        suspend=False,
        podReplacementPolicy="TerminatingOrFailed" if spec.get("podFailurePolicy") is None else "Failed",
        manualSelector=False,
    )
    return default_template(spec)


def default_template(spec: Body) -> Body:
    spec = pod_defaults.within(spec, "podFailurePolicy", job_policies.default)
    return pod_defaults.within(spec, "template", pod_defaults.template)


def _default(body: Body) -> Body:
    body = pod_defaults.within(body, "spec", default_spec)
    return _labelled(body)


def _labelled(body: Body) -> Body:
    """A Job without labels has those of its template."""
    labels = fields.obj(body, "spec", "template", "metadata").get("labels")
    if not labels or fields.obj(body, "metadata").get("labels"):
        return body
    return fields.with_path(body, ("metadata", "labels"), labels)


def _create(body: Body, ctx: Context) -> Body:
    body = preparation.new_status(body, {})
    spec = fields.obj(body, "spec")
    if not spec.get("manualSelector"):
        meta = fields.obj(body, "metadata")
        uid, name = fields.text(meta, "uid"), fields.text(meta, "name")
        own = {_OLD_NAME: name, _NAME: name, _OLD_UID: uid, _UID: uid}
        given = fields.obj(spec, "template", "metadata", "labels")
        labels = {**own, **given}
        match = {_UID: uid, **fields.obj(spec, "selector", "matchLabels")}
        spec = fields.with_path(spec, ("template", "metadata", "labels"), labels)
        spec = fields.with_path(spec, ("selector", "matchLabels"), match)
        # Labels that were lent to the Job itself are the template's own map: what is added to one is in the other.
        lent = bool(given) and meta.get("labels") is given
        body = {**body, "spec": spec, **({"metadata": {**meta, "labels": labels}} if lent else {})}
    return _labelled(body)


def _validate(body: Body) -> Errors:
    spec = fields.obj(body, "spec")
    errors = _generated(body, spec) + _validate_whole(spec)
    count = spec.get("completions") or 0
    if spec.get("completionMode") == "Indexed" and count > 0:
        host = f"{table.name(body)}-{count - 1}"
        if formats.dns_label(host):
            text = f"will not able to create pod with invalid DNS label: {host}"
            errors += fields.invalid("metadata.name", table.name(body), text)
    return errors


def _generated(body: Body, spec: Body) -> Errors:
    if spec.get("manualSelector") or spec.get("selector") is None:
        return []
    meta = fields.obj(body, "metadata")
    uid, name = fields.text(meta, "uid"), fields.text(meta, "name")
    wanted = {_OLD_UID: uid, _OLD_NAME: name, _UID: uid, _NAME: name}
    labels = fields.obj(spec, "template", "metadata", "labels")
    errors: Errors = []
    for key, value in wanted.items():
        if key not in labels:
            errors += fields.required(f"spec.template.metadata.labels[{key}]", f"must be '{value}'")
        elif labels[key] != value:
            shown = fields.sorted_map(labels)
            errors += fields.invalid(f"spec.template.metadata.labels[{key}]", shown, f"must be '{value}'")
    if not selectors.matches(spec["selector"], wanted):
        shown = workloads.shown_selector(spec["selector"])
        errors += fields.invalid("spec.selector", shown, "`selector` not auto-generated")
    return errors


def _validate_whole(spec: Body) -> Errors:
    errors = validate_spec(spec, "spec")
    selector = spec.get("selector")
    errors += (
        selectors.validate(selector, "spec.selector") if selector is not None else fields.required("spec.selector")
    )
    labels = fields.obj(spec, "template", "metadata").get("labels")
    if selectors.is_sound(selector) and not selectors.matches(selector, labels or {}):
        shown = fields.sorted_map(labels)
        errors += fields.invalid("spec.template.metadata.labels", shown, workloads.UNMATCHED)
    return errors


def validate_spec(spec: Body, path: str) -> Errors:
    """Complaints about a Job's spec but for its selector, which a CronJob's template does not have."""
    errors: Errors = []
    for key in (
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    ):
        errors += fields.non_negative(f"{path}.{key}", spec.get(key))
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        errors += fields.required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified")
    errors += _manager(spec.get("managedBy"), f"{path}.managedBy")
    errors += job_policies.completion(spec, path) + job_policies.failure(spec, f"{path}.podFailurePolicy")
    errors += job_policies.success(spec, f"{path}.successPolicy")
    errors += job_policies.replacement(spec, f"{path}.podReplacementPolicy")
    errors += pod_spec.validate_template(fields.obj(spec, "template"), f"{path}.template")
    return errors + _restarts(spec, f"{path}.template.spec.restartPolicy")


def _manager(name: str | None, path: str) -> Errors:
    if name is None:
        return []
    domain, slash, rest = name.partition("/")
    if not name:
        errors = fields.required(path)
    elif not (domain and slash and rest):
        errors = fields.invalid(path, name, 'must be a domain-prefixed path (such as "acme.io/foo")')
    else:
        errors = fields.invalid(path, domain, *formats.dns_subdomain(domain))
    return errors + (fields.too_long(path, 63) if len(name) > 63 else [])


def _restarts(spec: Body, path: str) -> Errors:
    policy = fields.text(fields.obj(spec, "template", "spec"), "restartPolicy")
    if policy in ("", "Always"):
        return fields.required(path, 'valid values: "OnFailure", "Never"')
    if policy not in ("OnFailure", "Never"):
        return fields.unsupported(path, policy, "OnFailure", "Never")
    if policy != "Never" and spec.get("podFailurePolicy") is not None:
        return fields.invalid(path, policy, 'only "Never" is supported when podFailurePolicy is specified')
    return []


def _validate_update(new: Body, old: Body) -> Errors:
    spec, before = fields.obj(new, "spec"), fields.obj(old, "spec")
    # The rules of a spec run twice here: once with the object, once with the change.
    errors = _validate_whole(spec) + _completions(spec, before)
    errors += workloads.fixed_selector(new, old) + _template_update(spec, before, fields.obj(old, "status"))
    for key in ("completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"):
        errors += fields.unchanged(f"spec.{key}", spec.get(key), before.get(key))
    return errors


def _completions(spec: Body, before: Body) -> Errors:
    count = spec.get("completions")
    if spec.get("completionMode") != "Indexed":
        return fields.unchanged("spec.completions", count, before.get("completions"))
    if count is None or count in (before.get("completions"), spec.get("parallelism")):
        return []
    return fields.invalid("spec.completions", count, "can only be modified in tandem with spec.parallelism")


def _template_update(spec: Body, before: Body, found: Body) -> Errors:
    template, old = fields.obj(spec, "template"), fields.obj(before, "template")
    conditions = {one.get("type"): one.get("status") for one in fields.items(found, "conditions")}
    resting = before.get("suspend") and not found.get("active")
    if resting and (found.get("startTime") is None or conditions.get("Suspended") == "True"):
        # A Job that waits may still be told where to run and what its containers need.
        pod, was = fields.obj(template, "spec"), fields.obj(old, "spec")
        allowed = _with_node_affinity(fields.carry(was, pod, "nodeSelector", "tolerations", "schedulingGates"), pod)
        for key in ("containers", "initContainers"):
            allowed = _with_resources(allowed, pod, key)
        return [] if pod == allowed else fields.invalid("spec.template.spec", pod, "field is immutable")
    return [] if template == old else fields.invalid("spec.template", template, "field is immutable")


def _with_node_affinity(allowed: Body, pod: Body) -> Body:
    """Which nodes a Job's pods want may change, which pods they want beside them may not."""
    new, old = pod.get("affinity"), allowed.get("affinity")
    rest = fields.without(old or {}, "nodeAffinity")
    if new is None:
        return {**allowed, "affinity": rest} if rest else fields.without(allowed, "affinity")
    wanted = {"nodeAffinity": new["nodeAffinity"]} if "nodeAffinity" in new else {}
    return {**allowed, "affinity": {**rest, **wanted}}


def _with_resources(allowed: Body, pod: Body, key: str) -> Body:
    old, new = fields.items(allowed, key), fields.items(pod, key)
    if not old or len(old) != len(new):
        return allowed
    pairs = zip(old, new, strict=True)
    return {
        **allowed,
        key: [fields.carry(was, one, "resources") if one.get("name") == was.get("name") else was for was, one in pairs],
    }


def _status(new: Body, old: Body) -> Body:
    return preparation.only_status(new, old)


def _warnings(body: Body, old: Body | None) -> list[str]:
    return [*([] if old else name_in_pods(body)), *template_warnings(body, old)]


def _row(body: Body, now: datetime) -> list[Any]:
    spec, found = fields.obj(body, "spec"), fields.obj(body, "status")
    succeeded, parallel = found.get("succeeded") or 0, spec.get("parallelism") or 0
    if spec.get("completions") is not None:
        done = f"{succeeded}/{spec['completions']}"
    else:
        done = f"{succeeded}/1 of {parallel}" if parallel > 1 else f"{succeeded}/1"
    start, end = table.moment(found.get("startTime")), table.moment(found.get("completionTime"))
    return [
        table.name(body),
        _state(body),
        done,
        table.duration((end or now) - start) if start else "",
        table.created(body, now),
        *workloads.row_tail(body),
    ]


def _state(body: Body) -> str:
    met = {one.get("type") for one in fields.items(body, "status", "conditions") if one.get("status") == "True"}
    deleted = {"Terminating"} if fields.obj(body, "metadata").get("deletionTimestamp") else set()
    order = ("Complete", "Failed", "Terminating", "Suspended", "FailureTarget", "SuccessCriteriaMet")
    return next((word for word in order if word in met | deleted), "Running")


JOB: Final = Kind(
    group="batch",
    version="v1",
    kind="Job",
    plural="jobs",
    categories=("all",),
    subresources=(Subresource(name="status"),),
    has_generation=True,
    default=_default,
    prepare_create=_create,
    prepare_update=lambda new, old, ctx: preparation.old_status(new, old),
    prepare_status=_status,
    reset_fields={"": (("status",),), "status": (("spec",),)},
    validate=_validate,
    validate_update=_validate_update,
    validate_status=job_policies.status,
    warnings=_warnings,
    orphans_by_default=(
        "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or"
        " set propagationPolicy=Orphan to suppress this warning"
    ),
    field_labels={"status.successful": lambda body: str(fields.obj(body, "status").get("succeeded") or 0)},
    columns=table.columns("Name", "Status", "Completions", "Duration", "Age", "Containers*", "Images*", "Selector*"),
    row=_row,
)
