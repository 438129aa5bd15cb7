"""What an override policy changes: Karmada's seven overriders and the rules that carry them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, TypeAlias

from pydantic import Field

from gitfed.model.declared import names
from gitfed.model.declared.placement import ClusterAffinity, Path
from gitfed.model.declared.shape import Finding, Labels, Part, Required, Text

Operator: TypeAlias = Literal["add", "remove", "replace"]


class PlaintextOverrider(Part):
    """One operation of a JSON patch. `value` of a missing member and of `null` are the same."""

    path: Text
    operator: Operator
    value: Any = None


class ImagePredicate(Part):
    path: Text

    def findings(self, path: Path) -> Iterator[Finding]:
        yield from _pointer(self.path, (*path, "path"))


class ImageOverrider(Part):
    predicate: ImagePredicate | None = None
    component: Literal["Registry", "Repository", "Tag"]
    operator: Operator
    value: Text = ""


class CommandArgsOverrider(Part):
    container_name: Required
    operator: Literal["add", "remove"]
    value: tuple[Text, ...] = ()


class LabelAnnotationOverrider(Part):
    operator: Operator
    value: Labels = Field(default_factory=dict)


class PatchOperation(Part):
    """One operation inside the text that a fieldOverrider names."""

    sub_path: Text
    operator: Operator
    value: Any = None

    def findings(self, path: Path) -> Iterator[Finding]:
        yield from _pointer(self.sub_path, (*path, "subPath"))
        if self.operator == "remove" and self.value is not None:
            yield Finding((*path, "value"), "the operator remove takes no value")
        if self.operator != "remove" and self.value is None:
            yield Finding((*path, "value"), f"the operator {self.operator} needs a value")


class FieldOverrider(Part):
    field_path: Text
    json_: tuple[PatchOperation, ...] = Field(default=(), alias="json")
    yaml: tuple[PatchOperation, ...] = ()

    def findings(self, path: Path) -> Iterator[Finding]:
        yield from _pointer(self.field_path, (*path, "fieldPath"))
        if self.json_ and self.yaml:
            yield Finding(path, "json and yaml cannot be combined in one entry")
        if not self.json_ and not self.yaml:
            yield Finding(path, "one of json and yaml is required")
        for name, operations in (("json", self.json_), ("yaml", self.yaml)):
            for i, operation in enumerate(operations):
                yield from operation.findings((*path, name, i))


class Overriders(Part):
    """Applied in the order image, command, args, labels, annotations, field, plaintext."""

    plaintext: tuple[PlaintextOverrider, ...] = ()
    image_overrider: tuple[ImageOverrider, ...] = ()
    command_overrider: tuple[CommandArgsOverrider, ...] = ()
    args_overrider: tuple[CommandArgsOverrider, ...] = ()
    labels_overrider: tuple[LabelAnnotationOverrider, ...] = ()
    annotations_overrider: tuple[LabelAnnotationOverrider, ...] = ()
    field_overrider: tuple[FieldOverrider, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not any(getattr(self, name) for name in type(self).model_fields)

    def findings(self, path: Path) -> Iterator[Finding]:
        for i, image in enumerate(self.image_overrider):
            if image.predicate:
                yield from image.predicate.findings((*path, "imageOverrider", i, "predicate"))
        for i, labels in enumerate(self.labels_overrider):
            for key, value in labels.value.items():
                where = (*path, "labelsOverrider", i, "value", key)
                if why := names.why_not_label_key(key):
                    yield Finding(where, f"the label key {key} {why}")
                if why := names.why_not_label_value(value):
                    yield Finding(where, f"the value of the label {key} {why}")
        for i, notes in enumerate(self.annotations_overrider):
            for key in notes.value:
                if why := names.why_not_label_key(key.lower()):
                    yield Finding((*path, "annotationsOverrider", i, "value", key), f"the annotation key {key} {why}")
        for i, field in enumerate(self.field_overrider):
            yield from field.findings((*path, "fieldOverrider", i))


class OverrideRule(Part):
    target_cluster: ClusterAffinity | None = None
    overriders: Overriders


def _pointer(text: str, path: Path) -> Iterator[Finding]:
    if text and not text.startswith("/"):
        yield Finding(path, f"{text} is not a JSON pointer", f"write /{text}")
