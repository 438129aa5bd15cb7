"""What comes back from the clusters for one template: Karmada's aggregated status and its conditions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gitfed.model.base import Body, ClusterName, ObjectKey
from gitfed.text.values import dataclass


@dataclass(frozen=True, slots=True)
class CopyStatus:
    """One item of `status.aggregatedStatus`: the object of one cluster."""

    cluster: ClusterName
    applied: bool
    """The cluster holds it as it was rendered."""
    message: str = ""
    """Why it is not applied (Karmada: appliedMessage)."""
    health: str = "Unknown"
    """Healthy, Unhealthy or Unknown."""
    health_message: str = ""
    """How far it has come, in kstatus's words."""
    status: Body | None = None
    """What was collected from the object that is there, even if it is outdated; None: nothing."""

    def as_json(self) -> dict[str, Any]:
        """Karmada's AggregatedStatusItem."""
        item: dict[str, Any] = {"clusterName": self.cluster, "applied": self.applied, "health": self.health}
        if self.message:
            item["appliedMessage"] = self.message
        if self.status is not None:
            item["status"] = self.status
        return item


@dataclass(frozen=True, slots=True)
class FullyApplied:
    """Karmada's condition of that name."""

    status: bool
    reason: str
    """FullyAppliedSuccess or FullyAppliedFailed."""
    message: str

    def as_json(self) -> dict[str, Any]:
        return {
            "type": "FullyApplied",
            "status": "True" if self.status else "False",
            "reason": self.reason,
            "message": self.message,
        }


@dataclass(frozen=True, slots=True)
class BindingStatus:
    """The objects of one template in all clusters."""

    key: ObjectKey
    copies: tuple[CopyStatus, ...]
    """Sorted by cluster: one for every cluster where it should be."""
    fully_applied: FullyApplied
    status: Body | None = None
    """The template's own status, aggregated from all clusters; None for kinds without a rule."""
    error: str = ""
    """Why there is no such status although the kind has a rule."""

    @property
    def applied(self) -> int:
        return sum(1 for copy in self.copies if copy.applied)

    @property
    def healthy(self) -> int:
        return sum(1 for copy in self.copies if copy.health == "Healthy")

    def as_json(self) -> Mapping[str, Any]:
        """Members of a ResourceBinding's `status`, but for the condition Scheduled."""
        return {
            "aggregatedStatus": [copy.as_json() for copy in self.copies],
            "conditions": [self.fully_applied.as_json()],
        }
