"""CronJobs: Jobs made by the clock. Kubernetes: SetDefaults_CronJob, ValidateCronJobCreate."""

from __future__ import annotations

import re
import zoneinfo
from datetime import datetime
from functools import cache
from typing import Any, Final

from kubesim.kind import Body, Kind, Subresource
from kubesim.kinds import cron, fields, jobs, pod_defaults, pod_warnings, preparation, selectors, table, workloads
from kubesim.kinds.fields import Errors


def _default(body: Body) -> Body:
    return pod_defaults.within(body, "spec", _default_spec)


def _default_spec(spec: Body) -> Body:
    spec = pod_defaults.fill(
        spec, concurrencyPolicy="Allow", suspend=False, successfulJobsHistoryLimit=3, failedJobsHistoryLimit=1
    )
    return pod_defaults.within(
        spec, "jobTemplate", lambda template: pod_defaults.within(template, "spec", jobs.default_template)
    )


def _rules(spec: Body, before: Body | None) -> Errors:
    errors = _schedule(spec, before)
    errors += fields.non_negative("spec.startingDeadlineSeconds", spec.get("startingDeadlineSeconds"))
    if before is None or before.get("timeZone") != spec.get("timeZone"):
        errors += _zone(spec.get("timeZone"))
    errors += fields.one_of(
        "spec.concurrencyPolicy", fields.text(spec, "concurrencyPolicy"), "Allow", "Forbid", "Replace"
    )
    errors += _template(fields.obj(spec, "jobTemplate", "spec"), "spec.jobTemplate.spec")
    for key in ("successfulJobsHistoryLimit", "failedJobsHistoryLimit"):
        errors += fields.non_negative(f"spec.{key}", spec.get(key))
    return errors


def _schedule(spec: Body, before: Body | None) -> Errors:
    schedule = fields.text(spec, "schedule")
    if not schedule:
        return fields.required("spec.schedule")
    complaint = cron.error(schedule)
    errors = fields.invalid("spec.schedule", schedule, complaint) if complaint else []
    if "TZ" not in schedule:
        return errors
    if "TZ" not in fields.text(before, "schedule"):
        text = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        return errors + fields.invalid("spec.schedule", schedule, text)
    if spec.get("timeZone") is not None:
        text = "cannot use both timeZone field and TZ or CRON_TZ in schedule"
        errors += fields.invalid("spec.schedule", schedule, text)
    return errors


@cache
def _zones() -> frozenset[str]:
    return frozenset(zoneinfo.available_timezones())


def _zone(name: str | None) -> Errors:
    path = "spec.timeZone"
    if name is None:
        return []
    if not name:
        return fields.invalid(path, name, "timeZone must be nil or non-empty string")
    unknown = fields.invalid(path, name, f"unknown time zone {name}")
    if any(not re.fullmatch(r"(?!-)(?!\.{1,2}$)[A-Za-z._0-9+-]{1,14}", part) for part in name.split("/")):
        return unknown
    errors: Errors = []
    if name.lower() == "local":
        text = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        errors += fields.invalid(path, name, text)
    # Without a database of zones on this machine nothing can be said against a name.
    known = not _zones() or name in _zones() or name in ("UTC", "Local")
    return errors if known else errors + unknown


def _template(spec: Body, path: str) -> Errors:
    errors = jobs.validate_spec(spec, path)
    if (selector := spec.get("selector")) is not None:
        shown = workloads.shown_selector(selector)
        errors += fields.invalid(f"{path}.selector", shown, "`selector` will be auto-generated")
    if spec.get("manualSelector"):
        errors += fields.unsupported(f"{path}.manualSelector", True, "nil", "false")
    return errors


def _validate_create(body: Body) -> Errors:
    errors = _rules(fields.obj(body, "spec"), None)
    if len(table.name(body)) > 52:
        errors += fields.invalid("metadata.name", table.name(body), "must be no more than 52 characters")
    return errors


def _validate_update(new: Body, old: Body) -> Errors:
    return _rules(fields.obj(new, "spec"), fields.obj(old, "spec"))


def _warnings(body: Body, old: Body | None) -> list[str]:
    found: list[str] = []
    if old is None and (complaints := pod_warnings.name_in_pods(body)):
        found += complaints
    spec = fields.obj(body, "spec")
    if old is None or spec != fields.obj(old, "spec"):
        path = "spec.jobTemplate.spec.template.spec"
        found += pod_warnings.pod(fields.obj(spec, "jobTemplate", "spec", "template", "spec"), path)
    return found


def _row(body: Body, now: datetime) -> list[Any]:
    spec, found = fields.obj(body, "spec"), fields.obj(body, "status")
    suspend, last = spec.get("suspend"), found.get("lastScheduleTime")
    job = fields.obj(spec, "jobTemplate", "spec")
    return [
        table.name(body),
        fields.text(spec, "schedule"),
        spec.get("timeZone") or table.NONE,
        "<unset>" if suspend is None else str(bool(suspend)),
        len(fields.items(found, "active")),
        table.age(last, now) if last else table.NONE,
        table.created(body, now),
        *table.containers(fields.obj(job, "template", "spec")),
        selectors.text(job.get("selector")),
    ]


CRON_JOB: Final = Kind(
    group="batch",
    version="v1",
    kind="CronJob",
    plural="cronjobs",
    short_names=("cj",),
    categories=("all",),
    subresources=(Subresource(name="status"),),
    default=_default,
    validate_create=_validate_create,
    validate_update=_validate_update,
    warnings=_warnings,
    columns=table.columns(
        "Name",
        "Schedule",
        "Timezone",
        "Suspend:boolean",
        "Active:integer",
        "Last Schedule",
        "Age",
        "Containers*",
        "Images*",
        "Selector*",
    ),
    row=_row,
    **preparation.keeping({}),
)
