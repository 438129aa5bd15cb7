"""What the agents of many clusters are told of the same object."""

from __future__ import annotations

import gc

from gitfed.agent_protocol import values
from gitfed.daemon.fleet import slice as slices
from gitfed.daemon.fleet.slice import Slice
from gitfed.model.base import BindingId, Body, Digest, ObjectKey, Origin
from gitfed.model.plan import Action, Change, RenderedManifest
from gitfed.text import canonical

KEY = ObjectKey("", "ConfigMap", "shop", "web")


def _told(slice_: Slice, data: str) -> bytes:
    """What the slice says of the body, after a change with this one."""
    # Each cluster has a manifest of its own, as after a restart or where overrides came to the same.
    body: Body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web"}, "data": {"a": data}}
    digest = Digest(canonical.digest(body))
    rendered = RenderedManifest(KEY, BindingId("b"), body, digest, ("m",), None, Origin("a.yaml"))
    slice_.submit([Change("m", KEY, "v1", Action.CREATE, rendered=rendered)], (), {}, (), ())
    text: bytes = slice_.told._values[f"{values.BODY}{digest}"]
    return text


def test_a_body_that_many_clusters_have_is_held_once() -> None:
    many = [Slice(f"m{number}", "acme") for number in range(5)]
    texts = [_told(one, "same") for one in many]
    assert len({id(text) for text in texts}) == 1
    assert b'"a":"same"' in texts[0]


def _held(data: str) -> bool:
    return any(f'"{data}"'.encode() in text.content for text in list(slices._TEXTS.values()))


def test_a_body_goes_when_no_cluster_has_it_any_more() -> None:
    first, second = Slice("m1", "acme"), Slice("m2", "acme")
    for one in (first, second):
        _told(one, "replaced")
    _told(first, "kept")
    assert _held("replaced"), "the second has it still"
    _told(second, "kept")
    assert not _held("replaced")
    assert _held("kept")
    del first, second, one
    gc.collect()
    assert not _held("kept")
