"""★ Is an object what its kind's schema says? Of one commit, for clusters of one version.

    built in     the types that the program brings, of the cluster's version (`kubernetes`)
    custom       the definitions of the commit (`custom`)
    neither      nothing is known, and nothing is said

A field that an annotation names is left alone, in case the schema is wrong and not the object.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field

from gitfed.interpret.schema import custom
from gitfed.interpret.schema.faults import Fault, Path
from gitfed.interpret.schema.kubernetes import Kubernetes, Minor
from gitfed.interpret.schema.nodes import Node
from gitfed.model.base import Body
from gitfed.model.keys import IGNORE_SCHEMA
from gitfed.text import pointer
from gitfed.text.values import dataclass

EVERYTHING = "*"
_METADATA = "meta_v1#ObjectMeta"


@dataclass(slots=True)
class Schemas:
    """Of one commit. The same object as long as its definitions are."""

    kubernetes: Kubernetes
    definitions: tuple[Body, ...] = ()
    _custom: dict[Minor, Mapping[tuple[str, str], Node]] = field(default_factory=dict)

    def faults(self, body: Body, minor: Minor) -> tuple[Fault, ...]:
        """What is wrong with an object for an API server of this version, by path."""
        api_version, kind = body["apiVersion"], body["kind"]
        node = self.kubernetes.node(api_version, kind, minor) or self._defined(minor).get((api_version, kind))
        if node is None:
            fault = self.kubernetes.not_served(api_version, kind, minor)
            faults: Iterable[Fault] = () if fault is None else (fault,)
        elif node.accepts(body):
            return ()
        else:
            faults = node.faults(body, ())
        ignored = _ignored(body)
        return tuple(fault for fault in faults if not any(_is_below(fault.path, place) for place in ignored))

    def _defined(self, minor: Minor) -> Mapping[tuple[str, str], Node]:
        if minor not in self._custom:
            metadata = self.kubernetes.part(_METADATA, minor)
            self._custom[minor] = {
                name: node for body in self.definitions for name, node in custom.nodes(body, metadata).items()
            }
        return self._custom[minor]


def _ignored(body: Body) -> tuple[pointer.Pointer, ...]:
    """JSON pointers of the annotation. One that cannot be read ignores nothing."""
    metadata = body.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    text = annotations.get(IGNORE_SCHEMA) if isinstance(annotations, dict) else None
    if not isinstance(text, str):
        return ()
    pointers = []
    for item in map(str.strip, text.split(",")):
        try:
            pointers.append(() if item == EVERYTHING else pointer.parse(item))
        except pointer.PointerError:
            continue
        if not item:
            pointers.pop()
    return tuple(pointers)


def _is_below(path: Path, place: pointer.Pointer) -> bool:
    return tuple(map(str, path[: len(place)])) == place
