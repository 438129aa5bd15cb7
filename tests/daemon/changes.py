"""Changes as a queue gets them."""

from __future__ import annotations

from gitfed.model.base import BindingId, Digest, ObjectKey, Origin
from gitfed.model.plan import Action, Change, RenderedManifest


def key(name: str, kind: str = "Deployment") -> ObjectKey:
    return ObjectKey("apps", kind, "shop", name)


def change(name: str, *, action: Action = Action.CREATE, wave: int = 0, order: int = 0, drift: bool = False,
           digest: str = "d", waits_for: tuple[ObjectKey, ...] = ()) -> Change:  # fmt: skip
    rendered = RenderedManifest(key(name), BindingId("b"), {}, Digest(digest), ("m1",), None, Origin("a.yaml"))
    return Change("m1", key(name), "apps/v1", action, rendered=rendered, wave=wave, order=order, drift=drift,
                  waits_for=waits_for)  # fmt: skip
