"""★ Is an object what its kind's schema says? Of one commit, for clusters of one version.

    built in     the types that the program brings, of the cluster's version (`kubernetes`)
    custom       the definitions of the commit (`custom`)
    neither      nothing is known, and nothing is said

A field that an annotation names is left alone, in case the schema is wrong and not the object.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field

from gitfed.interpret.schema import custom, nodes
from gitfed.interpret.schema.faults import Fault, Path
from gitfed.interpret.schema.kubernetes import Kubernetes, Minor
from gitfed.interpret.schema.nodes import Node
from gitfed.model.base import Body
from gitfed.model.keys import IGNORE_SCHEMA
from gitfed.text import pointer
from gitfed.text.identity import IdentityMemo
from gitfed.text.values import dataclass

EVERYTHING = "*"
_METADATA = "meta_v1#ObjectMeta"
_MOST_TEMPLATES = 20_000
"""Of which is remembered whether they are right. Each is kept in memory, also when its file has changed since."""


@dataclass(slots=True)
class Schemas:
    """Of one commit. The same object as long as its definitions are."""

    kubernetes: Kubernetes
    definitions: tuple[Body, ...] = ()
    _custom: dict[Minor, Mapping[tuple[str, str], Node]] = field(default_factory=dict)
    _right: dict[Minor, IdentityMemo[Body, bool]] = field(default_factory=dict)

    def faults(self, body: Body, minor: Minor, template: Body | None = None) -> tuple[Fault, ...]:
        """What is wrong with an object for an API server of this version, by path.

        `template`: what the object was made of. Where that is right, only what differs is looked at.
        """
        api_version, kind = body["apiVersion"], body["kind"]
        node = self._node(api_version, kind, minor)
        if node is None:
            fault = self.kubernetes.not_served(api_version, kind, minor)
            faults: Iterable[Fault] = () if fault is None else (fault,)
        elif self._fits(node, body, minor, template):
            return ()
        else:
            faults = node.faults(body, ())
        ignored = _ignored(body)
        return tuple(fault for fault in faults if not any(_is_below(fault.path, place) for place in ignored))

    def _node(self, api_version: str, kind: str, minor: Minor) -> Node | None:
        return self.kubernetes.node(api_version, kind, minor) or self._defined(minor).get((api_version, kind))

    def _fits(self, node: Node, body: Body, minor: Minor, template: Body | None) -> bool:
        if template is None or template["apiVersion"] != body["apiVersion"] or not self._is_right(template, minor):
            return node.accepts(body)
        return nodes.accepts_beside(node, body, template)

    def _is_right(self, template: Body, minor: Minor) -> bool:
        if minor not in self._right:
            self._right[minor] = IdentityMemo(lambda body: self._accepts(body, minor), most=_MOST_TEMPLATES)
        return self._right[minor](template)

    def _accepts(self, body: Body, minor: Minor) -> bool:
        node = self._node(body["apiVersion"], body["kind"], minor)
        return node is not None and node.accepts(body)

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
