"""Turns one version of a definition into a ``Kind``: everything the pipeline needs to serve its objects.

A schema is read once when its version is first served (``shape``, ``validate``, ``rules``) and only walked
afterwards. All versions are faces of the same stored objects (conversion strategy None): reading through another
version relabels, prunes to its schema and fills in its defaults.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from gitfed.sim import schema as schemas
from gitfed.sim import status
from gitfed.sim.crd import columns, definition, embedded, listtype, ratchet, rules, shape, validate
from gitfed.sim.kind import READ_WRITE, Context, Kind, Scale, Subresource
from gitfed.sim.kinds import formats, metadata
from gitfed.sim.patch import go_map
from gitfed.sim.status import FieldError

Body = dict[str, Any]
_OPEN: Final[Mapping[str, Any]] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_REMEMBERED: Final = 8192
"""Bodies; each is in the store anyway, only those since replaced are kept longer than needed."""
_INT32: Final = 2**31 - 1
_STANDARD_FINALIZERS: Final = frozenset({"orphan", "foregroundDeletion", "kubernetes"})


def kinds(body: Body) -> list[Kind]:
    """One for each served version, the preferred one first; none before the definition is established."""
    if definition.condition(body, "Established") != "True":
        return []
    spec, names = body["spec"], body["status"]["acceptedNames"]
    faces: dict[str, _Face] = {}
    for version in spec["versions"]:
        openapi = (version.get("schema") or {}).get("openAPIV3Schema") or _OPEN
        subresources = version.get("subresources") or {}
        faces[version["name"]] = _Face(spec["group"], version["name"], names["kind"], openapi, subresources, faces)
    served = [version for version in spec["versions"] if version.get("served")]
    return [_kind(body, version, faces) for version in sorted(served, key=lambda one: version_rank(one["name"]))]


def schema_of(kind: Kind) -> Mapping[str, Any] | None:
    """The schema that a custom kind was defined with; ``None`` for built-in kinds."""
    face = getattr(kind.default, "__self__", None)
    return face.openapi if isinstance(face, _Face) else None


def version_rank(name: str) -> tuple[Any, ...]:
    """Sorts versions as Kubernetes prefers them: v2, v1, v1beta2, v1beta1, v1alpha1, then all others by name."""
    found = re.fullmatch(r"v(\d+)(?:(alpha|beta)(\d+))?", name)
    if found is None:
        return (1, name)
    return (0, {None: 0, "beta": 1, "alpha": 2}[found[2]], -int(found[1]), -int(found[3] or 0))


def _kind(body: Body, version: Body, faces: Mapping[str, _Face]) -> Kind:
    spec, names = body["spec"], body["status"]["acceptedNames"]
    group, name = spec["group"], version["name"]
    subresources = version.get("subresources") or {}
    face = faces[name]
    stored = next(one["name"] for one in spec["versions"] if one.get("storage"))
    shown_columns, row = (
        columns.read(version["additionalPrinterColumns"]) if version.get("additionalPrinterColumns") else ((), None)
    )
    return Kind(
        group=group,
        version=name,
        kind=names["kind"],
        plural=names["plural"],
        singular=names.get("singular") or "",
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        namespaced=spec.get("scope") == "Namespaced",
        verbs=READ_WRITE,
        subresources=_subresources(subresources),
        scale=face.scale,
        schema=schemas.from_openapi(face.openapi),
        custom=True,
        list_kind=names.get("listKind") or "",
        deprecated=_deprecation(spec, version, names["kind"]),
        storage=f"{spec['names']['plural']}.{group}",
        storage_version=f"{group}/{stored}",
        to_storage=faces[stored].accept,
        from_storage=face.present,
        allow_unconditional_update=False,
        has_generation=True,
        generation_moves=face.moves_generation,
        reset_fields=_reset_fields(subresources),
        decode=face.decode,
        default=face.default,
        prepare_create=face.prepare_create,
        prepare_update=face.prepare_update,
        prepare_status=_prepare_status,
        validate=face.validate,
        validate_update=face.validate_update,
        validate_status=face.validate_status,
        validates_update_alone=True,
        warnings=_warnings,
        field_labels={
            one["jsonPath"].removeprefix("."): _label(one["jsonPath"]) for one in version.get("selectableFields") or ()
        },
        columns=shown_columns,
        row=row,
    )


def _subresources(value: Mapping[str, Any]) -> tuple[Subresource, ...]:
    found = []
    if value.get("status") is not None:
        found.append(Subresource(name="status"))
    if value.get("scale") is not None:
        found.append(Subresource(name="scale", kind="Scale", group="autoscaling", version="v1"))
    return tuple(found)


def _reset_fields(value: Mapping[str, Any]) -> dict[str, tuple[tuple[str, ...], ...]]:
    if value.get("status") is None:
        return {}
    return {"": (("status",),), "status": (("metadata",), ("spec",))}


def _deprecation(spec: Body, version: Body, kind: str) -> str:
    if not version.get("deprecated"):
        return ""
    if version.get("deprecationWarning"):
        return str(version["deprecationWarning"])
    group, name = spec["group"], version["name"]
    better = [one["name"] for one in spec["versions"] if one.get("served") and not one.get("deprecated")]
    better = [one for one in better if version_rank(one) < version_rank(name)]
    text = f"{group}/{name} {kind} is deprecated"
    return f"{text}; use {group}/{min(better, key=version_rank)} {kind}" if better else text


def _label(path: str) -> Callable[[Body], str]:
    step = columns.parse(path)

    def run(body: Body) -> str:
        found = next(iter(step(body)), None)
        if isinstance(found, bool):
            return "true" if found else "false"
        return "" if found is None else columns.text(found)

    return run


def _prepare_status(new: Body, old: Body) -> Body:
    """Only status is taken, and who wrote it."""
    meta = {key: value for key, value in old["metadata"].items() if key != "managedFields"}
    if "managedFields" in new["metadata"]:
        meta["managedFields"] = new["metadata"]["managedFields"]
    kept = {key: value for key, value in old.items() if key != "status"}
    return {**kept, "metadata": meta, **({"status": new["status"]} if "status" in new else {})}


def _warnings(body: Body, old: Body | None) -> list[str]:
    before = set((old or {}).get("metadata", {}).get("finalizers") or ())
    found = []
    for name in sorted(set(body["metadata"].get("finalizers") or ()) - before):
        place = f"metadata.finalizers: {status.quote(name)}"
        found += [f"{place}: {text}" for text in formats.qualified_name(name)]
        if "/" not in name and name not in _STANDARD_FINALIZERS:
            path = " including a path (/)" if "." in name else ""
            found.append(
                f"{place}: prefer a domain-qualified finalizer name{path} to avoid accidental conflicts with "
                "other finalizer writers"
            )
    return found


class _Face:
    """One version of a definition: its schema, read for each use."""

    def __init__(
        self,
        group: str,
        version: str,
        kind: str,
        openapi: Mapping[str, Any],
        subresources: Mapping[str, Any],
        siblings: Mapping[str, _Face],
    ) -> None:
        self.api_version = f"{group}/{version}"
        self.kind = kind
        self.openapi = openapi
        self._siblings = siblings
        self.has_status = subresources.get("status") is not None
        self.scale = _scale(subresources.get("scale"))
        self.shape = shape.read(openapi)
        self.embeds = embedded.has_any(openapi)
        self.has_keyed_lists = listtype.has_any(openapi)
        self._shown: dict[int, tuple[Body, Body]] = {}

    @functools.cached_property
    def rule(self) -> validate.Rule:
        return validate.read(self.openapi)

    @functools.cached_property
    def status_rule(self) -> validate.Rule | None:
        schema = (self.openapi.get("properties") or {}).get("status")
        return validate.read(schema) if isinstance(schema, Mapping) else None

    @functools.cached_property
    def rules(self) -> rules.Node | None:
        return rules.read(self.openapi)

    # reading

    def decode(self, body: Body) -> tuple[Body, list[str]]:
        """The body without what the schema does not know, and the paths of that, sorted."""
        unknown: list[str] = []
        pruned = shape.drop_nulls(shape.prune(body, self.shape, unknown.append), self.shape)
        unknown.sort()
        if self.embeds:
            inside: list[str] = []
            try:
                pruned = embedded.coerce(pruned, self.openapi, inside.append)
            except embedded.Malformed as problem:
                version = status.quote(self.api_version.rpartition("/")[2])
                text = f"{self.kind} in version {version} cannot be handled as a {self.kind}: {problem}"
                raise status.bad_request(text) from problem
            unknown += sorted(inside)
        return pruned, unknown

    def default(self, body: Body) -> Body:
        filled: Body = shape.fill(body, self.shape)
        return filled

    def accept(self, body: Body) -> Body:
        """As it is stored."""
        return self._relabelled(body)

    def present(self, body: Body) -> Body:
        """A stored body as this version shows it. Remembered: lists and watches ask for the same bodies again."""
        known = self._shown.get(id(body))
        if known is not None and known[0] is body:
            return known[1]
        # Defaults come from the version the object was stored in, not from the one it is read through.
        stored = self._siblings.get(body.get("apiVersion", "").rpartition("/")[2], self)
        shown = stored.default(stored._relabelled(body))
        if stored is not self:
            shown = self._relabelled(shown)
        if len(self._shown) >= _REMEMBERED:
            self._shown.clear()
        self._shown[id(body)] = (body, shown)
        return shown

    def _relabelled(self, body: Body) -> Body:
        if body.get("apiVersion") != self.api_version:
            body = {**body, "apiVersion": self.api_version}
        pruned: Body = shape.drop_nulls(shape.prune(body, self.shape), self.shape)
        return pruned

    # writing

    def moves_generation(self, new: Body, old: Body) -> bool:
        """Any change outside metadata counts; of status only where it is not written apart."""
        ignored = ("metadata", "status") if self.has_status else ("metadata",)
        kept, before = ({key: value for key, value in body.items() if key not in ignored} for body in (new, old))
        return not ratchet.unchanged(kept, ratchet.Old(before))

    def prepare_create(self, body: Body, ctx: Context) -> Body:
        if self.has_status and "status" in body:
            return {key: value for key, value in body.items() if key != "status"}
        return body

    def prepare_update(self, new: Body, old: Body, ctx: Context) -> Body:
        if not self.has_status:
            return new
        if "status" in old:
            return new if new.get("status") is old["status"] else {**new, "status": old["status"]}
        return {key: value for key, value in new.items() if key != "status"} if "status" in new else new

    # validation

    def validate(self, body: Body) -> list[FieldError]:
        errors = self._type_meta(body)
        if not errors:
            errors = validate.check(body, self.rule)
            errors += self._scale_spec(body) + self._scale_status(body)
        errors += self._embedded(body)
        if self.has_keyed_lists:
            errors += listtype.check(body, self.openapi)
        return errors + self._rules(body, None, errors)

    def validate_update(self, new: Body, old: Body) -> list[FieldError]:
        errors = self._type_meta(new)
        if not errors:
            errors = validate.check(new, self.rule, old=ratchet.Old(old))
            errors += self._scale_spec(new) + self._scale_status(new)
        errors += self._embedded(new)
        errors += self._keyed_lists(new, old)
        return errors + self._rules(new, old, errors)

    def validate_status(self, new: Body, old: Body) -> list[FieldError]:
        errors = self._type_meta(new)
        if not errors:
            if self.status_rule is not None and "status" in new:
                before = ratchet.Old(old["status"]) if "status" in old else None
                errors = validate.check(new["status"], self.status_rule, "status", before)
            errors += self._scale_status(new)
        errors += self._keyed_lists(new, old)
        return errors + self._rules(new, old, errors)

    def _type_meta(self, body: Body) -> list[FieldError]:
        errors = []
        for name, wanted in (("kind", self.kind), ("apiVersion", self.api_version)):
            if body.get(name) != wanted:
                errors.append(status.invalid_value(name, body.get(name) or "", f"must be {wanted}"))
        return errors

    def _embedded(self, body: Body) -> list[FieldError]:
        return embedded.check(body, self.openapi) if self.embeds else []

    def _keyed_lists(self, new: Body, old: Body) -> list[FieldError]:
        """An update is not refused for what was wrong before."""
        if not self.has_keyed_lists:
            return []
        found = listtype.check(new, self.openapi)
        return [] if found and listtype.check(old, self.openapi) else found

    def _rules(self, new: Body, old: Body | None, errors: list[FieldError]) -> list[FieldError]:
        if self.rules is None:
            return []
        if rules.blocked(errors) or rules.blocked(self._meta_errors(new, old)):
            return [rules.unchecked()]
        return rules.run(self.rules, new, old, ratcheting=old is not None)

    def _meta_errors(self, new: Body, old: Body | None) -> list[FieldError]:
        """The pipeline tells these itself; here they only decide whether rules are asked at all."""
        if old is not None:
            return metadata.validate_update(new, old, builtin=False)
        return metadata.validate(new, namespaced=bool(new["metadata"].get("namespace")), builtin=False)

    def _scale_spec(self, body: Body) -> list[FieldError]:
        return _replica_errors(body, self.scale.replicas) if self.scale else []

    def _scale_status(self, body: Body) -> list[FieldError]:
        if self.scale is None:
            return []
        errors = _replica_errors(body, self.scale.status_replicas)
        if self.scale.selector:
            try:
                _at(body, self.scale.selector, str, "string")
            except _Strange as problem:
                errors.append(status.invalid_value("." + ".".join(self.scale.selector), "", str(problem)))
        return errors


def _scale(value: Mapping[str, Any] | None) -> Scale | None:
    if value is None:
        return None
    return Scale(
        replicas=_keys(value.get("specReplicasPath")),
        status_replicas=_keys(value.get("statusReplicasPath")),
        selector=_keys(value.get("labelSelectorPath")),
        selector_text=True,
    )


def _keys(path: str | None) -> tuple[str, ...]:
    return tuple(path.removeprefix(".").split(".")) if path else ()


class _Strange(ValueError):
    """Something on the path is not what it must be. ``str()`` is the accessor's complaint."""


def _at(value: Any, keys: tuple[str, ...], wanted: type, named: str) -> Any:
    """The value at the path, ``None`` if there is none. Raises ``_Strange``."""
    place = "." + ".".join(keys)
    for key in keys:
        if value is None:
            return None
        if not isinstance(value, dict):
            raise _Strange(_accessor(place, value, "map[string]interface{}"))
        if key not in value:
            return None
        value = value[key]
    if value is not None and type(value) is not wanted:
        raise _Strange(_accessor(place, value, named))
    return value


def _accessor(place: str, value: Any, wanted: str) -> str:
    shown = columns.text(value) if not isinstance(value, list | dict) else go_map(value)
    return f"{place} accessor error: {shown} is of the type {_go_type(value)}, expected {wanted}"


def _go_type(value: Any) -> str:
    names = {
        bool: "bool",
        int: "int64",
        float: "float64",
        str: "string",
        list: "[]interface {}",
        dict: "map[string]interface {}",
    }
    return names.get(type(value), "<nil>")


def _replica_errors(body: Body, keys: tuple[str, ...]) -> list[FieldError]:
    place = "." + ".".join(keys)
    try:
        value = _at(body, keys, int, "int64")
    except _Strange as problem:
        return [status.invalid_value(place, 0, str(problem))]
    if value is None:
        return []
    if value < 0:
        return [status.invalid_value(place, value, "should be a non-negative integer")]
    return [status.invalid_value(place, value, f"should be less than or equal to {_INT32}")] if value > _INT32 else []
