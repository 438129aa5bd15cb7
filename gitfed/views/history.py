"""What was decided when and why: `gitfed.io/log/v1`; what happened to objects: `gitfed.io/events/v1`."""

from __future__ import annotations

from typing import Literal, NotRequired

from gitfed.documents.bindings import time_text
from gitfed.model.base import ObjectKey
from gitfed.offline.state_log import StateLogEntry
from gitfed.planning.review.events import BindingEvent
from gitfed.views.value import Time, View

SCHEMA: Literal["gitfed.io/log/v1"] = "gitfed.io/log/v1"


COMMITS = 200
"""Commits of the state branch that are read for events; of one object: that concern it."""


class EntryView(View):
    """One commit of the state branch."""

    commit: str
    when: Time
    what: str
    """`Decide for 3f2c1a9…`, or what a person ordered."""
    act: str | None
    """`decided`, `applied`, `held`, `failed` or `status`; null of what a person ordered."""
    source: str | None
    """The commit that was decided for."""
    named: str
    """The same as the entry names it, also where that commit is not at hand; "" of what a person ordered."""
    facts: str | None
    """Commit of the facts branch that was decided from."""
    reasons: list[str]


class LogView(View):
    """Decisions, newest first."""

    schema: Literal["gitfed.io/log/v1"]
    entries: list[EntryView]
    next: NotRequired[str]
    """In an answer of the API that is not the last: what to ask for next, as `continue`."""


class EventView(View):
    """Something that happened to an object, or to a cluster, in Karmada's words."""

    when: Time
    type: str
    """Normal or Warning."""
    reason: str
    group: str
    kind: str
    namespace: str
    name: str
    cluster: str
    """"" where it concerns no single cluster."""
    message: str
    commit: str
    source: str | None


class EventList(View):
    """Events, newest first."""

    schema: Literal["gitfed.io/events/v1"]
    items: list[EventView]


def entry(item: StateLogEntry) -> EntryView:
    return {
        "commit": item.commit,
        "when": time_text(item.when),
        "what": item.what,
        "act": item.act,
        "source": item.source,
        "named": item.named,
        "facts": item.facts or None,
        "reasons": list(item.reasons),
    }


def event(of: StateLogEntry, key: ObjectKey, happened: BindingEvent) -> EventView:
    return {
        "when": time_text(of.when),
        "type": happened.type,
        "reason": happened.reason,
        "group": key.group,
        "kind": key.kind,
        "namespace": key.namespace,
        "name": key.name,
        "cluster": happened.cluster,
        "message": happened.message,
        "commit": of.commit,
        "source": of.source,
    }
