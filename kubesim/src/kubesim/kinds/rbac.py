"""Roles and bindings. Who may grant what is the server's affair. Kubernetes: pkg/apis/rbac/validation."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from kubesim.kind import Body, Context, Kind
from kubesim.kinds import fields, formats, pod_defaults, preparation, selectors, table
from kubesim.kinds.fields import Errors

GROUP: Final = "rbac.authorization.k8s.io"


def _rules(body: Body, *, namespaced: bool) -> Errors:
    errors: Errors = []
    for at, rule in enumerate(fields.items(body, "rules")):
        path, urls = f"rules[{at}]", fields.items(rule, "nonResourceURLs")
        if not rule.get("verbs"):
            errors += fields.required(f"{path}.verbs", "verbs must contain at least one value")
        if urls:
            where = f"{path}.nonResourceURLs"
            if namespaced:
                errors += fields.invalid(where, urls, "namespaced rules cannot apply to non-resource URLs")
            if any(rule.get(key) for key in ("apiGroups", "resources", "resourceNames")):
                text = "rules cannot apply to both regular resources and non-resource URLs"
                errors += fields.invalid(where, urls, text)
            continue
        if not rule.get("apiGroups"):
            errors += fields.required(f"{path}.apiGroups", "resource rules must supply at least one api group")
        if not rule.get("resources"):
            errors += fields.required(f"{path}.resources", "resource rules must supply at least one resource")
    return errors


def _validate_cluster_role(body: Body) -> Errors:
    errors = _rules(body, namespaced=False)
    aggregation = body.get("aggregationRule")
    if aggregation is None:
        return errors
    path = "aggregationRule.clusterRoleSelectors"
    found = fields.items(aggregation, "clusterRoleSelectors")
    if not found:
        errors += fields.required(path, "at least one clusterRoleSelector required if aggregationRule is non-nil")
    for at, one in enumerate(found):
        bad = selectors.validate(one, f"{path}[{at}]")
        errors += bad + (fields.invalid(f"{path}[{at}]", None, "invalid label selector.") if bad else [])
    return errors


def _create(body: Body, ctx: Context) -> Body:
    return preparation.stored_lists(body, "rules")


def _update(new: Body, old: Body, ctx: Context) -> Body:
    return preparation.stored_lists(new, "rules")


def _role_row(body: Body, now: datetime) -> list[Any]:
    return [table.name(body), fields.text(fields.obj(body, "metadata"), "creationTimestamp")]


_ROLE_COLUMNS: Final = table.columns("Name", "Created At:date")

ROLE: Final = Kind(
    group=GROUP,
    version="v1",
    kind="Role",
    plural="roles",
    name_rule="path-segment",
    allow_create_on_update=True,
    prepare_create=_create,
    prepare_update=_update,
    validate=lambda body: _rules(body, namespaced=True),
    columns=_ROLE_COLUMNS,
    row=_role_row,
)
CLUSTER_ROLE: Final = Kind(
    group=GROUP,
    version="v1",
    kind="ClusterRole",
    plural="clusterroles",
    namespaced=False,
    name_rule="path-segment",
    allow_create_on_update=True,
    prepare_create=_create,
    prepare_update=_update,
    validate=_validate_cluster_role,
    columns=_ROLE_COLUMNS,
    row=_role_row,
)


def _default(body: Body) -> Body:
    def subject(one: Body) -> Body:
        return pod_defaults.fill(one, apiGroup=GROUP) if one.get("kind") in ("User", "Group") else one

    body = pod_defaults.within(body, "roleRef", lambda ref: pod_defaults.fill(ref, apiGroup=GROUP))
    return pod_defaults.each(body, "subjects", subject)


def _binding(*kinds: str, namespaced: bool) -> Callable[[Body], Errors]:
    def validate(body: Body) -> Errors:
        ref = fields.obj(body, "roleRef")
        group, kind, name = (fields.text(ref, key) for key in ("apiGroup", "kind", "name"))
        errors = [] if group == GROUP else fields.unsupported("roleRef.apiGroup", group, GROUP)
        errors += [] if kind in kinds else fields.unsupported("roleRef.kind", kind, *kinds)
        if name:
            errors += fields.invalid("roleRef.name", name, *formats.path_segment(name))
        else:
            errors += fields.required("roleRef.name")
        for at, one in enumerate(fields.items(body, "subjects")):
            errors += _subject(one, f"subjects[{at}]", namespaced=namespaced)
        return errors

    return validate


def _subject(one: Body, path: str, *, namespaced: bool) -> Errors:
    kind, name, group = (fields.text(one, key) for key in ("kind", "name", "apiGroup"))
    errors = [] if name else fields.required(f"{path}.name")
    if kind == "ServiceAccount":
        errors += fields.invalid(f"{path}.name", name, *formats.dns_subdomain(name)) if name else []
        errors += fields.unsupported(f"{path}.apiGroup", group, "") if group else []
        if not namespaced and not one.get("namespace"):
            errors += fields.required(f"{path}.namespace")
    elif kind in ("User", "Group"):
        errors += [] if group == GROUP else fields.unsupported(f"{path}.apiGroup", group, GROUP)
    else:
        errors += fields.unsupported(f"{path}.kind", kind, "ServiceAccount", "User", "Group")
    return errors


def _validate_update(new: Body, old: Body) -> Errors:
    ref = fields.obj(new, "roleRef")
    if ref == fields.obj(old, "roleRef"):
        return []
    shown = {
        "APIGroup": fields.text(ref, "apiGroup"),
        "Kind": fields.text(ref, "kind"),
        "Name": fields.text(ref, "name"),
    }
    return fields.invalid("roleRef", shown, "cannot change roleRef")


def _binding_row(body: Body, now: datetime) -> list[Any]:
    ref = fields.obj(body, "roleRef")
    names: dict[str, list[str]] = {"User": [], "Group": [], "ServiceAccount": []}
    for one in fields.items(body, "subjects"):
        kind, name = fields.text(one, "kind"), fields.text(one, "name")
        shown = f"{fields.text(one, 'namespace')}/{name}" if kind == "ServiceAccount" else name
        names.setdefault(kind, []).append(shown)
    return [
        table.name(body),
        f"{fields.text(ref, 'kind')}/{fields.text(ref, 'name')}",
        table.created(body, now),
        *(", ".join(names[kind]) for kind in ("User", "Group", "ServiceAccount")),
    ]


_BINDING_COLUMNS: Final = table.columns("Name", "Role", "Age", "Users*", "Groups*", "ServiceAccounts*")

ROLE_BINDING: Final = Kind(
    group=GROUP,
    version="v1",
    kind="RoleBinding",
    plural="rolebindings",
    name_rule="path-segment",
    allow_create_on_update=True,
    default=_default,
    validate=_binding("Role", "ClusterRole", namespaced=True),
    validate_update=_validate_update,
    columns=_BINDING_COLUMNS,
    row=_binding_row,
)
CLUSTER_ROLE_BINDING: Final = Kind(
    group=GROUP,
    version="v1",
    kind="ClusterRoleBinding",
    plural="clusterrolebindings",
    namespaced=False,
    name_rule="path-segment",
    allow_create_on_update=True,
    default=_default,
    validate=_binding("ClusterRole", namespaced=False),
    validate_update=_validate_update,
    columns=_BINDING_COLUMNS,
    row=_binding_row,
)
