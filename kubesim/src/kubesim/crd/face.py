"""One version of a definition at work: its schema, read once for each use, and what the pipeline asks of it.

All versions are faces of the same stored objects (conversion strategy None): reading through another version relabels,
prunes to its schema and fills in its defaults. What a version declares about itself (names, columns, warnings) is
``custom``'s business.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, Final

from kubesim import status
from kubesim.crd import constraints, listtype, ratchet, rules, scale_paths, shape, validate
from kubesim.crd.constraints import Rule
from kubesim.kind import Context
from kubesim.kinds import metadata
from kubesim.status import FieldError

Body = dict[str, Any]
_REMEMBERED: Final = 8192
"""Bodies; each is in the store anyway, only those since replaced are kept longer than needed."""


class Face:
    """Its schema is read when first asked for (``shape``, ``constraints``, ``rules``), and only walked then."""

    def __init__(
        self,
        group: str,
        version: str,
        kind: str,
        openapi: Mapping[str, Any],
        subresources: Mapping[str, Any],
        siblings: Mapping[str, Face],
    ) -> None:
        self.api_version = f"{group}/{version}"
        self.kind = kind
        self.openapi = openapi
        self._siblings = siblings
        self.has_status = subresources.get("status") is not None
        self.scale = scale_paths.read(subresources.get("scale"))
        self.shape = shape.read(openapi)
        self.has_keyed_lists = listtype.has_any(openapi)
        self._shown: dict[int, tuple[Body, Body]] = {}

    @functools.cached_property
    def rule(self) -> Rule:
        return constraints.read(self.openapi)

    @functools.cached_property
    def status_rule(self) -> Rule | None:
        schema = (self.openapi.get("properties") or {}).get("status")
        return constraints.read(schema) if isinstance(schema, Mapping) else None

    @functools.cached_property
    def rules(self) -> rules.Node | None:
        return rules.read(self.openapi)

    # reading

    def decode(self, body: Body) -> tuple[Body, list[str]]:
        """The body without what the schema does not know, and the paths of that, sorted."""
        unknown: list[str] = []
        pruned = shape.drop_nulls(shape.prune(body, self.shape, unknown.append), self.shape)
        unknown.sort()
        return pruned, unknown

    def default(self, body: Body) -> Body:
        filled: Body = shape.fill(body, self.shape)
        return filled

    def accept(self, body: Body) -> Body:
        """As it is stored."""
        settled: Body = shape.settle_numbers(self._relabelled(body))
        return settled

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
        if self.has_keyed_lists:
            errors += listtype.check(body, self.openapi)
        return errors + self._rules(body, None, errors)

    def validate_update(self, new: Body, old: Body) -> list[FieldError]:
        errors = self._type_meta(new)
        if not errors:
            errors = validate.check(new, self.rule, old=ratchet.Old(old))
            errors += self._scale_spec(new) + self._scale_status(new)
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
        return scale_paths.replica_errors(body, self.scale.replicas) if self.scale else []

    def _scale_status(self, body: Body) -> list[FieldError]:
        if self.scale is None:
            return []
        errors = scale_paths.replica_errors(body, self.scale.status_replicas)
        if self.scale.selector:
            try:
                scale_paths.value_at(body, self.scale.selector, str, "string")
            except scale_paths.StrangeValue as problem:
                errors.append(status.invalid_value("." + ".".join(self.scale.selector), "", str(problem)))
        return errors
