"""What a copy is made from, in the place of what it is: manifests are made where two of these differ, and only there.

What a cluster gets of a template follows from the template, the cluster's part of the work, the overrides that hit the
cluster, and the interpreter. In a rehearsal only the part changes. So it plans with *outlines*: render classes that say
which part which clusters get, named by that and not by their bodies. A copy whose part is the one it was made from is
as it should be, whatever that looks like. Of any other copy both manifests are made, and compared as always: an
override may give it the same replicas whatever its part is, or may fail.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace
from typing import TypeAlias

from gitfed.model.base import ClusterName, Digest
from gitfed.model.fleet import LiveObject
from gitfed.model.plan import Binding, RenderedManifest
from gitfed.model.repo import Manifest
from gitfed.render import manifest as render_manifest
from gitfed.render.manifest import Rendered, ShareGroup
from gitfed.text.values import dataclass

Make: TypeAlias = Callable[[Manifest, Binding, ShareGroup], Rendered]


@dataclass(frozen=True, slots=True)
class Rendering:
    """When manifests are made: at once, or not."""

    lazily: bool = False
    """When somebody looks at one: for who compares two plans and knows where they can differ. What then cannot be
    rendered is not among a plan's problems."""
    outlines: Outlines | None = None
    """Where a copy has to be another one: for who imagines the clusters. `rendered` of a plan holds outlines."""


AT_ONCE = Rendering()
LAZILY = Rendering(lazily=True)


@dataclass(slots=True)
class Outlines:
    """For one commit and interpreter, and for clusters that differ in their health and their taints at most."""

    _parts: dict[Digest, tuple[Manifest, Binding, ShareGroup]] = field(default_factory=dict)
    """By the name of the outline: what it was made from."""
    _made: dict[tuple[Digest, ClusterName], Rendered] = field(default_factory=dict)

    def of(self, manifest: Manifest, binding: Binding) -> tuple[RenderedManifest, ...]:
        """The classes of a template. Their digests name them, and their bodies are the template's."""
        manifests = []
        for part in render_manifest.parts(manifest, binding):
            divided = binding.scheduled.replicas is not None
            name = Digest(f"{manifest.key} {manifest.digest} {divided} {part[:3]}")
            if name not in self._parts:
                self._parts[name] = manifest, binding, part
            manifests.append(
                RenderedManifest(
                    manifest.key, binding.id, manifest.body, name, part.clusters, part.replicas, manifest.origin
                )
            )
        return tuple(manifests)

    def is_outline(self, rendered: RenderedManifest) -> bool:
        return rendered.digest in self._parts

    def made(self, name: Digest, cluster: ClusterName, make: Make) -> Rendered:
        """The manifest of an outline in a cluster, or why there is none."""
        rendered = self._made.get((name, cluster))
        if rendered is None:
            manifest, binding, part = self._parts[name]
            rendered = self._made[name, cluster] = make(manifest, binding, part._replace(clusters=(cluster,)))
        return rendered

    def as_made(self, live: LiveObject, make: Make) -> LiveObject:
        """A copy that is as an outline says, with the digest of the manifest that it was made from."""
        if live.matches is None or live.matches not in self._parts:
            return live
        made = self.made(live.matches, live.cluster, make).rendered
        return replace(live, matches=made[0].digest if made else None)
