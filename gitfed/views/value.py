"""What all views are made of."""

from __future__ import annotations

from typing import TypeAlias

from pydantic import ConfigDict, with_config
from typing_extensions import TypedDict

from gitfed.model.base import Commit, ObjectKey


@with_config(ConfigDict(extra="forbid", use_attribute_docstrings=True))
class View(TypedDict):
    """The base of all: pydantic describes these types, and checks values against them in tests."""


class ResourceRef(View):
    """A Kubernetes object."""

    apiVersion: str
    kind: str
    namespace: str
    """"" for what is in no namespace."""
    name: str


class GroupedRef(View):
    """A Kubernetes object, where no version is known."""

    group: str
    kind: str
    namespace: str
    name: str


class PolicyName(View):
    """A policy."""

    kind: str
    namespace: str
    name: str


Time: TypeAlias = str
"""RFC 3339, UTC, whole seconds."""
CommitName: TypeAlias = Commit


def resource(key: ObjectKey, api_version: str) -> ResourceRef:
    return {"apiVersion": api_version, "kind": key.kind, "namespace": key.namespace, "name": key.name}


def grouped(key: ObjectKey) -> GroupedRef:
    return {"group": key.group, "kind": key.kind, "namespace": key.namespace, "name": key.name}
