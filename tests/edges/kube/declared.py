"""Declared clusters as `credentials.resolve` reads them."""

from __future__ import annotations

from typing import Any

from gitfed.model.declared.cluster import Cluster


def cluster(name: str, *, annotations: dict[str, str] | None = None, **spec: Any) -> Cluster:
    """A Cluster object with these members of spec, by their Python names; nothing is checked."""
    return Cluster.model_construct(
        metadata=Cluster.model_fields["metadata"].annotation.model_construct(  # type: ignore[union-attr]
            name=name, annotations=annotations or {}
        ),
        spec=_spec(spec),
    )


def _spec(members: dict[str, Any]) -> Any:
    from gitfed.model.declared import cluster as declared

    reference = members.pop("secret_ref", None)
    if reference is not None:
        members["secret_ref"] = declared.SecretRef.model_construct(**reference)
    return declared.ClusterSpec.model_construct(sync_mode="Push", **members)
