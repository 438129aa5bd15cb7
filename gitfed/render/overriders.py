"""The seven overriders: what one override rule does to a manifest (Karmada: policies §4.3-4.8).

Each takes a body and returns another one that shares what it did not touch, or the very same one if nothing changed.
Which rules apply where, and in which order, is `override`'s business.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gitfed.model.base import Body
from gitfed.render import fields, image
from gitfed.text import patch, pointer

if TYPE_CHECKING:
    from gitfed.model.declared.policy import (
        CommandArgsOverrider,
        FieldOverrider,
        ImageOverrider,
        LabelAnnotationOverrider,
        Overriders,
        PlaintextOverrider,
    )

_POD = ("spec",)
_TEMPLATE = ("spec", "template", "spec")
_POD_SPECS: dict[str, pointer.Pointer] = {
    "Pod": _POD,
    "ReplicaSet": _TEMPLATE,
    "Deployment": _TEMPLATE,
    "DaemonSet": _TEMPLATE,
    "StatefulSet": _TEMPLATE,
    "Job": _TEMPLATE,
}
"""By kind alone, whatever the group; a CronJob is not among them."""


class RuleError(ValueError):
    """An overrider cannot be applied to this manifest. `path` is the place that it names."""

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(message)
        self.path = path


def apply(body: Body, overriders: Overriders) -> Iterator[tuple[str, Body]]:
    """(name of the overrider, the body after it), in the fixed order, for those that are given. Raises RuleError."""
    steps: Sequence[tuple[str, Callable[..., Body], Any]] = (
        ("imageOverrider", images, overriders.image_overrider),
        ("commandOverrider", _command, overriders.command_overrider),
        ("argsOverrider", _args, overriders.args_overrider),
        ("labelsOverrider", _labels, overriders.labels_overrider),
        ("annotationsOverrider", _annotations, overriders.annotations_overrider),
        ("fieldOverrider", field_texts, overriders.field_overrider),
        ("plaintext", plaintext, overriders.plaintext),
    )
    for name, step, entries in steps:
        if entries:
            body = step(body, entries)
            yield name, body


def images(body: Body, entries: Iterable[ImageOverrider]) -> Body:
    for entry in entries:
        if entry.predicate is not None:
            body = _image_at(body, _predicate(body, entry.predicate.path), entry)
        else:
            spec = _POD_SPECS.get(body["kind"])
            for index, _ in enumerate(_containers(body, spec)):
                body = _image_at(body, (*(spec or ()), "containers", str(index), "image"), entry)
    return body


def _predicate(body: Body, path: str) -> pointer.Pointer:
    """The place must be a text member; the element of a list has no name to be called an image."""
    if not path.startswith("/"):
        raise RuleError(f"predicate.path {path!r} must begin with /", path)
    try:
        place = pointer.parse(path)
        parent = pointer.get(body, place[:-1])
    except pointer.PointerError as error:
        raise RuleError(str(error), path) from error
    if not isinstance(parent, Mapping) or not isinstance(parent.get(place[-1]), str):
        raise RuleError(f"{path} is no text member of an object", path)
    return place


def _image_at(body: Body, place: pointer.Pointer, entry: ImageOverrider) -> Body:
    parent = pointer.get(body, place[:-1])
    old = parent.get(place[-1]) or ""
    if not isinstance(old, str):
        raise RuleError(f"{pointer.text(place)} is no text", pointer.text(place))
    try:
        new = str(image.change(image.parse(old), entry.component, entry.operator, entry.value or ""))
    except image.ImageError as error:
        raise RuleError(f"{pointer.text(place)}: {error}", pointer.text(place)) from error
    return body if new == old else pointer.add(body, place, new)


def _containers(body: Body, spec: pointer.Pointer | None) -> list[Any]:
    if spec is None:
        return []
    try:
        containers = pointer.get(body, (*spec, "containers"))
    except pointer.PointerError:
        return []
    if containers is None:
        return []
    if not isinstance(containers, list) or not all(isinstance(item, Mapping) for item in containers):
        path = pointer.text((*spec, "containers"))
        raise RuleError(f"{path} is no list of containers", path)
    return containers


def _command(body: Body, entries: Iterable[CommandArgsOverrider]) -> Body:
    return _words(body, "command", entries)


def _args(body: Body, entries: Iterable[CommandArgsOverrider]) -> Body:
    return _words(body, "args", entries)


def _words(body: Body, member: str, entries: Iterable[CommandArgsOverrider]) -> Body:
    """`add` appends, `remove` drops every equal word. A list that is not there is created, as in the reference."""
    spec = _POD_SPECS.get(body["kind"])
    for entry in entries:
        for index, container in enumerate(_containers(body, spec)):
            if container.get("name") != entry.container_name:
                continue
            old = container.get(member)
            if old is not None and not isinstance(old, list):
                path = pointer.text((*(spec or ()), "containers", str(index), member))
                raise RuleError(f"{path} is no list", path)
            given = list(entry.value or ())
            new = (
                [*(old or ()), *given] if entry.operator == "add" else [word for word in old or () if word not in given]
            )
            if new != old:
                body = pointer.add(body, (*(spec or ()), "containers", str(index), member), new)
    return body


def _labels(body: Body, entries: Iterable[LabelAnnotationOverrider]) -> Body:
    return _texts(body, "labels", entries)


def _annotations(body: Body, entries: Iterable[LabelAnnotationOverrider]) -> Body:
    return _texts(body, "annotations", entries)


def _texts(body: Body, member: str, entries: Iterable[LabelAnnotationOverrider]) -> Body:
    """`replace` touches only keys that are there; `add` creates the map, also in the place of null."""
    for entry in entries:
        old = (body.get("metadata") or {}).get(member)
        if old is not None and not isinstance(old, Mapping):
            raise RuleError(f"/metadata/{member} is no map", f"/metadata/{member}")
        have, given = old or {}, entry.value or {}
        match entry.operator:
            case "add":
                new = {**have, **given}
            case "replace":
                new = {key: given.get(key, value) for key, value in have.items()}
            case _:
                new = {key: value for key, value in have.items() if key not in given}
        if new != have:
            body = pointer.put(body, ("metadata", member), new)
    return body


def field_texts(body: Body, entries: Iterable[FieldOverrider]) -> Body:
    for entry in entries:
        try:
            place = pointer.parse(entry.field_path)
            text = pointer.get(body, place)
            if not isinstance(text, str):
                raise RuleError(f"{entry.field_path} is no text", entry.field_path)
            new = text
            if entry.json_:
                new = fields.patch_json(
                    new, [_operation(item.operator, item.sub_path, item.value) for item in entry.json_]
                )
            if entry.yaml:
                new = fields.patch_yaml(
                    new, [_operation(item.operator, item.sub_path, item.value) for item in entry.yaml]
                )
            body = body if new == text else pointer.replace(body, place, new)
        except (pointer.PointerError, patch.PatchError, fields.FieldError) as error:
            raise RuleError(f"{entry.field_path}: {error}", entry.field_path) from error
    return body


def plaintext(body: Body, entries: Iterable[PlaintextOverrider]) -> Body:
    """All entries together are one patch: all of them or none. An index of -1 is the last element."""
    operations = [_operation(entry.operator, entry.path, entry.value) for entry in entries]
    try:
        new = patch.apply(body, operations, negative=True)
    except patch.PatchError as error:
        raise RuleError(str(error), error.path) from error
    if not isinstance(new, Mapping):
        raise RuleError("the object was replaced by something else", "")
    return new


def _operation(operator: str, path: str, value: Any) -> patch.PatchOperation:
    return patch.PatchOperation(operator, path, value)
