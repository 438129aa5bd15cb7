"""Changes as a queue gets them."""

from __future__ import annotations

from gitfed.model.base import BindingId, Digest, ObjectKey, Origin
from gitfed.model.plan import Action, Change, RenderedManifest, Turn, Write


def key(name: str, kind: str = "Deployment") -> ObjectKey:
    return ObjectKey("apps", kind, "shop", name)


def change(
    name: str,
    *,
    action: Action = Action.CREATE,
    wave: int = 0,
    order: int = 0,
    first: bool = False,
    drift: bool = False,
    digest: str = "d",
    waits_for: tuple[ObjectKey, ...] = (),
) -> Change:
    rendered = RenderedManifest(key(name), BindingId("b"), {}, Digest(digest), ("m1",), None, Origin("a.yaml"))
    turn = Turn(wave, order, waits_for, first=first)
    return Change("m1", key(name), "apps/v1", action, write=Write(rendered), turn=turn, drift=drift)
