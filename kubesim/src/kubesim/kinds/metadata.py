"""What every object's metadata must obey: names, labels, annotations, owners, finalizers.

The pipeline runs these rules for every kind before the rules of the kind itself. Kubernetes looks at the metadata of an
update several times, for all kinds and again with the kind, and tells each complaint as often; so does
`validate_update`.

Kubernetes: ValidateObjectMeta, ValidateObjectMetaUpdate, validateCommonFields.
"""

from __future__ import annotations

from typing import Final

from kubesim.kinds import fields, formats
from kubesim.kinds.fields import Body, Errors

NAME_RULES: Final[dict[str, formats.Check]] = {
    "dns-subdomain": formats.dns_subdomain,
    "dns-label": formats.dns_label,
    "dns-1035": formats.dns_1035_label,
    "path-segment": formats.path_segment,
}

_STANDARD_FINALIZERS: Final = frozenset({"kubernetes", "orphan", "foregroundDeletion"})
_ANNOTATIONS_LIMIT: Final = 256 * 1024
_OWNER_KEYS: Final = ("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion")


def validate(body: Body, *, namespaced: bool, name_rule: str = "dns-subdomain", builtin: bool = True) -> Errors:
    """Complaints about the metadata of an object to be created, its name already generated.

    ``builtin`` is false for definitions and custom resources, whose finalizers need no domain.
    """
    meta = fields.obj(body, "metadata")
    check = NAME_RULES[name_rule]
    prefix = fields.text(meta, "generateName")
    errors = fields.invalid("metadata.generateName", prefix, *formats.generated_prefix(check, prefix)) if prefix else []
    name = fields.text(meta, "name")
    if name:
        errors += fields.invalid("metadata.name", name, *check(name))
    else:
        errors += fields.required("metadata.name", "name or generateName is required")
    return errors + _namespace(meta, namespaced) + _generation(meta) + _common(meta, builtin, finalizers=True)


def validate_update(new: Body, old: Body, *, builtin: bool = True) -> Errors:
    """Complaints about changed metadata; most are told three times, as the server does.

    The pipeline has already put back what a client may leave out (uid, creationTimestamp, resourceVersion).
    """
    meta = fields.obj(new, "metadata")
    changed = _update(meta, fields.obj(old, "metadata"))
    return (
        _common(meta, builtin=False, finalizers=True) + changed + changed + (_kube_finalizers(meta) if builtin else [])
    )


def once_more(body: Body) -> Errors:
    """What the rules of creation say of changed metadata: a few kinds look at a whole object again."""
    return _common(fields.obj(body, "metadata"), builtin=True, finalizers=True)


def _update(new: Body, old: Body) -> Errors:
    errors: Errors = []
    if old.get("deletionTimestamp"):
        errors += _no_new_finalizers(new, old)
    if not new.get("resourceVersion"):
        errors += fields.invalid("metadata.resourceVersion", 0, "must be specified for an update")
    if (new.get("generation") or 0) < (old.get("generation") or 0):
        errors += fields.invalid("metadata.generation", new.get("generation") or 0, "must not be decremented")
    for key in ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"):
        # A name that is missing is an empty one; a time or a number that is missing is none.
        none = "" if key in ("name", "namespace", "uid") else None
        value = none if new.get(key) is None else new[key]
        if value != (none if old.get(key) is None else old[key]):
            errors += fields.invalid(f"metadata.{key}", value, "field is immutable")
    return errors + _common(new, builtin=False, finalizers=False)


def _no_new_finalizers(new: Body, old: Body) -> Errors:
    added = sorted(set(fields.items(new, "finalizers")) - set(fields.items(old, "finalizers")))
    if not added:
        return []
    shown = "[]string{" + ", ".join(f'"{name}"' for name in added) + "}"
    return fields.forbidden(
        "metadata.finalizers",
        f"no new finalizers can be added if the object is being deleted, found new finalizers {shown}",
    )


def _namespace(meta: Body, namespaced: bool) -> Errors:
    namespace = fields.text(meta, "namespace")
    if not namespaced:
        return fields.forbidden("metadata.namespace", "not allowed on this type") if namespace else []
    if not namespace:
        return fields.required("metadata.namespace")
    return fields.invalid("metadata.namespace", namespace, *formats.dns_label(namespace))


def _generation(meta: Body) -> Errors:
    return fields.non_negative("metadata.generation", meta.get("generation"))


def _common(meta: Body, builtin: bool, *, finalizers: bool) -> Errors:
    errors: Errors = []
    if labels_ := meta.get("labels"):
        errors += labels(labels_, "metadata.labels")
    if notes := meta.get("annotations"):
        errors += annotation_map(notes, "metadata.annotations")
    if owners := meta.get("ownerReferences"):
        errors += _owners(owners)
    if finalizers and meta.get("finalizers"):
        errors += _finalizers(meta["finalizers"])
    return errors + (_kube_finalizers(meta) if builtin else [])


def labels(values: Body, path: str) -> Errors:
    """Complaints about a map of labels (also node selectors, template labels), in order of keys."""
    errors: Errors = []
    for key, value in sorted(values.items()):
        errors += fields.invalid(path, key, *formats.qualified_name(key))
        errors += fields.invalid(path, value, *formats.label_value(value or ""))
    return errors


def annotation_map(values: Body, path: str) -> Errors:
    """Complaints about annotations: keys in any case, 256 KiB in total."""
    errors: Errors = []
    for key in sorted(values):
        errors += fields.invalid(path, key, *formats.qualified_name(key.lower()))
    if sum(len(key.encode()) + len((value or "").encode()) for key, value in values.items()) > _ANNOTATIONS_LIMIT:
        errors += fields.too_long(path, _ANNOTATIONS_LIMIT)
    return errors


def _owners(owners: list[Body]) -> Errors:
    path = "metadata.ownerReferences"
    errors: Errors = []
    controller = ""
    for owner in owners:
        version, kind = fields.text(owner, "apiVersion"), fields.text(owner, "kind")
        if not version.rpartition("/")[2]:
            errors += fields.invalid(f"{path}.apiVersion", version, "version must not be empty")
        for key in ("kind", "name", "uid"):
            if not owner.get(key):
                errors += fields.invalid(f"{path}.{key}", "", "must not be empty")
        if (version, kind) == ("v1", "Event"):
            shown = fields.ordered(owner, *_OWNER_KEYS)
            errors += fields.invalid(path, shown, "/v1, Kind=Event is disallowed from being an owner")
        if owner.get("controller"):
            here = f"{kind}/{fields.text(owner, 'name')}"
            if controller:
                all_shown = [fields.ordered(each, *_OWNER_KEYS) for each in owners]
                errors += fields.invalid(
                    path,
                    all_shown,
                    'Only one reference can have Controller set to true. Found "true" in references for '
                    f"{controller} and {here}",
                )
            else:
                controller = here
    return errors


def _finalizers(names: list[str]) -> Errors:
    path = "metadata.finalizers"
    errors = fields.joined(fields.invalid(path, name, *formats.qualified_name(name)) for name in names)
    if "orphan" in names and "foregroundDeletion" in names:
        errors += fields.invalid(path, names, "finalizer orphan and foregroundDeletion cannot be both set")
    return errors


def _kube_finalizers(meta: Body) -> Errors:
    return fields.joined(
        fields.invalid(
            f"metadata.finalizers[{at}]", name, "name is neither a standard finalizer name nor is it fully qualified"
        )
        for at, name in enumerate(fields.items(meta, "finalizers"))
        if "/" not in name and name not in _STANDARD_FINALIZERS
    )


def template(meta: Body, path: str) -> Errors:
    """Complaints about the labels and annotations of a template's metadata."""
    return labels(fields.obj(meta, "labels"), f"{path}.labels") + annotation_map(
        fields.obj(meta, "annotations"), f"{path}.annotations"
    )
