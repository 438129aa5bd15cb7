"""What the file of a new cluster says of it, as the command line tells: for clusters that join and that register."""

from __future__ import annotations

from typing import Any

from gitfed.cli import parameters
from gitfed.errors import UsageError
from gitfed.model.base import Severity
from gitfed.model.declared.cluster import Cluster
from gitfed.text.values import dataclass

PROVIDER = parameters.option("--cluster-provider", shared=False, metavar="TEXT", default="", help="spec.provider")
REGION = parameters.option("--cluster-region", shared=False, metavar="TEXT", default="", help="spec.region")
ZONES = parameters.option("--cluster-zones", shared=False, metavar="TEXT[,TEXT]", default="", help="spec.zones")


@dataclass(frozen=True, slots=True)
class Topology:
    """Where a cluster runs."""

    cluster_provider: str
    cluster_region: str
    cluster_zones: str

    def spec(self) -> dict[str, Any]:
        """The fields of `spec` that say so."""
        zones = [zone.strip() for zone in self.cluster_zones.split(",") if zone.strip()]
        fields = (("provider", self.cluster_provider), ("region", self.cluster_region), ("zones", zones))
        return {key: value for key, value in fields if value}


def document(metadata: dict[str, Any], spec: dict[str, Any]) -> dict[str, Any]:
    """The Cluster with this metadata and spec. Raises UsageError where something in it cannot be."""
    body = {"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": metadata, "spec": spec}
    name = metadata["name"]
    try:
        made = Cluster.model_validate(body)
    except ValueError as error:
        raise UsageError(f"cluster {name}: {error}") from error
    for finding in made.findings():
        if finding.severity is Severity.ERROR:
            path = ".".join(map(str, finding.path))
            raise UsageError(f"cluster {name}: {path}: {finding.message}", hint=finding.hint)
    return body
